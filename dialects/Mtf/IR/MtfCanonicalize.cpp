//===- MtfCanonicalize.cpp - simpler forms of mtf ops ----------------------===//
//
// Part of --canonicalize. Two laws: a rewrite computes the same values in exact arithmetic up to re-association (so the float64
// interpreter sees no difference: constants are folded only where the result is exact in their type), and a replacement has
// exactly the type that it replaces, sharding included. Rewrites that move an op to fewer dims are for level 1 only, where no
// type carries a sharding.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>
#include <optional>

using namespace mlir;
using namespace meshc::mtf;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The value of a constant, or of one repeated along dims.
static std::optional<double> constantOf(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? std::optional(constant.asDouble()) : std::nullopt;
}

static bool isConstant(Value value, double expected) { return constantOf(value) == expected; }

static bool allGlobal(Operation *op) {
  auto global = [](Type type) { return cast<NamedTensorType>(type).isGlobal(); };
  return llvm::all_of(op->getOperandTypes(), global) && llvm::all_of(op->getResultTypes(), global);
}

/// `op` on scalars; none for what has no folding or no value (division of an integer by zero).
static std::optional<double> evaluate(Operation *op, ArrayRef<double> x) {
  bool isInteger = tensorType(op->getOperand(0)).getElementType().isInteger();
  auto floorDiv = [&]() -> std::optional<double> {
    if (isInteger && x[1] == 0)
      return std::nullopt;
    return isInteger ? std::floor(x[0] / x[1]) : x[0] / x[1];
  };
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case<NegOp>([&](auto) { return -x[0]; })
      .Case<AbsOp>([&](auto) { return std::abs(x[0]); })
      .Case<SignOp>([&](auto) { return (x[0] > 0) - (x[0] < 0); })
      .Case<ExpOp>([&](auto) { return std::exp(x[0]); })
      .Case<LogOp>([&](auto) { return std::log(x[0]); })
      .Case<SqrtOp>([&](auto) { return std::sqrt(x[0]); })
      .Case<RsqrtOp>([&](auto) { return 1 / std::sqrt(x[0]); })
      .Case<FloorOp>([&](auto) { return std::floor(x[0]); })
      .Case<CeilOp>([&](auto) { return std::ceil(x[0]); })
      .Case<CosOp>([&](auto) { return std::cos(x[0]); })
      .Case<SinOp>([&](auto) { return std::sin(x[0]); })
      .Case<AddOp>([&](auto) { return x[0] + x[1]; })
      .Case<SubOp>([&](auto) { return x[0] - x[1]; })
      .Case<MulOp>([&](auto) { return x[0] * x[1]; })
      .Case<DivOp>([&](auto) { return floorDiv(); })
      .Case<RemOp>([&](auto) {
        std::optional<double> quotient = floorDiv();
        return quotient ? std::optional(x[0] - x[1] * std::floor(*quotient)) : std::nullopt;
      })
      .Case<MaxOp>([&](auto) { return std::max(x[0], x[1]); })
      .Case<MinOp>([&](auto) { return std::min(x[0], x[1]); })
      .Case<PowOp>([&](auto) { return std::pow(x[0], x[1]); })
      .Case<NotOp>([&](auto) { return x[0] == 0; })
      .Case<AndOp>([&](auto) { return x[0] != 0 && x[1] != 0; })
      .Case<OrOp>([&](auto) { return x[0] != 0 || x[1] != 0; })
      .Case<SelectOp>([&](auto) { return x[0] != 0 ? x[1] : x[2]; })
      .Case<CastOp>([&](CastOp cast) {
        bool truncates = !isInteger && cast.getType().getElementType().isInteger(32);
        return truncates ? std::trunc(x[0]) : x[0];
      })
      .Case<CompareOp>([&](CompareOp compare) -> double {
        switch (compare.getPredicate()) {
        case Predicate::Eq:
          return x[0] == x[1];
        case Predicate::Ne:
          return x[0] != x[1];
        case Predicate::Lt:
          return x[0] < x[1];
        case Predicate::Le:
          return x[0] <= x[1];
        case Predicate::Gt:
          return x[0] > x[1];
        case Predicate::Ge:
          return x[0] >= x[1];
        }
        return 0;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// The attribute of `value` if it is exact in `type`.
static TypedAttr exactConstant(Type type, double value) {
  if (auto floatType = dyn_cast<FloatType>(type)) {
    FloatAttr attr = FloatAttr::get(floatType, value);
    return attr.getValueAsDouble() == value ? attr : FloatAttr();
  }
  bool fits = type.isInteger(1) ? value == 0 || value == 1 : value == std::trunc(value) && std::abs(value) < 2147483648.0;
  return fits ? TypedAttr(IntegerAttr::get(type, static_cast<int64_t>(value))) : TypedAttr();
}

namespace {
/// op(constants) -> constant
struct FoldScalar : public OpTraitRewritePattern<Elementwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    auto type = tensorType(op->getResult(0));
    SmallVector<double> values;
    for (Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      if (!constant)
        return rewriter.notifyMatchFailure(op, "an operand is not constant");
      values.push_back(constant.asDouble());
    }
    std::optional<double> value = type.isScalar() ? evaluate(op, values) : std::nullopt;
    TypedAttr attr = value ? exactConstant(type.getElementType(), *value) : TypedAttr();
    if (!attr)
      return rewriter.notifyMatchFailure(op, "not a scalar that is exact in its type");
    rewriter.replaceOpWithNewOp<ConstantOp>(op, type, attr);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

/// f(broadcast(x), y) -> f(x, y) if y has the dims, else broadcast(f(x, y))
struct SinkBroadcast : public OpTraitRewritePattern<Elementwise> {
  using OpTraitRewritePattern::OpTraitRewritePattern;
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!allGlobal(op))
      return rewriter.notifyMatchFailure(op, "sharded");
    SmallVector<Value> operands;
    bool changed = false;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      changed |= static_cast<bool>(broadcast);
      operands.push_back(broadcast ? Value(broadcast.getInput()) : operand);
    }
    if (!changed)
      return rewriter.notifyMatchFailure(op, "no operand is a broadcast");
    NamedTensorType type = tensorType(op->getResult(0));
    NamedTensorType needed = elementwiseType(operands).withElementType(type.getElementType());
    if (isa<BroadcastOp>(op) || needed == type) {
      rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
      return success();
    }
    Operation *smaller = rewriter.clone(*op);
    smaller->setOperands(operands);
    smaller->getResult(0).setType(needed);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, smaller->getResult(0));
    return success();
  }
};

