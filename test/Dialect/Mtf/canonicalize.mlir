// RUN: meshc-opt %s --canonicalize | FileCheck %s

!s = !mtf.tensor<[], f32>
!i = !mtf.tensor<[], i32>
!a = !mtf.tensor<[a=3], f32>
!ab = !mtf.tensor<[a=3, b=2], f32>
!ba = !mtf.tensor<[a=2, b=3], f32>
!am = !mtf.tensor<[a=3, m=4], f32>
!sharded = !mtf.tensor<[a=4 (data)], f32, padding(zero)>
!part = !mtf.tensor<[a=4 (data)], f32>

// CHECK-LABEL: func.func @arithmetic
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[Y:.*]]: {{.*}})
// CHECK-NEXT: %[[SUB:.*]] = mtf.sub %[[X]], %[[Y]]
// CHECK-NEXT: %[[SQUARE:.*]] = mtf.mul %[[X]], %[[X]]
// CHECK-NEXT: %[[ROOT:.*]] = mtf.rsqrt %[[X]]
// CHECK-NEXT: return %[[X]], %[[X]], %[[SUB]], %[[X]], %[[SQUARE]], %[[ROOT]]
func.func @arithmetic(%x: !ab, %y: !ab) -> (!ab, !ab, !ab, !ab, !ab, !ab) {
  %zero = mtf.constant 0.0 : f32 : !s
  %zeros = mtf.broadcast %zero : (!s) -> !ab
  %one = mtf.constant 1.0 : f32 : !s
  %two = mtf.constant 2.0 : f32 : !s
  %half = mtf.constant -0.5 : f32 : !s
  %0 = mtf.add %zeros, %x : (!ab, !ab) -> !ab
  %1 = mtf.mul %x, %one : (!ab, !s) -> !ab
  %n = mtf.neg %y : (!ab) -> !ab
  %2 = mtf.add %x, %n : (!ab, !ab) -> !ab
  %m = mtf.neg %x : (!ab) -> !ab
  %3 = mtf.neg %m : (!ab) -> !ab
  %4 = mtf.pow %x, %two : (!ab, !s) -> !ab
  %5 = mtf.pow %x, %half : (!ab, !s) -> !ab
  return %0, %1, %2, %3, %4, %5 : !ab, !ab, !ab, !ab, !ab, !ab
}

// A type is never changed on the way: the sum holds nothing in its padding, the operand zeros.
// CHECK-LABEL: func.func @types_stay
// CHECK: mtf.add
func.func @types_stay(%x: !sharded) -> !part {
  %zero = mtf.constant 0.0 : f32 : !s
  %0 = mtf.add %x, %zero : (!sharded, !s) -> !part
  return %0 : !part
}

// Exact results only: a third is not, and would differ from the division in float64.
// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[QUARTER:.*]] = mtf.constant 2.500000e-01
// CHECK-DAG: %[[MINUS:.*]] = mtf.constant -2 : i32
// CHECK-DAG: %[[TRUE:.*]] = mtf.constant true
// CHECK-DAG: %[[THIRD:.*]] = mtf.div
// CHECK: return %[[QUARTER]], %[[THIRD]], %[[MINUS]], %[[TRUE]]
func.func @constants() -> (!s, !s, !i, !mtf.tensor<[], i1>) {
  %one = mtf.constant 1.0 : f32 : !s
  %three = mtf.constant 3.0 : f32 : !s
  %four = mtf.add %one, %three : (!s, !s) -> !s
  %0 = mtf.div %one, %four : (!s, !s) -> !s
  %1 = mtf.div %one, %three : (!s, !s) -> !s
  %n = mtf.constant -3 : i32 : !i
  %two = mtf.constant 2 : i32 : !i
  %2 = mtf.div %n, %two : (!i, !i) -> !i
  %3 = mtf.compare lt %n, %two : (!i, !i) -> !mtf.tensor<[], i1>
  return %0, %1, %2, %3 : !s, !s, !i, !mtf.tensor<[], i1>
}

