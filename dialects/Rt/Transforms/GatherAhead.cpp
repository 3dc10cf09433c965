//===- GatherAhead.cpp - all-gathers of a loop, one iteration ahead ----------===//
//
// Before:                                        After:
//   rt.loop "layers" %i : 12 {                     %ws = rt.alloc : [turn=2, embed=768, ff=3072]
//     %part = rt.slice %params "layers" [%i]       rt.loop "layers" %i : 12 {
//     %w = rt.alloc : [embed=768, ff=3072]           %w = rt.slice %ws "turn" [%i] cyclic
//     rt.all_gather %part into %w                    rt.gemm %x, %w into ...
//     rt.gemm %x, %w into ...                      } ahead %j {
//   }                                                %part = rt.slice %params "layers" [%j]
//                                                    %w = rt.slice %ws "turn" [%j] cyclic
//                                                    rt.all_gather %part into %w
//                                                  }
//
// A gather can go ahead if what it sends follows from the loop's index and from memory that the loop does not write, and if its result is not
// written again. With it go the kernels and copies that make what it sends (a conversion to bf16) and nothing else. Each
// gather still runs once per iteration; what it costs is a second place for its result, and that what it sends lives as long as the loop.
//
//===----------------------------------------------------------------------===//
#include "Rt/Transforms/Accesses.h"
#include "Rt/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::rt {
#define GEN_PASS_DEF_GATHERAHEAD
#include "Rt/Transforms/Passes.h.inc"
} // namespace meshc::rt

using namespace mlir;
using namespace meshc::rt;

namespace {
/// What makes the value that a gather sends, in a loop's body.
struct Source {
  AllGatherOp gather;
  llvm::SetVector<Operation *> ops;
  bool usesIndex = false;
};

class AheadLoop {
public:
  explicit AheadLoop(LoopOp loop) : loop(loop), body(&loop.getBody().front()) {}
  void run();

private:
  bool follow(Value value, Source &source);
  bool mayMove(AllGatherOp gather);
  bool isWrittenInLoop(Value root) const;
  void dropShared();
  void move();

  LoopOp loop;
  Block *body;
  SmallVector<Source> sources;
};
} // namespace

bool AheadLoop::isWrittenInLoop(Value root) const {
  return llvm::any_of(accessesOf(root), [&](const Access &access) { return access.writes && loop->isProperAncestor(access.op); });
}

/// Adds what makes `value` to the source; false if the value is known only while the body runs.
bool AheadLoop::follow(Value value, Source &source) {
  if (value == loop.index())
    return source.usesIndex = true;
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op))
    return !isa<BufferType>(value.getType()) || !isWrittenInLoop(rootOf(value));
  if (op->getBlock() != body || !isa<SliceOp, ViewOp, ShardIndexOp, AllocOp>(op))
    return false;
  if (!source.ops.insert(op))
    return true;
  if (!isa<AllocOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) { return follow(operand, source); });
  for (const Access &access : accessesOf(value)) {
    if (!access.writes)
      continue;
    if (access.op->getBlock() != body || !isa<KernelOp, CopyOp>(access.op))
      return false;
    if (source.ops.insert(access.op) && !llvm::all_of(access.op->getOperands(), [&](Value operand) { return follow(operand, source); }))
      return false;
  }
  return true;
}

/// Whether the gather's result is an alloc of the body, written by it alone: then it may lie in two places by turns.
bool AheadLoop::mayMove(AllGatherOp gather) {
  auto result = gather.getResult().getDefiningOp<AllocOp>();
  if (!result || result->getBlock() != body || !result.getType().isContiguous())
    return false;
  return llvm::none_of(accessesOf(result.getResult()), [&](const Access &access) { return access.writes && access.op != gather; });
}

/// What is made ahead must not be needed by an op that is not.
void AheadLoop::dropShared() {
  bool changed = true;
  while (changed) {
    llvm::SmallPtrSet<Operation *, 32> moving;
    for (Source &source : sources) {
      moving.insert(source.ops.begin(), source.ops.end());
      moving.insert(source.gather);
    }
    size_t before = sources.size();
    llvm::erase_if(sources, [&](Source &source) {
      return llvm::any_of(source.ops, [&](Operation *op) {
        return isa<AllocOp>(op) && llvm::any_of(accessesOf(op->getResult(0)), [&](const Access &access) { return !moving.contains(access.op); });
      });
    });
    changed = sources.size() != before;
  }
}

void AheadLoop::move() {
  OpBuilder around(loop), inside = OpBuilder::atBlockBegin(body);
  Block &ahead = loop.getAhead().emplaceBlock();
  IRMapping map;
  map.map(loop.index(), ahead.addArgument(loop.index().getType(), loop.index().getLoc()));
  OpBuilder there = OpBuilder::atBlockEnd(&ahead);
  llvm::SmallPtrSet<Operation *, 32> moving;
  for (Source &source : sources) {
    moving.insert(source.ops.begin(), source.ops.end());
    moving.insert(source.gather);
    auto result = source.gather.getResult().getDefiningOp<AllocOp>();
    BufferType type = result.getType();
    auto turn = StringAttr::get(loop.getContext(), "turn");
    while (type.hasDim(turn))
      turn = StringAttr::get(loop.getContext(), turn.getValue() + "'");
    SmallVector<DimAttr> dims = {DimAttr::get(turn, 2)};
    llvm::append_range(dims, type.getDims());
    Location loc = result.getLoc();
    Value places = AllocOp::create(around, loc, BufferType::get(dims, type.getElementType()));
    auto place = [&](OpBuilder &builder, Value index) {
      return SliceOp::create(builder, loc, type, places, turn, index, /*cyclic=*/true).getResult();
    };
    map.map(result.getResult(), place(there, ahead.getArgument(0)));
    Value used = place(inside, loop.index());
    result.getResult().replaceUsesWithIf(used, [&](OpOperand &use) { return use.getOwner() != source.gather; });
  }
  SmallVector<Operation *> ops;
  for (Operation &op : *body)
    if (moving.contains(&op))
      ops.push_back(&op);
  for (Operation *op : ops) {
    if (isa<AllocOp>(op))
      op->moveBefore(loop);
    else
      there.clone(*op, map);
  }
  for (Operation *op : llvm::reverse(ops)) {
    auto gather = dyn_cast<AllGatherOp>(op);
    Operation *result = gather ? gather.getResult().getDefiningOp() : nullptr;
    if (isa<AllGatherOp, KernelOp, CopyOp>(op) || (!isa<AllocOp>(op) && op->use_empty()))
      op->erase();
    if (result)
      result->erase();
  }
}

void AheadLoop::run() {
  if (loop.getCount() < 2 || loop.runsAhead())
    return;
  for (auto gather : body->getOps<AllGatherOp>()) {
    Source source{gather, {}};
    if (mayMove(gather) && follow(gather.getPart(), source) && source.usesIndex)
      sources.push_back(std::move(source));
  }
  dropShared();
  if (!sources.empty())
    move();
}

namespace {
struct GatherAheadPass : meshc::rt::impl::GatherAheadBase<GatherAheadPass> {
  using GatherAheadBase::GatherAheadBase;

  void runOnOperation() override {
    SmallVector<LoopOp> loops;
    getOperation().walk([&](LoopOp loop) { loops.push_back(loop); });
    for (LoopOp loop : loops)
      AheadLoop(loop).run();
  }
};
} // namespace
