//===- Gemm.cu - Matrix products by cuBLASLt ------------------------------===//
//
// cuBLASLt thinks in column-major matrices. A row-major C[m, n] is a
// column-major C^T[n, m], so we ask for C^T = B^T A^T: the first cuBLASLt
// operand is our B, the second our A, and a row-major operand is "not
// transposed".
//
//===----------------------------------------------------------------------===//
#include "meshrt/cuda/gemm.h"

#include "RankImpl.h"
#include "meshrt/cuda/launch.h"
#include "meshrt/cuda/types.h"

#include <array>
#include <unordered_map>
#include <utility>

using namespace meshrt;

namespace {

/// Everything that the choice of an algorithm may depend on.
struct GemmKey {
  int64_t m, n, k, lda, ldb, ldc, batch, strideA, strideB, strideC;
  uint8_t in, out, transA, transB, epilogue, accumulate, alignA, alignB, alignC,
      alignAux;
  bool operator==(const GemmKey &) const = default;
};

struct GemmKeyHash {
  size_t operator()(const GemmKey &key) const {
    size_t hash = 0xcbf29ce484222325u;
    auto mix = [&](int64_t value) {
      hash = (hash ^ static_cast<size_t>(value)) * 0x100000001b3u;
    };
    for (int64_t v : {key.m, key.n, key.k, key.lda, key.ldb, key.ldc, key.batch,
                      key.strideA, key.strideB, key.strideC})
      mix(v);
    for (uint8_t v :
         {key.in, key.out, key.transA, key.transB, key.epilogue, key.accumulate,
          key.alignA, key.alignB, key.alignC, key.alignAux})
      mix(v);
    return hash;
  }
};

/// A described product: built at its first call, reused for good.
struct GemmPlan {
  cublasLtMatmulDesc_t op = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algo;
};

/// One operand as a column-major matrix with a leading dimension.
struct Operand {
  const void *data;
  int64_t ld;
  bool transposed;
  int64_t batch, batch2;
};

/// log2 of the largest power of two, up to 256, that divides the address.
uint8_t alignmentLog(const void *p) {
  uint8_t log = 0;
  while (log < 8 && (reinterpret_cast<uintptr_t>(p) >> log & 1) == 0)
    ++log;
  return log;
}

/// A rows x cols matrix, seen through the transposition to column-major. The
/// stride of a dim of size 1 says nothing and is replaced.
Operand operand(const void *data, Strides s, int64_t rows, int64_t cols) {
  bool rowMajor = s.col == 1 && (s.row != 1 || rows == 1 || cols != 1);
  if (cols == 1 && s.row != 1)
    rowMajor = true;
  if (rows == 1 && s.col != 1)
    rowMajor = false;
  int64_t ld = rowMajor ? s.row : s.col;
  int64_t inner = rowMajor ? cols : rows, outer = rowMajor ? rows : cols;
  if (outer == 1)
    ld = inner;
  if ((rowMajor ? (cols > 1 && s.col != 1) : (rows > 1 && s.row != 1)) ||
      ld < inner)
    throw Error("matmul: a " + std::to_string(rows) + " x " +
                    std::to_string(cols) + " operand with strides " +
                    std::to_string(s.row) + ", " + std::to_string(s.col) +
                    " is neither row- nor column-major",
                Error::kInternal);
  return {data, ld, !rowMajor, s.batch, s.batch2};
}

cublasLtEpilogue_t epilogueType(Epilogue::Kind kind) {
  switch (kind) {
  case Epilogue::None: return CUBLASLT_EPILOGUE_DEFAULT;
  case Epilogue::Bias: return CUBLASLT_EPILOGUE_BIAS;
  case Epilogue::Gelu: return CUBLASLT_EPILOGUE_GELU;
  case Epilogue::GeluBias: return CUBLASLT_EPILOGUE_GELU_BIAS;
  case Epilogue::GeluAux: return CUBLASLT_EPILOGUE_GELU_AUX;
  case Epilogue::GeluAuxBias: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  case Epilogue::GeluGrad: return CUBLASLT_EPILOGUE_DGELU;
  }
  throw Error("matmul: unknown epilogue", Error::kInternal);
}

template <typename T>
void setOp(cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t attribute,
           T value) {
  CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(op, attribute, &value, sizeof(value)));
}

cublasLtMatrixLayout_t layout(ElementType type, int64_t rows, int64_t cols,
                              int64_t ld, int64_t batch, int64_t stride) {
  cublasLtMatrixLayout_t result;
  CUBLAS_CHECK(
      cublasLtMatrixLayoutCreate(&result, cuda::cudaType(type), rows, cols, ld));
  int32_t count = static_cast<int32_t>(batch);
  CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(
      result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)));
  CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(
      result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
      sizeof(stride)));
  return result;
}

