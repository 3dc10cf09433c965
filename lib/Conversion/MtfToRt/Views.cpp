//===- Views.cpp - rename, split, merge, slice, concat, stack on buffers -------===//
#include "Lowering.h"
#include "Spmd/IR/Spmd.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

Value meshc::cut(OpBuilder &builder, Location loc, Value buffer, StringAttr dim, int64_t start, int64_t count, int64_t step) {
  rt::BufferType type = rt::bufferType(buffer);
  SmallVector<rt::DimAttr> dims;
  SmallVector<int64_t> strides;
  for (auto [d, stride] : llvm::zip(type.getDims(), type.getStrides())) {
    bool isCut = d.getName() == dim;
    if (isCut && count == 0)
      continue;
    dims.push_back(isCut ? rt::DimAttr::get(dim, count) : d);
    strides.push_back(isCut ? stride * step : stride);
  }
  return builder.createOrFold<rt::ViewOp>(loc, rt::BufferType::get(dims, type.getElementType(), strides), buffer, start * type.stride(dim));
}

static rt::BufferType renamedType(rt::BufferType type, RenameOp op) {
  SmallVector<rt::DimAttr> dims;
  for (rt::DimAttr dim : type.getDims()) {
    StringAttr name = dim.getName();
    for (auto [from, to] : llvm::zip(op.getFrom().getAsRange<StringAttr>(), op.getTo().getAsRange<StringAttr>()))
      if (from == dim.getName())
        name = to;
    dims.push_back(rt::DimAttr::get(name, dim.getSize()));
  }
  return rt::BufferType::get(dims, type.getElementType(), type.getStrides());
}

static rt::BufferType splitType(rt::BufferType type, StringAttr coarse, ArrayRef<rt::DimAttr> into) {
  SmallVector<rt::DimAttr> dims;
  SmallVector<int64_t> strides;
  for (auto [dim, stride] : llvm::zip(type.getDims(), type.getStrides())) {
    if (dim.getName() != coarse) {
      dims.push_back(dim);
      strides.push_back(stride);
      continue;
    }
    int64_t inner = dim.getSize();
    for (rt::DimAttr part : into) {
      inner /= part.getSize();
      dims.push_back(part);
      strides.push_back(stride * inner);
    }
  }
  return rt::BufferType::get(dims, type.getElementType(), strides);
}

/// Null where the dims are not adjacent.
static rt::BufferType mergedType(rt::BufferType type, ArrayAttr parts, StringAttr into) {
  std::optional<rt::Index> index = rt::mergedIndex(type, parts);
  if (!index)
    return {};
  SmallVector<rt::DimAttr> dims;
  SmallVector<int64_t> strides;
  for (auto [dim, stride] : llvm::zip(type.getDims(), type.getStrides())) {
    if (dim.getName() == parts[parts.size() - 1]) {
      dims.push_back(rt::DimAttr::get(into, index->size));
      strides.push_back(index->size == 1 ? stride : index->stride);
    } else if (!llvm::is_contained(parts, dim.getName())) {
      dims.push_back(dim);
      strides.push_back(stride);
    }
  }
  return rt::BufferType::get(dims, type.getElementType(), strides);
}

/// The type with `parts` next to one another, where the first of them stood.
static rt::BufferType withAdjacent(rt::BufferType type, ArrayAttr parts) {
  SmallVector<rt::DimAttr> dims;
  bool placed = false;
  for (rt::DimAttr dim : type.getDims()) {
    if (!llvm::is_contained(parts, dim.getName())) {
      dims.push_back(dim);
    } else if (!placed) {
      placed = true;
      for (auto part : parts.getAsRange<StringAttr>())
        dims.push_back(rt::DimAttr::get(part, type.size(part)));
    }
  }
  return rt::BufferType::get(dims, type.getElementType());
}

int64_t Lowering::partSize(NamedTensorType fine, ArrayAttr parts, StringAttr part) const {
  DimAttr dim = fine.findDim(part);
  return part == parts[0] ? localSize(dim) : dim.getSize();
}

