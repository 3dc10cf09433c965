//===- meshc-fuzz.cpp - random programs through the compiler's levels ------===//
//
//   meshc-fuzz --first=1 --count=100
//
// For each seed: a random program (RandomProgram.h), its gradients against finite differences. The first program that fails is printed
// with its seed; `--print` prints a program without running it.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Mtf/Transforms/Passes.h"
#include "RandomProgram.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Gradients.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

static llvm::cl::opt<uint64_t> first("first", llvm::cl::desc("seed of the first program"), llvm::cl::init(1));
static llvm::cl::opt<uint64_t> count("count", llvm::cl::desc("number of programs"), llvm::cl::init(100));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("print the first program and stop"));

static LogicalResult differentiateAndCheck(ModuleOp module, uint64_t seed) {
  PassManager passes(module.getContext());
  passes.addPass(mtf::createDifferentiate());
  if (failed(passes.run(module)))
    return failure();
  auto loss = module.lookupSymbol<func::FuncOp>("loss"), gradient = module.lookupSymbol<func::FuncOp>("loss_grad");
  GradientCheck options;
  options.samples = 3;
  options.directions = 1;
  options.seed = seed;
  return checkGradients(module, loss, gradient, randomArguments(loss, seed), options, llvm::nulls());
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "random programs through the compiler's levels\n");
  DialectRegistry registry;
  registry.insert<func::FuncDialect, mtf::MtfDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    OwningOpRef<ModuleOp> program = randomProgram(context, seed);
    if (print) {
      program->print(llvm::outs());
      return 0;
    }
    OwningOpRef<ModuleOp> original = program->clone();
    if (failed(verify(*program)) || failed(differentiateAndCheck(*program, seed))) {
      original->print(llvm::outs());
      llvm::errs() << "program of seed " << seed << " fails\n";
      return 1;
    }
  }
  llvm::outs() << count << " programs agree\n";
}
