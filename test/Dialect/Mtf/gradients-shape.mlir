// RUN: meshc-opt %s --mtf-differentiate | meshc-interp - --check-gradients | FileCheck %s
// Derivatives of the ops that move elements against finite differences.

!a2b3 = !mtf.tensor<[a=2, b=3], f32>
!a3b2 = !mtf.tensor<[a=3, b=2], f32>
!a3b2s2 = !mtf.tensor<[a=3, b=2, s=2], f32>
!a3b4 = !mtf.tensor<[a=3, b=4], f32>
!a3b8 = !mtf.tensor<[a=3, b=8], f32>
!a3c11 = !mtf.tensor<[a=3, c=11], f32>
!a3c2 = !mtf.tensor<[a=3, c=2], f32>
!a3c2w2 = !mtf.tensor<[a=3, c=2, w=2], f32>
!a3c3w2 = !mtf.tensor<[a=3, c=3, w=2], f32>
!a3c4 = !mtf.tensor<[a=3, c=4], f32>
!a3c4w3 = !mtf.tensor<[a=3, c=4, w=3], f32>
!a3c5 = !mtf.tensor<[a=3, c=5], f32>
!a3c7 = !mtf.tensor<[a=3, c=7], f32>
!c4 = !mtf.tensor<[c=4], f32>
!m6 = !mtf.tensor<[m=6], f32>
!p2q2 = !mtf.tensor<[p=2, q=2], f32>
!s = !mtf.tensor<[], f32>

