//===- MtfOps.cpp - verifiers and folders of the mtf ops -------------------===//
#include "Mtf/IR/Mtf.h"

using namespace mlir;
using namespace meshc::mtf;

#define GET_OP_CLASSES
#include "Mtf/IR/MtfOps.cpp.inc"

void MtfDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "Mtf/IR/MtfOps.cpp.inc"
      >();
}

/// Compares the global part of a result's type with what the operands imply.
static LogicalResult expectDims(Operation *op, Value result, NamedTensorType expected) {
  NamedTensorType actual = tensorType(result);
  if (actual.global().getDims() != expected.global().getDims())
    return op->emitOpError() << "result should be over " << expected.global() << ", got: " << actual.global();
  return success();
}

static LogicalResult expectSameElement(Operation *op, Value a, Value b) {
  if (tensorType(a).getElementType() != tensorType(b).getElementType())
    return op->emitOpError() << "element types differ: " << tensorType(a).getElementType() << " and " << tensorType(b).getElementType();
  return success();
}

/// Every name in `names` must be a dimension of `value`, once.
static LogicalResult expectHas(Operation *op, Value value, ArrayAttr names) {
  llvm::SmallDenseSet<StringAttr> seen;
  for (auto name : names.getAsRange<StringAttr>()) {
    if (!tensorType(value).hasDim(name))
      return op->emitOpError() << "dimension '" << name.getValue() << "' is not in " << value.getType();
    if (!seen.insert(name).second)
      return op->emitOpError() << "names dimension '" << name.getValue() << "' twice";
  }
  return success();
}

static LogicalResult expectHas(Operation *op, Value value, StringAttr name) {
  return expectHas(op, value, ArrayAttr::get(op->getContext(), {name}));
}

/// The result type that the inferring builder would choose.
template <typename OpTy, typename... Args>
static NamedTensorType inferred(OpTy op, unsigned result, Args &&...args) {
  OpBuilder builder(op.getContext());
  OperationState state(op.getLoc(), OpTy::getOperationName());
  OpTy::build(builder, state, std::forward<Args>(args)...);
  return cast<NamedTensorType>(state.types[result]);
}

static SmallVector<StringAttr> names(ArrayAttr array) { return llvm::to_vector(array.getAsRange<StringAttr>()); }

/// - the dims of every operand are dims of the result
/// - element types agree, except where the op says otherwise
LogicalResult meshc::mtf::verifyElementwise(Operation *op) {
  auto result = tensorType(op->getResult(0));
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto type = tensorType(operand);
    for (DimAttr dim : type.getDims())
      if (!result.hasDim(dim.getName()))
        return op->emitOpError() << "operand " << i << " has dimension '" << dim.getName().getValue() << "', which the result lacks";
    if (isa<CastOp, CompareOp>(op) || (isa<SelectOp>(op) && i == 0))
      continue;
    if (type.getElementType() != result.getElementType())
      return op->emitOpError() << "operand " << i << " has element type " << type.getElementType() << ", the result "
                               << result.getElementType();
  }
  if (isa<CompareOp>(op))
    return expectSameElement(op, op->getOperand(0), op->getOperand(1));
  return success();
}

LogicalResult ConstantOp::verify() {
  if (!getResult().getType().isScalar())
    return emitOpError() << "must be a scalar, got: " << getResult().getType();
  if (getValue().getType() != getResult().getType().getElementType())
    return emitOpError() << "value is of type " << getValue().getType() << ", the result of " << getResult().getType().getElementType();
  return success();
}

LogicalResult IndexOp::verify() {
  NamedTensorType type = getResult().getType();
  if (type.getDims().size() != 1 || !type.hasDim(getDimAttr()))
    return emitOpError() << "result should have the one dimension '" << getDim() << "', got: " << type;
  if (getOffset() && !getOffset().getType().isScalar())
    return emitOpError() << "offset must be a scalar, got: " << getOffset().getType();
  return success();
}

