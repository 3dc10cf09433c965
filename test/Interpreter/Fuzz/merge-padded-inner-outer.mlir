// RUN: meshc-fuzz %s
// Both the outer and an inner part of a merged dimension are padded.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"], mtf.layout = #mtf.layout<[<["flat"] -> ["model"] all "" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=1, "model"=3, "ctx"=1]>} {
  mtf.param @p1 : !mtf.tensor<[b=5, e=5], f32> init <normal 2.000000e-02 : f64> {fan_in = [], fan_out = [], group = "default", no_arrow, order = ["b", "e"], states = ["m"], update = @update.p1}
  func.func @update.p1(%arg0: !mtf.tensor<[b=5, e=5], f32>, %arg1: !mtf.tensor<[b=5, e=5], f32>, %arg2: !mtf.tensor<[b=5, e=5], f32>, %arg3: !mtf.tensor<[], i32>, %arg4: !mtf.tensor<[], i32>) -> (!mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[b=5, e=5], f32>) {
    %0 = mtf.constant 0.899999976 : f32 : <[], f32>
    %1 = mtf.mul %arg2, %0 : (!mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[b=5, e=5], f32>
    %2 = mtf.add %1, %arg1 : (!mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[b=5, e=5], f32>) -> !mtf.tensor<[b=5, e=5], f32>
    %3 = mtf.constant 1.000000e-01 : f32 : <[], f32>
    %4 = mtf.mul %2, %3 : (!mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[b=5, e=5], f32>
    %5 = mtf.sub %arg0, %4 : (!mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[b=5, e=5], f32>) -> !mtf.tensor<[b=5, e=5], f32>
    return %5, %2 : !mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[b=5, e=5], f32>
  }
  func.func @loss(%arg0: !mtf.tensor<[b=5, e=5], f32> {mtf.param = @p1}, %arg1: !mtf.tensor<[a2=1, b=5], f32> {mtf.data = "new28"}, %arg2: !mtf.tensor<[b=5, b2=5, d=4, e=5], f32> {mtf.data = "new15"}, %arg3: !mtf.tensor<[b=2, b2=5, d=4, e=5], f32> {mtf.data = "new14"}, %arg4: !mtf.tensor<[d2=5], f32> {mtf.data = "x0"}, %arg5: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg6: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.rename %arg1 ["b"] to ["d"] : (!mtf.tensor<[a2=1, b=5], f32>) -> !mtf.tensor<[a2=1, d=5], f32>
    %output, %lse = mtf.attend %arg0, %arg1, %0 over ["b"], "a2" scale 5.000000e-01 : (!mtf.tensor<[b=5, e=5], f32>, !mtf.tensor<[a2=1, b=5], f32>, !mtf.tensor<[a2=1, d=5], f32>) -> (!mtf.tensor<[d=5, e=5], f32>, !mtf.tensor<[e=5], f32>)
    %1 = mtf.concat %arg3, %arg2, %arg3 along "b" : (!mtf.tensor<[b=2, b2=5, d=4, e=5], f32>, !mtf.tensor<[b=5, b2=5, d=4, e=5], f32>, !mtf.tensor<[b=2, b2=5, d=4, e=5], f32>) -> !mtf.tensor<[b=9, b2=5, d=4, e=5], f32>
    %2 = mtf.merge %1 ["b2", "d", "e"] into "flat" : (!mtf.tensor<[b=9, b2=5, d=4, e=5], f32>) -> !mtf.tensor<[b=9, flat=100], f32>
    %3 = mtf.sin %2 : (!mtf.tensor<[b=9, flat=100], f32>) -> !mtf.tensor<[b=9, flat=100], f32>
    %4 = mtf.split %3 "flat" into ["b2", "d", "e"] : (!mtf.tensor<[b=9, flat=100], f32>) -> !mtf.tensor<[b=9, b2=5, d=4, e=5], f32>
    %5 = mtf.rename %output ["d"] to ["b2"] : (!mtf.tensor<[d=5, e=5], f32>) -> !mtf.tensor<[b2=5, e=5], f32>
    %6 = mtf.rename %5 ["e"] to ["b"] : (!mtf.tensor<[b2=5, e=5], f32>) -> !mtf.tensor<[b=5, b2=5], f32>
    %output_0, %lse_1 = mtf.attend %output, %5, %6 over ["e"], "b2" scale 5.000000e-01 : (!mtf.tensor<[d=5, e=5], f32>, !mtf.tensor<[b2=5, e=5], f32>, !mtf.tensor<[b=5, b2=5], f32>) -> (!mtf.tensor<[b=5, d=5], f32>, !mtf.tensor<[d=5], f32>)
    %7 = mtf.reduce  sum %4 over ["b", "b2", "d", "e"] : (!mtf.tensor<[b=9, b2=5, d=4, e=5], f32>) -> !mtf.tensor<[], f32>
    %8 = mtf.reduce  sum %output_0 over ["b", "d"] : (!mtf.tensor<[b=5, d=5], f32>) -> !mtf.tensor<[], f32>
    %9 = mtf.add %7, %8 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
    return %9 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[a2=1, b=5], f32> {mtf.data = "new28"}, %arg1: !mtf.tensor<[b=5, b2=5, d=4, e=5], f32> {mtf.data = "new15"}, %arg2: !mtf.tensor<[b=2, b2=5, d=4, e=5], f32> {mtf.data = "new14"}, %arg3: !mtf.tensor<[d2=5], f32> {mtf.data = "x0"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg3 : (!mtf.tensor<[d2=5], f32>) -> !mtf.tensor<[d2=5], f32>
    %1 = mtf.reduce  sum %0 over ["d2"] : (!mtf.tensor<[d2=5], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
}
