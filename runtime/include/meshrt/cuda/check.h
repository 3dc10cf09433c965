//===- check.h - Every CUDA, cuBLASLt and NCCL call is checked ------------===//
//
//   CUDA_CHECK(cudaMalloc(&arena, bytes));
//
// A failed call throws an Error that names the call, the file and line, the
// library's message and, for the usual causes, what to do about it:
//
//   cudaMalloc(&arena, bytes) failed at Device.cpp:88: out of memory
//   (more microbatches, more ranks or a smaller batch need less)
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_CHECK_H
#define MESHRT_CUDA_CHECK_H

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

namespace meshrt::cuda {

[[noreturn]] void fail(cudaError_t status, const char *call, const char *file,
                       int line);
[[noreturn]] void fail(cublasStatus_t status, const char *call,
                       const char *file, int line);
[[noreturn]] void fail(ncclResult_t status, const char *call, const char *file,
                       int line);

inline void check(cudaError_t status, const char *call, const char *file,
                  int line) {
  if (status != cudaSuccess)
    fail(status, call, file, line);
}
inline void check(cublasStatus_t status, const char *call, const char *file,
                  int line) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(status, call, file, line);
}
inline void check(ncclResult_t status, const char *call, const char *file,
                  int line) {
  // A communicator made with blocking = 0 reports work in progress.
  if (status != ncclSuccess && status != ncclInProgress)
    fail(status, call, file, line);
}

} // namespace meshrt::cuda

#define CUDA_CHECK(call) ::meshrt::cuda::check((call), #call, __FILE__, __LINE__)
#define CUBLAS_CHECK(call)                                                     \
  ::meshrt::cuda::check((call), #call, __FILE__, __LINE__)
#define NCCL_CHECK(call) ::meshrt::cuda::check((call), #call, __FILE__, __LINE__)

#endif // MESHRT_CUDA_CHECK_H
