//===- RtOps.cpp - syntax and verifiers of the rt ops ----------------------===//
#include "Rt/IR/Rt.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::rt;

//===----------------------------------------------------------------------===//
// Lists of dims
//===----------------------------------------------------------------------===//

static ParseResult parseDims(OpAsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> parsed;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        DimAttr dim = DimAttr::parseBare(parser);
        parsed.push_back(dim);
        return success(static_cast<bool>(dim));
      }))
    return failure();
  dims = ArrayAttr::get(parser.getContext(), parsed);
  return success();
}

static void printDims(OpAsmPrinter &printer, Operation *, ArrayAttr dims) {
  printer << '[';
  llvm::interleaveComma(dims.getAsRange<DimAttr>(), printer, [&](DimAttr dim) { dim.printBare(printer); });
  printer << ']';
}

#define GET_OP_CLASSES
#include "Rt/IR/RtOps.cpp.inc"

void RtDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "Rt/IR/RtOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult GetGlobalOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto global = symbols.lookupNearestSymbolFrom<GlobalOp>(*this, getGlobalAttr());
  if (!global)
    return emitOpError() << "unknown global @" << getGlobal();
  if (global.getType() != getType())
    return emitOpError() << "global @" << getGlobal() << " is " << global.getType() << ", not " << getType();
  return success();
}

LogicalResult AllocOp::verify() {
  if (llvm::is_contained(getType().getStrides(), 0))
    return emitOpError() << "cannot allocate a broadcast: " << getType();
  if (IntegerAttr offset = getOffsetAttr(); offset && (offset.getInt() < 0 || offset.getInt() % 64))
    return emitOpError() << "offset must be a multiple of 64, got: " << offset.getInt();
  return success();
}

int64_t SliceOp::blockStride() {
  BufferType result = getType();
  int64_t block = result.hasDim(getDimAttr()) ? result.size(getDimAttr()) : 1;
  return block * getSource().getType().stride(getDimAttr());
}

int64_t SliceOp::numBlocks() {
  BufferType result = getType();
  int64_t block = result.hasDim(getDimAttr()) ? result.size(getDimAttr()) : 1;
  return getSource().getType().size(getDimAttr()) / block;
}

LogicalResult SliceOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (!source.hasDim(getDimAttr()))
    return emitOpError() << "dimension '" << getDim() << "' is not in " << source;
  bool kept = result.hasDim(getDimAttr());
  if (kept && source.size(getDimAttr()) % result.size(getDimAttr()))
    return emitOpError() << "a block of " << result.size(getDimAttr()) << " does not divide dimension '" << getDim() << "' of size "
                         << source.size(getDimAttr());
  size_t j = 0;
  for (auto [dim, stride] : llvm::zip(source.getDims(), source.getStrides())) {
    bool sliced = dim.getName() == getDimAttr();
    if (sliced && !kept)
      continue;
    if (j == result.getDims().size() || result.getDims()[j].getName() != dim.getName() || result.getStrides()[j] != stride ||
        (!sliced && result.getDims()[j] != dim))
      return emitOpError() << "result " << result << " is no block of " << source;
    ++j;
  }
  if (j != result.getDims().size() || source.getElementType() != result.getElementType())
    return emitOpError() << "result " << result << " is no block of " << source;
  return success();
}

LogicalResult ViewOp::verify() {
  BufferType source = getSource().getType(), result = getType();
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "element types differ: " << source.getElementType() << " and " << result.getElementType();
  int64_t start = getStart();
  if (start < 0 || start + result.extent() > source.extent())
    return emitOpError() << "elements " << start << " to " << start + result.extent() << " are not within the source's "
                         << source.extent();
  return success();
}

OpFoldResult ViewOp::fold(FoldAdaptor) { return getStart() == 0 && getSource().getType() == getType() ? getSource() : Value(); }

static LogicalResult expectSameShape(Operation *op, BufferType a, BufferType b) {
  bool same = a.getDims().size() == b.getDims().size();
  for (DimAttr dim : a.getDims())
    same = same && b.hasDim(dim.getName()) && b.size(dim.getName()) == dim.getSize();
  if (!same)
    return op->emitOpError() << "dims differ: " << a << " and " << b;
  return success();
}

