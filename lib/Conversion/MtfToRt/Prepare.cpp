//===- Prepare.cpp - rewrites on mtf before buffers appear --------------------===//
#include "Prepare.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

//===----------------------------------------------------------------------===//
// Composite ops
//===----------------------------------------------------------------------===//

namespace {
/// Builds mtf ops at one place, all at one location.
struct Maker {
  OpBuilder builder;
  Location loc;
  explicit Maker(Operation *op) : builder(op), loc(op->getLoc()) {}

  template <typename OpTy, typename... Args>
  Value make(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
  Value constant(double value, Value like) { return make<ConstantOp>(value, tensorType(like).getElementType()); }
};
} // namespace

/// The maximum, and zero where it is minus infinity: subtracting it then leaves minus infinity instead of NaN.
static Value finiteMax(Maker &m, Value input, ArrayRef<StringAttr> over) {
  Value max = m.make<ReduceOp>(ReductionKind::Max, input, over);
  Value lowest = m.constant(-std::numeric_limits<double>::infinity(), max);
  Value isLowest = m.make<CompareOp>(Predicate::Eq, max, lowest);
  return m.make<SelectOp>(isLowest, m.constant(0, max), max);
}

static SmallVector<StringAttr> names(ArrayAttr array) { return llvm::to_vector(array.getAsRange<StringAttr>()); }

static Value expand(LogSumExpOp op) {
  Maker m(op);
  Value max = finiteMax(m, op.getInput(), names(op.getOver()));
  Value exps = m.make<ExpOp>(m.make<SubOp>(op.getInput(), max));
  Value sum = m.make<ReduceOp>(ReductionKind::Sum, exps, names(op.getOver()));
  return m.make<AddOp>(max, m.make<LogOp>(sum));
}

static Value expand(SoftmaxOp op) {
  Maker m(op);
  Value max = finiteMax(m, op.getInput(), names(op.getOver()));
  Value exps = m.make<ExpOp>(m.make<SubOp>(op.getInput(), max));
  return m.make<DivOp>(exps, m.make<ReduceOp>(ReductionKind::Sum, exps, names(op.getOver())));
}

/// The lowest index at which the maximum stands.
static Value expand(ArgMaxOp op) {
  Maker m(op);
  Value max = m.make<ReduceOp>(ReductionKind::Max, op.getInput(), ArrayRef(op.getOverAttr()));
  Value isMax = m.make<CompareOp>(Predicate::Eq, op.getInput(), max);
  DimAttr dim = op.getInput().getType().findDim(op.getOverAttr());
  Type i32 = m.builder.getI32Type();
  Value index = m.make<IndexOp>(NamedTensorType::get({dim}, i32), op.getOverAttr(), Value());
  Value none = m.make<ConstantOp>(double(std::numeric_limits<int32_t>::max()), i32);
  NamedTensorType type = op.getInput().getType().withElementType(i32);
  Value candidates = m.make<SelectOp>(type, isMax, index, none);
  return m.make<ReduceOp>(ReductionKind::Min, candidates, ArrayRef(op.getOverAttr()));
}

/// The expanded value keeps the name and type of the op.
template <typename OpTy>
static bool tryExpand(Operation *op) {
  auto composite = dyn_cast<OpTy>(op);
  if (!composite)
    return false;
  Value value = expand(composite);
  value.setType(composite->getResult(0).getType());
  composite->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

bool meshc::accumulates(Value value) {
  Operation *op = value.getDefiningOp();
  Type element = tensorType(value).getElementType();
  return op && value.hasOneUse() && isa<DotOp, ScatterAddOp>(op) && (element.isF32() || element.isF64());
}

/// A value whose memory nobody needs after `user`.
static bool isOverwritable(Value value) {
  if (!value.hasOneUse())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() == 0)
      return false;
    unsigned carries = loop.numCarries(), number = argument.getArgNumber() - 1;
    return number < carries || loop.getScanned()[number - carries].hasOneUse();
  }
  if (auto add = value.getDefiningOp<AddOp>())
    return accumulatedOperand(add).has_value();
  return accumulates(value);
}

std::optional<unsigned> meshc::accumulatedOperand(AddOp add) {
  if (add.getLhs().getType() != add.getType() || add.getRhs().getType() != add.getType())
    return std::nullopt;
  for (unsigned i : {1u, 0u})
    if (accumulates(add.getOperand(i)) && isOverwritable(add.getOperand(1 - i)) &&
        add.getOperand(i).getDefiningOp()->getBlock() == add->getBlock())
      return i;
  return std::nullopt;
}

