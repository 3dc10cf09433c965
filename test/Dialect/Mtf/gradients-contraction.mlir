// RUN: meshc-opt %s --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s
// Derivatives of products and reductions against finite differences. `prod_zero` has an element that is zero, `max_tie` two equal ones.

!a3 = !mtf.tensor<[a=3], f32>
!a3b2 = !mtf.tensor<[a=3, b=2], f32>
!a3b2c4 = !mtf.tensor<[a=3, b=2, c=4], f32>
!a3c4 = !mtf.tensor<[a=3, c=4], f32>
!a3k2 = !mtf.tensor<[a=3, k=2], f32>
!a3k2_i = !mtf.tensor<[a=3, k=2], i32>
!b2 = !mtf.tensor<[b=2], f32>
!b2_i = !mtf.tensor<[b=2], i32>
!b2c4 = !mtf.tensor<[b=2, c=4], f32>
!s = !mtf.tensor<[], f32>

// CHECK: gradient of dot_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_batched_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_batched_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_outer_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_outer_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_full_l: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of dot_full_r: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of sum: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of max: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of min: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of prod: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of prod_zero: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of prod_zeros: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of max_tie: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of logsumexp: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of softmax: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of cumsum: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of cumsum_exclusive: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of cumsum_reverse: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of cumsum_exclusive_reverse: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of top_k: {{[0-9]+}} directions agree
func.func @loss(%dot_l: !a3b2 {mtf.param = @dot_l}, %dot_r: !b2c4 {mtf.param = @dot_r}, %w_a3c4: !a3c4 {mtf.data = "w_a3c4"},
                %dot_batched_l: !a3b2c4 {mtf.param = @dot_batched_l}, %dot_batched_r: !a3b2 {mtf.param = @dot_batched_r},
                %dot_outer_l: !a3 {mtf.param = @dot_outer_l}, %dot_outer_r: !b2 {mtf.param = @dot_outer_r},
                %w_a3b2: !a3b2 {mtf.data = "w_a3b2"}, %dot_full_l: !a3b2 {mtf.param = @dot_full_l},
                %dot_full_r: !a3b2 {mtf.param = @dot_full_r}, %w_s: !s {mtf.data = "w_s"}, %sum: !a3b2c4 {mtf.param = @sum},
                %w_a3: !a3 {mtf.data = "w_a3"}, %max: !a3b2c4 {mtf.param = @max}, %min: !a3b2c4 {mtf.param = @min},
                %prod: !a3b2c4 {mtf.param = @prod}, %prod_zero: !a3b2 {mtf.param = @prod_zero},
                %prod_zeros: !b2c4 {mtf.param = @prod_zeros}, %max_tie: !a3 {mtf.param = @max_tie},
                %logsumexp: !a3b2c4 {mtf.param = @logsumexp}, %softmax: !a3b2c4 {mtf.param = @softmax},
                %w_a3b2c4: !a3b2c4 {mtf.data = "w_a3b2c4"}, %cumsum: !a3c4 {mtf.param = @cumsum},
                %cumsum_exclusive: !a3c4 {mtf.param = @cumsum_exclusive}, %cumsum_reverse: !a3c4 {mtf.param = @cumsum_reverse},
                %cumsum_exclusive_reverse: !a3c4 {mtf.param = @cumsum_exclusive_reverse}, %top_k: !a3c4 {mtf.param = @top_k},
                %w_a3k2: !a3k2 {mtf.data = "w_a3k2"}) -> !s {
  %dot_y = mtf.dot %dot_l, %dot_r over ["b"] : (!a3b2, !b2c4) -> !a3c4
  %m0 = mtf.mul %dot_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t0 = mtf.reduce sum %m0 over ["a", "c"] : (!a3c4) -> !s
  %dot_batched_y = mtf.dot %dot_batched_l, %dot_batched_r over ["b"] : (!a3b2c4, !a3b2) -> !a3c4
  %m1 = mtf.mul %dot_batched_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t1 = mtf.reduce sum %m1 over ["a", "c"] : (!a3c4) -> !s
  %dot_outer_y = mtf.dot %dot_outer_l, %dot_outer_r over [] : (!a3, !b2) -> !a3b2
  %m2 = mtf.mul %dot_outer_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t2 = mtf.reduce sum %m2 over ["a", "b"] : (!a3b2) -> !s
  %dot_full_y = mtf.dot %dot_full_l, %dot_full_r over ["a", "b"] : (!a3b2, !a3b2) -> !s
  %m3 = mtf.mul %dot_full_y, %w_s : (!s, !s) -> !s
  %t3 = mtf.add %m3, %m3 : (!s, !s) -> !s
  %sum_y = mtf.reduce sum %sum over ["b", "c"] : (!a3b2c4) -> !a3
  %m4 = mtf.mul %sum_y, %w_a3 : (!a3, !a3) -> !a3
  %t4 = mtf.reduce sum %m4 over ["a"] : (!a3) -> !s
  %max_y = mtf.reduce max %max over ["b", "c"] : (!a3b2c4) -> !a3
  %m5 = mtf.mul %max_y, %w_a3 : (!a3, !a3) -> !a3
  %t5 = mtf.reduce sum %m5 over ["a"] : (!a3) -> !s
  %min_y = mtf.reduce min %min over ["b", "c"] : (!a3b2c4) -> !a3
  %m6 = mtf.mul %min_y, %w_a3 : (!a3, !a3) -> !a3
  %t6 = mtf.reduce sum %m6 over ["a"] : (!a3) -> !s
  %prod_y = mtf.reduce prod %prod over ["b", "c"] : (!a3b2c4) -> !a3
  %m7 = mtf.mul %prod_y, %w_a3 : (!a3, !a3) -> !a3
  %t7 = mtf.reduce sum %m7 over ["a"] : (!a3) -> !s
  %ib = mtf.index "b" : !b2_i
  %fb = mtf.cast %ib : (!b2_i) -> !b2
  %z = mtf.mul %prod_zero, %fb : (!a3b2, !b2) -> !a3b2
  %prod_zero_y = mtf.reduce prod %z over ["b"] : (!a3b2) -> !a3
  %m8 = mtf.mul %prod_zero_y, %w_a3 : (!a3, !a3) -> !a3
  %t8 = mtf.reduce sum %m8 over ["a"] : (!a3) -> !s
  %zs = mtf.mul %prod_zeros, %fb : (!b2c4, !b2) -> !b2c4
  %prod_zeros_y = mtf.reduce prod %zs over ["b", "c"] : (!b2c4) -> !s
  %m9 = mtf.mul %prod_zeros_y, %w_s : (!s, !s) -> !s
  %t9 = mtf.add %m9, %m9 : (!s, !s) -> !s
  %max_tie_x = mtf.broadcast %max_tie : (!a3) -> !a3b2
  %max_tie_y = mtf.reduce max %max_tie_x over ["b"] : (!a3b2) -> !a3
  %m10 = mtf.mul %max_tie_y, %w_a3 : (!a3, !a3) -> !a3
  %t10 = mtf.reduce sum %m10 over ["a"] : (!a3) -> !s
  %logsumexp_y = mtf.logsumexp %logsumexp over ["b", "c"] : (!a3b2c4) -> !a3
  %m11 = mtf.mul %logsumexp_y, %w_a3 : (!a3, !a3) -> !a3
  %t11 = mtf.reduce sum %m11 over ["a"] : (!a3) -> !s
  %softmax_y = mtf.softmax %softmax over ["b", "c"] : (!a3b2c4) -> !a3b2c4
  %m12 = mtf.mul %softmax_y, %w_a3b2c4 : (!a3b2c4, !a3b2c4) -> !a3b2c4
  %t12 = mtf.reduce sum %m12 over ["a", "b", "c"] : (!a3b2c4) -> !s
  %cumsum_y = mtf.cumsum %cumsum over "c"  : (!a3c4) -> !a3c4
  %m13 = mtf.mul %cumsum_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t13 = mtf.reduce sum %m13 over ["a", "c"] : (!a3c4) -> !s
  %cumsum_exclusive_y = mtf.cumsum %cumsum_exclusive over "c" exclusive : (!a3c4) -> !a3c4
  %m14 = mtf.mul %cumsum_exclusive_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t14 = mtf.reduce sum %m14 over ["a", "c"] : (!a3c4) -> !s
  %cumsum_reverse_y = mtf.cumsum %cumsum_reverse over "c" reverse : (!a3c4) -> !a3c4
  %m15 = mtf.mul %cumsum_reverse_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t15 = mtf.reduce sum %m15 over ["a", "c"] : (!a3c4) -> !s
  %cumsum_exclusive_reverse_y = mtf.cumsum %cumsum_exclusive_reverse over "c" exclusive reverse : (!a3c4) -> !a3c4
  %m16 = mtf.mul %cumsum_exclusive_reverse_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t16 = mtf.reduce sum %m16 over ["a", "c"] : (!a3c4) -> !s
  %top_k_y, %top_k_i = mtf.top_k %top_k over "c" into "k" : (!a3c4) -> (!a3k2, !a3k2_i)
  %m17 = mtf.mul %top_k_y, %w_a3k2 : (!a3k2, !a3k2) -> !a3k2
  %t17 = mtf.reduce sum %m17 over ["a", "k"] : (!a3k2) -> !s
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
  %l16 = mtf.add %l15, %t17 : (!s, !s) -> !s
  return %l16 : !s
}
