//===- Sharding.cpp - the algebra of shardings -----------------------------===//
#include "Sharding.h"

using namespace mlir;
using namespace meshc::mtf;

std::optional<Axis> Mesh::find(StringAttr name) const {
  for (auto [i, axis] : llvm::enumerate(attr.getAxisNames()))
    if (axis == name)
      return size(i) > 1 ? std::optional<Axis>(i) : std::nullopt;
  return std::nullopt;
}

int64_t Mesh::shards(ArrayRef<Axis> axes) const {
  int64_t count = 1;
  for (Axis axis : axes)
    count *= size(axis);
  return count;
}

int64_t Mesh::shards(AxisSet axes) const { return shards(list(axes)); }

AxisList Mesh::axes(ArrayRef<StringAttr> names) const {
  AxisList list;
  for (StringAttr name : names)
    if (std::optional<Axis> axis = find(name))
      list.push_back(*axis);
  return list;
}

SmallVector<StringAttr> Mesh::names(ArrayRef<Axis> axes) const {
  SmallVector<StringAttr> names;
  for (Axis axis : axes)
    names.push_back(name(axis));
  return names;
}

AxisList Mesh::list(AxisSet axes) const {
  AxisList list;
  for (unsigned i = 0; i < numAxes(); ++i)
    if (axes & bit(i))
      list.push_back(i);
  return list;
}

AxisSet Sharding::split() const {
  AxisSet set = 0;
  for (const AxisList &axes : dims)
    set |= setOf(axes);
  return set;
}

BlockArgument meshc::mtf::storedArgument(Value value) {
  while (true) {
    if (auto cast = value.getDefiningOp<CastOp>()) {
      value = cast.getInput();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto loop = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
    if (!loop)
      return argument;
    unsigned first = 1 + loop.numCarries();
    if (argument.getArgNumber() < first)
      return {};
    value = loop.getScanned()[argument.getArgNumber() - first];
  }
}

Sharding meshc::mtf::shardingOf(NamedTensorType type, const Mesh &mesh) {
  Sharding sharding(type.getDims().size());
  for (auto [axes, dim] : llvm::zip(sharding.dims, type.getDims()))
    axes = mesh.axes(dim.getAxes());
  sharding.partial = setOf(mesh.axes(type.getPartialAxes()));
  sharding.kind = type.getPartialKind();
  return sharding;
}

NamedTensorType meshc::mtf::applySharding(NamedTensorType type, const Sharding &sharding, const Mesh &mesh) {
  SmallVector<DimAttr> dims;
  for (auto [axes, dim] : llvm::zip(sharding.dims, type.getDims()))
    dims.push_back(dim.withAxes(mesh.names(axes)));
  return NamedTensorType::get(dims, type.getElementType(), mesh.names(mesh.list(sharding.partial)), sharding.kind, type.getPadding());
}
