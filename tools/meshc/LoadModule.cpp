//===- LoadModule.cpp - reads the input ---------------------------------------------===//
#include "Commands.h"
#include "Mtf/IR/Mtf.h"
#include "meshc/Frontend/Frontend.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "mlir/Parser/Parser.h"

using namespace meshc;

/// Where `import nn` looks: -I folders, then the library that came with meshc.
static std::vector<std::string> libraryFolders(const Session &session) {
  std::vector<std::string> folders = session.options.includes;
  llvm::SmallString<128> installed(session.prefix());
  llvm::sys::path::append(installed, "share", "meshc", "library");
  folders.push_back(installed.str().str());
  return folders;
}

bool meshc::readInput(Session &session) {
  const std::string &input = session.options.input;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFileOrSTDIN(input, /*IsText=*/true);
  if (!buffer) {
    session.userError("cannot read '" + input + "': " + buffer.getError().message());
    return false;
  }
  session.sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp> meshc::loadModule(Session &session, llvm::ArrayRef<std::string> sets) {
  const Options &options = session.options;
  if (!readInput(session))
    return nullptr;
  if (llvm::StringRef(options.input).ends_with(".mesh")) {
    FrontendOptions frontend{options.sets, options.meshes, options.ranks, options.layout, libraryFolders(session)};
    frontend.sets.insert(frontend.sets.end(), sets.begin(), sets.end());
    mlir::OwningOpRef<mlir::ModuleOp> module = parseAndElaborate(session.sources, session.context, frontend);
    if (module)
      (*module)->setAttr(mtf::kSource, mlir::StringAttr::get(&session.context, options.input));
    return module;
  }
  return mlir::parseSourceFile<mlir::ModuleOp>(session.sources, &session.context);
}
