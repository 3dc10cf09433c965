//===- ScalarOps.cpp - arith and math ops as C++ expressions ---------------------===//
#include "meshc/Target/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace meshc::target;
using namespace mlir;
using Exprs = llvm::ArrayRef<Expr>;

StringRef meshc::target::cppType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isBF16())
    return "bf16";
  if (type.isF64())
    return "double";
  if (type.isInteger(32))
    return "int32_t";
  if (type.isInteger(64) || type.isIndex())
    return "int64_t";
  if (type.isInteger(1))
    return "bool";
  return "";
}

StringRef meshc::target::elementTypeName(Type type) {
  if (type.isF32())
    return "F32";
  if (type.isBF16())
    return "BF16";
  if (type.isF64())
    return "F64";
  if (type.isInteger(32))
    return "I32";
  if (type.isInteger(1))
    return "I1";
  return "";
}

Expr meshc::target::literal(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return Expr::floating(number.getValueAsDouble(), number.getType().isF64());
  auto integer = cast<IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    return Expr::name(integer.getValue().isZero() ? "false" : "true");
  return Expr(integer.getValue().getSExtValue());
}

/// `static_cast` where C++ would warn or truncate silently; a plain conversion is written as a call: `float(x)`.
static Expr convert(Type to, const Expr &operand) { return Expr::call(cppType(to), {operand}); }

static Expr infix(StringRef op, Precedence precedence, Exprs x) { return Expr::binary(op, precedence, x[0], x[1]); }

static StringRef comparison(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq: return "==";
  case arith::CmpIPredicate::ne: return "!=";
  case arith::CmpIPredicate::slt: return "<";
  case arith::CmpIPredicate::sle: return "<=";
  case arith::CmpIPredicate::sgt: return ">";
  case arith::CmpIPredicate::sge: return ">=";
  default: return "";
  }
}

/// C++'s operators are the ordered predicates, and `!=` the unordered one.
static StringRef comparison(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ: return "==";
  case arith::CmpFPredicate::UNE: return "!=";
  case arith::CmpFPredicate::OLT: return "<";
  case arith::CmpFPredicate::OLE: return "<=";
  case arith::CmpFPredicate::OGT: return ">";
  case arith::CmpFPredicate::OGE: return ">=";
  default: return "";
  }
}

static std::optional<Expr> compare(StringRef op, Exprs x) {
  if (op.empty())
    return std::nullopt;
  return infix(op, op == "==" || op == "!=" ? Precedence::Equality : Precedence::Relational, x);
}

/// Functions of one or two arguments by op name.
static StringRef functionName(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case([](math::ExpOp) { return "math::exp"; })
      .Case([](math::LogOp) { return "math::log"; })
      .Case([](math::TanhOp) { return "math::tanh"; })
      .Case([](math::ErfOp) { return "math::erf"; })
      .Case([](math::SinOp) { return "math::sin"; })
      .Case([](math::CosOp) { return "math::cos"; })
      .Case([](math::SqrtOp) { return "std::sqrt"; })
      .Case([](math::FloorOp) { return "std::floor"; })
      .Case([](math::CeilOp) { return "std::ceil"; })
      .Case<math::AbsFOp, math::AbsIOp>([](auto) { return "std::abs"; })
      .Case([](math::PowFOp) { return "std::pow"; })
      .Case([](math::CopySignOp) { return "std::copysign"; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>([](auto) { return "std::max"; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>([](auto) { return "std::min"; })
      .Default([](Operation *) { return ""; });
}

std::optional<Expr> meshc::target::scalarExpr(Operation *op, Exprs x) {
  using Result = std::optional<Expr>;
  if (StringRef function = functionName(op); !function.empty())
    return Expr::call(function, x);
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::ConstantOp constant) { return literal(constant.getValue()); })
      .Case<arith::AddFOp>([&](auto) { return infix("+", Precedence::Additive, x); })
      .Case<arith::SubFOp>([&](auto) { return infix("-", Precedence::Additive, x); })
      .Case<arith::MulFOp>([&](auto) { return infix("*", Precedence::Multiplicative, x); })
      .Case<arith::DivFOp>([&](auto) { return infix("/", Precedence::Multiplicative, x); })
      .Case<arith::AddIOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubIOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulIOp>([&](auto) { return x[0] * x[1]; })
      .Case<arith::DivSIOp>([&](auto) { return x[0] / x[1]; })
      .Case<arith::RemSIOp>([&](auto) { return x[0] % x[1]; })
      .Case<arith::NegFOp>([&](auto) { return Expr::unary("-", x[0]); })
      .Case<arith::CmpIOp>([&](auto cmp) { return compare(comparison(cmp.getPredicate()), x); })
      .Case<arith::CmpFOp>([&](auto cmp) { return compare(comparison(cmp.getPredicate()), x); })
      .Case<arith::SelectOp>([&](auto) { return Expr::conditional(x[0], x[1], x[2]); })
      .Case<arith::AndIOp>([&](auto) {
        return op->getResult(0).getType().isInteger(1) ? infix("&&", Precedence::And, x) : infix("&", Precedence::BitAnd, x);
      })
      .Case<arith::OrIOp>([&](auto) {
        return op->getResult(0).getType().isInteger(1) ? infix("||", Precedence::Or, x) : infix("|", Precedence::BitOr, x);
      })
      .Case<arith::XOrIOp>([&](auto) {
        return op->getResult(0).getType().isInteger(1) ? infix("!=", Precedence::Equality, x) : infix("^", Precedence::BitXor, x);
      })
      .Case<math::RsqrtOp>([&](auto) {
        Expr one = Expr::floating(1, op->getResult(0).getType().isF64());
        return Expr::binary("/", Precedence::Multiplicative, one, Expr::call("std::sqrt", x));
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtSIOp, arith::ExtUIOp,
            arith::TruncIOp, arith::IndexCastOp>([&](auto) { return convert(op->getResult(0).getType(), x[0]); })
      .Default([](Operation *) { return Result(); });
}
