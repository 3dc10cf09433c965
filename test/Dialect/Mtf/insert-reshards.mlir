// RUN: meshc-opt %s -mtf-propagate-sharding -mtf-insert-reshards -split-input-file | FileCheck %s
// Where reshards stand, and how few there are.

// The gradient of the input that q, k and v share: the three products are added while they are partial, and reduced once.
!x = !mtf.tensor<[batch=8, embed=32], f32>
!q = !mtf.tensor<[batch=8, heads=4], f32>
!w = !mtf.tensor<[embed=32, heads=4], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["model"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["heads"] -> ["model"] all "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @shared_input
func.func @shared_input(%dq: !q, %dk: !q, %dv: !q, %wq: !w {mtf.param = @wq}, %wk: !w {mtf.param = @wk}, %wv: !w {mtf.param = @wv}) -> !x {
  %0 = mtf.dot %dq, %wq over ["heads"] : (!q, !w) -> !x
  %1 = mtf.dot %dk, %wk over ["heads"] : (!q, !w) -> !x
  %2 = mtf.dot %dv, %wv over ["heads"] : (!q, !w) -> !x
  // CHECK-NOT: mtf.reshard
  // CHECK: mtf.add {{.*}} -> !mtf.tensor<[batch=8, embed=32], f32, partial(sum: model)>
  // CHECK: %[[SUM:.*]] = mtf.add {{.*}} -> !mtf.tensor<[batch=8, embed=32], f32, partial(sum: model)>
  %3 = mtf.add %0, %1 : (!x, !x) -> !x
  %4 = mtf.add %3, %2 : (!x, !x) -> !x
  // CHECK: mtf.reshard %[[SUM]] {reason = "exp takes the sum over 'model'"}
  // CHECK-NOT: mtf.reshard
  %5 = mtf.exp %4 : (!x) -> !x
  return %5 : !x
}

// A bias is added once, after the reduction, not on every rank.
// CHECK-LABEL: func.func @bias
func.func @bias(%q: !q, %w: !w {mtf.param = @w}, %b: !mtf.tensor<[embed=32], f32> {mtf.param = @b}) -> !x {
  // CHECK: %[[Y:.*]] = mtf.dot
  // CHECK: %[[R:.*]] = mtf.reshard %[[Y]]
  // CHECK: mtf.add %[[R]],
  %0 = mtf.dot %q, %w over ["heads"] : (!q, !w) -> !x
  %1 = mtf.add %0, %b : (!x, !mtf.tensor<[embed=32], f32>) -> !x
  return %1 : !x
}

// Scalars of some parameters are sums over ranks, of others not: those count on one rank, and all are reduced together.
// CHECK-LABEL: func.func @norm
func.func @norm(%g1: !w {mtf.param = @w}, %g2: !mtf.tensor<[embed=32], f32> {mtf.param = @b}) -> !mtf.tensor<[], f32> {
  // CHECK-DAG: mtf.reduce {{.*}}f32, partial(sum: model)>
  // CHECK-DAG: mtf.reshard {{.*}} {reason = "add adds it to a sum that waits"} : <[], f32> -> <[], f32, partial(sum: model)>
  %0 = mtf.mul %g1, %g1 : (!w, !w) -> !w
  %1 = mtf.reduce sum %0 over ["embed", "heads"] : (!w) -> !mtf.tensor<[], f32>
  %2 = mtf.mul %g2, %g2 : (!mtf.tensor<[embed=32], f32>, !mtf.tensor<[embed=32], f32>) -> !mtf.tensor<[embed=32], f32>
  %3 = mtf.reduce sum %2 over ["embed"] : (!mtf.tensor<[embed=32], f32>) -> !mtf.tensor<[], f32>
  %4 = mtf.add %1, %3 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
  %5 = mtf.mul %g1, %g1 : (!w, !w) -> !w
  %6 = mtf.reduce sum %5 over ["embed", "heads"] : (!w) -> !mtf.tensor<[], f32>
  %7 = mtf.add %4, %6 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
  // CHECK: mtf.reshard {{.*}} {reason = "sqrt takes the sum over 'model'"} : <[], f32, partial(sum: model)> -> <[], f32>
  // CHECK-NEXT: mtf.sqrt
  %8 = mtf.sqrt %7 : (!mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
  return %8 : !mtf.tensor<[], f32>
}
}

// -----
// Data parallelism over microbatches: the accumulator is partial over data, the reduction stands after the loop, once.
!v = !mtf.tensor<[batch=8], f32>
!w = !mtf.tensor<[in=4, out=4], f32>
!xs = !mtf.tensor<[micro=3, batch=8, in=4], f32>
!ys = !mtf.tensor<[micro=3, batch=8, out=4], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["batch"] -> ["data"] all "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @accumulate
func.func @accumulate(%w: !w {mtf.param = @w}, %x: !xs {mtf.data = "x"}, %dy: !ys {mtf.data = "dy"}) -> (!w {mtf.param = @w}) {
  %zero = mtf.constant 0.0 : f32 : !mtf.tensor<[], f32>
  // CHECK: %[[Z:.*]] = mtf.broadcast {{.*}} -> !mtf.tensor<[in=4, out=4], f32, partial(sum: data)>
  %zeros = mtf.broadcast %zero : (!mtf.tensor<[], f32>) -> !w
  // CHECK: %[[G:.*]] = mtf.repeat "micro" 3 carries(%[[Z]] :
  %g = mtf.repeat "micro" 3 carries(%zeros : !w) slices(%x, %dy : !xs, !ys) -> !w {
  ^bb0(%i: !mtf.tensor<[], i32>, %sum: !w, %xi: !mtf.tensor<[batch=8, in=4], f32>, %dyi: !mtf.tensor<[batch=8, out=4], f32>):
    // CHECK-NOT: mtf.reshard
    %dw = mtf.dot %xi, %dyi over ["batch"] : (!mtf.tensor<[batch=8, in=4], f32>, !mtf.tensor<[batch=8, out=4], f32>) -> !w
    %next = mtf.add %sum, %dw : (!w, !w) -> !w
    // CHECK: mtf.next carries({{.*}}partial(sum: data)>)
    mtf.next carries(%next : !w) stacks()
  }
  // CHECK: mtf.reshard %[[G]] {reason = "sub takes the sum over 'data'"}
  // CHECK-NOT: mtf.reshard
  %new = mtf.sub %w, %g : (!w, !w) -> !w
  return %new : !w
}

// A value from around the loop is resharded around it; a free one is copied in the sharding of each use.
// CHECK-LABEL: func.func @free_and_hoisted
func.func @free_and_hoisted(%w: !v {mtf.param = @v}, %s: !mtf.tensor<[micro=3, batch=8], f32> {mtf.data = "s"}) -> !mtf.tensor<[], f32> {
  // CHECK-DAG: mtf.index "batch" : <[batch=8 (data)], i32>
  // CHECK-NOT: mtf.index "batch" : <[batch=8], i32>
  %i = mtf.index "batch" : !mtf.tensor<[batch=8], i32>
  %f = mtf.cast %i : (!mtf.tensor<[batch=8], i32>) -> !v
  %zero = mtf.constant 0.0 : f32 : !mtf.tensor<[], f32>
  %sum = mtf.repeat "micro" 3 carries(%zero : !mtf.tensor<[], f32>) slices(%s : !mtf.tensor<[micro=3, batch=8], f32>) -> !mtf.tensor<[], f32> {
  ^bb0(%k: !mtf.tensor<[], i32>, %c: !mtf.tensor<[], f32>, %si: !v):
    %0 = mtf.mul %si, %f : (!v, !v) -> !v
    %1 = mtf.reduce sum %0 over ["batch"] : (!v) -> !mtf.tensor<[], f32>
    %2 = mtf.add %c, %1 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
    mtf.next carries(%2 : !mtf.tensor<[], f32>) stacks()
  }
  return %sum : !mtf.tensor<[], f32>
}
}
