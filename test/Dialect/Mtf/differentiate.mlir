// RUN: meshc-opt %s --mtf-differentiate --split-input-file --verify-diagnostics | FileCheck %s
// What the pass does around the ops' own rules (gradients-*.mlir): sums of cotangents, zero gradients, loops.

!s = !mtf.tensor<[], f32>
!a = !mtf.tensor<[a=4], f32>

// A value used twice and a parameter that is not used.
// CHECK-LABEL: func.func @loss_grad
// CHECK-SAME: (%[[W:.*]]: !mtf.tensor<[a=4], f32> {mtf.param = @w}, %{{.*}}: {{.*}} {mtf.param = @unused}, %[[X:.*]]: !mtf.tensor<[a=4], f32> {mtf.data = "x"}, %[[C:.*]]: !mtf.tensor<[], f32> {mtf.input = "cotangent"})
// CHECK-SAME: -> (!mtf.tensor<[], f32> {mtf.result = "loss"}, !mtf.tensor<[a=4], f32> {mtf.result = "metric"}, !mtf.tensor<[a=4], f32> {mtf.param = @w}, !mtf.tensor<[a=4], f32> {mtf.param = @unused})
// CHECK: %[[WX:.*]] = mtf.mul %[[W]], %[[X]]
// CHECK: %[[E:.*]] = mtf.exp %[[WX]]
// CHECK: %[[L:.*]] = mtf.reduce sum
// CHECK: %[[G:.*]] = mtf.broadcast %[[C]]
// CHECK: %[[GE:.*]] = mtf.mul %[[G]], %[[E]]
// CHECK: %[[GWX:.*]] = mtf.add %[[G]], %[[GE]]
// CHECK: %[[GW:.*]] = mtf.mul %[[GWX]], %[[X]]
// CHECK-NOT: mtf.mul
// CHECK: %[[ZERO:.*]] = mtf.constant 0.0
// CHECK: %[[NONE:.*]] = mtf.broadcast %[[ZERO]]
// CHECK: return %[[L]], %[[WX]], %[[GW]], %[[NONE]]
func.func @loss(%w: !a {mtf.param = @w}, %unused: !a {mtf.param = @unused}, %x: !a {mtf.data = "x"})
    -> (!s {mtf.result = "loss"}, !a {mtf.result = "metric"}) {
  %wx = mtf.mul %w, %x : (!a, !a) -> !a
  %e = mtf.exp %wx : (!a) -> !a
  %y = mtf.add %wx, %e : (!a, !a) -> !a
  %l = mtf.reduce sum %y over ["a"] : (!a) -> !s
  return %l, %wx : !s, !a
}

// -----

!s = !mtf.tensor<[], f32>
!i = !mtf.tensor<[], i32>
!a = !mtf.tensor<[a=4], f32>
!w = !mtf.tensor<[a=4, b=4, layers=3], f32>
!wl = !mtf.tensor<[a=4, b=4], f32>
!b = !mtf.tensor<[b=4], f32>

// A loop: tanh (the product's epilogue) is kept, the random mask is computed again; the weight's slice is passed again; the captured
// gain's cotangent is a sum over the iterations.
// CHECK-LABEL: func.func @loss_grad
// CHECK-SAME: (%[[W:.*]]: !mtf.tensor<[a=4, b=4, layers=3], f32> {mtf.param = @w}, %[[GAIN:.*]]: !mtf.tensor<[a=4], f32> {mtf.param = @gain}
// CHECK: %[[FWD:.*]]:3 = mtf.repeat "layers" 3 carries(%{{.*}} : !mtf.tensor<[a=4], f32>) slices(%[[W]] : {{.*}}) -> !mtf.tensor<[a=4], f32>, !mtf.tensor<[b=4, layers=3], f32>, !mtf.tensor<[a=4, layers=3], f32> {
// CHECK: ^bb0(%{{.*}}: {{.*}}, %[[X:.*]]: !mtf.tensor<[a=4], f32>, %{{.*}}: {{.*}}):
// CHECK: %[[H:.*]] = mtf.tanh
// CHECK: mtf.next carries(%{{.*}}) stacks(%[[H]], %[[X]] :
// CHECK: %[[BWD:.*]]:3 = mtf.repeat "layers" 3 reverse carries(%{{.*}}, %{{.*}} : !mtf.tensor<[a=4], f32>, !mtf.tensor<[a=4], f32>) slices(%[[W]], %[[FWD]]#1, %[[FWD]]#2 :
// CHECK: ^bb0(%[[I:.*]]: {{.*}}, %[[DX:.*]]: !mtf.tensor<[a=4], f32>, %[[DGAIN:.*]]: !mtf.tensor<[a=4], f32>, %[[WL:.*]]: !mtf.tensor<[a=4, b=4], f32>, %[[HL:.*]]: !mtf.tensor<[b=4], f32>, %[[XL:.*]]: !mtf.tensor<[a=4], f32>):
// CHECK: mtf.random bernoulli {{.*}} "drop" {{.*}} key(%{{.*}}, %{{.*}}, %[[I]])
// CHECK: %[[HH:.*]] = mtf.mul %[[HL]], %[[HL]]
// CHECK: mtf.sub %{{.*}}, %[[HH]]
// CHECK: %[[SUM:.*]] = mtf.add %[[DGAIN]]
// CHECK: mtf.next carries(%{{.*}}, %[[SUM]] : {{.*}}) stacks(%{{.*}} : !mtf.tensor<[a=4, b=4], f32>)
// CHECK: return %{{.*}}, %[[BWD]]#2, %[[BWD]]#1
func.func @loss(%w: !w {mtf.param = @w}, %gain: !a {mtf.param = @gain}, %x0: !a {mtf.data = "x"}, %seed: !i {mtf.input = "seed"},
                %step: !i {mtf.input = "step"}) -> !s {
  %h = mtf.repeat "layers" 3 carries(%x0 : !a) slices(%w : !w) -> !a {
  ^bb0(%i: !i, %x: !a, %wl: !wl):
    %p = mtf.dot %x, %wl over ["a"] : (!a, !wl) -> !b
    %t = mtf.tanh %p : (!b) -> !b
    %mask = mtf.random bernoulli 0.9 "drop" order ["b"] [4] key (%seed, %step, %i) offsets [] () : (!i, !i, !i) -> !b
    %d = mtf.mul %t, %mask : (!b, !b) -> !b
    %r = mtf.rename %d ["b"] to ["a"] : (!b) -> !a
    %g = mtf.mul %r, %gain : (!a, !a) -> !a
    %y = mtf.add %g, %x : (!a, !a) -> !a
    mtf.next carries(%y : !a) stacks()
  }
  %l = mtf.reduce sum %h over ["a"] : (!a) -> !s
  return %l : !s
}

