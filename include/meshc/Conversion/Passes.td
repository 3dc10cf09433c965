//===- Passes.td - conversions between dialects -*- tablegen -*-===//
#ifndef MESHC_CONVERSION_PASSES_TD
#define MESHC_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MtfToRt : Pass<"mtf-to-rt", "::mlir::ModuleOp"> {
  let summary = "one rank's program as buffers, fused kernels and library calls";
  let description = [{
    Every public function becomes an `rt.step`; private functions are dropped. Parameters and states become globals shared by the steps;
    data, scalars and results globals of their step.

    1. Composite ops are expanded (logsumexp, softmax, argmax), sums that a product can accumulate are brought into reach of it.
    2. A memory order is chosen for every value: loops' dims first, then as declared; parameters, and what is combined with them
       elementwise, as in files.
    3. Maps, broadcasts and reductions are fused into kernels; cheap values are computed again where they are used instead of stored.
    4. Ops are lowered in an order that the kernels allow. Every stored value gets a buffer of its own; carries, stacked
       values and results are copied. `rt-reuse-buffers` then removes the copies.
  }];
  let dependentDialects = ["::meshc::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