LogicalResult CopyOp::verify() {
  if (getSource().getType().getElementType() != getTarget().getType().getElementType())
    return emitOpError() << "element types differ: " << getSource().getType() << " and " << getTarget().getType();
  return expectSameShape(*this, getSource().getType(), getTarget().getType());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void LoopOp::build(OpBuilder &builder, OperationState &state, StringAttr dim, int64_t count, bool reverse) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.dim = dim;
  properties.count = builder.getI64IntegerAttr(count);
  if (reverse)
    properties.reverse = builder.getUnitAttr();
  state.addRegion()->emplaceBlock().addArgument(builder.getI32Type(), state.location);
  state.addRegion();
}

LogicalResult LoopOp::verify() {
  if (static_cast<int64_t>(getCount()) < 1)
    return emitOpError() << "count must be at least 1, got: " << static_cast<int64_t>(getCount());
  if (getBody().front().getNumArguments() != 1 || !index().getType().isInteger(32))
    return emitOpError() << "body must take one i32 index";
  if (!runsAhead())
    return success();
  if (getAhead().front().getNumArguments() != 1 || !aheadIndex().getType().isInteger(32))
    return emitOpError() << "'ahead' must take one i32 index";
  for (Operation &op : getAhead().front())
    if (!isa<SliceOp, ViewOp, ShardIndexOp, KernelOp, CopyOp, AllGatherOp>(op))
      return (emitOpError() << "cannot run '" << op.getName() << "' ahead").attachNote(op.getLoc()) << "it is here";
  return success();
}

// rt.loop "layers" %i : 12 reverse { ... } ahead %j { ... }
ParseResult LoopOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  OpAsmParser::Argument index;
  int64_t count;
  if (parser.parseAttribute(properties.dim) || parser.parseArgument(index) || parser.parseColon() || parser.parseInteger(count))
    return failure();
  properties.count = parser.getBuilder().getI64IntegerAttr(count);
  if (succeeded(parser.parseOptionalKeyword("reverse")))
    properties.reverse = parser.getBuilder().getUnitAttr();
  index.type = parser.getBuilder().getI32Type();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) || parser.parseRegion(*state.addRegion(), index))
    return failure();
  Region *ahead = state.addRegion();
  if (failed(parser.parseOptionalKeyword("ahead")))
    return success();
  OpAsmParser::Argument aheadIndex;
  if (parser.parseArgument(aheadIndex))
    return failure();
  aheadIndex.type = index.type;
  return parser.parseRegion(*ahead, aheadIndex);
}

void LoopOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getDimAttr() << ' ' << index() << " : " << getCount();
  if (getReverse())
    printer << " reverse";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"dim", "count", "reverse"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
  if (!runsAhead())
    return;
  printer << " ahead " << aheadIndex() << ' ';
  printer.printRegion(getAhead(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/true);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

SmallVector<DimAttr> KernelOp::iterationDims() {
  SmallVector<DimAttr> dims = llvm::to_vector(getOuter().getAsRange<DimAttr>());
  llvm::append_range(dims, getRow().getAsRange<DimAttr>());
  return dims;
}

Operation *KernelOp::findLoadAfterStore(BlockArgument in, BlockArgument out) {
  Block *body = &getBody().front();
  auto isRow = [&](Attribute name) {
    return llvm::any_of(getRow().getAsRange<DimAttr>(), [&](DimAttr dim) { return dim.getName() == name; });
  };
  for (Operation *store : out.getUsers()) {
    if (!isa<StoreOp>(store))
      continue;
    Operation *storePlace = body->findAncestorOpInBlock(*store);
    for (Operation *load : in.getUsers()) {
      Operation *loadPlace = body->findAncestorOpInBlock(*load);
      ArrayAttr at = cast<LoadOp>(load).getAt();
      bool before = loadPlace == storePlace ? load->isBeforeInBlock(store) && at.empty() : loadPlace->isBeforeInBlock(storePlace);
      if (!before || !llvm::all_of(at, isRow))
        return load;
    }
  }
  return nullptr;
}

/// - block arguments are the operands' types
/// - no dim is both outer and row; `rt.row` stands where there are row dims
/// - what is written in place is not read afterwards
LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes())
    return emitOpError() << "body must take the types of the operands";
  llvm::SmallDenseSet<StringAttr> names;
  for (DimAttr dim : iterationDims())
    if (!names.insert(dim.getName()).second)
      return emitOpError() << "dimension '" << dim.getName().getValue() << "' is iterated twice";
  if (getRow().empty() && !body.getOps<RowOp>().empty())
    return emitOpError() << "has row loops but no row dimensions";
  for (auto [i, in] : llvm::enumerate(getIns()))
    if (auto out = llvm::find(getOuts(), in); out != getOuts().end())
      if (Operation *load = findLoadAfterStore(inArg(i), outArg(out - getOuts().begin())))
        return load->emitOpError() << "reads what the kernel has overwritten in place";
  return success();
}

