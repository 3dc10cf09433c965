// Kernels whose parts depend on one another, and attention masks.
// RUN: meshc %s --target=cuda --emit=source -o %t.cu
// RUN: FileCheck %s < %t.cu
// RUN: %check-cuda-source %t.cu
// RUN: meshc %s --emit=source -o %t.cpp
// RUN: %check-cpu-source %t.cpp

!X = !rt.buffer<[rows=6, cols=2000], f32>
!R = !rt.buffer<[rows=6], f32>
!T = !rt.buffer<[rows=6], i32>
!S = !rt.buffer<[], f32>
!Q = !rt.buffer<[batch=2, seq=8, heads=2, head=16], f32>
!K = !rt.buffer<[batch=2, mem=8, heads=2, head=16], f32>
!L = !rt.buffer<[batch=2, heads=2, seq=8], f32>
!W = !rt.buffer<[heads=2], i32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["model"=2]>, rt.arena_bytes = 65536 : i64, mtf.name = "forms"} {
rt.step @train_step {
  %x = rt.alloc at 0 : !X loc("x")
  %s = rt.alloc at 8192 : !R loc("s")
  %target = rt.alloc at 8320 : !T loc("target")
  %n = rt.alloc at 8256 : !S loc("n")
  %q = rt.alloc at 16384 : !Q loc("q")
  %k = rt.alloc at 20480 : !K loc("k")
  %v = rt.alloc at 24576 : !K loc("v")
  %o = rt.alloc at 28672 : !Q loc("o")
  %l = rt.alloc at 32768 : !L loc("l")
  %w = rt.alloc at 33792 : !W loc("window")

  // A scalar of the row in place: nobody overwrites it while others of the team have to read it. Long rows are a block's work.
  // CHECK-LABEL: __global__ void computeS(const float *x, float *s) {
  // CHECK-NEXT:    Row<256> team;
  // CHECK:           const float old = s[row] * 0.9f;
  // CHECK:           team.barrier();
  // CHECK-NEXT:      if (team.leads())
  // CHECK-NEXT:        s[row] = old + sum;
  rt.kernel outer [rows=6] row [cols=2000] ins(%x, %s : !X, !R) outs(%s : !R) {
  ^bb0(%a: !X, %b: !R, %c: !R):
    %0 = rt.load %b : !R
    %keep = arith.constant 0.9 : f32
    %1 = arith.mulf %0, %keep : f32 loc("old")
    %sum = rt.row -> f32 {
      %2 = rt.load %a : !X
      rt.yield sum(%2) : f32
    }
    %3 = arith.addf %1, %sum : f32
    rt.store %3, %c : f32 to !R
  } loc("s")

  // The target's value is read before any thread overwrites it.
  // CHECK-LABEL: __global__ void computeClassifier(float *x, const int32_t *target, float *s) {
  // CHECK-NEXT:    Row<256> team;
  // CHECK:           const float [[TARGET:[a-z_]+]] = target_i >= 0 && target_i < kCols ? x[target_i + row * kCols] : 0.0f;
  // CHECK-NEXT:      team.barrier();
  // CHECK-NEXT:      team.each(kCols, [&](int64_t col) {
  // CHECK-NEXT:        x[row * kCols + col] = x[row * kCols + col] - sum;
  // CHECK:           s[row] = [[TARGET]];
  rt.kernel outer [rows=6] row [cols=2000] ins(%x, %target : !X, !T) outs(%x, %s : !X, !R) {
  ^bb0(%a: !X, %t: !T, %b: !X, %c: !R):
    %sum = rt.row -> f32 {
      %0 = rt.load %a : !X
      rt.yield sum(%0) : f32
    }
    %1 = rt.load %t : !T
    %2 = rt.load %a at ["cols"] (%1) : !X
    rt.row {
      %3 = rt.load %a : !X
      %4 = arith.subf %3, %sum : f32
      rt.store %4, %b : f32 to !X
      rt.yield
    }
    rt.store %2, %c : f32 to !R
  } loc("classifier")

  // A second reduction that needs the first: one block does both.
  // CHECK-LABEL: __global__ void computeN(const float *x, float *n) {
  // CHECK-NEXT:    Row<512> team;
  // CHECK-NEXT:    const float largest = team.max(kRows * kCols, [&](int64_t i) {
  // CHECK:         const float sum = team.sum(kRows * kCols, [&](int64_t i) {
  // CHECK-NEXT:      return math::exp(x[i] - largest);
  // CHECK:         if (team.leads())
  // CHECK-NEXT:      *n = sum;
  rt.kernel outer [] row [rows=6, cols=2000] ins(%x : !X) outs(%n : !S) {
  ^bb0(%a: !X, %c: !S):
    %max = rt.row -> f32 {
      %0 = rt.load %a : !X
      rt.yield max(%0) : f32
    }
    %sum = rt.row -> f32 {
      %0 = rt.load %a : !X
      %1 = arith.subf %0, %max : f32
      %2 = math.exp %1 : f32
      rt.yield sum(%2) : f32
    }
    rt.store %sum, %c : f32 to !S
  } loc("n")

  // No loop at all: one thread.
  // CHECK-LABEL: __global__ void computeRoot(float *n) {
  // CHECK-NEXT:    *n = std::sqrt(*n);
  rt.kernel outer [] row [] ins(%n : !S) outs(%n : !S) {
  ^bb0(%a: !S, %c: !S):
    %0 = rt.load %a : !S
    %1 = math.sqrt %0 : f32
    rt.store %1, %c : f32 to !S
  } loc("root")

  // CHECK-LABEL: void trainStep(Rank &rank) {
  // CHECK: launch(rank, rowShape<256>(kRows), computeS, x, s);
  // CHECK: launch(rank, rowShape<512>(1), computeN, x, n);
  // CHECK: launch(rank, {1, 1}, computeRoot, n);

  // A mask is an extended lambda; what it needs of the rank is computed before.
  // CHECK:      const int32_t shard = rank.shard(kModelAxis);
  // CHECK-NEXT: const auto mask = [=] __device__(int64_t query, int64_t key, int64_t, int64_t head) {
  // CHECK-NEXT:   return query - key < window[head] + shard;
  // CHECK-NEXT: };
  // CHECK:      attendForward(rank, attend, q, k, v, o, l, mask);
  rt.attend %q, %k, %v into %o, %l masked by (%w : !W) {
    batch = ["batch"], heads = ["heads"], groups = [], query = ["seq"], mem = ["mem"], head = ["head"], value = ["head"],
    scale = 0.25 : f64, queryAxes = [], keyAxes = []} : !Q, !K, !K, !Q, !L {
  ^bb0(%query: i32, %key: i32, %batch: i32, %head: i32, %window: !W):
    %0 = arith.subi %query, %key : i32
    %1 = rt.load %window at ["heads"] (%head) in_bounds : !W
    %2 = rt.shard_index ["model"]
    %3 = arith.addi %1, %2 : i32
    %4 = arith.cmpi slt, %0, %3 : i32
    rt.visible %4
  }
}
}
