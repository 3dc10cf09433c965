//===- Library.cpp - units that are one library op, a loop or a collective -----===//
#include "Lowering.h"
#include "Prepare.h"
#include "Spmd/IR/Spmd.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

Value Lowering::allocate(rt::BufferType type, Location loc) { return rt::AllocOp::create(builder, loc, type); }

Value Lowering::define(Value result) { return buffers[result] = allocate(orders.bufferType(result), result.getLoc()); }

Value Lowering::inOrder(Value buffer, rt::BufferType type, Location loc) {
  if (rt::bufferType(buffer) == type)
    return buffer;
  Value copy = allocate(type, loc);
  rt::CopyOp::create(builder, loc, buffer, copy);
  return copy;
}

LogicalResult Lowering::lowerLibrary(const Unit &unit) {
  Operation *op = unit.ops.back();
  if (unit.ops.size() == 2)
    return lowerAccumulation(cast<AddOp>(op), unit.ops.front());
  if (isViewLike(op))
    return lowerView(op), success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<DotOp>([&](DotOp dot) { return lowerDot(dot, define(dot.getResult()), /*accumulate=*/false); })
      .Case<ScatterAddOp>([&](ScatterAddOp scatter) {
        Value target = define(scatter.getResult());
        rt::FillOp::create(builder, op->getLoc(), target, cast<TypedAttr>(builder.getZeroAttr(rt::bufferType(target).getElementType())));
        return lowerScatterAdd(scatter, target), success();
      })
      .Case<AttendOp>([&](AttendOp attend) { return lowerAttend(attend), success(); })
      .Case<AttendGradOp>([&](AttendGradOp attend) { return lowerAttendGrad(attend), success(); })
      .Case<ConcatOp>([&](ConcatOp concat) { return lowerConcat(concat), success(); })
      .Case<StackOp>([&](StackOp stack) { return lowerStack(stack), success(); })
      .Case<TopKOp>([&](TopKOp top) {
        return lowerTopK(top), success();
      })
      .Case<CumSumOp>([&](CumSumOp sum) {
        Value target = define(sum.getResult());
        Value input = inOrder(bufferOf(sum.getInput()), rt::bufferType(target), op->getLoc());
        rt::CumSumOp::create(builder, op->getLoc(), input, target, sum.getOverAttr(), sum.getExclusive(), sum.getReverse());
        return success();
      })
      .Case<RepeatOp>([&](RepeatOp loop) { return lowerRepeat(loop); })
      .Case<spmd::CollectiveOpInterface>([&](auto) { return lowerCollective(op); })
      .Default([](Operation *op) {
        return op->emitError() << "'" << op->getName() << "' has no form in one rank's program; partition the function first";
      });
}

/// %sum = %other + product: a copy of %other, unless nobody needs it any more, onto which the product is accumulated.
LogicalResult Lowering::lowerAccumulation(AddOp add, Operation *accumulated) {
  Value other = add.getOperand(add.getLhs() == accumulated->getResult(0) ? 1 : 0);
  Value source = bufferOf(other), target = define(add.getResult());
  rt::CopyOp::create(builder, add.getLoc(), source, target);
  if (auto dot = dyn_cast<DotOp>(accumulated))
    return lowerDot(dot, target, /*accumulate=*/true);
  lowerScatterAdd(cast<ScatterAddOp>(accumulated), target);
  return success();
}

/// The dims of `type` in groups, outermost first, packed; `group` numbers a dim's group.
static rt::BufferType packedIn(rt::BufferType type, llvm::function_ref<int(StringAttr)> group) {
  SmallVector<rt::DimAttr> dims(type.getDims());
  llvm::stable_sort(dims, [&](rt::DimAttr a, rt::DimAttr b) { return group(a.getName()) < group(b.getName()); });
  return rt::BufferType::get(dims, type.getElementType());
}

/// A buffer for the library to write that becomes `target`: itself if it is of that type.
Value Lowering::writtenAs(rt::BufferType type, Value target, Location loc) {
  return rt::bufferType(target) == type ? target : allocate(type, loc);
}