YieldOp RowOp::yield() { return cast<YieldOp>(getBody().front().getTerminator()); }

LogicalResult RowOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError() << "must end in rt.yield";
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "results must have the types of what is yielded";
  return success();
}

LogicalResult YieldOp::verify() {
  if (getKinds().size() != getValues().size())
    return emitOpError() << "has " << getKinds().size() << " kinds for " << getValues().size() << " values";
  return success();
}

// rt.yield sum(%a), max(%b) : f32, f32
ParseResult YieldOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<Attribute> kinds;
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  auto parseValue = [&](StringRef keyword) -> ParseResult {
    auto kind = mtf::symbolizeReductionKind(keyword);
    if (!kind)
      return parser.emitError(parser.getCurrentLocation()) << "unknown reduction '" << keyword << "'";
    kinds.push_back(mtf::ReductionKindAttr::get(parser.getContext(), *kind));
    return failure(parser.parseLParen() || parser.parseOperand(values.emplace_back()) || parser.parseRParen());
  };
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    if (parseValue(keyword))
      return failure();
    while (succeeded(parser.parseOptionalComma()))
      if (parser.parseKeyword(&keyword) || parseValue(keyword))
        return failure();
    if (parser.parseColonTypeList(types))
      return failure();
  }
  state.getOrAddProperties<Properties>().kinds = ArrayAttr::get(parser.getContext(), kinds);
  return failure(parser.parseOptionalAttrDict(state.attributes) || parser.resolveOperands(values, types, loc, state.operands));
}

void YieldOp::print(OpAsmPrinter &printer) {
  if (!getValues().empty()) {
    printer << ' ';
    llvm::interleaveComma(llvm::zip(getKinds().getAsRange<mtf::ReductionKindAttr>(), getValues()), printer, [&](auto item) {
      printer << mtf::stringifyReductionKind(std::get<0>(item).getValue()) << '(' << std::get<1>(item) << ')';
    });
    printer << " : " << getValues().getTypes();
  }
  printer.printOptionalAttrDict((*this)->getAttrs(), {"kinds"});
}

void LoadOp::build(OpBuilder &builder, OperationState &state, Value buffer) { build(builder, state, buffer, {}, {}, false); }

void LoadOp::build(OpBuilder &builder, OperationState &state, Value buffer, ArrayRef<StringAttr> at, ValueRange indices, bool inBounds) {
  build(builder, state, bufferType(buffer).getElementType(), buffer,
        builder.getArrayAttr(SmallVector<Attribute>(at.begin(), at.end())), indices, inBounds);
}

// rt.load %wte at ["vocab"](%t) in_bounds : !rt.buffer<...>
ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &state) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.at = parser.getBuilder().getArrayAttr({});
  OpAsmParser::UnresolvedOperand buffer;
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  Type type;
  if (parser.parseOperand(buffer))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      (parser.parseAttribute(properties.at) || parser.parseOperandList(indices, AsmParser::Delimiter::Paren)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("in_bounds")))
    properties.in_bounds = parser.getBuilder().getUnitAttr();
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
    return failure();
  auto bufferTy = dyn_cast<BufferType>(type);
  if (!bufferTy)
    return parser.emitError(parser.getNameLoc()) << "expected a buffer type, got: " << type;
  state.addTypes(bufferTy.getElementType());
  return failure(parser.resolveOperand(buffer, type, state.operands) ||
                 parser.resolveOperands(indices, parser.getBuilder().getI32Type(), state.operands));
}

void LoadOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getBuffer();
  if (!getAt().empty())
    printer << " at " << getAt() << '(' << getIndices() << ')';
  if (getInBounds())
    printer << " in_bounds";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"at", "in_bounds"});
  printer << " : " << getBuffer().getType();
}

/// The dims at an op's place in a kernel: all inside rt.row, the outer ones outside; none in a mask.
static SmallVector<DimAttr> dimsAt(Operation *op) {
  if (op->getParentOfType<RowOp>())
    return op->getParentOfType<KernelOp>().iterationDims();
  if (auto kernel = op->getParentOfType<KernelOp>())
    return llvm::to_vector(kernel.getOuter().getAsRange<DimAttr>());
  return {};
}

static LogicalResult verifyAccess(Operation *op, BufferType type, Type element, ArrayAttr at) {
  if (type.getElementType() != element)
    return op->emitOpError() << "element of " << type << " is not " << element;
  SmallVector<DimAttr> dims = dimsAt(op);
  for (DimAttr dim : type.getDims())
    if (!llvm::is_contained(at, dim.getName()) && !llvm::is_contained(dims, dim))
      return op->emitOpError() << "dimension '" << dim.getName().getValue() << "' of size " << dim.getSize() << " is not iterated here";
  return success();
}

LogicalResult LoadOp::verify() {
  if (getAt().size() != getIndices().size())
    return emitOpError() << "names " << getAt().size() << " dims for " << getIndices().size() << " indices";
  for (auto name : getAt().getAsRange<StringAttr>())
    if (!getBuffer().getType().hasDim(name))
      return emitOpError() << "dimension '" << name.getValue() << "' is not in " << getBuffer().getType();
  return verifyAccess(*this, getBuffer().getType(), getType(), getAt());
}

