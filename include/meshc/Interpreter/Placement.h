//===- Placement.h - global values and their parts on ranks -----*- C++ -*-===//
//
// What a sharded type means, in code: `scatter` cuts a global value into the parts that ranks hold, `assemble` puts parts
// together again. For every type, assemble(scatter(x)) == x.
//
//   type   !mtf.tensor<[a=5 pad 6 (m)], f32, padding(zero)>, mesh m=2
//   global [1 2 3 4 5]     rank 0 [1 2 3]     rank 1 [4 5 0]
//
// A partial value is the reduction of all ranks' summands; scatter makes unequal summands so that a forgotten or doubled
// reduction shows.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_INTERPRETER_PLACEMENT_H
#define MESHC_INTERPRETER_PLACEMENT_H

#include "Mtf/IR/Mtf.h"
#include "meshc/Interpreter/Tensor.h"

namespace meshc::interp {

/// One value: the part of every rank.
using Shards = std::vector<Tensor>;

/// The dims of one rank's part (every rank's parts have the same sizes).
Dims localDims(mtf::NamedTensorType type, mtf::MeshAttr mesh);
/// The dims of the whole value without padding.
Dims globalDims(mtf::NamedTensorType type);

Shards scatter(const Tensor &global, mtf::NamedTensorType type, mtf::MeshAttr mesh);
Tensor assemble(const Shards &shards, mtf::NamedTensorType type, mtf::MeshAttr mesh);

/// What a padding state puts into the padding; poison for `undefined`.
double paddingValue(mtf::Padding padding);
/// The neutral element of a reduction.
double identityOf(mtf::ReductionKind kind);
double combine(mtf::ReductionKind kind, double a, double b);

/// Calls `body(offset)` for each element of `rank`'s part that lies in the padding.
void forEachPadding(mtf::NamedTensorType type, mtf::MeshAttr mesh, int64_t rank, llvm::function_ref<void(int64_t)> body);

/// Another rank whose part must equal that of `rank` because they differ on replicated axes only: the one with coordinate 0
/// on all of them.
int64_t replicaRoot(mtf::NamedTensorType type, mtf::MeshAttr mesh, int64_t rank);

} // namespace meshc::interp

#endif
