// RUN: meshc-opt %s -mtf-propagate-sharding="explain=true" -split-input-file | FileCheck %s
// What a layout's lines decide. The attribute lists the types of an op's operands, then of its results.

// Megatron's MLP: the first product is split over ff, the second leaves a sum over model that waits.
!x = !mtf.tensor<[batch=8, seq=16, embed=32], f32>
!h = !mtf.tensor<[batch=8, seq=16, ff=128], f32>
!w = !mtf.tensor<[embed=32, ff=128], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=4, "one"=1]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["batch"] -> ["data"] all "" loc("m.mesh":3:1)>, #mtf.rule<["ff"] -> ["model"] all "" loc("m.mesh":4:1)>,
                            #mtf.rule<["seq"] -> ["one"] all "" loc("m.mesh":5:1)>]>
} {
// CHECK-LABEL: func.func @megatron
// CHECK-SAME: mtf.sharding = !mtf.tensor<[embed=32, ff=128 (model)], f32>
// CHECK-SAME: mtf.why = ["ff: model by rule 'ff -> model' (m.mesh:4:1)"]
func.func @megatron(%x: !x {mtf.data = "x"}, %w1: !w {mtf.param = @w1}, %w2: !w {mtf.param = @w2}) -> !x {
  // CHECK: mtf.dot {{.*}} over ["embed"] {mtf.sharding = [!mtf.tensor<[batch=8 (data), embed=32, seq=16], f32>, !mtf.tensor<[embed=32, ff=128 (model)], f32>, !mtf.tensor<[batch=8 (data), ff=128 (model), seq=16], f32>]
  %0 = mtf.dot %x, %w1 over ["embed"] : (!x, !w) -> !h
  // CHECK: mtf.tanh {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8 (data), ff=128 (model), seq=16], f32>, !mtf.tensor<[batch=8 (data), ff=128 (model), seq=16], f32>]
  %1 = mtf.tanh %0 : (!h) -> !h
  // CHECK: mtf.dot {{.*}} !mtf.tensor<[batch=8 (data), embed=32, seq=16], f32, partial(sum: model)>]
  %2 = mtf.dot %1, %w2 over ["ff"] : (!h, !w) -> !x
  // CHECK: mtf.add {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8 (data), embed=32, seq=16], f32>, !mtf.tensor<[batch=8 (data), embed=32, seq=16], f32>,
  %3 = mtf.add %x, %2 : (!x, !x) -> !x
  return %3 : !x
}
}

// -----
// Sequence parallelism: weights stay, the split sequence is gathered; the product's sum is scattered to the sequence.
!x = !mtf.tensor<[batch=8, seq=16, embed=32], f32>
!h = !mtf.tensor<[batch=8, seq=16, ff=128], f32>
!w = !mtf.tensor<[embed=32, ff=128], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["model"=4]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["ff"] -> ["model"] all "" loc(unknown)>, #mtf.rule<["seq"] -> ["model"] values "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @sequence_parallel
func.func @sequence_parallel(%x: !x {mtf.data = "x"}, %w1: !w {mtf.param = @w1}, %w2: !w {mtf.param = @w2}) -> !x {
  // CHECK: mtf.tanh {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, embed=32, seq=16 (model)], f32>,
  %x1 = mtf.tanh %x : (!x) -> !x
  // CHECK: mtf.dot {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, embed=32, seq=16], f32>, !mtf.tensor<[embed=32, ff=128 (model)], f32>, !mtf.tensor<[batch=8, ff=128 (model), seq=16], f32>]
  %0 = mtf.dot %x1, %w1 over ["embed"] : (!x, !w) -> !h
  // CHECK: mtf.dot {{.*}} !mtf.tensor<[batch=8, embed=32, seq=16], f32, partial(sum: model)>]
  %2 = mtf.dot %0, %w2 over ["ff"] : (!h, !w) -> !x
  // CHECK: mtf.add {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, embed=32, seq=16 (model)], f32>, !mtf.tensor<[batch=8, embed=32, seq=16 (model)], f32>, !mtf.tensor<[batch=8, embed=32, seq=16 (model)], f32>]
  %3 = mtf.add %x1, %2 : (!x, !x) -> !x
  return %3 : !x
}
}

