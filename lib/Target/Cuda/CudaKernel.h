//===- CudaKernel.h - a kernel as a __global__ function -----------------------------===//
#ifndef MESHC_TARGET_CUDA_CUDAKERNEL_H
#define MESHC_TARGET_CUDA_CUDAKERNEL_H

#include "meshc/Target/KernelTable.h"

namespace meshc::target {

/// Prints the function `name` for a kernel. Its parameters: buffers as pointers, loop indices, numbers that differ between the
/// function's uses, then what `launchArguments` says.
mlir::LogicalResult printCudaKernel(rt::KernelOp kernel, const KernelSignature &signature, llvm::StringRef name, Vocabulary &vocabulary,
                                    Numbers &numbers, Printer &p);

/// The grid for one use of the kernel: `mapShape(kBatch * kFf)`, `rowShape<32>(kBatch * kSeq)`.
std::string launchShape(rt::KernelOp kernel, Vocabulary &vocabulary);

/// Arguments behind the buffers and numbers: this rank's shard indices, and the memory of a reduction over the whole grid.
llvm::SmallVector<std::string> launchArguments(rt::KernelOp kernel, Vocabulary &vocabulary);

} // namespace meshc::target

#endif
