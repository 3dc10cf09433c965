//===- Names.cpp - identifiers for the user's names -------------------------===//
#include "meshc/Target/Names.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace meshc::target;
using llvm::StringRef;

/// Words that no variable may have: C++20's keywords, and the macros and functions of the standard headers that a user is
/// likely to choose as a name.
static bool isReservedWord(StringRef word) {
  static const llvm::StringSet<> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
      "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
      "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
      "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
      "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
      "wchar_t", "while", "xor", "xor_eq",
      // Macros and global names of the headers an emitted program includes.
      "NULL", "NAN", "INFINITY", "EOF", "errno", "assert", "main", "std", "meshrt", "int32_t", "int64_t", "uint32_t",
      "uint64_t", "size_t", "bf16", "rank", "Rank", "y0", "y1", "yn", "j0", "j1", "jn", "gamma", "signgam", "linux", "unix"};
  return words.contains(word);
}

std::string meshc::target::identifier(StringRef text) {
  std::string result;
  for (char c : text) {
    if (llvm::isAlnum(c) || c == '_')
      result += c;
    else if (c == '\'')
      result += "_p";
    else if (!result.empty() && result.back() != '_')
      result += '_';
  }
  // Names with two underscores or a leading one and a capital belong to the implementation.
  std::string clean;
  for (char c : result)
    if (c != '_' || clean.empty() || clean.back() != '_')
      clean += c;
  while (!clean.empty() && clean.back() == '_')
    clean.pop_back();
  StringRef trimmed = StringRef(clean).ltrim('_');
  if (trimmed.empty())
    return "value";
  if (llvm::isDigit(trimmed.front()))
    return "n" + trimmed.str();
  return isReservedWord(trimmed) ? trimmed.str() + "_" : trimmed.str();
}

std::string meshc::target::constantName(StringRef text) {
  std::string result = "k";
  bool start = true;
  for (char c : identifier(text)) {
    if (c == '_') {
      start = true;
      continue;
    }
    result += start ? llvm::toUpper(c) : c;
    start = false;
  }
  return result;
}

std::string Names::add(StringRef wanted) {
  std::string base = identifier(wanted);
  if (!isTaken(base)) {
    taken.insert({base, 1});
    return base;
  }
  // A name that ends in a digit gets a separator: `w1` becomes `w1_2`, not `w12`.
  StringRef separator = llvm::isDigit(base.back()) ? "_" : "";
  unsigned &number = taken.insert({base, 1}).first->second;
  std::string name;
  do
    name = (llvm::Twine(base) + separator + llvm::Twine(++number)).str();
  while (isTaken(name));
  taken.insert({name, 1});
  return name;
}

std::vector<std::string> meshc::target::shortestSuffixes(llvm::ArrayRef<StringRef> paths) {
  auto suffix = [](StringRef path, unsigned parts) {
    size_t at = path.size();
    for (; parts != 0 && at != StringRef::npos; --parts)
      at = path.take_front(at).rfind('.');
    return at == StringRef::npos ? path : path.drop_front(at + 1);
  };
  llvm::StringMap<unsigned> count;
  for (StringRef path : paths)
    for (unsigned parts = 1, total = path.count('.') + 1; parts <= total; ++parts)
      ++count[suffix(path, parts)];
  std::vector<std::string> result;
  for (StringRef path : paths) {
    unsigned parts = 1, total = path.count('.') + 1;
    while (parts < total && count[suffix(path, parts)] > 1)
      ++parts;
    result.push_back(suffix(path, parts).str());
  }
  return result;
}

StringRef meshc::target::nameOf(mlir::Location loc) {
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc))
    return name.getName();
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc))
    return nameOf(call.getCallee());
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  return "";
}

std::string meshc::target::sourceLine(mlir::Location loc) {
  if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(loc))
    return (llvm::sys::path::filename(file.getFilename().getValue()) + ":" + llvm::Twine(file.getLine())).str();
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc))
    return sourceLine(name.getChildLoc());
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc))
    return sourceLine(call.getCallee());
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location part : fused.getLocations())
      if (std::string line = sourceLine(part); !line.empty())
        return line;
  return "";
}
