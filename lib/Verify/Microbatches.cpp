//===- Microbatches.cpp - a step in microbatches and the whole step --------===//
#include "Microbatches.h"
#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace meshc;

int64_t meshc::microbatchesOf(ModuleOp program) {
  auto count = program->getAttrOfType<IntegerAttr>(mtf::kMicrobatches);
  return count ? count.getInt() : 1;
}

/// The size of the batch dim in the arguments of the loss; 0 if no argument has it.
static int64_t microbatchSize(ModuleOp program, StringAttr batch) {
  if (auto loss = program.lookupSymbol<func::FuncOp>("loss"))
    for (Type type : loss.getArgumentTypes())
      if (mtf::DimAttr dim = cast<mtf::NamedTensorType>(type).findDim(batch))
        return dim.getSize();
  return 0;
}

OwningOpRef<ModuleOp> meshc::withWholeBatch(ModuleOp program, Elaborate elaborate, std::vector<std::string> settings) {
  auto batch = program->getAttrOfType<StringAttr>(mtf::kBatchDim);
  int64_t count = microbatchesOf(program), size = batch ? microbatchSize(program, batch) * count : 0;
  if (size == 0)
    return nullptr;
  OwningOpRef<ModuleOp> whole;
  {
    ScopedDiagnosticHandler silence(program.getContext(), [](Diagnostic &) { return success(); });
    settings.push_back((batch.getValue() + "=" + Twine(size * count)).str());
    whole = elaborate(settings);
  }
  if (!whole || microbatchSize(*whole, batch) != size)
    return nullptr;
  (*whole)->setAttr(mtf::kMicrobatches, IntegerAttr::get(IntegerType::get(program.getContext(), 64), 1));
  // Random numbers count elements of the batch, of which there are again `size`.
  whole->walk([&](mtf::RandomOp op) {
    SmallVector<int64_t> extents(op.getExtents());
    for (auto [extent, name] : llvm::zip(extents, op.getOrder().getAsRange<StringAttr>()))
      if (name == batch)
        extent = size;
    op.setExtents(extents);
  });
  return whole;
}
