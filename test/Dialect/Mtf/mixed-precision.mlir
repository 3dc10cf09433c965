// RUN: meshc-opt %s --mtf-mixed-precision --split-input-file --verify-diagnostics | FileCheck %s
// RUN: sed 's/precision = "f32"/precision = "bf16"/' %inputs/gpt2layer_loss.mlir | meshc-opt --mtf-differentiate --mtf-build-train-step --mtf-mixed-precision -o %t
// RUN: FileCheck %s --check-prefix=STEP < %t

!x = !mtf.tensor<[a=4], f32>
!w = !mtf.tensor<[a=4, b=4], f32>
!ws = !mtf.tensor<[a=4, b=4, layers=3], f32>
!y = !mtf.tensor<[b=4], f32>
!ys = !mtf.tensor<[b=4, layers=3], f32>
!i = !mtf.tensor<[], i32>

module attributes {mtf.precision = "bf16"} {
  mtf.param @w : !w init <normal 0.02 : f64> {order = ["a", "b"], fan_in = ["a"], fan_out = ["b"], group = "default", states = []}
  mtf.param @router : !w init <normal 0.02 : f64>
    {order = ["a", "b"], fan_in = ["a"], fan_out = ["b"], group = "default", states = [], mtf.pinned_type = f32}

  // The result stays f32; a value is rounded once; what is pinned is not.
  // CHECK-LABEL: func.func @products
  // CHECK-SAME: (%[[W:.*]]: !mtf.tensor<[a=4, b=4], f32> {mtf.param = @w}, %[[R:.*]]: !mtf.tensor<[a=4, b=4], f32> {mtf.param = @router}, %[[X:.*]]: !mtf.tensor<[a=4], f32>)
  // CHECK-DAG: %[[WH:.*]] = mtf.cast %[[W]] : {{.*}} -> !mtf.tensor<[a=4, b=4], bf16>
  // CHECK-DAG: %[[XH:.*]] = mtf.cast %[[X]] : {{.*}} -> !mtf.tensor<[a=4], bf16>
  // CHECK: mtf.dot %[[XH]], %[[WH]] over ["a"] : {{.*}} -> !mtf.tensor<[b=4], f32>
  // CHECK: mtf.dot %[[XH]], %[[WH]] over ["a"] : {{.*}} -> !mtf.tensor<[b=4], f32>
  // CHECK: mtf.dot %[[X]], %[[R]] over ["a"]
  // CHECK: mtf.dot %[[X]], %[[W]] over ["a"] {mtf.pinned_type = f32}
  func.func @products(%w: !w {mtf.param = @w}, %router: !w {mtf.param = @router}, %x: !x) -> (!y, !y, !y, !y) {
    %0 = mtf.dot %x, %w over ["a"] : (!x, !w) -> !y
    %1 = mtf.dot %x, %w over ["a"] : (!x, !w) -> !y
    %2 = mtf.dot %x, %router over ["a"] : (!x, !w) -> !y
    %3 = mtf.dot %x, %w over ["a"] {mtf.pinned_type = f32} : (!x, !w) -> !y
    return %0, %1, %2, %3 : !y, !y, !y, !y
  }

  // The parameter is rounded outside; the residual is stacked rounded. A slice that is also wanted in f32 is passed twice.
  // CHECK-LABEL: func.func @loop
  // CHECK-SAME: (%[[W:.*]]: !mtf.tensor<[a=4, b=4, layers=3], f32>, %[[X:.*]]: !mtf.tensor<[a=4], f32>)
  // CHECK: %[[WH:.*]] = mtf.cast %[[W]] : {{.*}} -> !mtf.tensor<[a=4, b=4, layers=3], bf16>
  // CHECK: %[[F:.*]]:2 = mtf.repeat "layers" 3 carries(%[[X]] : {{.*}}) slices(%[[WH]] : {{.*}}) -> !mtf.tensor<[a=4], f32>, !mtf.tensor<[b=4, layers=3], bf16>
  // CHECK: %[[P:.*]] = mtf.dot
  // CHECK: %[[PH:.*]] = mtf.cast %[[P]]
  // CHECK: mtf.next carries(%{{.*}}) stacks(%[[PH]] : !mtf.tensor<[b=4], bf16>)
  // CHECK: mtf.repeat "layers" 3 reverse carries(%{{.*}}) slices(%[[W]], %[[F]]#1, %[[WH]] :
  // CHECK-NEXT: ^bb0(%{{.*}}, %{{.*}}, %[[WL:.*]]: !mtf.tensor<[a=4, b=4], f32>, %[[PL:.*]]: !mtf.tensor<[b=4], bf16>, %[[WHL:.*]]: !mtf.tensor<[a=4, b=4], bf16>):
  // CHECK-NEXT: mtf.dot %[[PL]], %[[WHL]]
  // CHECK-NEXT: mtf.mul %[[WL]], %[[WL]]
  func.func @loop(%w: !ws, %x: !x) -> !x {
    %h, %ps = mtf.repeat "layers" 3 carries(%x : !x) slices(%w : !ws) -> !x, !ys {
    ^bb0(%i: !i, %c: !x, %wl: !w):
      %p = mtf.dot %c, %wl over ["a"] : (!x, !w) -> !y
      %q = mtf.rename %p ["b"] to ["a"] : (!y) -> !x
      mtf.next carries(%q : !x) stacks(%p : !y)
    }
    %g = mtf.repeat "layers" 3 reverse carries(%h : !x) slices(%w, %ps : !ws, !ys) -> !x {
    ^bb0(%i: !i, %c: !x, %wl: !w, %p: !y):
      %d = mtf.dot %p, %wl over ["b"] : (!y, !w) -> !x
      %s = mtf.mul %wl, %wl : (!w, !w) -> !w
      %r = mtf.reduce sum %s over ["b"] : (!w) -> !x
      %e = mtf.add %d, %r : (!x, !x) -> !x
      mtf.next carries(%e : !x) stacks()
    }
    return %g : !x
  }
}

// -----

// expected-error @below {{unknown precision 'f16', expected 'f32' or 'bf16'}}
module attributes {mtf.precision = "f16"} {
}

// All seven matrices are rounded before the loop over microbatches, and nothing of a parameter's size inside.
// STEP-LABEL: func.func @train_step
// STEP-COUNT-7: mtf.cast %{{.*}} : (!mtf.tensor<[{{.*}}], f32>) -> !mtf.tensor<[{{.*}}], bf16>
// STEP: mtf.repeat "micro"
// STEP-NOT: mtf.cast %{{.*}}layers=2{{.*}}bf16
// STEP: mtf.attend %{{.*}} : (!mtf.tensor<[{{.*}}], bf16>, !mtf.tensor<[{{.*}}], bf16>, !mtf.tensor<[{{.*}}], bf16>, {{.*}}) -> (!mtf.tensor<[{{.*}}], bf16>, !mtf.tensor<[{{.*}}], f32>)
// STEP-LABEL: func.func @eval_step
