//===- KernelExpressions.cpp - values pulled through their expressions ----===//
#include "KernelBuilder.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

Value KernelBuilder::inArg(Value operand) {
  Value &argument = inArgs[operand];
  if (!argument) {
    argument = body->insertArgument(firstIn + ins.size(), operand.getType(), operand.getLoc());
    ins.push_back(operand);
  }
  return argument;
}

Value KernelBuilder::constant(double value, Type type) {
  TypedAttr attr = isa<FloatType>(type) ? TypedAttr(at().getFloatAttr(type, value))
                                        : TypedAttr(at().getIntegerAttr(type, static_cast<int64_t>(value)));
  return arith::ConstantOp::create(at(), loc, attr);
}

/// Kernels compute bf16 in f32.
Value KernelBuilder::widen(Value value) {
  return value.getType().isBF16() ? arith::ExtFOp::create(at(), loc, at().getF32Type(), value) : value;
}

Value KernelBuilder::indexOf(const Place &place) {
  return place.index ? place.index : rt::IndexOp::create(at(), loc, at().getI32Type(), place.iteration).getResult();
}

/// Index in the whole dimension of a position in this rank's part.
Value KernelBuilder::globalIndex(const Place &place, DimAttr dim) {
  if (place.global)
    return place.global;
  Value local = indexOf(place);
  if (lowering.mesh.shardCount(dim.getAxes()) == 1)
    return local;
  SmallVector<Attribute> axes(dim.getAxes().begin(), dim.getAxes().end());
  Value shard = rt::ShardIndexOp::create(at(), loc, at().getI32Type(), at().getArrayAttr(axes));
  Value first = arith::MulIOp::create(at(), loc, shard, constant(lowering.localSize(dim), at().getI32Type()));
  return arith::AddIOp::create(at(), loc, first, local);
}

