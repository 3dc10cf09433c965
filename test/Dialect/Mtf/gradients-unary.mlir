// RUN: meshc-opt %s --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s
// Derivatives of the elementwise ops of one operand against finite differences in float64. Each parameter has the name of its op.

!a3b2 = !mtf.tensor<[a=3, b=2], f32>
!a3b2_h = !mtf.tensor<[a=3, b=2], bf16>
!b2 = !mtf.tensor<[b=2], f32>
!s = !mtf.tensor<[], f32>

// CHECK: gradient of neg: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of abs: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of exp: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of tanh: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of erf: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sin: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of cos: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sigmoid: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sign: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of floor: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of ceil: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of log: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sqrt: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of rsqrt: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of cast: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of broadcast: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of tap: {{[0-9]+}} directions agree
func.func @loss(%neg: !a3b2 {mtf.param = @neg}, %w_a3b2: !a3b2 {mtf.data = "w_a3b2"}, %abs: !a3b2 {mtf.param = @abs},
                %exp: !a3b2 {mtf.param = @exp}, %tanh: !a3b2 {mtf.param = @tanh}, %erf: !a3b2 {mtf.param = @erf},
                %sin: !a3b2 {mtf.param = @sin}, %cos: !a3b2 {mtf.param = @cos}, %sigmoid: !a3b2 {mtf.param = @sigmoid},
                %sign: !a3b2 {mtf.param = @sign}, %floor: !a3b2 {mtf.param = @floor}, %ceil: !a3b2 {mtf.param = @ceil},
                %log: !a3b2 {mtf.param = @log}, %sqrt: !a3b2 {mtf.param = @sqrt}, %rsqrt: !a3b2 {mtf.param = @rsqrt},
                %cast: !a3b2 {mtf.param = @cast}, %broadcast: !b2 {mtf.param = @broadcast}, %tap: !a3b2 {mtf.param = @tap}) -> !s {
  %half = mtf.constant 0.5 : f32 : !s
  %neg_y = mtf.neg %neg : (!a3b2) -> !a3b2
  %m0 = mtf.mul %neg_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t0 = mtf.reduce sum %m0 over ["a", "b"] : (!a3b2) -> !s
  %abs_y = mtf.abs %abs : (!a3b2) -> !a3b2
  %m1 = mtf.mul %abs_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t1 = mtf.reduce sum %m1 over ["a", "b"] : (!a3b2) -> !s
  %exp_y = mtf.exp %exp : (!a3b2) -> !a3b2
  %m2 = mtf.mul %exp_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t2 = mtf.reduce sum %m2 over ["a", "b"] : (!a3b2) -> !s
  %tanh_y = mtf.tanh %tanh : (!a3b2) -> !a3b2
  %m3 = mtf.mul %tanh_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t3 = mtf.reduce sum %m3 over ["a", "b"] : (!a3b2) -> !s
  %erf_y = mtf.erf %erf : (!a3b2) -> !a3b2
  %m4 = mtf.mul %erf_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t4 = mtf.reduce sum %m4 over ["a", "b"] : (!a3b2) -> !s
  %sin_y = mtf.sin %sin : (!a3b2) -> !a3b2
  %m5 = mtf.mul %sin_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t5 = mtf.reduce sum %m5 over ["a", "b"] : (!a3b2) -> !s
  %cos_y = mtf.cos %cos : (!a3b2) -> !a3b2
  %m6 = mtf.mul %cos_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t6 = mtf.reduce sum %m6 over ["a", "b"] : (!a3b2) -> !s
  %sigmoid_y = mtf.sigmoid %sigmoid : (!a3b2) -> !a3b2
  %m7 = mtf.mul %sigmoid_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t7 = mtf.reduce sum %m7 over ["a", "b"] : (!a3b2) -> !s
  %slope = mtf.constant 0.4 : f32 : !s
  %sign_q = mtf.mul %sign, %slope : (!a3b2, !s) -> !a3b2
  %sign_p = mtf.add %sign_q, %half : (!a3b2, !s) -> !a3b2
  %sign_y = mtf.sign %sign_p : (!a3b2) -> !a3b2
  %sign_z = mtf.mul %sign_y, %sign : (!a3b2, !a3b2) -> !a3b2
  %m8 = mtf.mul %sign_z, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t8 = mtf.reduce sum %m8 over ["a", "b"] : (!a3b2) -> !s
  %floor_q = mtf.mul %floor, %slope : (!a3b2, !s) -> !a3b2
  %floor_p = mtf.add %floor_q, %half : (!a3b2, !s) -> !a3b2
  %floor_y = mtf.floor %floor_p : (!a3b2) -> !a3b2
  %floor_z = mtf.mul %floor_y, %floor : (!a3b2, !a3b2) -> !a3b2
  %m9 = mtf.mul %floor_z, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t9 = mtf.reduce sum %m9 over ["a", "b"] : (!a3b2) -> !s
  %ceil_q = mtf.mul %ceil, %slope : (!a3b2, !s) -> !a3b2
  %ceil_p = mtf.add %ceil_q, %half : (!a3b2, !s) -> !a3b2
  %ceil_y = mtf.ceil %ceil_p : (!a3b2) -> !a3b2
  %ceil_z = mtf.mul %ceil_y, %ceil : (!a3b2, !a3b2) -> !a3b2
  %m10 = mtf.mul %ceil_z, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t10 = mtf.reduce sum %m10 over ["a", "b"] : (!a3b2) -> !s
  %log_q = mtf.mul %log, %log : (!a3b2, !a3b2) -> !a3b2
  %log_p = mtf.add %log_q, %half : (!a3b2, !s) -> !a3b2
  %log_y = mtf.log %log_p : (!a3b2) -> !a3b2
  %m11 = mtf.mul %log_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t11 = mtf.reduce sum %m11 over ["a", "b"] : (!a3b2) -> !s
  %sqrt_q = mtf.mul %sqrt, %sqrt : (!a3b2, !a3b2) -> !a3b2
  %sqrt_p = mtf.add %sqrt_q, %half : (!a3b2, !s) -> !a3b2
  %sqrt_y = mtf.sqrt %sqrt_p : (!a3b2) -> !a3b2
  %m12 = mtf.mul %sqrt_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t12 = mtf.reduce sum %m12 over ["a", "b"] : (!a3b2) -> !s
  %rsqrt_q = mtf.mul %rsqrt, %rsqrt : (!a3b2, !a3b2) -> !a3b2
  %rsqrt_p = mtf.add %rsqrt_q, %half : (!a3b2, !s) -> !a3b2
  %rsqrt_y = mtf.rsqrt %rsqrt_p : (!a3b2) -> !a3b2
  %m13 = mtf.mul %rsqrt_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t13 = mtf.reduce sum %m13 over ["a", "b"] : (!a3b2) -> !s
  %cast_h = mtf.cast %cast : (!a3b2) -> !a3b2_h
  %cast_y = mtf.cast %cast_h : (!a3b2_h) -> !a3b2
  %m14 = mtf.mul %cast_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t14 = mtf.reduce sum %m14 over ["a", "b"] : (!a3b2) -> !s
  %broadcast_y = mtf.broadcast %broadcast : (!b2) -> !a3b2
  %m15 = mtf.mul %broadcast_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t15 = mtf.reduce sum %m15 over ["a", "b"] : (!a3b2) -> !s
  %tap_y = mtf.tap "x" %tap : (!a3b2) -> !a3b2
  %m16 = mtf.mul %tap_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t16 = mtf.reduce sum %m16 over ["a", "b"] : (!a3b2) -> !s
  %l0 = mtf.add %t0, %t1 : (!s, !s) -> !s
  %l1 = mtf.add %l0, %t2 : (!s, !s) -> !s
  %l2 = mtf.add %l1, %t3 : (!s, !s) -> !s
  %l3 = mtf.add %l2, %t4 : (!s, !s) -> !s
  %l4 = mtf.add %l3, %t5 : (!s, !s) -> !s
  %l5 = mtf.add %l4, %t6 : (!s, !s) -> !s
  %l6 = mtf.add %l5, %t7 : (!s, !s) -> !s
  %l7 = mtf.add %l6, %t8 : (!s, !s) -> !s
  %l8 = mtf.add %l7, %t9 : (!s, !s) -> !s
  %l9 = mtf.add %l8, %t10 : (!s, !s) -> !s
  %l10 = mtf.add %l9, %t11 : (!s, !s) -> !s
  %l11 = mtf.add %l10, %t12 : (!s, !s) -> !s
  %l12 = mtf.add %l11, %t13 : (!s, !s) -> !s
  %l13 = mtf.add %l12, %t14 : (!s, !s) -> !s
  %l14 = mtf.add %l13, %t15 : (!s, !s) -> !s
  %l15 = mtf.add %l14, %t16 : (!s, !s) -> !s
  return %l15 : !s
}
