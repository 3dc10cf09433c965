//===- CudaRuntime.cpp - Memory, streams and events on the host -----------===//
#include "cuda_runtime.h"

#include <cstdlib>
#include <cstring>

struct CudaOnHostStream {
  unsigned flags;
};
struct CudaOnHostEvent {
  bool recorded = false;
};

namespace {
thread_local int currentDevice = 0;

int deviceCount() {
  const char *text = std::getenv("CUDA_ON_HOST_DEVICES");
  return text ? std::atoi(text) : 8;
}
} // namespace

cudaError_t cudaGetDeviceCount(int *count) {
  *count = deviceCount();
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= deviceCount())
    return cudaErrorInvalidDevice;
  currentDevice = device;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  *device = currentDevice;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  std::strcpy(properties->name, "the host's CPU");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
  *value = 2;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess: return "no error";
  case cudaErrorNoDevice: return "no CUDA-capable device is detected";
  case cudaErrorInvalidDevice: return "invalid device ordinal";
  case cudaErrorMemoryAllocation: return "out of memory";
  default: return "error";
  }
}

cudaError_t cudaMallocBytes(void **pointer, size_t bytes) {
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*pointer)
    return cudaErrorMemoryAllocation;
  std::memset(*pointer, 0xff, bytes); // NaNs
  return cudaSuccess;
}
cudaError_t cudaFree(void *pointer) {
  std::free(pointer);
  return cudaSuccess;
}
cudaError_t cudaMemset(void *pointer, int value, size_t bytes) {
  std::memset(pointer, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes,
                            cudaStream_t stream) {
  return stream ? cudaMemset(pointer, value, bytes) : cudaErrorInvalidValue;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  if (!stream)
    return cudaErrorInvalidValue;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  *stream = new CudaOnHostStream{flags};
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return stream ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned) {
  // Waiting for an event that was never recorded is legal and a mistake.
  return stream && event && event->recorded ? cudaSuccess
                                            : cudaErrorInvalidValue;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
  *event = new CudaOnHostEvent;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!stream)
    return cudaErrorInvalidValue;
  event->recorded = true;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