/// `acc + (a + b)` as `(acc + a) + b` where a or b is a product, so that each is accumulated onto acc.
static void reassociate(AddOp add) {
  for (unsigned i : {0u, 1u}) {
    auto inner = add.getOperand(i).getDefiningOp<AddOp>();
    if (!inner || !inner->hasOneUse() || inner->getBlock() != add->getBlock() || !isOverwritable(add.getOperand(1 - i)))
      continue;
    if (!accumulates(inner.getLhs()) && !accumulates(inner.getRhs()))
      continue;
    if (inner.getType() != add.getType() || inner.getLhs().getType() != add.getType() || inner.getRhs().getType() != add.getType())
      continue;
    OpBuilder builder(add);
    auto first = AddOp::create(builder, add.getLoc(), add.getType(), add.getOperand(1 - i), inner.getLhs());
    auto second = AddOp::create(builder, add.getLoc(), add.getType(), first, inner.getRhs());
    add.getResult().replaceAllUsesWith(second.getResult());
    add.erase();
    inner.erase();
    return;
  }
}

/// Moves the sum of an accumulator and a stacked result into the loop:
///
///   %g = mtf.repeat "layers" ... stacks(%g_l)          %s = mtf.repeat "layers" ... slices(%acc)
///   %s = mtf.add %acc, %g                        =>      %s_l = mtf.add %acc_l, %g_l
///                                                        mtf.next stacks(%s_l)
///
/// so that gradients of several microbatches are accumulated in place, slice by slice.
static bool sinkAccumulation(AddOp add) {
  for (unsigned i : {0u, 1u}) {
    auto result = dyn_cast<OpResult>(add.getOperand(i));
    Value acc = add.getOperand(1 - i);
    auto loop = result ? dyn_cast<RepeatOp>(result.getOwner()) : RepeatOp();
    if (!loop || result.getResultNumber() < loop.numCarries() || !result.hasOneUse() || loop->getBlock() != add->getBlock())
      continue;
    if (acc.getType() != add.getType() || result.getType() != add.getType() || !acc.hasOneUse())
      continue;
    auto argument = dyn_cast<BlockArgument>(acc);
    if (!argument || !isa<RepeatOp>(argument.getOwner()->getParentOp()))
      continue;
    NextOp next = loop.next();
    unsigned stack = result.getResultNumber() - loop.numCarries();
    Value value = next.getStacked()[stack];
    loop.getScannedMutable().append(acc);
    BlockArgument slice = loop.bodyBlock()->addArgument(value.getType(), acc.getLoc());
    OpBuilder builder(next);
    Value sum = AddOp::create(builder, add.getLoc(), value.getType(), slice, value);
    next.getStackedMutable()[stack].set(sum);
    add.getResult().replaceAllUsesWith(result);
    add.erase();
    return true;
  }
  return false;
}

/// Dims of the updates that neither the indices nor the result have are summed before the scatter, not by it.
static void sumUpdates(ScatterAddOp op) {
  SmallVector<StringAttr> over;
  for (DimAttr dim : op.getUpdates().getType().getDims())
    if (!op.getIndices().getType().hasDim(dim.getName()) && (!op.getType().hasDim(dim.getName()) || dim.getName() == op.getIntoAttr()))
      over.push_back(dim.getName());
  if (over.empty())
    return;
  OpBuilder builder(op);
  op.getUpdatesMutable().assign(ReduceOp::create(builder, op.getLoc(), ReductionKind::Sum, op.getUpdates(), over));
}

void meshc::prepareForBuffers(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (isa<TapOp, StopGradientOp>(op) || (isa<CastOp>(op) && op->getOperand(0).getType() == op->getResult(0).getType())) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(op->getNumOperands() - 1));
      op->erase();
      return;
    }
    (void)(tryExpand<LogSumExpOp>(op) || tryExpand<SoftmaxOp>(op) || tryExpand<ArgMaxOp>(op));
  });
  function.walk(sumUpdates);
  function.walk([](AddOp add) { (void)sinkAccumulation(add); });
  function.walk([](AddOp add) { reassociate(add); });
  // Users come after producers, so one sweep from the end finds every unused op.
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (op != function && isOpTriviallyDead(op))
      op->erase();
}
