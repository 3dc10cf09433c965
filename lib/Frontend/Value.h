//===- Value.h - what an expression stands for while it is elaborated --------===//
#ifndef MESHC_LIB_FRONTEND_VALUE_H
#define MESHC_LIB_FRONTEND_VALUE_H

#include "Mtf/IR/Mtf.h"
#include "meshc/Frontend/AST.h"
#include <memory>
#include <string>
#include <vector>

namespace meshc {

struct Builtin;
struct ProgramModule;

/// A static value (known while the program is elaborated) or a tensor of the IR. `Invalid` stands for one whose error has been reported;
/// whatever is computed from it is invalid without another word.
class Value {
public:
  enum class Kind { Invalid, Int, Float, Bool, String, Tensor, Tuple, Function, Builtin, Init, ElementType, Module };

  Value() = default;
  static Value ofInt(int64_t value) { return Value(Kind::Int, [&](Value &v) { v.intValue = value; }); }
  static Value ofFloat(double value) { return Value(Kind::Float, [&](Value &v) { v.floatValue = value; }); }
  static Value ofBool(bool value) { return Value(Kind::Bool, [&](Value &v) { v.intValue = value; }); }
  static Value ofString(llvm::StringRef value) { return Value(Kind::String, [&](Value &v) { v.text = value; }); }
  static Value ofTensor(mlir::Value value) { return Value(Kind::Tensor, [&](Value &v) { v.tensor = value; }); }
  static Value ofTuple(std::vector<Value> items) {
    return Value(Kind::Tuple, [&](Value &v) { v.items = std::make_shared<std::vector<Value>>(std::move(items)); });
  }
  static Value ofFunction(const ast::FnDecl *fn, ProgramModule *module) {
    return Value(Kind::Function, [&](Value &v) {
      v.fn = fn;
      v.module = module;
    });
  }
  static Value ofBuiltin(const Builtin *builtin) { return Value(Kind::Builtin, [&](Value &v) { v.builtin = builtin; }); }
  static Value ofInit(mtf::InitKind kind, double value) {
    return Value(Kind::Init, [&](Value &v) {
      v.initKind = kind;
      v.floatValue = value;
    });
  }
  static Value ofElementType(mlir::Type type) { return Value(Kind::ElementType, [&](Value &v) { v.elementType = type; }); }
  static Value ofModule(ProgramModule *module) { return Value(Kind::Module, [&](Value &v) { v.module = module; }); }

  Kind getKind() const { return kind; }
  explicit operator bool() const { return kind != Kind::Invalid; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool isNumber() const { return kind == Kind::Int || kind == Kind::Float; }
  /// A number or a truth value: what a tensor can be made of.
  bool isScalar() const { return isNumber() || kind == Kind::Bool; }
  bool isBool() const { return kind == Kind::Bool; }

  int64_t asInt() const { return intValue; }
  bool asBool() const { return intValue != 0; }
  double asDouble() const { return kind == Kind::Float || kind == Kind::Init ? floatValue : static_cast<double>(intValue); }
  llvm::StringRef asString() const { return text; }
  mlir::Value asTensor() const { return tensor; }
  mtf::NamedTensorType type() const { return mtf::tensorType(tensor); }
  llvm::ArrayRef<Value> asTuple() const { return *items; }
  const ast::FnDecl *asFunction() const { return fn; }
  const Builtin *asBuiltin() const { return builtin; }
  ProgramModule *getModule() const { return module; }
  mtf::InitKind getInitKind() const { return initKind; }
  mlir::Type asElementType() const { return elementType; }

  /// For messages: "f32[batch, embed]", "a tuple of 2", "the number 3", ...
  std::string describe() const;

private:
  template <typename Fill> Value(Kind kind, Fill &&fill) : kind(kind) { fill(*this); }

  Kind kind = Kind::Invalid;
  int64_t intValue = 0;
  double floatValue = 0;
  llvm::StringRef text;
  mlir::Value tensor;
  mlir::Type elementType;
  std::shared_ptr<std::vector<Value>> items;
  const ast::FnDecl *fn = nullptr;
  const Builtin *builtin = nullptr;
  ProgramModule *module = nullptr;
  mtf::InitKind initKind = mtf::InitKind::Constant;
};

/// `f32[batch=8, embed=16]`: a type as the language writes it.
std::string spell(mtf::NamedTensorType type);
std::string spellElement(mlir::Type type);
std::string spellNumber(double value);
/// `[batch=8, embed=16]`
std::string spellDims(llvm::ArrayRef<mtf::DimAttr> dims);
/// `'x'` for a name, else `otherwise`.
std::string nameOf(const ast::Expr *expr, llvm::StringRef otherwise);

} // namespace meshc

#endif
