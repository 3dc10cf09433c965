// RUN: meshc-fuzz %s
// The inner part of a split dimension is padded by a pin: its padding has no place in the whole.
module attributes {mtf.dim_order = ["a", "c", "d", "e", "e2"], mtf.layout = #mtf.layout<[<["c"] -> ["ctx", "data"] values "" loc(unknown)>, <["e2"] -> ["data"] pin "p2" loc(unknown)>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=1, "ctx"=1]>} {
  mtf.param @p2 : !mtf.tensor<[e2=3], f32> init <normal 2.000000e-02 : f64> {fan_in = [], fan_out = [], group = "default", no_arrow, order = ["e2"], states = [], update = @update.p2}
  func.func @update.p2(%arg0: !mtf.tensor<[e2=3], f32>, %arg1: !mtf.tensor<[e2=3], f32>, %arg2: !mtf.tensor<[], i32>, %arg3: !mtf.tensor<[], i32>) -> !mtf.tensor<[e2=3], f32> {
    %0 = mtf.sub %arg0, %arg1 : (!mtf.tensor<[e2=3], f32>, !mtf.tensor<[e2=3], f32>) -> !mtf.tensor<[e2=3], f32>
    return %0 : !mtf.tensor<[e2=3], f32>
  }
  func.func @loss(%arg0: !mtf.tensor<[e2=3], f32> {mtf.param = @p2}, %arg1: !mtf.tensor<[d=1, flat=15], f32> {mtf.data = "x0"}, %arg3: !mtf.tensor<[a=1], i32> {mtf.data = "x1"}, %arg4: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg5: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.split %arg1 "flat" into ["c", "e2"] : (!mtf.tensor<[d=1, flat=15], f32>) -> !mtf.tensor<[c=5, d=1, e2=3], f32>
    %1 = mtf.gather %0["c" = %arg3] : (!mtf.tensor<[c=5, d=1, e2=3], f32>, !mtf.tensor<[a=1], i32>) -> !mtf.tensor<[a=1, d=1, e2=3], f32>
    %values, %indices = mtf.top_k %1 over "e2" into "best" : (!mtf.tensor<[a=1, d=1, e2=3], f32>) -> (!mtf.tensor<[a=1, best=3, d=1], f32>, !mtf.tensor<[a=1, best=3, d=1], i32>)
    %2 = mtf.rename %values ["best"] to ["e2"] : (!mtf.tensor<[a=1, best=3, d=1], f32>) -> !mtf.tensor<[a=1, d=1, e2=3], f32>
    %3 = mtf.reduce  sum %arg0 over ["e2"] : (!mtf.tensor<[e2=3], f32>) -> !mtf.tensor<[], f32>
    %4 = mtf.reduce  sum %2 over ["a", "d", "e2"] : (!mtf.tensor<[a=1, d=1, e2=3], f32>) -> !mtf.tensor<[], f32>
    %5 = mtf.add %3, %4 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
    return %5 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[d=1, flat=15], f32> {mtf.data = "x0"}, %arg1: !mtf.tensor<[a=1], i32> {mtf.data = "x1"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.reduce  sum %arg0 over ["d", "flat"] : (!mtf.tensor<[d=1, flat=15], f32>) -> !mtf.tensor<[], f32>
    return %0 : !mtf.tensor<[], f32>
  }
}