void Lowering::copyBack(Value written, Value target, Location loc) {
  if (written != target)
    rt::CopyOp::create(builder, loc, written, target);
}

/// The library takes updates[batch, rows, inner], indices[batch, rows] and target[batch, into, inner], each packed. Batch dims are those of
/// indices and target, in the target's order; the rest of the indices' are rows, in the updates' order.
void Lowering::lowerScatterAdd(ScatterAddOp op, Value target) {
  Location loc = op.getLoc();
  StringAttr along = op.getIntoAttr();
  Value updates = bufferOf(op.getUpdates()), indices = bufferOf(op.getIndices());
  rt::BufferType updatesType = rt::bufferType(updates), indicesType = rt::bufferType(indices), targetType = rt::bufferType(target);
  auto isBatch = [&](StringAttr name) { return name != along && indicesType.hasDim(name) && targetType.hasDim(name); };
  auto packedTarget = packedIn(targetType, [&](StringAttr name) { return isBatch(name) ? 0 : name == along ? 1 : 2; });
  // Rows by their place among the updates' dims; the others by their place in the target.
  auto place = [&](StringAttr name) {
    int size = targetType.getDims().size() + 1, inTarget = name == along ? -1 : packedTarget.position(name);
    if (indicesType.hasDim(name) && !isBatch(name))
      return size + updatesType.position(name);
    return isBatch(name) ? inTarget : inTarget + size + static_cast<int>(updatesType.getDims().size());
  };
  updates = inOrder(updates, packedIn(updatesType, place), loc);
  indices = inOrder(indices, packedIn(indicesType, place), loc);
  Value written = writtenAs(packedTarget, target, loc);
  if (written != target)
    rt::CopyOp::create(builder, loc, target, written);
  DimAttr into = op.getType().findDim(along);
  SmallVector<Attribute> axes(into.getAxes().begin(), into.getAxes().end());
  rt::ScatterAddOp::create(builder, loc, updates, indices, written, along, builder.getArrayAttr(axes));
  copyBack(written, target, loc);
}

/// The library keeps the place of the dim: `into` stands in the results where `over` stands in the operand.
void Lowering::lowerTopK(TopKOp op) {
  Location loc = op.getLoc();
  rt::BufferType inputType = rt::bufferType(bufferOf(op.getInput()));
  Value input = inOrder(bufferOf(op.getInput()), rt::BufferType::get(inputType.getDims(), inputType.getElementType()), loc);
  Value values = define(op.getValues()), indices = define(op.getIndices());
  auto likeInput = [&](rt::BufferType type) {
    SmallVector<rt::DimAttr> dims;
    for (rt::DimAttr dim : inputType.getDims())
      dims.push_back(dim.getName() == op.getOverAttr() ? rt::DimAttr::get(op.getIntoAttr(), type.size(op.getIntoAttr())) : dim);
    return rt::BufferType::get(dims, type.getElementType());
  };
  Value writtenValues = writtenAs(likeInput(rt::bufferType(values)), values, loc);
  Value writtenIndices = writtenAs(likeInput(rt::bufferType(indices)), indices, loc);
  rt::TopKOp::create(builder, loc, input, writtenValues, writtenIndices, op.getOverAttr(), op.getIntoAttr());
  copyBack(writtenValues, values, loc);
  copyBack(writtenIndices, indices, loc);
}

/// Slice number `index` of a buffer along a loop's dim.
static Value sliceAt(OpBuilder &builder, Location loc, Value buffer, StringAttr dim, Value index) {
  rt::BufferType type = rt::bufferType(buffer);
  SmallVector<rt::DimAttr> dims;
  SmallVector<int64_t> strides;
  for (auto [d, stride] : llvm::zip(type.getDims(), type.getStrides()))
    if (d.getName() != dim) {
      dims.push_back(d);
      strides.push_back(stride);
    }
  return rt::SliceOp::create(builder, loc, rt::BufferType::get(dims, type.getElementType(), strides), buffer, dim, index);
}

