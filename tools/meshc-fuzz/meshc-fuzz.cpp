//===- meshc-fuzz.cpp - random programs through the compiler's levels ------===//
//
//   meshc-fuzz --first=1 --count=100
//
// For each seed: a random program (RandomProgram.h), the same canonicalized, and its verification (Verify.h): gradients against finite differences, the
// sharded and the partitioned program against the global one, and the training step in buffers against the partitioned one. The first program that fails is printed with its seed; `--print` prints a
// program without running it.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "RandomProgram.h"
#include "Spmd/IR/Spmd.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include "meshc/Interpreter/RtInterpreter.h"
#include "meshc/Pipelines/Pipelines.h"
#include "meshc/Verify/Verify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

static llvm::cl::opt<uint64_t> first("first", llvm::cl::desc("seed of the first program"), llvm::cl::init(1));
static llvm::cl::opt<uint64_t> count("count", llvm::cl::desc("number of programs"), llvm::cl::init(100));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("print the first program and stop"));

/// Canonicalization and common subexpression elimination must not change any value.
static LogicalResult checkSimplified(ModuleOp program, uint64_t seed) {
  OwningOpRef<ModuleOp> simplified = program.clone();
  PassManager passes(program.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(*simplified)))
    return failure();
  auto loss = program.lookupSymbol<func::FuncOp>("loss");
  std::vector<Tensor> arguments = randomArguments(loss, seed);
  Interpreter before(program), after(*simplified);
  if (failed(before.call(loss, arguments)) || failed(after.call("loss", arguments)))
    return failure();
  for (const auto &[name, tap] : before.taps()) {
    auto it = after.taps().find(name);
    if (it == after.taps().end())
      continue; // Nothing used it.
    if (auto difference = firstDifference(tap.value, it->second.value, 1e-10))
      return emitError(tap.loc) << "canonicalization changes value '" << name << "' at " << describe(*difference, tap.value);
  }
  return success();
}

/// The training step as buffers and kernels, on one rank and partitioned.
static LogicalResult checkBuffers(ModuleOp program, uint64_t seed) {
  for (Level level : {Level::Grad, Level::Spmd}) {
    OwningOpRef<ModuleOp> lowered = program.clone();
    PassManager passes(program.getContext());
    addPasses(passes, Level::Mtf, level);
    if (failed(passes.run(*lowered)))
      return failure();
    if (failed(compareWithRt(*lowered, seed, 1e-10)))
      return failure();
  }
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "random programs through the compiler's levels\n");
  DialectRegistry registry;
  registry.insert<func::FuncDialect, mtf::MtfDialect, spmd::SpmdDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::string errors;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      llvm::raw_string_ostream(errors) << diagnostic << "\n";
    return success();
  });
  for (uint64_t seed = first; seed < first + count; ++seed) {
    OwningOpRef<ModuleOp> program = randomProgram(context, seed);
    if (print) {
      program->print(llvm::outs());
      return 0;
    }
    VerifyOptions options;
    options.seed = seed;
    // Rules have constants rounded to f32 (2 / sqrt(pi)), and in a random program large terms may cancel.
    options.gradientTolerance = 1e-5;
    options.samples = 3;
    options.directions = 1;
    options.keepSizes = true;
    auto elaborate = [&](const std::vector<std::string> &) { return OwningOpRef<ModuleOp>(program->clone()); };
    if (failed(verify(*program)) || failed(checkSimplified(*program, seed)) || failed(verifyProgram(elaborate, options, llvm::nulls())) ||
        failed(checkBuffers(*program, seed))) {
      program->print(llvm::outs());
      llvm::outs().flush();
      llvm::errs() << "program of seed " << seed << " fails\n" << errors;
      return 1;
    }
  }
  llvm::outs() << count << " programs agree\n";
}
