//===- RtShapes.cpp - what library calls are told --------------------------===//
#include "Rt/IR/Rt.h"

using namespace mlir;
using namespace meshc::rt;

Value meshc::rt::rootOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<SliceOp, ViewOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<Index> meshc::rt::mergedIndex(BufferType type, ArrayAttr names) {
  Index index;
  bool first = true;
  // Innermost first; a dim of size 1 fits anywhere.
  for (Attribute name : llvm::reverse(names)) {
    int position = type.position(cast<StringAttr>(name));
    if (position < 0)
      return std::nullopt;
    int64_t size = type.getDims()[position].getSize(), stride = type.getStrides()[position];
    if (size == 1)
      continue;
    if (first)
      index.stride = stride;
    else if (stride != index.stride * index.size)
      return std::nullopt;
    first = false;
    index.size *= size;
  }
  return index;
}

Cut meshc::rt::cutAt(BufferType type, StringAttr dim) {
  Cut cut;
  int position = type.position(dim);
  for (auto [i, d] : llvm::enumerate(type.getDims()))
    (static_cast<int>(i) < position ? cut.outer : cut.chunk) *= d.getSize();
  return cut;
}

/// A matrix's strides. An index of size 1 may have any stride: the one that makes the other 1 contiguous.
static GemmShape::Matrix matrix(Index row, Index col) {
  if (col.size == 1 && row.size == 1)
    return {1, 1};
  if (col.size == 1)
    return row.stride == 1 ? GemmShape::Matrix{1, row.size} : GemmShape::Matrix{row.stride, 1};
  if (row.size == 1)
    return col.stride == 1 ? GemmShape::Matrix{col.size, 1} : GemmShape::Matrix{1, col.stride};
  return {row.stride, col.stride};
}

GemmShape GemmOp::shape() {
  BufferType a = bufferType(getA()), b = bufferType(getB()), c = bufferType(getC());
  auto index = [](BufferType type, ArrayAttr names) { return mergedIndex(type, names).value_or(Index()); };
  GemmShape shape;
  shape.m = index(c, getM()).size;
  shape.n = index(c, getN()).size;
  shape.k = index(a, getK()).size;
  shape.a = matrix(index(a, getM()), index(a, getK()));
  shape.b = matrix(index(b, getK()), index(b, getN()));
  shape.c = matrix(index(c, getM()), index(c, getN()));
  for (auto name : getBatch().getAsRange<StringAttr>()) {
    auto stride = [&](BufferType type) { return type.hasDim(name) ? type.stride(name) : 0; };
    shape.batches.push_back({c.size(name), stride(a), stride(b), stride(c)});
  }
  return shape;
}

template <typename OpTy>
static AttendShape attendShape(OpTy op, BufferType o) {
  BufferType q = bufferType(op.getQ()), k = bufferType(op.getK()), v = bufferType(op.getV()), lse = bufferType(op.getLse());
  auto index = [](BufferType type, ArrayAttr names) { return mergedIndex(type, names).value_or(Index()); };
  SmallVector<Attribute> headNames(op.getHeads().begin(), op.getHeads().end());
  headNames.append(op.getGroups().begin(), op.getGroups().end());
  auto allHeads = ArrayAttr::get(op.getContext(), headNames);
  AttendShape shape;
  shape.batch = index(q, op.getBatch()).size;
  shape.kvHeads = index(k, op.getHeads()).size;
  shape.heads = index(q, allHeads).size;
  shape.queries = index(q, op.getQuery()).size;
  shape.keys = index(k, op.getMem()).size;
  shape.dim = index(q, op.getHead()).size;
  shape.valueDim = index(v, op.getValue()).size;
  shape.scale = op.getScale().convertToDouble();
  auto strides = [&](BufferType type, ArrayAttr heads, ArrayAttr row) {
    return AttendShape::Strides{index(type, op.getBatch()).stride, index(type, heads).stride, index(type, row).stride};
  };
  shape.q = strides(q, allHeads, op.getQuery());
  shape.k = strides(k, op.getHeads(), op.getMem());
  shape.v = strides(v, op.getHeads(), op.getMem());
  shape.o = strides(o, allHeads, op.getQuery());
  shape.lse = strides(lse, allHeads, op.getQuery());
  return shape;
}

AttendShape AttendOp::shape() { return attendShape(*this, bufferType(getO())); }
AttendShape AttendGradOp::shape() { return attendShape(*this, bufferType(getO())); }
