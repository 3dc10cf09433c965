//===- Diagnostics.h - errors of the front end ------------------------------===//
#ifndef MESHC_LIB_FRONTEND_DIAGNOSTICS_H
#define MESHC_LIB_FRONTEND_DIAGNOSTICS_H

#include "meshc/Frontend/AST.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include <string>
#include <vector>

namespace meshc {

/// Files, places and the errors at them. Errors go to the handlers of the MLIRContext.
class Diagnostics {
public:
  /// After so many errors nothing new is learned from more.
  static constexpr unsigned kMaxErrors = 20;

  explicit Diagnostics(mlir::MLIRContext *context) : context(context) {}

  uint32_t addFile(llvm::StringRef name) {
    files.push_back(mlir::StringAttr::get(context, name));
    return files.size() - 1;
  }
  mlir::Location location(ast::Loc loc) const {
    if (loc.line == 0 || loc.file >= files.size())
      return mlir::UnknownLoc::get(context);
    return mlir::FileLineColLoc::get(files[loc.file], loc.line, loc.column);
  }
  mlir::InFlightDiagnostic error(ast::Loc loc) { return error(location(loc)); }
  mlir::InFlightDiagnostic error(mlir::Location loc) {
    ++errors;
    return mlir::emitError(loc);
  }
  mlir::InFlightDiagnostic warning(ast::Loc loc) { return mlir::emitWarning(location(loc)); }

  unsigned numErrors() const { return errors; }
  bool tooMany() const { return errors >= kMaxErrors; }
  mlir::MLIRContext *getContext() const { return context; }

private:
  mlir::MLIRContext *context;
  std::vector<mlir::StringAttr> files;
  unsigned errors = 0;
};

/// The name among `known` that `name` was probably meant to be, or an empty string.
llvm::StringRef closestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);
/// "; did you mean 'x'?", or nothing.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known);

} // namespace meshc

#endif
