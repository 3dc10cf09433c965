//===- types.h - Element types as the CUDA libraries know them ------------===//
//
// The only place that maps `ElementType` to a library's enum. Every switch is
// exhaustive, without a default, so a new element type is a compile warning
// here and a failure in test/Runtime/CudaTypesTest.cpp rather than a wrong sum.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_TYPES_H
#define MESHRT_CUDA_TYPES_H

#include "meshrt/shapes.h"
#include "meshrt/types.h"

#include <cublasLt.h>
#include <library_types.h>
#include <nccl.h>

namespace meshrt::cuda {

/// I1 is one byte, 0 or 1: a max over bytes is "or", a min "and".
constexpr ncclDataType_t ncclType(ElementType type) {
  switch (type) {
  case ElementType::F32: return ncclFloat32;
  case ElementType::BF16: return ncclBfloat16;
  case ElementType::F64: return ncclFloat64;
  case ElementType::I32: return ncclInt32;
  case ElementType::I1: return ncclUint8;
  }
  throw Error("element type without an NCCL type", Error::kInternal);
}

constexpr ncclRedOp_t ncclReduction(Reduce kind) {
  switch (kind) {
  case Reduce::Sum: return ncclSum;
  case Reduce::Max: return ncclMax;
  case Reduce::Min: return ncclMin;
  }
  throw Error("reduction without an NCCL operation", Error::kInternal);
}

/// Matrix operands. cuBLASLt has no i1 and no i32 product we use.
constexpr cudaDataType_t cudaType(ElementType type) {
  switch (type) {
  case ElementType::F32: return CUDA_R_32F;
  case ElementType::BF16: return CUDA_R_16BF;
  case ElementType::F64: return CUDA_R_64F;
  case ElementType::I32: return CUDA_R_32I;
  case ElementType::I1: return CUDA_R_8U;
  }
  throw Error("element type without a CUDA type", Error::kInternal);
}

/// The type products are summed in: f32 for f32 and bf16. `allowTf32` lets f32
/// inputs be rounded to 10 bits of mantissa for the tensor cores.
constexpr cublasComputeType_t computeType(ElementType type, bool allowTf32) {
  switch (type) {
  case ElementType::F32:
    return allowTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  case ElementType::BF16: return CUBLAS_COMPUTE_32F;
  case ElementType::F64: return CUBLAS_COMPUTE_64F;
  case ElementType::I32:
  case ElementType::I1: break;
  }
  throw Error(std::string("no matrix product on ") + elementName(type),
              Error::kInternal);
}

/// The type of alpha and beta that goes with computeType.
constexpr cudaDataType_t scaleType(ElementType type) {
  return type == ElementType::F64 ? CUDA_R_64F : CUDA_R_32F;
}

/// The element type of a C++ type: `kElementType<float>` is F32.
template <typename T> inline constexpr ElementType kElementType = T::unknown;
template <> inline constexpr ElementType kElementType<float> = ElementType::F32;
template <> inline constexpr ElementType kElementType<bf16> = ElementType::BF16;
template <>
inline constexpr ElementType kElementType<double> = ElementType::F64;
template <>
inline constexpr ElementType kElementType<int32_t> = ElementType::I32;
template <>
inline constexpr ElementType kElementType<uint8_t> = ElementType::I1;
template <> inline constexpr ElementType kElementType<bool> = ElementType::I1;

} // namespace meshrt::cuda

#endif // MESHRT_CUDA_TYPES_H