/// sum(broadcast(x)) over dims that x lacks -> x times their size
struct SumOfBroadcast : public OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getInput().getDefiningOp<BroadcastOp>();
    if (!broadcast || op.getKind() == ReductionKind::Prod || !allGlobal(op) || !allGlobal(broadcast))
      return rewriter.notifyMatchFailure(op, "not a reduction of a broadcast");
    NamedTensorType small = broadcast.getInput().getType();
    SmallVector<Attribute> kept;
    int64_t count = 1;
    for (auto name : op.getOver().getAsRange<StringAttr>()) {
      if (small.hasDim(name))
        kept.push_back(name);
      else
        count *= op.getInput().getType().dimSize(name);
    }
    if (kept.size() == op.getOver().size())
      return rewriter.notifyMatchFailure(op, "every reduced dim is the input's own");
    TypedAttr factor = exactConstant(small.getElementType(), static_cast<double>(count));
    if (!factor)
      return rewriter.notifyMatchFailure(op, "the count is not exact");
    Value value = broadcast.getInput();
    if (op.getKind() == ReductionKind::Sum) {
      Value scale = ConstantOp::create(rewriter, op.getLoc(), NamedTensorType::get({}, small.getElementType()), factor);
      value = MulOp::create(rewriter, op.getLoc(), value, scale);
    }
    if (!kept.empty()) {
      SmallVector<StringAttr> names;
      for (Attribute name : kept)
        names.push_back(cast<StringAttr>(name));
      value = ReduceOp::create(rewriter, op.getLoc(), op.getKind(), value, names);
    }
    if (value.getType() != op.getType())
      value = BroadcastOp::create(rewriter, op.getLoc(), op.getType(), value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// `value` with the type of `op`'s result, repeated along dims where it lacks them.
LogicalResult replaceWith(Operation *op, Value value, PatternRewriter &rewriter) {
  NamedTensorType type = tensorType(op->getResult(0));
  if (value.getType() == type) {
    rewriter.replaceOp(op, value);
    return success();
  }
  if (!allGlobal(op))
    return rewriter.notifyMatchFailure(op, "the operand is sharded otherwise");
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, type, value);
  return success();
}

