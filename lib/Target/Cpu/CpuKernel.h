//===- CpuKernel.h - a kernel as a C++ function ---------------------------------------===//
#ifndef MESHC_TARGET_CPU_CPUKERNEL_H
#define MESHC_TARGET_CPU_CPUKERNEL_H

#include "meshc/Target/KernelTable.h"

namespace meshc::target {

/// Prints the function `name` for a kernel. Scalars that are only read come by value, all else as pointers; numbers that
/// differ between the function's uses come last.
mlir::LogicalResult printCpuKernel(rt::KernelOp kernel, const KernelSignature &signature, llvm::StringRef name, Vocabulary &vocabulary,
                                   Numbers &numbers, Printer &p);

/// Whether the function takes the rank: it runs loops on its threads, or asks which shard it holds.
bool needsRank(rt::KernelOp kernel);

} // namespace meshc::target

#endif