LogicalResult RandomOp::verify() {
  if (failed(expectHas(*this, getResult(), getOrder())))
    return failure();
  if (getOrder().size() != getResult().getType().getDims().size())
    return emitOpError() << "order names " << getOrder().size() << " of " << getResult().getType().getDims().size() << " dimensions";
  if (getExtents().size() != getOrder().size())
    return emitOpError() << "has " << getExtents().size() << " extents for " << getOrder().size() << " dimensions";
  if (getOffsetDims().size() != getOffsets().size())
    return emitOpError() << "has " << getOffsets().size() << " offsets for " << getOffsetDims().size() << " names";
  return expectHas(*this, getResult(), getOffsetDims());
}

LogicalResult DotOp::verify() {
  if (failed(expectHas(*this, getLhs(), getOver())) || failed(expectHas(*this, getRhs(), getOver())) ||
      failed(expectSameElement(*this, getLhs(), getRhs())))
    return failure();
  Type element = getResult().getType().getElementType();
  if (element != getLhs().getType().getElementType() && !element.isF32())
    return emitOpError() << "result must be of the operands' element type or f32, got: " << element;
  return expectDims(*this, getResult(), inferred(*this, 0, getLhs(), getRhs(), names(getOver())));
}

LogicalResult ReduceOp::verify() {
  if (failed(expectHas(*this, getInput(), getOver())) || failed(expectSameElement(*this, getInput(), getResult())))
    return failure();
  return expectDims(*this, getResult(), inferred(*this, 0, getKind(), getInput(), names(getOver())));
}

LogicalResult LogSumExpOp::verify() {
  if (failed(expectHas(*this, getInput(), getOver())))
    return failure();
  return expectDims(*this, getResult(), inferred(*this, 0, getInput(), names(getOver())));
}

LogicalResult SoftmaxOp::verify() {
  if (failed(expectHas(*this, getInput(), getOver())))
    return failure();
  return expectDims(*this, getResult(), getInput().getType());
}

LogicalResult ArgMaxOp::verify() {
  if (failed(expectHas(*this, getInput(), getOverAttr())))
    return failure();
  return expectDims(*this, getResult(), inferred(*this, 0, getInput(), getOverAttr()));
}

LogicalResult TopKOp::verify() {
  if (failed(expectHas(*this, getInput(), getOverAttr())) || failed(expectHas(*this, getValues(), getIntoAttr())))
    return failure();
  int64_t k = getValues().getType().dimSize(getIntoAttr()), size = getInput().getType().dimSize(getOverAttr());
  if (k > size)
    return emitOpError() << "cannot take " << k << " of " << size << " elements";
  NamedTensorType expected = inferred(*this, 0, getInput(), getOverAttr(), getIntoAttr(), k);
  return success(succeeded(expectDims(*this, getValues(), expected)) && succeeded(expectDims(*this, getIndices(), expected)));
}

LogicalResult CumSumOp::verify() {
  if (failed(expectHas(*this, getInput(), getOverAttr())))
    return failure();
  return expectDims(*this, getResult(), getInput().getType());
}

LogicalResult RenameOp::verify() {
  if (getFrom().size() != getTo().size())
    return emitOpError() << "renames " << getFrom().size() << " dimensions to " << getTo().size() << " names";
  if (failed(expectHas(*this, getInput(), getFrom())) || failed(expectHas(*this, getResult(), getTo())))
    return failure();
  if (getInput().getType().getDims().size() != getResult().getType().getDims().size())
    return emitOpError() << "cannot turn " << getInput().getType() << " into " << getResult().getType();
  return expectSameElement(*this, getInput(), getResult());
}

