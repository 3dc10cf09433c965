//===- ReuseBuffers.cpp - values made where they are needed -----------------===//
//
// Before:                                        After:
//   %sum = rt.alloc                                rt.kernel ... ins(%carry, %x) outs(%carry)
//   rt.kernel ... ins(%carry, %x) outs(%sum)
//   rt.copy %sum to %carry
//
// All reasoning is local to one block: the buffers that go away are allocated in it, and an access in a loop counts at the loop. Values do not
// live from one iteration of a loop to the next in a buffer that is allocated in its body, so the block is the buffer's whole life.
//
//===----------------------------------------------------------------------===//
#include "Rt/Transforms/Accesses.h"
#include "Rt/Transforms/Passes.h"

namespace meshc::rt {
#define GEN_PASS_DEF_REUSEBUFFERS
#include "Rt/Transforms/Passes.h.inc"
} // namespace meshc::rt

using namespace mlir;
using namespace meshc::rt;

/// Whether kernel `kernel` may write `out` (an operand of outs) over the buffer at `place`, which aliases `root`.
static bool mayWriteOver(KernelOp kernel, Value out, Value place) {
  Value root = rootOf(place);
  BlockArgument outArg;
  for (auto [i, operand] : llvm::enumerate(kernel.getOuts())) {
    if (operand == out)
      outArg = kernel.outArg(i);
    else if (rootOf(operand) == root)
      return false;
  }
  for (auto [i, operand] : llvm::enumerate(kernel.getIns())) {
    if (!isa<BufferType>(operand.getType()) || rootOf(operand) != root)
      continue;
    if (!isSamePlace(operand, place) || operand.getType() != out.getType() || kernel.findLoadAfterStore(kernel.inArg(i), outArg))
      return false;
  }
  return true;
}

/// Whether `op`, the first to write `made`, would still be right if `made` were `place`.
static bool mayBeMadeAt(Operation *op, Value made, Value place) {
  Value root = rootOf(place);
  bool touches = llvm::any_of(op->getOperands(), [&](Value operand) { return isa<BufferType>(operand.getType()) && rootOf(operand) == root; });
  if (isa<LoopOp>(op)) {
    bool inside = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        inside |= isa<BufferType>(operand.getType()) && rootOf(operand) == root;
    });
    return !inside;
  }
  if (!touches)
    return true;
  if (auto kernel = dyn_cast<KernelOp>(op))
    return llvm::is_contained(kernel.getOuts(), made) && mayWriteOver(kernel, made, place);
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getTarget() == made && isSamePlace(copy.getSource(), place) && copy.getSource().getType() == made.getType();
  return false;
}

/// Moves the views that make `value` (and what their indices need) before `op`. False if something else than views stands between.
static bool hoistBefore(Value value, Operation *op, bool dryRun) {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op))
    return true;
  if (!isa<SliceOp, ViewOp, ShardIndexOp>(definition))
    return false;
  for (Value operand : definition->getOperands())
    if (!hoistBefore(operand, op, dryRun))
      return false;
  if (!dryRun)
    definition->moveBefore(op);
  return true;
}

namespace {
struct Reuse {
  explicit Reuse(Block &block) : block(block) {}

  /// The accesses' ops in this block that lie strictly between two ops of it.
  bool isTouchedBetween(ArrayRef<Access> accesses, Operation *after, Operation *before, bool writesOnly) const {
    return llvm::any_of(accesses, [&](const Access &access) {
      Operation *op = block.findAncestorOpInBlock(*access.op);
      return op && (access.writes || !writesOnly) && after->isBeforeInBlock(op) && op->isBeforeInBlock(before);
    });
  }

  /// The first two may replace the copy by an equal one even where they change nothing.
  bool makeSourceInTarget(CopyOp &copy);
  bool makeViewedSourceInTarget(CopyOp &copy, ViewOp view);
  bool makeTargetTheSource(CopyOp copy);
  bool workInPlace(KernelOp kernel);
  bool makeInputInOutput(KernelOp kernel);

  Block &block;
};
} // namespace