Value KernelBuilder::load(Value buffer, const View &view, bool checked) {
  SmallVector<StringAttr> names;
  SmallVector<Value> indices;
  for (rt::DimAttr dim : rt::bufferType(buffer).getDims()) {
    const Place &place = view.find(dim.getName())->second;
    if (place.iteration == dim.getName())
      continue;
    names.push_back(dim.getName());
    indices.push_back(indexOf(place));
  }
  return widen(rt::LoadOp::create(at(), loc, buffer, names, indices, !checked && !names.empty()));
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

View KernelBuilder::identity(Value value) const {
  View view;
  for (DimAttr dim : tensorType(value).getDims())
    view[dim.getName()] = {dim.getName(), Value(), Value()};
  return view;
}

/// The part of a view that speaks of the dims of `value`.
static View restricted(const View &view, Value value) {
  View result;
  for (DimAttr dim : tensorType(value).getDims())
    result[dim.getName()] = view.find(dim.getName())->second;
  return result;
}

static bool isIdentity(const View &view) {
  return llvm::all_of(view, [](const auto &entry) { return entry.second.iteration == entry.first; });
}

/// The value at the iteration's place; once per outer index if it has no row dim.
Value KernelBuilder::pull(Value value) {
  bool once = isOuter(value) && unit;
  auto &memo = once ? outerValues : rowValues;
  if (Value done = memo.lookup(value))
    return done;
  std::optional<OpBuilder> row;
  if (once)
    std::swap(row, inRow);
  Value result = pull(value, identity(value));
  if (once)
    std::swap(row, inRow);
  memo[value] = result;
  return result;
}

Value KernelBuilder::pull(Value value, const View &view) {
  if (Value index = lowering.loopIndices.lookup(value))
    return inArg(index);
  Operation *op = value.getDefiningOp();
  bool mine = op && members.contains(op);
  if (mine && storedHere.contains(value))
    return load(outArgs.find(value)->second, view);
  if (!mine)
    if (Value buffer = lowering.bufferOf(value))
      return load(inArg(buffer), view);
  if (reducedDims(op))
    return outerValues.lookup(value);
  return compute(op, view);
}

Value KernelBuilder::compute(Operation *op, const View &view) {
  // The ops of an expression keep the locations, and so the names, of what they come from.
  Location saved = std::exchange(loc, op->getLoc());
  Value result = isViewLike(op) ? computeView(op, view) : isa<GatherOp, ShiftOp, PadOp, WindowOp>(op) ? computeRead(op, view) : computeElement(op, view);
  loc = saved;
  return result;
}

/// Renames, splits, merges, slices: only where to read changes.
Value KernelBuilder::computeView(Operation *op, const View &view) {
  auto place = [&](StringAttr name) { return view.find(name)->second; };
  if (auto rename = dyn_cast<RenameOp>(op)) {
    View inner = view;
    for (auto from : rename.getFrom().getAsRange<StringAttr>())
      inner.erase(from);
    for (auto [from, to] : llvm::zip(rename.getFrom().getAsRange<StringAttr>(), rename.getTo().getAsRange<StringAttr>()))
      inner[from] = place(to);
    return pull(rename.getInput(), restricted(inner, rename.getInput()));
  }
  if (auto split = dyn_cast<SplitOp>(op)) {
    Value index = constantI32(0);
    for (auto part : split.getInto().getAsRange<StringAttr>()) {
      Value scaled = arith::MulIOp::create(at(), loc, index, constantI32(lowering.partSize(split.getType(), split.getInto(), part)));
      index = arith::AddIOp::create(at(), loc, scaled, indexOf(place(part)));
    }
    View inner = view;
    inner[split.getDimAttr()] = {StringAttr(), index, Value()};
    return pull(split.getInput(), restricted(inner, split.getInput()));
  }
  if (auto merge = dyn_cast<MergeOp>(op)) {
    Value rest = indexOf(place(merge.getIntoAttr()));
    View inner = view;
    SmallVector<StringAttr> parts = llvm::to_vector(merge.getDims().getAsRange<StringAttr>());
    for (StringAttr part : llvm::reverse(parts)) {
      Value size = constantI32(lowering.partSize(merge.getInput().getType(), merge.getDims(), part));
      inner[part] = {StringAttr(), arith::RemSIOp::create(at(), loc, rest, size), Value()};
      rest = arith::DivSIOp::create(at(), loc, rest, size);
    }
    return pull(merge.getInput(), restricted(inner, merge.getInput()));
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Value scaled = arith::MulIOp::create(at(), loc, indexOf(place(slice.getDimAttr())), constantI32(slice.getStride()));
    View inner = view;
    inner[slice.getDimAttr()] = {StringAttr(), arith::AddIOp::create(at(), loc, scaled, constantI32(slice.getStart())), Value()};
    return pull(slice.getInput(), inner);
  }
  if (auto slice = dyn_cast<spmd::SliceOp>(op)) {
    SmallVector<Attribute> axes(slice.getOver().begin(), slice.getOver().end());
    Value shard = rt::ShardIndexOp::create(at(), loc, at().getI32Type(), at().getArrayAttr(axes));
    Value first = arith::MulIOp::create(at(), loc, shard, constantI32(lowering.localSize(slice.getType().findDim(slice.getDimAttr()))));
    View inner = view;
    inner[slice.getDimAttr()] = {StringAttr(), arith::AddIOp::create(at(), loc, first, indexOf(place(slice.getDimAttr()))), Value()};
    return pull(slice.getInput(), inner);
  }
  llvm_unreachable("all views");
}

/// Reads of memory at computed places, zero (or a padding value) outside.
Value KernelBuilder::computeRead(Operation *op, const View &view) {
  auto place = [&](StringAttr name) { return view.find(name)->second; };
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Value index = lowering.fusion.setOf(gather.getIndices()).none() || isIdentity(restricted(view, gather.getIndices()))
                      ? pull(gather.getIndices())
                      : pull(gather.getIndices(), restricted(view, gather.getIndices()));
    DimAttr dim = gather.getTable().getType().findDim(gather.getOverAttr());
    if (lowering.mesh.shardCount(dim.getAxes()) > 1)
      index = arith::SubIOp::create(at(), loc, index, globalIndex({StringAttr(), constantI32(0), Value()}, dim));
    View inner = view;
    inner[gather.getOverAttr()] = {StringAttr(), index, Value()};
    return load(inArg(lowering.bufferOf(gather.getTable())), inner, /*checked=*/true);
  }
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    View inner = view;
    Value index = arith::SubIOp::create(at(), loc, indexOf(place(shift.getDimAttr())), constantI32(shift.getAmount()));
    inner[shift.getDimAttr()] = {StringAttr(), index, Value()};
    return load(inArg(lowering.bufferOf(shift.getInput())), inner, /*checked=*/true);
  }
  if (auto pad = dyn_cast<PadOp>(op)) {
    // Position low + i * (interior + 1) holds element i.
    Value index = arith::SubIOp::create(at(), loc, indexOf(place(pad.getDimAttr())), constantI32(pad.getLow()));
    Value zero = constantI32(0), inside = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::sge, index, zero);
    if (pad.getInterior() > 0) {
      Value step = constantI32(pad.getInterior() + 1);
      Value rest = arith::RemSIOp::create(at(), loc, index, step);
      Value onStep = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, rest, zero);
      inside = arith::AndIOp::create(at(), loc, inside, onStep);
      index = arith::DivSIOp::create(at(), loc, index, step);
    }
    Value size = constantI32(pad.getInput().getType().dimSize(pad.getDimAttr()));
    Value below = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::slt, index, size);
    inside = arith::AndIOp::create(at(), loc, inside, below);
    View inner = view;
    inner[pad.getDimAttr()] = {StringAttr(), index, Value()};
    Value element = load(inArg(lowering.bufferOf(pad.getInput())), inner, /*checked=*/true);
    return arith::SelectOp::create(at(), loc, inside, element, pull(pad.getValue(), View()));
  }
  if (auto window = dyn_cast<WindowOp>(op)) {
    Value start = arith::MulIOp::create(at(), loc, indexOf(place(window.getDimAttr())), constantI32(window.getStride()));
    Value offset = arith::MulIOp::create(at(), loc, indexOf(place(window.getWindowAttr())), constantI32(window.getDilation()));
    Value index = arith::SubIOp::create(at(), loc, arith::AddIOp::create(at(), loc, start, offset), constantI32(window.getLow()));
    View inner = view;
    inner.erase(window.getWindowAttr());
    inner[window.getDimAttr()] = {StringAttr(), index, Value()};
    return load(inArg(lowering.bufferOf(window.getInput())), inner, /*checked=*/true);
  }
  llvm_unreachable("all reads at computed places");
}

