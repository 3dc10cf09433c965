//===- ExpandSplitDims.cpp - ops along a split dimension -------------------===//
//
// Rewrites ops whose expandable dimension is split into local reductions and reshards between them:
//
//   %p = mtf.softmax %x over ["vocab"]      // vocab split over model
//
//   %m = mtf.reduce max %x over ["vocab"]   // partial(max: model)
//   %M = mtf.reshard %m                     // becomes an all-reduce of one number per row
//   %e = exp(%x - %M)
//   %s = mtf.reduce sum %e over ["vocab"]   // partial(sum: model)
//   %p = %e / (mtf.reshard %s)
//
// The maximum is bounded from below by the smallest float, so that a row of minus infinities gives minus infinity (logsumexp) as
// the unsplit op does, and not the difference of infinities.
//
// ExpandNeighbours.cpp does windows, shifts and running sums.
//
//===----------------------------------------------------------------------===//
#include "ExpandSplitDims.h"
#include "Mtf/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_EXPANDSPLITDIMS
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

static SmallVector<StringAttr> namesOf(ArrayAttr names) { return llvm::to_vector(names.getAsRange<StringAttr>()); }

/// Axes that split the dims of `type` in `over`.
static SmallVector<StringAttr> axesOver(NamedTensorType type, ArrayAttr over) {
  SmallVector<StringAttr> axes;
  for (StringAttr name : namesOf(over))
    llvm::append_range(axes, type.findDim(name).getAxes());
  return axes;
}

/// Reduces locally, then over the ranks.
static Value reduceEverywhere(OpBuilder &builder, Location loc, ReductionKind kind, Value input, ArrayAttr over) {
  NamedTensorType type = tensorType(input), rows = type.without(namesOf(over));
  NamedTensorType local = rows.withPartial(axesOver(type, over), kind);
  Value part = ReduceOp::create(builder, loc, local, kind, input, over);
  auto whole = ReshardOp::create(builder, loc, rows, part);
  std::string dims;
  for (StringAttr name : namesOf(over))
    dims += (dims.empty() ? "'" : ", '") + name.str() + "'";
  whole->setAttr("reason", builder.getStringAttr((kind == ReductionKind::Max ? "the maximum over " : "the sum over ") + dims));
  return whole;
}

/// The largest element of each row, at least the smallest finite number.
static Value rowMaximum(OpBuilder &builder, Location loc, Value input, ArrayAttr over) {
  Value maximum = reduceEverywhere(builder, loc, ReductionKind::Max, input, over);
  auto element = cast<FloatType>(tensorType(input).getElementType());
  double lowest = APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true).convertToDouble();
  Value bound = ConstantOp::create(builder, loc, lowest, element);
  return MaxOp::create(builder, loc, maximum.getType(), maximum, bound);
}

static Value exponentials(OpBuilder &builder, Location loc, Value input, Value maximum) {
  Value difference = SubOp::create(builder, loc, input.getType(), input, maximum);
  return ExpOp::create(builder, loc, input.getType(), difference);
}

namespace {
struct ExpandSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxOp op, PatternRewriter &rewriter) const override {
    if (axesOver(op.getInput().getType(), op.getOver()).empty())
      return rewriter.notifyMatchFailure(op, "no dimension of the softmax is split");
    Value maximum = rowMaximum(rewriter, op.getLoc(), op.getInput(), op.getOver());
    Value weights = exponentials(rewriter, op.getLoc(), op.getInput(), maximum);
    Value sum = reduceEverywhere(rewriter, op.getLoc(), ReductionKind::Sum, weights, op.getOver());
    rewriter.replaceOpWithNewOp<DivOp>(op, op.getType(), weights, sum);
    return success();
  }
};

struct ExpandLogSumExp : OpRewritePattern<LogSumExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogSumExpOp op, PatternRewriter &rewriter) const override {
    if (axesOver(op.getInput().getType(), op.getOver()).empty())
      return rewriter.notifyMatchFailure(op, "no dimension of the logsumexp is split");
    Value maximum = rowMaximum(rewriter, op.getLoc(), op.getInput(), op.getOver());
    Value weights = exponentials(rewriter, op.getLoc(), op.getInput(), maximum);
    Value sum = reduceEverywhere(rewriter, op.getLoc(), ReductionKind::Sum, weights, op.getOver());
    Value log = LogOp::create(rewriter, op.getLoc(), sum.getType(), sum);
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), log, maximum);
    return success();
  }
};

struct ExpandSplitDimsPass : meshc::mtf::impl::ExpandSplitDimsBase<ExpandSplitDimsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandSoftmax, ExpandLogSumExp>(&getContext());
    populateNeighbourPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
