// RUN: meshc-opt %s --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s
// RUN: meshc-opt %inputs/mlp_loss.mlir --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s --check-prefix=MLP
// RUN: meshc-opt %inputs/gpt2layer_loss.mlir --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s --check-prefix=GPT
// Derivatives of loops against finite differences: nested, reversed, with captured values, slices, stacks, carries of carries.

!s = !mtf.tensor<[], f32>
!i = !mtf.tensor<[], i32>
!a = !mtf.tensor<[a=3], f32>
!am = !mtf.tensor<[a=3, m=4], f32>
!an = !mtf.tensor<[a=3, n=2], f32>
!amn = !mtf.tensor<[a=3, m=4, n=2], f32>

// CHECK: gradient of captured: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of start: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of outer: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of both: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of clash: {{[0-9]+}} directions agree

// MLP-COUNT-3: gradient of mlp.{{.*}} agree
// GPT-COUNT-16: gradient of gpt.{{.*}} agree

func.func @loss(%captured: !a {mtf.param = @captured}, %start: !a {mtf.param = @start}, %outer: !am {mtf.param = @outer},
                %both: !amn {mtf.param = @both}, %weights: !am {mtf.data = "weights"},
                %clash: !am {mtf.param = @clash}) -> !s {
  %zero = mtf.constant 0.0 : f32 : !s
  // x and previous change places; every iteration's value is stacked.
  %h, %p, %aux, %hs = mtf.repeat "m" 4 carries(%start, %captured, %zero : !a, !a, !s) slices(%outer, %both : !am, !amn) -> !a, !a, !s, !am {
  ^bb0(%i: !i, %x: !a, %previous: !a, %acc: !s, %o: !a, %b: !an):
    %y, %ys = mtf.repeat "n" 2 reverse carries(%x : !a) slices(%b : !an) -> !a, !an {
    ^bb0(%j: !i, %u: !a, %v: !a):
      %uv = mtf.mul %u, %v : (!a, !a) -> !a
      %t = mtf.tanh %uv : (!a) -> !a
      %c = mtf.mul %t, %captured : (!a, !a) -> !a
      %r = mtf.add %c, %o : (!a, !a) -> !a
      mtf.next carries(%r : !a) stacks(%uv : !a)
    }
    %z = mtf.reduce sum %ys over ["n"] : (!an) -> !a
    %w = mtf.add %z, %previous : (!a, !a) -> !a
    %n = mtf.reduce sum %w over ["a"] : (!a) -> !s
    %n2 = mtf.mul %n, %n : (!s, !s) -> !s
    %acc1 = mtf.add %acc, %n2 : (!s, !s) -> !s
    %f = mtf.cast %i : (!i) -> !s
    %g = mtf.mul %y, %f : (!a, !s) -> !a
    mtf.next carries(%w, %y, %acc1 : !a, !a, !s) stacks(%g : !a)
  }
  %ws = mtf.mul %hs, %weights : (!am, !am) -> !am
  %l0 = mtf.reduce sum %ws over ["a", "m"] : (!am) -> !s
  %l1 = mtf.reduce sum %h over ["a"] : (!a) -> !s
  %l2 = mtf.add %l0, %l1 : (!s, !s) -> !s
  %l3 = mtf.add %l2, %aux : (!s, !s) -> !s
  // A carry over the loop's own dimension.
  %q = mtf.repeat "m" 4 carries(%clash : !am) slices(%outer : !am) -> !am {
  ^bb0(%i: !i, %x: !am, %o: !a):
    %sq = mtf.mul %x, %x : (!am, !am) -> !am
    %r = mtf.reduce sum %sq over ["m"] : (!am) -> !a
    %t = mtf.tanh %r : (!a) -> !a
    %u = mtf.mul %t, %o : (!a, !a) -> !a
    %y = mtf.mul %x, %u : (!am, !a) -> !am
    %z = mtf.sub %y, %x : (!am, !am) -> !am
    mtf.next carries(%z : !am) stacks()
  }
  %qw = mtf.mul %q, %weights : (!am, !am) -> !am
  %l4 = mtf.reduce sum %qw over ["a", "m"] : (!am) -> !s
  %l5 = mtf.add %l3, %l4 : (!s, !s) -> !s
  return %l5 : !s
}
