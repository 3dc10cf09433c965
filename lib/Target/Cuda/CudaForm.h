//===- CudaForm.h - which threads work together on a kernel --------------------------===//
#ifndef MESHC_TARGET_CUDA_CUDAFORM_H
#define MESHC_TARGET_CUDA_CUDAFORM_H

#include "meshc/Target/LoopNest.h"
#include "llvm/ADT/DenseSet.h"

namespace meshc::target {

/// See CudaKernel.cpp and runtime/include/meshrt/cuda/teams.h.
enum class Form {
  Plain,   ///< One thread.
  Map,     ///< A thread per outer index.
  Rows,    ///< A warp or block per outer index; one block for all where there is none.
  Columns, ///< 32 threads per outer index, 32 of these side by side.
  Grid,    ///< All threads reduce together.
};
Form formOf(rt::KernelOp kernel, const LoopNest &nest);

/// Threads that share a row.
int teamSize(const LoopNest &nest);

/// The values that depend on what a row loop reduced.
llvm::DenseSet<mlir::Value> reducedValues(rt::KernelOp kernel);

/// Whether a buffer that a row loop writes is also read at computed indices: threads have to wait for one another.
bool overwritesOthersElements(rt::KernelOp kernel);

/// The shard indices that a kernel asks for, each once.
llvm::SmallVector<mlir::ArrayAttr> shardAxes(rt::KernelOp kernel);

} // namespace meshc::target

#endif
