// One of each form of kernel, calls, and the description, as C++ text; the host's compiler accepts it without a warning.
// RUN: meshc %s --emit=source -o %t.cpp
// RUN: FileCheck %s < %t.cpp
// RUN: %check-cpu-source %t.cpp

// CHECK: // toy: mesh pod[data=2, model=2], CPU ranks. Compiled by meshc from toy.mesh.
// CHECK: constexpr Axes kModelAxis{1};
// CHECK: constexpr int64_t kEmbed = 16;
// CHECK: constexpr int64_t kWte = 64;  // toy.wte[vocab=50, embed=16]

// Two fills of different sizes are one function.
// CHECK: void fillBuffer(Rank &rank, float *wpe, int64_t n) {
// CHECK-NOT: void fill

// A gather and a broadcast along batch; what does not move with the inner loop stands before it.
// CHECK-LABEL: void computeX(Rank &rank, const float *wte, const int32_t *tokens, const float *wpe, float *x) {
// CHECK-NEXT:   const int32_t shard = rank.shard(kModelAxis);
// CHECK-NEXT:   rank.parallelFor(kBatch * kSeq, [=](int64_t begin, int64_t end) {
// CHECK-NEXT:     for (int64_t row = begin; row < end; ++row) {
// CHECK-NEXT:       const int64_t seq = row % kSeq;
// CHECK-NEXT:       const float *wpeRow = wpe + seq * kEmbed;
// CHECK-NEXT:       float *xRow = x + row * kEmbed;
// CHECK-NEXT:       const int32_t t = tokens[row] - shard * 50;
// CHECK-NEXT: #pragma omp simd
// CHECK-NEXT:       for (int64_t embed = 0; embed < kEmbed; ++embed)
// CHECK-NEXT:         xRow[embed] = (t >= 0 && t < kVocab ? wte[t * kEmbed + embed] : 0.0f) + wpeRow[embed];

// A row kernel, with the user's names.
// CHECK-LABEL: void computeLn(
// CHECK:       float sum = 0.0f;
// CHECK-NEXT: #pragma omp simd reduction(+ : sum)
// CHECK-NEXT:  for (int64_t embed = 0; embed < kEmbed; ++embed)
// CHECK-NEXT:    sum += xRow[embed];
// CHECK-NEXT:  const float mean = sum / 16.0f;
// CHECK:       const float rstd = 1.0f / std::sqrt(sum2 / 16.0f + 1e-05f);
// CHECK-NEXT:  r[row] = rstd;
// CHECK:         yRow[embed] = (xRow[embed] - mean) * rstd * g[embed];

// Columns: threads own blocks of them.
// CHECK-LABEL: void computeDg(
// CHECK:       float sum[128] = {};
// CHECK:       for (int64_t row = 0; row < kBatch * kSeq; ++row) {
// CHECK:           sum[j] += xi * r[row];
// CHECK-NEXT:      largest[j] = std::max(largest[j], xi);
// CHECK:         dg[first + j] = sum[j] + largest[j];

// A full reduction; the scalar input comes by value.
// CHECK-LABEL: void computeLoss(Rank &rank, const float *x, int32_t step, float *loss) {
// CHECK:         part += math::exp(x[i]);
// CHECK:       *loss = sum * float(step);

// The same update of two parameters is one function.
// CHECK-LABEL: void computeW(Rank &rank, const float *dg, float *w, int64_t n) {
// CHECK-NOT: void compute

// CHECK-LABEL: void trainStep(Rank &rank) {
// CHECK:   float *x = rank.at<float>(8192);  // x[batch=4, seq=8, embed=16]
// CHECK:   // toy.mesh:9
// CHECK:   computeLoss(rank, x, *rank.at<int32_t>(kStep), loss);
// CHECK:   allReduce(rank, kDataAxis, Reduce::Sum, loss, 1, {"loss", "toy.mesh:9"});
// CHECK:   computeW(rank, dg, g, 16);
// CHECK:   // dt[vocab = tokens] += y
// CHECK-NEXT: scatterAddRows(rank, dt, y, tokens, kBatch * kSeq, kEmbed, rank.shard(kModelAxis) * kVocab,
// CHECK:   computeW(rank, dt, wte, 800);
// CHECK:   for (int64_t layer = kLayers - 1; layer >= 0; --layer) {
// CHECK:     const float *w = ws + layer * (kEmbed * kFf);  // w[embed=16, ff=16]
// CHECK:     // h[batch=4, seq=8, ff=16] += dot(y, w)   toy.mesh:7
// CHECK-NEXT: matmul(rank, {.m = kBatch * kSeq, .n = kFf, .k = kEmbed, .beta = 1}, y, {kEmbed, 1}, w,

