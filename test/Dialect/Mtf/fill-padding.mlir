// RUN: meshc-opt %s -mtf-fill-padding -split-input-file | FileCheck %s
// Padding is filled exactly where it would reach a result.

!x = !mtf.tensor<[row=3 pad 4 (data), col=5], f32>
!r = !mtf.tensor<[col=5], f32, partial(sum: data)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=4]>} {
// Arguments come with zeros; a difference of zeros is zero; a quotient of zeros is nothing that may be summed.
// CHECK-LABEL: func.func @sums
// CHECK-SAME: %[[X:.*]]: !mtf.tensor<[col=5, row=3 pad 4 (data)], f32, padding(zero)>
func.func @sums(%x: !x) -> () {
  // CHECK: mtf.reduce {{ *}}sum %[[X]]
  %0 = mtf.reduce sum %x over ["row"] : (!x) -> !r
  // CHECK: %[[D:.*]] = mtf.sub {{.*}} -> !mtf.tensor<[col=5, row=3 pad 4 (data)], f32, padding(zero)>
  // CHECK-NEXT: mtf.reduce {{ *}}sum %[[D]]
  %1 = mtf.sub %x, %x : (!x, !x) -> !x
  %2 = mtf.reduce sum %1 over ["row"] : (!x) -> !r
  // CHECK: %[[Q:.*]] = mtf.div {{.*}} -> !mtf.tensor<[col=5, row=3 pad 4 (data)], f32>
  // CHECK-NEXT: %[[F:.*]] = mtf.fill_padding %[[Q]] : {{.*}}padding(zero)>
  // CHECK-NEXT: mtf.reduce {{ *}}sum %[[F]]
  %3 = mtf.div %x, %x : (!x, !x) -> !x
  %4 = mtf.reduce sum %3 over ["row"] : (!x) -> !r
  return
}

// Each reduction has its identity; a dimension that stays needs nothing.
// CHECK-LABEL: func.func @identities
func.func @identities(%x: !x) -> () {
  // CHECK: fill_padding {{.*}}padding(neg_inf)>
  // CHECK-NEXT: mtf.reduce {{ *}}max
  %0 = mtf.reduce max %x over ["row"] : (!x) -> !mtf.tensor<[col=5], f32, partial(max: data)>
  // CHECK-NEXT: fill_padding {{.*}}padding(pos_inf)>
  // CHECK-NEXT: mtf.reduce {{ *}}min
  %1 = mtf.reduce min %x over ["row"] : (!x) -> !mtf.tensor<[col=5], f32, partial(min: data)>
  // CHECK-NEXT: mtf.reduce {{ *}}max %{{.*}} over ["col"]
  %2 = mtf.reduce max %x over ["col"] : (!x) -> !mtf.tensor<[row=3 pad 4 (data)], f32>
  // The exponential of zero is one: not summed as it is.
  // CHECK-NEXT: %[[E:.*]] = mtf.exp {{.*}}padding(one)>
  // CHECK-NEXT: %[[F:.*]] = mtf.fill_padding %[[E]] : {{.*}}padding(zero)>
  // CHECK-NEXT: mtf.dot %[[F]], %{{.*}} over ["row"]
  %3 = mtf.exp %x : (!x) -> !x
  %4 = mtf.dot %3, %x over ["row"] : (!x, !x) -> !r
  return
}

// A carry holds zeros only if every iteration keeps them.
// CHECK-LABEL: func.func @carries
func.func @carries(%x: !x) -> (!x, !x) {
  // CHECK: mtf.repeat {{.*}} -> !mtf.tensor<[col=5, row=3 pad 4 (data)], f32, padding(zero)>, !mtf.tensor<[col=5, row=3 pad 4 (data)], f32> {
  %0:2 = mtf.repeat "steps" 3 carries(%x, %x : !x, !x) slices() -> !x, !x {
  ^bb0(%i: !mtf.tensor<[], i32>, %a: !x, %b: !x):
    %1 = mtf.add %a, %a : (!x, !x) -> !x
    %2 = mtf.exp %b : (!x) -> !x
    mtf.next carries(%1, %2 : !x, !x) stacks()
  }
  // Results are given with zeros.
  // CHECK: %[[F:.*]] = mtf.fill_padding
  // CHECK-NEXT: return %{{.*}}, %[[F]]
  return %0#0, %0#1 : !x, !x
}
}

// -----
// Keys past the end of the memory have no weight.
!q = !mtf.tensor<[seq=3, head=2], f32>
!k = !mtf.tensor<[mem=3 pad 4, head=2], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["ctx"=2]>} {
// CHECK-LABEL: func.func @attention
func.func @attention(%q: !q, %k: !k) -> !q {
  // CHECK: %[[YES:.*]] = mtf.broadcast
  // CHECK: %[[MASK:.*]] = mtf.fill_padding %[[YES]] : {{.*}}<[mem=3 pad 4], i1, padding(zero)>
  // CHECK: mtf.attend {{.*}} where %[[MASK]]
  %0, %1 = mtf.attend %q, %k, %k over ["head"], "mem" scale 1.0 : (!q, !k, !k) -> (!q, !mtf.tensor<[seq=3], f32>)
  return %0 : !q
}
}
