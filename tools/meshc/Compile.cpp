//===- Compile.cpp - meshc FILE ----------------------------------------------------===//
#include "Commands.h"
#include "meshc/Frontend/Frontend.h"
#include "meshc/Pipelines/Pipelines.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Pass/PassManager.h"

using namespace meshc;
using llvm::StringRef;

/// The level of the IR that `emit` needs; text and programs come from the last.
static Level neededLevel(Emit emit) {
  switch (emit) {
  case Emit::Ast:
  case Emit::Mtf: return Level::Mtf;
  case Emit::Grad: return Level::Grad;
  case Emit::Sharded: return Level::Sharded;
  case Emit::Spmd: return Level::Spmd;
  default: return Level::Rt;
  }
}

/// To -o, or to standard output.
static ExitCode writeText(Session &session, StringRef text) {
  if (session.options.output.empty() || session.options.output == "-") {
    llvm::outs() << text;
    return kOk;
  }
  std::error_code error;
  llvm::raw_fd_ostream os(session.options.output, error);
  if (error)
    return session.userError("cannot write '" + session.options.output + "': " + error.message());
  os << text;
  return kOk;
}

static ExitCode writeIR(Session &session, mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  module->print(os, flags);
  os << '\n';
  return writeText(session, text);
}

/// `--emit=ast`
static ExitCode writeAst(Session &session) {
  if (!llvm::StringRef(session.options.input).ends_with(".mesh"))
    return session.userError("--emit=ast prints the tree of a .mesh file");
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!readInput(session) || mlir::failed(printAst(session.sources, session.context, os)))
    return kUserError;
  return writeText(session, text);
}

ExitCode meshc::compile(Session &session) {
  const Options &options = session.options;
  if (options.emit == Emit::Ast)
    return writeAst(session);
  mlir::OwningOpRef<mlir::ModuleOp> module = loadModule(session);
  if (!module)
    return kUserError;
  Level have = levelOf(*module), need = neededLevel(options.emit);
  if (have > need)
    return session.userError("'" + options.input + "' is already past the level that --emit asks for");

  mlir::PassManager passes(&session.context);
  addPasses(passes, have, need);
  if (ExitCode code = session.run(passes, *module))
    return code;
  return writeIR(session, *module);
}
