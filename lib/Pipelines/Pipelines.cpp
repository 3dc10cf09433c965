//===- Pipelines.cpp - the passes from level to level -------------------------===//
#include "meshc/Pipelines/Pipelines.h"
#include "Mtf/Transforms/Passes.h"
#include "Rt/Transforms/Passes.h"
#include "Spmd/Transforms/Passes.h"
#include "meshc/Conversion/Passes.h"
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
  passes.addPass(createFitMemory());
  passes.addPass(mtf::createDifferentiate());
  passes.addPass(mtf::createBuildTrainStep());
  passes.addPass(mtf::createAccumulateInLoops());
  passes.addPass(mtf::createMixedPrecision());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createCanonicalizerPass());
}

/// Shardings in the types. Functions that only the training step needed are gone by now.
void meshc::buildShardedPipeline(mlir::OpPassManager &passes, const ShardedOptions &options) {
  // The front end has warned of rules that match nothing.
  passes.addPass(mtf::createPropagateSharding({.explain = options.explain, .warnUnmatched = false}));
  passes.addPass(mtf::createInsertReshards());
  passes.addPass(mtf::createExpandSplitDims());
  passes.addPass(mtf::createFillPadding());
  passes.addPass(mlir::createCSEPass());
}

/// One rank's program; verified after every pass.
void meshc::buildSpmdPipeline(mlir::OpPassManager &passes, const SpmdOptions &options) {
  passes.addPass(mtf::createPartition());
  passes.addPass(spmd::createVerifySpmd());
  if (options.optimizeCollectives) {
    passes.addPass(mtf::createOptimizeCollectives());
    passes.addPass(spmd::createVerifySpmd());
  }
  passes.addPass(mlir::createCSEPass());
  passes.addPass(spmd::createVerifySpmd());
}

/// Buffers, kernels and library calls at fixed offsets.
void meshc::buildRtPipeline(mlir::OpPassManager &passes, const RtOptions &options) {
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createMtfToRt());
  passes.addNestedPass<rt::StepOp>(rt::createReuseBuffers());
  passes.addPass(mlir::createCSEPass());
  if (options.gatherAhead)
    passes.addNestedPass<rt::StepOp>(rt::createGatherAhead());
  passes.addPass(rt::createPlanMemory());
}

void meshc::registerPipelines() {
  mlir::registerPass(createFitMemory);
  mlir::PassPipelineRegistration<ShardedOptions>("meshc-sharded", "from the global program to shardings in every type", buildShardedPipeline);
  mlir::PassPipelineRegistration<SpmdOptions>("meshc-spmd", "from shardings to one rank's program with collectives", buildSpmdPipeline);
  mlir::PassPipelineRegistration<RtOptions>("meshc-rt", "from one rank's program to buffers, kernels and library calls", buildRtPipeline);
}

void meshc::addPasses(mlir::OpPassManager &passes, Level from, Level to, const RtOptions &options) {
  auto passesThrough = [&](Level level) { return from < level && level <= to; };
  if (passesThrough(Level::Grad))
    addGradPasses(passes);
  if (passesThrough(Level::Sharded))
    buildShardedPipeline(passes);
  if (passesThrough(Level::Spmd))
    buildSpmdPipeline(passes);
  if (passesThrough(Level::Rt))
    buildRtPipeline(passes, options);
}
