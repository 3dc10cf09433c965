//===- Grid.h - Runs a grid of blocks of fibers on one CPU thread ---------===//
#ifndef CUDA_ON_HOST_GRID_H
#define CUDA_ON_HOST_GRID_H

#include "cuda_runtime.h"

namespace cuda_on_host {

/// Runs body(context) once per thread of the grid, with threadIdx and the like
/// set, and `sharedBytes` of shared memory per block. Ends the process with a
/// message if a barrier is not reached by all threads.
void runGrid(dim3 grid, dim3 block, size_t sharedBytes,
             void (*body)(const void *), const void *context);
template <typename Body>
void runGrid(dim3 grid, dim3 block, size_t sharedBytes, const Body &body) {
  runGrid(
      grid, block, sharedBytes,
      [](const void *context) { (*static_cast<const Body *>(context))(); },
      &body);
}

/// For the calling fiber's block or warp.
void blockBarrier();
void warpBarrier();
void *sharedMemory();

/// Gives `bytes` (at most 16) to the lanes of the warp and returns lane
/// `source`'s.
void exchange(void *result, const void *mine, size_t bytes, int source);

} // namespace cuda_on_host

#endif // CUDA_ON_HOST_GRID_H
