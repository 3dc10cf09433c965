//===- Passes.h - passes on the rt dialect ---------------------------------===//
#ifndef RT_TRANSFORMS_PASSES_H
#define RT_TRANSFORMS_PASSES_H

#include "Rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace meshc::rt {

#define GEN_PASS_DECL
#include "Rt/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Rt/Transforms/Passes.h.inc"

} // namespace meshc::rt

#endif
