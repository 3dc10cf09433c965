//===- Passes.h - conversions between dialects -------------------------------===//
#ifndef MESHC_CONVERSION_PASSES_H
#define MESHC_CONVERSION_PASSES_H

#include "Rt/IR/Rt.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace meshc {

#define GEN_PASS_DECL
#include "meshc/Conversion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "meshc/Conversion/Passes.h.inc"

} // namespace meshc

#endif
