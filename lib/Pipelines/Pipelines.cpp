//===- Pipelines.cpp - the passes from level to level -------------------------===//
#include "meshc/Pipelines/Pipelines.h"
#include "Mtf/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace meshc;

Level meshc::levelOf(mlir::ModuleOp module) {
  Level level = module.lookupSymbol("train_step") ? Level::Grad : Level::Mtf;
  module.walk([&](mlir::Operation *op) {
    llvm::StringRef name = op->getName().getStringRef();
    if (name.starts_with("rt."))
      level = Level::Rt;
    else if (name.starts_with("spmd."))
      level = std::max(level, Level::Spmd);
    else if (name == "mtf.reshard")
      level = std::max(level, Level::Sharded);
  });
  return level;
}

/// The training step, simplified.
static void addGradPasses(mlir::OpPassManager &passes) {
  passes.addPass(mtf::createDifferentiate());
  passes.addPass(mtf::createBuildTrainStep());
  passes.addPass(mtf::createMixedPrecision());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createCanonicalizerPass());
}

void meshc::addPasses(mlir::OpPassManager &passes, Level from, Level to) {
  auto passesThrough = [&](Level level) { return from < level && level <= to; };
  if (passesThrough(Level::Grad))
    addGradPasses(passes);
}
