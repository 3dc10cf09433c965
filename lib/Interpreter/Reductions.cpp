//===- Reductions.cpp - contractions, reductions and scans -----------------===//
#include "Evaluator.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace meshc::interp;
namespace mtf = meshc::mtf;

/// The dims of `tensor` called one of `names`.
static Dims only(const Tensor &tensor, ArrayRef<StringAttr> names) {
  Dims dims;
  llvm::copy_if(tensor.dims(), std::back_inserter(dims), [&](const Dim &dim) { return llvm::is_contained(names, dim.name); });
  return dims;
}

static void evaluateDot(mtf::DotOp op, RankOp &at) {
  const Tensor &lhs = at.operand(0), &rhs = at.operand(1);
  Tensor &result = at.make();
  Dims loops = unite(result.dims(), only(lhs, nameList(op.getOver())));
  forEach<3>(loops, {&result, &lhs, &rhs}, [&](auto o) { result[o[0]] += lhs[o[1]] * rhs[o[2]]; });
}

static void evaluateReduce(mtf::ReduceOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make(0, identityOf(op.getKind()));
  forEach<2>(input.dims(), {&result, &input}, [&](auto o) { result[o[0]] = combine(op.getKind(), result[o[0]], input[o[1]]); });
}

namespace {
/// The sum over dims of exp(x) as sum * exp(largest).
struct ExpSum {
  Tensor largest, sum;
};
} // namespace

static ExpSum sumExp(const Tensor &input, ArrayRef<StringAttr> names) {
  Tensor largest(without(input.dims(), names), -kInfinity), sum(largest.dims());
  auto max = mtf::ReductionKind::Max;
  forEach<2>(input.dims(), {&largest, &input}, [&](auto o) { largest[o[0]] = combine(max, largest[o[0]], input[o[1]]); });
  forEach<2>(input.dims(), {&largest, &input}, [&](auto o) {
    if (input[o[1]] != -kInfinity)
      sum[o[0]] += std::exp(input[o[1]] - largest[o[0]]);
  });
  return {std::move(largest), std::move(sum)};
}

/// Minus infinity where all elements are.
static void evaluateLogSumExp(mtf::LogSumExpOp op, RankOp &at) {
  ExpSum total = sumExp(at.operand(0), nameList(op.getOver()));
  Tensor &result = at.make();
  for (auto [r, s, m] : llvm::zip(result.values(), total.sum.values(), total.largest.values()))
    r = s == 0 ? -kInfinity : m + std::log(s);
}

static void evaluateSoftmax(mtf::SoftmaxOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  ExpSum total = sumExp(input, nameList(op.getOver()));
  Tensor &result = at.make();
  forEach<3>(result.dims(), {&result, &input, &total.sum},
             [&](auto o) { result[o[0]] = std::exp(input[o[1]] - total.largest[o[2]]) / total.sum[o[2]]; });
}

/// Positions along a line of `input`, largest element first, of equal ones the lowest first; poison counts as largest.
static SmallVector<int64_t> falling(const Tensor &input, int64_t base, int64_t size, int64_t stride) {
  SmallVector<int64_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  auto element = [&](int64_t i) {
    double x = input[base + i * stride];
    return std::isnan(x) ? kInfinity : x;
  };
  llvm::sort(order, [&](int64_t a, int64_t b) { return element(a) != element(b) ? element(a) > element(b) : a < b; });
  return order;
}

static void evaluateArgMax(mtf::ArgMaxOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make();
  int64_t size = at.operandType(0).dimSize(op.getOverAttr()), stride = input.stride(op.getOverAttr());
  forEach<2>(result.dims(), {&result, &input}, [&](auto o) { result[o[0]] = falling(input, o[1], size, stride).front(); });
}

static void evaluateTopK(mtf::TopKOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &values = at.make(0), &indices = at.make(1);
  int64_t size = at.operandType(0).dimSize(op.getOverAttr()), stride = input.stride(op.getOverAttr());
  int64_t into = values.stride(op.getIntoAttr()), k = at.resultType(0).dimSize(op.getIntoAttr());
  forEach<2>(without(values.dims(), {op.getIntoAttr()}), {&values, &input}, [&](auto o) {
    SmallVector<int64_t> order = falling(input, o[1], size, stride);
    // What is beyond k is padding.
    for (int64_t i = 0; i < k; ++i) {
      values[o[0] + i * into] = input[o[1] + order[i] * stride];
      indices[o[0] + i * into] = order[i];
    }
  });
}

static void evaluateCumSum(mtf::CumSumOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make(0, kPoison);
  int64_t size = at.operandType(0).dimSize(op.getOverAttr()), stride = input.stride(op.getOverAttr());
  forEach<2>(without(input.dims(), {op.getOverAttr()}), {&result, &input}, [&](auto o) {
    double sum = 0;
    for (int64_t step = 0; step < size; ++step) {
      int64_t i = op.getReverse() ? size - 1 - step : step;
      double element = input[o[1] + i * stride];
      result[o[0] + i * stride] = op.getExclusive() ? sum : sum + element;
      sum += element;
    }
  });
}

void meshc::interp::addReductions(EvaluatorTable &table) {
  table.add<mtf::DotOp>(evaluateDot);
  table.add<mtf::ReduceOp>(evaluateReduce);
  table.add<mtf::LogSumExpOp>(evaluateLogSumExp);
  table.add<mtf::SoftmaxOp>(evaluateSoftmax);
  table.add<mtf::ArgMaxOp>(evaluateArgMax);
  table.add<mtf::TopKOp>(evaluateTopK);
  table.add<mtf::CumSumOp>(evaluateCumSum);
}
