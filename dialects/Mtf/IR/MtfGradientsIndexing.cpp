//===- MtfGradientsIndexing.cpp - derivatives of gather, scatter, attention ===//
#include "Mtf/IR/MtfGradients.h"

using namespace mlir;
using namespace meshc::mtf;

/// Transpose of gather: scatter-add, in general. Where every dim of the indices is batched (`logits[vocab = targets]`: one element
/// per row), each element of the table is read by at most one place, so the gradient is a comparison per element. Elementwise,
/// it fuses with the rest of the classifier's gradient and needs no atomic additions.
LogicalResult GatherOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  NamedTensorType table = getTable().getType();
  Value g = cotangents[0], indices = getIndices();
  StringAttr over = getOverAttr();
  if (tensorType(indices).hasDim(over)) {
    // A permutation within the dim: the position read and the position written need two names.
    StringAttr position = builder.getStringAttr(over.getValue() + "'");
    g = b.create<RenameOp>(g, ArrayRef(over), ArrayRef(position));
    indices = b.create<RenameOp>(indices, ArrayRef(over), ArrayRef(position));
  }
  if (!missingDims(tensorType(indices), table).empty()) {
    grads[0] = b.create<ScatterAddOp>(table, g, indices, over);
    return success();
  }
  auto indexType = NamedTensorType::get({table.findDim(over)}, builder.getI32Type());
  Value position = b.create<IndexOp>(indexType, over, Value());
  Value picked = b.create<CompareOp>(Predicate::Eq, position, indices);
  grads[0] = b.create<SelectOp>(picked, g, b.constant(0, g));
  return success();
}

LogicalResult ScatterAddOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  GradientBuilder b{builder, getLoc()};
  Value read = b.create<GatherOp>(cotangents[0], getIndices(), getIntoAttr());
  grads[0] = b.broadcastTo(read, getUpdates().getType());
  return success();
}

LogicalResult AttendOp::buildGradient(OpBuilder &builder, ArrayRef<Value> cotangents, ArrayRef<bool>, Grads &grads) {
  if (cotangents[1])
    return emitOpError() << "has no derivative of its log-sum-exp: use only its output in the loss";
  auto grad = AttendGradOp::create(builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(), getQ(), getK(), getV(),
                                   getMask(), getOutput(), getLse(), cotangents[0], getHeadAttr(), getMemAttr(), getScaleAttr());
  for (unsigned i = 0; i < 3; ++i)
    grads[i] = grad.getResult(i);
  return success();
}
