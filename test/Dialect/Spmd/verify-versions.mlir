// RUN: meshc-opt %s -spmd-verify -split-input-file -verify-diagnostics
// Ranks with versions of their own must issue the same collectives in the same order.

!part = !mtf.tensor<[a=4 (data)], f32>
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
!whole = !mtf.tensor<[a=4], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
// Sound: what ranks do between collectives is their own business.
func.func @step.0(%x: !part, %y: !partial) -> (!whole, !whole) attributes {spmd.program = "step", spmd.ranks = array<i64: 0>} {
  %0 = spmd.all_gather %x from "a" over ["data"] : !part -> !whole
  %1 = spmd.all_reduce sum %y over ["data"] : !partial -> !whole
  return %0, %1 : !whole, !whole
}
func.func @step.1(%x: !part, %y: !partial) -> (!whole, !whole) attributes {spmd.program = "step", spmd.ranks = array<i64: 1>} {
  %0 = spmd.all_gather %x from "a" over ["data"] : !part -> !whole
  %1 = mtf.neg %y : (!partial) -> !partial
  %2 = spmd.all_reduce sum %1 over ["data"] : !partial -> !whole
  return %0, %2 : !whole, !whole
}
}
// -----
!part = !mtf.tensor<[a=4 (data)], f32>
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
!whole = !mtf.tensor<[a=4], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @step.0(%x: !part, %y: !partial) -> (!whole, !whole) attributes {spmd.program = "step", spmd.ranks = array<i64: 0, 1, 2>} {
  // expected-note @+1 {{the other version is here: ranks of a group must issue the same collectives in the same order}}
  %0 = spmd.all_gather %x from "a" over ["data"] : !part -> !whole
  %1 = spmd.all_reduce sum %y over ["data"] : !partial -> !whole
  return %0, %1 : !whole, !whole
}
func.func @step.1(%x: !part, %y: !partial) -> (!whole, !whole) attributes {spmd.program = "step", spmd.ranks = array<i64: 3>} {
  // expected-error @+1 {{rank 3 (data=1, model=1) issues 'spmd.all_reduce' kind #mtf<reduction sum> over ["data"]}}
  %1 = spmd.all_reduce sum %y over ["data"] : !partial -> !whole
  %0 = spmd.all_gather %x from "a" over ["data"] : !part -> !whole
  return %0, %1 : !whole, !whole
}
}
// -----
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
!whole = !mtf.tensor<[a=4], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @step.0(%x: !whole, %y: !partial) -> !whole attributes {spmd.program = "step", spmd.ranks = array<i64: 0>} {
  // expected-note @+1 {{the other version is here}}
  %0 = spmd.all_reduce sum %y over ["data"] : !partial -> !whole
  return %0 : !whole
}
// expected-error @+1 {{rank 1 (data=1) issues nothing more, where rank 0 (data=0) issues 'spmd.all_reduce'}}
func.func @step.1(%x: !whole, %y: !partial) -> !whole attributes {spmd.program = "step", spmd.ranks = array<i64: 1>} {
  return %x : !whole
}
}
// -----
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
!whole = !mtf.tensor<[a=4], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @step.0(%x: !whole, %y: !partial) -> !whole attributes {spmd.program = "step", spmd.ranks = array<i64: 0>} {
  // expected-note @+1 {{the other version is here}}
  %0 = mtf.repeat "layers" 3 carries(%x : !whole) slices() -> !whole {
  ^bb0(%i: !mtf.tensor<[], i32>, %c: !whole):
    %1 = spmd.all_reduce sum %y over ["data"] : !partial -> !whole
    mtf.next carries(%1 : !whole) stacks()
  }
  return %0 : !whole
}
func.func @step.1(%x: !whole, %y: !partial) -> !whole attributes {spmd.program = "step", spmd.ranks = array<i64: 1>} {
  // expected-error @+1 {{rank 1 (data=1) issues a loop of 2 iterations, where rank 0 (data=0) issues a loop of 3 iterations}}
  %0 = mtf.repeat "layers" 2 carries(%x : !whole) slices() -> !whole {
  ^bb0(%i: !mtf.tensor<[], i32>, %c: !whole):
    %1 = spmd.all_reduce sum %y over ["data"] : !partial -> !whole
    mtf.next carries(%1 : !whole) stacks()
  }
  return %0 : !whole
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
// expected-error @+1 {{rank 1 (data=1) has no version of 'step'}}
func.func @step.0() attributes {spmd.program = "step", spmd.ranks = array<i64: 0>} {
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @step.0() attributes {spmd.program = "step", spmd.ranks = array<i64: 0, 1>} {
  return
}
// expected-error @+1 {{rank 1 (data=1) has two versions of 'step'}}
func.func @step.1() attributes {spmd.program = "step", spmd.ranks = array<i64: 1>} {
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
// expected-error @+1 {{rank must be from 0 to 1, got: 2}}
func.func @step.0() attributes {spmd.program = "step", spmd.ranks = array<i64: 0, 2>} {
  return
}
}
