//===- Elementwise.cpp - maps of one element each --------------------------===//
//
// Floats of every width compute in double; casts between them are the identity. i32 wraps as two's complement. A NaN, which
// may be poison, survives every op but `compare`.
//
//===----------------------------------------------------------------------===//
#include "Evaluator.h"
#include <cmath>

using namespace mlir;
using namespace meshc::interp;
namespace mtf = meshc::mtf;

template <typename OpTy, typename Fn>
static void addUnary(EvaluatorTable &table, Fn fn) {
  table.add<OpTy>([fn](OpTy, RankOp &at) {
    Tensor &result = at.make();
    forEach<2>(result.dims(), {&result, &at.operand(0)}, [&](auto o) { result[o[0]] = fn(at.operand(0)[o[1]]); });
  });
}

template <typename Fn>
static void binary(RankOp &at, Fn fn) {
  const Tensor &lhs = at.operand(0), &rhs = at.operand(1);
  Tensor &result = at.make();
  forEach<3>(result.dims(), {&result, &lhs, &rhs}, [&](auto o) {
    double x = lhs[o[1]], y = rhs[o[2]];
    result[o[0]] = std::isnan(x) || std::isnan(y) ? kPoison : fn(x, y);
  });
}

/// `fn` on doubles, the same with 32-bit wrap-around on i32.
template <typename OpTy, typename Fn>
static void addArithmetic(EvaluatorTable &table, Fn fn) {
  table.add<OpTy>([fn](OpTy op, RankOp &at) {
    if (!at.resultType().getElementType().isInteger(32))
      return binary(at, [&](double x, double y) { return fn(x, y); });
    binary(at, [&](double x, double y) {
      return static_cast<double>(static_cast<int32_t>(fn(static_cast<int64_t>(x), static_cast<int64_t>(y))));
    });
  });
}

static double cast(double x, Type from, Type to) {
  if (std::isnan(x))
    return kPoison;
  if (to.isInteger(1))
    return x != 0;
  if (to.isInteger(32) && isa<FloatType>(from))
    return std::abs(x) < 2147483648.0 ? std::trunc(x) : kPoison;
  return x;
}

static bool compare(mtf::Predicate predicate, double x, double y) {
  switch (predicate) {
  case mtf::Predicate::Eq: return x == y;
  case mtf::Predicate::Ne: return x != y;
  case mtf::Predicate::Lt: return x < y;
  case mtf::Predicate::Le: return x <= y;
  case mtf::Predicate::Gt: return x > y;
  case mtf::Predicate::Ge: return x >= y;
  }
  llvm_unreachable("unknown predicate");
}

void meshc::interp::addElementwise(EvaluatorTable &table) {
  addUnary<mtf::NegOp>(table, [](double x) { return -x; });
  addUnary<mtf::AbsOp>(table, [](double x) { return std::abs(x); });
  addUnary<mtf::SignOp>(table, [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; });
  addUnary<mtf::ExpOp>(table, [](double x) { return std::exp(x); });
  addUnary<mtf::LogOp>(table, [](double x) { return std::log(x); });
  addUnary<mtf::SqrtOp>(table, [](double x) { return std::sqrt(x); });
  addUnary<mtf::RsqrtOp>(table, [](double x) { return 1 / std::sqrt(x); });
  addUnary<mtf::TanhOp>(table, [](double x) { return std::tanh(x); });
  addUnary<mtf::ErfOp>(table, [](double x) { return std::erf(x); });
  addUnary<mtf::SinOp>(table, [](double x) { return std::sin(x); });
  addUnary<mtf::CosOp>(table, [](double x) { return std::cos(x); });
  addUnary<mtf::SigmoidOp>(table, [](double x) { return 1 / (1 + std::exp(-x)); });
  addUnary<mtf::FloorOp>(table, [](double x) { return std::floor(x); });
  addUnary<mtf::CeilOp>(table, [](double x) { return std::ceil(x); });
  addUnary<mtf::NotOp>(table, [](double x) { return std::isnan(x) ? x : x == 0; });
  addUnary<mtf::StopGradientOp>(table, [](double x) { return x; });
  addUnary<mtf::BroadcastOp>(table, [](double x) { return x; });
  addUnary<mtf::TapOp>(table, [](double x) { return x; });

  addArithmetic<mtf::AddOp>(table, [](auto x, auto y) { return x + y; });
  addArithmetic<mtf::SubOp>(table, [](auto x, auto y) { return x - y; });
  addArithmetic<mtf::MulOp>(table, [](auto x, auto y) { return x * y; });
  table.add<mtf::DivOp>([](mtf::DivOp, RankOp &at) {
    bool integer = at.resultType().getElementType().isInteger(32);
    binary(at, [&](double x, double y) { return !integer ? x / y : y == 0 ? kPoison : std::floor(x / y); });
  });
  table.add<mtf::RemOp>([](mtf::RemOp, RankOp &at) {
    binary(at, [](double x, double y) { return y == 0 ? kPoison : x - y * std::floor(x / y); });
  });
  table.add<mtf::MaxOp>([](mtf::MaxOp, RankOp &at) { binary(at, [](double x, double y) { return x >= y ? x : y; }); });
  table.add<mtf::MinOp>([](mtf::MinOp, RankOp &at) { binary(at, [](double x, double y) { return x <= y ? x : y; }); });
  table.add<mtf::PowOp>([](mtf::PowOp, RankOp &at) { binary(at, [](double x, double y) { return std::pow(x, y); }); });
  table.add<mtf::AndOp>([](mtf::AndOp, RankOp &at) { binary(at, [](double x, double y) { return x != 0 && y != 0; }); });
  table.add<mtf::OrOp>([](mtf::OrOp, RankOp &at) { binary(at, [](double x, double y) { return x != 0 || y != 0; }); });

  table.add<mtf::CompareOp>([](mtf::CompareOp op, RankOp &at) {
    Tensor &result = at.make();
    forEach<3>(result.dims(), {&result, &at.operand(0), &at.operand(1)},
               [&](auto o) { result[o[0]] = compare(op.getPredicate(), at.operand(0)[o[1]], at.operand(1)[o[2]]); });
  });
  table.add<mtf::SelectOp>([](mtf::SelectOp, RankOp &at) {
    Tensor &result = at.make();
    forEach<4>(result.dims(), {&result, &at.operand(0), &at.operand(1), &at.operand(2)}, [&](auto o) {
      double condition = at.operand(0)[o[1]];
      result[o[0]] = std::isnan(condition) ? kPoison : condition != 0 ? at.operand(1)[o[2]] : at.operand(2)[o[3]];
    });
  });
  table.add<mtf::CastOp>([](mtf::CastOp op, RankOp &at) {
    Type from = at.operandType(0).getElementType(), to = at.resultType().getElementType();
    Tensor &result = at.make();
    forEach<2>(result.dims(), {&result, &at.operand(0)}, [&](auto o) { result[o[0]] = ::cast(at.operand(0)[o[1]], from, to); });
  });
}
