//===- launch.h - Starting kernels ----------------------------------------===//
//
//   launch(rank, {blocksFor(n, 256), 256}, gelu_kernel, out, in, n);
//
// enqueues gelu_kernel<<<blocks, 256, 0, rank.stream()>>>(out, in, n) and
// checks the launch, naming the caller's file and line.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_LAUNCH_H
#define MESHRT_CUDA_LAUNCH_H

#include "meshrt/cuda/check.h"
#include "meshrt/cuda/primitives.h"
#include "meshrt/cuda/rank.h"

namespace meshrt {

struct LaunchShape {
  dim3 grid, block;
  size_t sharedBytes;
  const char *file;
  int line;
  LaunchShape(dim3 grid, dim3 block, size_t sharedBytes = 0,
              const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : grid(grid), block(block), sharedBytes(sharedBytes), file(file),
        line(line) {}
};

/// Blocks of `threads` threads for n elements, one element per thread; capped,
/// as kernels loop over a grid's stride.
inline unsigned blocksFor(int64_t n, int threads) {
  int64_t blocks = (n + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 65535 ? 65535 : blocks);
}

/// On `stream`, otherwise as `launch`.
template <typename... Params, typename... Args>
void launchOn(cudaStream_t stream, const LaunchShape &shape,
              void (*kernel)(Params...), const Args &...args) {
#if defined(MESHRT_CUDA_ON_HOST)
  (void)stream;
  cuda_on_host::runGrid(shape.grid, shape.block, shape.sharedBytes,
                        [&] { kernel(static_cast<Params>(args)...); });
#else
  if (shape.sharedBytes > 48 * 1024) // more has to be asked for
    cuda::check(cudaFuncSetAttribute(
                    reinterpret_cast<const void *>(kernel),
                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                    static_cast<int>(shape.sharedBytes)),
                "cudaFuncSetAttribute", shape.file, shape.line);
  kernel<<<shape.grid, shape.block, shape.sharedBytes, stream>>>(
      static_cast<Params>(args)...);
#endif
  cuda::check(cudaGetLastError(), "kernel launch", shape.file, shape.line);
}

template <typename... Params, typename... Args>
void launch(Rank &rank, const LaunchShape &shape, void (*kernel)(Params...),
            const Args &...args) {
  launchOn(rank.stream(), shape, kernel, args...);
}

} // namespace meshrt

#endif // MESHRT_CUDA_LAUNCH_H
