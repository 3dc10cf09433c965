//===- primitives.h - What only a GPU can do ------------------------------===//
//
// Shuffles, votes, matrix fragments, asynchronous copies and shared memory:
// every device intrinsic that kernels of the runtime or of an emitted program
// use is wrapped here and nowhere else. So a test can replace this one header's
// bodies and execute the same kernels on the host.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_PRIMITIVES_H
#define MESHRT_CUDA_PRIMITIVES_H

#include "meshrt/types.h"

#if defined(MESHRT_CUDA_ON_HOST)
#include "CudaOnHost/primitives.h"
#else

namespace meshrt {

inline constexpr int kWarp = 32;

/// Position in the warp.
__device__ inline int laneId() { return threadIdx.x % kWarp; }

/// The value of lane (mine ^ mask). All lanes of the warp must call.
template <typename T> __device__ inline T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

/// The value of lane `lane`.
template <typename T> __device__ inline T shuffleFrom(T value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}

/// Waits for all threads of the block; memory written before is seen after.
__device__ inline void blockBarrier() { __syncthreads(); }

/// Writes of this thread before are seen by other blocks' reads of what it
/// writes after.
__device__ inline void deviceFence() { __threadfence(); }

/// Waits for all lanes of the warp.
__device__ inline void warpBarrier() { __syncwarp(); }

/// The block's dynamic shared memory, 16-byte aligned.
template <typename T> __device__ inline T *sharedMemory() {
  extern __shared__ __align__(16) unsigned char meshrtShared[];
  return reinterpret_cast<T *>(meshrtShared);
}

/// Adds to an integer that other threads also add to; returns the old value.
__device__ inline int atomicAddInt(int *address, int value) {
  return atomicAdd(address, value);
}

/// Starts a copy of 16 bytes from global to shared memory, both aligned to 16.
/// Reads nothing and writes zeros if `valid` is false.
__device__ inline void copyAsync16(void *shared, const void *global,
                                   bool valid) {
  unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address),
               "l"(global), "r"(bytes));
}
__device__ inline void copyAsyncCommit() { asm volatile("cp.async.commit_group;"); }
/// Waits until at most `kPending` committed groups of this thread are under way.
template <int kPending> __device__ inline void copyAsyncWait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending));
}

/// D (16 x 8, f32) += A (16 x 16, bf16, row-major) * B (16 x 8, bf16,
/// column-major), held by the warp. With g = lane / 4 and t = lane % 4:
///   a[0..3]: rows g, g + 8, g, g + 8; columns 2t, 2t, 2t + 8, 2t + 8 (pairs)
///   b[0..1]: column g; rows 2t, 2t + 8 (pairs)
///   d[0..3]: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
__device__ inline void mmaBf16(float (&d)[4], const uint32_t (&a)[4],
                               const uint32_t (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                 "r"(b[1]));
}

} // namespace meshrt

#endif // MESHRT_CUDA_ON_HOST

#endif // MESHRT_CUDA_PRIMITIVES_H
