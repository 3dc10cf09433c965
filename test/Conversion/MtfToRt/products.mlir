// RUN: meshc-opt %s --pass-pipeline='builtin.module(mtf-to-rt,rt.step(rt-reuse-buffers))' | FileCheck %s
// Dots as batched matrix products.

module attributes {mtf.dim_order = ["batch", "seq", "mem", "vocab", "embed", "heads", "head"], mtf.batch_dim = "batch"} {

// Two kept dims are one index; so are two contracted ones.
// CHECK-LABEL: rt.step @groups
// CHECK: rt.gemm {{.*}} batch [] m ["batch", "seq"] n ["embed"] k ["heads", "head"]
// CHECK-NOT: rt.copy
func.func @groups(%x: !mtf.tensor<[batch=2, seq=4, heads=3, head=5], f32>, %w: !mtf.tensor<[heads=3, head=5, embed=7], f32>) -> !mtf.tensor<[batch=2, seq=4, embed=7], f32> {
  %0 = mtf.dot %x, %w over ["heads", "head"] : (!mtf.tensor<[batch=2, seq=4, heads=3, head=5], f32>, !mtf.tensor<[heads=3, head=5, embed=7], f32>) -> !mtf.tensor<[batch=2, seq=4, embed=7], f32>
  return %0 : !mtf.tensor<[batch=2, seq=4, embed=7], f32>
}

// Dims of both operands and the result are batches. In the result's order (heads innermost) no matrix index is contiguous: a copy.
// CHECK-LABEL: rt.step @scores
// CHECK: rt.gemm {{.*}} batch ["batch", "heads"] m ["seq"] n ["mem"] k ["head"]
// CHECK: rt.copy
func.func @scores(%q: !mtf.tensor<[batch=2, seq=4, heads=3, head=5], f32>, %k: !mtf.tensor<[batch=2, mem=4, heads=3, head=5], f32>) -> !mtf.tensor<[batch=2, seq=4, heads=3, mem=4], f32> {
  %0 = mtf.dot %q, %k over ["head"] : (!mtf.tensor<[batch=2, seq=4, heads=3, head=5], f32>, !mtf.tensor<[batch=2, mem=4, heads=3, head=5], f32>) -> !mtf.tensor<[batch=2, seq=4, heads=3, mem=4], f32>
  return %0 : !mtf.tensor<[batch=2, seq=4, heads=3, mem=4], f32>
}

// The result's contiguous index is n, whichever operand it comes from.
// CHECK-LABEL: rt.step @swapped
// CHECK: rt.gemm %[[X:.*]], %[[DY:.*]] into {{.*}} m ["embed"] n ["heads", "head"] k ["batch"]
func.func @swapped(%dy: !mtf.tensor<[batch=2, heads=3, head=5], f32>, %x: !mtf.tensor<[batch=2, embed=7], f32>) -> !mtf.tensor<[embed=7, heads=3, head=5], f32> {
  %0 = mtf.dot %dy, %x over ["batch"] : (!mtf.tensor<[batch=2, heads=3, head=5], f32>, !mtf.tensor<[batch=2, embed=7], f32>) -> !mtf.tensor<[embed=7, heads=3, head=5], f32>
  return %0 : !mtf.tensor<[embed=7, heads=3, head=5], f32>
}

// Contracted dims that are not adjacent in one operand: that one is copied.
// CHECK-LABEL: rt.step @copied
// CHECK: rt.copy %{{.*}} to %{{.*}} : <[batch=2, seq=4, embed=7, heads=3], f32> to
// CHECK: rt.gemm {{.*}} k ["batch", "seq", "heads"]
func.func @copied(%x: !mtf.tensor<[batch=2, seq=4, embed=7, heads=3], f32>, %y: !mtf.tensor<[batch=2, seq=4, heads=3, head=5], f32>) -> !mtf.tensor<[embed=7, head=5], f32> {
  %0 = mtf.dot %x, %y over ["batch", "seq", "heads"] : (!mtf.tensor<[batch=2, seq=4, embed=7, heads=3], f32>, !mtf.tensor<[batch=2, seq=4, heads=3, head=5], f32>) -> !mtf.tensor<[embed=7, head=5], f32>
  return %0 : !mtf.tensor<[embed=7, head=5], f32>
}

// A sum of products is accumulated, without a kernel.
// CHECK-LABEL: rt.step @sum
// CHECK: rt.gemm %{{.*}}, %{{.*}} into
// CHECK: rt.gemm %{{.*}}, %{{.*}} accumulate into
// CHECK-NOT: rt.kernel
func.func @sum(%x: !mtf.tensor<[batch=2, embed=7], f32>, %v: !mtf.tensor<[embed=7, head=5], f32>, %w: !mtf.tensor<[embed=7, head=5], f32>) -> !mtf.tensor<[batch=2, head=5], f32> {
  %0 = mtf.dot %x, %v over ["embed"] : (!mtf.tensor<[batch=2, embed=7], f32>, !mtf.tensor<[embed=7, head=5], f32>) -> !mtf.tensor<[batch=2, head=5], f32>
  %1 = mtf.dot %x, %w over ["embed"] : (!mtf.tensor<[batch=2, embed=7], f32>, !mtf.tensor<[embed=7, head=5], f32>) -> !mtf.tensor<[batch=2, head=5], f32>
  %2 = mtf.add %0, %1 : (!mtf.tensor<[batch=2, head=5], f32>, !mtf.tensor<[batch=2, head=5], f32>) -> !mtf.tensor<[batch=2, head=5], f32>
  return %2 : !mtf.tensor<[batch=2, head=5], f32>
}
}
