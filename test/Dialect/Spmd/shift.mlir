// A shift whose every rank has one element of the dimension goes to the neighbour; more elements per rank would cross parts.
// RUN: meshc-opt %s -split-input-file -mtf-optimize-collectives -verify-diagnostics | FileCheck %s
module attributes {mtf.mesh = #mtf.mesh<"m", ["a"=2, "b"=2]>} {
// CHECK-LABEL: func.func @neighbours
// CHECK-NEXT: spmd.shift %{{.*}} "block" by -1 over ["a", "b"]
// CHECK-NEXT: return
func.func @neighbours(%x: !mtf.tensor<[block=4 (a, b), c=3], f32>) -> !mtf.tensor<[block=4 (a, b), c=3], f32> {
  %0 = spmd.all_gather %x from "block" over ["a", "b"] : !mtf.tensor<[block=4 (a, b), c=3], f32> -> !mtf.tensor<[block=4, c=3], f32>
  %1 = mtf.shift %0 "block" by -1 : (!mtf.tensor<[block=4, c=3], f32>) -> !mtf.tensor<[block=4, c=3], f32>
  %2 = spmd.slice %1 to "block" over ["a", "b"] : !mtf.tensor<[block=4, c=3], f32> -> !mtf.tensor<[block=4 (a, b), c=3], f32>
  return %2 : !mtf.tensor<[block=4 (a, b), c=3], f32>
}
// CHECK-LABEL: func.func @several
// CHECK: spmd.all_gather
func.func @several(%x: !mtf.tensor<[block=8 (a), c=3], f32>) -> !mtf.tensor<[block=8 (a), c=3], f32> {
  %0 = spmd.all_gather %x from "block" over ["a"] : !mtf.tensor<[block=8 (a), c=3], f32> -> !mtf.tensor<[block=8, c=3], f32>
  %1 = mtf.shift %0 "block" by 1 : (!mtf.tensor<[block=8, c=3], f32>) -> !mtf.tensor<[block=8, c=3], f32>
  %2 = spmd.slice %1 to "block" over ["a"] : !mtf.tensor<[block=8, c=3], f32> -> !mtf.tensor<[block=8 (a), c=3], f32>
  return %2 : !mtf.tensor<[block=8 (a), c=3], f32>
}
}

// -----

module attributes {mtf.mesh = #mtf.mesh<"m", ["a"=2, "b"=2]>} {
func.func @parts(%x: !mtf.tensor<[block=8 (a), c=3], f32>) {
  // expected-error@+1 {{needs one element of dimension 'block' on each rank of the group}}
  %0 = spmd.shift %x "block" by 1 over ["a"] : !mtf.tensor<[block=8 (a), c=3], f32> -> !mtf.tensor<[block=8 (a), c=3], f32>
  return
}
}
