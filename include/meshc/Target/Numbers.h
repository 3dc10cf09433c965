//===- Numbers.h - the sizes and strides in a kernel's text ------------------------===//
//
// A kernel that occurs with several sizes is printed once: the numbers that differ between its uses become parameters. To find
// out which, every kernel is printed twice. The first time each number is a placeholder; kernels with equal text are one
// function. The second time a number is what the reader wants to see: a constant's name where all uses agree, a parameter
// where they do not.
//
//   adamw for w[embed=768, ff=3072]   for (int64_t i = begin; i < end; ++i)    #0 = 2359296
//   adamw for b[ff=3072]              the same text                            #0 = 3072      -> parameter n
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_NUMBERS_H
#define MESHC_TARGET_NUMBERS_H

#include "meshc/Target/Expr.h"
#include "meshc/Target/Names.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace meshc::target {

class Numbers {
public:
  /// The number `value`, which the reader knows as `text`. 0 and 1 belong to a kernel's structure and stay as they are.
  Expr get(int64_t value, llvm::function_ref<Expr()> text);

  /// First printing: what the placeholders stood for.
  llvm::ArrayRef<int64_t> recorded() const { return values; }

  /// Starts the second printing, given the first printings of all uses. `names` gives names to the parameters.
  void resolve(llvm::ArrayRef<llvm::SmallVector<int64_t>> uses, Names &names);

  /// Names of the parameters, and the argument for each in use number `use`.
  llvm::ArrayRef<std::string> parameters() const { return parameterNames; }
  int64_t argument(size_t parameter, size_t use) const { return columns[parameter][use]; }
  bool isKey() const { return !resolved; }

private:
  bool resolved = false;
  size_t next = 0;
  llvm::SmallVector<int64_t> values;
  llvm::SmallVector<int> parameterOf; ///< Per placeholder: the parameter, or -1.
  llvm::SmallVector<llvm::SmallVector<int64_t>> columns;
  llvm::SmallVector<std::string> parameterNames;
};

} // namespace meshc::target

#endif
