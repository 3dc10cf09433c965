//===- Passes.td - passes on the mtf dialect -*- tablegen -*-===//
#ifndef MTF_PASSES_TD
#define MTF_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
