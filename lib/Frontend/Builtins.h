//===- Builtins.h - the table of built-in functions -------------------------===//
#ifndef MESHC_LIB_FRONTEND_BUILTINS_H
#define MESHC_LIB_FRONTEND_BUILTINS_H

#include "Elaborator.h"

namespace meshc {

class BuiltinCall;

/// One built-in function. `signature` is what messages show and docs/language.md lists.
struct Builtin {
  llvm::StringLiteral name, signature;
  unsigned minArgs, maxArgs;
  /// Clause words and named arguments that it takes, separated by spaces.
  llvm::StringLiteral clauses, named;
  Value (*build)(BuiltinCall &);
  /// Positional arguments from this one on are names of dims, not values.
  size_t namesFrom = kNever;
  bool takesArrows = false;
  /// Named arguments are new dims with their sizes: `split(d -> a = 2, b = 3)`.
  bool namedAreDims = false;

  static constexpr size_t kNever = ~size_t(0);
};

inline constexpr unsigned kAnyNumber = ~0u;

const Builtin *findBuiltin(llvm::StringRef name);
llvm::ArrayRef<Builtin> allBuiltins();

// The parts of the table, one per file.
llvm::ArrayRef<Builtin> mathBuiltins();
llvm::ArrayRef<Builtin> reductionBuiltins();
llvm::ArrayRef<Builtin> dimBuiltins();
llvm::ArrayRef<Builtin> randomBuiltins();

/// A call of a built-in whose number and kinds of arguments have been checked.
class BuiltinCall {
public:
  BuiltinCall(Elaborator &elaborator, const Builtin &builtin, CallArgs &args) : e(elaborator), builtin(builtin), args(args) {}

  ast::Loc loc() const { return args.expr->loc; }
  mlir::Location at() const { return e.location(loc()); }
  Error error() { return e.error(loc()); }
  Error wrongUse();

  size_t size() const { return args.values.size(); }
  const Value &value(size_t i) const { return args.values[i]; }
  const ast::Expr *expr(size_t i) const { return args.exprs[i]; }
  /// The named argument, or an invalid value.
  Value named(llvm::StringRef name) const;
  /// A named argument that must be a number, `otherwise` if it is not given; none after an error.
  std::optional<int64_t> namedInt(llvm::StringRef name, int64_t otherwise);
  std::optional<bool> namedBool(llvm::StringRef name);

  const ast::Clause *clause(llvm::StringRef word) const;
  /// Argument `i` as a tensor; null after an error.
  mlir::Value tensor(size_t i, mlir::Type element = {});
  /// The same, which must be floats (or anything of `numbers`).
  mlir::Value floats(size_t i);
  mlir::Value numbers(size_t i);
  /// Dims of the clause `word`, each of which `tensor` (argument `i`) must have. Without the clause: all its dims. None after an error.
  std::optional<Names> dimsOf(llvm::StringRef word, size_t i, mlir::Value tensor);
  /// The one dim of a clause that `tensor` must have.
  mlir::StringAttr oneDim(llvm::StringRef word, size_t i, mlir::Value tensor);
  /// The one dim that a clause creates.
  std::optional<mtf::DimAttr> newDim(llvm::StringRef word, int64_t implied = -1);

  Elaborator &e;
  const Builtin &builtin;
  CallArgs &args;
};

} // namespace meshc

#endif
