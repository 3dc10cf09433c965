// RUN: meshc-opt %s --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s
// Derivatives of the elementwise ops of several operands: `OP_l` and `OP_r` are the operands of OP, the right one broadcast along
// dimension a. `OP_self` is both at once.

!a3 = !mtf.tensor<[a=3], f32>
!a3_b = !mtf.tensor<[a=3], i1>
!a3b2 = !mtf.tensor<[a=3, b=2], f32>
!b2 = !mtf.tensor<[b=2], f32>
!s = !mtf.tensor<[], f32>

// CHECK: gradient of add_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of add_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sub_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sub_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of mul_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of mul_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of div_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of div_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of rem_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of rem_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of max_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of max_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of min_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of min_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pow_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pow_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of mul_self: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of add_self: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pow_self: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of select_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of select_r: {{[0-9]+}} directions agree
func.func @loss(%add_l: !a3b2 {mtf.param = @add_l}, %add_r: !b2 {mtf.param = @add_r}, %w_a3b2: !a3b2 {mtf.data = "w_a3b2"},
                %sub_l: !a3b2 {mtf.param = @sub_l}, %sub_r: !b2 {mtf.param = @sub_r}, %mul_l: !a3b2 {mtf.param = @mul_l},
                %mul_r: !b2 {mtf.param = @mul_r}, %div_l: !a3b2 {mtf.param = @div_l}, %div_r: !b2 {mtf.param = @div_r},
                %rem_l: !a3b2 {mtf.param = @rem_l}, %rem_r: !b2 {mtf.param = @rem_r}, %max_l: !a3b2 {mtf.param = @max_l},
                %max_r: !b2 {mtf.param = @max_r}, %min_l: !a3b2 {mtf.param = @min_l}, %min_r: !b2 {mtf.param = @min_r},
                %pow_l: !a3b2 {mtf.param = @pow_l}, %pow_r: !b2 {mtf.param = @pow_r}, %mul_self: !a3b2 {mtf.param = @mul_self},
                %add_self: !a3b2 {mtf.param = @add_self}, %pow_self: !a3b2 {mtf.param = @pow_self},
                %condition: !a3 {mtf.data = "condition"}, %select_l: !a3b2 {mtf.param = @select_l},
                %select_r: !b2 {mtf.param = @select_r}) -> !s {
  %two = mtf.constant 2.0 : f32 : !s
  %add_y = mtf.add %add_l, %add_r : (!a3b2, !b2) -> !a3b2
  %m0 = mtf.mul %add_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t0 = mtf.reduce sum %m0 over ["a", "b"] : (!a3b2) -> !s
  %sub_y = mtf.sub %sub_l, %sub_r : (!a3b2, !b2) -> !a3b2
  %m1 = mtf.mul %sub_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t1 = mtf.reduce sum %m1 over ["a", "b"] : (!a3b2) -> !s
  %mul_y = mtf.mul %mul_l, %mul_r : (!a3b2, !b2) -> !a3b2
  %m2 = mtf.mul %mul_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t2 = mtf.reduce sum %m2 over ["a", "b"] : (!a3b2) -> !s
  %div_q = mtf.add %div_r, %two : (!b2, !s) -> !b2
  %div_y = mtf.div %div_l, %div_q : (!a3b2, !b2) -> !a3b2
  %m3 = mtf.mul %div_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t3 = mtf.reduce sum %m3 over ["a", "b"] : (!a3b2) -> !s
  %rem_q = mtf.add %rem_r, %two : (!b2, !s) -> !b2
  %rem_y = mtf.rem %rem_l, %rem_q : (!a3b2, !b2) -> !a3b2
  %m4 = mtf.mul %rem_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t4 = mtf.reduce sum %m4 over ["a", "b"] : (!a3b2) -> !s
  %max_y = mtf.max %max_l, %max_r : (!a3b2, !b2) -> !a3b2
  %m5 = mtf.mul %max_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t5 = mtf.reduce sum %m5 over ["a", "b"] : (!a3b2) -> !s
  %min_y = mtf.min %min_l, %min_r : (!a3b2, !b2) -> !a3b2
  %m6 = mtf.mul %min_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t6 = mtf.reduce sum %m6 over ["a", "b"] : (!a3b2) -> !s
  %pow_q = mtf.add %pow_l, %two : (!a3b2, !s) -> !a3b2
  %pow_y = mtf.pow %pow_q, %pow_r : (!a3b2, !b2) -> !a3b2
  %m7 = mtf.mul %pow_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t7 = mtf.reduce sum %m7 over ["a", "b"] : (!a3b2) -> !s
  %mul_self_y = mtf.mul %mul_self, %mul_self : (!a3b2, !a3b2) -> !a3b2
  %m8 = mtf.mul %mul_self_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t8 = mtf.reduce sum %m8 over ["a", "b"] : (!a3b2) -> !s
  %add_self_y = mtf.add %add_self, %add_self : (!a3b2, !a3b2) -> !a3b2
  %m9 = mtf.mul %add_self_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t9 = mtf.reduce sum %m9 over ["a", "b"] : (!a3b2) -> !s
  %pow_self_q = mtf.add %pow_self, %two : (!a3b2, !s) -> !a3b2
  %pow_self_y = mtf.pow %pow_self_q, %pow_self_q : (!a3b2, !a3b2) -> !a3b2
  %m10 = mtf.mul %pow_self_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t10 = mtf.reduce sum %m10 over ["a", "b"] : (!a3b2) -> !s
  %half = mtf.constant 0.5 : f32 : !s
  %c = mtf.compare lt %condition, %half : (!a3, !s) -> !a3_b
  %select_y = mtf.select %c, %select_l, %select_r : (!a3_b, !a3b2, !b2) -> !a3b2
  %m11 = mtf.mul %select_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t11 = mtf.reduce sum %m11 over ["a", "b"] : (!a3b2) -> !s
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
  return %l10 : !s
}
