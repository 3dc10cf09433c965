//===- RtKernels.h - executes the scalar ops of kernels and masks -----------===//
#ifndef MESHC_LIB_RTINTERPRETER_RTKERNELS_H
#define MESHC_LIB_RTINTERPRETER_RTKERNELS_H

#include "meshc/Interpreter/RtInterpreter.h"

namespace meshc::interp {

/// One rank's run of a kernel's or mask's body. Integers and booleans are doubles too.
class KernelRun {
public:
  KernelRun(const RtInterpreter &program, RtInterpreter::Rank &rank, int64_t number) : program(program), rank(rank), number(number) {}

  /// Gives a block argument its buffer or i32 from the operand.
  void bind(mlir::Value argument, mlir::Value operand);
  void runKernel(rt::KernelOp kernel);
  /// Runs a block without rows and returns the value of its rt.visible.
  bool runMask(mlir::Block &body, llvm::ArrayRef<double> indices);

private:
  void runOps(mlir::Block &block);
  void runRow(rt::RowOp row, rt::KernelOp kernel);
  double evaluate(mlir::Operation *op);
  int64_t elementOf(rt::BufferType type, mlir::ArrayAttr at, mlir::ValueRange indices, bool &outside) const;

  const RtInterpreter &program;
  RtInterpreter::Rank &rank;
  int64_t number;
  llvm::DenseMap<mlir::Value, int64_t> bases;
  llvm::DenseMap<mlir::Value, double> values;
  llvm::DenseMap<mlir::StringAttr, int64_t> position;
};

} // namespace meshc::interp

#endif