// -----

!s = !mtf.tensor<[], f32>
!i = !mtf.tensor<[], i32>
!a = !mtf.tensor<[a=4], f32>
!al = !mtf.tensor<[a=4, n=2], f32>

// Stacked outputs and a second carry that starts from a constant; the index carry has no cotangent. Loops nest.
// CHECK-LABEL: func.func @loss_grad
// CHECK: mtf.repeat "m" 3 carries
// CHECK: mtf.repeat "n" 2 carries
// CHECK: mtf.repeat "m" 3 reverse carries
// CHECK: mtf.repeat "n" 2 reverse carries(%{{.*}}, %{{.*}}, %{{.*}} : !mtf.tensor<[a=4], f32>, !mtf.tensor<[], f32>, !mtf.tensor<[a=4], f32>)
func.func @loss(%w: !a {mtf.param = @w}, %x0: !a {mtf.data = "x"}) -> !s {
  %zero = mtf.constant 0.0 : f32 : !s
  %h, %aux = mtf.repeat "m" 3 carries(%x0, %zero : !a, !s) slices() -> !a, !s {
  ^bb0(%i: !i, %x: !a, %acc: !s):
    %start = mtf.constant 0 : i32 : !i
    %y, %acc1, %count, %ys = mtf.repeat "n" 2 carries(%x, %acc, %start : !a, !s, !i) slices() -> !a, !s, !i, !al {
    ^bb0(%j: !i, %u: !a, %sum: !s, %c: !i):
      %v = mtf.mul %u, %w : (!a, !a) -> !a
      %n = mtf.reduce max %v over ["a"] : (!a) -> !s
      %sum1 = mtf.add %sum, %n : (!s, !s) -> !s
      %c1 = mtf.add %c, %j : (!i, !i) -> !i
      mtf.next carries(%v, %sum1, %c1 : !a, !s, !i) stacks(%v : !a)
    }
    %z = mtf.reduce sum %ys over ["n"] : (!al) -> !a
    mtf.next carries(%z, %acc1 : !a, !s) stacks()
  }
  %p = mtf.reduce sum %h over ["a"] : (!a) -> !s
  %l = mtf.add %p, %aux : (!s, !s) -> !s
  return %l : !s
}

// -----

!s = !mtf.tensor<[], f32>
!a = !mtf.tensor<[a=4], f32>

// stop_gradient ends the path: only the factor outside of it has a cotangent.
// CHECK-LABEL: func.func @loss_grad
// CHECK: %[[STOP:.*]] = mtf.stop_gradient
// CHECK: %[[G:.*]] = mtf.broadcast
// CHECK-NEXT: %[[GW:.*]] = mtf.mul %[[G]], %[[STOP]]
// CHECK-NEXT: return %{{.*}}, %[[GW]]
func.func @loss(%w: !a {mtf.param = @w}) -> !s {
  %e = mtf.exp %w : (!a) -> !a
  %stop = mtf.stop_gradient %e : (!a) -> !a
  %y = mtf.mul %w, %stop : (!a, !a) -> !a
  %l = mtf.reduce sum %y over ["a"] : (!a) -> !s
  return %l : !s
}

// -----

!s = !mtf.tensor<[], f32>
!q = !mtf.tensor<[seq=4, head=2], f32>
!k = !mtf.tensor<[mem=4, head=2], f32>
!l = !mtf.tensor<[seq=4], f32>

func.func @loss(%q: !q {mtf.param = @q}, %k: !k {mtf.data = "k"}) -> !s {
  %o, %lse = mtf.attend %q, %k, %k over ["head"], "mem" scale 0.5 : (!q, !k, !k) -> (!q, !l)
  // expected-error @below {{op 'attend_grad' has no derivative}}
  // expected-note @below {{it lies between a parameter and the loss; stop_gradient around its operand takes it off that path}}
  %dq, %dk, %dv = mtf.attend_grad %q, %k, %k output %o, %lse, %q over ["head"], "mem" scale 0.5 : (!q, !k, !k, !q, !l, !q) -> (!q, !k, !k)
  %sum = mtf.reduce sum %dq over ["seq", "head"] : (!q) -> !s
  return %sum : !s
}

// -----

!a = !mtf.tensor<[a=4], f32>

// expected-error @below {{the first result of 'loss' must be a scalar of floats, the loss, got: '!mtf.tensor<[a=4], f32>'}}
func.func @loss(%w: !a {mtf.param = @w}) -> !a {
  return %w : !a
}
