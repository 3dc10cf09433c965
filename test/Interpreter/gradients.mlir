// RUN: meshc-opt %s --mtf-differentiate | meshc-interp --check-gradients | FileCheck %s
// RUN: not meshc-interp %s --check-gradients 2>&1 | FileCheck %s --check-prefix=MISSING

// CHECK: gradient of w: 8 directions agree to {{[0-9]}}e-
// CHECK: gradient of b: 4 directions agree to
// MISSING: error: --check-gradients needs functions 'loss' and 'loss_grad'
func.func @loss(%w: !mtf.tensor<[i=3, o=2], f32> {mtf.param = @w}, %b: !mtf.tensor<[o=2], f32> {mtf.param = @b},
                %x: !mtf.tensor<[i=3], f32> {mtf.data = "x"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
  %0 = mtf.dot %x, %w over ["i"] : (!mtf.tensor<[i=3], f32>, !mtf.tensor<[i=3, o=2], f32>) -> !mtf.tensor<[o=2], f32>
  %1 = mtf.add %0, %b : (!mtf.tensor<[o=2], f32>, !mtf.tensor<[o=2], f32>) -> !mtf.tensor<[o=2], f32>
  %2 = mtf.logsumexp %1 over ["o"] : (!mtf.tensor<[o=2], f32>) -> !mtf.tensor<[], f32>
  return %2 : !mtf.tensor<[], f32>
}
