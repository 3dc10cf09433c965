//===- Compile.cpp - meshc FILE ----------------------------------------------------===//
#include "Commands.h"
#include "Runtime.h"
#include "meshc/Frontend/Frontend.h"
#include "meshc/Pipelines/Pipelines.h"
#include "meshc/Target/Target.h"
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
  return writeFile(session, session.options.output, text);
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
  RtOptions rtOptions;
  // Ranks on CPUs compute and communicate by turns.
  rtOptions.gatherAhead = options.target == Target::Cuda;
  addPasses(passes, have, need, rtOptions);
  if (ExitCode code = session.run(passes, *module))
    return code;
  if (options.emit < Emit::Source)
    return writeIR(session, *module);

  std::string text;
  llvm::raw_string_ostream os(text);
  bool cuda = options.target == Target::Cuda;
  if (cuda && options.emit != Emit::Source && options.emit != Emit::Project)
    return session.userError("--target=cuda builds with nvcc: write a folder with --emit=project -o FOLDER");
  auto emit = [&] { return cuda ? target::emitCuda(*module, os) : target::emitCpu(*module, os); };
  if (ExitCode code = session.check(emit, "the program cannot be printed"))
    return code;
  std::string name = target::programName(*module);
  switch (options.emit) {
  case Emit::Source:
    return writeText(session, text);
  case Emit::Project:
    return writeProject(session, name, text);
  default:
    return buildExecutable(session, name, text);
  }
}
