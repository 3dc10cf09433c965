//===- BuiltinsReduction.cpp - contractions and reductions -----------------------===//
#include "Builtins.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using namespace meshc;
using namespace meshc::ast;
using mlir::StringAttr;

/// sum(x over d), max(x over d) …; without `over` of all dims.
template <mtf::ReductionKind Kind> static Value reduce(BuiltinCall &call) {
  mlir::Value input = call.numbers(0);
  if (!input)
    return {};
  std::optional<Names> over = call.dimsOf("over", 0, input);
  if (!over)
    return {};
  return over->empty() ? Value::ofTensor(input) : Value::ofTensor(mtf::ReduceOp::create(call.e.builder, call.at(), Kind, input, *over));
}

static Value mean(BuiltinCall &call) {
  mlir::Value input = call.floats(0);
  if (!input)
    return {};
  std::optional<Names> over = call.dimsOf("over", 0, input);
  if (!over || over->empty())
    return over ? Value::ofTensor(input) : Value();
  double count = 1;
  for (StringAttr dim : *over)
    count *= static_cast<double>(mtf::tensorType(input).dimSize(dim));
  mlir::Value sum = mtf::ReduceOp::create(call.e.builder, call.at(), mtf::ReductionKind::Sum, input, *over);
  mlir::Value scale = call.e.constant(call.loc(), 1 / count, mtf::tensorType(input).getElementType());
  return Value::ofTensor(mtf::MulOp::create(call.e.builder, call.at(), sum, scale));
}

/// max(a, b, …) of numbers and tensors, or max(x over d).
template <typename Op, mtf::ReductionKind Kind> static Value extremum(BuiltinCall &call) {
  if (call.size() == 1)
    return reduce<Kind>(call);
  if (call.clause("over"))
    return call.wrongUse();
  Value result = call.value(0);
  for (size_t i : llvm::seq<size_t>(1, call.size())) {
    const Value &next = call.value(i);
    if (result.isNumber() && next.isNumber()) {
      bool takeNext = Kind == mtf::ReductionKind::Max ? next.asDouble() > result.asDouble() : next.asDouble() < result.asDouble();
      result = takeNext ? next : result;
      continue;
    }
    Value operands[] = {result, next};
    if (!call.e.unify(call.loc(), call.builtin.name, operands, {i == 1 ? call.expr(0) : nullptr, call.expr(i)}))
      return {};
    if (operands[0].type().getElementType() == call.e.i1)
      return call.error() << "'" << call.builtin.name << "' needs numbers, not truth values";
    result = Value::ofTensor(Op::create(call.e.builder, call.at(), operands[0].asTensor(), operands[1].asTensor()));
  }
  return result;
}

template <typename Op> static Value normalize(BuiltinCall &call) {
  mlir::Value input = call.floats(0);
  if (!input)
    return {};
  if (!call.clause("over"))
    return call.wrongUse();
  std::optional<Names> over = call.dimsOf("over", 0, input);
  return over ? Value::ofTensor(Op::create(call.e.builder, call.at(), input, *over)) : Value();
}

static Value argmax(BuiltinCall &call) {
  mlir::Value input = call.numbers(0);
  StringAttr over = input ? call.oneDim("over", 0, input) : StringAttr();
  return over ? Value::ofTensor(mtf::ArgMaxOp::create(call.e.builder, call.at(), input, over)) : Value();
}

/// top_k(x over d into best = 4): values and indices.
static Value topK(BuiltinCall &call) {
  mlir::Value input = call.numbers(0);
  StringAttr over = input ? call.oneDim("over", 0, input) : StringAttr();
  if (!over)
    return {};
  std::optional<mtf::DimAttr> into = call.newDim("into");
  if (!into)
    return {};
  int64_t size = mtf::tensorType(input).dimSize(over);
  if (into->getSize() > size)
    return call.error() << "cannot take the " << into->getSize() << " largest of '" << over.getValue() << "', which has size " << size;
  if (into->getName() == over || mtf::tensorType(input).hasDim(into->getName()))
    return call.error() << "'" << into->getName().getValue() << "' is a dimension of the input already; choose another name";
  auto op = mtf::TopKOp::create(call.e.builder, call.at(), input, over, into->getName(), into->getSize());
  return Value::ofTuple({Value::ofTensor(op.getValues()), Value::ofTensor(op.getIndices())});
}

