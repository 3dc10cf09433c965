//===- LoadModule.cpp - reads the input ---------------------------------------------===//
#include "Commands.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MemoryBuffer.h"
#include "mlir/Parser/Parser.h"

using namespace meshc;

mlir::OwningOpRef<mlir::ModuleOp> meshc::loadModule(Session &session, llvm::ArrayRef<std::string> sets) {
  const std::string &input = session.options.input;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!buffer) {
    session.userError("cannot read '" + input + "': " + buffer.getError().message());
    return nullptr;
  }
  session.sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  return mlir::parseSourceFile<mlir::ModuleOp>(session.sources, &session.context);
}