/// Describes the product and asks the heuristics for one algorithm.
GemmPlan makePlan(Rank &rank, const GemmKey &key) {
  auto in = static_cast<ElementType>(key.in);
  auto out = static_cast<ElementType>(key.out);
  GemmPlan plan;
  CUBLAS_CHECK(cublasLtMatmulDescCreate(
      &plan.op, cuda::computeType(in, rank.impl().allowTf32),
      cuda::scaleType(in)));
  setOp(plan.op, CUBLASLT_MATMUL_DESC_TRANSA,
        key.transA ? CUBLAS_OP_T : CUBLAS_OP_N);
  setOp(plan.op, CUBLASLT_MATMUL_DESC_TRANSB,
        key.transB ? CUBLAS_OP_T : CUBLAS_OP_N);
  auto kind = static_cast<Epilogue::Kind>(key.epilogue);
  setOp(plan.op, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueType(kind));
  if (kind >= Epilogue::GeluAux) {
    setOp(plan.op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, key.ldc);
    setOp(plan.op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, key.strideC);
    setOp(plan.op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE,
          cuda::cudaType(out));
  }
  if (kind == Epilogue::Bias || kind == Epilogue::GeluBias ||
      kind == Epilogue::GeluAuxBias)
    setOp(plan.op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda::cudaType(out));

  // Operand A of cuBLASLt is n x k (or its transpose), B is k x m, C is n x m.
  plan.a = layout(in, key.transA ? key.k : key.n, key.transA ? key.n : key.k,
                  key.lda, key.batch, key.strideA);
  plan.b = layout(in, key.transB ? key.m : key.k, key.transB ? key.k : key.m,
                  key.ldb, key.batch, key.strideB);
  plan.c = layout(out, key.n, key.m, key.ldc, key.batch, key.strideC);

  cublasLtMatmulPreference_t preference;
  CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                      &value, sizeof(value)));
  };
  size_t workspace = RankImpl::kBlasWorkspace;
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t(1) << key.alignA);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t(1) << key.alignB);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t(1) << key.alignC);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t(1) << key.alignC);
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      rank.impl().blas, plan.op, plan.a, plan.b, plan.c, plan.c, preference, 1,
      &result, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0)
    throw Error("cublasLt has no algorithm for a product of " +
                    std::to_string(key.m) + " x " + std::to_string(key.k) +
                    " and " + std::to_string(key.k) + " x " +
                    std::to_string(key.n) + " " + elementName(in) + " -> " +
                    elementName(out) + ", batch " + std::to_string(key.batch) +
                    ": " + cublasLtGetStatusString(status),
                Error::kInternal);
  plan.algo = result.algo;
  return plan;
}

} // namespace

struct meshrt::GemmCache {
  std::unordered_map<GemmKey, GemmPlan, GemmKeyHash> plans;
  ~GemmCache() {
    for (auto &[key, plan] : plans) {
      cublasLtMatrixLayoutDestroy(plan.a);
      cublasLtMatrixLayoutDestroy(plan.b);
      cublasLtMatrixLayoutDestroy(plan.c);
      cublasLtMatmulDescDestroy(plan.op);
    }
  }
};

namespace {

/// One strided batch. `first` is our B, `second` our A.
void enqueue(Rank &rank, GemmKey key, const void *first, const void *second,
             void *c, float alpha, float beta, const Epilogue &epilogue) {
  RankImpl &impl = rank.impl();
  if (!impl.gemms)
    impl.gemms = std::make_shared<GemmCache>();
  key.alignA = alignmentLog(first);
  key.alignB = alignmentLog(second);
  key.alignC = alignmentLog(c);
  key.alignAux = alignmentLog(epilogue.aux);
  auto [entry, isNew] = impl.gemms->plans.try_emplace(key);
  GemmPlan &plan = entry->second;
  if (isNew)
    plan = makePlan(rank, key);
  if (epilogue.bias)
    setOp(plan.op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias);
  if (epilogue.aux)
    setOp(plan.op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, epilogue.aux);

  double alpha64 = alpha, beta64 = beta;
  bool f64 = static_cast<ElementType>(key.in) == ElementType::F64;
  const void *alphaPtr = f64 ? static_cast<const void *>(&alpha64) : &alpha;
  const void *betaPtr = f64 ? static_cast<const void *>(&beta64) : &beta;
  CUBLAS_CHECK(cublasLtMatmul(impl.blas, plan.op, alphaPtr, first, plan.a,
                              second, plan.b, betaPtr, c, plan.c, c, plan.c,
                              &plan.algo, impl.blasWorkspace,
                              RankImpl::kBlasWorkspace, rank.stream()));
}

/// c[b, b2, row, col] *= beta, for products with k == 0.
template <typename T>
__global__ void scale_kernel(T *c, MatMul shape, Strides s) {
  int64_t count = shape.batch * shape.batch2 * shape.m * shape.n;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    int64_t col = i % shape.n, row = i / shape.n % shape.m;
    int64_t b2 = i / (shape.n * shape.m) % shape.batch2;
    int64_t b = i / (shape.n * shape.m * shape.batch2);
    T &x = c[b * s.batch + b2 * s.batch2 + row * s.row + col * s.col];
    x = shape.beta == 0 ? T(0.0f) : T(float(x) * shape.beta);
  }
}