/// sort(x over d): values in falling order and their indices, along d.
static Value sort(BuiltinCall &call) {
  mlir::Value input = call.numbers(0);
  StringAttr over = input ? call.oneDim("over", 0, input) : StringAttr();
  if (!over)
    return {};
  StringAttr sorted = call.e.attr(over.getValue().str() + "'");
  while (mtf::tensorType(input).hasDim(sorted))
    sorted = call.e.attr(sorted.getValue().str() + "'");
  auto op = mtf::TopKOp::create(call.e.builder, call.at(), input, over, sorted, mtf::tensorType(input).dimSize(over));
  auto back = [&](mlir::Value value) {
    return Value::ofTensor(mtf::RenameOp::create(call.e.builder, call.at(), value, llvm::ArrayRef(sorted), llvm::ArrayRef(over)));
  };
  return Value::ofTuple({back(op.getValues()), back(op.getIndices())});
}

static Value cumsum(BuiltinCall &call) {
  mlir::Value input = call.numbers(0);
  StringAttr over = input ? call.oneDim("over", 0, input) : StringAttr();
  std::optional<bool> exclusive = call.namedBool("exclusive"), reverse = call.namedBool("reverse");
  if (!over || !exclusive || !reverse)
    return {};
  return Value::ofTensor(mtf::CumSumOp::create(call.e.builder, call.at(), input, over, *exclusive, *reverse));
}

//===----------------------------------------------------------------------===//
// dot
//===----------------------------------------------------------------------===//

/// `by expert = e`: the last operand's dim `expert` is chosen by `e`, element by element.
static mlir::Value chooseBy(BuiltinCall &call, mlir::Value operand) {
  const Clause *by = call.clause("by");
  if (!by)
    return operand;
  size_t last = call.size() - 1;
  for (const DimItem &item : by->dims) {
    Value index = item.value ? call.e.evaluate(*item.value) : Value();
    if (!item.value)
      call.wrongUse();
    if (!index)
      return {};
    if (!index.isTensor() || index.type().getElementType() != call.e.i32) {
      call.e.error(item.name.loc) << "'by " << item.name.text << "' needs an i32 tensor, not " << index.describe();
      return {};
    }
    Names names = call.e.namesOf(item.name.text);
    if (names.size() != 1) {
      call.wrongUse() << ", with one dimension behind 'by'";
      return {};
    }
    StringAttr dim = names.front();
    if (!call.e.expectDim(item.name.loc, mtf::tensorType(operand), dim, call.expr(last)))
      return {};
    operand = mtf::GatherOp::create(call.e.builder, call.at(), operand, index.asTensor(), dim);
  }
  return operand;
}

/// dot(a, b, c over d, e): operands are contracted from left to right, each dim where its last operand joins.
static Value dot(BuiltinCall &call) {
  std::vector<Value> operands;
  for (size_t i : llvm::seq(call.size())) {
    mlir::Value operand = call.floats(i);
    if (operand && i + 1 == call.size())
      operand = chooseBy(call, operand);
    if (!operand)
      return {};
    operands.push_back(Value::ofTensor(operand));
  }
  if (!call.clause("over"))
    return call.wrongUse();
  if (!call.e.checkBroadcastSizes(call.loc(), operands, call.args.exprs))
    return {};
  for (const Value &operand : operands)
    if (operand.type().getElementType() != operands.front().type().getElementType())
      return call.error() << "'dot' needs operands of one element type, not " << operands.front().describe() << " and " << operand.describe();
  Names over;
  for (const DimItem &item : call.clause("over")->dims)
    for (StringAttr name : call.e.namesOf(item.name.text)) {
      size_t owners = llvm::count_if(operands, [&](const Value &operand) { return operand.type().hasDim(name); });
      if (owners < 2) {
        for (size_t i : llvm::seq(operands.size()))
          if (!call.e.expectDim(item.name.loc, operands[i].type(), name, call.expr(i)))
            return {};
      }
      if (llvm::is_contained(over, name))
        return call.e.error(item.name.loc) << "'" << name.getValue() << "' is listed twice";
      over.push_back(name);
    }
  mlir::Value result = operands.front().asTensor();
  for (size_t i : llvm::seq<size_t>(1, operands.size())) {
    mlir::Value next = operands[i].asTensor();
    Names now;
    for (StringAttr name : over) {
      bool later = llvm::any_of(llvm::ArrayRef(operands).drop_front(i + 1), [&](const Value &operand) { return operand.type().hasDim(name); });
      if (!later && mtf::tensorType(result).hasDim(name) && mtf::tensorType(next).hasDim(name))
        now.push_back(name);
    }
    Dims dims;
    for (mlir::Value operand : {result, next})
      for (mtf::DimAttr dim : mtf::tensorType(operand).getDims())
        if (!llvm::is_contained(now, dim.getName()) && !llvm::is_contained(dims, dim))
          dims.push_back(dim);
    if (!call.e.makeType(call.loc(), dims, call.e.f32))
      return {};
    result = mtf::DotOp::create(call.e.builder, call.at(), result, next, now);
  }
  return Value::ofTensor(result);
}