static LogicalResult verifySplit(Operation *op, Value coarse, StringAttr dim, Value fine, ArrayAttr parts) {
  if (parts.empty())
    return op->emitOpError() << "needs at least one part";
  if (failed(expectHas(op, coarse, dim)) || failed(expectHas(op, fine, parts)))
    return failure();
  int64_t product = 1;
  for (auto part : parts.getAsRange<StringAttr>())
    product *= tensorType(fine).dimSize(part);
  if (product != tensorType(coarse).dimSize(dim))
    return op->emitOpError() << "the parts have " << product << " elements together, dimension '" << dim.getValue() << "' has "
                             << tensorType(coarse).dimSize(dim);
  if (tensorType(coarse).without({dim}).global().getDims() != tensorType(fine).without(names(parts)).global().getDims())
    return op->emitOpError() << "the other dimensions differ: " << coarse.getType() << " and " << fine.getType();
  return success();
}

LogicalResult SplitOp::verify() { return verifySplit(*this, getInput(), getDimAttr(), getResult(), getInto()); }
LogicalResult MergeOp::verify() { return verifySplit(*this, getResult(), getIntoAttr(), getInput(), getDims()); }

LogicalResult SliceOp::verify() {
  if (failed(expectHas(*this, getInput(), getDimAttr())))
    return failure();
  int64_t size = getInput().getType().dimSize(getDimAttr()), start = getStart(), limit = getLimit(), stride = getStride();
  if (start < 0 || start >= limit || limit > size || stride < 1)
    return emitOpError() << "[" << start << ":" << limit << ":" << stride << "] is no slice of a dimension of size " << size;
  return expectDims(*this, getResult(), inferred(*this, 0, getInput(), getDimAttr(), start, limit, stride));
}

LogicalResult PadOp::verify() {
  if (failed(expectHas(*this, getInput(), getDimAttr())) || failed(expectSameElement(*this, getInput(), getValue())))
    return failure();
  if (!getValue().getType().isScalar())
    return emitOpError() << "the padding value must be a scalar, got: " << getValue().getType();
  if (static_cast<int64_t>(getInterior()) < 0)
    return emitOpError() << "interior padding must not be negative, got: " << static_cast<int64_t>(getInterior());
  return expectDims(*this, getResult(), inferred(*this, 0, getInput(), getValue(), getDimAttr(), getLow(), getHigh(), getInterior()));
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one input";
  for (Value input : getInputs())
    if (failed(expectHas(*this, input, getDimAttr())) || failed(expectSameElement(*this, input, getResult())) ||
        tensorType(input).without({getDimAttr()}).global() != tensorType(getInputs().front()).without({getDimAttr()}).global())
      return emitOpError() << "inputs must agree but for dimension '" << getDim() << "', got: " << input.getType();
  return expectDims(*this, getResult(), inferred(*this, 0, ValueRange(getInputs()), getDimAttr()));
}

LogicalResult StackOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one input";
  for (Value input : getInputs())
    if (tensorType(input).global() != tensorType(getInputs().front()).global())
      return emitOpError() << "inputs must have one type, got: " << input.getType();
  return expectDims(*this, getResult(), inferred(*this, 0, ValueRange(getInputs()), getDimAttr()));
}

LogicalResult ShiftOp::verify() {
  if (failed(expectHas(*this, getInput(), getDimAttr())))
    return failure();
  return expectDims(*this, getResult(), getInput().getType());
}

static LogicalResult verifyWindow(Operation *op, Value whole, Value windows, StringAttr dim, StringAttr window, int64_t stride,
                                  int64_t dilation) {
  if (failed(expectHas(op, whole, dim)) || failed(expectHas(op, windows, dim)) || failed(expectHas(op, windows, window)))
    return failure();
  if (stride < 1 || dilation < 1)
    return op->emitOpError() << "stride and dilation must be at least 1, got: " << stride << " and " << dilation;
  if (tensorType(whole).without({dim}).global() != tensorType(windows).without({dim, window}).global())
    return op->emitOpError() << "the other dimensions differ: " << whole.getType() << " and " << windows.getType();
  return success();
}

LogicalResult WindowOp::verify() {
  return verifyWindow(*this, getInput(), getResult(), getDimAttr(), getWindowAttr(), getStride(), getDilation());
}
LogicalResult FoldOp::verify() {
  return verifyWindow(*this, getResult(), getInput(), getDimAttr(), getWindowAttr(), getStride(), getDilation());
}

