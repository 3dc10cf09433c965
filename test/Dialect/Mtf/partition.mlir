// RUN: meshc-opt %s -mtf-partition -spmd-verify -split-input-file | FileCheck %s
// The cheapest collectives between two shardings.

module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=4, "one"=1]>} {
// CHECK-LABEL: func.func @reduce
// CHECK-NEXT: spmd.all_reduce {{ *}}sum %{{.*}} over ["model"] because "exp takes the sum"
// CHECK-NEXT: return
func.func @reduce(%x: !mtf.tensor<[a=8 (data), b=8], f32, partial(sum: model)>) -> !mtf.tensor<[a=8 (data), b=8], f32> {
  %0 = mtf.reshard %x {reason = "exp takes the sum"} : !mtf.tensor<[a=8 (data), b=8], f32, partial(sum: model)> -> !mtf.tensor<[a=8 (data), b=8], f32>
  return %0 : !mtf.tensor<[a=8 (data), b=8], f32>
}

// Half the bytes of an all-reduce and a slice.
// CHECK-LABEL: func.func @scatter
// CHECK-NEXT: spmd.reduce_scatter {{ *}}sum %{{.*}} to "b" over ["model"]
// CHECK-NEXT: return
func.func @scatter(%x: !mtf.tensor<[a=8 (data), b=8], f32, partial(sum: model)>) -> !mtf.tensor<[a=8 (data), b=8 (model)], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8 (data), b=8], f32, partial(sum: model)> -> !mtf.tensor<[a=8 (data), b=8 (model)], f32>
  return %0 : !mtf.tensor<[a=8 (data), b=8 (model)], f32>
}

// Two axes at once.
// CHECK-LABEL: func.func @both
// CHECK-NEXT: spmd.all_reduce {{ *}}max %{{.*}} over ["data", "model"]
// CHECK-NEXT: return
func.func @both(%x: !mtf.tensor<[a=8], f32, partial(max: data, model)>) -> !mtf.tensor<[a=8], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8], f32, partial(max: data, model)> -> !mtf.tensor<[a=8], f32>
  return %0 : !mtf.tensor<[a=8], f32>
}

// A moved split is an all-to-all, never a gather.
// CHECK-LABEL: func.func @move
// CHECK-NEXT: spmd.all_to_all %{{.*}} from "a" to "b" over ["model"]
// CHECK-NEXT: return
func.func @move(%x: !mtf.tensor<[a=8 (data, model), b=8], f32>) -> !mtf.tensor<[a=8 (data), b=8 (model)], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8 (data, model), b=8], f32> -> !mtf.tensor<[a=8 (data), b=8 (model)], f32>
  return %0 : !mtf.tensor<[a=8 (data), b=8 (model)], f32>
}

// CHECK-LABEL: func.func @slice
// CHECK-NEXT: spmd.slice %{{.*}} to "a" over ["data", "model"]
// CHECK-NEXT: return
func.func @slice(%x: !mtf.tensor<[a=8], f32>) -> !mtf.tensor<[a=8 (data, model)], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8], f32> -> !mtf.tensor<[a=8 (data, model)], f32>
  return %0 : !mtf.tensor<[a=8 (data, model)], f32>
}

// Only the last axis is gathered; the blocks of the others stay.
// CHECK-LABEL: func.func @gather
// CHECK-NEXT: spmd.all_gather %{{.*}} from "a" over ["model"]
// CHECK-NEXT: return
func.func @gather(%x: !mtf.tensor<[a=8 (data, model)], f32>) -> !mtf.tensor<[a=8 (data)], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8 (data, model)], f32> -> !mtf.tensor<[a=8 (data)], f32>
  return %0 : !mtf.tensor<[a=8 (data)], f32>
}

// The same blocks in another order of ranks.
// CHECK-LABEL: func.func @order
// CHECK-NEXT: spmd.permute %{{.*}} over ["data", "model"]
// CHECK-NEXT: return
func.func @order(%x: !mtf.tensor<[a=8 (data, model)], f32>) -> !mtf.tensor<[a=8 (model, data)], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8 (data, model)], f32> -> !mtf.tensor<[a=8 (model, data)], f32>
  return %0 : !mtf.tensor<[a=8 (model, data)], f32>
}

// Cheaper than gathering both: what must move is small after the blocks have changed places.
// CHECK-LABEL: func.func @outer_axis
// CHECK-NEXT: spmd.permute %{{.*}} over ["data", "model"]
// CHECK-NEXT: spmd.all_gather %{{.*}} from "a" over ["data"]
// CHECK-NEXT: return
func.func @outer_axis(%x: !mtf.tensor<[a=8192 (data, model)], f32>) -> !mtf.tensor<[a=8192 (model)], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8192 (data, model)], f32> -> !mtf.tensor<[a=8192 (model)], f32>
  return %0 : !mtf.tensor<[a=8192 (model)], f32>
}

// CHECK-LABEL: func.func @waiting
// CHECK-NEXT: spmd.unreduce %{{.*}} over ["model"]
// CHECK-NEXT: return
func.func @waiting(%x: !mtf.tensor<[], f32>, %y: !mtf.tensor<[b=8 (model)], f32>) -> () {
  %0 = mtf.reshard %x : !mtf.tensor<[], f32> -> !mtf.tensor<[], f32, partial(sum: model)>
  return
}

// An axis of size 1 costs nothing and is in no type.
// CHECK-LABEL: func.func @size_one
// CHECK-SAME: (%{{.*}}: !mtf.tensor<[a=8], f32>) -> !mtf.tensor<[a=8], f32>
// CHECK-NEXT: return
func.func @size_one(%x: !mtf.tensor<[a=8 (one)], f32>) -> !mtf.tensor<[a=8], f32> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=8 (one)], f32> -> !mtf.tensor<[a=8], f32>
  return %0 : !mtf.tensor<[a=8], f32>
}

// Five rows over two ranks are padded to six; a rank's part has three.
// CHECK-LABEL: func.func @uneven
// CHECK-NEXT: spmd.all_to_all %{{.*}} from "a" to "b" over ["data"] {{.*}}!mtf.tensor<[a=5 pad 6 (data), b=3 pad 4], f32, padding(zero)> -> !mtf.tensor<[a=5 pad 6, b=3 pad 4 (data)], f32, padding(zero)>
func.func @uneven(%x: !mtf.tensor<[a=5 pad 6 (data), b=3 pad 4], f32, padding(zero)>) -> !mtf.tensor<[a=5 pad 6, b=3 pad 4 (data)], f32, padding(zero)> {
  %0 = mtf.reshard %x : !mtf.tensor<[a=5 pad 6 (data), b=3 pad 4], f32, padding(zero)> -> !mtf.tensor<[a=5 pad 6, b=3 pad 4 (data)], f32, padding(zero)>
  return %0 : !mtf.tensor<[a=5 pad 6, b=3 pad 4 (data)], f32, padding(zero)>
}
}