void Lowering::lowerView(Operation *op) {
  Location loc = op->getLoc();
  Value result = op->getResult(0), input = bufferOf(op->getOperand(0));
  rt::BufferType type = rt::bufferType(input);
  if (auto rename = dyn_cast<RenameOp>(op)) {
    buffers[result] = builder.createOrFold<rt::ViewOp>(loc, renamedType(type, rename), input, 0);
  } else if (auto split = dyn_cast<SplitOp>(op)) {
    SmallVector<rt::DimAttr> into;
    for (auto name : split.getInto().getAsRange<StringAttr>())
      into.push_back(rt::DimAttr::get(name, partSize(split.getType(), split.getInto(), name)));
    Value parts = builder.createOrFold<rt::ViewOp>(loc, splitType(type, split.getDimAttr(), into), input, 0);
    SmallVector<rt::DimAttr> padded = llvm::to_vector(llvm::make_filter_range(
        into, [&](rt::DimAttr part) { return part.getSize() != localSize(split.getType().findDim(part.getName())); }));
    if (padded.empty()) {
      buffers[result] = parts;
      return;
    }
    Value target = define(result);
    for (rt::DimAttr part : padded)
      target = cut(builder, loc, target, part.getName(), 0, part.getSize());
    rt::CopyOp::create(builder, loc, parts, target);
  } else if (auto merge = dyn_cast<MergeOp>(op)) {
    for (auto name : merge.getDims().getAsRange<StringAttr>())
      if (int64_t size = partSize(merge.getInput().getType(), merge.getDims(), name); size != type.size(name))
        input = cut(builder, loc, input, name, 0, size);
    type = rt::bufferType(input);
    rt::BufferType merged = mergedType(type, merge.getDims(), merge.getIntoAttr());
    if (!merged) {
      rt::BufferType adjacent = withAdjacent(type, merge.getDims());
      input = inOrder(input, adjacent, loc);
      merged = mergedType(adjacent, merge.getDims(), merge.getIntoAttr());
    }
    buffers[result] = builder.createOrFold<rt::ViewOp>(loc, merged, input, 0);
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    int64_t count = slice.getType().dimSize(slice.getDimAttr()), local = localSize(slice.getType().findDim(slice.getDimAttr()));
    Value part = cut(builder, loc, input, slice.getDimAttr(), slice.getStart(), count, slice.getStride());
    if (local == count) {
      buffers[result] = part;
      return;
    }
    // The result has padding, which the input may not have memory for.
    Value target = define(result);
    rt::CopyOp::create(builder, loc, part, cut(builder, loc, target, slice.getDimAttr(), 0, count));
  } else {
    auto block = cast<spmd::SliceOp>(op);
    Value shard = rt::ShardIndexOp::create(builder, loc, builder.getI32Type(), block.getOver());
    int64_t size = localSize(block.getType().findDim(block.getDimAttr()));
    SmallVector<rt::DimAttr> dims(type.getDims());
    dims[type.position(block.getDimAttr())] = rt::DimAttr::get(block.getDimAttr(), size);
    auto blockType = rt::BufferType::get(dims, type.getElementType(), type.getStrides());
    buffers[result] = rt::SliceOp::create(builder, loc, blockType, input, block.getDimAttr(), shard);
  }
}

void Lowering::lowerConcat(ConcatOp op) {
  Value target = define(op.getResult());
  int64_t start = 0;
  for (Value input : op.getInputs()) {
    int64_t count = tensorType(input).dimSize(op.getDimAttr());
    Value source = cut(builder, op.getLoc(), bufferOf(input), op.getDimAttr(), 0, count);
    rt::CopyOp::create(builder, op.getLoc(), source, cut(builder, op.getLoc(), target, op.getDimAttr(), start, count));
    start += count;
  }
}

void Lowering::lowerStack(StackOp op) {
  Value target = define(op.getResult());
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    rt::CopyOp::create(builder, op.getLoc(), bufferOf(input), cut(builder, op.getLoc(), target, op.getDimAttr(), i, 0));
}
