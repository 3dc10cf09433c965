//===- Target.h - from the last level of the IR to program text -----------------===//
#ifndef MESHC_TARGET_TARGET_H
#define MESHC_TARGET_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace meshc::target {

/// Prints a module of level `rt` as one C++ file for the CPU runtime (runtime/include/meshrt/cpu.h). An op that has no C++ form
/// is an error at the op's place.
mlir::LogicalResult emitCpu(mlir::ModuleOp module, llvm::raw_ostream &os);

/// The same as one CUDA file for the CUDA runtime (runtime/include/meshrt/cuda.h): one process per GPU.
mlir::LogicalResult emitCuda(mlir::ModuleOp module, llvm::raw_ostream &os);

/// The program's name as a word that files and CMake targets can have: the model's, else the source file's, else "program".
std::string programName(mlir::ModuleOp module);

} // namespace meshc::target

#endif
