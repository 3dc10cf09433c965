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
        Value values = define(top.getValues()), indices = define(top.getIndices());
        rt::TopKOp::create(builder, op->getLoc(), bufferOf(top.getInput()), values, indices, top.getOverAttr(), top.getIntoAttr());
        return success();
      })
      .Case<CumSumOp>([&](CumSumOp sum) {
        Value input = bufferOf(sum.getInput()), target = define(sum.getResult());
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

void Lowering::lowerScatterAdd(ScatterAddOp op, Value target) {
  DimAttr into = op.getType().findDim(op.getIntoAttr());
  SmallVector<Attribute> axes(into.getAxes().begin(), into.getAxes().end());
  rt::ScatterAddOp::create(builder, op.getLoc(), bufferOf(op.getUpdates()), bufferOf(op.getIndices()), target, op.getIntoAttr(),
                           builder.getArrayAttr(axes));
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
      .Default([](Operation *op) { 
        return op->emitError() << "this layout moves blocks of a value between ranks ('" << op->getName()
                               << "'), which no target can do yet; split the dimension over the same axes before and after";
      });
}

LogicalResult Lowering::lowerBlock(Block &block) {
  for (const Unit &unit : fusion.unitsOf(&block))
    if (failed(unit.isKernel ? lowerKernel(unit) : lowerLibrary(unit)))
      return failure();
  return success();
}