// -----
// Ulysses: weights are not split, the projection runs on the split sequence and its result changes over to heads.
!x = !mtf.tensor<[batch=8, seq=16, embed=32], f32>
!q = !mtf.tensor<[batch=8, seq=16, heads=4, head=8], f32>
!w = !mtf.tensor<[embed=32, heads=4, head=8], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["ctx"=4]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["heads"] -> ["ctx"] values "" loc(unknown)>, #mtf.rule<["seq"] -> ["ctx"] values "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @ulysses
func.func @ulysses(%x: !x {mtf.data = "x"}, %w: !w {mtf.param = @w}) -> !q {
  // CHECK: mtf.dot {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, embed=32, seq=16 (ctx)], f32>, !mtf.tensor<[embed=32, head=8, heads=4], f32>, !mtf.tensor<[batch=8, head=8, heads=4, seq=16 (ctx)], f32>]
  %0 = mtf.dot %x, %w over ["embed"] : (!x, !w) -> !q
  // CHECK: mtf.exp {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, head=8, heads=4 (ctx), seq=16], f32>,
  %1 = mtf.exp %0 : (!q) -> !q
  return %1 : !q
}
}

// -----
// Weight-stationary tensor parallelism in two dimensions: a dim collects axes in the order of the rules.
!x = !mtf.tensor<[batch=8, embed=32], f32>
!h = !mtf.tensor<[batch=8, ff=128], f32>
!w = !mtf.tensor<[embed=32, ff=128], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["rows"=2, "cols"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["embed"] -> ["cols"] all "" loc(unknown)>, #mtf.rule<["ff"] -> ["rows"] all "" loc(unknown)>,
                            #mtf.rule<["embed"] -> ["rows"] all "" loc(unknown)>, #mtf.rule<["ff"] -> ["cols"] all "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @weight_stationary
// CHECK-SAME: mtf.sharding = !mtf.tensor<[batch=8, embed=32 (cols, rows)], f32>
// CHECK-SAME: mtf.sharding = !mtf.tensor<[embed=32 (cols), ff=128 (rows)], f32>
func.func @weight_stationary(%x: !x {mtf.data = "x"}, %w: !w {mtf.param = @w}) -> !h {
  // CHECK: mtf.dot {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, embed=32 (cols)], f32>, !mtf.tensor<[embed=32 (cols), ff=128 (rows)], f32>, !mtf.tensor<[batch=8, ff=128 (rows)], f32, partial(sum: cols)>]
  %0 = mtf.dot %x, %w over ["embed"] : (!x, !w) -> !h
  // CHECK: mtf.exp {{.*}} {mtf.sharding = [!mtf.tensor<[batch=8, ff=128 (rows, cols)], f32>,
  %1 = mtf.exp %0 : (!h) -> !h
  return %1 : !h
}
}

// -----
// Inference: a renamed sequence inherits the split unless its new name has a rule of its own.
!x = !mtf.tensor<[seq=16, a=4], f32>
!y = !mtf.tensor<[mem=16, a=4], f32>
!z = !mtf.tensor<[a=4, own=16], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["ctx"=2, "model"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["seq"] -> ["ctx"] all "" loc(unknown)>, #mtf.rule<["own"] -> ["model"] all "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @rename
func.func @rename(%x: !x {mtf.data = "x"}) -> (!y, !z) {
  // CHECK: mtf.rename {{.*}} !mtf.tensor<[a=4, mem=16 (ctx)], f32>], mtf.why = {{\[\[}}"mem: ctx inferred through mtf.rename
  %0 = mtf.rename %x ["seq"] to ["mem"] : (!x) -> !y
  // CHECK: mtf.exp {{.*}} {mtf.sharding = [!mtf.tensor<[a=4, own=16 (model)], f32>
  %1 = mtf.rename %x ["seq"] to ["own"] : (!x) -> !z
  %2 = mtf.exp %1 : (!z) -> !z
  return %0, %2 : !y, !z
}
}

// -----
// Pins come first and close their dimension; a path narrows a rule to some parameters.
!w = !mtf.tensor<[embed=32, ff=128], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["ff"] -> ["model"] all "" loc(unknown)>, #mtf.rule<["ff"] -> [] pin "net.b" loc(unknown)>,
                            #mtf.rule<["embed"] -> ["data"] params "net.?" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @pins
// CHECK-SAME: mtf.param = @net.a, mtf.sharding = !mtf.tensor<[embed=32 (data), ff=128 (model)], f32>
// CHECK-SAME: mtf.param = @net.b, mtf.sharding = !mtf.tensor<[embed=32 (data), ff=128], f32>
// CHECK-SAME: mtf.param = @other, mtf.sharding = !mtf.tensor<[embed=32, ff=128 (model)], f32>
func.func @pins(%a: !w {mtf.param = @net.a}, %b: !w {mtf.param = @net.b}, %c: !w {mtf.param = @other}) {
  return
}
}

