// RUN: meshc-fuzz %s
// The values of an attention have a head dim of their own, which is split: the cotangents of queries and keys are sums over it.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"], mtf.layout = #mtf.layout<[<["tap", "best"] -> ["model"] all "" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=1, "model"=2, "ctx"=1]>} {
  mtf.param @p3 : !mtf.tensor<[e=6], f32> init <normal 2.000000e-02 : f64> {fan_in = [], fan_out = [], group = "default", no_arrow, order = ["e"], states = ["m"], update = @update.p3}
  func.func @update.p3(%arg0: !mtf.tensor<[e=6], f32>, %arg1: !mtf.tensor<[e=6], f32>, %arg2: !mtf.tensor<[e=6], f32>, %arg3: !mtf.tensor<[], i32>, %arg4: !mtf.tensor<[], i32>) -> (!mtf.tensor<[e=6], f32>, !mtf.tensor<[e=6], f32>) {
    %0 = mtf.constant 0.899999976 : f32 : <[], f32>
    %1 = mtf.mul %arg2, %0 : (!mtf.tensor<[e=6], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[e=6], f32>
    %2 = mtf.add %1, %arg1 : (!mtf.tensor<[e=6], f32>, !mtf.tensor<[e=6], f32>) -> !mtf.tensor<[e=6], f32>
    %3 = mtf.constant 1.000000e-01 : f32 : <[], f32>
    %4 = mtf.mul %2, %3 : (!mtf.tensor<[e=6], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[e=6], f32>
    %5 = mtf.sub %arg0, %4 : (!mtf.tensor<[e=6], f32>, !mtf.tensor<[e=6], f32>) -> !mtf.tensor<[e=6], f32>
    return %5, %2 : !mtf.tensor<[e=6], f32>, !mtf.tensor<[e=6], f32>
  }
  func.func @loss(%arg0: !mtf.tensor<[e=6], f32> {mtf.param = @p3}, %arg1: !mtf.tensor<[c=3, tap=3], f32> {mtf.data = "new11"}, %arg2: !mtf.tensor<[c=3, e=6], i1> {mtf.data = "new7"}, %arg3: !mtf.tensor<[], f32> {mtf.data = "x0"}, %arg4: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg5: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.window %arg0 "e" into "tap" stride 1 dilation 2 low 2 : (!mtf.tensor<[e=6], f32>) -> !mtf.tensor<[e=6, tap=3], f32>
    %1 = mtf.rename %arg1 ["tap"] to ["d"] : (!mtf.tensor<[c=3, tap=3], f32>) -> !mtf.tensor<[c=3, d=3], f32>
    %output, %lse = mtf.attend %0, %arg1, %1 where %arg2 over ["tap"], "c" scale 5.000000e-01 : (!mtf.tensor<[e=6, tap=3], f32>, !mtf.tensor<[c=3, tap=3], f32>, !mtf.tensor<[c=3, d=3], f32>, !mtf.tensor<[c=3, e=6], i1>) -> (!mtf.tensor<[d=3, e=6], f32>, !mtf.tensor<[e=6], f32>)
    %values, %indices = mtf.top_k %output over "e" into "best" : (!mtf.tensor<[d=3, e=6], f32>) -> (!mtf.tensor<[best=6, d=3], f32>, !mtf.tensor<[best=6, d=3], i32>)
    %2 = mtf.rename %values ["best"] to ["e"] : (!mtf.tensor<[best=6, d=3], f32>) -> !mtf.tensor<[d=3, e=6], f32>
    %3 = mtf.reduce  sum %2 over ["d", "e"] : (!mtf.tensor<[d=3, e=6], f32>) -> !mtf.tensor<[], f32>
    return %3 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[c=3, tap=3], f32> {mtf.data = "new11"}, %arg1: !mtf.tensor<[c=3, e=6], i1> {mtf.data = "new7"}, %arg2: !mtf.tensor<[], f32> {mtf.data = "x0"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg2 : (!mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
    return %0 : !mtf.tensor<[], f32>
  }
}