// CHECK: gradient of rename: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of split: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of merge: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of slice: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of shift: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of shift_back: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of window: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of window_strided: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of fold: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pad: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pad_value: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pad_interior: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of pad_interior_value: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of crop: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of crop_value: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of concat_1: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of concat_2: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of stack_1: {{[0-9]+}} directions agree
// CHECK-NEXT: gradient of stack_2: {{[0-9]+}} directions agree
func.func @loss(%rename: !a3b2 {mtf.param = @rename}, %w_a2b3: !a2b3 {mtf.data = "w_a2b3"}, %split: !c4 {mtf.param = @split},
                %w_p2q2: !p2q2 {mtf.data = "w_p2q2"}, %merge: !a3b2 {mtf.param = @merge}, %w_m6: !m6 {mtf.data = "w_m6"},
                %slice: !a3c4 {mtf.param = @slice}, %w_a3c2: !a3c2 {mtf.data = "w_a3c2"}, %shift: !a3c4 {mtf.param = @shift},
                %w_a3c4: !a3c4 {mtf.data = "w_a3c4"}, %shift_back: !a3c4 {mtf.param = @shift_back},
                %window: !a3c4 {mtf.param = @window}, %w_a3c4w3: !a3c4w3 {mtf.data = "w_a3c4w3"},
                %window_strided: !a3c4 {mtf.param = @window_strided}, %w_a3c2w2: !a3c2w2 {mtf.data = "w_a3c2w2"},
                %fold: !a3c3w2 {mtf.param = @fold}, %w_a3c5: !a3c5 {mtf.data = "w_a3c5"}, %pad: !a3c4 {mtf.param = @pad},
                %pad_value: !s {mtf.param = @pad_value}, %w_a3c7: !a3c7 {mtf.data = "w_a3c7"},
                %pad_interior: !a3c4 {mtf.param = @pad_interior}, %pad_interior_value: !s {mtf.param = @pad_interior_value},
                %w_a3c11: !a3c11 {mtf.data = "w_a3c11"}, %crop: !a3c4 {mtf.param = @crop},
                %crop_value: !s {mtf.param = @crop_value}, %concat_1: !a3b2 {mtf.param = @concat_1},
                %concat_2: !a3c4 {mtf.param = @concat_2}, %w_a3b8: !a3b8 {mtf.data = "w_a3b8"},
                %stack_1: !a3b2 {mtf.param = @stack_1}, %stack_2: !a3b2 {mtf.param = @stack_2},
                %w_a3b2s2: !a3b2s2 {mtf.data = "w_a3b2s2"}) -> !s {
  %rename_y = mtf.rename %rename ["a", "b"] to ["b", "a"] : (!a3b2) -> !a2b3
  %m0 = mtf.mul %rename_y, %w_a2b3 : (!a2b3, !a2b3) -> !a2b3
  %t0 = mtf.reduce sum %m0 over ["a", "b"] : (!a2b3) -> !s
  %split_y = mtf.split %split "c" into ["p", "q"] : (!c4) -> !p2q2
  %m1 = mtf.mul %split_y, %w_p2q2 : (!p2q2, !p2q2) -> !p2q2
  %t1 = mtf.reduce sum %m1 over ["p", "q"] : (!p2q2) -> !s
  %merge_y = mtf.merge %merge ["b", "a"] into "m" : (!a3b2) -> !m6
  %m2 = mtf.mul %merge_y, %w_m6 : (!m6, !m6) -> !m6
  %t2 = mtf.reduce sum %m2 over ["m"] : (!m6) -> !s
  %slice_y = mtf.slice %slice "c" [1 : 4 : 2] : (!a3c4) -> !a3c2
  %m3 = mtf.mul %slice_y, %w_a3c2 : (!a3c2, !a3c2) -> !a3c2
  %t3 = mtf.reduce sum %m3 over ["a", "c"] : (!a3c2) -> !s
  %shift_y = mtf.shift %shift "c" by 1 : (!a3c4) -> !a3c4
  %m4 = mtf.mul %shift_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t4 = mtf.reduce sum %m4 over ["a", "c"] : (!a3c4) -> !s
  %shift_back_y = mtf.shift %shift_back "c" by -2 : (!a3c4) -> !a3c4
  %m5 = mtf.mul %shift_back_y, %w_a3c4 : (!a3c4, !a3c4) -> !a3c4
  %t5 = mtf.reduce sum %m5 over ["a", "c"] : (!a3c4) -> !s
  %window_y = mtf.window %window "c" into "w" stride 1 dilation 1 low 1 : (!a3c4) -> !a3c4w3
  %m6 = mtf.mul %window_y, %w_a3c4w3 : (!a3c4w3, !a3c4w3) -> !a3c4w3
  %t6 = mtf.reduce sum %m6 over ["a", "c", "w"] : (!a3c4w3) -> !s
  %window_strided_y = mtf.window %window_strided "c" into "w" stride 2 dilation 2 low 1 : (!a3c4) -> !a3c2w2
  %m7 = mtf.mul %window_strided_y, %w_a3c2w2 : (!a3c2w2, !a3c2w2) -> !a3c2w2
  %t7 = mtf.reduce sum %m7 over ["a", "c", "w"] : (!a3c2w2) -> !s
  %fold_y = mtf.fold %fold "w" onto "c" stride 2 dilation 1 low 1 : (!a3c3w2) -> !a3c5
  %m8 = mtf.mul %fold_y, %w_a3c5 : (!a3c5, !a3c5) -> !a3c5
  %t8 = mtf.reduce sum %m8 over ["a", "c"] : (!a3c5) -> !s
  %pad_y = mtf.pad %pad with %pad_value "c" [1, 2, 0] : (!a3c4, !s) -> !a3c7
  %m9 = mtf.mul %pad_y, %w_a3c7 : (!a3c7, !a3c7) -> !a3c7
  %t9 = mtf.reduce sum %m9 over ["a", "c"] : (!a3c7) -> !s
  %pad_interior_y = mtf.pad %pad_interior with %pad_interior_value "c" [1, 0, 2] : (!a3c4, !s) -> !a3c11
  %m10 = mtf.mul %pad_interior_y, %w_a3c11 : (!a3c11, !a3c11) -> !a3c11
  %t10 = mtf.reduce sum %m10 over ["a", "c"] : (!a3c11) -> !s
  %crop_y = mtf.pad %crop with %crop_value "c" [-1, 2, 0] : (!a3c4, !s) -> !a3c5
  %m11 = mtf.mul %crop_y, %w_a3c5 : (!a3c5, !a3c5) -> !a3c5
  %t11 = mtf.reduce sum %m11 over ["a", "c"] : (!a3c5) -> !s
  %concat_r = mtf.rename %concat_2 ["c"] to ["b"] : (!a3c4) -> !a3b4
  %concat_y = mtf.concat %concat_1, %concat_r, %concat_1 along "b" : (!a3b2, !a3b4, !a3b2) -> !a3b8
  %m12 = mtf.mul %concat_y, %w_a3b8 : (!a3b8, !a3b8) -> !a3b8
  %t12 = mtf.reduce sum %m12 over ["a", "b"] : (!a3b8) -> !s
  %stack_y = mtf.stack %stack_1, %stack_2 along "s" : (!a3b2, !a3b2) -> !a3b2s2
  %m13 = mtf.mul %stack_y, %w_a3b2s2 : (!a3b2s2, !a3b2s2) -> !a3b2s2
  %t13 = mtf.reduce sum %m13 over ["a", "b", "s"] : (!a3b2s2) -> !s
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
  return %l12 : !s
}