struct SimplifyAdd : public OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    if (isConstant(op.getRhs(), 0))
      return replaceWith(op, op.getLhs(), rewriter);
    if (isConstant(op.getLhs(), 0))
      return replaceWith(op, op.getRhs(), rewriter);
    if (auto neg = op.getRhs().getDefiningOp<NegOp>()) {
      rewriter.replaceOpWithNewOp<SubOp>(op, op.getType(), op.getLhs(), neg.getInput());
      return success();
    }
    if (auto neg = op.getLhs().getDefiningOp<NegOp>()) {
      rewriter.replaceOpWithNewOp<SubOp>(op, op.getType(), op.getRhs(), neg.getInput());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no zero and no negation");
  }
};

struct SimplifySub : public OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    if (isConstant(op.getRhs(), 0))
      return replaceWith(op, op.getLhs(), rewriter);
    if (auto neg = op.getRhs().getDefiningOp<NegOp>()) {
      rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), op.getLhs(), neg.getInput());
      return success();
    }
    if (isConstant(op.getLhs(), 0) && op.getRhs().getType() == op.getType()) {
      rewriter.replaceOpWithNewOp<NegOp>(op, op.getType(), op.getRhs());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no zero and no negation");
  }
};

struct SimplifyMul : public OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [x, factor] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      if (isConstant(factor, 1))
        return replaceWith(op, x, rewriter);
      if (isConstant(factor, -1) && x.getType() == op.getType()) {
        rewriter.replaceOpWithNewOp<NegOp>(op, op.getType(), x);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(op, "no factor of one");
  }
};

struct SimplifyDiv : public OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    if (isConstant(op.getRhs(), 1))
      return replaceWith(op, op.getLhs(), rewriter);
    return rewriter.notifyMatchFailure(op, "the divisor is not one");
  }
};

struct SimplifyNeg : public OpRewritePattern<NegOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NegOp op, PatternRewriter &rewriter) const override {
    if (auto inner = op.getInput().getDefiningOp<NegOp>())
      return replaceWith(op, inner.getInput(), rewriter);
    if (auto sub = op.getInput().getDefiningOp<SubOp>(); sub && sub->hasOneUse() && sub.getType() == op.getType()) {
      rewriter.replaceOpWithNewOp<SubOp>(op, op.getType(), sub.getRhs(), sub.getLhs());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not a negation or a difference");
  }
};

/// Powers that have ops of their own.
struct SimplifyPow : public OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = constantOf(op.getRhs());
    Value x = op.getLhs();
    if (!exponent || x.getType() != op.getType() || !isa<FloatType>(op.getType().getElementType()))
      return rewriter.notifyMatchFailure(op, "the exponent is not constant");
    Type type = op.getType();
    if (*exponent == 1)
      rewriter.replaceOp(op, x);
    else if (*exponent == 2)
      rewriter.replaceOpWithNewOp<MulOp>(op, type, x, x);
    else if (*exponent == 3)
      rewriter.replaceOpWithNewOp<MulOp>(op, type, MulOp::create(rewriter, op.getLoc(), type, x, x), x);
    else if (*exponent == 0.5)
      rewriter.replaceOpWithNewOp<SqrtOp>(op, type, x);
    else if (*exponent == -0.5)
      rewriter.replaceOpWithNewOp<RsqrtOp>(op, type, x);
    else
      return rewriter.notifyMatchFailure(op, "no simpler op");
    return success();
  }
};