LogicalResult GatherOp::verify() {
  if (failed(expectHas(*this, getTable(), getOverAttr())) || failed(expectSameElement(*this, getTable(), getResult())))
    return failure();
  return expectDims(*this, getResult(), inferred(*this, 0, getTable(), getIndices(), getOverAttr()));
}

LogicalResult ScatterAddOp::verify() {
  if (failed(expectHas(*this, getResult(), getIntoAttr())) || failed(expectSameElement(*this, getUpdates(), getResult())))
    return failure();
  for (DimAttr dim : getIndices().getType().getDims())
    if (!getUpdates().getType().hasDim(dim.getName()))
      return emitOpError() << "indices have dimension '" << dim.getName().getValue() << "', which the updates lack";
  for (DimAttr dim : getResult().getType().getDims())
    if (dim.getName() != getIntoAttr() && !getUpdates().getType().hasDim(dim.getName()))
      return emitOpError() << "result has dimension '" << dim.getName().getValue() << "', which the updates lack";
  return success();
}

static LogicalResult verifyAttend(Operation *op, Value q, Value k, Value v, ArrayAttr head, StringAttr mem) {
  if (failed(expectHas(op, q, head)) || failed(expectHas(op, k, head)) || failed(expectHas(op, k, mem)) || failed(expectHas(op, v, mem)))
    return failure();
  if (tensorType(q).hasDim(mem))
    return op->emitOpError() << "the query must not have dimension '" << mem.getValue() << "': rename one of the two";
  return success();
}

LogicalResult AttendOp::verify() {
  if (failed(verifyAttend(*this, getQ(), getK(), getV(), getHead(), getMemAttr())))
    return failure();
  double scale = getScale().convertToDouble();
  auto expected = [&](unsigned i) {
    return inferred(*this, i, getQ(), getK(), getV(), getMask(), names(getHead()), getMemAttr(), scale);
  };
  return success(succeeded(expectDims(*this, getOutput(), expected(0))) && succeeded(expectDims(*this, getLse(), expected(1))));
}

LogicalResult AttendGradOp::verify() {
  if (failed(verifyAttend(*this, getQ(), getK(), getV(), getHead(), getMemAttr())))
    return failure();
  return success(succeeded(expectDims(*this, getQGrad(), getQ().getType())) &&
                 succeeded(expectDims(*this, getKGrad(), getK().getType())) &&
                 succeeded(expectDims(*this, getVGrad(), getV().getType())));
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

NextOp RepeatOp::next() { return cast<NextOp>(bodyBlock()->getTerminator()); }

void RepeatOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (!region.empty() && region.front().getNumArguments() > 0)
    setName(region.front().getArgument(0), "i");
}

/// A value may stand for a carry that claims less about its padding.
static bool fitsCarry(Type value, Type carry) {
  auto from = cast<NamedTensorType>(value), to = cast<NamedTensorType>(carry);
  return from == to || from.withPadding(Padding::Undefined) == to;
}

/// One iteration's part of a value with the loop's dim. Without padding there is nothing to claim.
static NamedTensorType sliceType(NamedTensorType type, StringAttr dim) {
  NamedTensorType slice = type.without({dim});
  bool isPadded = llvm::any_of(slice.getDims(), [](DimAttr dim) { return dim.isPadded(); });
  return isPadded ? slice : slice.withPadding(Padding::Undefined);
}

