//===- Check.cpp - Messages of failed CUDA, cuBLASLt and NCCL calls -------===//
#include "meshrt/cuda/check.h"

#include "meshrt/types.h"

#include <cstring>
#include <string>

using namespace meshrt;

namespace {

const char *hint(cudaError_t status) {
  switch (status) {
  case cudaErrorMemoryAllocation:
    return "more microbatches, more ranks or a smaller batch need less memory";
  case cudaErrorInsufficientDriver:
    return "the driver is older than this CUDA toolkit, or not installed";
  case cudaErrorNoKernelImageForDevice:
    return "the program was not built for this GPU; add its architecture to "
           "CMAKE_CUDA_ARCHITECTURES";
  case cudaErrorIllegalAddress:
  case cudaErrorMisalignedAddress:
    return "a kernel before this call is at fault; run under compute-sanitizer "
           "or with CUDA_LAUNCH_BLOCKING=1 to find it";
  case cudaErrorLaunchOutOfResources:
  case cudaErrorInvalidConfiguration:
    return "a kernel asked for more threads, registers or shared memory than "
           "the GPU has";
  case cudaErrorDevicesUnavailable:
    return "another process holds the GPU in exclusive mode";
  default:
    return nullptr;
  }
}

const char *hint(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_NOT_INITIALIZED:
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "the GPU's memory may be full";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "no algorithm for these types, strides and alignments";
  case CUBLAS_STATUS_ARCH_MISMATCH:
    return "this GPU does not support the type";
  default:
    return nullptr;
  }
}

const char *hint(ncclResult_t status) {
  switch (status) {
  case ncclUnhandledCudaError:
  case ncclSystemError:
    return "NCCL_DEBUG=WARN prints the cause";
  case ncclRemoteError:
    return "another rank stopped; its own message says why";
  case ncclInvalidUsage:
    return "two ranks may share one GPU, which NCCL refuses";
  default:
    return nullptr;
  }
}

std::string baseName(const char *path) {
  const char *slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

[[noreturn]] void raise(const char *call, const char *file, int line,
                        const char *message, const char *hint) {
  std::string text = std::string(call) + " failed at " + baseName(file) + ":" +
                     std::to_string(line) + ": " + message;
  if (hint)
    text += std::string(" (") + hint + ")";
  throw Error(text, Error::kInternal);
}

} // namespace

void cuda::fail(cudaError_t status, const char *call, const char *file,
                int line) {
  raise(call, file, line, cudaGetErrorString(status), hint(status));
}

void cuda::fail(cublasStatus_t status, const char *call, const char *file,
                int line) {
  raise(call, file, line, cublasLtGetStatusString(status), hint(status));
}

void cuda::fail(ncclResult_t status, const char *call, const char *file,
                int line) {
  // NCCL keeps the last error's details per process.
  std::string message = ncclGetErrorString(status);
  const char *detail = ncclGetLastError(nullptr);
  if (detail && *detail)
    message += std::string("; ") + detail;
  raise(call, file, line, message.c_str(), hint(status));
}
