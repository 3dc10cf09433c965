//===- BodyPrinter.h - a kernel's scalar ops as statements --------------------------===//
//
// Turns the ops of a kernel's body into C++ in the way a person would: a value with one use becomes part of the expression that
// uses it, a value with several uses or a name of its own a `const` variable.
//
//   %0 = rt.load %x          const float centered = xRow[embed] - mean;
//   %1 = arith.subf %0, %mean loc("centered")
//   %2 = arith.mulf %1, %1   yRow[embed] = centered * centered;
//   rt.store %2, %y
//
// Where elements lie and what the loops' indices are called is the target's: it derives from this class.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_BODYPRINTER_H
#define MESHC_TARGET_BODYPRINTER_H

#include "meshc/Target/Numbers.h"
#include "meshc/Target/Printer.h"
#include "meshc/Target/Vocabulary.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::target {

class BodyPrinter {
public:
  BodyPrinter(Printer &p, Vocabulary &vocabulary, Numbers &numbers) : p(p), vocabulary(vocabulary), numbers(numbers) {}
  virtual ~BodyPrinter() = default;

  /// Prints one op, or keeps it for the statement that uses it. False after an error at the op.
  bool print(mlir::Operation *op);

  /// What a value is called; prints its op first if that has not happened.
  Expr use(mlir::Value value);
  /// The same, but evaluated here: a name or a literal.
  Expr materialize(mlir::Value value);
  /// What still has to read a buffer that `block` overwrites reads it here, before the block.
  void settleBefore(mlir::Block &block);
  /// Gives a value a text.
  void define(mlir::Value value, Expr text) { values[value] = std::move(text); }
  bool isDefined(mlir::Value value) const { return values.contains(value); }

  /// Names of variables; a nested scope begins and ends with the C++ block.
  class Scope {
  public:
    explicit Scope(BodyPrinter &body) : body(body), outerNames(body.names), inner(body.names), outerValues(body.values) {
      body.names = &inner;
    }
    ~Scope() {
      body.names = outerNames;
      body.values = std::move(outerValues);
    }

  private:
    BodyPrinter &body;
    Names *outerNames;
    Names inner;
    llvm::DenseMap<mlir::Value, Expr> outerValues;
  };
  void setNames(Names *scope) { names = scope; }
  /// A new variable; in the first printing of a kernel names must not matter.
  std::string newName(llvm::StringRef wanted);

  /// The element that a load or store accesses, `at` indices included.
  virtual Expr element(mlir::Operation *access) = 0;
  /// The index along a dim, local, as an int32_t.
  virtual Expr index(mlir::StringAttr dim) = 0;
  /// This rank's shard index over the axes.
  virtual Expr shard(mlir::ArrayAttr axes) = 0;
  /// `target = value;`, for the element that a store writes.
  virtual void storeElement(rt::StoreOp op, const Expr &target, const Expr &value) { p.assign(target.str(), value.str()); }

protected:
  Printer &p;
  Vocabulary &vocabulary;
  Numbers &numbers;
  Names *names = nullptr;

private:
  /// Whether two arguments of the kernel stand for the same buffer (an update in place).
  bool aliases(mlir::Value a, mlir::Value b) const;
  std::optional<Expr> expression(mlir::Operation *op);
  std::optional<Expr> load(rt::LoadOp op);
  std::optional<Expr> random(rt::RandomOp op);
  void store(rt::StoreOp op);
  /// Evaluates the pending values that read the buffer of a store.
  void readBefore(rt::StoreOp op);
  bool wantsVariable(mlir::Operation *op, const Expr &text) const;
  void assignVariable(mlir::Value value, const Expr &text);

  llvm::DenseMap<mlir::Value, Expr> values;
  /// Values that exist as expressions only, with the buffers these read: a store to one of them must not come first.
  llvm::MapVector<mlir::Value, llvm::SmallSetVector<mlir::Value, 4>> pending;
};

} // namespace meshc::target

#endif
