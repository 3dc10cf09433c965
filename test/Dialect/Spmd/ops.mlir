// RUN: meshc-opt %s | meshc-opt | FileCheck %s
// Every collective round-trips and says exactly what its types say.

module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2, "one"=1]>} {

// CHECK-LABEL: func.func @collectives
func.func @collectives(%p: !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32, partial(sum: model)>,
                       %s: !mtf.tensor<[batch=8 (data), seq=4 (model), embed=6], f32>) {
  // CHECK: spmd.all_reduce {{ *}}sum %{{.*}} over ["model"] because "product over 'ff'" : {{.*}}partial(sum: model)> -> !mtf.tensor<[batch=8 (data), embed=6, seq=4], f32>
  %0 = spmd.all_reduce sum %p over ["model"] because "product over 'ff'"
    : !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32, partial(sum: model)> -> !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32>
  // CHECK: spmd.reduce_scatter {{ *}}sum %{{.*}} to "seq" over ["model"]
  %1 = spmd.reduce_scatter sum %p to "seq" over ["model"]
    : !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32, partial(sum: model)> -> !mtf.tensor<[batch=8 (data), seq=4 (model), embed=6], f32>
  // CHECK: spmd.all_gather %{{.*}} from "seq" over ["model"]
  %2 = spmd.all_gather %s from "seq" over ["model"]
    : !mtf.tensor<[batch=8 (data), seq=4 (model), embed=6], f32> -> !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32>
  // CHECK: spmd.all_to_all %{{.*}} from "seq" to "embed" over ["model"]
  %3 = spmd.all_to_all %s from "seq" to "embed" over ["model"]
    : !mtf.tensor<[batch=8 (data), seq=4 (model), embed=6], f32> -> !mtf.tensor<[batch=8 (data), seq=4, embed=6 (model)], f32>
  // CHECK: spmd.slice %{{.*}} to "batch" over ["model"]
  %4 = spmd.slice %0 to "batch" over ["model"]
    : !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32> -> !mtf.tensor<[batch=8 (data, model), seq=4, embed=6], f32>
  // CHECK: spmd.permute %{{.*}} over ["data", "model"]
  %5 = spmd.permute %4 over ["data", "model"]
    : !mtf.tensor<[batch=8 (data, model), seq=4, embed=6], f32> -> !mtf.tensor<[batch=8 (model, data), seq=4, embed=6], f32>
  // CHECK: spmd.unreduce %{{.*}} over ["model"]
  %6 = spmd.unreduce %0 over ["model"]
    : !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32> -> !mtf.tensor<[batch=8 (data), seq=4, embed=6], f32, partial(sum: model)>
  return
}
}
