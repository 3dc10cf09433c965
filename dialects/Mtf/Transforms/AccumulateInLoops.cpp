//===- AccumulateInLoops.cpp - add to a sum inside the loop that makes it --===//
//
// The sums of gradients over microbatches are carries to which a loop over layers contributes. Adding inside that loop lets each
// product accumulate in place instead of making a whole stack that is added afterwards:
//
//   %d = repeat "layers" carries() slices(%x) {(%i, %xi): %p = dot ...; next stacks(%p)}
//   %sum = add %acc, %d
//   =>
//   %sum = repeat "layers" carries() slices(%x, %acc) {(%i, %xi, %ai): %p = dot ...; %q = add %ai, %p; next stacks(%q)}
//
// Iteration i reads and writes slice i only, so %acc and %sum can share memory. A carry that sums from zero starts from %acc instead.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Mtf/Transforms/Passes.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_ACCUMULATEINLOOPS
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

/// The sum that the only use of `result` makes with a value known before `loop`: the addition and that value.
static std::pair<AddOp, Value> accumulationOf(RepeatOp loop, Value result) {
  auto add = result.hasOneUse() ? dyn_cast<AddOp>(*result.user_begin()) : AddOp();
  if (!add || add->getBlock() != loop->getBlock())
    return {};
  Value other = add.getLhs() == result ? add.getRhs() : add.getLhs();
  Operation *definition = other.getDefiningOp();
  bool isKnown = !definition || definition->getBlock() != loop->getBlock() || definition->isBeforeInBlock(loop);
  if (!isKnown || other.getType() != result.getType() || add.getType() != result.getType())
    return {};
  return {add, other};
}

static void accumulateStack(RepeatOp loop, unsigned i) {
  auto [add, accumulator] = accumulationOf(loop, loop.stackedResults()[i]);
  if (!add)
    return;
  NextOp next = loop.next();
  OpOperand &stacked = next->getOpOperand(loop.numCarries() + i);
  loop.getScannedMutable().append(accumulator);
  Value slice = loop.bodyBlock()->addArgument(stacked.get().getType(), accumulator.getLoc());
  OpBuilder builder(next);
  stacked.set(AddOp::create(builder, add.getLoc(), stacked.get().getType(), slice, stacked.get()));
  add.replaceAllUsesWith(loop.stackedResults()[i]);
  add.erase();
}

static bool isZero(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && constant.asDouble() == 0;
}

static void accumulateCarry(RepeatOp loop, unsigned i) {
  BlockArgument carry = loop.carryArg(i);
  auto sum = loop.next().getCarries()[i].getDefiningOp<AddOp>();
  bool isSum = sum && carry.hasOneUse() && *carry.user_begin() == sum && sum->hasOneUse() && isZero(loop.getInits()[i]);
  auto [add, accumulator] = isSum ? accumulationOf(loop, loop.getResult(i)) : std::pair<AddOp, Value>();
  if (!add)
    return;
  loop.getInitsMutable()[i].set(accumulator);
  add.replaceAllUsesWith(loop.getResult(i));
  add.erase();
}

namespace {
struct AccumulateInLoops : public meshc::mtf::impl::AccumulateInLoopsBase<AccumulateInLoops> {
  void runOnOperation() override {
    // Outer loops first: what is added in an outer body may then move further in.
    SmallVector<RepeatOp> loops;
    getOperation()->walk<WalkOrder::PreOrder>([&](RepeatOp loop) { loops.push_back(loop); });
    for (RepeatOp loop : loops) {
      for (unsigned i = 0; i < loop.numCarries(); ++i)
        accumulateCarry(loop, i);
      for (unsigned i = 0; i < loop.numStacked(); ++i)
        accumulateStack(loop, i);
    }
  }
};
} // namespace