template <typename In, typename Out>
void product(Rank &rank, MatMul shape, const In *a, Strides as, const In *b,
             Strides bs, Out *c, Strides cs, const Epilogue &epilogue) {
  if (shape.m == 0 || shape.n == 0 || shape.batch == 0 || shape.batch2 == 0)
    return;
  if (shape.k == 0) {
    int64_t count = shape.batch * shape.batch2 * shape.m * shape.n;
    launch(rank, {blocksFor(count, 256), 256}, scale_kernel<Out>, c, shape, cs);
    return;
  }
  // A column-major C: transpose the whole product.
  if (cs.col != 1 && shape.n != 1) {
    if (epilogue.kind != Epilogue::None)
      throw Error("matmul: an epilogue needs a row-major result",
                  Error::kInternal);
    std::swap(shape.m, shape.n);
    std::swap(a, b);
    std::swap(as, bs);
    std::swap(as.row, as.col);
    std::swap(bs.row, bs.col);
    std::swap(cs.row, cs.col);
  }
  Operand first = operand(b, bs, shape.k, shape.n);
  Operand second = operand(a, as, shape.m, shape.k);
  Operand result = operand(c, cs, shape.m, shape.n);
  if (result.transposed) // m or n is 1: either order describes it
    result = {c, shape.m == 1 ? shape.n : cs.row, false, cs.batch, cs.batch2};

  // Two batch dims are one if the outer stride is a multiple of the inner one,
  // for all operands; otherwise the outer one is a loop.
  auto fuses = [&](const Operand &x) {
    return x.batch == x.batch2 * shape.batch2;
  };
  int64_t outer = shape.batch, inner = shape.batch2;
  if (inner == 1) {
    std::swap(outer, inner);
    for (Operand *x : {&first, &second, &result})
      std::swap(x->batch, x->batch2);
  } else if (outer > 1 && fuses(first) && fuses(second) && fuses(result)) {
    inner *= outer;
    outer = 1;
  } else if (outer > inner) {
    std::swap(outer, inner);
    for (Operand *x : {&first, &second, &result})
      std::swap(x->batch, x->batch2);
  }
  GemmKey key = {};
  key.m = shape.m, key.n = shape.n, key.k = shape.k;
  key.lda = first.ld, key.ldb = second.ld, key.ldc = result.ld;
  key.batch = inner;
  key.strideA = first.batch2, key.strideB = second.batch2;
  key.strideC = result.batch2;
  key.in = static_cast<uint8_t>(cuda::kElementType<In>);
  key.out = static_cast<uint8_t>(cuda::kElementType<Out>);
  key.transA = first.transposed, key.transB = second.transposed;
  key.epilogue = epilogue.kind;
  key.accumulate = shape.beta != 0;
  for (int64_t i = 0; i < outer; ++i) {
    Epilogue part = epilogue;
    if (part.aux)
      part.aux = static_cast<Out *>(part.aux) + i * result.batch;
    enqueue(rank, key, b + i * first.batch, a + i * second.batch,
            c + i * result.batch, shape.alpha, shape.beta, part);
  }
}

} // namespace

void meshrt::matmul(Rank &rank, const MatMul &shape, const float *a, Strides as,
                    const float *b, Strides bs, float *c, Strides cs,
                    const Epilogue &epilogue) {
  product(rank, shape, a, as, b, bs, c, cs, epilogue);
}
void meshrt::matmul(Rank &rank, const MatMul &shape, const bf16 *a, Strides as,
                    const bf16 *b, Strides bs, float *c, Strides cs,
                    const Epilogue &epilogue) {
  product(rank, shape, a, as, b, bs, c, cs, epilogue);
}
void meshrt::matmul(Rank &rank, const MatMul &shape, const bf16 *a, Strides as,
                    const bf16 *b, Strides bs, bf16 *c, Strides cs,
                    const Epilogue &epilogue) {
  product(rank, shape, a, as, b, bs, c, cs, epilogue);
}
void meshrt::matmul(Rank &rank, const MatMul &shape, const double *a,
                    Strides as, const double *b, Strides bs, double *c,
                    Strides cs, const Epilogue &epilogue) {
  product(rank, shape, a, as, b, bs, c, cs, epilogue);
}
