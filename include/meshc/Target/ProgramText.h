//===- ProgramText.h - the file that is printed for a module ---------------------------===//
#ifndef MESHC_TARGET_PROGRAMTEXT_H
#define MESHC_TARGET_PROGRAMTEXT_H

#include "meshc/Target/StepPrinter.h"

namespace meshc::target {

/// What differs between targets, besides the steps.
struct ProgramText {
  llvm::StringRef ranks;  ///< "CPU ranks"
  llvm::StringRef header; ///< "meshrt/cpu.h"
  /// Prints the function of a kernel.
  mlir::LogicalResult (*kernel)(rt::KernelOp, const KernelSignature &, llvm::StringRef name, Vocabulary &, Numbers &, Printer &);
};

namespace detail {
using MakeStepPrinter = llvm::function_ref<std::unique_ptr<StepPrinter>(Vocabulary &, const KernelTable &, Printer &)>;
mlir::LogicalResult printProgram(mlir::ModuleOp module, const ProgramText &text, MakeStepPrinter makeStep, llvm::raw_ostream &os);
} // namespace detail

/// Prints a heading, constants, one function per kernel, one per step by a `Step`, the description, main.
template <typename Step>
mlir::LogicalResult printProgram(mlir::ModuleOp module, const ProgramText &text, llvm::raw_ostream &os) {
  return detail::printProgram(
      module, text,
      [](Vocabulary &vocabulary, const KernelTable &kernels, Printer &p) { return std::make_unique<Step>(vocabulary, kernels, p); }, os);
}

} // namespace meshc::target

#endif
