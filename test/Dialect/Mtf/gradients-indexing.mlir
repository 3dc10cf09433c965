// RUN: meshc-opt %s --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s
// Derivatives of gather, scatter and attention against finite differences.

!a3 = !mtf.tensor<[a=3], f32>
!a3_i = !mtf.tensor<[a=3], i32>
!a3b2 = !mtf.tensor<[a=3, b=2], f32>
!a3b2_i = !mtf.tensor<[a=3, b=2], i32>
!a3b2e2 = !mtf.tensor<[a=3, b=2, e=2], f32>
!a3c4 = !mtf.tensor<[a=3, c=4], f32>
!a3g2h2seq3 = !mtf.tensor<[a=3, g=2, h=2, seq=3], f32>
!a3g2seq3 = !mtf.tensor<[a=3, g=2, seq=3], f32>
!a3g2seq3v3 = !mtf.tensor<[a=3, g=2, seq=3, v=3], f32>
!a3h2mem4 = !mtf.tensor<[a=3, h=2, mem=4], f32>
!a3mem4v3 = !mtf.tensor<[a=3, mem=4, v=3], f32>
!c4_i = !mtf.tensor<[c=4], i32>
!c4e2 = !mtf.tensor<[c=4, e=2], f32>
!mem4_i = !mtf.tensor<[mem=4], i32>
!mem4seq3_b = !mtf.tensor<[mem=4, seq=3], i1>
!s = !mtf.tensor<[], f32>
!s_i = !mtf.tensor<[], i32>
!seq3_i = !mtf.tensor<[seq=3], i32>

