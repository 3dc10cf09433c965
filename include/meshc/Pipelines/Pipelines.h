//===- Pipelines.h - the passes from level to level ---------------------------===//
//
//   Mtf      the global computation, as the front end writes it
//   Grad     + the training step: gradients, microbatch loop, clipping, optimizer     (mtf)
//   Sharded  + every type carries its sharding, differences are `mtf.reshard`         (mtf)
//   Spmd     one rank's program: reshards have become collectives                     (mtf, spmd)
//   Rt       buffers at planned offsets, kernels, library calls                       (rt)
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_PIPELINES_PIPELINES_H
#define MESHC_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

namespace meshc {

enum class Level { Mtf, Grad, Sharded, Spmd, Rt };

/// The level of a module, by the ops in it.
Level levelOf(mlir::ModuleOp module);

struct ShardedOptions : mlir::PassPipelineOptions<ShardedOptions> {
  Option<bool> explain{*this, "explain", llvm::cl::desc("attach the reasons for each sharding"), llvm::cl::init(false)};
};
void buildShardedPipeline(mlir::OpPassManager &passes, const ShardedOptions &options = {});

struct SpmdOptions : mlir::PassPipelineOptions<SpmdOptions> {
  Option<bool> optimizeCollectives{*this, "optimize-collectives", llvm::cl::desc("join collectives where that moves less"), llvm::cl::init(true)};
};
void buildSpmdPipeline(mlir::OpPassManager &passes, const SpmdOptions &options = {});

struct RtOptions : mlir::PassPipelineOptions<RtOptions> {
  Option<bool> gatherAhead{*this, "gather-ahead", llvm::cl::desc("gather parameters one iteration of a loop ahead"), llvm::cl::init(false)};
};
/// From one rank's program to buffers at planned offsets, kernels and library calls.
void buildRtPipeline(mlir::OpPassManager &passes, const RtOptions &options = {});

/// `meshc-fit-memory`: replaces a memory budget of the layout by the least recomputation that meets it, found by planning copies.
std::unique_ptr<mlir::Pass> createFitMemory();

/// Makes the pipelines `meshc-sharded`, `meshc-spmd` and `meshc-rt` known to meshc-opt.
void registerPipelines();

/// Adds the passes that take a module of level `from` to level `to`, in order. None if it is there already.
void addPasses(mlir::OpPassManager &passes, Level from, Level to, const RtOptions &options = {});

} // namespace meshc

#endif
