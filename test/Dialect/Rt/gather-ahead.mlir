// RUN: meshc-opt %s -split-input-file -pass-pipeline='builtin.module(rt.step(rt-gather-ahead))' | meshc-opt -split-input-file | FileCheck %s

!Ws = !rt.buffer<[layers=3, embed=4, ff=8], f32>
!Part = !rt.buffer<[embed=4, ff=8], f32>
!W = !rt.buffer<[embed=8, ff=8], f32>
!X = !rt.buffer<[batch=2, embed=8], f32>
!Y = !rt.buffer<[batch=2, ff=8], f32>
module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2]>} {
rt.global @w : !Ws {role = #rt.role<param>, name = "w", tensor = !mtf.tensor<[layers=3, embed=8 (data), ff=8], f32>, order = ["layers", "embed", "ff"]}
// A part of a parameter; the whole lies in two places by turns.
// CHECK-LABEL: rt.step @forward
// CHECK:       %[[PLACES:.*]] = rt.alloc : <[turn=2, embed=8, ff=8], f32>
// CHECK-NEXT:  rt.loop "layers" %[[I:.*]] : 3 {
// CHECK-NEXT:    %[[W:.*]] = rt.slice %[[PLACES]] "turn"[%[[I]]] cyclic : <[turn=2, embed=8, ff=8], f32> to <[embed=8, ff=8], f32>
// CHECK-NEXT:    rt.gemm %{{.*}}, %[[W]] into
// CHECK-NEXT:  } ahead %[[J:.*]] {
// CHECK-NEXT:    %[[NEXT:.*]] = rt.slice %[[PLACES]] "turn"[%[[J]]] cyclic
// CHECK-NEXT:    %[[PART:.*]] = rt.slice %{{.*}} "layers"[%[[J]]]
// CHECK-NEXT:    rt.all_gather %[[PART]] into %[[NEXT]] along "embed" over ["data"] for "w"
// CHECK-NEXT:  }
rt.step @forward {
  %ws = rt.get_global @w : !Ws
  %x = rt.alloc : !X
  %y = rt.alloc : !Y
  rt.loop "layers" %i : 3 {
    %part = rt.slice %ws "layers" [%i] : !Ws to !Part
    %w = rt.alloc : !W
    rt.all_gather %part into %w along "embed" over ["data"] for "w" : !Part, !W
    rt.gemm %x, %w into %y batch [] m ["batch"] n ["ff"] k ["embed"] : !X, !W, !Y
  }
}

// The kernel that converts a part goes with it, and its buffer lives as long as the loop.
// CHECK-LABEL: rt.step @converted
// CHECK:       %[[PLACES:.*]] = rt.alloc : <[turn=2, embed=8, ff=8], bf16>
// CHECK-NEXT:  %[[PART:.*]] = rt.alloc : <[embed=4, ff=8], bf16>
// CHECK-NEXT:  rt.loop "layers" %{{.*}} : 3 reverse {
// CHECK-NOT:     rt.kernel
// CHECK:       } ahead %[[J:.*]] {
// CHECK:         %[[SLICE:.*]] = rt.slice %{{.*}} "layers"[%[[J]]]
// CHECK-NEXT:    rt.kernel outer [embed=4, ff=8] row [] ins(%[[SLICE]] : {{.*}}) outs(%[[PART]] :
// CHECK:         rt.all_gather %[[PART]] into
rt.step @converted {
  %ws = rt.get_global @w : !Ws
  %y = rt.alloc : !rt.buffer<[embed=8, ff=8], bf16>
  rt.loop "layers" %i : 3 reverse {
    %slice = rt.slice %ws "layers" [%i] : !Ws to !Part
    %part = rt.alloc : !rt.buffer<[embed=4, ff=8], bf16>
    rt.kernel outer [embed=4, ff=8] row [] ins(%slice : !Part) outs(%part : !rt.buffer<[embed=4, ff=8], bf16>) {
    ^bb0(%s: !Part, %p: !rt.buffer<[embed=4, ff=8], bf16>):
      %0 = rt.load %s : !Part
      %1 = arith.truncf %0 : f32 to bf16
      rt.store %1, %p : bf16 to !rt.buffer<[embed=4, ff=8], bf16>
    }
    %w = rt.alloc : !rt.buffer<[embed=8, ff=8], bf16>
    rt.all_gather %part into %w along "embed" over ["data"] for "w" : !rt.buffer<[embed=4, ff=8], bf16>, !rt.buffer<[embed=8, ff=8], bf16>
    rt.copy %w to %y : !rt.buffer<[embed=8, ff=8], bf16> to !rt.buffer<[embed=8, ff=8], bf16>
  }
}

// These stay: a part that the body writes, one that no index chooses, a result that is written again, a part that others read, a loop of one.
// CHECK-LABEL: rt.step @stays
// CHECK-NOT: ahead
rt.step @stays {
  %ws = rt.get_global @w : !Ws
  %carry = rt.alloc : !Part
  %all = rt.alloc : !rt.buffer<[layers=3, embed=8, ff=8], f32>
  rt.loop "layers" %i : 3 {
    %w = rt.alloc : !W
    rt.all_gather %carry into %w along "embed" over ["data"] for "carry" : !Part, !W
    %slice = rt.slice %ws "layers" [%i] : !Ws to !Part
    rt.copy %slice to %carry : !Part to !Part
    %to = rt.slice %all "layers" [%i] : !rt.buffer<[layers=3, embed=8, ff=8], f32> to !W
    rt.copy %w to %to : !W to !W
  }
  rt.loop "layers" %i : 3 {
    %w = rt.alloc : !W
    rt.all_gather %carry into %w along "embed" over ["data"] for "whole" : !Part, !W
    %to = rt.slice %all "layers" [%i] : !rt.buffer<[layers=3, embed=8, ff=8], f32> to !W
    rt.copy %w to %to : !W to !W
  }
  rt.loop "layers" %i : 3 {
    %slice = rt.slice %ws "layers" [%i] : !Ws to !Part
    %w = rt.alloc : !W
    rt.all_gather %slice into %w along "embed" over ["data"] for "again" : !Part, !W
    rt.all_reduce sum %w over ["data"] for "again" : !W
  }
  rt.loop "layers" %i : 3 {
    %slice = rt.slice %ws "layers" [%i] : !Ws to !Part
    %part = rt.alloc : !Part
    rt.copy %slice to %part : !Part to !Part
    %w = rt.alloc : !W
    rt.all_gather %part into %w along "embed" over ["data"] for "shared" : !Part, !W
    rt.copy %part to %carry : !Part to !Part
  }
  rt.loop "layers" %i : 1 {
    %slice = rt.slice %ws "layers" [%i] : !Ws to !Part
    %w = rt.alloc : !W
    rt.all_gather %slice into %w along "embed" over ["data"] for "one" : !Part, !W
  }
}
}
