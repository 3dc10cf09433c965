// RUN: meshc-interp %s --check-buffers | FileCheck %s
// CHECK: equal in buffers
// Every op that neither the training steps nor the random programs of meshc-fuzz contain, alone and next to others, executed in buffers and
// compared with the mtf program.

!x = !mtf.tensor<[batch=3, seq=4, embed=6], f32>
!s = !mtf.tensor<[], f32>
!w = !mtf.tensor<[batch=3, seq=3, embed=6, tap=3], f32>
!h = !mtf.tensor<[batch=3, seq=4, pair=2, half=3], f32>
!p = !mtf.tensor<[batch=3, seq=4, pair=1, half=3], f32>
!q = !mtf.tensor<[batch=3, seq=4, kv=2, group=2, head=5], f32>
!k = !mtf.tensor<[batch=3, mem=4, kv=2, head=5], f32>
!lse = !mtf.tensor<[batch=3, seq=4, kv=2, group=2], f32>
!mask = !mtf.tensor<[batch=3, mem=4], i1>
!qt = !mtf.tensor<[axis=5, batch=3, seq=4, rows=2], f32>
!kt = !mtf.tensor<[axis=5, batch=3, mem=4, rows=2], f32>

module attributes {mtf.dim_order = ["batch", "seq", "mem", "kv", "group", "embed", "head"], mtf.batch_dim = "batch"} {

func.func @argmax(%x: !x) -> (!mtf.tensor<[batch=3, embed=6], i32>, !mtf.tensor<[batch=3, seq=4], i32>) {
  %0 = mtf.argmax %x over "seq" : (!x) -> !mtf.tensor<[batch=3, embed=6], i32>
  %1 = mtf.argmax %x over "embed" : (!x) -> !mtf.tensor<[batch=3, seq=4], i32>
  return %0, %1 : !mtf.tensor<[batch=3, embed=6], i32>, !mtf.tensor<[batch=3, seq=4], i32>
}

func.func @top_k(%x: !x) -> (!mtf.tensor<[batch=3, seq=4, k=2], f32>, !mtf.tensor<[batch=3, seq=4, k=2], i32>, !mtf.tensor<[batch=3, embed=6, k=4], f32>) {
  %v, %i = mtf.top_k %x over "embed" into "k" : (!x) -> (!mtf.tensor<[batch=3, seq=4, k=2], f32>, !mtf.tensor<[batch=3, seq=4, k=2], i32>)
  %w, %j = mtf.top_k %x over "seq" into "k" : (!x) -> (!mtf.tensor<[batch=3, embed=6, k=4], f32>, !mtf.tensor<[batch=3, embed=6, k=4], i32>)
  return %v, %i, %w : !mtf.tensor<[batch=3, seq=4, k=2], f32>, !mtf.tensor<[batch=3, seq=4, k=2], i32>, !mtf.tensor<[batch=3, embed=6, k=4], f32>
}

// Convolution and pooling over windows, and back.
func.func @windows(%x: !x, %k: !mtf.tensor<[tap=3, embed=6, head=5], f32>) -> (!mtf.tensor<[batch=3, seq=3, head=5], f32>, !mtf.tensor<[batch=3, seq=3, embed=6], f32>, !x) {
  %w = mtf.window %x "seq" into "tap" stride 2 dilation 1 low 1 : (!x) -> !w
  %c = mtf.dot %w, %k over ["tap", "embed"] : (!w, !mtf.tensor<[tap=3, embed=6, head=5], f32>) -> !mtf.tensor<[batch=3, seq=3, head=5], f32>
  %m = mtf.reduce max %w over ["tap"] : (!w) -> !mtf.tensor<[batch=3, seq=3, embed=6], f32>
  %f = mtf.fold %w "tap" onto "seq" stride 2 dilation 1 low 1 : (!w) -> !x
  return %c, %m, %f : !mtf.tensor<[batch=3, seq=3, head=5], f32>, !mtf.tensor<[batch=3, seq=3, embed=6], f32>, !x
}

func.func @pads(%x: !x) -> (!mtf.tensor<[batch=3, seq=12, embed=6], f32>, !mtf.tensor<[batch=3, seq=4, embed=3], f32>) {
  %v = mtf.constant 0.5 : f32 : !s
  %0 = mtf.pad %x with %v "seq" [2, 3, 1] : (!x, !s) -> !mtf.tensor<[batch=3, seq=12, embed=6], f32>
  %1 = mtf.slice %x "embed" [1:6:2] : (!x) -> !mtf.tensor<[batch=3, seq=4, embed=3], f32>
  %2 = mtf.exp %1 : (!mtf.tensor<[batch=3, seq=4, embed=3], f32>) -> !mtf.tensor<[batch=3, seq=4, embed=3], f32>
  return %0, %2 : !mtf.tensor<[batch=3, seq=12, embed=6], f32>, !mtf.tensor<[batch=3, seq=4, embed=3], f32>
}

// Half of the head is turned against the other half: split, slice, concat, merge.
func.func @rotary(%x: !x) -> !x {
  %0 = mtf.split %x "embed" into ["pair", "half"] : (!x) -> !h
  %a = mtf.slice %0 "pair" [0:1:1] : (!h) -> !p
  %b = mtf.slice %0 "pair" [1:2:1] : (!h) -> !p
  %n = mtf.neg %b : (!p) -> !p
  %c = mtf.concat %n, %a along "pair" : (!p, !p) -> !h
  %i = mtf.index "seq" : !mtf.tensor<[seq=4], i32>
  %f = mtf.cast %i : (!mtf.tensor<[seq=4], i32>) -> !mtf.tensor<[seq=4], f32>
  %sin = mtf.sin %f : (!mtf.tensor<[seq=4], f32>) -> !mtf.tensor<[seq=4], f32>
  %t = mtf.mul %c, %sin : (!h, !mtf.tensor<[seq=4], f32>) -> !h
  %y = mtf.merge %t ["pair", "half"] into "embed" : (!h) -> !x
  return %y : !x
}

// Dims that are not adjacent are copied before they are merged.
func.func @merge_apart(%x: !x) -> !mtf.tensor<[seq=4, flat=18], f32> {
  %0 = mtf.merge %x ["embed", "batch"] into "flat" : (!x) -> !mtf.tensor<[seq=4, flat=18], f32>
  return %0 : !mtf.tensor<[seq=4, flat=18], f32>
}

// Grouped queries; a mask with a window and one that reads memory.
func.func @grouped(%q: !q, %k: !k, %v: !k) -> (!q, !lse) {
  %i = mtf.index "seq" : !mtf.tensor<[seq=4], i32>
  %j = mtf.index "mem" : !mtf.tensor<[mem=4], i32>
  %causal = mtf.compare le %j, %i : (!mtf.tensor<[mem=4], i32>, !mtf.tensor<[seq=4], i32>) -> !mtf.tensor<[mem=4, seq=4], i1>
  %far = mtf.sub %i, %j : (!mtf.tensor<[seq=4], i32>, !mtf.tensor<[mem=4], i32>) -> !mtf.tensor<[mem=4, seq=4], i32>
  %two = mtf.constant 2 : i32 : !mtf.tensor<[], i32>
  %near = mtf.compare lt %far, %two : (!mtf.tensor<[mem=4, seq=4], i32>, !mtf.tensor<[], i32>) -> !mtf.tensor<[mem=4, seq=4], i1>
  %mask = mtf.and %causal, %near : (!mtf.tensor<[mem=4, seq=4], i1>, !mtf.tensor<[mem=4, seq=4], i1>) -> !mtf.tensor<[mem=4, seq=4], i1>
  %o, %lse = mtf.attend %q, %k, %v where %mask over ["head"], "mem" scale 0.4 : (!q, !k, !k, !mtf.tensor<[mem=4, seq=4], i1>) -> (!q, !lse)
  return %o, %lse : !q, !lse
}
func.func @attention_grad(%q: !q, %k: !k, %v: !k, %b: !mtf.tensor<[batch=3, mem=4], f32>, %do: !q) -> (!q, !k, !k) {
  %zero = mtf.constant 0.4 : f32 : !s
  %mask = mtf.compare gt %b, %zero : (!mtf.tensor<[batch=3, mem=4], f32>, !s) -> !mask
  %o, %lse = mtf.attend %q, %k, %v where %mask over ["head"], "mem" scale 0.4 : (!q, !k, !k, !mask) -> (!q, !lse)
  %dq, %dk, %dv = mtf.attend_grad %q, %k, %v where %mask output %o, %lse, %do over ["head"], "mem" scale 0.4 : (!q, !k, !k, !mask, !q, !lse, !q) -> (!q, !k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}

// Operands in an order of memory that the call cannot take: the heads' dims stand first.
func.func @attention_copied(%q: !qt, %k: !kt, %v: !kt) -> !qt {
  %o, %lse = mtf.attend %q, %k, %v over ["axis"], "mem" scale 0.4 : (!qt, !kt, !kt) -> (!qt, !mtf.tensor<[batch=3, seq=4, rows=2], f32>)
  return %o : !qt
}

func.func @scatter(%u: !x, %t: !mtf.tensor<[batch=3, seq=4], i32>) -> (!mtf.tensor<[vocab=5, embed=6], f32>, !mtf.tensor<[vocab=5, seq=4], f32>) {
  %five = mtf.constant 5 : i32 : !mtf.tensor<[], i32>
  %i = mtf.rem %t, %five : (!mtf.tensor<[batch=3, seq=4], i32>, !mtf.tensor<[], i32>) -> !mtf.tensor<[batch=3, seq=4], i32>
  %0 = mtf.scatter_add %u at %i into "vocab" : (!x, !mtf.tensor<[batch=3, seq=4], i32>) -> !mtf.tensor<[vocab=5, embed=6], f32>
  %1 = mtf.scatter_add %u at %i into "vocab" : (!x, !mtf.tensor<[batch=3, seq=4], i32>) -> !mtf.tensor<[vocab=5, seq=4], f32>
  return %0, %1 : !mtf.tensor<[vocab=5, embed=6], f32>, !mtf.tensor<[vocab=5, seq=4], f32>
}

func.func @numbers(%x: !x, %seed: !mtf.tensor<[], i32>, %step: !mtf.tensor<[], i32>) -> (!x, !mtf.tensor<[seq=4], i32>, !x) {
  %u = mtf.random uniform 0.0 "u" order ["embed", "batch", "seq"] [6, 3, 4] key (%seed, %step) offsets [] () : (!mtf.tensor<[], i32>, !mtf.tensor<[], i32>) -> !x
  %n = mtf.random normal 0.0 "n" order ["batch", "seq", "embed"] [8, 4, 6] key (%seed, %step, %step) offsets ["batch"] (%step)
    : (!mtf.tensor<[], i32>, !mtf.tensor<[], i32>, !mtf.tensor<[], i32>, !mtf.tensor<[], i32>) -> !x
  %s = mtf.sign %x : (!x) -> !x
  %f = mtf.floor %n : (!x) -> !x
  %c = mtf.ceil %u : (!x) -> !x
  %r = mtf.rem %n, %u : (!x, !x) -> !x
  %0 = mtf.mul %s, %r : (!x, !x) -> !x
  %1 = mtf.add %f, %c : (!x, !x) -> !x
  %i = mtf.index "seq" : !mtf.tensor<[seq=4], i32>
  %m = mtf.constant -3 : i32 : !mtf.tensor<[], i32>
  %d = mtf.div %i, %m : (!mtf.tensor<[seq=4], i32>, !mtf.tensor<[], i32>) -> !mtf.tensor<[seq=4], i32>
  return %0, %d, %1 : !x, !mtf.tensor<[seq=4], i32>, !x
}

// Carries that change places, one that becomes the other's old value.
func.func @fibonacci(%a: !x, %b: !x) -> (!x, !x) {
  %r:2 = mtf.repeat "layers" 3 carries(%a, %b : !x, !x) slices() -> !x, !x {
  ^bb0(%i: !mtf.tensor<[], i32>, %p: !x, %q: !x):
    %s = mtf.add %p, %q : (!x, !x) -> !x
    mtf.next carries(%q, %s : !x, !x) stacks()
  }
  return %r#0, %r#1 : !x, !x
}

// A reduction of what a reduction scales: three loops over the row in one kernel; the mean over the outer dims apart.
func.func @chains(%x: !x) -> (!x, !s) {
  %y = mtf.softmax %x over ["embed"] : (!x) -> !x
  %z = mtf.softmax %y over ["embed"] : (!x) -> !x
  %s = mtf.reduce sum %z over ["batch", "seq", "embed"] : (!x) -> !s
  %m = mtf.reduce prod %x over ["batch", "seq", "embed"] : (!x) -> !s
  %r = mtf.mul %s, %m : (!s, !s) -> !s
  %w = mtf.mul %z, %s : (!x, !s) -> !x
  return %w, %r : !x, !s
}
}
