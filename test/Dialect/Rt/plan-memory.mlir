// RUN: meshc-opt %s --rt-plan-memory | FileCheck %s

!big = !rt.buffer<[n=64], f32>
!small = !rt.buffer<[n=16], f32>

// Globals first; 64-byte offsets. Two steps share the space after them.
// CHECK: module attributes {rt.arena_bytes = 704 : i64, rt.memory = {other = 64 : i64, param = 64 : i64, scalar = 64 : i64, train = 576 : i64}
// CHECK-DAG: rt.global @w : {{.*}} offset = 0
// CHECK-DAG: rt.global @seed : {{.*}} offset = 64
rt.global @w : !small {role = #rt.role<param>, name = "w", param = @w, tensor = !mtf.tensor<[n=16], f32>, order = ["n"]}
rt.global @seed : !rt.buffer<[], i32> {role = #rt.role<scalar>, name = "seed", step = @train, tensor = !mtf.tensor<[], i32>, order = []}

// CHECK-LABEL: rt.step @train
rt.step @train {
  // Alive together: different places. `%c` takes the place of `%a`, which is dead.
  // CHECK: rt.alloc at 128 : <[n=64], f32>
  %a = rt.alloc : !big
  // CHECK: rt.alloc at 384 : <[n=64], f32>
  %b = rt.alloc : !big
  rt.fill %a with 1.0 : f32 : !big
  rt.copy %a to %b : !big to !big
  // CHECK: rt.alloc at 128 : <[n=64], f32>
  %c = rt.alloc : !big
  rt.copy %b to %c : !big to !big
  // Used by a loop, so alive in all of it, together with `%e` inside.
  // CHECK: rt.alloc at 640 : <[n=16], f32>
  %d = rt.alloc : !small
  rt.fill %d with 0.0 : f32 : !small
  rt.loop "layers" %i : 2 {
    // CHECK: rt.alloc at 384 : <[n=64], f32>
    %e = rt.alloc : !big
    rt.copy %c to %e : !big to !big
    rt.copy %e to %c : !big to !big
    rt.fill %d with 1.0 : f32 : !small
  }
}

// CHECK-LABEL: rt.step @other
rt.step @other {
  // CHECK: rt.alloc at 128
  %a = rt.alloc : !small
  rt.fill %a with 1.0 : f32 : !small
}