/// Carries live in one buffer for all iterations, stacked values in a slice of the result.
LogicalResult Lowering::lowerRepeat(RepeatOp op) {
  Location loc = op.getLoc();
  SmallVector<Value> carries, stacks;
  for (unsigned i = 0; i < op.numCarries(); ++i) {
    Value buffer = define(op.getResult(i));
    if (ConstantOp constant = splatOf(op.getInits()[i]))
      rt::FillOp::create(builder, loc, buffer, constant.getValue());
    else
      rt::CopyOp::create(builder, loc, bufferOf(op.getInits()[i]), buffer);
    buffers[op.carryArg(i)] = buffer;
    carries.push_back(buffer);
  }
  NextOp next = op.next();
  auto accumulatedInput = [&](Value stacked) -> Value {
    // A slice to which this iteration adds, of a value that nobody uses besides: the sum takes its place.
    auto add = stacked.getDefiningOp<AddOp>();
    for (unsigned i = 0; add && i < 2; ++i)
      for (auto [j, input] : llvm::enumerate(op.getScanned()))
        if (add.getOperand(i) == op.sliceArg(j) && op.sliceArg(j).hasOneUse() && input.hasOneUse() && isa<BlockArgument>(input) &&
            isa<RepeatOp>(cast<BlockArgument>(input).getOwner()->getParentOp()))
          return input;
    return {};
  };
  for (auto [value, result] : llvm::zip(next.getStacked(), op.stackedResults())) {
    Value input = accumulatedInput(value);
    if (input && rt::bufferType(bufferOf(input)) == orders.bufferType(result))
      buffers[result] = bufferOf(input);
    else
      define(result);
    stacks.push_back(buffers[result]);
  }
  auto loop = rt::LoopOp::create(builder, loc, op.getDimAttr(), op.getCount(), op.getReverse());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&loop.getBody().front());
  loopIndices[op.indexArg()] = loop.index();
  for (auto [i, input] : llvm::enumerate(op.getScanned()))
    buffers[op.sliceArg(i)] = sliceAt(builder, op.sliceArg(i).getLoc(), bufferOf(input), op.getDimAttr(), loop.index());
  SmallVector<Value> slots;
  for (auto [buffer, value] : llvm::zip(stacks, next.getStacked()))
    slots.push_back(sliceAt(builder, value.getLoc(), buffer, op.getDimAttr(), loop.index()));
  // A carry is stacked before the body overwrites it.
  auto stack = [&](bool arguments) {
    for (auto [slot, value] : llvm::zip(slots, next.getStacked()))
      if (isa<BlockArgument>(value) == arguments)
        rt::CopyOp::create(builder, value.getLoc(), bufferOf(value), slot);
  };
  stack(true);
  if (failed(lowerBlock(*op.bodyBlock())))
    return failure();
  stack(false);
  // A carry that another carry takes over must be read before it is written.
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(next.getCarries())) {
    Value buffer = bufferOf(value);
    bool isOtherCarry = false;
    for (auto [j, carry] : llvm::enumerate(carries))
      isOtherCarry = isOtherCarry || (i != j && rt::rootOf(buffer) == carry);
    if (isOtherCarry) {
      Value saved = allocate(rt::bufferType(carries[i]), value.getLoc());
      rt::CopyOp::create(builder, value.getLoc(), buffer, saved);
      buffer = saved;
    }
    values.push_back(buffer);
  }
  for (auto [carry, value] : llvm::zip(carries, values))
    if (carry != value)
      rt::CopyOp::create(builder, carry.getLoc(), value, carry);
  return success();
}

/// Block number `index` of `size` indices along a dim.
static Value blockOf(OpBuilder &builder, Location loc, Value buffer, StringAttr dim, int64_t size, Value index) {
  rt::BufferType type = rt::bufferType(buffer);
  SmallVector<rt::DimAttr> dims(type.getDims());
  dims[type.position(dim)] = rt::DimAttr::get(dim, size);
  return rt::SliceOp::create(builder, loc, rt::BufferType::get(dims, type.getElementType(), type.getStrides()), buffer, dim, index);
}

