//===- Printer.cpp - indented C++ text -------------------------------------===//
#include "meshc/Target/Printer.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

/// Opener of a block whose head is no longer among the lines.
static constexpr size_t kWritten = ~size_t(0);

void Printer::add(std::string text) {
  lines.push_back(std::move(text));
  fresh = lines.back().empty();
  if (depth == 0 && !held)
    flush();
}

void Printer::flush() {
  for (const std::string &text : lines)
    os << text << '\n';
  lines.clear();
}

void Printer::line(const Twine &text) {
  std::string string = text.str();
  if (string.empty())
    return add("");
  wrapped(string, 4);
}

void Printer::gap() {
  if (!fresh)
    line();
}

void Printer::directive(const Twine &text) { add(text.str()); }

void Printer::remarked(const Twine &code, StringRef remark) {
  std::string text = code.str();
  if (!remark.empty() && column() + text.size() + remark.size() + 5 > width) {
    comment(remark);
    remark = "";
  }
  if (remark.empty())
    return line(text);
  add(std::string(column(), ' ') + text + "  // " + remark.str());
}

void Printer::comment(const Twine &text) {
  llvm::SmallString<128> buffer;
  StringRef rest = text.toStringRef(buffer);
  do {
    size_t room = width - std::min(width / 2, column() + 3);
    StringRef piece = rest;
    if (rest.size() > room) {
      size_t space = rest.take_front(room + 1).rfind(' ');
      if (space == StringRef::npos)
        space = rest.find(' ');
      piece = rest.take_front(space);
    }
    rest = rest.drop_front(piece.size()).ltrim();
    add(std::string(column(), ' ') + "// " + piece.str());
  } while (!rest.empty());
}

void Printer::indent() {
  // A head outside of all blocks has been written already.
  openers.push_back(lines.empty() ? kWritten : lines.size() - 1);
  ++depth;
}

void Printer::dedent() {
  openers.pop_back();
  --depth;
}

void Printer::open(const Twine &head) {
  // The block's depth holds the lines back until it closes; the margin is that of the head.
  held = true;
  wrapped((head + " {").str(), 4);
  held = false;
  openers.push_back(lines.size() - 1);
  ++depth;
  fresh = true;
}

void Printer::close(const Twine &tail) {
  size_t opener = openers.back();
  openers.pop_back();
  --depth;
  std::string text = tail.str();
  bool single = opener != kWritten && opener + 2 == lines.size() && text.empty();
  if (single) {
    StringRef head = StringRef(lines[opener]).ltrim(), body = StringRef(lines.back()).ltrim();
    if ((head.starts_with("for (") || head.starts_with("if (")) && body.ends_with(";") && !body.starts_with("//") &&
        !body.starts_with("const ")) {
      lines[opener].resize(lines[opener].size() - 2);
      fresh = false;
      return;
    }
  }
  add(std::string(column(), ' ') + "}" + text);
}

void Printer::call(const Twine &head, llvm::ArrayRef<std::string> arguments, StringRef tail) {
  std::string start = (head + "(").str();
  std::string flat = start + llvm::join(arguments, ", ") + ")" + tail.str();
  if (column() + flat.size() <= width)
    return add(std::string(column(), ' ') + flat);
  // Under the first argument, or four to the right of the statement if that leaves too little room.
  unsigned hanging = start.size() < width / 3 ? column() + start.size() : column() + 4;
  std::string current = std::string(column(), ' ') + start;
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool last = i + 1 == arguments.size();
    std::string piece = arguments[i] + (last ? ")" + tail.str() : ",");
    if (i != 0 && current.size() + 1 + piece.size() > width) {
      lines.push_back(current);
      current = std::string(hanging, ' ');
    } else if (i != 0) {
      current += ' ';
    }
    current += piece;
  }
  add(current);
}

void Printer::assign(const Twine &head, StringRef expression) {
  std::string start = (head + " = ").str();
  wrapped(start + expression.str() + ";", start.size() < width / 3 ? start.size() : 4);
}

/// How well a statement reads when broken behind the word that ends before `at`; higher is worse, -1 is not at all.
static int breakCost(char last, int depth) {
  switch (last) {
  case '?': case ':': case '&': case '|': return depth * 8;
  case '=': return depth * 8 + 1;
  case ',': return depth * 8 + 1;
  case '+': case '-': return depth * 8 + 3;
  case '*': case '/': return depth * 8 + 5;
  case '<': case '>': return depth * 8 + 2;
  default: return -1;
  }
}

/// The best place to break a statement so that at most `room` characters come before it: behind the operator that binds least,
/// as far to the right as possible, in the second half of the room if there is one.
static size_t breakAt(StringRef text, size_t room) {
  size_t best = StringRef::npos, late = StringRef::npos;
  int bestCost = 0, lateCost = 0, depth = 0;
  for (size_t at = 1; at <= room && at < text.size(); ++at) {
    char last = text[at - 1];
    depth += StringRef("([{").contains(last) ? 1 : StringRef(")]}").contains(last) ? -1 : 0;
    if (text[at] != ' ' || at < 2 || text[at - 2] == '[')
      continue;
    int cost = breakCost(last, depth);
    if (cost < 0)
      continue;
    if (best == StringRef::npos || cost <= bestCost)
      best = at, bestCost = cost;
    if (at > room / 2 && (late == StringRef::npos || cost <= lateCost))
      late = at, lateCost = cost;
  }
  return late != StringRef::npos ? late : best;
}

void Printer::wrapped(StringRef text, unsigned hanging) {
  unsigned at = column();
  std::string margin(at, ' ');
  // A break must not fall into a string literal or behind a comment's start.
  while (at + text.size() > width && !text.contains("//") && !text.contains('"')) {
    size_t space = breakAt(text, width - at);
    if (space == StringRef::npos)
      break;
    lines.push_back(margin + text.take_front(space).str());
    text = text.drop_front(space + 1);
    at = column() + hanging;
    margin.assign(at, ' ');
  }
  add(margin + text.str());
}
