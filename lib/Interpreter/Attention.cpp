//===- Attention.cpp - attend and its gradient, the long way ---------------===//
//
// With rows r (all dims but head, mem and the value's own), keys m and
//   s[r, m] = scale * sum over head of q k      lse[r] = log sum over allowed m of exp s[r, m]
//   p[r, m] = exp(s - lse) where allowed, else 0
// attend is  o = sum over m of p v,  and its gradient, from D[r] = sum over the value's own dims of o do,
//   dv = sum p do        dp = sum over the value's own dims of do v        ds = p (dp - D)
//   dq = scale * sum over m of ds k             dk = scale * sum over rows of ds q
//
//===----------------------------------------------------------------------===//
#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace meshc::interp;
namespace mtf = meshc::mtf;

namespace {
struct Scores {
  Dims rows;   // rows and mem
  Dims head;   // dims contracted between q and k
  Tensor s;    // scaled products, minus infinity where the mask forbids
};
} // namespace

static Dims sorted(Dims dims) {
  llvm::sort(dims, [](const Dim &a, const Dim &b) { return a.name.getValue() < b.name.getValue(); });
  return dims;
}

static Scores score(const Tensor &q, const Tensor &k, const Tensor *mask, ArrayRef<StringAttr> head, double scale) {
  Scores scores;
  scores.rows = sorted(unite(without(q.dims(), head), without(k.dims(), head)));
  for (StringAttr name : head)
    scores.head.push_back({name, q.size(name)});
  scores.s = Tensor(scores.rows);
  Tensor &s = scores.s;
  forEach<3>(unite(scores.rows, scores.head), {&s, &q, &k}, [&](auto o) { s[o[0]] += scale * q[o[1]] * k[o[2]]; });
  if (mask)
    forEach<2>(scores.rows, {&s, mask}, [&](auto o) {
      double allowed = (*mask)[o[1]];
      s[o[0]] = std::isnan(allowed) ? kPoison : allowed != 0 ? s[o[0]] : -kInfinity;
    });
  return scores;
}

/// exp(s - lse); zero for a row whose weights are all forbidden.
static Tensor weightsOf(const Scores &scores, const Tensor &lse) {
  Tensor p(scores.rows);
  forEach<3>(scores.rows, {&p, &scores.s, &lse},
             [&](auto o) { p[o[0]] = scores.s[o[1]] == -kInfinity ? 0 : std::exp(scores.s[o[1]] - lse[o[2]]); });
  return p;
}

static LogicalResult evaluateAttend(mtf::AttendOp op, RankOp &at) {
  const Tensor &v = at.operand(2);
  Scores scores = score(at.operand(0), at.operand(1), op.getMask() ? &at.operand(3) : nullptr, nameList(op.getHead()),
                        op.getScale().convertToDouble());
  Tensor &output = at.make(0), &lse = at.make(1);
  if (op.getMask() && unite(scores.rows, at.operand(3).dims()).size() != scores.rows.size())
    return op.emitError() << "the mask has a dimension that neither the queries nor the keys have: " << op.getMask().getType();

  Tensor largest(lse.dims(), -kInfinity);
  forEach<2>(scores.rows, {&largest, &scores.s},
             [&](auto o) { largest[o[0]] = combine(mtf::ReductionKind::Max, largest[o[0]], scores.s[o[1]]); });
  forEach<3>(scores.rows, {&lse, &largest, &scores.s}, [&](auto o) {
    if (scores.s[o[2]] != -kInfinity)
      lse[o[0]] += std::exp(scores.s[o[2]] - largest[o[1]]);
  });
  for (auto [sum, max] : llvm::zip(lse.values(), largest.values()))
    sum = sum == 0 ? -kInfinity : max + std::log(sum);

  Tensor p = weightsOf(scores, lse);
  forEach<3>(unite(scores.rows, v.dims()), {&output, &p, &v}, [&](auto o) { output[o[0]] += p[o[1]] * v[o[2]]; });
  return success();
}

static void evaluateAttendGrad(mtf::AttendGradOp op, RankOp &at) {
  unsigned next = op.getMask() ? 4 : 3;
  const Tensor &q = at.operand(0), &k = at.operand(1), &v = at.operand(2);
  const Tensor &output = at.operand(next), &lse = at.operand(next + 1), &grad = at.operand(next + 2);
  double scale = op.getScale().convertToDouble();
  Scores scores = score(q, k, op.getMask() ? &at.operand(3) : nullptr, nameList(op.getHead()), scale);
  Tensor p = weightsOf(scores, lse);
  Tensor &dq = at.make(0), &dk = at.make(1), &dv = at.make(2);

  Tensor inner(lse.dims()), dp(scores.rows), ds(scores.rows);
  forEach<3>(output.dims(), {&inner, &output, &grad}, [&](auto o) { inner[o[0]] += output[o[1]] * grad[o[2]]; });
  Dims all = unite(scores.rows, v.dims());
  forEach<3>(all, {&dp, &grad, &v}, [&](auto o) { dp[o[0]] += grad[o[1]] * v[o[2]]; });
  forEach<3>(all, {&dv, &p, &grad}, [&](auto o) { dv[o[0]] += p[o[1]] * grad[o[2]]; });
  forEach<4>(scores.rows, {&ds, &p, &dp, &inner}, [&](auto o) { ds[o[0]] = p[o[1]] * (dp[o[2]] - inner[o[3]]); });
  Dims products = unite(scores.rows, scores.head);
  forEach<3>(products, {&dq, &ds, &k}, [&](auto o) { dq[o[0]] += scale * ds[o[1]] * k[o[2]]; });
  forEach<3>(products, {&dk, &ds, &q}, [&](auto o) { dk[o[0]] += scale * ds[o[1]] * q[o[2]]; });
}

void meshc::interp::addAttention(EvaluatorTable &table) {
  table.add<mtf::AttendOp>(evaluateAttend);
  table.add<mtf::AttendGradOp>(evaluateAttendGrad);
}