LogicalResult Lowering::lowerCollective(Operation *op) {
  auto collective = cast<spmd::CollectiveOpInterface>(op);
  Location loc = op->getLoc();
  Value result = op->getResult(0);
  Value input = bufferOf(collective.getInput());
  // The value's name for messages: the user's, else why the collective is here.
  std::string what = collective.getReason().str();
  if (auto name = dyn_cast<NameLoc>(collective.getInput().getLoc()))
    what = name.getName().str();
  StringAttr whatAttr = builder.getStringAttr(what);
  ArrayAttr axes = collective.getOver();
  /// The operand with the dim order of the result, row-major.
  auto likeResult = [&](rt::BufferType target) {
    SmallVector<rt::DimAttr> dims;
    for (rt::DimAttr dim : target.getDims())
      dims.push_back(rt::DimAttr::get(dim.getName(), rt::bufferType(input).size(dim.getName())));
    return inOrder(input, rt::BufferType::get(dims, target.getElementType()), loc);
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<spmd::AllReduceOp>([&](spmd::AllReduceOp reduce) {
        Value target = define(result);
        rt::CopyOp::create(builder, loc, input, target);
        rt::AllReduceOp::create(builder, loc, target, axes, reduce.getKindAttr(), whatAttr);
        return success();
      })
      .Case<spmd::AllGatherOp>([&](spmd::AllGatherOp gather) {
        Value target = define(result);
        rt::AllGatherOp::create(builder, loc, likeResult(rt::bufferType(target)), target, axes, gather.getDimAttr(), whatAttr);
        return success();
      })
      .Case<spmd::ReduceScatterOp>([&](spmd::ReduceScatterOp scatter) -> LogicalResult {
        Value target = define(result);
        if (scatter.getKind() != ReductionKind::Sum) {
          // Libraries scatter sums only: reduce all of it and keep this rank's block.
          SmallVector<rt::DimAttr> dims;
          for (rt::DimAttr dim : rt::bufferType(target).getDims())
            dims.push_back(rt::DimAttr::get(dim.getName(), rt::bufferType(input).size(dim.getName())));
          Value whole = allocate(rt::BufferType::get(dims, rt::bufferType(target).getElementType()), loc);
          rt::CopyOp::create(builder, loc, input, whole);
          rt::AllReduceOp::create(builder, loc, whole, axes, scatter.getKindAttr(), whatAttr);
          Value shard = rt::ShardIndexOp::create(builder, loc, builder.getI32Type(), axes);
          rt::CopyOp::create(builder, loc, blockOf(builder, loc, whole, scatter.getDimAttr(), rt::bufferType(target).size(scatter.getDimAttr()), shard), target);
          return success();
        }
        rt::ReduceScatterOp::create(builder, loc, likeResult(rt::bufferType(target)), target, axes, scatter.getDimAttr(), whatAttr);
        return success();
      })
      .Case<spmd::AllToAllOp>([&](spmd::AllToAllOp all) {
        Value target = define(result);
        rt::AllToAllOp::create(builder, loc, likeResult(rt::bufferType(target)), target, axes, all.getToAttr(), all.getFromAttr(), whatAttr);
        return success();
      })
      .Case<spmd::ShiftOp, spmd::PermuteOp>([&](Operation *) {
        Value target = define(result);
        rt::ExchangeOp::create(builder, loc, likeResult(rt::bufferType(target)), target, axes, collective.sources(), whatAttr);
        return success();
      })
      .Default([](Operation *op) { return op->emitError() << "'" << op->getName() << "' has no form in buffers"; });
}

LogicalResult Lowering::lowerBlock(Block &block) {
  for (const Unit &unit : fusion.unitsOf(&block))
    if (failed(unit.isKernel ? lowerKernel(unit) : lowerLibrary(unit)))
      return failure();
  return success();
}
