//===- Frontend.h - from a program's text to the mtf dialect -----------------===//
#ifndef MESHC_FRONTEND_FRONTEND_H
#define MESHC_FRONTEND_FRONTEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
class raw_ostream;
} // namespace llvm

namespace meshc {

/// What the command line changes about a program.
struct FrontendOptions {
  /// `name=value`: dims and constants of the root file.
  std::vector<std::string> sets;
  /// `axis=n,…`: replaces sizes of mesh axes and adds axes; one `axis=*` takes what `worldSize` leaves.
  std::vector<std::string> meshes;
  /// Ranks of the run; 0 if unknown.
  int64_t worldSize = 0;
  /// A file with one `layout` block that replaces the program's; empty: none.
  std::string layout;
  /// Folders searched for `import nn`, in order.
  std::vector<std::string> libraries;
};

/// Parses the main buffer of `sources` and what it imports, checks it and expands it to level 1 (docs/language.md describes the module).
/// Errors go to the context's diagnostic handlers, with locations in buffers of `sources` (imported files are added to it); after
/// errors the result is null. The `mtf` and `func` dialects must be loaded.
mlir::OwningOpRef<mlir::ModuleOp> parseAndElaborate(llvm::SourceMgr &sources, mlir::MLIRContext &context, const FrontendOptions &options);

/// Parses the main buffer of `sources` and prints its tree. Failure after syntax errors.
mlir::LogicalResult printAst(llvm::SourceMgr &sources, mlir::MLIRContext &context, llvm::raw_ostream &os);

} // namespace meshc

#endif
