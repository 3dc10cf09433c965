//===- Printer.cpp - indented C++ text -------------------------------------===//
#include "meshc/Target/Printer.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

void Printer::margin() { os.indent(column()); }

void Printer::line(const Twine &text) {
  llvm::SmallString<128> buffer;
  StringRef string = text.toStringRef(buffer);
  if (string.empty()) {
    os << '\n';
    fresh = true;
    return;
  }
  margin();
  wrapped(string, 4);
  fresh = false;
}

void Printer::gap() {
  if (!fresh)
    line();
}

void Printer::directive(const Twine &text) {
  os << text << '\n';
  fresh = false;
}

void Printer::remarked(const Twine &code, StringRef remark) {
  std::string text = code.str();
  if (!remark.empty() && column() + text.size() + remark.size() + 5 > width) {
    comment(remark);
    remark = "";
  }
  if (remark.empty())
    return line(text);
  margin();
  os << text << "  // " << remark << '\n';
  fresh = false;
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
    margin();
    os << "// " << piece << '\n';
  } while (!rest.empty());
  fresh = false;
}

void Printer::open(const Twine &head) {
  line(head + " {");
  indent();
  fresh = true;
}

void Printer::close(const Twine &tail) {
  dedent();
  line("}" + tail);
}

void Printer::call(const Twine &head, llvm::ArrayRef<std::string> arguments, StringRef tail) {
  std::string start = (head + "(").str();
  std::string flat = start + llvm::join(arguments, ", ") + ")" + tail.str();
  if (column() + flat.size() <= width)
    return line(flat);
  // Under the first argument, or four to the right of the statement if that leaves too little room.
  unsigned hanging = start.size() < width / 3 ? column() + start.size() : column() + 4;
  margin();
  os << start;
  unsigned at = column() + start.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool last = i + 1 == arguments.size();
    unsigned size = arguments[i].size() + (last ? 1 + tail.size() : 1);
    if (at + size > width && at > hanging) {
      os << '\n';
      os.indent(hanging);
      at = hanging;
    } else if (i != 0) {
      os << ' ';
      ++at;
    }
    os << arguments[i] << (last ? ")" : ",");
    at += size;
  }
  os << tail << '\n';
  fresh = false;
}

void Printer::assign(const Twine &head, StringRef expression) {
  std::string start = (head + " = ").str();
  margin();
  unsigned hanging = start.size() < width / 3 ? start.size() : 4;
  wrapped(start + expression.str() + ";", hanging);
  fresh = false;
}

void Printer::wrapped(StringRef text, unsigned hanging) {
  unsigned at = column();
  // A break must not fall into a string literal or behind a comment's start.
  while (at + text.size() > width && !text.contains("//") && !text.contains('"')) {
    size_t space = text.take_front(width - at + 1).rfind(' ');
    if (space == StringRef::npos || space == 0)
      break;
    os << text.take_front(space) << '\n';
    text = text.drop_front(space + 1);
    at = column() + hanging;
    os.indent(at);
  }
  os << text << '\n';
}
