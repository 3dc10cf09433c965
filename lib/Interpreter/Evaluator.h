//===- Evaluator.h - what an op's evaluator sees ----------------*- C++ -*-===//
//
// Ops compute on one rank's parts: a level 1 program is the case of one rank. An evaluator fills every element of its
// results, the padding included, by the plain rule of the op; the interpreter then compares the padding with what the
// result's type claims and poisons it where the type claims nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_INTERPRETER_EVALUATOR_H
#define MESHC_LIB_INTERPRETER_EVALUATOR_H

#include "meshc/Interpreter/Placement.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace meshc::interp {

/// One op on one rank.
class RankOp {
public:
  RankOp(mlir::Operation *op, mtf::MeshAttr mesh, int64_t rank, llvm::ArrayRef<const Tensor *> operands)
      : op(op), mesh(mesh), rank(rank), operands(operands), results(op->getNumResults()) {}

  /// The part of an SSA operand of the op.
  const Tensor &operand(unsigned i) const { return *operands[i]; }
  mtf::NamedTensorType operandType(unsigned i) const { return mtf::tensorType(op->getOperand(i)); }
  mtf::NamedTensorType resultType(unsigned i = 0) const { return mtf::tensorType(op->getResult(i)); }

  /// Makes result `i` with its local dims.
  Tensor &make(unsigned i = 0, double fill = 0.0) { return results[i] = Tensor(localDims(resultType(i), mesh), fill); }

  /// Global index of the first element that this rank holds of `dim`.
  int64_t firstIndex(mtf::DimAttr dim) const { return mesh.shardIndex(rank, dim.getAxes()) * mesh.localSize(dim); }

  mlir::Operation *op;
  mtf::MeshAttr mesh;
  int64_t rank;

private:
  llvm::ArrayRef<const Tensor *> operands;

public:
  std::vector<Tensor> results;
};

using RankEvaluator = std::function<mlir::LogicalResult(RankOp &)>;

/// From op name to evaluator.
class EvaluatorTable {
public:
  /// Adds `body(OpTy, RankOp &)`, which returns nothing or a LogicalResult.
  template <typename OpTy, typename Body>
  void add(Body body) {
    table[OpTy::getOperationName()] = [body](RankOp &rankOp) -> mlir::LogicalResult {
      if constexpr (std::is_void_v<decltype(body(llvm::cast<OpTy>(rankOp.op), rankOp))>) {
        body(llvm::cast<OpTy>(rankOp.op), rankOp);
        return mlir::success();
      } else {
        return body(llvm::cast<OpTy>(rankOp.op), rankOp);
      }
    };
  }
  const RankEvaluator *find(llvm::StringRef name) const {
    auto it = table.find(name);
    return it == table.end() ? nullptr : &it->second;
  }

  /// The evaluators of all ops that a rank computes alone.
  static const EvaluatorTable &get();

private:
  llvm::StringMap<RankEvaluator> table;
};

void addElementwise(EvaluatorTable &table);
void addSources(EvaluatorTable &table);
void addReductions(EvaluatorTable &table);
void addShapes(EvaluatorTable &table);
void addIndexing(EvaluatorTable &table);
void addAttention(EvaluatorTable &table);

inline llvm::SmallVector<mlir::StringAttr> nameList(mlir::ArrayAttr names) {
  return llvm::to_vector(names.getAsRange<mlir::StringAttr>());
}

} // namespace meshc::interp

#endif