/// select(constant, a, b), select(c, a, a)
struct SimplifySelect : public OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    std::optional<double> condition = constantOf(op.getCondition());
    if (condition || op.getOnTrue() == op.getOnFalse())
      return replaceWith(op, !condition || *condition != 0 ? op.getOnTrue() : op.getOnFalse(), rewriter);
    return rewriter.notifyMatchFailure(op, "depends on its condition");
  }
};

/// cast(cast(x)) -> x where the first cast loses nothing
struct CastAndBack : public OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<CastOp>();
    if (!inner || inner.getInput().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not a cast back");
    auto from = dyn_cast<FloatType>(op.getType().getElementType()), to = dyn_cast<FloatType>(inner.getType().getElementType());
    if (!from || !to || to.getWidth() <= from.getWidth())
      return rewriter.notifyMatchFailure(op, "the first cast may round");
    rewriter.replaceOp(op, inner.getInput());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Reductions and dims
//===----------------------------------------------------------------------===//

struct SimplifyReduce : public OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getOver().empty())
      return replaceWith(op, op.getInput(), rewriter);
    // A reduction of a reduction of the same kind is one over both sets of dims.
    if (auto inner = op.getInput().getDefiningOp<ReduceOp>(); inner && inner->hasOneUse() && inner.getKind() == op.getKind()) {
      SmallVector<Attribute> over(inner.getOver().begin(), inner.getOver().end());
      over.append(op.getOver().begin(), op.getOver().end());
      rewriter.replaceOpWithNewOp<ReduceOp>(op, op.getType(), op.getKind(), inner.getInput(), rewriter.getArrayAttr(over));
      return success();
    }
    // Negate the sum, which is smaller.
    if (auto neg = op.getInput().getDefiningOp<NegOp>(); neg && neg->hasOneUse() && op.getKind() == ReductionKind::Sum) {
      Value sum = ReduceOp::create(rewriter, op.getLoc(), op.getType(), op.getKind(), neg.getInput(), op.getOver());
      rewriter.replaceOpWithNewOp<NegOp>(op, op.getType(), sum);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no simpler form");
  }
};

/// rename(rename(x)) -> rename(x)
struct RenameOfRename : public OpRewritePattern<RenameOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RenameOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<RenameOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "the input is not renamed");
    auto renamed = [](RenameOp rename, StringAttr name) {
      for (auto [from, to] : llvm::zip(rename.getFrom().getAsRange<StringAttr>(), rename.getTo().getAsRange<StringAttr>()))
        if (from == name)
          return to;
      return name;
    };
    SmallVector<Attribute> from, to;
    for (DimAttr dim : inner.getInput().getType().getDims()) {
      StringAttr name = renamed(op, renamed(inner, dim.getName()));
      if (name == dim.getName())
        continue;
      from.push_back(dim.getName());
      to.push_back(name);
    }
    if (from.empty())
      return replaceWith(op, inner.getInput(), rewriter);
    rewriter.replaceOpWithNewOp<RenameOp>(op, op.getType(), inner.getInput(), rewriter.getArrayAttr(from), rewriter.getArrayAttr(to));
    return success();
  }
};

