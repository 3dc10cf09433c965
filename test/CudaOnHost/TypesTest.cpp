//===- TypesTest.cpp - Every element type in every library's enum ---------===//
//
// Compiled twice: against the headers for the host, and, where there is nvcc,
// against the toolkit's.
//
//===----------------------------------------------------------------------===//
#include "meshrt/cuda/types.h"

#include <gtest/gtest.h>

using namespace meshrt;
using namespace meshrt::cuda;

namespace {

constexpr ElementType kAll[] = {ElementType::F32, ElementType::BF16,
                                ElementType::F64, ElementType::I32,
                                ElementType::I1};
// A new element type must come into kAll: elementName knows it, this does not.
static_assert(static_cast<int>(ElementType::I1) + 1 == std::size(kAll));

TEST(CudaTypes, NcclType) {
  EXPECT_EQ(ncclType(ElementType::F32), ncclFloat32);
  EXPECT_EQ(ncclType(ElementType::BF16), ncclBfloat16);
  EXPECT_EQ(ncclType(ElementType::F64), ncclFloat64);
  EXPECT_EQ(ncclType(ElementType::I32), ncclInt32);
  EXPECT_EQ(ncclType(ElementType::I1), ncclUint8);
}

TEST(CudaTypes, CudaType) {
  EXPECT_EQ(cudaType(ElementType::F32), CUDA_R_32F);
  EXPECT_EQ(cudaType(ElementType::BF16), CUDA_R_16BF);
  EXPECT_EQ(cudaType(ElementType::F64), CUDA_R_64F);
  EXPECT_EQ(cudaType(ElementType::I32), CUDA_R_32I);
  EXPECT_EQ(cudaType(ElementType::I1), CUDA_R_8U);
}

TEST(CudaTypes, ComputeTypeKeepsF32UnlessTf32IsAllowed) {
  EXPECT_EQ(computeType(ElementType::F32, false), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(computeType(ElementType::F32, true), CUBLAS_COMPUTE_32F_FAST_TF32);
  for (bool tf32 : {false, true}) {
    EXPECT_EQ(computeType(ElementType::BF16, tf32), CUBLAS_COMPUTE_32F);
    EXPECT_EQ(computeType(ElementType::F64, tf32), CUBLAS_COMPUTE_64F);
    EXPECT_THROW((void)computeType(ElementType::I32, tf32), Error);
    EXPECT_THROW((void)computeType(ElementType::I1, tf32), Error);
  }
  EXPECT_EQ(scaleType(ElementType::F32), CUDA_R_32F);
  EXPECT_EQ(scaleType(ElementType::BF16), CUDA_R_32F);
  EXPECT_EQ(scaleType(ElementType::F64), CUDA_R_64F);
}

TEST(CudaTypes, Reduction) {
  EXPECT_EQ(ncclReduction(Reduce::Sum), ncclSum);
  EXPECT_EQ(ncclReduction(Reduce::Max), ncclMax);
  EXPECT_EQ(ncclReduction(Reduce::Min), ncclMin);
}

TEST(CudaTypes, UnknownValuesThrow) {
  EXPECT_THROW((void)ncclType(static_cast<ElementType>(99)), Error);
  EXPECT_THROW((void)cudaType(static_cast<ElementType>(99)), Error);
  EXPECT_THROW((void)ncclReduction(static_cast<Reduce>(99)), Error);
}

/// The C++ type of an element has the element's size.
template <typename T> void expectSize() {
  EXPECT_EQ(elementBytes(kElementType<T>), static_cast<int64_t>(sizeof(T)));
}
TEST(CudaTypes, CppTypesHaveTheElementsSize) {
  expectSize<float>();
  expectSize<bf16>();
  expectSize<double>();
  expectSize<int32_t>();
  expectSize<uint8_t>();
  for (ElementType type : kAll)
    EXPECT_GT(elementBytes(type), 0) << elementName(type);
}

} // namespace
