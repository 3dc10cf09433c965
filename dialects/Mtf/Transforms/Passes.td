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

def AccumulateInLoops : Pass<"mtf-accumulate-in-loops"> {
  let summary = "move additions to a loop's result into the loop, where they are in place";
  let dependentDialects = ["::meshc::mtf::MtfDialect"];
}

def MixedPrecision : Pass<"mtf-mixed-precision", "::mlir::ModuleOp"> {
  let summary = "round the operands of products to bf16 where the module's precision is bf16";
  let description = [{
    Products have f32 results; parameters stay f32 and are rounded once per call, outside of loops; residuals that only products use are
    kept in bf16; what the user pinned keeps its type.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::meshc::mtf::MtfDialect"];
}

def PropagateSharding : Pass<"mtf-propagate-sharding", "::mlir::ModuleOp"> {
  let summary = "decide the sharding of every value from the layout";
  let description = [{
    Pins, then the rules of `mtf.layout` in order, then inference through ops to a fixed point, then the place of each reduction of
    partial values by minimum cut, then padded sizes. The decisions are attributes (`mtf.sharding`); the program stays global.
    A rule that matches nothing is a warning, a pin that cannot hold an error.
  }];
  let options = [Option<"explain", "explain", "bool", "false", "attach the reasons for each sharding as `mtf.why`">,
                 Option<"warnUnmatched", "warn-unmatched", "bool", "true", "warn of rules that match nothing">];
}

def InsertReshards : Pass<"mtf-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "put the decided shardings into the types, with an mtf.reshard at every difference";
}

def ExpandSplitDims : Pass<"mtf-expand-split-dims", "::mlir::ModuleOp"> {
  let summary = "rewrite softmax and logsumexp over a split dimension into local reductions and reshards";
}

def Partition : Pass<"mtf-partition", "::mlir::ModuleOp"> {
  let summary = "turn each mtf.reshard into the cheapest sequence of collectives";
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def OptimizeCollectives : Pass<"mtf-optimize-collectives", "::mlir::ModuleOp"> {
  let summary = "join collectives where that sends less or less often";
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

def FillPadding : Pass<"mtf-fill-padding", "::mlir::ModuleOp"> {
  let summary = "find what the padding of values holds, and fill it where it would reach a sum";
}

#endif