/// - sliced inputs have the loop's dim with the loop's size, not split
/// - the body takes an i32 scalar, the carries and the slices
LogicalResult RepeatOp::verify() {
  if (static_cast<int64_t>(getCount()) < 1)
    return emitOpError() << "count must be at least 1, got: " << static_cast<int64_t>(getCount());
  auto checkStacked = [&](Value value) -> LogicalResult {
    DimAttr dim = tensorType(value).findDim(getDimAttr());
    if (!dim || dim.getSize() != static_cast<int64_t>(getCount()) || dim.isSplit())
      return emitOpError() << "needs dimension '" << getDim() << "' with size " << getCount() << " in one piece, got: " << value.getType();
    return success();
  };
  for (Value input : getScanned())
    if (failed(checkStacked(input)))
      return failure();
  if (getNumResults() < numCarries())
    return emitOpError() << "has " << getNumResults() << " results for " << numCarries() << " carries";
  for (Value result : stackedResults())
    if (failed(checkStacked(result)))
      return failure();
  SmallVector<Type> expected = {NamedTensorType::get({}, IntegerType::get(getContext(), 32))};
  for (Value result : carryResults())
    expected.push_back(result.getType());
  for (Value input : getScanned())
    expected.push_back(sliceType(tensorType(input), getDimAttr()));
  if (bodyBlock()->getNumArguments() != expected.size())
    return emitOpError() << "body should have " << expected.size() << " arguments, got: " << bodyBlock()->getNumArguments();
  for (auto [i, argument] : llvm::enumerate(bodyBlock()->getArguments()))
    if (argument.getType() != expected[i])
      return emitOpError() << "argument " << i << " of the body should be " << expected[i] << ", got: " << argument.getType();
  for (auto [init, result] : llvm::zip(getInits(), carryResults()))
    if (!fitsCarry(init.getType(), result.getType()))
      return emitOpError() << "carry starts as " << init.getType() << " and ends as " << result.getType();
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  NextOp next = this->next();
  if (next.getCarries().size() != numCarries() || next.getStacked().size() != numStacked())
    return next.emitOpError() << "should give " << numCarries() << " carries and " << numStacked() << " stacked values, got: "
                              << next.getCarries().size() << " and " << next.getStacked().size();
  for (auto [carry, result] : llvm::zip(next.getCarries(), carryResults()))
    if (!fitsCarry(carry.getType(), result.getType()))
      return next.emitOpError() << "carry should be " << result.getType() << ", got: " << carry.getType();
  for (auto [value, result] : llvm::zip(next.getStacked(), stackedResults())) {
    NamedTensorType type = tensorType(result);
    if (!fitsCarry(value.getType(), sliceType(type, getDimAttr())))
      return next.emitOpError() << "stacked value " << value.getType() << " does not fit the result " << type;
    // No iteration writes what lies past the loop's size.
    if (type.findDim(getDimAttr()).isPadded() && type.getPadding() != Padding::Undefined)
      return next.emitOpError() << "cannot fill the padding of the loop's dimension '" << getDim() << "': " << type;
  }
  return success();
}

LogicalResult TapOp::verify() { return success(); }

LogicalResult ParamOp::verify() {
  auto type = cast<NamedTensorType>(getType());
  if (getOrder().size() != type.getDims().size())
    return emitOpError() << "order names " << getOrder().size() << " of " << type.getDims().size() << " dimensions";
  for (auto name : getOrder().getAsRange<StringAttr>())
    if (!type.hasDim(name))
      return emitOpError() << "order names '" << name.getValue() << "', which is not in " << type;
  return success();
}

LogicalResult ReshardOp::verify() {
  if (getInput().getType().global() != getResult().getType().global())
    return emitOpError() << "changes more than the sharding: " << getInput().getType() << " to " << getResult().getType();
  return success();
}

LogicalResult FillPaddingOp::verify() {
  if (getInput().getType().withPadding(Padding::Undefined) != getResult().getType().withPadding(Padding::Undefined))
    return emitOpError() << "changes more than the padding: " << getInput().getType() << " to " << getResult().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

OpFoldResult CastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }
OpFoldResult RenameOp::fold(FoldAdaptor) { return getFrom() == getTo() ? getInput() : Value(); }
OpFoldResult ReshardOp::fold(FoldAdaptor) { return getInput().getType() == getType() ? getInput() : Value(); }
