// RUN: meshc-fuzz %s
// Updates in the padding of a dim that is scattered into itself do not count.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"], mtf.layout = #mtf.layout<[<["d"] -> ["model"] all "" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=1, "model"=2, "ctx"=1]>} {
  func.func @loss(%arg0: !mtf.tensor<[e2=1], f32> {mtf.data = "new5"}, %arg1: !mtf.tensor<[b=6, c=1, e2=5], f32> {mtf.data = "x0"}, %arg2: !mtf.tensor<[b2=1, d=1], i32> {mtf.data = "x2"}, %arg3: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg4: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.gather %arg0["e2" = %arg2] : (!mtf.tensor<[e2=1], f32>, !mtf.tensor<[b2=1, d=1], i32>) -> !mtf.tensor<[b2=1, d=1], f32>
    %1 = mtf.scatter_add %0 at %arg2 into "d" : (!mtf.tensor<[b2=1, d=1], f32>, !mtf.tensor<[b2=1, d=1], i32>) -> !mtf.tensor<[d=1], f32>
    %2 = mtf.reduce  sum %1 over ["d"] : (!mtf.tensor<[d=1], f32>) -> !mtf.tensor<[], f32>
    return %2 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[e2=1], f32> {mtf.data = "new5"}, %arg1: !mtf.tensor<[b=6, c=1, e2=5], f32> {mtf.data = "x0"}, %arg2: !mtf.tensor<[b2=1, d=1], i32> {mtf.data = "x2"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg1 : (!mtf.tensor<[b=6, c=1, e2=5], f32>) -> !mtf.tensor<[b=6, c=1, e2=5], f32>
    %1 = mtf.reduce  sum %0 over ["b", "c", "e2"] : (!mtf.tensor<[b=6, c=1, e2=5], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
}