// CHECK-LABEL: func.func @broadcasts
// CHECK-SAME: (%[[S:.*]]: {{.*}}, %[[A:.*]]: {{.*}}, %[[X:.*]]: {{.*}})
// CHECK-DAG: %[[MUL:.*]] = mtf.mul %[[A]], %[[X]]
// CHECK-DAG: %[[EXP:.*]] = mtf.exp %[[S]]
// CHECK-DAG: %[[WIDE:.*]] = mtf.broadcast %[[EXP]] : (!mtf.tensor<[], f32>) -> !mtf.tensor<[a=3, b=2], f32>
// CHECK-DAG: %[[TWO:.*]] = mtf.constant 2.0
// CHECK-DAG: %[[SCALED:.*]] = mtf.mul %[[A]], %[[TWO]]
// CHECK-DAG: %[[SUM:.*]] = mtf.reduce sum %[[SCALED]] over ["a"]
// CHECK: return %[[MUL]], %[[WIDE]], %[[SUM]]
func.func @broadcasts(%s: !s, %a: !a, %x: !ab) -> (!ab, !ab, !s) {
  %wide = mtf.broadcast %a : (!a) -> !ab
  %0 = mtf.mul %wide, %x : (!ab, !ab) -> !ab
  %t = mtf.broadcast %s : (!s) -> !a
  %u = mtf.exp %t : (!a) -> !a
  %1 = mtf.broadcast %u : (!a) -> !ab
  %2 = mtf.reduce sum %wide over ["a", "b"] : (!ab) -> !s
  return %0, %1, %2 : !ab, !ab, !s
}

// CHECK-LABEL: func.func @dims
// CHECK-SAME: (%[[X:.*]]: {{.*}})
// CHECK-DAG: %[[SUM:.*]] = mtf.reduce sum %[[X]] over ["a", "b"]
// CHECK-DAG: %[[NEG:.*]] = mtf.neg %[[SUM]]
// CHECK-DAG: %[[SWAP:.*]] = mtf.rename %[[X]] ["a", "b"] to ["b", "a"]
// CHECK: return %[[X]], %[[NEG]], %[[X]], %[[SWAP]], %[[X]]
func.func @dims(%x: !ab) -> (!ab, !s, !ab, !ba, !ab) {
  %0 = mtf.reduce max %x over [] : (!ab) -> !ab
  %n = mtf.neg %x : (!ab) -> !ab
  %r = mtf.reduce sum %n over ["a"] : (!ab) -> !mtf.tensor<[b=2], f32>
  %1 = mtf.reduce sum %r over ["b"] : (!mtf.tensor<[b=2], f32>) -> !s
  %c = mtf.rename %x ["a"] to ["c"] : (!ab) -> !mtf.tensor<[c=3, b=2], f32>
  %2 = mtf.rename %c ["c"] to ["a"] : (!mtf.tensor<[c=3, b=2], f32>) -> !ab
  %3 = mtf.rename %c ["b", "c"] to ["a", "b"] : (!mtf.tensor<[c=3, b=2], f32>) -> !ba
  %m = mtf.merge %x ["a", "b"] into "m" : (!ab) -> !mtf.tensor<[m=6], f32>
  %4 = mtf.split %m "m" into ["a", "b"] : (!mtf.tensor<[m=6], f32>) -> !ab
  return %0, %1, %2, %3, %4 : !ab, !s, !ab, !ba, !ab
}

// A carry that stays, a slice and a stack that nobody wants.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: (%[[X:.*]]: {{.*}}, %[[Y:.*]]: {{.*}}, %[[W:.*]]: {{.*}}, %[[V:.*]]: {{.*}})
// CHECK-NEXT: %[[R:.*]] = mtf.repeat "m" 4 carries(%[[X]] : !mtf.tensor<[a=3], f32>) slices(%[[V]] : !mtf.tensor<[a=3, m=4], f32>) -> !mtf.tensor<[a=3], f32> {
// CHECK-NEXT: ^bb0(%{{.*}}: !mtf.tensor<[], i32>, %[[C:.*]]: !mtf.tensor<[a=3], f32>, %[[S:.*]]: !mtf.tensor<[a=3], f32>):
// CHECK-NEXT: %[[P:.*]] = mtf.mul %[[C]], %[[Y]]
// CHECK-NEXT: %[[Q:.*]] = mtf.add %[[P]], %[[S]]
// CHECK-NEXT: mtf.next carries(%[[Q]] : !mtf.tensor<[a=3], f32>) stacks()
// CHECK: return %[[R]], %[[Y]]
func.func @loop(%x: !a, %y: !a, %w: !am, %v: !am) -> (!a, !a) {
  %r, %same, %stack = mtf.repeat "m" 4 carries(%x, %y : !a, !a) slices(%w, %v : !am, !am) -> !a, !a, !am {
  ^bb0(%i: !i, %c: !a, %d: !a, %s: !a, %t: !a):
    %p = mtf.mul %c, %d : (!a, !a) -> !a
    %q = mtf.add %p, %t : (!a, !a) -> !a
    mtf.next carries(%q, %d : !a, !a) stacks(%p : !a)
  }
  return %r, %same : !a, !a
}
