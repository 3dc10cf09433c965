//===- KernelTable.h - one function for all kernels with the same text ----------------===//
#ifndef MESHC_TARGET_KERNELTABLE_H
#define MESHC_TARGET_KERNELTABLE_H

#include "meshc/Target/Numbers.h"
#include "meshc/Target/Vocabulary.h"

namespace meshc::target {

/// The arguments of a kernel as parameters of a C++ function: a buffer that is both read and written is one parameter.
struct KernelSignature {
  struct Parameter {
    llvm::SmallVector<mlir::BlockArgument, 2> arguments; ///< Of the kernel's body.
    mlir::Type type;                                     ///< Buffer, or i32.
    std::string name;
    bool written = false;

    bool isBuffer() const { return llvm::isa<rt::BufferType>(type); }
    rt::BufferType buffer() const { return llvm::cast<rt::BufferType>(type); }
    /// A scalar that is only read: a target may pass its value.
    bool isInputScalar() const { return isBuffer() && buffer().isScalar() && !written; }
    mlir::Value operand(rt::KernelOp kernel) const { return kernel->getOperand(arguments.front().getArgNumber()); }
  };
  llvm::SmallVector<Parameter> parameters;

  /// The parameter that an argument of the kernel's body stands for.
  const Parameter &of(mlir::Value argument) const;

  /// Arguments that the body does not use have no parameter.
  static KernelSignature of(rt::KernelOp kernel);
};

/// One printed function and the kernels that it stands for.
struct KernelFunction {
  std::string name;
  KernelSignature signature;
  llvm::SmallVector<rt::KernelOp> uses;
  Numbers numbers;
  std::string text;
};

class KernelTable {
public:
  /// Prints the function of a kernel, from its head to the closing brace.
  using PrintFunction =
      llvm::function_ref<mlir::LogicalResult(rt::KernelOp, const KernelSignature &, llvm::StringRef name, Numbers &, Printer &)>;

  /// Finds the functions of the module and prints each.
  mlir::LogicalResult build(Vocabulary &vocabulary, PrintFunction print);

  llvm::ArrayRef<std::unique_ptr<KernelFunction>> functions() const { return all; }
  const KernelFunction &functionOf(rt::KernelOp kernel) const { return *functionByUse.lookup(kernel).first; }
  /// The numbers a call of the function needs behind the buffers.
  llvm::SmallVector<int64_t> numbersOf(rt::KernelOp kernel) const;

private:
  std::string comment(const KernelFunction &function) const;

  std::vector<std::unique_ptr<KernelFunction>> all;
  llvm::DenseMap<mlir::Operation *, std::pair<KernelFunction *, unsigned>> functionByUse;
};

} // namespace meshc::target

#endif
