//===- meshc-fuzz.cpp - random programs through the compiler's levels ------===//
//
//   meshc-fuzz --first=1 --count=100
//
// For each seed: a random program (RandomProgram.h) and its verification (Verify.h): gradients against finite differences, the
// sharded and the partitioned program against the global one. The first program that fails is printed with its seed; `--print` prints a
// program without running it.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "RandomProgram.h"
#include "Spmd/IR/Spmd.h"
#include "meshc/Verify/Verify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace meshc;

static llvm::cl::opt<uint64_t> first("first", llvm::cl::desc("seed of the first program"), llvm::cl::init(1));
static llvm::cl::opt<uint64_t> count("count", llvm::cl::desc("number of programs"), llvm::cl::init(100));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("print the first program and stop"));

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "random programs through the compiler's levels\n");
  DialectRegistry registry;
  registry.insert<func::FuncDialect, mtf::MtfDialect, spmd::SpmdDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    OwningOpRef<ModuleOp> program = randomProgram(context, seed);
    if (print) {
      program->print(llvm::outs());
      return 0;
    }
    VerifyOptions options;
    options.seed = seed;
    options.samples = 3;
    options.directions = 1;
    options.keepSizes = true;
    auto elaborate = [&](const std::vector<std::string> &) { return OwningOpRef<ModuleOp>(program->clone()); };
    if (failed(verify(*program)) || failed(verifyProgram(elaborate, options, llvm::nulls()))) {
      program->print(llvm::outs());
      llvm::outs().flush();
      llvm::errs() << "program of seed " << seed << " fails\n";
      return 1;
    }
  }
  llvm::outs() << count << " programs agree\n";
}
