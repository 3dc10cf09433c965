//===- BuiltinsRandom.cpp - initializers and random numbers -------------------------===//
//
// A random number depends on the seed, the step, the path of the call, the iterations of the loops around it and its global place: never
// on where or when it is computed.
//
//===----------------------------------------------------------------------===//
#include "Builtins.h"

using namespace meshc;
using namespace meshc::ast;
using mlir::StringAttr;

template <mtf::InitKind Kind> static Value initializer(BuiltinCall &call) {
  if (!call.value(0).isNumber())
    return call.e.error(call.expr(0)->loc) << "'" << call.builtin.name << "' needs a number, not " << call.value(0).describe();
  double value = call.value(0).asDouble();
  if (Kind != mtf::InitKind::Constant && value < 0)
    return call.e.error(call.expr(0)->loc) << "'" << call.builtin.name << "' needs a number that is not negative, not " << value;
  return Value::ofInit(Kind, value);
}

/// The shape of the numbers: that of `like`, or the dims of `to`.
static std::optional<Dims> shapeOf(BuiltinCall &call) {
  Value like = call.named("like");
  const Clause *to = call.clause("to");
  if (static_cast<bool>(like) == (to != nullptr))
    return call.wrongUse();
  Dims dims;
  if (like) {
    if (!like.isTensor())
      return call.error() << "'like' must be a tensor, not " << like.describe();
    dims.append(like.type().getDims().begin(), like.type().getDims().end());
    return dims;
  }
  for (const DimItem &item : to->dims) {
    std::optional<Dims> own = call.e.newDims(item);
    if (!own)
      return std::nullopt;
    dims.append(*own);
  }
  return dims;
}

template <mtf::Distribution Kind> static Value random(BuiltinCall &call) {
  Elaborator &e = call.e;
  if (!e.canBuild(call.loc()))
    return {};
  if (!e.function->seed)
    return call.error() << "random numbers are drawn in training only; write 'if training { … }' around this";
  double parameter = 0;
  if (Kind == mtf::Distribution::Bernoulli) {
    if (!call.value(0).isNumber() || call.value(0).asDouble() < 0 || call.value(0).asDouble() > 1)
      return e.error(call.expr(0)->loc) << "the probability must be a number from 0 to 1, not " << call.value(0).describe();
    parameter = call.value(0).asDouble();
  }
  std::optional<Dims> dims = shapeOf(call);
  if (!dims)
    return {};
  const CallExpr &expr = *call.args.expr;
  llvm::StringRef label = expr.label.text.empty() ? llvm::StringRef(call.builtin.name) : expr.label.text;
  if (!e.beginLabel(expr, label, call.builtin.name, &call.builtin))
    return {};
  e.endLabel(expr, label, call.builtin.name, &call.builtin, /*hasState=*/true);
  std::optional<mtf::NamedTensorType> type = e.makeType(call.loc(), *dims, e.f32);
  if (!type)
    return {};
  // The counter runs over the dims in the order of their declaration, over the whole batch.
  Dims ordered(*dims);
  llvm::sort(ordered, [&](mtf::DimAttr a, mtf::DimAttr b) {
    auto place = [&](mtf::DimAttr dim) { return llvm::find(e.dimOrder, dim.getName()) - e.dimOrder.begin(); };
    return place(a) < place(b);
  });
  llvm::SmallVector<mlir::Attribute> order;
  llvm::SmallVector<int64_t> extents;
  for (mtf::DimAttr dim : ordered) {
    order.push_back(dim.getName());
    extents.push_back(e.wholeSize(dim));
  }
  llvm::SmallVector<mlir::Value> indices;
  for (const std::unique_ptr<Loop> &loop : e.function->loops)
    indices.push_back(loop->index);
  return Value::ofTensor(mtf::RandomOp::create(e.builder, call.at(), *type, Kind, llvm::APFloat(parameter), e.attr(e.childPath(label)),
                                               e.builder.getArrayAttr(order), extents, e.builder.getArrayAttr({}), e.function->seed,
                                               e.function->step, indices, mlir::ValueRange()));
}

llvm::ArrayRef<Builtin> meshc::randomBuiltins() {
  static const Builtin table[] = {
      {"normal", "normal(std)", 1, 1, "", "", initializer<mtf::InitKind::Normal>},
      {"uniform", "uniform(bound)", 1, 1, "", "", initializer<mtf::InitKind::Uniform>},
      {"constant", "constant(value)", 1, 1, "", "", initializer<mtf::InitKind::Constant>},
      {"bernoulli", "bernoulli(p to d, …) or bernoulli(p, like = x)", 1, 1, "to", "like", random<mtf::Distribution::Bernoulli>},
      {"random_normal", "random_normal(to d, …) or random_normal(like = x)", 0, 0, "to", "like", random<mtf::Distribution::Normal>},
      {"random_uniform", "random_uniform(to d, …) or random_uniform(like = x)", 0, 0, "to", "like", random<mtf::Distribution::Uniform>},
  };
  return table;
}
