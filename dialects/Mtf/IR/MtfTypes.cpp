//===- MtfTypes.cpp - the named-dimension tensor type ----------------------===//
#include "Mtf/IR/Mtf.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace meshc::mtf;

#define GET_TYPEDEF_CLASSES
#include "Mtf/IR/MtfTypes.cpp.inc"

NamedTensorType NamedTensorType::get(ArrayRef<DimAttr> dims, Type elementType, ArrayRef<StringAttr> partialAxes, ReductionKind partialKind,
                           Padding padding) {
  SmallVector<DimAttr> sorted(dims);
  llvm::sort(sorted, [](DimAttr a, DimAttr b) { return a.getName().getValue() < b.getName().getValue(); });
  SmallVector<StringAttr> axes(partialAxes);
  llvm::sort(axes, [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); });
  // Without partial axes the kind says nothing; one spelling keeps types unique.
  return Base::get(elementType.getContext(), sorted, elementType, axes, axes.empty() ? ReductionKind::Sum : partialKind, padding);
}

LogicalResult NamedTensorType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<DimAttr> dims, Type elementType,
                                 ArrayRef<StringAttr> partialAxes, ReductionKind, Padding) {
  if (!elementType.isF32() && !elementType.isBF16() && !elementType.isF64() && !elementType.isInteger(32) &&
      !elementType.isInteger(1))
    return emitError() << "element type must be f32, bf16, f64, i32 or i1, got: " << elementType;
  llvm::SmallDenseSet<StringAttr> names, axes;
  int64_t count = 1;
  for (DimAttr dim : dims) {
    if (!names.insert(dim.getName()).second)
      return emitError() << "dimension '" << dim.getName().getValue() << "' occurs twice";
    if (dim.getSize() < 1)
      return emitError() << "dimension '" << dim.getName().getValue() << "' must have size at least 1, got: " << dim.getSize();
    if (dim.getPadded() < dim.getSize())
      return emitError() << "dimension '" << dim.getName().getValue() << "' of size " << dim.getSize()
                         << " has the smaller padded size " << dim.getPadded();
    if (llvm::MulOverflow(count, dim.getPadded(), count))
      return emitError() << "the number of elements does not fit in 63 bits";
    for (StringAttr axis : dim.getAxes())
      if (!axes.insert(axis).second)
        return emitError() << "mesh axis '" << axis.getValue() << "' splits two dimensions";
  }
  for (StringAttr axis : partialAxes)
    if (!axes.insert(axis).second)
      return emitError() << "mesh axis '" << axis.getValue() << "' is partial and used otherwise";
  return success();
}

DimAttr NamedTensorType::findDim(StringAttr name) const {
  auto it = llvm::find_if(getDims(), [&](DimAttr dim) { return dim.getName() == name; });
  return it == getDims().end() ? DimAttr() : *it;
}

DimAttr NamedTensorType::findDim(StringRef name) const { return findDim(StringAttr::get(getContext(), name)); }

int64_t NamedTensorType::dimSize(StringAttr name) const { return findDim(name).getSize(); }

int64_t NamedTensorType::numElements() const {
  int64_t count = 1;
  for (DimAttr dim : getDims())
    count *= dim.getSize();
  return count;
}

bool NamedTensorType::isGlobal() const {
  return !isPartial() && llvm::none_of(getDims(), [](DimAttr dim) { return dim.isSplit() || dim.isPadded(); });
}

NamedTensorType NamedTensorType::withDims(ArrayRef<DimAttr> dims) const {
  return get(dims, getElementType(), getPartialAxes(), getPartialKind(), getPadding());
}

NamedTensorType NamedTensorType::withElementType(Type type) const {
  return get(getDims(), type, getPartialAxes(), getPartialKind(), getPadding());
}

NamedTensorType NamedTensorType::withPartial(ArrayRef<StringAttr> axes, ReductionKind kind) const {
  return get(getDims(), getElementType(), axes, kind, getPadding());
}

NamedTensorType NamedTensorType::withPadding(Padding padding) const {
  return get(getDims(), getElementType(), getPartialAxes(), getPartialKind(), padding);
}

NamedTensorType NamedTensorType::without(ArrayRef<StringAttr> names) const {
  SmallVector<DimAttr> dims;
  llvm::copy_if(getDims(), std::back_inserter(dims), [&](DimAttr dim) { return !llvm::is_contained(names, dim.getName()); });
  return withDims(dims);
}

NamedTensorType NamedTensorType::with(DimAttr dim) const {
  SmallVector<DimAttr> dims(without({dim.getName()}).getDims());
  dims.push_back(dim);
  return withDims(dims);
}

NamedTensorType NamedTensorType::global() const {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : getDims())
    dims.push_back(dim.global());
  return get(dims, getElementType());
}

SmallVector<StringAttr> NamedTensorType::splitAxes() const {
  SmallVector<StringAttr> axes;
  for (DimAttr dim : getDims())
    axes.append(dim.getAxes().begin(), dim.getAxes().end());
  return axes;
}

Type NamedTensorType::parse(AsmParser &parser) {
  SmallVector<DimAttr> dims;
  Type elementType;
  SmallVector<StringAttr> partialAxes;
  ReductionKind partialKind = ReductionKind::Sum;
  Padding padding = Padding::Undefined;
  SMLoc loc = parser.getCurrentLocation();
  auto parseName = [&](std::string &name) { return parser.parseKeywordOrString(&name); };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        dims.push_back(DimAttr::parseBare(parser));
        return success(static_cast<bool>(dims.back()));
      }) || parser.parseComma() || parser.parseType(elementType))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    std::string word;
    if (succeeded(parser.parseOptionalKeyword("partial"))) {
      if (parser.parseLParen() || parseName(word) || parser.parseColon())
        return {};
      std::optional<ReductionKind> kind = symbolizeReductionKind(word);
      if (!kind) {
        parser.emitError(loc, "unknown reduction '") << word << "'";
        return {};
      }
      partialKind = *kind;
      if (parser.parseCommaSeparatedList([&]() -> ParseResult {
            std::string axis;
            if (parseName(axis))
              return failure();
            partialAxes.push_back(StringAttr::get(parser.getContext(), axis));
            return success();
          }) || parser.parseRParen())
        return {};
    } else if (succeeded(parser.parseOptionalKeyword("padding"))) {
      if (parser.parseLParen() || parseName(word) || parser.parseRParen())
        return {};
      std::optional<Padding> state = symbolizePadding(word);
      if (!state) {
        parser.emitError(loc, "unknown padding '") << word << "'";
        return {};
      }
      padding = *state;
    } else {
      parser.emitError(parser.getCurrentLocation(), "expected 'partial' or 'padding'");
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(loc); };
  if (failed(verify(emitError, dims, elementType, partialAxes, partialKind, padding)))
    return {};
  return get(dims, elementType, partialAxes, partialKind, padding);
}

void NamedTensorType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) { dim.printBare(printer); });
  printer << "], " << getElementType();
  if (isPartial()) {
    printer << ", partial(" << stringifyReductionKind(getPartialKind()) << ": ";
    llvm::interleaveComma(getPartialAxes(), printer, [&](StringAttr axis) { printer.printKeywordOrString(axis); });
    printer << ")";
  }
  if (getPadding() != Padding::Undefined)
    printer << ", padding(" << stringifyPadding(getPadding()) << ")";
  printer << ">";
}

void MtfDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "Mtf/IR/MtfTypes.cpp.inc"
      >();
}
