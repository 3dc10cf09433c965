// A classifier of two layers with a weight per example: level 1, as the front end would write
//
//   model mlp(x: f32[batch, feature]) -> [batch, class] {
//     param w1[feature -> hidden], w2[hidden -> class] ~ normal(0.1)
//     param b1[hidden] ~ 0
//     return dot(relu(dot(x, w1 over feature) + b1), w2 over hidden)
//   }
//   loss mean(cross_entropy(mlp(x), target over class), weight = weight)
//   optimizer sgd(lr = 0.1)

!scalar = !mtf.tensor<[], f32>
!int = !mtf.tensor<[], i32>
!x = !mtf.tensor<[batch=8, feature=4], f32>
!row = !mtf.tensor<[batch=8], f32>
!index = !mtf.tensor<[batch=8], i32>
!h = !mtf.tensor<[batch=8, hidden=16], f32>
!logits = !mtf.tensor<[batch=8, class=3], f32>
!w1 = !mtf.tensor<[feature=4, hidden=16], f32>
!b1 = !mtf.tensor<[hidden=16], f32>
!w2 = !mtf.tensor<[class=3, hidden=16], f32>

module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>,
  mtf.dim_order = ["batch", "feature", "hidden", "class"],
  mtf.layout = #mtf.layout<[#mtf.rule<["batch"] -> ["data"] all "" loc(unknown)>, #mtf.rule<["hidden"] -> ["model"] all "" loc(unknown)>]>,
  mtf.microbatches = 1 : i64, mtf.precision = "f32", mtf.steps = 100 : i64, mtf.batch_dim = "batch"
} {
  mtf.param @mlp.w1 : !w1 init <normal 0.1 : f64>
    {order = ["feature", "hidden"], fan_in = ["feature"], fan_out = ["hidden"], group = "default", update = @update.mlp.w1, states = []}
  mtf.param @mlp.b1 : !b1 init <constant 0.0 : f64>
    {order = ["hidden"], fan_in = [], fan_out = [], no_arrow, group = "default", update = @update.mlp.b1, states = []}
  mtf.param @mlp.w2 : !w2 init <normal 0.1 : f64>
    {order = ["hidden", "class"], fan_in = ["hidden"], fan_out = ["class"], group = "default", update = @update.mlp.w2, states = []}

  func.func @loss(%w1: !w1 {mtf.param = @mlp.w1}, %b1: !b1 {mtf.param = @mlp.b1}, %w2: !w2 {mtf.param = @mlp.w2},
                  %x: !x {mtf.data = "x"}, %target: !index {mtf.data = "target"}, %weight: !row {mtf.data = "weight"},
                  %seed: !int {mtf.input = "seed"}, %step: !int {mtf.input = "step"}) -> (!scalar {mtf.result = "loss"}) {
    %xw = mtf.dot %x, %w1 over ["feature"] : (!x, !w1) -> !h
    %pre = mtf.add %xw, %b1 : (!h, !b1) -> !h
    %zero = mtf.constant 0.0 : f32 : !scalar
    %h = mtf.max %pre, %zero : (!h, !scalar) -> !h
    %logits = mtf.dot %h, %w2 over ["hidden"] : (!h, !w2) -> !logits
    %lse = mtf.logsumexp %logits over ["class"] : (!logits) -> !row
    %picked = mtf.gather %logits["class" = %target] : (!logits, !index) -> !row
    %nll = mtf.sub %lse, %picked : (!row, !row) -> !row
    %weighted = mtf.mul %nll, %weight : (!row, !row) -> !row
    %sum = mtf.reduce sum %weighted over ["batch"] : (!row) -> !scalar
    return %sum : !scalar
  }

  func.func @weight(%x: !x {mtf.data = "x"}, %target: !index {mtf.data = "target"}, %weight: !row {mtf.data = "weight"}) -> !scalar {
    %sum = mtf.reduce sum %weight over ["batch"] : (!row) -> !scalar
    return %sum : !scalar
  }

  func.func @update.mlp.w1(%w: !w1, %g: !w1, %step: !int, %total: !int) -> !w1 {
    %lr = mtf.constant 0.1 : f32 : !scalar
    %d = mtf.mul %g, %lr : (!w1, !scalar) -> !w1
    %new = mtf.sub %w, %d : (!w1, !w1) -> !w1
    return %new : !w1
  }
  func.func @update.mlp.b1(%w: !b1, %g: !b1, %step: !int, %total: !int) -> !b1 {
    %lr = mtf.constant 0.1 : f32 : !scalar
    %d = mtf.mul %g, %lr : (!b1, !scalar) -> !b1
    %new = mtf.sub %w, %d : (!b1, !b1) -> !b1
    return %new : !b1
  }
  func.func @update.mlp.w2(%w: !w2, %g: !w2, %step: !int, %total: !int) -> !w2 {
    %lr = mtf.constant 0.1 : f32 : !scalar
    %d = mtf.mul %g, %lr : (!w2, !scalar) -> !w2
    %new = mtf.sub %w, %d : (!w2, !w2) -> !w2
    return %new : !w2
  }
}