// -----
// ZeRO-1: states take one more axis, on the dim that needs least padding; the update runs there, the gradient is not moved for it.
!w = !mtf.tensor<[embed=31, ff=128, layers=2], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=4]>,
  mtf.layout = #mtf.layout<[#mtf.rule<[] -> ["data"] state_optimizer "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @zero1
// CHECK-SAME: mtf.sharding = !mtf.tensor<[embed=31, ff=128 (data), layers=2], f32>, mtf.state = [@w, "m"]
func.func @zero1(%w: !w {mtf.param = @w}, %m: !w {mtf.state = [@w, "m"]}, %g: !w {mtf.data = "g"}) -> (!w {mtf.param = @w}, !w {mtf.state = [@w, "m"]}) {
  // CHECK: mtf.add {{.*}} {mtf.sharding = [!mtf.tensor<[embed=31, ff=128 (data), layers=2], f32>, !mtf.tensor<[embed=31, ff=128 (data), layers=2], f32>, !mtf.tensor<[embed=31, ff=128 (data), layers=2], f32>]
  %0 = mtf.add %m, %g : (!w, !w) -> !w
  // CHECK: mtf.sub {{.*}} !mtf.tensor<[embed=31, ff=128 (data), layers=2], f32>]
  %1 = mtf.sub %w, %0 : (!w, !w) -> !w
  // CHECK: return {mtf.sharding = [!mtf.tensor<[embed=31, ff=128, layers=2], f32>, !mtf.tensor<[embed=31, ff=128 (data), layers=2], f32>]}
  return %1, %0 : !w, !w
}
}

// -----
// ZeRO-3 on a dim that the rule names: storage and states are split there, what layers compute with is whole.
!w = !mtf.tensor<[embed=31, ff=128, layers=2], f32>
!f = !mtf.tensor<[ff=128], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=4]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["embed"] -> ["data"] state_params "" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @zero3
// CHECK-SAME: mtf.param = @w, mtf.sharding = !mtf.tensor<[embed=31 pad 32 (data), ff=128, layers=2], f32>, mtf.stored
// CHECK-SAME: mtf.param = @b, mtf.sharding = !mtf.tensor<[ff=128], f32>
// CHECK-SAME: mtf.sharding = !mtf.tensor<[embed=31 pad 32 (data), ff=128, layers=2], f32>, mtf.state = [@w, "m"]
func.func @zero3(%w: !w {mtf.param = @w}, %b: !f {mtf.param = @b}, %m: !w {mtf.state = [@w, "m"]}) -> (!w {mtf.param = @w}, !w {mtf.state = [@w, "m"]}) {
  // CHECK: mtf.exp {{.*}} {mtf.sharding = [!mtf.tensor<[embed=31 pad 32, ff=128, layers=2], f32>
  %0 = mtf.exp %w : (!w) -> !w
  // CHECK: mtf.sub {{.*}} {mtf.sharding = [!mtf.tensor<[embed=31 pad 32 (data), ff=128, layers=2], f32>, !mtf.tensor<[embed=31 pad 32 (data), ff=128, layers=2], f32>
  %1 = mtf.sub %w, %m : (!w, !w) -> !w
  return %1, %m : !w, !w
}
}

// -----
// Sizes that do not divide are padded at the tail, the same wherever a name and size occur, split or not.
!x = !mtf.tensor<[seq=5, heads=25, rank3=3], f32>
!l = !mtf.tensor<[seq=5, vocab=50257], f32>
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["two"=2, "four"=4]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["vocab"] -> ["two"] values "" loc(unknown)>, #mtf.rule<["heads"] -> ["four"] values "" loc(unknown)>,
                            #mtf.rule<["seq", "rank3"] -> ["four"] values "x3" loc(unknown)>]>
} {
// CHECK-LABEL: func.func @padding
// CHECK-SAME: !mtf.tensor<[heads=25 pad 28 (four), rank3=3 pad 4, seq=5 pad 8], f32>
// CHECK-SAME: mtf.sharding = !mtf.tensor<[seq=5 pad 8, vocab=50257 pad 50258 (two)], f32>
// CHECK-SAME: mtf.sharding = !mtf.tensor<[heads=25 pad 28], f32>
func.func @padding(%x: !x {mtf.data = "x"}, %l: !l {mtf.data = "l"}, %w: !mtf.tensor<[heads=25], f32> {mtf.param = @w},
                   %y: !mtf.tensor<[seq=5], f32> {mtf.data = "x3"}, %z: !mtf.tensor<[rank3=3], f32> {mtf.data = "x3"}) {
  return
}
}
