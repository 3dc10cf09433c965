// RUN: meshc-opt %s --mtf-accumulate-in-loops | FileCheck %s
// RUN: meshc-opt %inputs/gpt2layer_loss.mlir --mtf-differentiate --mtf-build-train-step -o %t.before
// RUN: meshc-opt %t.before --mtf-accumulate-in-loops -o %t.after
// RUN: meshc-interp %t.before --entry=train_step --compare=%t.after | FileCheck %s --check-prefix=SAME

!s = !mtf.tensor<[], f32>
!i = !mtf.tensor<[], i32>
!a = !mtf.tensor<[a=3], f32>
!am = !mtf.tensor<[a=3, m=4], f32>

// CHECK-LABEL: func.func @into
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[ACC:.*]]: !mtf.tensor<[a=3, m=4], f32>, %[[TOTAL:.*]]: !mtf.tensor<[a=3], f32>)
// CHECK: %[[R:.*]]:2 = mtf.repeat "m" 4 carries(%[[TOTAL]] : {{.*}}) slices(%[[X]], %[[ACC]] :
// CHECK-NEXT: ^bb0(%{{.*}}, %[[C:.*]]: !mtf.tensor<[a=3], f32>, %[[XI:.*]]: !mtf.tensor<[a=3], f32>, %[[AI:.*]]: !mtf.tensor<[a=3], f32>):
// CHECK: %[[SQ:.*]] = mtf.mul
// CHECK: %[[SUM:.*]] = mtf.add %[[C]], %[[SQ]]
// CHECK: %[[NEW:.*]] = mtf.add %[[AI]], %[[SQ]]
// CHECK: mtf.next carries(%[[SUM]] : {{.*}}) stacks(%[[NEW]] :
// CHECK: return %[[R]]#1, %[[R]]#0
func.func @into(%x: !am, %acc: !am, %total: !a) -> (!am, !a) {
  %zero = mtf.constant 0.0 : f32 : !s
  %zeros = mtf.broadcast %zero : (!s) -> !a
  %r, %d = mtf.repeat "m" 4 carries(%zeros : !a) slices(%x : !am) -> !a, !am {
  ^bb0(%i: !i, %c: !a, %xi: !a):
    %sq = mtf.mul %xi, %xi : (!a, !a) -> !a
    %sum = mtf.add %c, %sq : (!a, !a) -> !a
    mtf.next carries(%sum : !a) stacks(%sq : !a)
  }
  %0 = mtf.add %acc, %d : (!am, !am) -> !am
  %1 = mtf.add %r, %total : (!a, !a) -> !a
  return %0, %1 : !am, !a
}

// What is added is known only after the loop.
// CHECK-LABEL: func.func @later
// CHECK: mtf.repeat "m" 4 carries() slices(%{{.*}} : !mtf.tensor<[a=3, m=4], f32>) -> !mtf.tensor<[a=3, m=4], f32>
// CHECK: mtf.add
func.func @later(%x: !am) -> !am {
  %d = mtf.repeat "m" 4 carries() slices(%x : !am) -> !am {
  ^bb0(%i: !i, %xi: !a):
    %sq = mtf.mul %xi, %xi : (!a, !a) -> !a
    mtf.next carries() stacks(%sq : !a)
  }
  %e = mtf.exp %x : (!am) -> !am
  %0 = mtf.add %e, %d : (!am, !am) -> !am
  return %0 : !am
}

// SAME: equal: 50 results
