//===- RtTypes.cpp - buffers, iteration dims -------------------------------===//
#include "Rt/IR/Rt.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshc::rt;

#include "Rt/IR/RtEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Rt/IR/RtAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "Rt/IR/RtTypes.cpp.inc"

void RtDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Rt/IR/RtAttrs.cpp.inc"
      >();
}

void RtDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Rt/IR/RtTypes.cpp.inc"
      >();
}

DimAttr DimAttr::parseBare(AsmParser &parser) {
  std::string name;
  int64_t size;
  if (failed(parser.parseKeywordOrString(&name)) || parser.parseEqual() || parser.parseInteger(size))
    return {};
  return get(StringAttr::get(parser.getContext(), name), size);
}

void DimAttr::printBare(AsmPrinter &printer) const {
  printer.printKeywordOrString(getName().getValue());
  printer << '=' << getSize();
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  DimAttr dim;
  if (parser.parseLess() || !(dim = parseBare(parser)) || parser.parseGreater())
    return {};
  return dim;
}

void DimAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBare(printer);
  printer << '>';
}

static SmallVector<int64_t> rowMajor(ArrayRef<DimAttr> dims) {
  SmallVector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i].getSize())
    strides[i] = stride;
  return strides;
}

BufferType BufferType::get(ArrayRef<DimAttr> dims, Type elementType) {
  return Base::get(elementType.getContext(), dims, elementType, rowMajor(dims));
}

int BufferType::position(StringAttr name) const {
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (dim.getName() == name)
      return i;
  return -1;
}

int64_t BufferType::numElements() const {
  int64_t count = 1;
  for (DimAttr dim : getDims())
    count *= dim.getSize();
  return count;
}

bool BufferType::isContiguous() const { return getStrides() == ArrayRef<int64_t>(rowMajor(getDims())); }

int64_t BufferType::extent() const {
  int64_t last = 0;
  for (auto [dim, stride] : llvm::zip(getDims(), getStrides()))
    last += (dim.getSize() - 1) * stride;
  return last + 1;
}

int64_t BufferType::elementBytes() const { return llvm::divideCeil(getElementType().getIntOrFloatBitWidth(), 8); }

/// - names are unique, sizes at least 1, strides not negative, one stride per dim
LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<DimAttr> dims, Type elementType,
                                 ArrayRef<int64_t> strides) {
  if (!elementType.isF32() && !elementType.isBF16() && !elementType.isF64() && !elementType.isInteger(32) && !elementType.isInteger(1))
    return emitError() << "element type must be f32, bf16, f64, i32 or i1, got: " << elementType;
  if (dims.size() != strides.size())
    return emitError() << "has " << dims.size() << " dimensions and " << strides.size() << " strides";
  llvm::SmallDenseSet<StringAttr> names;
  for (auto [dim, stride] : llvm::zip(dims, strides)) {
    if (!names.insert(dim.getName()).second)
      return emitError() << "dimension '" << dim.getName().getValue() << "' occurs twice";
    if (dim.getSize() < 1)
      return emitError() << "dimension '" << dim.getName().getValue() << "' must have size at least 1, got: " << dim.getSize();
    if (stride < 0)
      return emitError() << "dimension '" << dim.getName().getValue() << "' must not have a negative stride, got: " << stride;
  }
  return success();
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<DimAttr> dims;
  Type elementType;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&]() -> ParseResult {
    DimAttr dim = DimAttr::parseBare(parser);
    if (!dim)
      return failure();
    dims.push_back(dim);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) || parser.parseComma() ||
      parser.parseType(elementType))
    return {};
  SmallVector<int64_t> strides = rowMajor(dims);
  if (succeeded(parser.parseOptionalComma())) {
    strides.clear();
    if (parser.parseKeyword("strides") || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
          return parser.parseInteger(strides.emplace_back());
        }))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), ArrayRef(dims), elementType, ArrayRef(strides));
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { dim.printBare(printer); });
  printer << "], " << getElementType();
  if (!isContiguous()) {
    printer << ", strides [";
    llvm::interleaveComma(getStrides(), printer);
    printer << ']';
  }
  printer << '>';
}