LogicalResult StoreOp::verify() {
  BufferType type = getBuffer().getType();
  SmallVector<DimAttr> dims = dimsAt(*this);
  for (DimAttr dim : dims)
    if (!type.hasDim(dim.getName()))
      return emitOpError() << "would write " << type << " once per index of '" << dim.getName().getValue() << "'";
  return verifyAccess(*this, type, getValue().getType(), ArrayAttr::get(getContext(), {}));
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

static LogicalResult expectMerged(Operation *op, BufferType type, ArrayAttr names) {
  if (!mergedIndex(type, names))
    return op->emitOpError() << "dims " << names << " are not adjacent in " << type;
  return success();
}

/// Whether `names` are distinct and exactly the dims of `type`.
static LogicalResult expectDims(Operation *op, BufferType type, ArrayRef<ArrayAttr> lists) {
  llvm::SmallDenseSet<StringAttr> names;
  size_t count = 0;
  for (ArrayAttr list : lists)
    for (auto name : list.getAsRange<StringAttr>())
      if (type.hasDim(name)) {
        ++count;
        names.insert(name);
      }
  if (count != type.getDims().size() || names.size() != count)
    return op->emitOpError() << "lists must name every dimension of " << type << " once";
  return success();
}

/// - every dim is in one list; the dims of a list are adjacent
/// - each matrix has a unit stride
LogicalResult GemmOp::verify() {
  BufferType a = getA().getType(), b = getB().getType(), c = getC().getType();
  if (failed(expectDims(*this, a, {getBatch(), getM(), getK()})) || failed(expectDims(*this, b, {getBatch(), getN(), getK()})) ||
      failed(expectDims(*this, c, {getBatch(), getM(), getN()})) || failed(expectMerged(*this, a, getM())) ||
      failed(expectMerged(*this, a, getK())) || failed(expectMerged(*this, b, getK())) || failed(expectMerged(*this, b, getN())) ||
      failed(expectMerged(*this, c, getM())) || failed(expectMerged(*this, c, getN())))
    return failure();
  if (a.getElementType() != b.getElementType() || (c.getElementType() != a.getElementType() && !c.getElementType().isF32()))
    return emitOpError() << "element types do not fit: " << a << ", " << b << ", " << c;
  GemmShape s = shape();
  for (auto [matrix, type] : {std::pair(s.a, a), std::pair(s.b, b), std::pair(s.c, c)})
    if (matrix.row != 1 && matrix.col != 1)
      return emitOpError() << "matrix without unit stride (row " << matrix.row << ", column " << matrix.col << "): " << type;
  return success();
}

template <typename OpTy>
static LogicalResult verifyAttend(OpTy op) {
  BufferType q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
  if (failed(expectDims(op, q, {op.getBatch(), op.getHeads(), op.getGroups(), op.getQuery(), op.getHead()})) ||
      failed(expectDims(op, k, {op.getBatch(), op.getHeads(), op.getMem(), op.getHead()})) ||
      failed(expectDims(op, v, {op.getBatch(), op.getHeads(), op.getMem(), op.getValue()})))
    return failure();
  for (ArrayAttr names : {op.getBatch(), op.getHeads(), op.getGroups(), op.getQuery(), op.getHead()})
    if (failed(expectMerged(op, q, names)))
      return failure();
  for (ArrayAttr names : {op.getBatch(), op.getHeads(), op.getMem(), op.getHead()})
    if (failed(expectMerged(op, k, names)))
      return failure();
  for (ArrayAttr names : {op.getBatch(), op.getHeads(), op.getMem(), op.getValue()})
    if (failed(expectMerged(op, v, names)))
      return failure();
  if (mergedIndex(q, op.getHead())->stride > 1 || mergedIndex(k, op.getHead())->stride > 1 || mergedIndex(v, op.getValue())->stride > 1)
    return op.emitOpError() << "head dims must be contiguous";
  Region &mask = op.getMask();
  if (!mask.empty()) {
    SmallVector<Type> expected(4, IntegerType::get(op.getContext(), 32));
    llvm::append_range(expected, op.getMaskIns().getTypes());
    if (mask.front().getArgumentTypes() != TypeRange(expected))
      return op.emitOpError() << "mask must take (query, key, batch, head) as i32 and the mask's operands";
  }
  return success();
}

LogicalResult AttendOp::verify() { return verifyAttend(*this); }
LogicalResult AttendGradOp::verify() { return verifyAttend(*this); }

LogicalResult ScatterAddOp::verify() {
  BufferType updates = getUpdates().getType(), target = getTarget().getType();
  if (!target.hasDim(getAlongAttr()))
    return emitOpError() << "dimension '" << getAlong() << "' is not in " << target;
  for (DimAttr dim : getIndices().getType().getDims())
    if (!updates.hasDim(dim.getName()))
      return emitOpError() << "indices have dimension '" << dim.getName().getValue() << "', which the updates lack";
  for (DimAttr dim : target.getDims())
    if (dim.getName() != getAlongAttr() && !updates.hasDim(dim.getName()))
      return emitOpError() << "target has dimension '" << dim.getName().getValue() << "', which the updates lack";
  return success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static LogicalResult verifyParts(Operation *op, BufferType part, BufferType whole, StringAttr dim) {
  if (!part.hasDim(dim) || !whole.hasDim(dim) || part.getDims().size() != whole.getDims().size())
    return op->emitOpError() << "dimension '" << dim.getValue() << "' must be in " << part << " and in " << whole;
  for (auto [a, b] : llvm::zip(part.getDims(), whole.getDims()))
    if (a.getName() != b.getName() || (a.getName() != dim && a != b))
      return op->emitOpError() << "dims must agree but for '" << dim.getValue() << "': " << part << " and " << whole;
  if (whole.size(dim) % part.size(dim) || !part.isContiguous() || !whole.isContiguous())
    return op->emitOpError() << part << " is no part of " << whole;
  return success();
}

/// - both buffers have the same elements in the same order; the sources are members of the group
LogicalResult ExchangeOp::verify() {
  if (getInput().getType() != getResult().getType())
    return emitOpError() << "exchanges " << getInput().getType() << " for " << getResult().getType();
  int64_t members = getSources().size();
  for (int64_t source : getSources())
    if (source < -1 || source >= members)
      return emitOpError() << "source " << source << " is no member of a group of " << members;
  return success();
}
LogicalResult AllGatherOp::verify() { return verifyParts(*this, getPart().getType(), getResult().getType(), getDimAttr()); }
LogicalResult ReduceScatterOp::verify() { return verifyParts(*this, getPart().getType(), getInput().getType(), getDimAttr()); }
