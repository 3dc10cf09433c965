// RUN: meshc-fuzz %s
// An index past the size of a padded dimension finds zero, not the padding.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"], mtf.layout = #mtf.layout<[<["c", "a2"] -> ["data"] all "" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=1]>} {
  func.func @loss(%arg0: !mtf.tensor<[a2=1, layers=3], f32> {mtf.data = "new7"}, %arg1: !mtf.tensor<[a2=1], f32> {mtf.data = "x0"}, %arg2: !mtf.tensor<[], f32> {mtf.data = "x1"}, %arg3: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg4: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.repeat "layers" 3 reverse carries(%arg1 : !mtf.tensor<[a2=1], f32>) slices(%arg0 : !mtf.tensor<[a2=1, layers=3], f32>) -> !mtf.tensor<[a2=1], f32> {
    ^bb0(%i: !mtf.tensor<[], i32>, %arg5: !mtf.tensor<[a2=1], f32>, %arg6: !mtf.tensor<[a2=1], f32>):
      %4 = mtf.add %arg5, %arg2 : (!mtf.tensor<[a2=1], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[a2=1], f32>
      mtf.next carries(%4 : !mtf.tensor<[a2=1], f32>) stacks()
    }
    %1 = mtf.index "b" : <[b=2], i32>
    %2 = mtf.gather %0["a2" = %1] : (!mtf.tensor<[a2=1], f32>, !mtf.tensor<[b=2], i32>) -> !mtf.tensor<[b=2], f32>
    %3 = mtf.reduce  sum %2 over ["b"] : (!mtf.tensor<[b=2], f32>) -> !mtf.tensor<[], f32>
    return %3 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[a2=1, layers=3], f32> {mtf.data = "new7"}, %arg1: !mtf.tensor<[a2=1], f32> {mtf.data = "x0"}, %arg2: !mtf.tensor<[], f32> {mtf.data = "x1"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg1 : (!mtf.tensor<[a2=1], f32>) -> !mtf.tensor<[a2=1], f32>
    %1 = mtf.reduce  sum %0 over ["a2"] : (!mtf.tensor<[a2=1], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
}
