//===- Expr.h - C++ expressions with the fewest parentheses ------------------===//
//
// An `Expr` is text together with the precedence of its outermost operator, so that combining two of them knows where
// parentheses are needed:
//
//   (Expr::name("a") + Expr::name("b")) * Expr::name("c")      ->  (a + b) * c
//   Expr::name("a") + Expr::name("b") * Expr::name("c")        ->  a + b * c
//   Expr::name("row") * Expr(1) + Expr(0)                      ->  row
//
// Addition and multiplication of integers fold the neutral elements, which is what index arithmetic is full of. Floats are
// built with `floating` and never folded.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_EXPR_H
#define MESHC_TARGET_EXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace meshc::target {

/// C++'s levels from loosest to tightest, as far as emitted text uses them.
enum class Precedence { Conditional, Or, And, BitOr, BitXor, BitAnd, Equality, Relational, Shift, Additive, Multiplicative, Unary, Postfix, Primary };

class Expr {
public:
  Expr() = default;
  Expr(int64_t value);
  Expr(int value) : Expr(int64_t(value)) {}

  static Expr name(llvm::StringRef text) { return Expr(text.str(), Precedence::Primary); }
  static Expr raw(std::string text, Precedence precedence) { return Expr(std::move(text), precedence); }
  /// An f32 literal that reads back as exactly `value`; `isDouble` for an f64 one.
  static Expr floating(double value, bool isDouble = false);
  static Expr call(llvm::StringRef callee, llvm::ArrayRef<Expr> arguments);
  static Expr binary(llvm::StringRef op, Precedence precedence, const Expr &lhs, const Expr &rhs);
  static Expr unary(llvm::StringRef op, const Expr &operand);
  static Expr conditional(const Expr &condition, const Expr &yes, const Expr &no);
  Expr index(const Expr &subscript) const;

  const std::string &str() const { return text; }
  Precedence getPrecedence() const { return precedence; }
  /// The value of an integer literal.
  std::optional<int64_t> constant() const { return literal; }
  bool isZero() const { return literal && *literal == 0; }
  /// The text, in parentheses if its outermost operator binds less tightly than `at`.
  std::string within(Precedence at) const;

private:
  Expr(std::string text, Precedence precedence) : text(std::move(text)), precedence(precedence) {}

  std::string text;
  Precedence precedence = Precedence::Primary;
  std::optional<int64_t> literal;
};

/// Integer arithmetic, folded where an operand is a literal.
Expr operator+(const Expr &lhs, const Expr &rhs);
Expr operator-(const Expr &lhs, const Expr &rhs);
Expr operator*(const Expr &lhs, const Expr &rhs);
Expr operator/(const Expr &lhs, const Expr &rhs);
Expr operator%(const Expr &lhs, const Expr &rhs);

} // namespace meshc::target

#endif
