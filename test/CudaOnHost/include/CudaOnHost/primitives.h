//===- primitives.h - The bodies of meshrt/cuda/primitives.h on the host --===//
#ifndef CUDA_ON_HOST_PRIMITIVES_H
#define CUDA_ON_HOST_PRIMITIVES_H

#include "CudaOnHost/Grid.h"
#include "meshrt/types.h"

namespace meshrt {

inline constexpr int kWarp = 32;

inline int laneId() { return threadIdx.x % kWarp; }

template <typename T> T shuffleFrom(T value, int lane) {
  static_assert(sizeof(T) <= 16);
  T result;
  cuda_on_host::exchange(&result, &value, sizeof(T), lane);
  return result;
}
template <typename T> T shuffleXor(T value, int mask) {
  return shuffleFrom(value, laneId() ^ mask);
}

inline void blockBarrier() { cuda_on_host::blockBarrier(); }
inline void warpBarrier() { cuda_on_host::warpBarrier(); }

template <typename T> T *sharedMemory() {
  return static_cast<T *>(cuda_on_host::sharedMemory());
}

inline void deviceFence() {}

inline int atomicAddInt(int *address, int value) {
  int old = *address; // fibers of one thread: nobody comes between
  *address += value;
  return old;
}

inline void copyAsync16(void *shared, const void *global, bool valid) {
  if (valid)
    std::memcpy(shared, global, 16);
  else
    std::memset(shared, 0, 16);
}
inline void copyAsyncCommit() {}
template <int kPending> void copyAsyncWait() {}

/// Every lane gathers the fragments it needs from the others.
inline void mmaBf16(float (&d)[4], const uint32_t (&a)[4],
                    const uint32_t (&b)[2]) {
  auto half = [](uint32_t pair, int high) {
    bf16 x;
    x.bits = static_cast<uint16_t>(high ? pair >> 16 : pair);
    return float(x);
  };
  int group = laneId() / 4, quad = laneId() % 4;
  // A lane's results lie in rows group, group + 8 and columns 2 quad, + 1.
  for (int k = 0; k < 8; ++k) { // pairs (2 k, 2 k + 1) of the summed index
    int upper = k >= 4, t = k % 4;
    // Register r of A holds rows group + 8 (r % 2), column half r / 2.
    uint32_t top[2], bottom[2];
    for (int h = 0; h < 2; ++h) {
      top[h] = shuffleFrom(a[2 * h], group * 4 + t);
      bottom[h] = shuffleFrom(a[2 * h + 1], group * 4 + t);
    }
    uint32_t cols[2][2];
    for (int c = 0; c < 2; ++c)
      for (int h = 0; h < 2; ++h)
        cols[c][h] = shuffleFrom(b[h], (2 * quad + c) * 4 + t);
    for (int c = 0; c < 2; ++c)
      for (int p = 0; p < 2; ++p) {
        d[c] += half(top[upper], p) * half(cols[c][upper], p);
        d[2 + c] += half(bottom[upper], p) * half(cols[c][upper], p);
      }
  }
}

} // namespace meshrt

#endif // CUDA_ON_HOST_PRIMITIVES_H
