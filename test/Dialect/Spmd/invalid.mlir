// RUN: meshc-opt %s -split-input-file -verify-diagnostics
#mesh = #mtf.mesh<"pod", ["data"=2, "model"=2, "one"=1]>

module attributes {mtf.mesh = #mesh} {
func.func @not_partial(%x: !mtf.tensor<[a=4], f32>) {
  // expected-error @+1 {{'spmd.all_reduce' op reduces (sum) over 'model', over which the value is not partial: '!mtf.tensor<[a=4], f32>'}}
  %0 = spmd.all_reduce sum %x over ["model"] : !mtf.tensor<[a=4], f32> -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @wrong_kind(%x: !mtf.tensor<[a=4], f32, partial(max: model)>) {
  // expected-error @+1 {{reduces (sum) over 'model', over which the value is not partial}}
  %0 = spmd.all_reduce sum %x over ["model"] : !mtf.tensor<[a=4], f32, partial(max: model)> -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @reduces_less(%x: !mtf.tensor<[a=4], f32, partial(sum: data, model)>) {
  // expected-error @+1 {{should give '!mtf.tensor<[a=4], f32, partial(sum: data)>', got: '!mtf.tensor<[a=4], f32>'}}
  %0 = spmd.all_reduce sum %x over ["model"] : !mtf.tensor<[a=4], f32, partial(sum: data, model)> -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @not_the_last_axis(%x: !mtf.tensor<[a=4 (data, model)], f32>) {
  // expected-error @+1 {{the last axes that split dimension 'a' should be those of the op}}
  %0 = spmd.all_gather %x from "a" over ["data"] : !mtf.tensor<[a=4 (data, model)], f32> -> !mtf.tensor<[a=4 (model)], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "one"=1]>} {
func.func @nothing_to_do(%x: !mtf.tensor<[a=4 (one)], f32>) {
  // expected-error @+1 {{mesh axis 'one' has size 1: there is nothing to do over it}}
  %0 = spmd.all_gather %x from "a" over ["one"] : !mtf.tensor<[a=4 (one)], f32> -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @unknown_axis(%x: !mtf.tensor<[a=4 (modle)], f32>) {
  // expected-error @+1 {{unknown mesh axis 'modle'}}
  %0 = spmd.all_gather %x from "a" over ["modle"] : !mtf.tensor<[a=4 (modle)], f32> -> !mtf.tensor<[a=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @used_already(%x: !mtf.tensor<[a=4 (data), b=4], f32>) {
  // expected-error @+1 {{mesh axis 'data' is used already}}
  %0 = spmd.slice %x to "b" over ["data"] : !mtf.tensor<[a=4 (data), b=4], f32> -> !mtf.tensor<[a=4, b=4], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=4]>} {
func.func @other_local_shape(%x: !mtf.tensor<[a=8 (data), b=8 (model)], f32>) {
  // expected-error @+1 {{changes the local size of dimension 'a' from 4 to 2}}
  %0 = spmd.permute %x over ["data", "model"] : !mtf.tensor<[a=8 (data), b=8 (model)], f32> -> !mtf.tensor<[a=8 (model), b=8 (data)], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @other_tensor(%x: !mtf.tensor<[a=8 (data)], f32>) {
  // expected-error @+1 {{changes more than the sharding}}
  %0 = spmd.all_gather %x from "a" over ["data"] : !mtf.tensor<[a=8 (data)], f32> -> !mtf.tensor<[a=9], f32>
  return
}
}