/// merge(split(x)) -> x, split(merge(x)) -> x
template <typename Outer, typename Inner>
struct UndoSplit : public OpRewritePattern<Outer> {
  using OpRewritePattern<Outer>::OpRewritePattern;
  static std::pair<ArrayAttr, StringAttr> dims(SplitOp op) { return {op.getInto(), op.getDimAttr()}; }
  static std::pair<ArrayAttr, StringAttr> dims(MergeOp op) { return {op.getDims(), op.getIntoAttr()}; }
  LogicalResult matchAndRewrite(Outer op, PatternRewriter &rewriter) const override {
    auto inner = op.getInput().template getDefiningOp<Inner>();
    if (!inner || dims(op) != dims(inner) || inner.getInput().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the inverse of the input");
    rewriter.replaceOp(op, inner.getInput());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Removes carries that do not change or are not used, slices and stacks that are not used.
struct SimplifyRepeat : public OpRewritePattern<RepeatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RepeatOp loop, PatternRewriter &rewriter) const override {
    NextOp next = loop.next();
    llvm::BitVector dropCarry(loop.numCarries()), dropSlice(loop.getScanned().size()), dropStack(loop.numStacked());
    for (unsigned i = 0; i < loop.numCarries(); ++i) {
      BlockArgument argument = loop.carryArg(i);
      if (next.getCarries()[i] == argument) {
        rewriter.replaceAllUsesWith(loop.getResult(i), loop.getInits()[i]);
        rewriter.replaceAllUsesExcept(argument, loop.getInits()[i], next);
        dropCarry.set(i);
      } else if (argument.use_empty() && loop.getResult(i).use_empty()) {
        dropCarry.set(i);
      }
    }
    for (unsigned i = 0; i < loop.getScanned().size(); ++i)
      dropSlice[i] = loop.sliceArg(i).use_empty();
    for (unsigned i = 0; i < loop.numStacked(); ++i)
      dropStack[i] = loop.stackedResults()[i].use_empty();
    if (dropCarry.none() && dropSlice.none() && dropStack.none())
      return rewriter.notifyMatchFailure(loop, "everything is used");

    auto kept = [](auto &&range, const llvm::BitVector &drop) {
      SmallVector<Value> values;
      for (auto [i, value] : llvm::enumerate(range))
        if (!drop[i])
          values.push_back(value);
      return values;
    };
    SmallVector<Value> inits = kept(loop.getInits(), dropCarry), scanned = kept(loop.getScanned(), dropSlice);
    SmallVector<Type> stackedTypes(ValueRange(kept(loop.stackedResults(), dropStack)).getTypes());
    auto smaller = RepeatOp::create(rewriter, loop.getLoc(), loop.getDimAttr(), loop.getCount(), inits, scanned, stackedTypes,
                                    loop.getReverse());
    smaller->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(next);
      rewriter.replaceOpWithNewOp<NextOp>(next, kept(next.getCarries(), dropCarry), kept(next.getStacked(), dropStack));
    }
    Block *body = loop.bodyBlock();
    llvm::BitVector dropArgument(body->getNumArguments());
    for (unsigned i : dropCarry.set_bits())
      dropArgument.set(1 + i);
    for (unsigned i : dropSlice.set_bits())
      dropArgument.set(1 + loop.numCarries() + i);
    SmallVector<Value> results = kept(loop.getResults(), [&] {
      llvm::BitVector all = dropCarry;
      all.resize(loop.getNumResults());
      for (unsigned i : dropStack.set_bits())
        all.set(loop.numCarries() + i);
      return all;
    }());
    body->eraseArguments(dropArgument);
    rewriter.eraseBlock(smaller.bodyBlock());
    rewriter.inlineRegionBefore(loop.getBody(), smaller.getBody(), smaller.getBody().end());
    for (auto [old, value] : llvm::zip(results, smaller.getResults()))
      rewriter.replaceAllUsesWith(old, value);
    rewriter.eraseOp(loop);
    return success();
  }
};
} // namespace

void MtfDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  patterns.add<FoldScalar, SinkBroadcast, SumOfBroadcast, SimplifyAdd, SimplifySub, SimplifyMul, SimplifyDiv, SimplifyNeg, SimplifyPow,
               SimplifySelect, CastAndBack, SimplifyReduce, RenameOfRename, UndoSplit<MergeOp, SplitOp>,
               UndoSplit<SplitOp, MergeOp>, SimplifyRepeat>(getContext());
}
