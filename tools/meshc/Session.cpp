//===- Session.cpp - one run of meshc -----------------------------------------===//
#include "Session.h"
#include "Mtf/IR/Mtf.h"
#include "Rt/IR/Rt.h"
#include "Spmd/IR/Spmd.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"

using namespace meshc;
using llvm::StringRef;

static std::string quoted(StringRef word) {
  bool plain = !word.empty() && llvm::all_of(word, [](char c) { return llvm::isAlnum(c) || StringRef("-_./=,+:@%").contains(c); });
  if (plain)
    return word.str();
  std::string result = "'";
  for (char c : word)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// A crash inside meshc: the signal handler of LLVM calls this before it prints the stack.
static void reportCrash(void *commandLine) {
  llvm::errs() << "error: internal: meshc crashed\nnote: reproduce with: " << *static_cast<std::string *>(commandLine) << "\n";
}

/// An error of the command line lies in no file: it is printed without a place. All others go to the next handler.
static mlir::LogicalResult printPlaceless(mlir::Diagnostic &diagnostic) {
  if (!llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
    return mlir::failure();
  auto print = [](const mlir::Diagnostic &part) {
    switch (part.getSeverity()) {
    case mlir::DiagnosticSeverity::Note: llvm::errs() << "note: "; break;
    case mlir::DiagnosticSeverity::Remark: llvm::errs() << "remark: "; break;
    case mlir::DiagnosticSeverity::Warning: llvm::errs() << "warning: "; break;
    case mlir::DiagnosticSeverity::Error: llvm::errs() << "error: "; break;
    }
    llvm::errs() << part << "\n";
  };
  print(diagnostic);
  llvm::for_each(diagnostic.getNotes(), print);
  return mlir::success();
}

/// Any address inside the program, for the systems that find a program by one.
static void anchor() {}

Session::Session(int argc, char **argv, const Options &options)
    : options(options),
      program(llvm::sys::fs::getMainExecutable(argv[0], reinterpret_cast<void *>(reinterpret_cast<intptr_t>(anchor)))),
      diagnostics(sources, &context, llvm::errs()),
      placeless(&context, printPlaceless) {
  llvm::SmallVector<std::string> words;
  for (int i = 0; i < argc; ++i)
    words.push_back(quoted(argv[i]));
  commandLine = llvm::join(words, " ");
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(reportCrash, &commandLine);

  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect, mtf::MtfDialect, rt::RtDialect,
                  spmd::SpmdDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  // One module, short passes: threads cost more than they give.
  context.disableMultithreading();
}

std::string Session::prefix() const {
  llvm::StringRef folder = llvm::sys::path::parent_path(llvm::sys::path::parent_path(program));
  return folder.empty() ? "." : folder.str();
}

ExitCode Session::internalError(const llvm::Twine &what) const {
  llvm::errs() << "error: internal: " << what << "\nnote: reproduce with: " << commandLine << "\n";
  return kInternalError;
}

ExitCode Session::userError(const llvm::Twine &what) const {
  llvm::errs() << "error: " << what << "\n";
  return kUserError;
}

/// Messages of verifiers start with the op's name in quotes; a pass that blames the program speaks of the user's names.
static bool comesFromVerifier(StringRef message) {
  auto [name, rest] = message.drop_while([](char c) { return c == '\''; }).split('\'');
  return message.starts_with("'") && name.contains('.') && rest.starts_with(" op ");
}

ExitCode Session::check(llvm::function_ref<mlir::LogicalResult()> action, const llvm::Twine &what) {
  bool blamesUser = false, blamesUs = false;
  mlir::ScopedDiagnosticHandler listener(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      (comesFromVerifier(diagnostic.str()) ? blamesUs : blamesUser) = true;
    return mlir::failure(); // The next handler prints it.
  });
  if (mlir::succeeded(action()))
    return kOk;
  return blamesUser && !blamesUs ? kUserError : internalError(what);
}

ExitCode Session::run(mlir::PassManager &passes, mlir::ModuleOp module) {
  if (options.printAfterAll)
    passes.enableIRPrinting(nullptr, [](mlir::Pass *, mlir::Operation *) { return true; }, true, true, false, llvm::errs());
  if (options.timing)
    passes.enableTiming();
  return check([&] { return passes.run(module); }, "a pass failed");
}
