// A sum of everything that masks one dimension of several: the rows run as one loop, and the mask asks for a part of its index.
// RUN: meshc %s --emit=source | FileCheck %s
// RUN: meshc %s --target=cuda --emit=source | FileCheck %s --check-prefix=CUDA

// CHECK-LABEL: void computeTotal(
// CHECK:       for (int64_t row = begin; row < end; ++row) {
// CHECK-NEXT:    const int64_t embed = row % kEmbed;
// CHECK:         for (int64_t head = 0; head < kHead; ++head) {
// CHECK-NEXT:      const float xi = x[row * kHead + head];
// CHECK-NEXT:      part += int32_t(embed) < 5 ? xi * xi : 0.0f;

// CUDA-LABEL: computeTotal
// CUDA:         const int64_t embed = i / kHead % kEmbed;
// CUDA-NEXT:    const float xi = x[i];

!X = !rt.buffer<[layers=3, embed=6, head=4], f32>
!S = !rt.buffer<[], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", []>, rt.arena_bytes = 4096 : i64, mtf.name = "toy", mtf.source = "toy.mesh"} {
rt.global @param.x : !X {role = #rt.role<param>, name = "toy.x", param = @toy.x, tensor = !mtf.tensor<[layers=3, embed=5 pad 6, head=4], f32>, order = ["layers", "embed", "head"], offset = 0 : i64}
rt.global @loss : !S {role = #rt.role<result>, name = "loss", step = @train_step, tensor = !mtf.tensor<[], f32>, order = [], offset = 2048 : i64}
mtf.param @toy.x : !mtf.tensor<[layers=3, embed=5, head=4], f32> init <normal 1.0 : f64> {order = ["layers", "embed", "head"], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
rt.step @train_step {
  %x = rt.get_global @param.x : !X
  %total = rt.get_global @loss : !S
  rt.kernel outer [] row [layers=3, embed=6, head=4] ins(%x : !X) outs(%total : !S) {
  ^bb0(%a: !X, %o: !S):
    %s = rt.row -> f32 {
      %0 = rt.load %a : !X
      %1 = arith.mulf %0, %0 : f32
      %2 = rt.index "embed"
      %n = arith.constant 5 : i32
      %3 = arith.cmpi slt, %2, %n : i32
      %z = arith.constant 0.0 : f32
      %4 = arith.select %3, %1, %z : f32
      rt.yield sum(%4) : f32
    }
    rt.store %s, %o : f32 to !S
  } loc("total"("toy.mesh":3:4))
}
}
