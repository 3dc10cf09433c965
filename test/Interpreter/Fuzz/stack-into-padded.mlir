// RUN: meshc-fuzz %s
// The loop's dim is renamed to one that is split, so it is padded: what no iteration writes is not known to be zero.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "d"], mtf.layout = #mtf.layout<[<["a"] -> ["model"] all "" #loc>, <["d"] -> ["model"] all "" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=1, "model"=2]>} {
  func.func @loss(%arg0: !mtf.tensor<[d=3], f32> {mtf.data = "x0"}, %arg1: !mtf.tensor<[layers=1], f32> {mtf.data = "x1"}, %arg2: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg3: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0:2 = mtf.repeat "layers" 1 carries(%arg0 : !mtf.tensor<[d=3], f32>) slices(%arg1 : !mtf.tensor<[layers=1], f32>) -> !mtf.tensor<[d=3], f32>, !mtf.tensor<[d=3, layers=1], f32> {
    ^bb0(%i: !mtf.tensor<[], i32>, %c: !mtf.tensor<[d=3], f32>, %s: !mtf.tensor<[], f32>):
      %4 = mtf.mul %c, %s : (!mtf.tensor<[d=3], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[d=3], f32>
      mtf.next carries(%4 : !mtf.tensor<[d=3], f32>) stacks(%4 : !mtf.tensor<[d=3], f32>)
    }
    %1 = mtf.rename %arg1 ["layers"] to ["a"] : (!mtf.tensor<[layers=1], f32>) -> !mtf.tensor<[a=1], f32>
    %2 = mtf.reduce sum %1 over ["a"] : (!mtf.tensor<[a=1], f32>) -> !mtf.tensor<[], f32>
    %3 = mtf.reduce sum %0#1 over ["d", "layers"] : (!mtf.tensor<[d=3, layers=1], f32>) -> !mtf.tensor<[], f32>
    %5 = mtf.add %2, %3 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
    return %5 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[d=3], f32> {mtf.data = "x0"}, %arg1: !mtf.tensor<[layers=1], f32> {mtf.data = "x1"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg0 : (!mtf.tensor<[d=3], f32>) -> !mtf.tensor<[d=3], f32>
    %1 = mtf.reduce sum %0 over ["d"] : (!mtf.tensor<[d=3], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
}