//===----------------------------------------------------------------------===//
// attend
//===----------------------------------------------------------------------===//

/// attend(q, k, v over head, mem, where = mask, scale = s): the last dim of `over` is the one that weights are normalized over.
static Value attend(BuiltinCall &call) {
  mlir::Value q = call.floats(0), k = call.floats(1), v = call.floats(2);
  if (!q || !k || !v)
    return {};
  const Clause *over = call.clause("over");
  Names names;
  if (over)
    for (const DimItem &item : over->dims)
      names.append(call.e.namesOf(item.name.text));
  if (names.size() < 2)
    return call.wrongUse() << "; the last dimension is the memory's";
  StringAttr mem = names.pop_back_val();
  Loc where = over->dims.back().name.loc;
  double scale = 1;
  for (StringAttr head : names) {
    if (!call.e.expectDim(over->word.loc, mtf::tensorType(q), head, call.expr(0)) || !call.e.expectDim(over->word.loc, mtf::tensorType(k), head, call.expr(1)))
      return {};
    scale *= static_cast<double>(mtf::tensorType(q).dimSize(head));
  }
  scale = 1 / std::sqrt(scale);
  if (!call.e.expectDim(where, mtf::tensorType(k), mem, call.expr(1)) || !call.e.expectDim(where, mtf::tensorType(v), mem, call.expr(2)))
    return {};
  if (mtf::tensorType(q).hasDim(mem))
    return call.e.error(where) << "the query has the dimension '" << mem.getValue() << "' that weights are normalized over; rename it in the keys "
                                  "and values, as in k.rename(seq -> mem)";
  if (!call.e.checkBroadcastSizes(call.loc(), {Value::ofTensor(q), Value::ofTensor(k), Value::ofTensor(v)}, call.args.exprs))
    return {};
  if (Value given = call.named("scale")) {
    if (!given.isNumber())
      return call.error() << "'scale' must be a number, not " << given.describe();
    scale = given.asDouble();
  }
  mlir::Value mask;
  Value condition = call.named("where");
  if (condition && !(condition.isBool() && condition.asBool())) {
    mask = call.e.materialize(call.loc(), condition, call.e.i1);
    if (!mask)
      return {};
    if (mtf::tensorType(mask).getElementType() != call.e.i1)
      return call.error() << "'where' must be truth values (a comparison), not " << condition.describe();
    if (!call.e.checkBroadcastSizes(call.loc(), {Value::ofTensor(q), Value::ofTensor(k), Value::ofTensor(mask)}, {call.expr(0), call.expr(1), nullptr}))
      return {};
  }
  auto op = mtf::AttendOp::create(call.e.builder, call.at(), q, k, v, mask, names, mem, scale);
  return Value::ofTensor(op.getOutput());
}

llvm::ArrayRef<Builtin> meshc::reductionBuiltins() {
  using Kind = mtf::ReductionKind;
  static const Builtin table[] = {
      {"dot", "dot(a, b, … over d, …)", 2, kAnyNumber, "over by", "", dot},
      {"sum", "sum(x over d, …)", 1, 1, "over", "", reduce<Kind::Sum>},
      {"prod", "prod(x over d, …)", 1, 1, "over", "", reduce<Kind::Prod>},
      {"mean", "mean(x over d, …)", 1, 1, "over", "", mean},
      {"max", "max(a, b, …) or max(x over d, …)", 1, kAnyNumber, "over", "", extremum<mtf::MaxOp, Kind::Max>},
      {"min", "min(a, b, …) or min(x over d, …)", 1, kAnyNumber, "over", "", extremum<mtf::MinOp, Kind::Min>},
      {"softmax", "softmax(x over d, …)", 1, 1, "over", "", normalize<mtf::SoftmaxOp>},
      {"logsumexp", "logsumexp(x over d, …)", 1, 1, "over", "", normalize<mtf::LogSumExpOp>},
      {"argmax", "argmax(x over d)", 1, 1, "over", "", argmax},
      {"top_k", "top_k(x over d into best = k)", 1, 1, "over into", "", topK},
      {"sort", "sort(x over d)", 1, 1, "over", "", sort},
      {"cumsum", "cumsum(x over d, exclusive = false, reverse = false)", 1, 1, "over", "exclusive reverse", cumsum},
      {"attend", "attend(q, k, v over head, …, mem, where = mask, scale = s)", 3, 3, "over", "where scale", attend},
  };
  return table;
}