/// Constants, indices, random numbers and elementwise ops.
Value KernelBuilder::computeElement(Operation *op, const View &view) {
  auto place = [&](StringAttr name) { return view.find(name)->second; };
  if (auto constantOp = dyn_cast<ConstantOp>(op)) {
    Type type = constantOp.getType().getElementType();
    return constant(constantOp.asDouble(), type.isBF16() ? at().getF32Type() : type);
  }
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value result = globalIndex(place(index.getDimAttr()), index.getType().getDims().front());
    if (index.getOffset())
      result = arith::AddIOp::create(at(), loc, result, pull(index.getOffset(), View()));
    return result;
  }
  if (auto randomOp = dyn_cast<RandomOp>(op))
    return random(randomOp, view);
  SmallVector<Value> operands;
  bool plain = unit && isIdentity(view);
  for (Value operand : op->getOperands())
    operands.push_back(plain ? pull(operand) : pull(operand, restricted(view, operand)));
  if (isa<BroadcastOp>(op))
    return operands[0];
  if (auto unreduce = dyn_cast<spmd::UnreduceOp>(op)) {
    Value shard = rt::ShardIndexOp::create(at(), loc, at().getI32Type(), unreduce.getOver());
    Value isFirst = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, shard, constantI32(0));
    return arith::SelectOp::create(at(), loc, isFirst, operands[0], constant(0, operands[0].getType()));
  }
  if (auto fill = dyn_cast<FillPaddingOp>(op)) {
    Type type = operands[0].getType();
    double infinity = isa<FloatType>(type) ? std::numeric_limits<double>::infinity() : 2147483647.0;
    double value = 0;
    switch (fill.getType().getPadding()) {
    case Padding::Undefined: return operands[0];
    case Padding::Zero: break;
    case Padding::NegInf: value = -infinity; break;
    case Padding::PosInf: value = infinity; break;
    case Padding::One: value = 1; break;
    }
    Value result = operands[0];
    for (DimAttr dim : fill.getType().getDims()) {
      if (!dim.isPadded())
        continue;
      Value inside = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::slt, globalIndex(place(dim.getName()), dim), constantI32(dim.getSize()));
      result = arith::SelectOp::create(at(), loc, inside, result, constant(value, type));
    }
    return result;
  }
  return arithmetic(op, operands);
}

Value KernelBuilder::random(RandomOp op, const View &view) {
  // The linear index over the unpadded global sizes.
  Type i64 = at().getI64Type();
  auto wide = [&](Value value) { return arith::ExtSIOp::create(at(), loc, i64, value).getResult(); };
  llvm::SmallDenseMap<StringAttr, Value> offsets;
  for (auto [name, offset] : llvm::zip(op.getOffsetDims().getAsRange<StringAttr>(), op.getOffsets()))
    offsets[name] = offset;
  Value linear;
  for (auto [name, extent] : llvm::zip(op.getOrder().getAsRange<StringAttr>(), op.getExtents())) {
    Value index = globalIndex(view.find(name)->second, op.getType().findDim(name));
    if (Value offset = offsets.lookup(name))
      index = arith::AddIOp::create(at(), loc, index, pull(offset, View()));
    if (linear)
      linear = arith::MulIOp::create(at(), loc, linear, constant(extent, i64));
    linear = linear ? arith::AddIOp::create(at(), loc, linear, wide(index)).getResult() : wide(index);
  }
  if (!linear)
    linear = constant(0, i64);
  SmallVector<Value> repeats;
  for (Value index : op.getIndices())
    repeats.push_back(pull(index, View()));
  return rt::RandomOp::create(at(), loc, at().getF32Type(), op.getDistributionAttr(), op.getParameterAttr(), op.getPathAttr(), pull(op.getSeed(), View()),
                              pull(op.getStep(), View()), linear, repeats);
}
