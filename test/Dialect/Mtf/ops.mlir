// RUN: meshc-opt %s | meshc-opt | FileCheck %s
// Every kind of op round-trips through its textual form.

module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["batch"] -> ["data"] all "" loc("m.mesh":3:1)>, #mtf.rule<[] -> [] pin "gpt.x" loc(unknown)>]>
} {

// CHECK: mtf.param @gpt.w : !mtf.tensor<[embed=16, layers=3], f32> init <normal 2.000000e-02 : f64>
mtf.param @gpt.w : !mtf.tensor<[layers=3, embed=16], f32> init <normal 0.02 : f64>
  {order = ["layers", "embed"], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}

// CHECK-LABEL: func.func @dims_are_a_set
// CHECK-SAME: !mtf.tensor<[a=2, b=3], f32>
func.func @dims_are_a_set(%x: !mtf.tensor<[b=3, a=2], f32>) {
  return
}

// CHECK-LABEL: func.func @sharded
// CHECK-SAME: !mtf.tensor<[batch=8 (data), vocab=5 pad 6 (model)], f32, padding(zero)>
// CHECK-SAME: !mtf.tensor<[batch=8], f32, partial(sum: data, model)>
func.func @sharded(%x: !mtf.tensor<[batch=8 (data), vocab=5 pad 6 (model)], f32, padding(zero)>,
                   %y: !mtf.tensor<[batch=8], f32, partial(sum: model, data)>) -> !mtf.tensor<[batch=8 (data)], f32> {
  // CHECK: mtf.reshard
  %0 = mtf.reshard %y : !mtf.tensor<[batch=8], f32, partial(sum: model, data)> -> !mtf.tensor<[batch=8 (data)], f32>
  return %0 : !mtf.tensor<[batch=8 (data)], f32>
}

// CHECK-LABEL: func.func @loop
func.func @loop(%x0: !mtf.tensor<[embed=16], f32>, %w: !mtf.tensor<[layers=3, embed=16], f32>) -> !mtf.tensor<[embed=16], f32> {
  // CHECK: mtf.repeat "layers" 3 carries(%{{.*}} : {{.*}}) slices(%{{.*}} : {{.*}}) -> !mtf.tensor<[embed=16], f32>, !mtf.tensor<[embed=16, layers=3], f32> {
  %x, %ys = mtf.repeat "layers" 3 carries(%x0 : !mtf.tensor<[embed=16], f32>) slices(%w : !mtf.tensor<[layers=3, embed=16], f32>)
      -> !mtf.tensor<[embed=16], f32>, !mtf.tensor<[layers=3, embed=16], f32> {
  ^bb0(%i: !mtf.tensor<[], i32>, %c: !mtf.tensor<[embed=16], f32>, %s: !mtf.tensor<[embed=16], f32>):
    // CHECK: mtf.add
    %1 = mtf.add %c, %s : (!mtf.tensor<[embed=16], f32>, !mtf.tensor<[embed=16], f32>) -> !mtf.tensor<[embed=16], f32>
    // CHECK: mtf.next carries(%{{.*}} : {{.*}}) stacks(%{{.*}} : {{.*}})
    mtf.next carries(%1 : !mtf.tensor<[embed=16], f32>) stacks(%1 : !mtf.tensor<[embed=16], f32>)
  }
  return %x : !mtf.tensor<[embed=16], f32>
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: !mtf.tensor<[batch=2, seq=8, heads=2, head=4], f32>, %k: !mtf.tensor<[batch=2, mem=8, heads=2, head=4], f32>)
    -> !mtf.tensor<[batch=2, seq=8, heads=2, head=4], f32> {
  // CHECK: mtf.index "seq" : <[seq=8], i32>
  %i = mtf.index "seq" : !mtf.tensor<[seq=8], i32>
  %j = mtf.index "mem" : !mtf.tensor<[mem=8], i32>
  // CHECK: mtf.compare le
  %mask = mtf.compare le %j, %i : (!mtf.tensor<[mem=8], i32>, !mtf.tensor<[seq=8], i32>) -> !mtf.tensor<[mem=8, seq=8], i1>
  // CHECK: mtf.attend %{{.*}}, %{{.*}}, %{{.*}} where %{{.*}} over ["head"], "mem" scale
  %o, %lse = mtf.attend %q, %k, %k where %mask over ["head"], "mem" scale 0.5
    : (!mtf.tensor<[batch=2, seq=8, heads=2, head=4], f32>, !mtf.tensor<[batch=2, mem=8, heads=2, head=4], f32>, !mtf.tensor<[batch=2, mem=8, heads=2, head=4], f32>, !mtf.tensor<[mem=8, seq=8], i1>)
    -> (!mtf.tensor<[batch=2, seq=8, heads=2, head=4], f32>, !mtf.tensor<[batch=2, seq=8, heads=2], f32>)
  return %o : !mtf.tensor<[batch=2, seq=8, heads=2, head=4], f32>
}

// CHECK-LABEL: func.func @random
func.func @random(%seed: !mtf.tensor<[], i32>, %step: !mtf.tensor<[], i32>, %o: !mtf.tensor<[], i32>) -> !mtf.tensor<[batch=2, embed=3], f32> {
  // CHECK: mtf.random bernoulli 9.000000e-01 "gpt.drop" order ["batch", "embed"] [8, 3] key(%{{.*}}, %{{.*}}, %{{.*}}) offsets ["batch"](%{{.*}})
  %0 = mtf.random bernoulli 0.9 "gpt.drop" order ["batch", "embed"] [8, 3] key (%seed, %step, %o) offsets ["batch"] (%o)
    : (!mtf.tensor<[], i32>, !mtf.tensor<[], i32>, !mtf.tensor<[], i32>, !mtf.tensor<[], i32>) -> !mtf.tensor<[batch=2, embed=3], f32>
  return %0 : !mtf.tensor<[batch=2, embed=3], f32>
}
}
