// RUN: meshc-opt %inputs/mlp_loss.mlir --mtf-differentiate --mtf-build-train-step | FileCheck %s --check-prefix=ONE
// RUN: sed 's/microbatches = 2/microbatches = 4/; s/batch=4/batch=1/' %inputs/gpt2layer_loss.mlir | meshc-opt --mtf-differentiate --mtf-build-train-step -o %t.4
// RUN: FileCheck %s --check-prefix=MICRO < %t.4
// RUN: sed 's/microbatches = 2/microbatches = 1/' %inputs/gpt2layer_loss.mlir | meshc-opt --mtf-differentiate --mtf-build-train-step -o %t.1
// RUN: meshc-interp %t.1 --entry=train_step --compare=%t.4 | FileCheck %s --check-prefix=SAME-STEP
// RUN: meshc-interp %t.1 --entry=eval_step --compare=%t.4 | FileCheck %s --check-prefix=SAME-EVAL
// RUN: meshc %examples/gpt/gpt.mesh --layout %examples/gpt/layouts/micro.mesh --emit=mtf | meshc-opt --mtf-differentiate --mtf-build-train-step | FileCheck %s --check-prefix=COUNT

// ONE-LABEL: func.func private @loss(
// ONE-LABEL: func.func private @loss_grad(
// ONE-LABEL: func.func @train_step(
// ONE-SAME: %[[W1:.*]]: !mtf.tensor<[feature=4, hidden=16], f32> {mtf.param = @mlp.w1}
// ONE-SAME: {mtf.data = "x"}, {{.*}} {mtf.data = "target"}, {{.*}} {mtf.data = "weight"}, {{.*}} {mtf.input = "seed"}, {{.*}} {mtf.input = "step"}, {{.*}} {mtf.input = "total_steps"})
// ONE-SAME: -> ({{.*}} {mtf.param = @mlp.w1}, {{.*}} {mtf.param = @mlp.b1}, {{.*}} {mtf.param = @mlp.w2}, !mtf.tensor<[], f32> {mtf.result = "loss"}, !mtf.tensor<[], f32> {mtf.result = "grad_norm"})
// ONE-NOT: mtf.repeat
// ONE: %[[WEIGHT:.*]] = mtf.reduce sum %{{.*}} over ["batch"]
// ONE: %[[COTANGENT:.*]] = mtf.div %{{.*}}, %[[WEIGHT]]
// ONE: mtf.dot %{{.*}}, %[[W1]] over ["feature"]
// ONE: %[[SUM:.*]] = mtf.reduce sum
// ONE: %[[DW1:.*]] = mtf.dot %{{.*}} over ["batch"] : {{.*}} -> !mtf.tensor<[feature=4, hidden=16], f32>
// ONE: mtf.mul %[[DW1]], %[[DW1]]
// ONE: %[[NORM:.*]] = mtf.sqrt
// ONE-NOT: mtf.min
// ONE: %[[STEP:.*]] = mtf.mul %[[DW1]], %{{.*}}
// ONE: %[[NEW:.*]] = mtf.sub %[[W1]], %[[STEP]]
// ONE: %[[LOSS:.*]] = mtf.div %[[SUM]], %[[WEIGHT]]
// ONE: return %[[NEW]], %{{.*}}, %{{.*}}, %[[LOSS]], %[[NORM]]

// The weights of all microbatches come first; random numbers and the order of their elements are those of the whole batch.
// MICRO-LABEL: func.func @train_step(
// MICRO-SAME: {mtf.state = [@gpt.wte, "m"]}, {{[^{]*}} {mtf.state = [@gpt.wte, "v"]}
// MICRO-SAME: !mtf.tensor<[batch=1, micro=4, seq=8], i32> {mtf.data = "tokens"}
// MICRO: %[[WEIGHT:.*]] = mtf.repeat "micro" 4 carries
// MICRO: %[[COTANGENT:.*]] = mtf.div %{{.*}}, %[[WEIGHT]]
// MICRO: mtf.repeat "micro" 4 carries
// MICRO-NEXT: ^bb0(%[[MICRO:.*]]: !mtf.tensor<[], i32>,
// MICRO: %[[LENGTH:.*]] = mtf.constant 1 : i32
// MICRO: %[[OFFSET:.*]] = mtf.mul %[[MICRO]], %[[LENGTH]]
// MICRO: mtf.random bernoulli {{.*}} "gpt.drop" order ["batch", "seq", "embed"] [8, 8, 12] key(%{{.*}}, %{{.*}}) offsets ["batch"](%[[OFFSET]])
// MICRO: mtf.min
// MICRO: mtf.pow
// MICRO-LABEL: func.func @eval_step(
// MICRO-SAME: -> (!mtf.tensor<[], f32> {mtf.result = "numerator"}, !mtf.tensor<[], f32> {mtf.result = "denominator"})
// SAME-STEP: equal: 50 results
// SAME-EVAL: equal: 2 results

// Without weights the denominator is the number of tokens, 512 * 1024: no loop for it.
// COUNT-LABEL: func.func @train_step(
// COUNT-NOT: mtf.repeat
// COUNT: mtf.constant 5.242880e+05
// COUNT: mtf.repeat "micro" 4
