//===- library_types.h - cudaDataType_t, for tests on the host ------------===//
#ifndef CUDA_ON_HOST_LIBRARY_TYPES_H
#define CUDA_ON_HOST_LIBRARY_TYPES_H

/// Values as in the toolkit.
enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_8U = 8,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14,
};

#endif // CUDA_ON_HOST_LIBRARY_TYPES_H
