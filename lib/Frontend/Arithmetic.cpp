//===- Arithmetic.cpp - operators on numbers and tensors ---------------------===//
#include "Elaborator.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cmath>

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

static bool isComparison(BinaryOp op) { return op >= BinaryOp::Eq && op <= BinaryOp::Ge; }
static bool isLogical(BinaryOp op) { return op == BinaryOp::And || op == BinaryOp::Or; }

static mtf::Predicate predicateOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Ne: return mtf::Predicate::Ne;
  case BinaryOp::Lt: return mtf::Predicate::Lt;
  case BinaryOp::Le: return mtf::Predicate::Le;
  case BinaryOp::Gt: return mtf::Predicate::Gt;
  case BinaryOp::Ge: return mtf::Predicate::Ge;
  default: return mtf::Predicate::Eq;
  }
}

//===----------------------------------------------------------------------===//
// Static values
//===----------------------------------------------------------------------===//

/// Exact integer arithmetic where possible; null where the result is no integer, does not fit or does not exist.
static std::optional<int64_t> foldInt(BinaryOp op, int64_t a, int64_t b) {
  switch (op) {
  case BinaryOp::Add: return llvm::checkedAdd(a, b);
  case BinaryOp::Sub: return llvm::checkedSub(a, b);
  case BinaryOp::Mul: return llvm::checkedMul(a, b);
  case BinaryOp::Div: return b == 0 || (b == -1 && a == INT64_MIN) || a % b != 0 ? std::nullopt : std::optional(a / b);
  case BinaryOp::Rem: return b <= 0 ? std::nullopt : std::optional((a % b + b) % b);
  case BinaryOp::Pow: {
    if (b < 0 || b > 62)
      return std::nullopt;
    std::optional<int64_t> result = 1;
    for (int64_t i = 0; i < b && result; ++i)
      result = llvm::checkedMul(*result, a);
    return result;
  }
  default: return std::nullopt;
  }
}

static double foldFloat(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add: return a + b;
  case BinaryOp::Sub: return a - b;
  case BinaryOp::Mul: return a * b;
  case BinaryOp::Div: return a / b;
  case BinaryOp::Rem: return a - b * std::floor(a / b);
  case BinaryOp::Pow: return std::pow(a, b);
  default: return 0;
  }
}

static bool foldComparison(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Eq: return a == b;
  case BinaryOp::Ne: return a != b;
  case BinaryOp::Lt: return a < b;
  case BinaryOp::Le: return a <= b;
  case BinaryOp::Gt: return a > b;
  default: return a >= b;
  }
}

