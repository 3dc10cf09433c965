//===- ExpandNeighbours.cpp - windows, shifts, running sums over parts -----===//
//
// Ops whose results lie near their operands along a dimension that is split. The dimension becomes two, `block` (one per rank) and `part`;
// edges move by one block, and the op runs inside the blocks:
//
//   %w = mtf.window %x "height" into "kh" low 1 ...       // height split over model
//
//   %b = mtf.split %x "height" into ["block", "part"]     // block split over model
//   %e = mtf.slice %b "part" [p-1 : p : 1]                // the last row of each block
//   %l = mtf.shift %e "block" by 1                        // to the next rank; zeros come first
//   %h = mtf.concat %l, %b along "part"                   // the halo
//   %w = mtf.merge (mtf.window %h "part" into "kh" low 0 ...) ["block", "part"] into "height"
//
// So a convolution sends its halo and nothing else. A running sum sums inside its block and adds the totals of the blocks before it.
//
//===----------------------------------------------------------------------===//
#include "ExpandSplitDims.h"
#include "Mtf/IR/Mtf.h"

using namespace mlir;
using namespace meshc::mtf;

namespace {
/// Builds on tensors with the dimension as blocks and parts.
class Blocks {
public:
  Blocks(PatternRewriter &rewriter, Location loc, StringAttr dim, DimAttr split, int64_t count)
      : rewriter(rewriter), loc(loc), dim(dim), block(rewriter.getStringAttr(dim.getValue() + ".block")),
        part(rewriter.getStringAttr(dim.getValue() + ".part")), blockDim(DimAttr::get(block, count).withAxes(split.getAxes())) {}

  int64_t count() const { return blockDim.getSize(); }
  NamedTensorType with(NamedTensorType type, int64_t size) const { return type.with(DimAttr::get(part, size)); }
  NamedTensorType blocked(NamedTensorType type, int64_t size) const { return with(type.without({dim}).with(blockDim), size); }

  Value split(Value x) {
    NamedTensorType type = tensorType(x);
    return SplitOp::create(rewriter, loc, blocked(type, type.dimSize(dim) / count()), x, dim, rewriter.getStrArrayAttr({block, part}));
  }
  Value merge(Value x, NamedTensorType type) {
    return MergeOp::create(rewriter, loc, type, x, rewriter.getStrArrayAttr({block, part}), dim);
  }
  Value slice(Value x, int64_t start, int64_t size) {
    NamedTensorType type = tensorType(x);
    if (size == type.dimSize(part))
      return x;
    return SliceOp::create(rewriter, loc, with(type, size), x, part, start, start + size, 1);
  }
  /// Each block's `x` in the block that is `amount` later; zeros where there is none before.
  Value move(Value x, int64_t amount) {
    NamedTensorType type = tensorType(x), whole = type.with(blockDim.withAxes({}));
    Value gathered = reshard(x, whole, "neighbours exchange edges of '" + dim.str() + "'");
    Value shifted = ShiftOp::create(rewriter, loc, whole, gathered, block, amount);
    return reshard(shifted, type, "neighbours exchange edges of '" + dim.str() + "'");
  }
  /// `x` with `halo` elements of the neighbours around each part.
  Value extend(Value x, Halo halo) {
    int64_t size = tensorType(x).dimSize(part);
    SmallVector<Value, 3> pieces;
    if (halo.low)
      pieces.push_back(move(slice(x, size - halo.low, halo.low), 1));
    pieces.push_back(x);
    if (halo.high)
      pieces.push_back(move(slice(x, 0, halo.high), -1));
    if (pieces.size() == 1)
      return x;
    return ConcatOp::create(rewriter, loc, with(tensorType(x), size + halo.low + halo.high), pieces, part);
  }
  /// The transpose of `extend`: adds what lies in a halo to the neighbour whose element it is.
  Value contract(Value x, Halo halo) {
    int64_t size = tensorType(x).dimSize(part) - halo.low - halo.high;
    Value result = slice(x, halo.low, size);
    if (halo.high)
      result = add(result, pad(move(slice(x, halo.low + size, halo.high), 1), 0, size - halo.high));
    if (halo.low)
      result = add(result, pad(move(slice(x, 0, halo.low), -1), size - halo.low, 0));
    return result;
  }
  Value reshard(Value x, NamedTensorType type, const Twine &reason) {
    auto op = ReshardOp::create(rewriter, loc, type, x);
    op->setAttr("reason", rewriter.getStringAttr(reason));
    return op;
  }
  Value add(Value a, Value b) { return AddOp::create(rewriter, loc, a.getType(), a, b); }

private:
  Value pad(Value x, int64_t low, int64_t high) {
    NamedTensorType type = tensorType(x);
    if (!low && !high)
      return x;
    Value zero = ConstantOp::create(rewriter, loc, 0.0, type.getElementType());
    // Zero is the neutral summand, also of a sum that waits.
    if (type.isPartial())
      zero.setType(tensorType(zero).withPartial(type.getPartialAxes()));
    return PadOp::create(rewriter, loc, with(type, type.dimSize(part) + low + high), x, zero, part, low, high, 0);
  }