/// Rule 1: all that is done to the source happens to the target.
bool Reuse::makeSourceInTarget(CopyOp &copy) {
  Value source = copy.getSource(), target = copy.getTarget();
  if (auto view = source.getDefiningOp<ViewOp>())
    return makeViewedSourceInTarget(copy, view);
  auto alloc = source.getDefiningOp<AllocOp>();
  if (!alloc || alloc->getBlock() != &block || source.getType() != target.getType() || rootOf(target) == source)
    return false;
  SmallVector<Access> made = accessesOf(source), there = accessesOf(rootOf(target));
  Span span = spanIn(&block, made);
  // Nobody touches the target from the first write on, and nobody overwrites it while the source is still read.
  if (span.first == copy || isTouchedBetween(there, span.first, copy, false) || !mayBeMadeAt(span.first, source, target))
    return false;
  if (span.last != copy) {
    if (isTouchedBetween(there, copy, span.last, true))
      return false;
    for (const Access &access : there)
      if (block.findAncestorOpInBlock(*access.op) == span.last && access.writes)
        return false;
  }
  // The target itself must exist by then.
  Value root = rootOf(target);
  if (Operation *definition = root.getDefiningOp(); definition && definition->getBlock() == &block && !definition->isBeforeInBlock(span.first))
    return false;
  if (Operation *definition = root.getDefiningOp(); definition && definition->getBlock() == &block && alloc->isBeforeInBlock(definition))
    alloc->moveAfter(definition);
  if (!hoistBefore(target, alloc, /*dryRun=*/true))
    return false;
  hoistBefore(target, alloc, /*dryRun=*/false);
  copy.erase();
  source.replaceAllUsesWith(target);
  alloc.erase();
  return true;
}

/// The same where the copy's source is a whole alloc under other names: the alloc is copied to the target under its names instead.
bool Reuse::makeViewedSourceInTarget(CopyOp &copy, ViewOp view) {
  auto alloc = view.getSource().getDefiningOp<AllocOp>();
  BufferType type = view.getType(), target = copy.getTarget().getType();
  if (!alloc || alloc->getBlock() != &block || view.getStart() != 0 || type != target || !type.isContiguous() ||
      !alloc.getType().isContiguous() || type.numElements() != alloc.getType().numElements())
    return false;
  OpBuilder builder(copy);
  Value renamed = ViewOp::create(builder, copy.getLoc(), alloc.getType(), copy.getTarget());
  auto direct = CopyOp::create(builder, copy.getLoc(), alloc, renamed);
  copy.erase();
  if (makeSourceInTarget(direct))
    return true;
  builder.setInsertionPoint(direct);
  copy = CopyOp::create(builder, direct.getLoc(), view, renamed.getDefiningOp<ViewOp>().getSource());
  direct.erase();
  renamed.getDefiningOp()->erase();
  return false;
}

/// Rule 2: the target is another name of the source.
bool Reuse::makeTargetTheSource(CopyOp copy) {
  Value source = copy.getSource(), target = copy.getTarget(), root = rootOf(source);
  auto alloc = target.getDefiningOp<AllocOp>();
  auto rootAlloc = root.getDefiningOp<AllocOp>();
  if (!alloc || !rootAlloc || alloc->getBlock() != &block || rootAlloc->getBlock() != &block || source.getType() != target.getType() || root == target)
    return false;
  if (spanIn(&block, accessesOf(target)).first != copy || spanIn(&block, accessesOf(root)).last != copy)
    return false;
  // Only the copy comes between the two allocs' lives, so views of the target move after the source.
  for (Operation *user : llvm::make_early_inc_range(target.getUsers()))
    if (isa<SliceOp, ViewOp>(user) && user->getBlock() == &block && user->isBeforeInBlock(copy))
      user->moveAfter(copy);
  if (!hoistBefore(source, copy, true))
    return false;
  target.replaceUsesWithIf(source, [&](OpOperand &use) { return use.getOwner() != copy; });
  copy.erase();
  alloc.erase();
  return true;
}

