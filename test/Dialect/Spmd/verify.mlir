// RUN: meshc-opt %s -spmd-verify -split-input-file -verify-diagnostics
// A partitioned program is edited to be wrong, one law at a time.

!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
!whole = !mtf.tensor<[a=4], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
// Sound: partial summands are added, then reduced once.
func.func @sound(%x: !mtf.tensor<[a=4, b=4 (data)], f32>, %y: !mtf.tensor<[a=4, b=4 (data)], f32>) -> !whole {
  %0 = mtf.reduce sum %x over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !partial
  %1 = mtf.reduce sum %y over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !partial
  %2 = mtf.add %0, %1 : (!partial, !partial) -> !partial
  %3 = spmd.all_reduce sum %2 over ["data"] : !partial -> !whole
  return %3 : !whole
}
}
// -----
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @non_linear(%x: !mtf.tensor<[a=4, b=4 (data)], f32>) {
  %0 = mtf.reduce sum %x over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !partial
  // expected-error @+1 {{takes operand 0 partial over 'data', but is not linear in it}}
  %1 = mtf.exp %0 : (!partial) -> !partial
  return
}
}
// -----
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @bias_on_every_rank(%x: !mtf.tensor<[a=4, b=4 (data)], f32>, %bias: !mtf.tensor<[a=4], f32>) {
  %0 = mtf.reduce sum %x over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !partial
  // expected-error @+1 {{adds operand 0, partial over 'data', and operand 1, which is not and would be counted once per rank}}
  %1 = mtf.add %0, %bias : (!partial, !mtf.tensor<[a=4], f32>) -> !partial
  return
}
}
// -----
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @square(%x: !mtf.tensor<[a=4, b=4 (data)], f32>) {
  %0 = mtf.reduce sum %x over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !partial
  // expected-error @+1 {{multiplies operands 0 and 1, both partial over 'data'}}
  %1 = mtf.mul %0, %0 : (!partial, !partial) -> !partial
  return
}
}
// -----
!partial = !mtf.tensor<[a=4], f32, partial(sum: data)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @dropped(%x: !mtf.tensor<[a=4, b=4 (data)], f32>, %y: !mtf.tensor<[a=4], f32>) {
  %0 = mtf.reduce sum %x over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !partial
  // expected-error @+1 {{result 0 must be partial over 'data'}}
  %1 = mtf.mul %0, %y : (!partial, !mtf.tensor<[a=4], f32>) -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @never_reduced(%x: !mtf.tensor<[a=4, b=4 (data)], f32>) -> !mtf.tensor<[a=4], f32, partial(sum: data)> {
  %0 = mtf.reduce sum %x over ["b"] : (!mtf.tensor<[a=4, b=4 (data)], f32>) -> !mtf.tensor<[a=4], f32, partial(sum: data)>
  // expected-error @+1 {{result 0 of 'never_reduced' is partial over 'data': a reduction is missing}}
  return %0 : !mtf.tensor<[a=4], f32, partial(sum: data)>
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @invented(%x: !mtf.tensor<[a=4], f32>) {
  // expected-error @+1 {{result 0 is partial over 'data', but no operand is and no dimension split over it is reduced}}
  %0 = mtf.neg %x : (!mtf.tensor<[a=4], f32>) -> !mtf.tensor<[a=4], f32, partial(sum: data)>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @one_on_every_rank() {
  // expected-error @+1 {{is partial over 'data' but not zero: every rank would contribute it}}
  %0 = mtf.constant 1.0 : f32 : !mtf.tensor<[], f32, partial(sum: data)>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @softmax(%x: !mtf.tensor<[a=4 (model)], f32>) {
  // expected-error @+1 {{needs dimension 'a' in one piece, but it is split}}
  %0 = mtf.softmax %x over ["a"] : (!mtf.tensor<[a=4 (model)], f32>) -> !mtf.tensor<[a=4 (model)], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @reshard(%x: !mtf.tensor<[a=4 (model)], f32>) {
  // expected-error @+1 {{is left after partitioning}}
  %0 = mtf.reshard %x : !mtf.tensor<[a=4 (model)], f32> -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
// expected-error @+1 {{dimension 'a' of padded size 5 is split into 2 parts that are not equal}}
func.func @unequal_parts(%x: !mtf.tensor<[a=5 (model)], f32>) {
  // expected-error @+1 {{dimension 'a' of padded size 5 is split into 2 parts that are not equal}}
  %0 = mtf.neg %x : (!mtf.tensor<[a=5 (model)], f32>) -> !mtf.tensor<[a=5 (model)], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "one"=1]>} {
// expected-error @+1 {{uses mesh axis 'one', which has size 1}}
func.func @no_axis(%x: !mtf.tensor<[a=4 (one)], f32>) {
  // expected-error @+1 {{uses mesh axis 'one', which has size 1}}
  %0 = mtf.neg %x : (!mtf.tensor<[a=4 (one)], f32>) -> !mtf.tensor<[a=4 (one)], f32>
  return
}
}
