// RUN: meshc-opt %s --mtf-to-rt | FileCheck %s
// What becomes one kernel, and in which loops.

!x = !mtf.tensor<[batch=4, seq=8, embed=16], f32>
!row = !mtf.tensor<[batch=4, seq=8], f32>
!e = !mtf.tensor<[embed=16], f32>
!s = !mtf.tensor<[], f32>
!logits = !mtf.tensor<[batch=4, vocab=10], f32>
!targets = !mtf.tensor<[batch=4], i32>
!nll = !mtf.tensor<[batch=4], f32>
!scores = !mtf.tensor<[seq=8, mem=8], f32>

module attributes {mtf.dim_order = ["batch", "seq", "vocab", "embed", "mem"], mtf.batch_dim = "batch"} {

// A chain of maps is one kernel; the dims stand in memory order; constants and broadcasts cost nothing.
// CHECK-LABEL: rt.step @map
func.func @map(%x: !x, %b: !e) -> !x {
  // CHECK: rt.kernel outer [batch=4, seq=8, embed=16] row [] ins(%{{.*}}, %{{.*}} : !rt.buffer<[batch=4, seq=8, embed=16], f32>, !rt.buffer<[embed=16], f32>)
  // CHECK: arith.addf
  // CHECK: math.tanh
  // CHECK: rt.store
  // CHECK-NOT: rt.kernel
  %0 = mtf.add %x, %b : (!x, !e) -> !x
  %1 = mtf.tanh %0 : (!x) -> !x
  return %1 : !x
}

// Layer norm: two passes that reduce the row and one that stores it.
// CHECK-LABEL: rt.step @norm
func.func @norm(%x: !x, %g: !e) -> !x {
  // CHECK: rt.kernel outer [batch=4, seq=8] row [embed=16] ins
  // CHECK: rt.row -> f32
  // CHECK: rt.yield sum
  // CHECK: rt.row -> f32
  // CHECK: rt.yield sum
  // CHECK: math.rsqrt
  // CHECK: rt.row {
  // CHECK: rt.store
  // CHECK-NOT: rt.kernel
  %n = mtf.constant 16.0 : f32 : !s
  %sum = mtf.reduce sum %x over ["embed"] : (!x) -> !row
  %mean = mtf.div %sum, %n : (!row, !s) -> !row
  %d = mtf.sub %x, %mean : (!x, !row) -> !x
  %sq = mtf.mul %d, %d : (!x, !x) -> !x
  %ssq = mtf.reduce sum %sq over ["embed"] : (!x) -> !row
  %var = mtf.div %ssq, %n : (!row, !s) -> !row
  %rstd = mtf.rsqrt %var : (!row) -> !row
  %hat = mtf.mul %d, %rstd : (!x, !row) -> !x
  %y = mtf.mul %hat, %g : (!x, !e) -> !x
  return %y : !x
}

// The gradient of a bias sums over the outer dims; what it sums is computed on the way, not stored.
// CHECK-LABEL: rt.step @columns
func.func @columns(%x: !x, %y: !x) -> !e {
  // CHECK-NOT: rt.alloc : <[batch
  // CHECK: rt.kernel outer [embed=16] row [batch=4, seq=8] columns ins(%{{.*}}, %{{.*}} : {{.*}}) outs(%{{.*}} : !rt.buffer<[embed=16], f32>)
  // CHECK: arith.mulf
  // CHECK: rt.yield sum
  %0 = mtf.mul %x, %y : (!x, !x) -> !x
  %1 = mtf.reduce sum %0 over ["batch", "seq"] : (!x) -> !e
  return %1 : !e
}

// A sum over everything; what follows on the scalar joins it.
// CHECK-LABEL: rt.step @norm_of_all
func.func @norm_of_all(%x: !x) -> !s {
  // CHECK: rt.kernel outer [] row [batch=4, seq=8, embed=16] ins
  // CHECK: rt.row -> f32
  // CHECK: math.sqrt
  // CHECK-NOT: rt.kernel
  %0 = mtf.mul %x, %x : (!x, !x) -> !x
  %1 = mtf.reduce sum %0 over ["batch", "embed", "seq"] : (!x) -> !s
  %2 = mtf.sqrt %1 : (!s) -> !s
  return %2 : !s
}

// Loss and gradient of a classifier in one pass over the logits. The target's logit is read before the row is overwritten.
// CHECK-LABEL: rt.step @classifier
func.func @classifier(%x: !logits, %t: !targets) -> (!nll, !logits) {
  // CHECK: rt.kernel outer [batch=4] row [vocab=10]
  // CHECK: rt.yield max
  // CHECK: rt.yield sum
  // CHECK: rt.load %{{.*}} at ["vocab"](%{{.*}}) : !rt.buffer<[batch=4, vocab=10], f32>
  // CHECK: rt.store
  // CHECK: rt.row {
  // CHECK: rt.store
  // CHECK-NOT: rt.kernel
  %lse = mtf.logsumexp %x over ["vocab"] : (!logits) -> !nll
  %picked = mtf.gather %x["vocab" = %t] : (!logits, !targets) -> !nll
  %nll = mtf.sub %lse, %picked : (!nll, !nll) -> !nll
  %d = mtf.sub %x, %lse : (!logits, !nll) -> !logits
  %p = mtf.exp %d : (!logits) -> !logits
  return %nll, %p : !nll, !logits
}

// A mask is computed where it is used, also in two kernels.
// CHECK-LABEL: rt.step @mask
func.func @mask(%x: !scores, %m: !mtf.tensor<[mem=8, ff=3], f32>) -> (!mtf.tensor<[seq=8, ff=3], f32>, !scores) {
  // CHECK-NOT: i1>
  // CHECK: rt.kernel outer [seq=8, mem=8]
  // CHECK-DAG: rt.index "seq"
  // CHECK-DAG: rt.index "mem"
  // CHECK: rt.gemm
  // CHECK: rt.kernel
  // CHECK-DAG: rt.index "seq"
  // CHECK-DAG: rt.index "mem"
  %i = mtf.index "seq" : !mtf.tensor<[seq=8], i32>
  %j = mtf.index "mem" : !mtf.tensor<[mem=8], i32>
  %mask = mtf.compare le %j, %i : (!mtf.tensor<[mem=8], i32>, !mtf.tensor<[seq=8], i32>) -> !mtf.tensor<[mem=8, seq=8], i1>
  %zero = mtf.constant 0.0 : f32 : !s
  %0 = mtf.select %mask, %x, %zero : (!mtf.tensor<[mem=8, seq=8], i1>, !scores, !s) -> !scores
  %1 = mtf.dot %0, %m over ["mem"] : (!scores, !mtf.tensor<[mem=8, ff=3], f32>) -> !mtf.tensor<[seq=8, ff=3], f32>
  %sum = mtf.reduce sum %1 over ["ff"] : (!mtf.tensor<[seq=8, ff=3], f32>) -> !mtf.tensor<[seq=8], f32>
  %2 = mtf.select %mask, %sum, %zero : (!mtf.tensor<[mem=8, seq=8], i1>, !mtf.tensor<[seq=8], f32>, !s) -> !scores
  return %1, %2 : !mtf.tensor<[seq=8, ff=3], f32>, !scores
}

// An embedding lookup is a load at a computed index.
// CHECK-LABEL: rt.step @lookup
func.func @lookup(%w: !mtf.tensor<[vocab=10, embed=16], f32>, %t: !mtf.tensor<[batch=4, seq=8], i32>, %p: !mtf.tensor<[seq=8, embed=16], f32>) -> !x {
  // CHECK: rt.kernel outer [batch=4, seq=8, embed=16] row []
  // CHECK: %[[T:.*]] = rt.load %{{.*}} : !rt.buffer<[batch=4, seq=8], i32>
  // CHECK: rt.load %{{.*}} at ["vocab"](%[[T]]) : !rt.buffer<[vocab=10, embed=16], f32>
  // CHECK-NOT: rt.kernel
  %0 = mtf.gather %w["vocab" = %t] : (!mtf.tensor<[vocab=10, embed=16], f32>, !mtf.tensor<[batch=4, seq=8], i32>) -> !x
  %1 = mtf.add %0, %p : (!x, !mtf.tensor<[seq=8, embed=16], f32>) -> !x
  return %1 : !x
}
}