Value Elaborator::foldStatic(const BinaryExpr &expr, const Value &lhs, const Value &rhs) {
  BinaryOp op = expr.op;
  if (lhs.getKind() == Value::Kind::String && rhs.getKind() == Value::Kind::String && (op == BinaryOp::Eq || op == BinaryOp::Ne))
    return Value::ofBool((lhs.asString() == rhs.asString()) == (op == BinaryOp::Eq));
  if (lhs.isBool() && rhs.isBool()) {
    if (isLogical(op))
      return Value::ofBool(op == BinaryOp::And ? lhs.asBool() && rhs.asBool() : lhs.asBool() || rhs.asBool());
    if (op == BinaryOp::Eq || op == BinaryOp::Ne)
      return Value::ofBool((lhs.asBool() == rhs.asBool()) == (op == BinaryOp::Eq));
  }
  if (!lhs.isNumber() || !rhs.isNumber() || isLogical(op))
    return error(expr.loc) << "'" << spelling(op) << "' does not apply to " << lhs.describe() << " and " << rhs.describe();
  if (isComparison(op))
    return Value::ofBool(foldComparison(op, lhs.asDouble(), rhs.asDouble()));
  if ((op == BinaryOp::Div || op == BinaryOp::Rem) && rhs.asDouble() == 0)
    return error(expr.loc) << "division by zero";
  if (lhs.getKind() == Value::Kind::Int && rhs.getKind() == Value::Kind::Int) {
    if (std::optional<int64_t> exact = foldInt(op, lhs.asInt(), rhs.asInt()))
      return Value::ofInt(*exact);
    if (op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul || (op == BinaryOp::Pow && rhs.asInt() >= 0))
      return error(expr.loc) << lhs.asInt() << " " << spelling(op) << " " << rhs.asInt() << " does not fit in 63 bits";
  }
  return Value::ofFloat(foldFloat(op, lhs.asDouble(), rhs.asDouble()));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Value Elaborator::evaluateUnary(const UnaryExpr &expr) {
  Value operand = evaluate(*expr.operand);
  if (!operand)
    return {};
  bool isNot = expr.op == UnaryOp::Not;
  if (operand.isTensor()) {
    mlir::Type element = operand.type().getElementType();
    if (isNot != (element == i1))
      return error(expr.loc) << "'" << (isNot ? "not" : "-") << "' does not apply to " << operand.describe();
    if (isNot)
      return Value::ofTensor(mtf::NotOp::create(builder, location(expr.loc), operand.asTensor()));
    return Value::ofTensor(mtf::NegOp::create(builder, location(expr.loc), operand.asTensor()));
  }
  if (isNot && operand.isBool())
    return Value::ofBool(!operand.asBool());
  if (!isNot && operand.getKind() == Value::Kind::Int && operand.asInt() != INT64_MIN)
    return Value::ofInt(-operand.asInt());
  if (!isNot && operand.isNumber())
    return Value::ofFloat(-operand.asDouble());
  return error(expr.loc) << "'" << (isNot ? "not" : "-") << "' does not apply to " << operand.describe();
}

Value Elaborator::evaluateBinary(const BinaryExpr &expr) {
  Value lhs = evaluate(*expr.lhs), rhs = evaluate(*expr.rhs);
  if (!lhs || !rhs)
    return {};
  if (!lhs.isTensor() && !rhs.isTensor())
    return foldStatic(expr, lhs, rhs);
  return elementwise(expr.op, expr.loc, lhs, rhs, expr.lhs, expr.rhs);
}

Value Elaborator::elementwise(BinaryOp op, Loc loc, const Value &lhs, const Value &rhs, const Expr *lhsExpr, const Expr *rhsExpr) {
  Value operands[] = {lhs, rhs};
  if (!unify(loc, spelling(op), operands, {lhsExpr, rhsExpr}))
    return {};
  mlir::Value a = operands[0].asTensor(), b = operands[1].asTensor();
  mlir::Type element = mtf::tensorType(a).getElementType();
  if (isLogical(op) ? element != i1 : element == i1 && op != BinaryOp::Eq && op != BinaryOp::Ne)
    return error(loc) << "'" << spelling(op) << "' does not apply to " << (element == i1 ? "truth values" : spellElement(element));
  mlir::Location at = location(loc);
  auto binary = [&]() -> mlir::Value {
    switch (op) {
    case BinaryOp::Add: return mtf::AddOp::create(builder, at, a, b);
    case BinaryOp::Sub: return mtf::SubOp::create(builder, at, a, b);
    case BinaryOp::Mul: return mtf::MulOp::create(builder, at, a, b);
    case BinaryOp::Div: return mtf::DivOp::create(builder, at, a, b);
    case BinaryOp::Rem: return mtf::RemOp::create(builder, at, a, b);
    case BinaryOp::Pow: return mtf::PowOp::create(builder, at, a, b);
    case BinaryOp::And: return mtf::AndOp::create(builder, at, a, b);
    case BinaryOp::Or: return mtf::OrOp::create(builder, at, a, b);
    default: return mtf::CompareOp::create(builder, at, predicateOf(op), a, b);
    }
  };
  return Value::ofTensor(binary());
}

//===----------------------------------------------------------------------===//
// Element types and broadcasting
//===----------------------------------------------------------------------===//

mlir::Value Elaborator::constant(Loc loc, double value, mlir::Type element) {
  return mtf::ConstantOp::create(builder, location(loc), value, element);
}

mlir::Value Elaborator::materialize(Loc loc, const Value &value, mlir::Type element) {
  if (!value)
    return {};
  if (value.isTensor())
    return value.asTensor();
  if (!value.isScalar()) {
    error(loc) << "expected a tensor or a number, got " << value.describe();
    return {};
  }
  if (!element)
    element = value.isBool() ? i1 : f32;
  if (value.isBool() != (element == i1)) {
    error(loc) << value.describe() << " is no " << (element == i1 ? std::string("truth value") : spellElement(element));
    return {};
  }
  if (element == i32 && (value.getKind() == Value::Kind::Float || value.asInt() < INT32_MIN || value.asInt() > INT32_MAX)) {
    error(loc) << value.describe() << " is no i32; cast the tensors with cast(x, f32)";
    return {};
  }
  if (!canBuild(loc))
    return {};
  return constant(loc, value.asDouble(), element);
}

bool Elaborator::unify(Loc loc, StringRef what, llvm::MutableArrayRef<Value> operands, llvm::ArrayRef<const Expr *> exprs) {
  mlir::Type element;
  const Expr *elementExpr = nullptr;
  for (auto [operand, expr] : llvm::zip(operands, exprs)) {
    if (!operand.isTensor())
      continue;
    mlir::Type own = operand.type().getElementType();
    if (!element) {
      element = own;
      elementExpr = expr;
    } else if (own != element) {
      Error message = error(loc);
      message << "'" << what << "' needs operands of one element type, but " << nameOf(elementExpr, "one") << " is " << spellElement(element)
              << " and " << nameOf(expr, "the other") << " is " << spellElement(own) << "; convert one with cast(x, " << spellElement(element)
              << ")";
      noteDeclaration(message, elementExpr);
      noteDeclaration(message, expr);
      return false;
    }
  }
  if (!element)
    element = llvm::all_of(operands, [](const Value &operand) { return operand.isBool(); }) ? i1 : f32;
  for (auto [operand, expr] : llvm::zip(operands, exprs)) {
    mlir::Value tensor = materialize(expr ? expr->loc : loc, operand, element);
    if (!tensor)
      return false;
    operand = Value::ofTensor(tensor);
  }
  return checkBroadcast(loc, what, operands, exprs);
}

bool Elaborator::checkBroadcastSizes(Loc loc, llvm::ArrayRef<Value> operands, llvm::ArrayRef<const Expr *> exprs, StringAttr except) {
  for (size_t i : llvm::seq(operands.size()))
    for (size_t j : llvm::seq(i))
      for (mtf::DimAttr dim : operands[i].type().getDims()) {
        mtf::DimAttr other = operands[j].type().findDim(dim.getName());
        if (!other || other.getSize() == dim.getSize() || dim.getName() == except)
          continue;
        Error message = error(loc);
        message << "'" << dim.getName().getValue() << "' has size " << other.getSize() << " in " << nameOf(exprs[j], "one operand") << " but "
                << dim.getSize() << " in " << nameOf(exprs[i], "another");
        noteDeclaration(message, exprs[j]);
        noteDeclaration(message, exprs[i]);
        return false;
      }
  return true;
}

/// One operand must have all the dims, or an annotation must allow the outer product: otherwise a mistyped name would make one.
/// Functions of indices are exempt, masks are made of them.
bool Elaborator::checkBroadcast(Loc loc, StringRef what, llvm::ArrayRef<Value> operands, llvm::ArrayRef<const Expr *> exprs) {
  if (!checkBroadcastSizes(loc, operands, exprs))
    return false;
  Dims all;
  for (const Value &operand : operands)
    for (mtf::DimAttr dim : operand.type().getDims())
      if (!llvm::is_contained(all, dim))
        all.push_back(dim);
  if (!makeType(loc, all, f32))
    return false;
  bool contained = llvm::any_of(operands, [&](const Value &operand) { return operand.type().getDims().size() == all.size(); });
  if (contained || llvm::all_of(operands, [&](const Value &operand) { return isFree(operand.asTensor()); }))
    return true;
  if (frame().annotated && llvm::all_of(all, [&](mtf::DimAttr dim) { return frame().annotated->contains(dim.getName()); }))
    return true;
  // Name two operands of which neither contains the other.
  size_t first = 0, second = 1;
  for (size_t i : llvm::seq(operands.size()))
    if (operands[i].type().getDims().size() > operands[first].type().getDims().size())
      first = i;
  for (size_t i : llvm::seq(operands.size()))
    if (llvm::any_of(operands[i].type().getDims(), [&](mtf::DimAttr dim) { return !operands[first].type().hasDim(dim.getName()); }))
      second = i;
  Error message = error(loc);
  message << "'" << what << "' would make the outer product of " << nameOf(exprs[first], "one operand") << " "
          << spellDims(operands[first].type().getDims()) << " and " << nameOf(exprs[second], "the other") << " "
          << spellDims(operands[second].type().getDims()) << "; if that is meant, annotate the result: let x[";
  message << llvm::join(llvm::map_range(all, [](mtf::DimAttr dim) { return dim.getName().getValue(); }), ", ") << "] = …";
  noteDeclaration(message, exprs[first]);
  noteDeclaration(message, exprs[second]);
  return false;
}
