// RUN: meshc-opt %s --pass-pipeline='builtin.module(rt.step(rt-reuse-buffers))' | FileCheck %s

!x = !rt.buffer<[batch=4, embed=8], f32>
!xs = !rt.buffer<[layers=3, batch=4, embed=8], f32>

rt.global @param.w : !x {role = #rt.role<param>, name = "w", param = @w, tensor = !mtf.tensor<[batch=4, embed=8], f32>, order = ["batch", "embed"]}

// A parameter is updated in place.
// CHECK-LABEL: rt.step @update
rt.step @update {
  // CHECK: %[[W:.*]] = rt.get_global @param.w
  %w = rt.get_global @param.w : !x
  %new = rt.alloc : !x
  // CHECK-NOT: rt.alloc
  // CHECK: rt.kernel {{.*}} ins(%[[W]] : {{.*}}) outs(%[[W]] :
  rt.kernel outer [batch=4, embed=8] row [] ins(%w : !x) outs(%new : !x) {
  ^bb0(%i: !x, %o: !x):
    %0 = rt.load %i : !x
    %1 = arith.addf %0, %0 : f32
    rt.store %1, %o : f32 to !x
  }
  // CHECK-NOT: rt.copy
  rt.copy %new to %w : !x to !x
}

// The old value is used after the new one is made: the copy stays.
// CHECK-LABEL: rt.step @old_value_needed
rt.step @old_value_needed {
  %w = rt.get_global @param.w : !x
  %new = rt.alloc : !x
  rt.kernel outer [batch=4, embed=8] row [] ins(%w : !x) outs(%new : !x) {
  ^bb0(%i: !x, %o: !x):
    %0 = rt.load %i : !x
    rt.store %0, %o : f32 to !x
  }
  %sum = rt.alloc : !rt.buffer<[], f32>
  rt.kernel outer [] row [batch=4, embed=8] ins(%w : !x) outs(%sum : !rt.buffer<[], f32>) {
  ^bb0(%i: !x, %o: !rt.buffer<[], f32>):
    %0 = rt.row -> f32 {
      %1 = rt.load %i : !x
      rt.yield sum(%1) : f32
    }
    rt.store %0, %o : f32 to !rt.buffer<[], f32>
  }
  // CHECK: rt.copy
  rt.copy %new to %w : !x to !x
}

// A stacked value is made in its slice, a carry in its buffer.
// CHECK-LABEL: rt.step @loop
rt.step @loop {
  // CHECK: %[[X:.*]] = rt.alloc
  // CHECK: %[[S:.*]] = rt.alloc
  // CHECK-NOT: rt.alloc
  %x0 = rt.alloc : !x
  rt.fill %x0 with 1.0 : f32 : !x
  %x = rt.alloc : !x
  rt.copy %x0 to %x : !x to !x
  %s = rt.alloc : !xs
  rt.loop "layers" %i : 3 {
    // CHECK: %[[SLOT:.*]] = rt.slice %[[S]]
    %next = rt.alloc : !x
    %h = rt.alloc : !x
    // CHECK: rt.kernel {{.*}} ins(%[[X]] : {{.*}}) outs(%[[X]], %[[SLOT]]
    rt.kernel outer [batch=4, embed=8] row [] ins(%x : !x) outs(%next, %h : !x, !x) {
    ^bb0(%a: !x, %b: !x, %c: !x):
      %0 = rt.load %a : !x
      %1 = math.exp %0 : f32
      rt.store %0, %b : f32 to !x
      rt.store %1, %c : f32 to !x
    }
    // CHECK-NOT: rt.copy
    %slot = rt.slice %s "layers" [%i] : !xs to !x
    rt.copy %h to %slot : !x to !x
    rt.copy %next to %x : !x to !x
  }
}

// An accumulating product overwrites the accumulator.
// CHECK-LABEL: rt.step @accumulate
rt.step @accumulate {
  %w = rt.get_global @param.w : !x
  %a = rt.alloc : !rt.buffer<[batch=4, ff=2], f32>
  %b = rt.alloc : !rt.buffer<[ff=2, embed=8], f32>
  %sum = rt.alloc : !x
  rt.copy %w to %sum : !x to !x
  // CHECK: rt.gemm {{.*}} accumulate into %[[W:[0-9]+]]
  rt.gemm %a, %b accumulate into %sum batch [] m ["batch"] n ["embed"] k ["ff"] : !rt.buffer<[batch=4, ff=2], f32>, !rt.buffer<[ff=2, embed=8], f32>, !x
  // CHECK-NOT: rt.copy
  rt.copy %sum to %w : !x to !x
}

// A softmax over its input; the second loop over the row reads only what it overwrites.
// CHECK-LABEL: rt.step @row_in_place
rt.step @row_in_place {
  // CHECK: %[[X:.*]] = rt.alloc
  // CHECK-NOT: rt.alloc
  %x = rt.alloc : !x
  %y = rt.alloc : !x
  rt.fill %x with 1.0 : f32 : !x
  // CHECK: ins(%[[X]] : {{.*}}) outs(%[[X]]
  rt.kernel outer [batch=4] row [embed=8] ins(%x : !x) outs(%y : !x) {
  ^bb0(%a: !x, %b: !x):
    %0 = rt.row -> f32 {
      %1 = rt.load %a : !x
      rt.yield sum(%1) : f32
    }
    rt.row {
      %1 = rt.load %a : !x
      %2 = arith.divf %1, %0 : f32
      rt.store %2, %b : f32 to !x
      rt.yield
    }
  }
  rt.fill %y with 2.0 : f32 : !x
}

// A gather at a computed index of an outer dim needs the old values of other rows.
// CHECK-LABEL: rt.step @gather_not_in_place
rt.step @gather_not_in_place {
  // CHECK-COUNT-2: rt.alloc
  %x = rt.alloc : !x
  %y = rt.alloc : !x
  rt.fill %x with 1.0 : f32 : !x
  rt.kernel outer [batch=4, embed=8] row [] ins(%x : !x) outs(%y : !x) {
  ^bb0(%a: !x, %b: !x):
    %i = arith.constant 1 : i32
    %0 = rt.load %a at ["batch"](%i) : !x
    rt.store %0, %b : f32 to !x
  }
  rt.fill %y with 2.0 : f32 : !x
}

// The input of the kernel that writes a slice is made in the slice: a product and its bias.
// CHECK-LABEL: rt.step @input_in_slice
rt.step @input_in_slice {
  %a = rt.alloc : !rt.buffer<[batch=4, ff=2], f32>
  %b = rt.alloc : !rt.buffer<[ff=2, embed=8], f32>
  %s = rt.alloc : !xs
  rt.loop "layers" %i : 3 {
    // CHECK: %[[SLOT:.*]] = rt.slice
    // CHECK-NOT: rt.alloc
    // CHECK: rt.gemm {{.*}} into %[[SLOT]]
    // CHECK: rt.kernel {{.*}} ins(%[[SLOT]] : {{.*}}) outs(%[[SLOT]] :
    %slot = rt.slice %s "layers" [%i] : !xs to !x
    %y = rt.alloc : !x
    rt.gemm %a, %b into %y batch [] m ["batch"] n ["embed"] k ["ff"] : !rt.buffer<[batch=4, ff=2], f32>, !rt.buffer<[ff=2, embed=8], f32>, !x
    rt.kernel outer [batch=4, embed=8] row [] ins(%y : !x) outs(%slot : !x) {
    ^bb0(%in: !x, %o: !x):
      %0 = rt.load %in : !x
      %1 = math.exp %0 : f32
      rt.store %1, %o : f32 to !x
    }
  }
}
