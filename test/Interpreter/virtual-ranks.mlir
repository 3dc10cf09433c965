// RUN: split-file %s %t
// RUN: meshc-interp %t/global.mlir --entry=mlp --compare=%t/sharded.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: meshc-interp %t/global.mlir --entry=mlp > %t/global.txt
// RUN: meshc-interp %t/sharded.mlir --entry=mlp > %t/sharded.txt
// RUN: diff %t/global.txt %t/sharded.txt
// RUN: not meshc-interp %t/global.mlir --entry=mlp --compare=%t/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not meshc-interp %t/padding.mlir --entry=f 2>&1 | FileCheck %s --check-prefix=PADDING
// RUN: not meshc-interp %t/replicas.mlir --entry=f 2>&1 | FileCheck %s --check-prefix=REPLICAS
// RUN: not meshc-interp %t/global.mlir --entry=nothing 2>&1 | FileCheck %s --check-prefix=ENTRY

// EQUAL: equal: 1 results, 1 taps
// ENTRY: no function 'nothing'

//--- global.mlir
func.func @mlp(%x: !mtf.tensor<[batch=3, embed=4], f32>, %w: !mtf.tensor<[embed=4, ff=5], f32>, %v: !mtf.tensor<[ff=5, embed=4], f32>)
    -> !mtf.tensor<[batch=3, embed=4], f32> {
  %0 = mtf.dot %x, %w over ["embed"] : (!mtf.tensor<[batch=3, embed=4], f32>, !mtf.tensor<[embed=4, ff=5], f32>) -> !mtf.tensor<[batch=3, ff=5], f32>
  %1 = mtf.tanh %0 : (!mtf.tensor<[batch=3, ff=5], f32>) -> !mtf.tensor<[batch=3, ff=5], f32>
  %2 = mtf.tap "h" %1 : (!mtf.tensor<[batch=3, ff=5], f32>) -> !mtf.tensor<[batch=3, ff=5], f32>
  %3 = mtf.dot %2, %v over ["ff"] : (!mtf.tensor<[batch=3, ff=5], f32>, !mtf.tensor<[embed=4, ff=5], f32>) -> !mtf.tensor<[batch=3, embed=4], f32>
  return %3 : !mtf.tensor<[batch=3, embed=4], f32>
}

// Megatron's MLP: batch over data, ff over model, both with padding; one reduction at the end.
//--- sharded.mlir
!x = !mtf.tensor<[batch=3 pad 4 (data), embed=4], f32>
!h = !mtf.tensor<[batch=3 pad 4 (data), ff=5 pad 6 (model)], f32>
!hz = !mtf.tensor<[batch=3 pad 4 (data), ff=5 pad 6 (model)], f32, padding(zero)>
!w = !mtf.tensor<[embed=4, ff=5 pad 6 (model)], f32, padding(zero)>
!p = !mtf.tensor<[batch=3 pad 4 (data), embed=4], f32, partial(sum: model)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @mlp(%x: !x, %w: !w, %v: !w) -> !x {
  %0 = mtf.dot %x, %w over ["embed"] : (!x, !w) -> !h
  %1 = mtf.tanh %0 : (!h) -> !h
  %2 = mtf.tap "h" %1 : (!h) -> !h
  %3 = mtf.fill_padding %2 : !h -> !hz
  %4 = mtf.dot %3, %v over ["ff"] : (!hz, !w) -> !p
  %5 = mtf.reshard %4 : !p -> !x
  return %5 : !x
}
}

// The sum of replicated values as if they were partial: every element comes out doubled.
// TWICE: error: result 'result0' differs at [batch=0, embed=0]
//--- twice.mlir
!x = !mtf.tensor<[batch=3 pad 4 (data), embed=4], f32>
!h = !mtf.tensor<[batch=3 pad 4 (data), ff=5], f32>
!w = !mtf.tensor<[embed=4, ff=5], f32>
!p = !mtf.tensor<[batch=3 pad 4 (data), embed=4], f32, partial(sum: model)>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
func.func @mlp(%x: !x, %w: !w, %v: !w) -> !x {
  %0 = mtf.dot %x, %w over ["embed"] : (!x, !w) -> !h
  %1 = mtf.tanh %0 : (!h) -> !h
  %2 = mtf.tap "h" %1 : (!h) -> !h
  %3 = mtf.dot %2, %v over ["ff"] : (!h, !w) -> !p
  %4 = mtf.reshard %3 : !p -> !x
  return %4 : !x
}
}

// PADDING: error: the type claims padding(zero), but rank 1 (model=1) holds 1 there
//--- padding.mlir
module attributes {mtf.mesh = #mtf.mesh<"pod", ["model"=2]>} {
func.func @f(%x: !mtf.tensor<[a=3 pad 4 (model)], f32, padding(zero)>) -> !mtf.tensor<[a=3 pad 4 (model)], f32> {
  %0 = mtf.cos %x : (!mtf.tensor<[a=3 pad 4 (model)], f32, padding(zero)>) -> !mtf.tensor<[a=3 pad 4 (model)], f32, padding(zero)>
  %1 = mtf.sin %0 : (!mtf.tensor<[a=3 pad 4 (model)], f32, padding(zero)>) -> !mtf.tensor<[a=3 pad 4 (model)], f32>
  return %1 : !mtf.tensor<[a=3 pad 4 (model)], f32>
}
}

// A sum over a split dim is partial; a type that calls it replicated is caught where it is made.
// REPLICAS: error: the type says replicated, but rank 1 (model=1) and rank 0 (model=0) hold different values
//--- replicas.mlir
module attributes {mtf.mesh = #mtf.mesh<"pod", ["model"=2]>} {
func.func @f(%x: !mtf.tensor<[a=4], f32>) -> !mtf.tensor<[a=4], f32> {
  %0 = mtf.tanh %x : (!mtf.tensor<[a=4], f32>) -> !mtf.tensor<[a=4], f32, partial(sum: model)>
  %1 = mtf.reshard %0 : !mtf.tensor<[a=4], f32, partial(sum: model)> -> !mtf.tensor<[a=4 (model)], f32>
  %2 = mtf.reshard %1 : !mtf.tensor<[a=4 (model)], f32> -> !mtf.tensor<[a=4], f32, partial(sum: model)>
  %3 = mtf.neg %2 : (!mtf.tensor<[a=4], f32, partial(sum: model)>) -> !mtf.tensor<[a=4], f32>
  return %3 : !mtf.tensor<[a=4], f32>
}
}
