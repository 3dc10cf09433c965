// RUN: meshc-fuzz %s
// The inner part of a merged dimension is padded by a pin.
#loc = loc(unknown)
module attributes {mtf.dim_order = ["a", "a2", "b", "b2", "c", "c2", "d", "d2", "e", "e2"], mtf.layout = #mtf.layout<[<["b2"] -> ["model"] pin "p1" #loc>]>, mtf.mesh = #mtf.mesh<"pod", ["data"=1, "model"=3, "ctx"=1]>} {
  mtf.param @p1 : !mtf.tensor<[b2=4], f32> init <normal 2.000000e-02 : f64> {fan_in = [], fan_out = [], group = "default", no_arrow, order = ["b2"], states = ["m"], update = @update.p1}
  func.func @update.p1(%arg0: !mtf.tensor<[b2=4], f32>, %arg1: !mtf.tensor<[b2=4], f32>, %arg2: !mtf.tensor<[b2=4], f32>, %arg3: !mtf.tensor<[], i32>, %arg4: !mtf.tensor<[], i32>) -> (!mtf.tensor<[b2=4], f32>, !mtf.tensor<[b2=4], f32>) {
    %0 = mtf.constant 0.899999976 : f32 : <[], f32>
    %1 = mtf.mul %arg2, %0 : (!mtf.tensor<[b2=4], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[b2=4], f32>
    %2 = mtf.add %1, %arg1 : (!mtf.tensor<[b2=4], f32>, !mtf.tensor<[b2=4], f32>) -> !mtf.tensor<[b2=4], f32>
    %3 = mtf.constant 1.000000e-01 : f32 : <[], f32>
    %4 = mtf.mul %2, %3 : (!mtf.tensor<[b2=4], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[b2=4], f32>
    %5 = mtf.sub %arg0, %4 : (!mtf.tensor<[b2=4], f32>, !mtf.tensor<[b2=4], f32>) -> !mtf.tensor<[b2=4], f32>
    return %5, %2 : !mtf.tensor<[b2=4], f32>, !mtf.tensor<[b2=4], f32>
  }
  func.func @loss(%arg0: !mtf.tensor<[b2=4], f32> {mtf.param = @p1}, %arg1: !mtf.tensor<[a=2], f32> {mtf.data = "new9"}, %arg2: !mtf.tensor<[a=2, b2=4, d2=4], f32> {mtf.data = "x0"}, %arg3: !mtf.tensor<[], i32> {mtf.input = "seed"}, %arg4: !mtf.tensor<[], i32> {mtf.input = "step"}) -> (!mtf.tensor<[], f32> {mtf.result = "loss"}) {
    %0 = mtf.merge %arg2 ["a", "b2", "d2"] into "flat" : (!mtf.tensor<[a=2, b2=4, d2=4], f32>) -> !mtf.tensor<[flat=32], f32>
    %1 = mtf.sin %0 : (!mtf.tensor<[flat=32], f32>) -> !mtf.tensor<[flat=32], f32>
    %2 = mtf.split %1 "flat" into ["a", "b2", "d2"] : (!mtf.tensor<[flat=32], f32>) -> !mtf.tensor<[a=2, b2=4, d2=4], f32>
    %3 = mtf.mul %arg0, %arg1 : (!mtf.tensor<[b2=4], f32>, !mtf.tensor<[a=2], f32>) -> !mtf.tensor<[a=2, b2=4], f32>
    %4 = mtf.reduce  sum %3 over ["a", "b2"] : (!mtf.tensor<[a=2, b2=4], f32>) -> !mtf.tensor<[], f32>
    %5 = mtf.reduce  sum %2 over ["a", "b2", "d2"] : (!mtf.tensor<[a=2, b2=4, d2=4], f32>) -> !mtf.tensor<[], f32>
    %6 = mtf.add %4, %5 : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>
    return %6 : !mtf.tensor<[], f32>
  }
  func.func @weight(%arg0: !mtf.tensor<[a=2], f32> {mtf.data = "new9"}, %arg1: !mtf.tensor<[a=2, b2=4, d2=4], f32> {mtf.data = "x0"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.sigmoid %arg1 : (!mtf.tensor<[a=2, b2=4, d2=4], f32>) -> !mtf.tensor<[a=2, b2=4, d2=4], f32>
    %1 = mtf.reduce  sum %0 over ["a", "b2", "d2"] : (!mtf.tensor<[a=2, b2=4, d2=4], f32>) -> !mtf.tensor<[], f32>
    return %1 : !mtf.tensor<[], f32>
  }
}
