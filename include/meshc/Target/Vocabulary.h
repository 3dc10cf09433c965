//===- Vocabulary.h - what a program's text calls things -------------------------===//
//
// The constants that stand at the top of an emitted file, and the words for them in its body: sizes (`kEmbed`), mesh axes
// (`kModelAxis`), byte offsets of globals (`kWte`). Only what the body used is printed, so the body is printed first.
//
// A dim may have several sizes in one program. The largest is the global one and gets the plain name; the next is called
// `kFfLocal`, any other `kFfLocal2`, ...
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TARGET_VOCABULARY_H
#define MESHC_TARGET_VOCABULARY_H

#include "Rt/IR/Rt.h"
#include "meshc/Target/Expr.h"
#include "meshc/Target/Names.h"
#include "meshc/Target/Printer.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::target {

class Vocabulary {
public:
  explicit Vocabulary(mlir::ModuleOp module);

  /// The names of the file's scope.
  Names names;

  /// The constant for a dim's size: `kEmbed`. A size of 1 is the literal.
  Expr size(rt::DimAttr dim);
  /// `kBatch * kSeq`; 1 if there are none.
  Expr product(llvm::ArrayRef<rt::DimAttr> dims);
  /// The stride of dim number `position`: the product of the later dims' sizes where it is that, else the number.
  Expr stride(rt::BufferType type, unsigned position);
  /// The number of elements.
  Expr count(rt::BufferType type) { return product(type.getDims()); }
  /// A group of mesh axes: `kModelAxis`, `Axes{0, 1}`.
  Expr axes(mlir::ArrayAttr axes);
  /// The byte offset of a global.
  Expr offset(rt::GlobalOp global);
  /// The name a global has as a variable: `wte`, `grad_wte`, `wte_m`, `tokens`.
  llvm::StringRef variable(rt::GlobalOp global) { return globals[global].variable; }
  rt::GlobalOp lookup(rt::GetGlobalOp op);

  /// The program's name as a word that files and CMake targets can have.
  std::string programName();

  /// The constants that have been asked for, in sections with a heading each.
  void print(Printer &p);

  mlir::ModuleOp module;
  mtf::MeshAttr mesh;

private:
  struct GlobalName {
    std::string variable, constant;
    bool used = false;
  };
  struct SizeName {
    std::string constant;
    bool used = false;
  };
  void nameSizes();
  void nameGlobals();

  llvm::MapVector<rt::DimAttr, SizeName> sizes;
  llvm::MapVector<rt::GlobalOp, GlobalName> globals;
  llvm::MapVector<mlir::StringAttr, SizeName> axisNames;
};

/// `[batch=4, embed=768]`, or without sizes `[batch, embed]`; empty for a scalar.
std::string shapeText(rt::BufferType type, bool sizes = true);

/// The name of the value in a buffer: of its own location, else of what it is a view of. Empty if there is none.
llvm::StringRef nameOf(mlir::Value value, Vocabulary &vocabulary);

/// `layers` -> `layer`, `micro` -> `micro`: what one index along a dim is called.
std::string singular(llvm::StringRef dim);

} // namespace meshc::target

#endif
