//===- Passes.td - passes on the spmd dialect -*- tablegen -*-===//
#ifndef SPMD_PASSES_TD
#define SPMD_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifySpmd : Pass<"spmd-verify", "::mlir::ModuleOp"> {
  let summary = "proves that a partitioned program is right about replicated, sharded and partial values";
  let description = [{
    Runs after `mtf-partition` and every later pass on the same level. Checks, for every function on `!mtf.tensor`s:

    - no `mtf.reshard` is left, no type uses a mesh axis that does not exist or has size 1
    - no dimension that an op needs whole, or can be cut along only after expansion, is split
    - a partial value enters linear operands only; all summands of a sum are partial over the same axes; a product has one partial factor
    - a result is partial over exactly the axes of its partial operands and of the split dimensions that it reduces
    - constants are partial only if they are zero; indices and random numbers never are
    - a function gives back parameters and states as it takes them, and no partial value: what is summed over ranks is summed once
    - padding holds what types claim of it, and never enters a sum
    - loops are `mtf.repeat` only, so that every rank issues the same collectives in the same order; functions that only some ranks run
      (`spmd.program`, `spmd.ranks`) issue the same ones as the other ranks' versions
    - each result is the expression of arguments and ops that it was before partitioning (`spmd.meaning`, written by `mtf-partition`): so
      the loss is divided by the denominator once, and no gradient scaled by a number of ranks
  }];
  let dependentDialects = ["::meshc::spmd::SpmdDialect"];
}

#endif
