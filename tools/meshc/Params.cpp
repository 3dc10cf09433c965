//===- Params.cpp - meshc params FILE -------------------------------------------===//
//
//   path            shape                                  one rank      type  initializer    group
//   gpt.block.wq    [layers=12, embed=768, heads=12, ...]  [12, 768, 6]  f32   normal(0.02)   default
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Mtf/IR/Mtf.h"
#include "meshc/Pipelines/Pipelines.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Pass/PassManager.h"

using namespace meshc;
using namespace meshc::mtf;

namespace {
using Row = std::array<std::string, 6>;
} // namespace

static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

static std::string initializerText(InitAttr init) {
  double value = init.getValue().getValueAsDouble();
  if (init.getKind() == InitKind::Constant)
    return value == 0 ? "zeros" : value == 1 ? "ones" : "constant(" + number(value) + ")";
  return llvm::formatv("{0}({1})", stringifyInitKind(init.getKind()), number(value));
}

static std::string elementText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The types of parameters as arguments of @loss once the layout has been applied: what one rank holds follows from them.
static llvm::StringMap<NamedTensorType> shardedTypes(mlir::ModuleOp module) {
  llvm::StringMap<NamedTensorType> types;
  for (auto func : module.getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (auto symbol = func.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, kParam))
        types.try_emplace(symbol.getValue(), llvm::cast<NamedTensorType>(func.getArgument(i).getType()));
  return types;
}

static Row rowOf(ParamOp param, NamedTensorType sharded, MeshAttr mesh) {
  std::string shape, local;
  llvm::raw_string_ostream shapeText(shape), localText(local);
  llvm::ListSeparator shapeComma, localComma;
  for (auto name : param.getOrder().getAsRange<mlir::StringAttr>()) {
    DimAttr dim = sharded.findDim(name);
    shapeText << shapeComma << name.getValue() << "=" << dim.getSize();
    localText << localComma << mesh.localSize(dim);
  }
  return {param.getSymName().str(),          "[" + shape + "]",    "[" + local + "]", elementText(sharded.getElementType()),
          initializerText(param.getInit()), param.getGroup().str()};
}

ExitCode meshc::printParams(Session &session) {
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModule(session);
  if (!module)
    return kUserError;
  MeshAttr mesh = MeshAttr::of(*module);
  // The parameters themselves are read before the passes, their shardings after.
  std::vector<std::string> paths;
  Level have = levelOf(*module);
  if (mesh.numRanks() > 1 && have < Level::Sharded) {
    mlir::PassManager passes(&session.context);
    addPasses(passes, have, Level::Sharded);
    if (ExitCode code = session.run(passes, *module))
      return code;
  }
  llvm::StringMap<NamedTensorType> types = shardedTypes(*module);
  std::vector<Row> rows = {{"path", "shape", "one rank", "type", "initializer", "group"}};
  int64_t total = 0;
  for (auto param : module->getOps<ParamOp>()) {
    auto known = types.find(param.getSymName());
    auto type = llvm::cast<NamedTensorType>(param.getType());
    rows.push_back(rowOf(param, known == types.end() ? type : known->second, mesh));
    total += type.numElements();
  }
  std::array<size_t, 6> widths{};
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Row &row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i)
      llvm::outs() << llvm::left_justify(row[i], widths[i]) << "  ";
    llvm::outs() << row.back() << "\n";
  }
  llvm::outs() << total << " parameters in " << rows.size() - 1 << " tensors, " << mesh.numRanks() << (mesh.numRanks() == 1 ? " rank\n" : " ranks\n");
  return kOk;
}
