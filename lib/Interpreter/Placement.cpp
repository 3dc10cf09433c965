//===- Placement.cpp - global values and their parts on ranks --------------===//
#include "meshc/Interpreter/Placement.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;
using mtf::DimAttr;
using mtf::MeshAttr;
using mtf::NamedTensorType;
using mtf::ReductionKind;

Dims interp::localDims(NamedTensorType type, MeshAttr mesh) {
  Dims dims;
  for (DimAttr dim : type.getDims())
    dims.push_back({dim.getName(), mesh.localSize(dim)});
  return dims;
}

Dims interp::globalDims(NamedTensorType type) {
  Dims dims;
  for (DimAttr dim : type.getDims())
    dims.push_back({dim.getName(), dim.getSize()});
  return dims;
}

double interp::paddingValue(mtf::Padding padding) {
  switch (padding) {
  case mtf::Padding::Undefined: return kPoison;
  case mtf::Padding::Zero:      return 0;
  case mtf::Padding::One:       return 1;
  case mtf::Padding::NegInf:    return -kInfinity;
  case mtf::Padding::PosInf:    return kInfinity;
  }
  llvm_unreachable("unknown padding");
}

double interp::identityOf(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:  return 0;
  case ReductionKind::Prod: return 1;
  case ReductionKind::Max:  return -kInfinity;
  case ReductionKind::Min:  return kInfinity;
  }
  llvm_unreachable("unknown reduction");
}

double interp::combine(ReductionKind kind, double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return kPoison;
  switch (kind) {
  case ReductionKind::Sum:  return a + b;
  case ReductionKind::Prod: return a * b;
  case ReductionKind::Max:  return std::max(a, b);
  case ReductionKind::Min:  return std::min(a, b);
  }
  llvm_unreachable("unknown reduction");
}

/// Calls `body(local offset, global offset)` for each element of a rank's part; the global offset is -1 in the padding.
static void forEachElement(NamedTensorType type, MeshAttr mesh, int64_t rank, llvm::function_ref<void(int64_t, int64_t)> body) {
  Dims local = localDims(type, mesh);
  int64_t count = 1;
  for (const Dim &dim : local)
    count *= dim.size;
  for (int64_t offset = 0; offset < count; ++offset) {
    int64_t rest = offset, global = 0, stride = 1;
    bool padding = false;
    for (int64_t i = static_cast<int64_t>(local.size()) - 1; i >= 0; --i) {
      DimAttr dim = type.getDims()[i];
      int64_t index = mesh.shardIndex(rank, dim.getAxes()) * local[i].size + rest % local[i].size;
      rest /= local[i].size;
      padding |= index >= dim.getSize();
      global += index * stride;
      stride *= dim.getSize();
    }
    body(offset, padding ? -1 : global);
  }
}

void interp::forEachPadding(NamedTensorType type, MeshAttr mesh, int64_t rank, llvm::function_ref<void(int64_t)> body) {
  if (llvm::any_of(type.getDims(), [](DimAttr dim) { return dim.isPadded(); }))
    forEachElement(type, mesh, rank, [&](int64_t local, int64_t global) {
      if (global < 0)
        body(local);
    });
}

/// The part of `value` that shard `index` of `count` contributes to a partial value.
static double summand(ReductionKind kind, bool integer, double value, int64_t index, int64_t count) {
  switch (kind) {
  case ReductionKind::Sum:
    if (integer)
      return index == 0 ? value - (count - 1) : 1;
    return value * (2.0 * (index + 1)) / (count * (count + 1.0));
  case ReductionKind::Prod: return index == 0 ? value : 1;
  case ReductionKind::Max:  return index == count - 1 ? value : value - 1 - index;
  case ReductionKind::Min:  return index == count - 1 ? value : value + 1 + index;
  }
  llvm_unreachable("unknown reduction");
}

Shards interp::scatter(const Tensor &global, NamedTensorType type, MeshAttr mesh) {
  Shards shards;
  int64_t count = mesh.shardCount(type.getPartialAxes());
  bool integer = isa<IntegerType>(type.getElementType());
  for (int64_t rank = 0, ranks = mesh.numRanks(); rank < ranks; ++rank) {
    Tensor &part = shards.emplace_back(localDims(type, mesh), paddingValue(type.getPadding()));
    int64_t index = mesh.shardIndex(rank, type.getPartialAxes());
    forEachElement(type, mesh, rank, [&](int64_t local, int64_t element) {
      if (element >= 0)
        part[local] = count == 1 ? global[element] : summand(type.getPartialKind(), integer, global[element], index, count);
    });
  }
  return shards;
}

Tensor interp::assemble(const Shards &shards, NamedTensorType type, MeshAttr mesh) {
  Tensor global(globalDims(type), identityOf(type.getPartialKind()));
  for (auto [rank, part] : llvm::enumerate(shards)) {
    if (replicaRoot(type, mesh, rank) != static_cast<int64_t>(rank))
      continue;
    forEachElement(type, mesh, rank, [&](int64_t local, int64_t element) {
      if (element >= 0)
        global[element] = type.isPartial() ? combine(type.getPartialKind(), global[element], part[local]) : part[local];
    });
  }
  return global;
}

int64_t interp::replicaRoot(NamedTensorType type, MeshAttr mesh, int64_t rank) {
  SmallVector<StringAttr> split = type.splitAxes();
  int64_t root = 0;
  for (StringAttr axis : mesh.getAxisNames()) {
    bool replicated = !llvm::is_contained(split, axis) && !llvm::is_contained(type.getPartialAxes(), axis);
    root = root * mesh.axisSize(axis) + (replicated ? 0 : mesh.coordinate(rank, axis));
  }
  return root;
}
