//===- Fusion.cpp - which ops become one kernel, which values are stored ------===//
#include "Fusion.h"
#include "Prepare.h"
#include "Spmd/IR/Spmd.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

//===----------------------------------------------------------------------===//
// Kinds of ops
//===----------------------------------------------------------------------===//

bool meshc::isViewLike(Operation *op) { return isa<RenameOp, SplitOp, MergeOp, SliceOp, spmd::SliceOp>(op); }

ArrayAttr meshc::reducedDims(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getOver();
  if (auto fold = dyn_cast<FoldOp>(op))
    return ArrayAttr::get(op->getContext(), {fold.getWindowAttr()});
  return {};
}

bool meshc::isFusable(Operation *op) {
  return op->hasTrait<Elementwise>() || reducedDims(op) ||
         isa<ConstantOp, IndexOp, RandomOp, FillPaddingOp, GatherOp, ShiftOp, PadOp, WindowOp, spmd::UnreduceOp>(op);
}

bool meshc::readsAtIndex(OpOperand &operand) {
  return operand.getOperandNumber() == 0 && isa<GatherOp, ShiftOp, PadOp, WindowOp, FoldOp>(operand.getOwner());
}

unsigned meshc::workOf(Operation *op) {
  if (isa<ConstantOp, IndexOp, BroadcastOp, CastOp>(op) || isViewLike(op))
    return 0;
  if (isa<RandomOp>(op))
    return 8;
  if (isa<TanhOp, ErfOp, SinOp, CosOp, PowOp, LogOp>(op))
    return 6;
  if (isa<ExpOp, SigmoidOp>(op))
    return 4;
  return 1;
}

//===----------------------------------------------------------------------===//
// Sets of dims
//===----------------------------------------------------------------------===//

unsigned Fusion::number(StringAttr name) const {
  auto [it, isNew] = numbers.try_emplace(name, byNumber.size());
  if (isNew) {
    if (byNumber.size() == DimSet().size())
      llvm::report_fatal_error("more than 256 dimension names in one function");
    byNumber.push_back(name);
  }
  return it->second;
}

DimSet Fusion::setOf(Value value) const {
  DimSet set;
  for (DimAttr dim : tensorType(value).getDims())
    set.set(number(dim.getName()));
  return set;
}

DimSet Fusion::setOf(ArrayAttr names) const {
  DimSet set;
  for (auto name : names.getAsRange<StringAttr>())
    set.set(number(name));
  return set;
}

SmallVector<StringAttr> Fusion::names(const DimSet &set) const {
  SmallVector<StringAttr> names;
  for (auto [i, name] : llvm::enumerate(byNumber))
    if (set[i])
      names.push_back(name);
  orders.sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Free and required values
//===----------------------------------------------------------------------===//

/// The most work that a free value may take: masks and dropout are, a learning rate schedule is not.
static constexpr unsigned kFreeWork = 24, kFreeScalarWork = 2;

bool Fusion::isFree(Value value) const { return freeCost.contains(value); }

void Fusion::markFree(Block &block) {
  // Scalars that a kernel takes as they are: inputs of the step, indices of loops.
  auto isLeaf = [](Value value) {
    return isa<BlockArgument>(value) && tensorType(value).isScalar() && tensorType(value).getElementType().isInteger(32);
  };
  for (Operation &op : block) {
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      markFree(*loop.bodyBlock());
      continue;
    }
    if (op.getNumResults() != 1 || !(isViewLike(&op) || (isFusable(&op) && !reducedDims(&op))) || isa<GatherOp, PadOp, ShiftOp, WindowOp>(op))
      continue;
    unsigned cost = workOf(&op);
    bool isFree = true;
    for (Value operand : op.getOperands()) {
      auto it = freeCost.find(operand);
      if (it != freeCost.end())
        cost += it->second;
      else
        isFree = isFree && isLeaf(operand);
    }
    unsigned limit = tensorType(op.getResult(0)).isScalar() ? kFreeScalarWork : kFreeWork;
    if (isFree && cost <= limit)
      freeCost[op.getResult(0)] = cost;
  }
}

/// Marks what must be in memory whatever is fused.
void Fusion::markRequired(Block &block) {
  for (Operation &op : block) {
    if (!isFusable(&op))
      for (Value result : op.getResults())
        if (!isFree(result))
          stored.insert(result);
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get();
      bool isMask = (isa<AttendOp, AttendGradOp>(op) && tensorType(value).getElementType().isInteger(1));
      bool inMemory = !isFusable(&op) || readsAtIndex(operand);
      // Views of free values are free, views of others are views of memory.
      if (isViewLike(&op) && isFree(op.getResult(0)))
        inMemory = false;
      // Values from around a loop are read from memory in it.
      if (value.getParentBlock() != &block && !isFree(value))
        inMemory = true;
      if (isMask && isFree(value))
        inMemory = false;
      // Carries that start as a constant are filled with it.
      if (isa<RepeatOp>(op) && operand.getOperandNumber() < cast<RepeatOp>(op).numCarries() && splatOf(value))
        inMemory = false;
      if (inMemory)
        stored.insert(value);
    }
    if (auto loop = dyn_cast<RepeatOp>(op))
      markRequired(*loop.bodyBlock());
  }
}

Fusion::Fusion(func::FuncOp function, const MemoryOrders &orders) : orders(orders) {
  Block &body = function.getBody().front();
  markFree(body);
  markRequired(body);
  planBlock(body);
}