// CHECK: gradient of gather: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of gather_batched: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of gather_partly: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of gather_one: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of gather_permuted: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of scatter: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of scatter_batched: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of attend_q: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of attend_k: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of attend_v: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of attend_causal_q: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of attend_causal_k: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of attend_causal_v: {{[0-9]+}} directions agree
func.func @loss(%rows: !a3b2_i {mtf.data = "rows"}, %picks: !a3_i {mtf.data = "picks"}, %single: !s_i {mtf.data = "single"},
                %order: !c4_i {mtf.data = "order"}, %gather: !c4e2 {mtf.param = @gather},
                %w_a3b2e2: !a3b2e2 {mtf.data = "w_a3b2e2"}, %gather_batched: !a3c4 {mtf.param = @gather_batched},
                %w_a3: !a3 {mtf.data = "w_a3"}, %gather_partly: !a3c4 {mtf.param = @gather_partly},
                %w_a3b2: !a3b2 {mtf.data = "w_a3b2"}, %gather_one: !a3c4 {mtf.param = @gather_one},
                %gather_permuted: !a3c4 {mtf.param = @gather_permuted}, %w_a3c4: !a3c4 {mtf.data = "w_a3c4"},
                %scatter: !a3b2e2 {mtf.param = @scatter}, %w_c4e2: !c4e2 {mtf.data = "w_c4e2"},
                %scatter_batched: !a3b2 {mtf.param = @scatter_batched}, %attend_q: !a3g2h2seq3 {mtf.param = @attend_q},
                %attend_k: !a3h2mem4 {mtf.param = @attend_k}, %attend_v: !a3mem4v3 {mtf.param = @attend_v},
                %w_a3g2seq3v3: !a3g2seq3v3 {mtf.data = "w_a3g2seq3v3"},
                %attend_causal_q: !a3g2h2seq3 {mtf.param = @attend_causal_q},
                %attend_causal_k: !a3h2mem4 {mtf.param = @attend_causal_k},
                %attend_causal_v: !a3mem4v3 {mtf.param = @attend_causal_v}) -> !s {
  %gather_y = mtf.gather %gather["c" = %rows] : (!c4e2, !a3b2_i) -> !a3b2e2
  %m0 = mtf.mul %gather_y, %w_a3b2e2 : (!a3b2e2, !a3b2e2) -> !a3b2e2
  %t0 = mtf.reduce sum %m0 over ["a", "b", "e"] : (!a3b2e2) -> !s
  %gather_batched_y = mtf.gather %gather_batched["c" = %picks] : (!a3c4, !a3_i) -> !a3
  %m1 = mtf.mul %gather_batched_y, %w_a3 : (!a3, !a3) -> !a3
  %t1 = mtf.reduce sum %m1 over ["a"] : (!a3) -> !s
  %gather_partly_y = mtf.gather %gather_partly["c" = %rows] : (!a3c4, !a3b2_i) -> !a3b2
  %m2 = mtf.mul %gather_partly_y, %w_a3b2 : (!a3b2, !a3b2) -> !a3b2
  %t2 = mtf.reduce sum %m2 over ["a", "b"] : (!a3b2) -> !s
  %gather_one_y = mtf.gather %gather_one["c" = %single] : (!a3c4, !s_i) -> !a3
  %m3 = mtf.mul %gather_one_y, %w_a3 : (!a3, !a3) -> !a3
  %t3 = mtf.reduce sum %m3 over ["a"] : (!a3) -> !s
  %gather_permuted_y = mtf.gather %gather_permuted["c" = %order] : (!a3c4, !c4_i) -> !a3c4
  %m4 = mtf.mul %gather_permuted_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t4 = mtf.reduce sum %m4 over ["a", "c"] : (!a3c4) -> !s
  %scatter_y = mtf.scatter_add %scatter at %rows into "c" : (!a3b2e2, !a3b2_i) -> !c4e2
  %m5 = mtf.mul %scatter_y, %w_c4e2 : (!c4e2, !c4e2) -> !c4e2
  %t5 = mtf.reduce sum %m5 over ["c", "e"] : (!c4e2) -> !s
  %scatter_batched_y = mtf.scatter_add %scatter_batched at %rows into "c" : (!a3b2, !a3b2_i) -> !a3c4
  %m6 = mtf.mul %scatter_batched_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t6 = mtf.reduce sum %m6 over ["a", "c"] : (!a3c4) -> !s
  %i = mtf.index "seq" : !seq3_i
  %j = mtf.index "mem" : !mem4_i
  %mask = mtf.compare le %j, %i : (!mem4_i, !seq3_i) -> !mem4seq3_b
  %attend_y, %attend_lse = mtf.attend %attend_q, %attend_k, %attend_v over ["h"], "mem" scale 0.7
    : (!a3g2h2seq3, !a3h2mem4, !a3mem4v3) -> (!a3g2seq3v3, !a3g2seq3)
  %m7 = mtf.mul %attend_y, %w_a3g2seq3v3 : (!a3g2seq3v3, !a3g2seq3v3) -> !a3g2seq3v3
  %t7 = mtf.reduce sum %m7 over ["a", "g", "seq", "v"] : (!a3g2seq3v3) -> !s
  %attend_causal_y, %attend_causal_lse = mtf.attend %attend_causal_q, %attend_causal_k, %attend_causal_v where %mask over ["h"], "mem" scale 0.7
    : (!a3g2h2seq3, !a3h2mem4, !a3mem4v3, !mem4seq3_b) -> (!a3g2seq3v3, !a3g2seq3)
  %m8 = mtf.mul %attend_causal_y, %w_a3g2seq3v3 : (!a3g2seq3v3, !a3g2seq3v3) -> !a3g2seq3v3
  %t8 = mtf.reduce sum %m8 over ["a", "g", "seq", "v"] : (!a3g2seq3v3) -> !s
  %l0 = mtf.add %t0, %t1 : (!s, !s) -> !s
  %l1 = mtf.add %l0, %t2 : (!s, !s) -> !s
  %l2 = mtf.add %l1, %t3 : (!s, !s) -> !s
  %l3 = mtf.add %l2, %t4 : (!s, !s) -> !s
  %l4 = mtf.add %l3, %t5 : (!s, !s) -> !s
  %l5 = mtf.add %l4, %t6 : (!s, !s) -> !s
  %l6 = mtf.add %l5, %t7 : (!s, !s) -> !s
  %l7 = mtf.add %l6, %t8 : (!s, !s) -> !s
  return %l7 : !s
}
