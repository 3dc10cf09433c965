// RUN: meshc-fuzz %s
// A window that is padded, and summed back: places past its end are places of other elements.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"], mtf.layout = #mtf.layout<[<["tap"] -> ["model"] all "" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=1, "model"=2]>} {
  mtf.param @p1 : !mtf.tensor<[c=1], f32> init <normal 2.000000e-02 : f64> {fan_in = [], fan_out = [], group = "default", no_arrow, order = ["c"], states = ["m"], update = @update.p1}
  func.func @update.p1(%arg0: !mtf.tensor<[c=1], f32>, %arg1: !mtf.tensor<[c=1], f32>, %arg2: !mtf.tensor<[c=1], f32>, %arg3: !mtf.tensor<[], i32>, %arg4: !mtf.tensor<[], i32>) -> (!mtf.tensor<[c=1], f32>, !mtf.tensor<[c=1], f32>) {
    %0 = mtf.constant 0.899999976 : f32 : <[], f32>
    %1 = mtf.mul %arg2, %0 : (!mtf.tensor<[c=1], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[c=1], f32>
    %2 = mtf.add %1, %arg1 : (!mtf.tensor<[c=1], f32>, !mtf.tensor<[c=1], f32>) -> !mtf.tensor<[c=1], f32>
    %3 = mtf.constant 1.000000e-01 : f32 : <[], f32>
    %4 = mtf.mul %2, %3 : (!mtf.tensor<[c=1], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[c=1], f32>
    %5 = mtf.sub %arg0, %4 : (!mtf.tensor<[c=1], f32>, !mtf.tensor<[c=1], f32>) -> !mtf.tensor<[c=1], f32>
    return %5, %2 : !mtf.tensor<[c=1], f32>, !mtf.tensor<[c=1], f32>
  }
  func.func @loss(%arg0: !mtf.tensor<[c=1], f32> {mtf.param = @p1}, %arg1: !mtf.tensor<[e=2, e2=2], f32> {mtf.data = "x0"}, %arg2: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg3: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.window %arg0 "c" into "tap" stride 2 dilation 1 low 3 : (!mtf.tensor<[c=1], f32>) -> !mtf.tensor<[c=5, tap=1], f32>
    %1 = mtf.reduce  sum %0 over ["c", "tap"] : (!mtf.tensor<[c=5, tap=1], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[e=2, e2=2], f32> {mtf.data = "x0"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg0 : (!mtf.tensor<[e=2, e2=2], f32>) -> !mtf.tensor<[e=2, e2=2], f32>
    %1 = mtf.reduce  sum %0 over ["e", "e2"] : (!mtf.tensor<[e=2, e2=2], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
}
