//===- Passes.h - passes on the mtf dialect --------------------------------===//
#ifndef MTF_TRANSFORMS_PASSES_H
#define MTF_TRANSFORMS_PASSES_H

#include "Mtf/IR/Mtf.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Pass/Pass.h"

namespace meshc::mtf {

#define GEN_PASS_DECL
#include "Mtf/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Mtf/Transforms/Passes.h.inc"

} // namespace meshc::mtf

#endif
