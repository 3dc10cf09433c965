// RUN: meshc-opt %s -mtf-propagate-sharding -split-input-file -verify-diagnostics

// expected-warning@unknown {{layout rule 'heads, ff -> data' matches no tensor}}
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["heads", "ff"] -> ["data"] all "" loc(unknown)>]>
} {
func.func @unmatched(%x: !mtf.tensor<[a=4], f32> {mtf.data = "x"}) {
  return
}
}
// -----
// expected-error@unknown {{pin '"x": a, b -> data' cannot hold: mesh axis 'data' splits another dimension of 'x' already}}
// expected-note@unknown {{a: data by pin '"x": a, b -> data'}}
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["a", "b"] -> ["data"] pin "x" loc(unknown)>]>
} {
// expected-note @+1 {{the tensor is '!mtf.tensor<[a=4, b=4], f32>'}}
func.func @impossible_pin(%x: !mtf.tensor<[a=4, b=4], f32> {mtf.data = "x"}) {
  return
}
}
// -----
// expected-error@unknown {{rule 'a -> modle' names mesh axis 'modle', which mesh 'pod' lacks}}
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["a"] -> ["modle"] all "" loc(unknown)>]>
} {
func.func @unknown_axis(%x: !mtf.tensor<[a=4], f32> {mtf.data = "x"}) {
  return
}
}
// -----
!c = !mtf.tensor<[a=4], f32>
// expected-error@unknown {{rule 'layers -> data' splits dimension 'layers', over which a 'repeat' runs}}
module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2]>,
  mtf.layout = #mtf.layout<[#mtf.rule<["layers"] -> ["data"] all "" loc(unknown)>]>
} {
func.func @loop_dim(%x: !c {mtf.data = "x"}, %w: !mtf.tensor<[a=4, layers=2], f32>) -> !c {
  %0 = mtf.repeat "layers" 2 carries(%x : !c) slices(%w : !mtf.tensor<[a=4, layers=2], f32>) -> !c {
  ^bb0(%i: !mtf.tensor<[], i32>, %y: !c, %v: !c):
    %1 = mtf.add %y, %v : (!c, !c) -> !c
    mtf.next carries(%1 : !c) stacks()
  }
  return %0 : !c
}
}
// -----
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
func.func @sharded_already(%x: !mtf.tensor<[a=4 (data)], f32>) {
  // expected-error @+1 {{is sharded already}}
  %0 = mtf.neg %x : (!mtf.tensor<[a=4 (data)], f32>) -> !mtf.tensor<[a=4 (data)], f32>
  return
}
}
