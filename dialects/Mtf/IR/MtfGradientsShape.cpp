//===- MtfGradientsShape.cpp - derivatives of ops that move elements -------===//
//
// These ops are linear and move each element to at most one place (window: to several); the derivative is the transpose: moving
// back, zero for what has no origin.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/MtfGradients.h"

using namespace mlir;
using namespace meshc::mtf;

static SmallVector<StringAttr> names(ArrayAttr array) { return llvm::to_vector(array.getAsRange<StringAttr>()); }

LogicalResult RenameOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = b.create<RenameOp>(cotangents[0], names(getTo()), names(getFrom()));
  return success();
}

LogicalResult SplitOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = b.create<MergeOp>(cotangents[0], names(getInto()), getDimAttr());
  return success();
}

LogicalResult MergeOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  SmallVector<DimAttr> parts;
  for (StringAttr name : names(getDims()))
    parts.push_back(getInput().getType().findDim(name));
  grads[0] = b.create<SplitOp>(cotangents[0], getIntoAttr(), parts);
  return success();
}

/// Puts back what `slice [start : : stride]` took out of a dim of `size`.
static Value unslice(GradientBuilder &b, Value g, StringAttr dim, int64_t size, int64_t start, int64_t stride) {
  int64_t end = start + (tensorType(g).dimSize(dim) - 1) * stride + 1;
  return b.create<PadOp>(g, b.constant(0, g), dim, start, size - end, stride - 1);
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = unslice(b, cotangents[0], getDimAttr(), getInput().getType().dimSize(getDimAttr()), getStart(), getStride());
  return success();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  Value g = cotangents[0];
  int64_t size = getInput().getType().dimSize(getDimAttr()), stride = static_cast<int64_t>(getInterior()) + 1;
  int64_t low = getLow(), high = getHigh();
  // Negative padding crops; the cropped elements have no cotangent.
  Value whole = g;
  if (low < 0 || high < 0)
    whole = b.create<PadOp>(g, b.constant(0, g), getDimAttr(), std::max<int64_t>(-low, 0), std::max<int64_t>(-high, 0), 0);
  int64_t start = std::max<int64_t>(low, 0);
  Value inner = b.create<SliceOp>(whole, getDimAttr(), start, start + (size - 1) * stride + 1, stride);
  grads[0] = inner;
  // What is not the input's is the padding value's.
  if (needed[1]) {
    NamedTensorType scalar = getValue().getType();
    grads[1] = b.sub(b.fitTo(g, scalar), b.fitTo(inner, scalar));
  }
  return success();
}

LogicalResult ConcatOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  int64_t start = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t limit = start + tensorType(input).dimSize(getDimAttr());
    if (needed[i])
      grads[i] = b.create<SliceOp>(cotangents[0], getDimAttr(), start, limit);
    start = limit;
  }
  return success();
}

LogicalResult StackOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool> needed, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  for (auto [i, input] : llvm::enumerate(getInputs()))
    if (needed[i])
      grads[i] = b.fitTo(b.create<SliceOp>(cotangents[0], getDimAttr(), i, i + 1), tensorType(input));
  return success();
}

LogicalResult ShiftOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  grads[0] = b.create<ShiftOp>(cotangents[0], getDimAttr(), -static_cast<int64_t>(getAmount()));
  return success();
}

LogicalResult WindowOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  grads[0] = FoldOp::create(builder, getLoc(), getInput().getType(), cotangents[0], getDimAttr(), getWindowAttr(), getStrideAttr(),
                            getDilationAttr(), getLowAttr());
  return success();
}

LogicalResult FoldOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  grads[0] = WindowOp::create(builder, getLoc(), getInput().getType(), cotangents[0], getDimAttr(), getWindowAttr(), getStrideAttr(),
                              getDilationAttr(), getLowAttr());
  return success();
}
