//===- Passes.td - passes on the mtf dialect -*- tablegen -*-===//
#ifndef MTF_PASSES_TD
#define MTF_PASSES_TD

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"mtf-differentiate", "::mlir::ModuleOp"> {
  let summary = "make @loss_grad, which also returns the gradient of every parameter, from @loss";
  let description = [{
    Reverse mode. The new function takes the cotangent of the loss as its last argument and returns the results of the old one, then
    one gradient per argument with `mtf.param`. Without the function the pass does nothing.
  }];
  let options = [Option<"function", "function", "std::string", "\"loss\"", "name of the function to differentiate">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::meshc::mtf::MtfDialect"];
}

def BuildTrainStep : Pass<"mtf-build-train-step", "::mlir::ModuleOp"> {
  let summary = "put @weight, @loss_grad and the updates together as @train_step, and @eval as @eval_step";
  let description = [{
    With `mtf.microbatches` above 1 the batch is computed in a loop over the dimension `micro`, whose carries are the sums of losses and
    gradients. Random numbers and indices count over the whole batch, so the result does not depend on the number of microbatches.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::meshc::mtf::MtfDialect"];
}

def MixedPrecision : Pass<"mtf-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "round the operands of products to bf16 where the module's precision is bf16";
  let description = [{
    Products have f32 results; parameters stay f32 and are rounded once per call, outside of loops; residuals that only products use are
    kept in bf16; what the user pinned keeps its type.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::meshc::mtf::MtfDialect"];
}

#endif
