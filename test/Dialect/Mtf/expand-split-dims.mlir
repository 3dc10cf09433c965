// RUN: meshc-opt %s -mtf-expand-split-dims | FileCheck %s
// RUN: meshc-opt %s -mtf-expand-split-dims -mtf-fill-padding -mtf-partition -spmd-verify -o %t.spmd.mlir
// RUN: sed -e 's/ pad [0-9]* (model)//g' -e 's/ (model)//g' %s | meshc-interp --entry=softmax --compare=%t.spmd.mlir
// RUN: sed -e 's/ pad [0-9]* (model)//g' -e 's/ (model)//g' %s | meshc-interp --entry=logsumexp --compare=%t.spmd.mlir

!x = !mtf.tensor<[row=3, vocab=7 pad 8 (model)], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["model"=4]>} {
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: !x) -> !x {
  // CHECK: %[[LOCAL:.*]] = mtf.reduce {{ *}}max %[[X:.*]] over ["vocab"] : {{.*}} -> !mtf.tensor<[row=3], f32, partial(max: model)>
  // CHECK: %[[MAX:.*]] = mtf.reshard %[[LOCAL]] {reason = "the maximum over 'vocab'"}
  // CHECK: %[[LOWEST:.*]] = mtf.constant -3.40282347E+38
  // CHECK: %[[BOUND:.*]] = mtf.max %[[MAX]], %[[LOWEST]]
  // CHECK: %[[DIFF:.*]] = mtf.sub %[[X]], %[[BOUND]]
  // CHECK: %[[EXP:.*]] = mtf.exp %[[DIFF]]
  // CHECK: %[[SUM:.*]] = mtf.reduce {{ *}}sum %[[EXP]] over ["vocab"] : {{.*}} -> !mtf.tensor<[row=3], f32, partial(sum: model)>
  // CHECK: %[[ALL:.*]] = mtf.reshard %[[SUM]]
  // CHECK: mtf.div %[[EXP]], %[[ALL]]
  %0 = mtf.softmax %x over ["vocab"] : (!x) -> !x
  return %0 : !x
}

// CHECK-LABEL: func.func @logsumexp
func.func @logsumexp(%x: !x) -> !mtf.tensor<[row=3], f32> {
  // CHECK: %[[ALL:.*]] = mtf.reshard {{.*}} {reason = "the sum over 'vocab'"}
  // CHECK: %[[LOG:.*]] = mtf.log %[[ALL]]
  // CHECK: mtf.add %[[LOG]],
  %0 = mtf.logsumexp %x over ["vocab"] : (!x) -> !mtf.tensor<[row=3], f32>
  return %0 : !mtf.tensor<[row=3], f32>
}

// Nothing to do where the dimension is whole.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: mtf.softmax
func.func @whole(%x: !mtf.tensor<[row=3, vocab=7], f32>) -> !mtf.tensor<[row=3, vocab=7], f32> {
  %0 = mtf.softmax %x over ["vocab"] : (!mtf.tensor<[row=3, vocab=7], f32>) -> !mtf.tensor<[row=3, vocab=7], f32>
  return %0 : !mtf.tensor<[row=3, vocab=7], f32>
}
}
