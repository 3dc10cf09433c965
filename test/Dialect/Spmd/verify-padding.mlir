// RUN: meshc-opt %s -spmd-verify -split-input-file -verify-diagnostics
// Padding reaches no sum, and types claim of it what the ops make.

module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @sum(%x: !mtf.tensor<[a=5 pad 6 (data)], f32>) {
  // expected-error @+1 {{needs padding that is zero in operand 0}}
  %0 = mtf.reduce sum %x over ["a"] : (!mtf.tensor<[a=5 pad 6 (data)], f32>) -> !mtf.tensor<[], f32, partial(sum: data)>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @maximum(%x: !mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>) {
  // expected-error @+1 {{needs padding that is neg_inf in operand 0}}
  %0 = mtf.reduce max %x over ["a"] : (!mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>) -> !mtf.tensor<[], f32, partial(max: data)>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @exponential(%x: !mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>) {
  // expected-error @+1 {{result 0 claims padding that is zero, but it is one}}
  %0 = mtf.exp %x : (!mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>) -> !mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @given_back(%x: !mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>) -> !mtf.tensor<[a=5 pad 6 (data)], f32, padding(one)> {
  %0 = mtf.exp %x : (!mtf.tensor<[a=5 pad 6 (data)], f32, padding(zero)>) -> !mtf.tensor<[a=5 pad 6 (data)], f32, padding(one)>
  // expected-error @+1 {{needs padding that is zero in operand 0}}
  return %0 : !mtf.tensor<[a=5 pad 6 (data)], f32, padding(one)>
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
// expected-error @+1 {{argument 0 claims padding that is one, but arguments come with zeros}}
func.func @argument(%x: !mtf.tensor<[a=5 pad 6 (data)], f32, padding(one)>) {
  return
}
}
// -----
// The updates' own dim of the name that they are scattered into is summed.
!updates = !mtf.tensor<[a=5 pad 6], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @scattered(%x: !updates, %at: !mtf.tensor<[a=5 pad 6], i32>) {
  // expected-error @+1 {{needs padding that is zero in operand 0}}
  %0 = mtf.scatter_add %x at %at into "a" : (!updates, !mtf.tensor<[a=5 pad 6], i32>) -> !updates
  return
}
}
// -----
// No iteration of a loop writes past its size.
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @stacked(%x: !mtf.tensor<[], f32>) {
  %0:2 = mtf.repeat "layers" 3 carries(%x : !mtf.tensor<[], f32>) slices() -> !mtf.tensor<[], f32>, !mtf.tensor<[layers=3 pad 4], f32, padding(zero)> {
  ^bb0(%i: !mtf.tensor<[], i32>, %c: !mtf.tensor<[], f32>):
    // expected-error @+1 {{cannot fill the padding of the loop's dimension 'layers'}}
    mtf.next carries(%c : !mtf.tensor<[], f32>) stacks(%c : !mtf.tensor<[], f32>)
  }
  return
}
}
