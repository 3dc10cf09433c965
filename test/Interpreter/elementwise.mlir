// RUN: meshc-interp %s --entry=floats | FileCheck %s --check-prefix=FLOATS
// RUN: meshc-interp %s --entry=integers | FileCheck %s --check-prefix=INTS
// RUN: meshc-interp %s --entry=broadcasting | FileCheck %s --check-prefix=BROADCAST

!s = !mtf.tensor<[], f32>
!i = !mtf.tensor<[], i32>
!b = !mtf.tensor<[], i1>

// FLOATS:      result result0 [] norm 2.718282 {{.*}} first 2.718282
// FLOATS-NEXT: result result1 [] {{.*}} first 0.5
// FLOATS-NEXT: result result2 [] {{.*}} first -2
// FLOATS-NEXT: result result3 [] {{.*}} first 0.5
// FLOATS-NEXT: result result4 [] {{.*}} first 0.8427008
// FLOATS-NEXT: result result5 [] {{.*}} first -1
// FLOATS-NEXT: result result6 [] {{.*}} first 32
func.func @floats() -> (!s, !s, !s, !s, !s, !s, !s) {
  %zero = mtf.constant 0.0 : f32 : !s
  %one = mtf.constant 1.0 : f32 : !s
  %two = mtf.constant 2.0 : f32 : !s
  %four = mtf.constant 4.0 : f32 : !s
  %five = mtf.constant 5.0 : f32 : !s
  %minus = mtf.constant -1.5 : f32 : !s
  %0 = mtf.exp %one : (!s) -> !s
  %1 = mtf.sigmoid %zero : (!s) -> !s
  %2 = mtf.floor %minus : (!s) -> !s
  %3 = mtf.rsqrt %four : (!s) -> !s
  %4 = mtf.erf %one : (!s) -> !s
  %5 = mtf.sign %minus : (!s) -> !s
  %6 = mtf.pow %two, %five : (!s, !s) -> !s
  return %0, %1, %2, %3, %4, %5, %6 : !s, !s, !s, !s, !s, !s, !s
}

// Division and remainder round toward minus infinity; sums wrap at 32 bits; casts cut toward zero.
// INTS:      result result0 {{.*}} first -4
// INTS-NEXT: result result1 {{.*}} first 1
// INTS-NEXT: result result2 {{.*}} first -2.147484e+09
// INTS-NEXT: result result3 {{.*}} first -1
// INTS-NEXT: result result4 {{.*}} first 1
func.func @integers() -> (!i, !i, !i, !i, !i) {
  %m7 = mtf.constant -7 : i32 : !i
  %two = mtf.constant 2 : i32 : !i
  %big = mtf.constant 2147483647 : i32 : !i
  %one = mtf.constant 1 : i32 : !i
  %x = mtf.constant -1.9 : f32 : !s
  %t = mtf.constant true : !b
  %0 = mtf.div %m7, %two : (!i, !i) -> !i
  %1 = mtf.rem %m7, %two : (!i, !i) -> !i
  %2 = mtf.add %big, %one : (!i, !i) -> !i
  %3 = mtf.cast %x : (!s) -> !i
  %4 = mtf.cast %t : (!b) -> !i
  return %0, %1, %2, %3, %4 : !i, !i, !i, !i, !i
}

// 10 a + b with dims in any order; select and compare by element.
// BROADCAST: result result0 [a=2, b=3] norm 19.23538 moment 29.16667 first 0 1 2 10
// BROADCAST: result result1 [a=2, b=3] {{.*}} first 0 1 2 -1
func.func @broadcasting() -> (!mtf.tensor<[a=2, b=3], i32>, !mtf.tensor<[b=3, a=2], i32>) {
  %a = mtf.index "a" : !mtf.tensor<[a=2], i32>
  %b = mtf.index "b" : !mtf.tensor<[b=3], i32>
  %ten = mtf.constant 10 : i32 : !i
  %minus = mtf.constant -1 : i32 : !i
  %0 = mtf.mul %a, %ten : (!mtf.tensor<[a=2], i32>, !i) -> !mtf.tensor<[a=2], i32>
  %1 = mtf.add %b, %0 : (!mtf.tensor<[b=3], i32>, !mtf.tensor<[a=2], i32>) -> !mtf.tensor<[a=2, b=3], i32>
  %2 = mtf.compare ge %b, %1 : (!mtf.tensor<[b=3], i32>, !mtf.tensor<[a=2, b=3], i32>) -> !mtf.tensor<[a=2, b=3], i1>
  %3 = mtf.select %2, %1, %minus : (!mtf.tensor<[a=2, b=3], i1>, !mtf.tensor<[a=2, b=3], i32>, !i) -> !mtf.tensor<[a=2, b=3], i32>
  return %1, %3 : !mtf.tensor<[a=2, b=3], i32>, !mtf.tensor<[a=2, b=3], i32>
}
