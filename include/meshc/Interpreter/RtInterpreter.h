//===- RtInterpreter.h - executes rt programs in float64 --------*- C++ -*-===//
//
// The meaning of level 4, from the op descriptions: all ranks of the mesh in step, each with an arena of `rt.arena_bytes` at whose
// planned offsets the buffers lie. The arena is filled with NaN before a step, and writing an element spoils the bytes it covers, so reading
// what was never written, or what another buffer has overwritten since, shows in the results. Kernels run their outer indices and rows
// from the last to the first: an order as legal as any other that no backend uses. What loops prepare ahead happens before the body in every
// other iteration, after it in the others.
//
//   RtInterpreter interpreter(module);
//   interpreter.set(global, tensor);            // a global value, scattered over the ranks
//   interpreter.run(step);
//   Tensor loss = *interpreter.get(global);     // fails if replicas differ
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_INTERPRETER_RTINTERPRETER_H
#define MESHC_INTERPRETER_RTINTERPRETER_H

#include "Rt/IR/Rt.h"
#include "meshc/Interpreter/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::interp {

class RtInterpreter {
public:
  /// `module` must have been through rt-plan-memory.
  explicit RtInterpreter(mlir::ModuleOp module);

  void set(rt::GlobalOp global, const Tensor &value);
  mlir::FailureOr<Tensor> get(rt::GlobalOp global) const;
  mlir::LogicalResult run(rt::StepOp step);

private:
  friend class KernelRun;
  struct Rank {
    /// One slot per byte; an element is in the slot of its first byte.
    std::vector<double> memory;
    /// Byte offsets of buffers, values of i32.
    llvm::DenseMap<mlir::Value, int64_t> values;
  };
  struct Buffer {
    Rank *rank;
    rt::BufferType type;
    int64_t base;

    double read(int64_t element) const { return rank->memory[base + element * type.elementBytes()]; }
    void write(int64_t element, double value) const;
  };

  Buffer bufferOf(Rank &rank, mlir::Value value) const { return {&rank, rt::bufferType(value), rank.values.lookup(value)}; }
  int64_t shardIndex(int64_t rank, mlir::ArrayAttr axes) const;
  mlir::LogicalResult runBlock(mlir::Block &block);
  mlir::LogicalResult runLoop(rt::LoopOp loop);
  mlir::LogicalResult runOp(mlir::Operation &op, int64_t rank);
  mlir::LogicalResult runCollective(mlir::Operation &op);
  void runGemm(rt::GemmOp op, Rank &rank);
  template <typename OpTy>
  void runAttend(OpTy op, int64_t rank);
  void runScatterAdd(rt::ScatterAddOp op, int64_t rank);
  void runTopK(rt::TopKOp op, Rank &rank);
  void runCumSum(rt::CumSumOp op, Rank &rank);
  void runKernel(rt::KernelOp op, int64_t rank);

  mlir::ModuleOp module;
  mtf::MeshAttr mesh;
  std::vector<Rank> ranks;
};

/// Lowers the public functions of `module` (level 3) to rt and compares each with the function on the same random arguments, parameters and states
/// included. The first difference beyond `tolerance` is an error at the function.
mlir::LogicalResult compareWithRt(mlir::ModuleOp module, uint64_t seed, double tolerance);

} // namespace meshc::interp

#endif