// CHECK-LABEL: Program program() {
// CHECK:   p.mesh = {{[{][{]}}"data", 2}, {"model", 2}};
// CHECK:     {"toy.wte", {ElementType::F32, kWte, {{[{][{]}}"vocab", 99, 100, kEmbed, kModelAxis}, {"embed", 16, 16, 1}}}, {Initializer::Normal, 0, 0.02}, "default"},
// CHECK:   p.trainStep.run = trainStep;
// CHECK:   p.trainStep.scalars = {{[{][{]}}ScalarInput::Step, kStep}};
// CHECK: int main(int argc, char **argv) { return trainerMain(argc, argv, program()); }

!X = !rt.buffer<[batch=4, seq=8, embed=16], f32>
!G = !rt.buffer<[embed=16], f32>
!R = !rt.buffer<[batch=4, seq=8], f32>
!P = !rt.buffer<[seq=8, embed=16], f32>
!I = !rt.buffer<[batch=4, seq=8], i32>
!T = !rt.buffer<[vocab=50, embed=16], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>, rt.arena_bytes = 65536 : i64, mtf.name = "toy", mtf.source = "toy.mesh"} {
rt.global @param.g : !G {role = #rt.role<param>, name = "toy.g", param = @toy.g, tensor = !mtf.tensor<[embed=16], f32>, order = ["embed"], offset = 0 : i64}
rt.global @param.t : !T {role = #rt.role<param>, name = "toy.wte", param = @toy.wte, tensor = !mtf.tensor<[vocab=99 pad 100 (model), embed=16], f32>, order = ["vocab", "embed"], offset = 64 : i64}
rt.global @tok : !I {role = #rt.role<data>, name = "tokens", step = @train_step, tensor = !mtf.tensor<[batch=8 (data), seq=8], i32>, order = ["batch", "seq"], offset = 32768 : i64}
rt.global @loss : !rt.buffer<[], f32> {role = #rt.role<result>, name = "loss", step = @train_step, tensor = !mtf.tensor<[], f32>, order = [], offset = 32704 : i64}
rt.global @step : !rt.buffer<[], i32> {role = #rt.role<scalar>, name = "step", step = @train_step, tensor = !mtf.tensor<[], i32>, order = [], offset = 32640 : i64}
mtf.param @toy.g : !mtf.tensor<[embed=16], f32> init <constant 1.0 : f64> {order = ["embed"], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
mtf.param @toy.wte : !mtf.tensor<[vocab=99, embed=16], f32> init <normal 0.02 : f64> {order = ["vocab", "embed"], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
rt.step @train_step {
  %g = rt.get_global @param.g : !G
  %t = rt.get_global @param.t : !T
  %tok = rt.get_global @tok : !I
  %loss = rt.get_global @loss : !rt.buffer<[], f32>
  %step = rt.get_global @step : !rt.buffer<[], i32>
  %x = rt.alloc at 8192 : !X loc("x"("toy.mesh":3:4))
  %y = rt.alloc at 16384 : !X loc("y"("toy.mesh":4:4))
  %r = rt.alloc at 24576 : !R loc("r")
  %wpe = rt.alloc at 24704 : !P loc("wpe")
  rt.fill %wpe with 0.0 : f32 : !P
  rt.kernel outer [batch=4, seq=8, embed=16] row [] ins(%t, %tok, %wpe : !T, !I, !P) outs(%x : !X) {
  ^bb0(%a: !T, %b: !I, %c: !P, %o: !X):
    %s = rt.shard_index ["model"]
    %n = arith.constant 50 : i32
    %first = arith.muli %s, %n : i32
    %i = rt.load %b : !I
    %l = arith.subi %i, %first : i32
    %v = rt.load %a at ["vocab"] (%l) : !T
    %p = rt.load %c : !P
    %q = arith.addf %v, %p : f32 loc("x"("toy.mesh":3:4))
    rt.store %q, %o : f32 to !X
  } loc("x"("toy.mesh":3:4))
  rt.kernel outer [batch=4, seq=8] row [embed=16] ins(%x, %g : !X, !G) outs(%y, %r : !X, !R) {
  ^bb0(%a: !X, %b: !G, %o: !X, %m: !R):
    %sum = rt.row -> f32 {
      %0 = rt.load %a : !X
      rt.yield sum(%0) : f32
    }
    %n = arith.constant 16.0 : f32
    %mean = arith.divf %sum, %n : f32 loc("mean"("toy.mesh":4:1))
    %sq = rt.row -> f32 {
      %0 = rt.load %a : !X
      %1 = arith.subf %0, %mean : f32
      %2 = arith.mulf %1, %1 : f32
      rt.yield sum(%2) : f32
    }
    %var = arith.divf %sq, %n : f32
    %eps = arith.constant 1.0e-5 : f32
    %v2 = arith.addf %var, %eps : f32
    %rstd = math.rsqrt %v2 : f32 loc("rstd")
    rt.store %rstd, %m : f32 to !R
    rt.row {
      %0 = rt.load %a : !X
      %1 = arith.subf %0, %mean : f32
      %2 = arith.mulf %1, %rstd : f32
      %3 = rt.load %b : !G
      %4 = arith.mulf %2, %3 : f32
      rt.store %4, %o : f32 to !X
      rt.yield
    }
  } loc("ln"("toy.mesh":4:4))
  %dg = rt.alloc at 28672 : !G loc("dg")
  rt.kernel outer [embed=16] row [batch=4, seq=8] columns ins(%x, %r : !X, !R) outs(%dg : !G) {
  ^bb0(%a: !X, %b: !R, %o: !G):
    %s:2 = rt.row -> f32, f32 {
      %0 = rt.load %a : !X
      %1 = rt.load %b : !R
      %2 = arith.mulf %0, %1 : f32
      rt.yield sum(%2), max(%0) : f32, f32
    }
    %t1 = arith.addf %s#0, %s#1 : f32
    rt.store %t1, %o : f32 to !G
  } loc("dg"("toy.mesh":4:4))
  rt.kernel outer [] row [batch=4, seq=8, embed=16] ins(%x, %step : !X, !rt.buffer<[], i32>) outs(%loss : !rt.buffer<[], f32>) {
  ^bb0(%a: !X, %st: !rt.buffer<[], i32>, %o: !rt.buffer<[], f32>):
    %s = rt.row -> f32 {
      %0 = rt.load %a : !X
      %1 = math.exp %0 : f32
      rt.yield sum(%1) : f32
    }
    %st1 = rt.load %st : !rt.buffer<[], i32>
    %f = arith.sitofp %st1 : i32 to f32
    %n = arith.mulf %s, %f : f32
    rt.store %n, %o : f32 to !rt.buffer<[], f32>
  } loc("loss"("toy.mesh":9:4))
  rt.all_reduce sum %loss over ["data"] for "loss" : !rt.buffer<[], f32> loc("loss"("toy.mesh":9:4))
  rt.kernel outer [embed=16] row [] ins(%dg, %g : !G, !G) outs(%g : !G) {
  ^bb0(%a: !G, %b: !G, %o: !G):
    %0 = rt.load %a : !G
    %1 = rt.load %b : !G
    %c = arith.constant 0.1 : f32
    %2 = arith.mulf %0, %c : f32
    %3 = arith.subf %1, %2 : f32
    rt.store %3, %o : f32 to !G
  }
  %dt = rt.alloc at 40960 : !T loc("dt")
  rt.fill %dt with 0.0 : f32 : !T
  rt.scatter_add %y at %tok onto %dt along "vocab" ["model"] : !X, !I, !T
  rt.kernel outer [vocab=50, embed=16] row [] ins(%dt, %t : !T, !T) outs(%t : !T) {
  ^bb0(%a: !T, %b: !T, %o: !T):
    %0 = rt.load %a : !T
    %1 = rt.load %b : !T
    %c = arith.constant 0.1 : f32
    %2 = arith.mulf %0, %c : f32
    %3 = arith.subf %1, %2 : f32
    rt.store %3, %o : f32 to !T
  }
  %ws = rt.alloc at 49984 : !rt.buffer<[layers=3, embed=16, ff=16], f32> loc("ws")
  %h = rt.alloc at 59968 : !rt.buffer<[batch=4, seq=8, ff=16], f32> loc("h")
  rt.loop "layers" %i : 3 reverse {
    %w = rt.slice %ws "layers" [%i] : !rt.buffer<[layers=3, embed=16, ff=16], f32> to !rt.buffer<[embed=16, ff=16], f32> loc("w")
    rt.gemm %y, %w accumulate into %h batch [] m ["batch", "seq"] n ["ff"] k ["embed"] : !X, !rt.buffer<[embed=16, ff=16], f32>, !rt.buffer<[batch=4, seq=8, ff=16], f32> loc("h"("toy.mesh":7:1))
  }
}
}
