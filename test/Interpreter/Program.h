//===- Program.h - programs given as text, for tests ------------*- C++ -*-===//
#ifndef MESHC_TEST_INTERPRETER_PROGRAM_H
#define MESHC_TEST_INTERPRETER_PROGRAM_H

#include "meshc/Interpreter/Interpreter.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace meshc::interp::test {

using Values = std::vector<double>;

/// A parsed module. Diagnostics are collected in `errors`.
class Program {
public:
  explicit Program(llvm::StringRef text);

  mlir::func::FuncOp function(llvm::StringRef name = "f") { return module->lookupSymbol<mlir::func::FuncOp>(name); }

  /// Runs @f on arguments given as elements in row-major order of the dims sorted by name. Empty after an error.
  std::vector<Values> run(const std::vector<Values> &arguments);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors;
};

} // namespace meshc::interp::test

#endif
