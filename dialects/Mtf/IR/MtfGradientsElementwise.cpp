//===- MtfGradientsElementwise.cpp - derivatives of elementwise ops --------===//
//
// Each rule writes the product of the cotangent with the local derivative over the result's dims; `fitTo` then sums over the
// dims that the operand was broadcast along. Rules prefer the result over recomputing it (exp, tanh, sqrt, ...).
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/MtfGradients.h"
#include <numbers>

using namespace mlir;
using namespace meshc::mtf;

SmallVector<StringAttr> meshc::mtf::missingDims(NamedTensorType a, NamedTensorType b) {
  SmallVector<StringAttr> names;
  for (DimAttr dim : a.getDims())
    if (!b.hasDim(dim.getName()))
      names.push_back(dim.getName());
  return names;
}

Value meshc::mtf::filled(OpBuilder &builder, Location loc, double value, NamedTensorType type) {
  Value scalar = ConstantOp::create(builder, loc, value, type.getElementType());
  return GradientBuilder::broadcastTo(builder, loc, scalar, type);
}

Value GradientBuilder::broadcastTo(OpBuilder &builder, Location loc, Value x, NamedTensorType type) {
  if (missingDims(type, tensorType(x)).empty())
    return x;
  return BroadcastOp::create(builder, loc, type.withElementType(tensorType(x).getElementType()), x);
}

Value GradientBuilder::fitTo(Value g, NamedTensorType type) {
  SmallVector<StringAttr> extra = missingDims(tensorType(g), type);
  return extra.empty() ? g : create<ReduceOp>(ReductionKind::Sum, g, extra);
}

//===----------------------------------------------------------------------===//
// Of one operand. In a rule: x the operand, y the result, g the cotangent of y.
//===----------------------------------------------------------------------===//

#define UNARY_RULE(OP, EXPRESSION)                                                                                          \
  LogicalResult OP::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {           \
    GradientBuilder b{builder, getLoc()};                                                                                  \
    [[maybe_unused]] Value x = getInput(), y = getResult(), g = cotangents[0];                                             \
    grads[0] = b.fitTo(EXPRESSION, getInput().getType());                                                                  \
    return success();                                                                                                      \
  }

/// Piecewise constant ops, and the one that says so.
#define ZERO_RULE(OP)                                                                                                       \
  LogicalResult OP::buildGradient(OpBuilder &, ArrayRef<Value>, ArrayRef<bool>, Grads &) { return success(); }

UNARY_RULE(NegOp, b.neg(g))
UNARY_RULE(AbsOp, b.mul(g, b.create<SignOp>(x)))
UNARY_RULE(ExpOp, b.mul(g, y))
UNARY_RULE(LogOp, b.div(g, x))
UNARY_RULE(SqrtOp, b.div(b.scaled(g, 0.5), y))
UNARY_RULE(RsqrtOp, b.mul(b.scaled(g, -0.5), b.mul(y, b.mul(y, y))))
UNARY_RULE(TanhOp, b.mul(g, b.sub(b.constant(1, y), b.mul(y, y))))
UNARY_RULE(ErfOp, b.mul(b.scaled(g, 2 * std::numbers::inv_sqrtpi), b.create<ExpOp>(b.neg(b.mul(x, x)))))
UNARY_RULE(SinOp, b.mul(g, b.create<CosOp>(x)))
UNARY_RULE(CosOp, b.neg(b.mul(g, b.create<SinOp>(x))))
UNARY_RULE(SigmoidOp, b.mul(g, b.mul(y, b.sub(b.constant(1, y), y))))
UNARY_RULE(BroadcastOp, g)
UNARY_RULE(TapOp, g)
ZERO_RULE(SignOp)
ZERO_RULE(FloorOp)
ZERO_RULE(CeilOp)
ZERO_RULE(StopGradientOp)

LogicalResult CastOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = b.fitTo(b.create<CastOp>(cotangents[0], getInput().getType().getElementType()), getInput().getType());
  return success();
}

//===----------------------------------------------------------------------===//
// Of several operands
//===----------------------------------------------------------------------===//

/// `rules[i]` builds the cotangent of operand i over the result's dims.
static LogicalResult perOperand(Operation *op, GradientBuilder &b, ArrayRef<bool> needed, Grads &grads,
                                ArrayRef<llvm::function_ref<Value()>> rules) {
  for (auto [i, rule] : llvm::enumerate(rules))
    if (Value grad = needed[i] ? rule() : Value())
      grads[i] = b.fitTo(grad, tensorType(op->getOperand(i)));
  return success();
}

/// Rules in terms of the operands l and r, the result y and its cotangent g.
#define BINARY_RULE(OP, LHS, RHS)                                                                                           \
  LogicalResult OP::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed, Grads &grads) {    \
    GradientBuilder b{builder, getLoc()};                                                                                  \
    [[maybe_unused]] Value l = getLhs(), r = getRhs(), y = getResult(), g = cotangents[0];                                 \
    return perOperand(*this, b, needed, grads, {[&]() -> Value { return LHS; }, [&]() -> Value { return RHS; }});          \
  }

/// g where `l predicate r`, else zero.
static Value where(GradientBuilder &b, Predicate predicate, Value l, Value r, Value g) {
  return b.create<SelectOp>(b.create<CompareOp>(predicate, l, r), g, b.constant(0, g));
}

BINARY_RULE(AddOp, g, g)
BINARY_RULE(SubOp, g, b.neg(g))
/// A square has one cotangent instead of two equal ones to add.
BINARY_RULE(MulOp, b.mul(l == r ? b.scaled(g, 2) : g, r), l == r ? Value() : b.mul(g, l))
BINARY_RULE(DivOp, b.div(g, r), b.neg(b.div(b.mul(g, y), r)))
BINARY_RULE(RemOp, g, b.neg(b.mul(g, b.create<FloorOp>(b.div(l, r)))))
BINARY_RULE(MaxOp, where(b, Predicate::Ge, l, r, g), where(b, Predicate::Lt, l, r, g))
BINARY_RULE(MinOp, where(b, Predicate::Le, l, r, g), where(b, Predicate::Gt, l, r, g))

/// r l^(r-1), zero where the exponent is zero (also at l = 0, where the formula says 0 inf).
static Value powBase(GradientBuilder &b, Value l, Value r, Value g) {
  Value zero = b.constant(0, r), one = b.constant(1, r);
  Value isZero = b.create<CompareOp>(Predicate::Eq, r, zero);
  Value exponent = b.create<SelectOp>(isZero, one, b.sub(r, one));
  Value slope = b.mul(r, b.create<PowOp>(l, exponent));
  return b.mul(g, slope);
}

/// y log l, zero where the base is zero: the limit for a positive exponent.
static Value powExponent(GradientBuilder &b, Value l, Value y, Value g) {
  Value isZero = b.create<CompareOp>(Predicate::Eq, l, b.constant(0, l));
  return b.mul(g, b.mul(y, b.create<LogOp>(b.create<SelectOp>(isZero, b.constant(1, l), l))));
}

BINARY_RULE(PowOp, powBase(b, l, r, g), powExponent(b, l, y, g))

LogicalResult SelectOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  Value c = getCondition(), g = cotangents[0];
  if (needed[1])
    grads[1] = b.fitTo(b.create<SelectOp>(c, g, b.constant(0, g)), getOnTrue().getType());
  if (needed[2])
    grads[2] = b.fitTo(b.create<SelectOp>(c, b.constant(0, g), g), getOnFalse().getType());
  return success();
}
