//===- StepPrinter.h - a step as a sequence of calls ------------------------------------===//
//
// The CPU and the CUDA runtime offer the same calls (matmul, attendForward, allReduce, ...), so a step prints alike for both.
// What differs is virtual: how a kernel is called, and how a mask starts.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_STEPPRINTER_H
#define MESHC_TARGET_STEPPRINTER_H

#include "meshc/Target/KernelTable.h"
#include "meshc/Target/Printer.h"
#include "meshc/Target/Vocabulary.h"

namespace meshc::target {

class StepPrinter {
public:
  StepPrinter(Vocabulary &vocabulary, const KernelTable &kernels, Printer &p)
      : vocabulary(vocabulary), kernels(kernels), p(p), names(&vocabulary.names) {}
  virtual ~StepPrinter() = default;

  /// `void trainStep(Rank &rank) { ... }`
  mlir::LogicalResult print(rt::StepOp step);

protected:
  /// The call of a kernel's function.
  virtual void kernel(rt::KernelOp op) = 0;
  /// `[=](int64_t query, int64_t key, int64_t, int64_t)`: the start of a mask.
  virtual std::string maskHead(llvm::StringRef parameters) = 0;
  /// Whether collectives have a form that starts them, to be waited for: `Pending p = allGatherStart(...); wait(rank, p);`
  virtual bool startsCollectives() const = 0;

  /// A call with a comment that says where it comes from, and what it computes if `what` says so.
  void call(mlir::Operation *op, llvm::StringRef function, llvm::SmallVector<std::string> arguments, llvm::StringRef what = "");
  /// The pointer to a buffer, or the text of an i32.
  Expr text(mlir::Value value) { return values.lookup(value); }

  Vocabulary &vocabulary;
  const KernelTable &kernels;
  Printer &p;
  /// Names of the innermost C++ scope at the current place.
  Names *scope = &names;

private:
  mlir::LogicalResult block(mlir::Block &body);
  mlir::LogicalResult print(mlir::Operation *op);

  //===--- buffers ---===//
  void declareGlobals(mlir::Operation *op);
  void declare(mlir::Value value, const Expr &address, bool described = true);
  void slice(rt::SliceOp op);
  void view(rt::ViewOp op);
  mlir::LogicalResult loop(rt::LoopOp op);
  mlir::LogicalResult ahead(rt::LoopOp op, llvm::StringRef function);

  //===--- calls ---===//
  void gemm(rt::GemmOp op);
  template <typename OpTy>
  mlir::LogicalResult attend(OpTy op, llvm::StringRef function, mlir::ValueRange arguments);
  /// The name of a function object for the mask with the given body, which is printed here.
  mlir::FailureOr<std::string> mask(mlir::Region &region, mlir::ValueRange operands);
  mlir::LogicalResult scatterAdd(rt::ScatterAddOp op);
  mlir::LogicalResult topK(rt::TopKOp op);
  mlir::LogicalResult cumSum(rt::CumSumOp op);
  mlir::LogicalResult allReduce(rt::AllReduceOp op);
  void allGather(rt::AllGatherOp op);
  void reduceScatter(rt::ReduceScatterOp op);
  void allToAll(rt::AllToAllOp op);
  void exchange(rt::ExchangeOp op);

  void remark(mlir::Operation *op, llvm::StringRef what);
  std::string site(mlir::Operation *op, llvm::StringRef what);
  /// `kBatch * kSeq` for the dims `names` of a buffer.
  Expr size(rt::BufferType type, mlir::ArrayAttr names);
  /// The number `value` under the name it has in `type`, if it is the stride of the innermost of `names`.
  Expr stride(rt::BufferType type, mlir::ArrayAttr names, int64_t value);
  std::string nameOrText(mlir::Value value);

  Names names;
  llvm::DenseMap<mlir::Value, Expr> values;
  llvm::DenseMap<mlir::Value, Expr> addresses; ///< Of globals, without their variable.
  std::string pending;  ///< What the collectives being printed are started for; empty: they are waited for at once.
  std::string lastLine; ///< The source line that the last comment named.
};

} // namespace meshc::target

#endif
