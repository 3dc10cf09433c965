// RUN: meshc-opt %s | meshc-opt | FileCheck %s
// Every kind of op round-trips through its textual form.

// CHECK: rt.global @param.w : !rt.buffer<[embed=16, ff=64], f32> {name = "gpt.w", offset = 0 : i64, order = ["embed", "ff"], param = @gpt.w, role = #rt.role<param>, tensor = !mtf.tensor<[embed=16, ff=64], f32>}
rt.global @param.w : !rt.buffer<[embed=16, ff=64], f32> {role = #rt.role<param>, name = "gpt.w", param = @gpt.w,
  tensor = !mtf.tensor<[embed=16, ff=64], f32>, order = ["embed", "ff"], offset = 0 : i64}
rt.global @train.seed : !rt.buffer<[], i32> {role = #rt.role<scalar>, name = "seed", step = @train, tensor = !mtf.tensor<[], i32>, order = []}

// CHECK-LABEL: rt.step @train
rt.step @train {
  %w = rt.get_global @param.w : !rt.buffer<[embed=16, ff=64], f32>
  %seed = rt.get_global @train.seed : !rt.buffer<[], i32>
  // CHECK: rt.alloc at 64 : <[batch=4, seq=8, embed=16], f32>
  %x = rt.alloc at 64 : !rt.buffer<[batch=4, seq=8, embed=16], f32>
  %z = rt.alloc : !rt.buffer<[batch=4, seq=8, ff=64], f32>
  %y = rt.alloc : !rt.buffer<[batch=4, seq=8, ff=64], f32>
  // CHECK: rt.gemm %{{.*}}, %{{.*}} accumulate into %{{.*}} batch [] m ["batch", "seq"] n ["ff"] k ["embed"]
  rt.gemm %x, %w accumulate into %y batch [] m ["batch", "seq"] n ["ff"] k ["embed"]
    : !rt.buffer<[batch=4, seq=8, embed=16], f32>, !rt.buffer<[embed=16, ff=64], f32>, !rt.buffer<[batch=4, seq=8, ff=64], f32>
  // CHECK: rt.kernel outer [batch=4, seq=8] row [ff=64] ins({{.*}}) outs({{.*}}) {
  rt.kernel outer [batch=4, seq=8] row [ff=64] ins(%y, %z, %seed : !rt.buffer<[batch=4, seq=8, ff=64], f32>, !rt.buffer<[batch=4, seq=8, ff=64], f32>, !rt.buffer<[], i32>)
                                              outs(%y : !rt.buffer<[batch=4, seq=8, ff=64], f32>) {
  ^bb0(%in: !rt.buffer<[batch=4, seq=8, ff=64], f32>, %zin: !rt.buffer<[batch=4, seq=8, ff=64], f32>, %s: !rt.buffer<[], i32>, %out: !rt.buffer<[batch=4, seq=8, ff=64], f32>):
    %seed0 = rt.load %s : !rt.buffer<[], i32>
    %zero = arith.constant 0 : i32
    // CHECK: %[[SUM:.*]]:2 = rt.row -> f32, f32 {
    %sum, %top = rt.row -> f32, f32 {
      %0 = rt.load %in : !rt.buffer<[batch=4, seq=8, ff=64], f32>
      // CHECK: rt.yield sum(%{{.*}}), max(%{{.*}}) : f32, f32
      rt.yield sum(%0), max(%0) : f32, f32
    }
    rt.row {
      %i = rt.index "ff"
      // CHECK: rt.load %{{.*}} at ["ff"](%{{.*}}) in_bounds :
      %old = rt.load %zin at ["ff"](%i) in_bounds : !rt.buffer<[batch=4, seq=8, ff=64], f32>
      %n = arith.extsi %i : i32 to i64
      %1 = rt.random uniform 0.0 "gpt.drop" key (%seed0, %zero) repeats () at %n
      %2 = arith.subf %1, %sum : f32
      // CHECK: rt.store %{{.*}}, %{{.*}} : f32 to
      rt.store %2, %out : f32 to !rt.buffer<[batch=4, seq=8, ff=64], f32>
      rt.yield
    }
  }
  // CHECK: rt.loop "layers" %{{.*}} : 3 reverse {
  %ws = rt.alloc : !rt.buffer<[layers=3, batch=4, seq=8, embed=16], f32>
  rt.loop "layers" %i : 3 reverse {
    // CHECK: rt.slice %{{.*}} "layers"[%{{.*}}]
    %s = rt.slice %ws "layers" [%i] : !rt.buffer<[layers=3, batch=4, seq=8, embed=16], f32> to !rt.buffer<[batch=4, seq=8, embed=16], f32>
    rt.copy %x to %s : !rt.buffer<[batch=4, seq=8, embed=16], f32> to !rt.buffer<[batch=4, seq=8, embed=16], f32>
  }
  // CHECK: rt.view %{{.*}} from 4 : {{.*}} to <[batch=4, seq=8, heads=3, head=4], f32, strides [128, 16, 4, 1]>
  %v = rt.view %x from 4 : !rt.buffer<[batch=4, seq=8, embed=16], f32> to !rt.buffer<[batch=4, seq=8, heads=3, head=4], f32, strides [128, 16, 4, 1]>
  rt.fill %x with 0.0 : f32 : !rt.buffer<[batch=4, seq=8, embed=16], f32>
  // CHECK: rt.all_reduce sum %{{.*}} over ["data"] for "grad(gpt.w)"
  rt.all_reduce sum %w over ["data"] for "grad(gpt.w)" : !rt.buffer<[embed=16, ff=64], f32>
}

// CHECK-LABEL: rt.step @attention
rt.step @attention {
  %q = rt.alloc : !rt.buffer<[batch=2, seq=8, heads=2, head=4], f32>
  %k = rt.alloc : !rt.buffer<[batch=2, mem=8, heads=2, head=4], f32>
  %lse = rt.alloc : !rt.buffer<[batch=2, heads=2, seq=8], f32>
  %o = rt.alloc : !rt.buffer<[batch=2, seq=8, heads=2, head=4], f32>
  // CHECK: rt.attend
  rt.attend %q, %k, %k into %o, %lse {batch = ["batch"], heads = ["heads"], groups = [], query = ["seq"], mem = ["mem"], head = ["head"], value = ["head"],
    scale = 0.5 : f64, queryAxes = [], keyAxes = []}
    : !rt.buffer<[batch=2, seq=8, heads=2, head=4], f32>, !rt.buffer<[batch=2, mem=8, heads=2, head=4], f32>, !rt.buffer<[batch=2, mem=8, heads=2, head=4], f32>,
      !rt.buffer<[batch=2, seq=8, heads=2, head=4], f32>, !rt.buffer<[batch=2, heads=2, seq=8], f32> {
  ^bb0(%i: i32, %j: i32, %b: i32, %h: i32):
    %0 = arith.cmpi sle, %j, %i : i32
    rt.visible %0
  }
}
