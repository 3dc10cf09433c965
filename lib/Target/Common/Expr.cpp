//===- Expr.cpp - C++ expressions with the fewest parentheses ----------------===//
#include "meshc/Target/Expr.h"
#include "llvm/ADT/Twine.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace meshc::target;
using llvm::StringRef;

Expr::Expr(int64_t value)
    : text(std::to_string(value)), precedence(value < 0 ? Precedence::Unary : Precedence::Primary), literal(value) {}

Expr Expr::floating(double value, bool isDouble) {
  if (std::isnan(value))
    return name(isDouble ? "double(NAN)" : "NAN");
  if (std::isinf(value))
    return value > 0 ? name("INFINITY") : raw("-INFINITY", Precedence::Unary);
  // The shortest digits that read back as the same number.
  char buffer[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    if (isDouble ? std::strtod(buffer, nullptr) == value : std::strtof(buffer, nullptr) == static_cast<float>(value))
      break;
  }
  std::string text = buffer;
  // 20 is easier to read than 2e+01.
  if (double size = std::abs(value); size >= 1 && size < 1e6 && text.find('e') != std::string::npos) {
    std::snprintf(buffer, sizeof buffer, "%.0f", value);
    text = buffer;
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  if (!isDouble)
    text += "f";
  return raw(text, text.front() == '-' ? Precedence::Unary : Precedence::Primary);
}

std::string Expr::within(Precedence at) const { return precedence < at ? "(" + text + ")" : text; }

Expr Expr::call(StringRef callee, llvm::ArrayRef<Expr> arguments) {
  std::string text = callee.str() + "(";
  StringRef separator;
  for (const Expr &argument : arguments) {
    text += separator.str() + argument.text;
    separator = ", ";
  }
  return raw(text + ")", Precedence::Postfix);
}

static Precedence tighter(Precedence precedence) { return static_cast<Precedence>(static_cast<int>(precedence) + 1); }

Expr Expr::binary(StringRef op, Precedence precedence, const Expr &lhs, const Expr &rhs) {
  // Compilers warn about `a && b || c` and about comparisons and bit operators without parentheses.
  bool mixed = precedence <= Precedence::Equality;
  auto side = [&](const Expr &operand, Precedence needed) {
    bool warns = mixed && operand.precedence < Precedence::Relational && operand.precedence != precedence;
    return warns ? "(" + operand.text + ")" : operand.within(needed);
  };
  // All operators of C++ used here associate to the left.
  return raw(side(lhs, precedence) + " " + op.str() + " " + side(rhs, tighter(precedence)), precedence);
}

Expr Expr::unary(StringRef op, const Expr &operand) {
  std::string inner = operand.within(Precedence::Unary);
  if (op == "-" && inner.front() == '-')
    inner = "(" + inner + ")";
  return raw(op.str() + inner, Precedence::Unary);
}

Expr Expr::conditional(const Expr &condition, const Expr &yes, const Expr &no) {
  return raw(condition.within(Precedence::Or) + " ? " + yes.within(Precedence::Or) + " : " + no.within(Precedence::Conditional),
             Precedence::Conditional);
}

Expr Expr::index(const Expr &subscript) const {
  return raw(within(Precedence::Postfix) + "[" + subscript.text + "]", Precedence::Postfix);
}

Expr meshc::target::operator+(const Expr &lhs, const Expr &rhs) {
  if (lhs.constant() && rhs.constant())
    return Expr(*lhs.constant() + *rhs.constant());
  if (lhs.isZero())
    return rhs;
  if (rhs.isZero())
    return lhs;
  if (rhs.constant() && *rhs.constant() < 0)
    return lhs - Expr(-*rhs.constant());
  return Expr::binary("+", Precedence::Additive, lhs, rhs);
}

Expr meshc::target::operator-(const Expr &lhs, const Expr &rhs) {
  if (lhs.constant() && rhs.constant())
    return Expr(*lhs.constant() - *rhs.constant());
  if (rhs.isZero())
    return lhs;
  return Expr::binary("-", Precedence::Additive, lhs, rhs);
}

Expr meshc::target::operator*(const Expr &lhs, const Expr &rhs) {
  if (lhs.constant() && rhs.constant())
    return Expr(*lhs.constant() * *rhs.constant());
  if (lhs.isZero() || rhs.isZero())
    return Expr(0);
  if (lhs.constant() == 1)
    return rhs;
  if (rhs.constant() == 1)
    return lhs;
  return Expr::binary("*", Precedence::Multiplicative, lhs, rhs);
}

Expr meshc::target::operator/(const Expr &lhs, const Expr &rhs) {
  if (rhs.constant() == 1 || lhs.isZero())
    return lhs;
  return Expr::binary("/", Precedence::Multiplicative, lhs, rhs);
}

Expr meshc::target::operator%(const Expr &lhs, const Expr &rhs) {
  if (rhs.constant() == 1)
    return Expr(0);
  return Expr::binary("%", Precedence::Multiplicative, lhs, rhs);
}
