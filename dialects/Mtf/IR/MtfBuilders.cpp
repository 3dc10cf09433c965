//===- MtfBuilders.cpp - builders that infer result types ------------------===//
//
// The inferred type keeps the sharding of the operands' dimensions and has no partial axes and undefined padding; passes
// that know better give the type themselves.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"

using namespace mlir;
using namespace meshc::mtf;

static SmallVector<DimAttr> unite(ArrayRef<NamedTensorType> types) {
  SmallVector<DimAttr> dims;
  llvm::SmallDenseSet<StringAttr> seen;
  for (NamedTensorType type : types)
    for (DimAttr dim : type.getDims())
      if (seen.insert(dim.getName()).second)
        dims.push_back(dim);
  return dims;
}

static SmallVector<DimAttr> drop(ArrayRef<DimAttr> dims, ArrayRef<StringAttr> names) {
  SmallVector<DimAttr> kept;
  llvm::copy_if(dims, std::back_inserter(kept), [&](DimAttr dim) { return !llvm::is_contained(names, dim.getName()); });
  return kept;
}

static ArrayAttr nameArray(OpBuilder &builder, ArrayRef<StringAttr> names) {
  return builder.getArrayAttr(SmallVector<Attribute>(names.begin(), names.end()));
}

NamedTensorType meshc::mtf::elementwiseType(ArrayRef<Value> operands) {
  SmallVector<NamedTensorType> types;
  for (Value operand : operands)
    types.push_back(tensorType(operand));
  return NamedTensorType::get(unite(types), types.front().getElementType());
}

void ConstantOp::build(OpBuilder &builder, OperationState &state, double value, Type elementType) {
  TypedAttr attr = isa<FloatType>(elementType) ? TypedAttr(builder.getFloatAttr(elementType, value))
                                               : TypedAttr(builder.getIntegerAttr(elementType, static_cast<int64_t>(value)));
  build(builder, state, NamedTensorType::get({}, elementType), attr);
}

double ConstantOp::asDouble() {
  if (auto value = dyn_cast<FloatAttr>(getValue()))
    return value.getValueAsDouble();
  auto value = cast<IntegerAttr>(getValue());
  return value.getType().isInteger(1) ? static_cast<double>(value.getValue().getZExtValue())
                                      : static_cast<double>(value.getValue().getSExtValue());
}

void DotOp::build(OpBuilder &builder, OperationState &state, Value lhs, Value rhs, ArrayRef<StringAttr> over) {
  NamedTensorType type = tensorType(lhs);
  build(builder, state, NamedTensorType::get(drop(unite({type, tensorType(rhs)}), over), type.getElementType()), lhs, rhs,
        nameArray(builder, over));
}

static NamedTensorType reducedType(Value input, ArrayRef<StringAttr> over) {
  return NamedTensorType::get(drop(tensorType(input).getDims(), over), tensorType(input).getElementType());
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, ReductionKind kind, Value input, ArrayRef<StringAttr> over) {
  build(builder, state, reducedType(input, over), kind, input, nameArray(builder, over));
}

void LogSumExpOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<StringAttr> over) {
  build(builder, state, reducedType(input, over), input, nameArray(builder, over));
}

void SoftmaxOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<StringAttr> over) {
  build(builder, state, reducedType(input, {}), input, nameArray(builder, over));
}

void ArgMaxOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr over) {
  build(builder, state, reducedType(input, {over}).withElementType(builder.getI32Type()), input, over);
}

void TopKOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr over, StringAttr into, int64_t k) {
  NamedTensorType type = reducedType(input, {over}).with(DimAttr::get(into, k));
  build(builder, state, type, type.withElementType(builder.getI32Type()), input, over, into);
}

void CumSumOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr over, bool exclusive, bool reverse) {
  build(builder, state, reducedType(input, {}), input, over, exclusive, reverse);
}

void RenameOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<StringAttr> from, ArrayRef<StringAttr> to) {
  NamedTensorType type = tensorType(input);
  SmallVector<DimAttr> dims;
  for (DimAttr dim : type.getDims()) {
    auto it = llvm::find(from, dim.getName());
    dims.push_back(it == from.end() ? dim : dim.withName(to[it - from.begin()]));
  }
  build(builder, state, type.withDims(dims), input, nameArray(builder, from), nameArray(builder, to));
}

void SplitOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr dim, ArrayRef<DimAttr> into) {
  NamedTensorType type = tensorType(input);
  SmallVector<StringAttr> names;
  SmallVector<DimAttr> dims = drop(type.getDims(), {dim});
  for (DimAttr part : into) {
    names.push_back(part.getName());
    dims.push_back(part);
  }
  build(builder, state, type.withDims(dims), input, dim, nameArray(builder, names));
}

void MergeOp::build(OpBuilder &builder, OperationState &state, Value input, ArrayRef<StringAttr> dims, StringAttr into) {
  NamedTensorType type = tensorType(input);
  int64_t size = 1;
  for (StringAttr dim : dims)
    size *= type.dimSize(dim);
  build(builder, state, type.without(dims).with(DimAttr::get(into, size)), input, nameArray(builder, dims), into);
}

static NamedTensorType resized(Value input, StringAttr dim, int64_t size) { return tensorType(input).with(DimAttr::get(dim, size)); }

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr dim, int64_t start, int64_t limit, int64_t stride) {
  build(builder, state, resized(input, dim, (limit - start + stride - 1) / stride), input, dim, start, limit, stride);
}

void PadOp::build(OpBuilder &builder, OperationState &state, Value input, Value value, StringAttr dim, int64_t low, int64_t high,
                  int64_t interior) {
  int64_t size = tensorType(input).dimSize(dim);
  build(builder, state, resized(input, dim, low + size + (size - 1) * interior + high), input, value, dim, low, high, interior);
}

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, StringAttr dim) {
  int64_t size = 0;
  for (Value input : inputs)
    size += tensorType(input).dimSize(dim);
  build(builder, state, resized(inputs.front(), dim, size), inputs, dim);
}

void StackOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, StringAttr dim) {
  build(builder, state, resized(inputs.front(), dim, inputs.size()), inputs, dim);
}

void ShiftOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr dim, int64_t amount) {
  build(builder, state, input.getType(), input, dim, amount);
}

void WindowOp::build(OpBuilder &builder, OperationState &state, Value input, StringAttr dim, DimAttr window, int64_t count,
                     int64_t stride, int64_t dilation, int64_t low) {
  build(builder, state, resized(input, dim, count).with(window), input, dim, window.getName(), stride, dilation, low);
}

void GatherOp::build(OpBuilder &builder, OperationState &state, Value table, Value indices, StringAttr over) {
  NamedTensorType type = tensorType(table);
  SmallVector<DimAttr> dims = unite({type.without({over}), tensorType(indices)});
  build(builder, state, NamedTensorType::get(dims, type.getElementType()), table, indices, over);
}

void AttendOp::build(OpBuilder &builder, OperationState &state, Value q, Value k, Value v, Value mask, ArrayRef<StringAttr> head,
                     StringAttr mem, double scale) {
  NamedTensorType qType = tensorType(q);
  // The output has the query's dims without `head` and what v adds: its own head dims.
  SmallVector<DimAttr> rows = unite({qType.without(head), tensorType(k).without(head).without({mem})});
  SmallVector<DimAttr> output = unite({NamedTensorType::get(rows, qType.getElementType()), tensorType(v).without({mem})});
  build(builder, state, NamedTensorType::get(output, qType.getElementType()), NamedTensorType::get(rows, builder.getF32Type()), q, k, v, mask,
        nameArray(builder, head), mem, builder.getF64FloatAttr(scale));
}

void RepeatOp::build(OpBuilder &builder, OperationState &state, StringAttr dim, int64_t count, ValueRange inits, ValueRange scanned,
                     ArrayRef<Type> stackedTypes, bool reverse) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.dim = dim;
  properties.count = builder.getI64IntegerAttr(count);
  if (reverse)
    properties.reverse = builder.getUnitAttr();
  properties.operandSegmentSizes = {static_cast<int32_t>(inits.size()), static_cast<int32_t>(scanned.size())};
  state.addOperands(inits);
  state.addOperands(scanned);
  state.addTypes(inits.getTypes());
  state.addTypes(stackedTypes);
  Block &body = state.addRegion()->emplaceBlock();
  body.addArgument(NamedTensorType::get({}, builder.getI32Type()), state.location);
  for (Value init : inits)
    body.addArgument(init.getType(), init.getLoc());
  for (Value input : scanned)
    body.addArgument(tensorType(input).without({dim}), input.getLoc());
}
