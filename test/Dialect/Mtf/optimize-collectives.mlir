// RUN: meshc-opt %s -mtf-optimize-collectives -spmd-verify | FileCheck %s

!p = !mtf.tensor<[a=8, b=8], f32, partial(sum: model)>
!w = !mtf.tensor<[a=8, b=8], f32>
!s = !mtf.tensor<[a=8 (model), b=8], f32>
!t = !mtf.tensor<[a=8, b=8 (model)], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["model"=4]>} {
// CHECK-LABEL: func.func @add_before_reducing
// CHECK-NEXT: %[[SUM:.*]] = mtf.add %arg0, %arg1 : {{.*}} -> !mtf.tensor<[a=8, b=8], f32, partial(sum: model)>
// CHECK-NEXT: spmd.all_reduce {{ *}}sum %[[SUM]]
// CHECK-NEXT: return
func.func @add_before_reducing(%x: !p, %y: !p) -> !w {
  %0 = spmd.all_reduce sum %x over ["model"] : !p -> !w
  %1 = spmd.all_reduce sum %y over ["model"] : !p -> !w
  %2 = mtf.add %0, %1 : (!w, !w) -> !w
  return %2 : !w
}

// The first has another use: it runs anyway.
// CHECK-LABEL: func.func @used_elsewhere
// CHECK-COUNT-2: spmd.all_reduce
// CHECK: mtf.add
func.func @used_elsewhere(%x: !p, %y: !p) -> (!w, !w) {
  %0 = spmd.all_reduce sum %x over ["model"] : !p -> !w
  %1 = spmd.all_reduce sum %y over ["model"] : !p -> !w
  %2 = mtf.add %0, %1 : (!w, !w) -> !w
  return %2, %0 : !w, !w
}

// CHECK-LABEL: func.func @scatter
// CHECK-NEXT: spmd.reduce_scatter {{ *}}sum %arg0 to "a" over ["model"]
// CHECK-NEXT: return
func.func @scatter(%x: !p) -> !s {
  %0 = spmd.all_reduce sum %x over ["model"] : !p -> !w
  %1 = spmd.slice %0 to "a" over ["model"] : !w -> !s
  return %1 : !s
}

// CHECK-LABEL: func.func @reduce
// CHECK-NEXT: spmd.all_reduce {{ *}}sum %arg0 over ["model"]
// CHECK-NEXT: return
func.func @reduce(%x: !p) -> !w {
  %0 = spmd.reduce_scatter sum %x to "a" over ["model"] : !p -> !s
  %1 = spmd.all_gather %0 from "a" over ["model"] : !s -> !w
  return %1 : !w
}

// CHECK-LABEL: func.func @there_and_back
// CHECK-NEXT: return %arg0, %arg1
func.func @there_and_back(%x: !w, %y: !s) -> (!w, !s) {
  %0 = spmd.slice %x to "a" over ["model"] : !w -> !s
  %1 = spmd.all_gather %0 from "a" over ["model"] : !s -> !w
  %2 = spmd.all_to_all %y from "a" to "b" over ["model"] : !s -> !t
  %3 = spmd.all_to_all %2 from "b" to "a" over ["model"] : !t -> !s
  return %1, %3 : !w, !s
}
}
