//===- Passes.h - passes on the spmd dialect -------------------------------===//
#ifndef SPMD_TRANSFORMS_PASSES_H
#define SPMD_TRANSFORMS_PASSES_H

#include "Spmd/IR/Spmd.h"
#include "mlir/Pass/Pass.h"

namespace meshc::spmd {

#define GEN_PASS_DECL
#include "Spmd/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Spmd/Transforms/Passes.h.inc"

} // namespace meshc::spmd

#endif