/// Rule 3: an output over an input that ends here.
bool Reuse::workInPlace(KernelOp kernel) {
  bool changed = false;
  for (OpOperand &out : kernel.getOutsMutable()) {
    auto alloc = out.get().getDefiningOp<AllocOp>();
    if (!alloc || alloc->getBlock() != &block || llvm::is_contained(kernel.getIns(), out.get()) ||
        spanIn(&block, accessesOf(out.get())).first != kernel)
      continue;
    for (Value in : kernel.getIns()) {
      if (!isa<BufferType>(in.getType()) || in.getType() != out.get().getType())
        continue;
      auto inAlloc = in.getDefiningOp<AllocOp>();
      if (!inAlloc || inAlloc->getBlock() != &block || spanIn(&block, accessesOf(in)).last != kernel || !mayWriteOver(kernel, out.get(), in))
        continue;
      // Views of the output that stand before the alloc's new place are none: the input is older.
      Value old = out.get();
      if (!inAlloc->isBeforeInBlock(alloc))
        inAlloc->moveBefore(alloc);
      old.replaceAllUsesWith(in);
      alloc.erase();
      changed = true;
      break;
    }
  }
  return changed;
}

/// Rule 4: an input that ends here is made where the output lies (a slice, a global), which then is written in place.
bool Reuse::makeInputInOutput(KernelOp kernel) {
  for (Value out : kernel.getOuts()) {
    Value root = rootOf(out);
    if (out.getDefiningOp<AllocOp>() && out.getDefiningOp()->getBlock() == &block)
      continue;
    if (llvm::count_if(kernel->getOperands(), [&](Value operand) { return isa<BufferType>(operand.getType()) && rootOf(operand) == root; }) > 1)
      continue;
    SmallVector<Access> there = accessesOf(root);
    for (Value in : kernel.getIns()) {
      auto alloc = isa<BufferType>(in.getType()) && in.getType() == out.getType() ? in.getDefiningOp<AllocOp>() : AllocOp();
      if (!alloc || alloc->getBlock() != &block)
        continue;
      Span span = spanIn(&block, accessesOf(in));
      if (span.last != kernel || span.first == kernel || isTouchedBetween(there, span.first, kernel, false) ||
          !mayBeMadeAt(span.first, in, out) || !mayWriteOver(kernel, out, in))
        continue;
      Operation *definition = root.getDefiningOp();
      if (definition && definition->getBlock() == &block && !definition->isBeforeInBlock(alloc))
        continue;
      if (!hoistBefore(out, alloc, /*dryRun=*/true))
        continue;
      hoistBefore(out, alloc, /*dryRun=*/false);
      in.replaceAllUsesWith(out);
      alloc.erase();
      return true;
    }
  }
  return false;
}

namespace {
struct ReuseBuffersPass : meshc::rt::impl::ReuseBuffersBase<ReuseBuffersPass> {
  using ReuseBuffersBase::ReuseBuffersBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks = {&getOperation().getBody().front()};
    getOperation().walk([&](LoopOp loop) { blocks.push_back(&loop.getBody().front()); });
    for (Block *block : blocks) {
      Reuse reuse(*block);
      auto eachCopy = [&](auto rule) {
        bool changed = false;
        for (auto copy : llvm::make_early_inc_range(block->getOps<CopyOp>())) {
          if (isSamePlace(copy.getSource(), copy.getTarget())) {
            copy.erase();
            changed = true;
          } else {
            changed |= rule(copy);
          }
        }
        return changed;
      };
      auto simplify = [&] {
        while (eachCopy([&](CopyOp copy) { return reuse.makeSourceInTarget(copy) || reuse.makeTargetTheSource(copy); })) {
        }
      };
      simplify();
      for (auto kernel : block->getOps<KernelOp>())
        reuse.workInPlace(kernel);
      for (auto kernel : block->getOps<KernelOp>())
        reuse.makeInputInOutput(kernel);
      simplify();
    }
    // What became unused.
    getOperation().walk<WalkOrder::PostOrder>([](Operation *op) {
      if (isa<SliceOp, ViewOp, AllocOp, ShardIndexOp>(op) && op->use_empty())
        op->erase();
    });
  }
};
} // namespace
