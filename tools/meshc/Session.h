//===- Session.h - one run of meshc -------------------------------------------===//
#ifndef MESHC_TOOLS_SESSION_H
#define MESHC_TOOLS_SESSION_H

#include "Options.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class PassManager;
} // namespace mlir

namespace meshc {

/// The options, the context that all IR of the run lives in, and the way errors reach the user: located, with the source line
/// and a caret. An internal error comes with a command that reproduces it.
class Session {
public:
  Session(int argc, char **argv, const Options &options);

  const Options options;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;

  /// Runs the passes on the module.
  ExitCode run(mlir::PassManager &passes, mlir::ModuleOp module);

  /// Runs `action`. If it fails: kUserError if its errors speak of the program, kInternalError if they speak of our ops or if
  /// there are none; `what` says what failed.
  ExitCode check(llvm::function_ref<mlir::LogicalResult()> action, const llvm::Twine &what);

  /// The folder above the one that meshc lies in: the build tree, or where it was installed.
  std::string prefix() const;

  /// Says what went wrong inside meshc and how to reproduce it.
  ExitCode internalError(const llvm::Twine &what) const;

  /// An error without a place in a file.
  ExitCode userError(const llvm::Twine &what) const;

private:
  std::string program; ///< Path of this executable.
  std::string commandLine; ///< As typed, quoted for a shell.
  mlir::SourceMgrDiagnosticHandler diagnostics;
  mlir::ScopedDiagnosticHandler placeless; ///< Prints what lies in no file, such as a wrong --set.
};

} // namespace meshc

#endif