  PatternRewriter &rewriter;
  Location loc;
  StringAttr dim;

public:
  StringAttr block, part;

private:
  DimAttr blockDim;
};

/// The pattern of ops with one operand and one result along `dim`. Where padding lies inside (a neighbour of the op wanted it) blocks are no
/// parts of the unpadded whole, and the op runs on all of it.
template <typename OpTy>
struct ExpandAlong : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  static StringAttr dimOf(CumSumOp op) { return op.getOverAttr(); }
  template <typename T>
  static StringAttr dimOf(T op) { return op.getDimAttr(); }

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    StringAttr name = dimOf(op);
    NamedTensorType input = tensorType(op->getOperand(0)), result = tensorType(op->getResult(0));
    DimAttr dim = input.findDim(name), after = result.findDim(name);
    if (!dim.isSplit())
      return rewriter.notifyMatchFailure(op, "the dimension is not split");
    int64_t count = MeshAttr::of(op).shardCount(dim.getAxes());
    Blocks blocks(rewriter, op.getLoc(), name, dim, count);
    if (dim.isPadded() || after.isPadded()) {
      IRMapping mapping;
      mapping.map(op->getOperand(0), blocks.reshard(op->getOperand(0), input.with(dim.withAxes({})), "'" + name.str() + "' has padding"));
      Operation *whole = rewriter.clone(*op, mapping);
      whole->getResult(0).setType(result.with(after.withAxes({})));
      rewriter.replaceOp(op, blocks.reshard(whole->getResult(0), result, "'" + name.str() + "' has padding"));
      return success();
    }
    Value inside = expand(op, blocks, blocks.split(op->getOperand(0)), blocks.blocked(result, after.getSize() / count), rewriter);
    rewriter.replaceOp(op, blocks.merge(inside, result));
    return success();
  }

  static Value expand(WindowOp op, Blocks &blocks, Value x, NamedTensorType type, PatternRewriter &rewriter) {
    Halo halo = haloOf(op);
    return WindowOp::create(rewriter, op.getLoc(), type, blocks.extend(x, halo), blocks.part, op.getWindowAttr(), op.getStrideAttr(),
                            op.getDilationAttr(), rewriter.getI64IntegerAttr(static_cast<int64_t>(op.getLow()) - halo.low));
  }
  static Value expand(FoldOp op, Blocks &blocks, Value x, NamedTensorType type, PatternRewriter &rewriter) {
    Halo halo = haloOf(op);
    Value folded = FoldOp::create(rewriter, op.getLoc(), blocks.with(type, type.dimSize(blocks.part) + halo.low + halo.high), x, blocks.part,
                                  op.getWindowAttr(), op.getStrideAttr(), op.getDilationAttr(),
                                  rewriter.getI64IntegerAttr(static_cast<int64_t>(op.getLow()) - halo.low));
    return blocks.contract(folded, halo);
  }
  static Value expand(ShiftOp op, Blocks &blocks, Value x, NamedTensorType type, PatternRewriter &) {
    int64_t amount = static_cast<int64_t>(op.getAmount()), size = type.dimSize(blocks.part);
    Value extended = blocks.extend(x, {std::max<int64_t>(amount, 0), std::max<int64_t>(-amount, 0)});
    return blocks.slice(extended, amount > 0 ? 0 : -amount, size);
  }
  static Value expand(CumSumOp op, Blocks &blocks, Value x, NamedTensorType type, PatternRewriter &rewriter) {
    Location loc = op.getLoc();
    Value inside = CumSumOp::create(rewriter, loc, type, x, blocks.part, op.getExclusiveAttr(), op.getReverseAttr());
    NamedTensorType totals = type.without({blocks.part});
    NamedTensorType whole = totals.with(totals.findDim(blocks.block).withAxes({}));
    Value total = ReduceOp::create(rewriter, loc, totals, ReductionKind::Sum, x, rewriter.getStrArrayAttr({blocks.part}));
    Value all = blocks.reshard(total, whole, "blocks add the totals before them");
    Value before = CumSumOp::create(rewriter, loc, whole, all, blocks.block, rewriter.getUnitAttr(), op.getReverseAttr());
    Value mine = blocks.reshard(before, totals, "blocks add the totals before them");
    return blocks.add(inside, mine);
  }
};
} // namespace

void meshc::mtf::populateNeighbourPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandAlong<WindowOp>, ExpandAlong<FoldOp>, ExpandAlong<ShiftOp>, ExpandAlong<CumSumOp>>(patterns.getContext());
}
