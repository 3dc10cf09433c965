//===- Passes.td - passes on the rt dialect -*- tablegen -*-===//
#ifndef RT_PASSES_TD
#define RT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReuseBuffers : Pass<"rt-reuse-buffers", "::meshc::rt::StepOp"> {
  let summary = "let values be made where they are needed, and overwrite what nobody reads any more";
  let description = [{
    1. A copy whose source is made for it: the source is made in the target (carries, stacked slices, parameters updated in place).
    2. A copy whose source nobody needs afterwards: the target is the source.
    3. A kernel's output takes the place of an input of the same type that it is the last to read (logits and their gradient).

    4. The other way round where the output's place is given (a stacked slice, a global): the input is made there.

    A kernel may work in place only under the conditions of `rt.kernel`.
  }];
}

def GatherAhead : Pass<"rt-gather-ahead", "::meshc::rt::StepOp"> {
  let summary = "gather what a loop needs one iteration ahead";
  let description = [{
    An all-gather of a loop's body whose operand follows from the loop's index and from memory that the loop leaves alone (ZeRO-3's parameters; what forward
    kept for backward) moves to the loop's `ahead`: it runs while the iteration before computes. Its result lies in two places by turns. Number
    and bytes of the gathers stay; bits of the results, too.
  }];
}

def PlanMemory : Pass<"rt-plan-memory", "::mlir::ModuleOp"> {
  let summary = "give every global and alloc a fixed byte offset in one arena per rank";
  let description = [{
    Globals come first and are never reused. Then, for each step, the allocs: the largest first, each at the lowest offset that is free
    while it lives, which is from the first op that touches it to the last (a loop counts as one op for what is allocated around it). Steps do not
    run at the same time and share the space. Offsets are multiples of 64 bytes. The module gets `rt.arena_bytes`, and `rt.memory` with
    bytes per kind of content.
  }];
}

#endif
