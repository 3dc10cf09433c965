//===- cuda_runtime.h - CUDA's runtime API on CPU threads, for tests ------===//
//
// A stand-in for the toolkit's header of the same name: the few calls, types
// and keywords that the runtime and emitted programs use, executed on the host.
// A kernel launch runs its grid block by block when it is enqueued; a block's
// threads are fibers of the calling thread that switch at barriers and
// shuffles (Grid.h). So streams are trivially in order, and a program that
// forgets to wait on an event is *not* caught here.
//
// What it does catch: wrong indices (memory is plain and can be watched by the
// address sanitizer), barriers that not all threads reach, reads of memory that
// was never written (allocations start as NaNs), wrong arguments to cuBLASLt
// and NCCL.
//
//===----------------------------------------------------------------------===//
#ifndef CUDA_ON_HOST_CUDA_RUNTIME_H
#define CUDA_ON_HOST_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define __global__
#define __device__
#define __host__
/// One block at a time runs on a thread, so its shared memory is a static.
#define __shared__ static thread_local
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

/// Set by the scheduler before a fiber continues.
extern thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorMisalignedAddress = 716,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

using cudaStream_t = struct CudaOnHostStream *;
using cudaEvent_t = struct CudaOnHostEvent *;
struct cudaDeviceProp {
  char name[256];
};

/// Devices: $CUDA_ON_HOST_DEVICES, else 8.
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int device);
cudaError_t cudaDeviceSynchronize();
const char *cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();

cudaError_t cudaMallocBytes(void **pointer, size_t bytes);
template <typename T> cudaError_t cudaMalloc(T **pointer, size_t bytes) {
  return cudaMallocBytes(reinterpret_cast<void **>(pointer), bytes);
}
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMemset(void *pointer, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes,
                            cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);

#endif // CUDA_ON_HOST_CUDA_RUNTIME_H
