//===- BuiltinsMath.cpp - functions of elements ----------------------------------===//
#include "Builtins.h"
#include <cmath>

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;

/// Of a number a number, of a tensor the operation.
template <typename Op, double (*Fold)(double)> static Value unary(BuiltinCall &call) {
  if (call.value(0).isNumber())
    return Value::ofFloat(Fold(call.value(0).asDouble()));
  mlir::Value input = call.floats(0);
  return input ? Value::ofTensor(Op::create(call.e.builder, call.at(), input)) : Value();
}

static double foldRsqrt(double x) { return 1 / std::sqrt(x); }
static double foldSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// floor and ceil make whole numbers of numbers: sizes are made with them.
template <typename Op, double (*Fold)(double)> static Value rounding(BuiltinCall &call) {
  if (!call.value(0).isNumber())
    return unary<Op, Fold>(call);
  double rounded = Fold(call.value(0).asDouble());
  if (!(std::fabs(rounded) < 9e18))
    return call.error() << "the result does not fit in 63 bits";
  return Value::ofInt(static_cast<int64_t>(rounded));
}

template <typename Op> static Value signed_(BuiltinCall &call) {
  if (call.value(0).isNumber()) {
    double x = call.value(0).asDouble();
    bool isAbs = std::is_same_v<Op, mtf::AbsOp>;
    double result = isAbs ? std::fabs(x) : x > 0 ? 1 : x < 0 ? -1 : 0;
    return call.value(0).getKind() == Value::Kind::Int ? Value::ofInt(static_cast<int64_t>(result)) : Value::ofFloat(result);
  }
  mlir::Value input = call.numbers(0);
  return input ? Value::ofTensor(Op::create(call.e.builder, call.at(), input)) : Value();
}

/// where(c, a, b)
static Value select(BuiltinCall &call) {
  if (call.value(0).isBool())
    return call.value(call.value(0).asBool() ? 1 : 2);
  mlir::Value condition = call.tensor(0);
  if (!condition)
    return {};
  if (mtf::tensorType(condition).getElementType() != call.e.i1)
    return call.e.error(call.expr(0)->loc) << "the condition of 'where' must be truth values (a comparison), not " << spell(mtf::tensorType(condition));
  Value branches[] = {call.value(1), call.value(2)};
  mlir::Type element;
  for (const Value &branch : branches)
    if (branch.isTensor())
      element = branch.type().getElementType();
  for (size_t i : {0, 1}) {
    mlir::Value branch = call.tensor(i + 1, branches[i].isTensor() ? mlir::Type() : element);
    if (!branch)
      return {};
    branches[i] = Value::ofTensor(branch);
  }
  if (branches[0].type().getElementType() != branches[1].type().getElementType())
    return call.error() << "'where' needs branches of one element type, not " << branches[0].describe() << " and " << branches[1].describe();
  // The condition may add dims (a mask makes an outer product with a number), so it takes part in the rule of broadcasting.
  if (!call.e.checkBroadcast(call.loc(), "where", {branches[0], branches[1], Value::ofTensor(condition)}, {call.expr(1), call.expr(2), call.expr(0)}))
    return {};
  return Value::ofTensor(
      mtf::SelectOp::create(call.e.builder, call.at(), condition, branches[0].asTensor(), branches[1].asTensor()));
}

static Value power(BuiltinCall &call) {
  if (call.value(0).isNumber() && call.value(1).isNumber())
    return Value::ofFloat(std::pow(call.value(0).asDouble(), call.value(1).asDouble()));
  return call.e.elementwise(BinaryOp::Pow, call.loc(), call.value(0), call.value(1), call.expr(0), call.expr(1));
}

static Value castTo(BuiltinCall &call) {
  if (call.value(1).getKind() != Value::Kind::ElementType)
    return call.wrongUse() << ", where type is f32, bf16, f64, i32 or bool";
  mlir::Type element = call.value(1).asElementType();
  mlir::Value input = call.tensor(0);
  if (!input)
    return {};
  if (element == call.e.i1)
    return call.error() << "'cast' makes no truth values; write x != 0";
  return Value::ofTensor(mtf::CastOp::create(call.e.builder, call.at(), input, element));
}

static Value stopGradient(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  return input ? Value::ofTensor(mtf::StopGradientOp::create(call.e.builder, call.at(), input)) : Value();
}

static Value tap(BuiltinCall &call) {
  if (call.value(1).getKind() != Value::Kind::String)
    return call.wrongUse();
  mlir::Value input = call.tensor(0);
  return input ? Value::ofTensor(call.e.makeTap(input, call.e.childPath(call.value(1).asString()), call.loc())) : Value();
}

/// shard(x, d -> axis): a tap under the name of the value, and a pin that speaks of it.
static Value shard(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  if (!input)
    return {};
  if (call.args.expr->arrows.empty())
    return call.wrongUse();
  std::string name = nameOf(call.expr(0), "value");
  return call.e.pin(input, call.args.expr->arrows, StringRef(name).trim('\''), call.loc());
}

llvm::ArrayRef<Builtin> meshc::mathBuiltins() {
  static const Builtin table[] = {
      {"exp", "exp(x)", 1, 1, "", "", unary<mtf::ExpOp, std::exp>},
      {"log", "log(x)", 1, 1, "", "", unary<mtf::LogOp, std::log>},
      {"sqrt", "sqrt(x)", 1, 1, "", "", unary<mtf::SqrtOp, std::sqrt>},
      {"rsqrt", "rsqrt(x)", 1, 1, "", "", unary<mtf::RsqrtOp, foldRsqrt>},
      {"tanh", "tanh(x)", 1, 1, "", "", unary<mtf::TanhOp, std::tanh>},
      {"erf", "erf(x)", 1, 1, "", "", unary<mtf::ErfOp, std::erf>},
      {"sin", "sin(x)", 1, 1, "", "", unary<mtf::SinOp, std::sin>},
      {"cos", "cos(x)", 1, 1, "", "", unary<mtf::CosOp, std::cos>},
      {"sigmoid", "sigmoid(x)", 1, 1, "", "", unary<mtf::SigmoidOp, foldSigmoid>},
      {"floor", "floor(x)", 1, 1, "", "", rounding<mtf::FloorOp, std::floor>},
      {"ceil", "ceil(x)", 1, 1, "", "", rounding<mtf::CeilOp, std::ceil>},
      {"abs", "abs(x)", 1, 1, "", "", signed_<mtf::AbsOp>},
      {"sign", "sign(x)", 1, 1, "", "", signed_<mtf::SignOp>},
      {"pow", "pow(x, y)", 2, 2, "", "", power},
      {"where", "where(condition, a, b)", 3, 3, "", "", select},
      {"cast", "cast(x, type)", 2, 2, "", "", castTo},
      {"stop_gradient", "stop_gradient(x)", 1, 1, "", "", stopGradient},
      {"tap", "tap(x, \"name\")", 2, 2, "", "", tap},
      {"shard", "shard(x, d -> axis, …)", 1, 1, "", "", shard, Builtin::kNever, /*takesArrows=*/true},
  };
  return table;
}
