//===- OptimizeCollectives.cpp - fewer collectives, fewer bytes ------------===//
//
//   all_reduce(a) + all_reduce(b)      ->  all_reduce(a + b)            one instead of two
//   slice(all_reduce(a))               ->  reduce_scatter(a)            half the bytes
//   all_gather(reduce_scatter(a))      ->  all_reduce(a)                one instead of two
//   all_gather(slice(a)), slice(all_gather(a)), all_to_all there and back   ->  a
//   slice(shift(all_gather(a)))        ->  shift among neighbours       where each rank has one block
//
// Propagation places reductions well where it decides alone; these patterns join what different reshards of one value, and programs
// written by hand at this level, leave side by side. A collective with other uses is left alone: it would have to run anyway.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_OPTIMIZECOLLECTIVES
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

/// The collective of kind OpTy that makes `value` and has no other use in the same block; null if there is none.
template <typename OpTy>
static OpTy onlyUsedHere(Value value, Operation *user) {
  auto op = value.getDefiningOp<OpTy>();
  return op && value.hasOneUse() && op->getBlock() == user->getBlock() ? op : OpTy();
}

namespace {
template <typename SumOp>
struct AddBeforeReducing : OpRewritePattern<SumOp> {
  using OpRewritePattern<SumOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(SumOp op, PatternRewriter &rewriter) const override {
    auto lhs = onlyUsedHere<spmd::AllReduceOp>(op.getLhs(), op), rhs = onlyUsedHere<spmd::AllReduceOp>(op.getRhs(), op);
    if (!lhs || !rhs)
      return rewriter.notifyMatchFailure(op, "a summand is no all-reduce, or is used elsewhere");
    if (lhs.getKind() != ReductionKind::Sum || rhs.getKind() != ReductionKind::Sum || lhs.getOver() != rhs.getOver())
      return rewriter.notifyMatchFailure(op, "the reductions differ");
    NamedTensorType a = lhs.getInput().getType(), b = rhs.getInput().getType();
    // A summand with fewer dims is cheaper to reduce before it is broadcast.
    if (a.getDims() != b.getDims() || a.getPartialAxes() != b.getPartialAxes())
      return rewriter.notifyMatchFailure(op, "the summands differ in their dims");
    NamedTensorType type = op.getType().withPartial(a.getPartialAxes());
    Value sum = SumOp::create(rewriter, op.getLoc(), type, lhs.getInput(), rhs.getInput());
    rewriter.replaceOpWithNewOp<spmd::AllReduceOp>(op, op.getType(), sum, lhs.getOver(), ReductionKind::Sum, lhs.getReason());
    return success();
  }
};

struct ScatterInsteadOfSlice : OpRewritePattern<spmd::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(spmd::SliceOp op, PatternRewriter &rewriter) const override {
    auto reduce = onlyUsedHere<spmd::AllReduceOp>(op.getInput(), op);
    if (!reduce || reduce.getOver() != op.getOver())
      return rewriter.notifyMatchFailure(op, "is no slice of an all-reduce over the same axes");
    rewriter.replaceOpWithNewOp<spmd::ReduceScatterOp>(op, op.getType(), reduce.getInput(), op.getOver(), reduce.getKind(), op.getDim(),
                                                       reduce.getReason());
    return success();
  }
};

struct ReduceInsteadOfGather : OpRewritePattern<spmd::AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(spmd::AllGatherOp op, PatternRewriter &rewriter) const override {
    auto scatter = onlyUsedHere<spmd::ReduceScatterOp>(op.getInput(), op);
    if (!scatter || scatter.getOver() != op.getOver() || scatter.getDim() != op.getDim())
      return rewriter.notifyMatchFailure(op, "gathers something else than what was scattered");
    rewriter.replaceOpWithNewOp<spmd::AllReduceOp>(op, op.getType(), scatter.getInput(), op.getOver(), scatter.getKind(), scatter.getReason());
    return success();
  }
};

struct ShiftBetweenNeighbours : OpRewritePattern<spmd::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(spmd::SliceOp op, PatternRewriter &rewriter) const override {
    auto shift = onlyUsedHere<ShiftOp>(op.getInput(), op);
    auto gather = shift ? onlyUsedHere<spmd::AllGatherOp>(shift.getInput(), shift) : spmd::AllGatherOp();
    if (!gather || gather.getOver() != op.getOver() || gather.getDim() != op.getDim() || shift.getDim() != op.getDim())
      return rewriter.notifyMatchFailure(op, "is no slice of a shifted all-gather over the same axes");
    DimAttr dim = op.getType().findDim(op.getDimAttr());
    if (dim.getAxes().size() != op.getOver().size() || dim.isPadded() || MeshAttr::of(op).localSize(dim) != 1)
      return rewriter.notifyMatchFailure(op, "ranks have more than one element each");
    rewriter.replaceOpWithNewOp<spmd::ShiftOp>(op, op.getType(), gather.getInput(), op.getOver(), op.getDimAttr(), shift.getAmountAttr(),
                                               gather.getReasonAttr());
    return success();
  }
};

/// `SecondOp` undoes `FirstOp`: the types before and after are one.
template <typename FirstOp, typename SecondOp>
struct ThereAndBack : OpRewritePattern<SecondOp> {
  using OpRewritePattern<SecondOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(SecondOp op, PatternRewriter &rewriter) const override {
    auto first = op.getInput().template getDefiningOp<FirstOp>();
    if (!first || first.getInput().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "does not undo another op");
    rewriter.replaceOp(op, first.getInput());
    return success();
  }
};

struct OptimizeCollectivesPass : meshc::mtf::impl::OptimizeCollectivesBase<OptimizeCollectivesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<AddBeforeReducing<AddOp>, AddBeforeReducing<SubOp>, ScatterInsteadOfSlice, ReduceInsteadOfGather, ShiftBetweenNeighbours,
                 ThereAndBack<spmd::SliceOp, spmd::AllGatherOp>, ThereAndBack<spmd::AllGatherOp, spmd::SliceOp>,
                 ThereAndBack<spmd::AllToAllOp, spmd::AllToAllOp>, ThereAndBack<spmd::PermuteOp, spmd::PermuteOp>>(&getContext());
    GreedyRewriteConfig config;
    // Only these patterns: what dialects fold by themselves is not this pass's business.
    config.enableFolding(false).enableConstantCSE(false);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
