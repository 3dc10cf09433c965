//===- Names.h - identifiers for the user's names ---------------------------===//
#ifndef MESHC_TARGET_NAMES_H
#define MESHC_TARGET_NAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Location.h"
#include <string>
#include <vector>

namespace meshc::target {

/// A C++ identifier that looks like `text`: `ln1.gain` becomes `ln1_gain`, `embed'` becomes `embed_p`, `7x` becomes `_7x`.
std::string identifier(llvm::StringRef text);

/// `identifier` in the style of constants: `ln1.gain` becomes `kLn1Gain`.
std::string constantName(llvm::StringRef text);

/// The names of one C++ scope. A scope sees the names of the scopes around it and never hides one of them: the emitted text
/// compiles without warnings under -Wshadow, and a reader meets one meaning per name.
class Names {
public:
  explicit Names(const Names *outer = nullptr) : outer(outer) {}

  /// A new name as close to `wanted` as possible: `x`, then `x2`, `x3`, ...
  std::string add(llvm::StringRef wanted);
  /// Takes exactly this name, for what the runtime's headers define.
  void reserve(llvm::StringRef name) { taken.insert({name, 1}); }
  bool isTaken(llvm::StringRef name) const { return taken.count(name) || (outer && outer->isTaken(name)); }

private:
  const Names *outer;
  llvm::StringMap<unsigned> taken; ///< Name -> the last number tried behind it.
};

/// For each dotted path its shortest suffix that no other path of the list has: `gpt.block.attn.wq` is `wq`,
/// `gpt.block.ln1.gain` and `gpt.block.ln2.gain` are `ln1.gain` and `ln2.gain`.
std::vector<std::string> shortestSuffixes(llvm::ArrayRef<llvm::StringRef> paths);

/// The name a location carries, innermost first; empty if it has none.
llvm::StringRef nameOf(mlir::Location loc);

/// `gpt.mesh:31` for a location in a file, else empty. The directory is left out.
std::string sourceLine(mlir::Location loc);

} // namespace meshc::target

#endif
