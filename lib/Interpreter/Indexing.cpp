//===- Indexing.cpp - gather and scatter -----------------------------------===//
//
// Where the indexed dim is split, a rank serves the indices of its own part: gather gives zero for the others, scatter_add
// drops them.
//
//===----------------------------------------------------------------------===//
#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace meshc::interp;
namespace mtf = meshc::mtf;

/// Strides of `tensor` along `loops`, 0 along `dim`, which the indices address.
static Strides stridesWithout(const Tensor &tensor, ArrayRef<Dim> loops, StringAttr dim) {
  Strides strides = tensor.strides(loops);
  for (auto [stride, loop] : llvm::zip(strides, loops))
    if (loop.name == dim)
      stride = 0;
  return strides;
}

/// The place of global index `index` in this rank's part of `dim`, or -1.
static int64_t place(const RankOp &at, mtf::DimAttr dim, double index) {
  int64_t local = static_cast<int64_t>(index) - at.firstIndex(dim);
  return index >= 0 && index < dim.getSize() && local >= 0 && local < at.mesh.localSize(dim) ? local : -1;
}

static void evaluateGather(mtf::GatherOp op, RankOp &at) {
  const Tensor &table = at.operand(0), &indices = at.operand(1);
  Tensor &result = at.make();
  mtf::DimAttr over = at.operandType(0).findDim(op.getOverAttr());
  int64_t stride = table.stride(over.getName());
  ArrayRef<Dim> loops = result.dims();
  std::array<Strides, 3> strides = {result.strides(loops), stridesWithout(table, loops, over.getName()), indices.strides(loops)};
  forEach<3>(loops, strides, [&](auto o) {
    if (std::isnan(indices[o[2]])) {
      result[o[0]] = kPoison;
      return;
    }
    int64_t i = place(at, over, indices[o[2]]);
    result[o[0]] = i < 0 ? 0 : table[o[1] + i * stride];
  });
}

static void evaluateScatterAdd(mtf::ScatterAddOp op, RankOp &at) {
  const Tensor &updates = at.operand(0), &indices = at.operand(1);
  Tensor &result = at.make();
  mtf::DimAttr into = at.resultType().findDim(op.getIntoAttr());
  int64_t stride = result.stride(into.getName());
  ArrayRef<Dim> loops = updates.dims();
  std::array<Strides, 3> strides = {stridesWithout(result, loops, into.getName()), updates.strides(loops), indices.strides(loops)};
  forEach<3>(loops, strides, [&](auto o) {
    double update = updates[o[1]], index = indices[o[2]];
    if (std::isnan(index)) {
      // A poisoned index may point anywhere; only a zero does no harm there.
      for (int64_t i = 0; update != 0 && i < at.mesh.localSize(into); ++i)
        result[o[0] + i * stride] = kPoison;
      return;
    }
    if (int64_t i = place(at, into, index); i >= 0)
      result[o[0] + i * stride] += update;
  });
}

void meshc::interp::addIndexing(EvaluatorTable &table) {
  table.add<mtf::GatherOp>(evaluateGather);
  table.add<mtf::ScatterAddOp>(evaluateScatterAdd);
}
