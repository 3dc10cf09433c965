//===- MtfAttrs.cpp - dimensions, meshes, layout rules ---------------------===//
#include "Mtf/IR/Mtf.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace meshc::mtf;

#include "Mtf/IR/MtfEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "Mtf/IR/MtfAttrs.cpp.inc"

//===----------------------------------------------------------------------===//
// DimAttr
//===----------------------------------------------------------------------===//

DimAttr DimAttr::parseBare(AsmParser &parser) {
  std::string name;
  int64_t size = 0, padded = 0;
  SmallVector<StringAttr> axes;
  if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return {};
  padded = size;
  if (succeeded(parser.parseOptionalKeyword("pad")) && parser.parseInteger(padded))
    return {};
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::OptionalParen, [&]() -> ParseResult {
        std::string axis;
        if (parser.parseKeywordOrString(&axis))
          return failure();
        axes.push_back(StringAttr::get(parser.getContext(), axis));
        return success();
      }))
    return {};
  return DimAttr::get(StringAttr::get(parser.getContext(), name), size, padded, axes);
}

void DimAttr::printBare(AsmPrinter &printer) const {
  printer.printKeywordOrString(getName());
  printer << "=" << getSize();
  if (isPadded())
    printer << " pad " << getPadded();
  if (isSplit()) {
    printer << " (";
    llvm::interleaveComma(getAxes(), printer, [&](StringAttr axis) { printer.printKeywordOrString(axis); });
    printer << ")";
  }
}

Attribute DimAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  DimAttr dim = parseBare(parser);
  if (!dim || parser.parseGreater())
    return {};
  return dim;
}

void DimAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printBare(printer);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr, ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes) {
  if (names.size() != sizes.size())
    return emitError() << "mesh has " << names.size() << " axis names and " << sizes.size() << " sizes";
  llvm::SmallDenseSet<StringAttr> seen;
  int64_t ranks = 1;
  for (auto [name, size] : llvm::zip(names, sizes)) {
    if (!seen.insert(name).second)
      return emitError() << "mesh axis '" << name.getValue() << "' occurs twice";
    if (size < 1)
      return emitError() << "mesh axis '" << name.getValue() << "' must have size at least 1, got: " << size;
    if (llvm::MulOverflow(ranks, size, ranks))
      return emitError() << "the number of ranks does not fit in 63 bits";
  }
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
        std::string axis;
        if (parser.parseKeywordOrString(&axis) || parser.parseEqual() || parser.parseInteger(sizes.emplace_back()))
          return failure();
        axes.push_back(StringAttr::get(parser.getContext(), axis));
        return success();
      }) || parser.parseGreater())
    return {};
  return parser.getChecked<MeshAttr>(parser.getContext(), StringAttr::get(parser.getContext(), name), axes, sizes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName() << ", [";
  llvm::interleaveComma(llvm::zip(getAxisNames(), getAxisSizes()), printer, [&](auto axis) {
    printer << std::get<0>(axis) << "=" << std::get<1>(axis);
  });
  printer << "]>";
}

int64_t MeshAttr::axisSize(StringAttr axis) const {
  for (auto [name, size] : llvm::zip(getAxisNames(), getAxisSizes()))
    if (name == axis)
      return size;
  return 0;
}

int64_t MeshAttr::shardCount(ArrayRef<StringAttr> axes) const {
  int64_t count = 1;
  for (StringAttr axis : axes)
    count *= axisSize(axis);
  return count;
}

int64_t MeshAttr::numRanks() const { return shardCount(getAxisNames()); }

int64_t MeshAttr::coordinate(int64_t rank, StringAttr axis) const {
  for (auto [name, size] : llvm::reverse(llvm::zip(getAxisNames(), getAxisSizes()))) {
    if (name == axis)
      return rank % size;
    rank /= size;
  }
  return 0;
}

int64_t MeshAttr::shardIndex(int64_t rank, ArrayRef<StringAttr> axes) const {
  int64_t index = 0;
  for (StringAttr axis : axes)
    index = index * axisSize(axis) + coordinate(rank, axis);
  return index;
}

int64_t MeshAttr::localSize(DimAttr dim) const {
  int64_t shards = shardCount(dim.getAxes());
  return (dim.getPadded() + shards - 1) / shards;
}

MeshAttr MeshAttr::of(Operation *op) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (module)
    if (auto mesh = module->getAttrOfType<MeshAttr>(kMesh))
      return mesh;
  MLIRContext *context = op->getContext();
  return get(context, StringAttr::get(context, "one"), {}, {});
}

void MtfDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "Mtf/IR/MtfAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Memory budgets
//===----------------------------------------------------------------------===//

std::optional<MemoryBudget> meshc::mtf::parseMemoryBudget(StringRef text) {
  size_t end = text.find_first_not_of("0123456789.eE+-");
  StringRef number = text.take_front(end).trim(), unit = end == StringRef::npos ? "" : text.drop_front(end).trim();
  double amount;
  if (number.getAsDouble(amount) || !(amount > 0) || !std::isfinite(amount))
    return std::nullopt;
  if (unit == "%")
    return MemoryBudget{amount / 100, true};
  double scale = llvm::StringSwitch<double>(unit)
                     .Cases({"B", "bytes"}, 1)
                     .Case("KB", 1e3)
                     .Case("MB", 1e6)
                     .Case("GB", 1e9)
                     .Case("TB", 1e12)
                     .Case("KiB", 0x1p10)
                     .Case("MiB", 0x1p20)
                     .Case("GiB", 0x1p30)
                     .Case("TiB", 0x1p40)
                     .Default(0);
  if (scale == 0)
    return std::nullopt;
  return MemoryBudget{amount * scale, false};
}
