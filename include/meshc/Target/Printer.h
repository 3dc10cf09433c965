//===- Printer.h - indented C++ text ---------------------------------------===//
//
// A thin layer over a stream that knows indentation, blocks, comments and where to break long calls:
//
//   Printer p(os);
//   p.open("for (int64_t i = 0; i < n; ++i)");
//   p.line("float *x = rank.at<float>(i);");
//   p.call("matmul", {"rank", "{.m = 4}", "a", "x"});
//   p.close();
//
// prints
//
//   for (int64_t i = 0; i < n; ++i) {
//     float *x = rank.at<float>(i);
//     matmul(rank, {.m = 4}, a, x);
//   }
//
// A `for` or `if` around a single line gets no braces. Lines go to the stream when the outermost block closes.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_PRINTER_H
#define MESHC_TARGET_PRINTER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace meshc::target {

class Printer {
public:
  explicit Printer(llvm::raw_ostream &os, unsigned width = 100) : os(os), width(width) {}
  ~Printer() { flush(); }

  /// One line at the current indentation. Empty text gives an empty line.
  void line(const llvm::Twine &text = "");
  /// An empty line, unless the last line was one or opened a block.
  void gap();
  /// A line at the left margin: `#include`, `#pragma`.
  void directive(const llvm::Twine &text);
  /// `code` with `// remark` behind it, or above it where the two do not fit on one line.
  void remarked(const llvm::Twine &code, llvm::StringRef remark);
  /// `// text`, broken at spaces to the width.
  void comment(const llvm::Twine &text);

  /// `head {`, and one level deeper until `close`.
  void open(const llvm::Twine &head);
  /// `}` followed by `tail`. A loop around one line loses its braces.
  void close(const llvm::Twine &tail = "");
  void indent();
  void dedent();

  /// `head(arg, ...)tail`, broken between arguments if it does not fit; continuation lines stand under the first argument.
  void call(const llvm::Twine &head, llvm::ArrayRef<std::string> arguments, llvm::StringRef tail = ";");
  /// `head = expression;`, broken after the `=` or at a top-level operator if it does not fit.
  void assign(const llvm::Twine &head, llvm::StringRef expression);

private:
  unsigned column() const { return 2 * depth; }
  /// Continues a statement whose text is too long at spaces outside of strings.
  void wrapped(llvm::StringRef text, unsigned hanging);

  void add(std::string text);
  void flush();

  llvm::raw_ostream &os;
  unsigned width;
  unsigned depth = 0;
  bool fresh = true; ///< Nothing printed yet, the last line was empty, or it opened a block.
  bool held = false; ///< The line being added opens a block.
  std::vector<std::string> lines;
  std::vector<size_t> openers; ///< Lines that opened the blocks around the current place.
};

} // namespace meshc::target

#endif
