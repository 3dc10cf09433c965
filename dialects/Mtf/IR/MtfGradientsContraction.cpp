//===- MtfGradientsContraction.cpp - derivatives of products and reductions ===//
#include "Mtf/IR/MtfGradients.h"

using namespace mlir;
using namespace meshc::mtf;

static SmallVector<StringAttr> names(ArrayAttr array) { return llvm::to_vector(array.getAsRange<StringAttr>()); }

/// With y = l r summed over D, the cotangent of l is g r summed over the dims that only r has; dims that only l has, and D, are
/// kept. Without dims to sum over it is an outer product, which fuses with its neighbours as `mul`.
static Value productGradient(GradientBuilder &b, Value g, Value other, NamedTensorType type) {
  SmallVector<StringAttr> over = missingDims(tensorType(other), type);
  Type element = type.getElementType();
  if (tensorType(g).getElementType() != element)
    g = b.create<CastOp>(g, element);
  return over.empty() ? b.mul(g, other) : b.create<DotOp>(g, other, over);
}

LogicalResult DotOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  if (needed[0])
    grads[0] = productGradient(b, cotangents[0], getRhs(), getLhs().getType());
  if (needed[1])
    grads[1] = productGradient(b, cotangents[0], getLhs(), getRhs().getType());
  return success();
}

/// One where `x` attains `extreme`, divided by how often it is attained: ties share the gradient evenly, which needs no order of
/// the elements and so holds on any sharding.
static Value evenShare(GradientBuilder &b, Value x, Value extreme, Value g, ArrayRef<StringAttr> over) {
  Value hit = b.create<CastOp>(b.create<CompareOp>(Predicate::Eq, x, extreme), tensorType(x).getElementType());
  Value count = b.create<ReduceOp>(ReductionKind::Sum, hit, over);
  return b.mul(hit, b.div(g, count));
}

/// The product of the other elements, without dividing by a zero: with one zero only that element has a gradient, with two none.
static Value productOfOthers(GradientBuilder &b, Value x, Value g, ArrayRef<StringAttr> over) {
  Value zero = b.constant(0, x), one = b.constant(1, x);
  Value isZero = b.create<CompareOp>(Predicate::Eq, x, zero);
  Value zeros = b.create<ReduceOp>(ReductionKind::Sum, b.create<CastOp>(isZero, tensorType(x).getElementType()), over);
  Value nonzero = b.create<SelectOp>(isZero, one, x);
  Value product = b.mul(g, b.create<ReduceOp>(ReductionKind::Prod, nonzero, over));
  Value atZero = b.create<SelectOp>(b.create<CompareOp>(Predicate::Eq, zeros, one), product, zero);
  Value elsewhere = b.create<SelectOp>(b.create<CompareOp>(Predicate::Eq, zeros, zero), b.div(product, nonzero), zero);
  return b.create<SelectOp>(isZero, atZero, elsewhere);
}

LogicalResult ReduceOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  SmallVector<StringAttr> over = names(getOver());
  switch (getKind()) {
  case ReductionKind::Sum:
    grads[0] = b.broadcastTo(cotangents[0], getInput().getType());
    break;
  case ReductionKind::Max:
  case ReductionKind::Min:
    grads[0] = evenShare(b, getInput(), getResult(), cotangents[0], over);
    break;
  case ReductionKind::Prod:
    grads[0] = productOfOthers(b, getInput(), cotangents[0], over);
    break;
  }
  return success();
}

/// g softmax(x), written with the log-sum-exp: elementwise, so that the classifier's loss and gradient are one pass.
LogicalResult LogSumExpOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = b.mul(b.create<ExpOp>(b.sub(getInput(), getResult())), cotangents[0]);
  return success();
}

/// y (g - sum(g y)).
LogicalResult SoftmaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  Value y = getResult(), g = cotangents[0];
  Value mean = b.create<ReduceOp>(ReductionKind::Sum, b.mul(g, y), names(getOver()));
  grads[0] = b.mul(y, b.sub(g, mean));
  return success();
}

LogicalResult CumSumOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = b.create<CumSumOp>(cotangents[0], getOverAttr(), getExclusive(), !getReverse());
  return success();
}

/// The most elements that a sorted gradient finds by comparing rather than by scattering.
static constexpr int64_t kFewPicks = 8;

LogicalResult TopKOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  NamedTensorType input = getInput().getType();
  Value g = cotangents[0], indices = getIndices();
  if (tensorType(indices).dimSize(getIntoAttr()) > kFewPicks) {
    grads[0] = b.create<ScatterAddOp>(input, g, indices, getOverAttr());
    return success();
  }
  // Every place compares itself with the few that were picked: one fused kernel, and at most one of them adds to it.
  Value position = b.create<IndexOp>(NamedTensorType::get({input.findDim(getOverAttr())}, builder.getI32Type()), getOverAttr(), Value());
  Value isPicked = b.create<CompareOp>(Predicate::Eq, indices, position);
  grads[0] = b.create<ReduceOp>(ReductionKind::Sum, b.create<SelectOp>(isPicked, g, b.constant(0, g)), ArrayRef(getIntoAttr()));
  return success();
}
