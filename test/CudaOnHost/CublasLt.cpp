//===- CublasLt.cpp - Strided batched products on the host ----------------===//
//
// Column-major, like the original. Refuses what the original refuses: leading
// dimensions that are too small, addresses less aligned than the heuristics
// were told.
//
//===----------------------------------------------------------------------===//
#include "cublasLt.h"

#include <cmath>
#include <cstring>
#include <vector>

struct CublasLtOnHost {};
struct CublasLtOnHostMatmul {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t auxLd = 0, auxStride = 0;
  cudaDataType_t biasType = CUDA_R_32F, auxType = CUDA_R_32F;
};
struct CublasLtOnHostLayout {
  cudaDataType_t type;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct CublasLtOnHostPreference {
  cublasLtMatmulAlgo_t algo{256, 256, 256};
};

namespace {

double read(const void *data, cudaDataType_t type, int64_t i) {
  switch (type) {
  case CUDA_R_32F: return static_cast<const float *>(data)[i];
  case CUDA_R_64F: return static_cast<const double *>(data)[i];
  case CUDA_R_16BF: {
    uint32_t bits = uint32_t(static_cast<const uint16_t *>(data)[i]) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  default: return NAN;
  }
}

void write(void *data, cudaDataType_t type, int64_t i, double value) {
  if (type == CUDA_R_64F) {
    static_cast<double *>(data)[i] = value;
    return;
  }
  float rounded = static_cast<float>(value);
  if (type == CUDA_R_32F) {
    static_cast<float *>(data)[i] = rounded;
    return;
  }
  uint32_t bits;
  std::memcpy(&bits, &rounded, 4);
  if (rounded == rounded)
    bits += 0x7fffu + (bits >> 16 & 1);
  static_cast<uint16_t *>(data)[i] = static_cast<uint16_t>(bits >> 16);
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
}
double geluGrad(double x) {
  double t = std::tanh(0.7978845608 * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) +
         0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * x * x);
}

bool aligned(const void *p, unsigned bytes) {
  return reinterpret_cast<uintptr_t>(p) % bytes == 0;
}

/// sums (rows x cols, column-major, f32 unless wide) = A B of one batch.
template <typename T>
void multiply(std::vector<T> &sums, const CublasLtOnHostMatmul &op,
              const void *a, const CublasLtOnHostLayout &al, int64_t aAt,
              const void *b, const CublasLtOnHostLayout &bl, int64_t bAt,
              int64_t rows, int64_t cols, int64_t inner) {
  std::vector<T> row(inner * rows); // A as (inner, rows)
  for (int64_t k = 0; k < inner; ++k)
    for (int64_t r = 0; r < rows; ++r)
      row[k * rows + r] = static_cast<T>(
          read(a, al.type, aAt + (op.transA ? k + r * al.ld : r + k * al.ld)));
  for (int64_t c = 0; c < cols; ++c) {
    T *out = sums.data() + c * rows;
    std::fill(out, out + rows, T(0));
    for (int64_t k = 0; k < inner; ++k) {
      T value = static_cast<T>(
          read(b, bl.type, bAt + (op.transB ? c + k * bl.ld : k + c * bl.ld)));
      const T *in = row.data() + k * rows;
      for (int64_t r = 0; r < rows; ++r)
        out[r] += in[r] * value;
    }
  }
}

template <typename T>
cublasStatus_t run(const CublasLtOnHostMatmul &op, double alpha, double beta,
                   const void *a, const CublasLtOnHostLayout &al, const void *b,
                   const CublasLtOnHostLayout &bl, void *d,
                   const CublasLtOnHostLayout &dl) {
  auto rows = static_cast<int64_t>(dl.rows), cols = static_cast<int64_t>(dl.cols);
  auto inner = static_cast<int64_t>(op.transA ? al.rows : al.cols);
  std::vector<T> sums(rows * cols);
  for (int32_t batch = 0; batch < dl.batch; ++batch) {
    multiply(sums, op, a, al, batch * al.stride, b, bl, batch * bl.stride, rows,
             cols, inner);
    for (int64_t c = 0; c < cols; ++c)
      for (int64_t r = 0; r < rows; ++r) {
        int64_t at = batch * dl.stride + c * dl.ld + r;
        int64_t auxAt = batch * op.auxStride + c * op.auxLd + r;
        double x = alpha * sums[c * rows + r];
        if (beta != 0)
          x += beta * read(d, dl.type, at);
        if (op.epilogue & CUBLASLT_EPILOGUE_BIAS)
          x += read(op.bias, op.biasType, r);
        if (op.epilogue == CUBLASLT_EPILOGUE_DGELU) {
          x *= geluGrad(read(op.aux, op.auxType, auxAt));
        } else if (op.epilogue & CUBLASLT_EPILOGUE_GELU) {
          if (op.epilogue & 128)
            write(op.aux, op.auxType, auxAt, x);
          x = gelu(x);
        }
        write(d, dl.type, at, x);
      }
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool consistent(const CublasLtOnHostMatmul &op, const CublasLtOnHostLayout &a,
                const CublasLtOnHostLayout &b, const CublasLtOnHostLayout &d) {
  uint64_t m = op.transA ? a.cols : a.rows, ka = op.transA ? a.rows : a.cols;
  uint64_t kb = op.transB ? b.cols : b.rows, n = op.transB ? b.rows : b.cols;
  for (const CublasLtOnHostLayout *x : {&a, &b, &d})
    if (x->ld < static_cast<int64_t>(x->rows) || x->rows == 0 || x->cols == 0 ||
        x->batch != d.batch)
      return false;
  return m == d.rows && n == d.cols && ka == kb && a.type == b.type &&
         (d.type == a.type || (a.type == CUDA_R_16BF && d.type == CUDA_R_32F));
}

} // namespace

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  default: return "CUBLAS_STATUS";
  }
}
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  *handle = new CublasLtOnHost;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = new CublasLtOnHostMatmul{compute, scale};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  auto set = [&](auto &field) {
    if (bytes != sizeof(field))
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA: return set(desc->transA);
  case CUBLASLT_MATMUL_DESC_TRANSB: return set(desc->transB);
  case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(desc->epilogue);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(desc->bias);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return set(desc->aux);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return set(desc->auxLd);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return set(desc->auxStride);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE: return set(desc->auxType);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(desc->biasType);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType_t type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  *layout = new CublasLtOnHostLayout{type, rows, cols, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    std::memcpy(&layout->batch, value, sizeof(layout->batch));
  else
    std::memcpy(&layout->stride, value, sizeof(layout->stride));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new CublasLtOnHostPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  unsigned number = 0;
  if (bytes == sizeof(number))
    std::memcpy(&number, value, bytes);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    preference->algo.alignA = number;
    break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    preference->algo.alignB = number;
    break;
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    preference->algo.alignC = number;
    break;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t *results, int *found) {
  *found = 0;
  if (wanted < 1 || !consistent(*desc, *a, *b, *d))
    return CUBLAS_STATUS_INVALID_VALUE;
  results[0].algo = preference->algo;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha,
               const void *a, cublasLtMatrixLayout_t al, const void *b,
               cublasLtMatrixLayout_t bl, const void *beta, const void *c,
               cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t dl,
               const cublasLtMatmulAlgo_t *algo, void *, size_t,
               cudaStream_t stream) {
  if (!consistent(*desc, *al, *bl, *dl) || c != d || !stream ||
      !aligned(a, algo->alignA) || !aligned(b, algo->alignB) ||
      !aligned(d, algo->alignC))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (desc->scale == CUDA_R_64F)
    return run<double>(*desc, *static_cast<const double *>(alpha),
                       *static_cast<const double *>(beta), a, *al, b, *bl, d,
                       *dl);
  return run<float>(*desc, *static_cast<const float *>(alpha),
                    *static_cast<const float *>(beta), a, *al, b, *bl, d, *dl);
}
