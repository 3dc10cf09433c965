// RUN: meshc-opt %s -mtf-partition -split-input-file -verify-diagnostics

module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=4]>} {
func.func @unequal_parts(%x: !mtf.tensor<[a=5], f32>) {
  // expected-error @+1 {{dimension 'a' of padded size 5 does not split into 2 equal parts: '!mtf.tensor<[a=5 (data)], f32>'}}
  %0 = mtf.reshard %x : !mtf.tensor<[a=5], f32> -> !mtf.tensor<[a=5 (data)], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=4]>} {
func.func @other_padding(%x: !mtf.tensor<[a=5], f32>) {
  // expected-error @+1 {{dimension 'a' is padded to 5 before and 6 after}}
  %0 = mtf.reshard %x : !mtf.tensor<[a=5], f32> -> !mtf.tensor<[a=5 pad 6 (data)], f32>
  return
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=4]>} {
func.func @waiting_maximum(%x: !mtf.tensor<[a=4], f32>) {
  // expected-error @+1 {{cannot turn '!mtf.tensor<[a=4], f32>' into '!mtf.tensor<[a=4], f32, partial(max: data)>'}}
  %0 = mtf.reshard %x : !mtf.tensor<[a=4], f32> -> !mtf.tensor<[a=4], f32, partial(max: data)>
  return
}
}
