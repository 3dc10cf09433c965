//===- meshc-interp.cpp - runs a function of a program in float64 ----------===//
//
//   meshc-interp program.mlir --entry=loss --seed=1
//
// fills the arguments with deterministic random values (the same at every level of the program), runs the function and prints one
// line per result and tap. With --compare=other.mlir the same function of another module must agree; with --check-gradients
// @loss_grad is checked against finite differences of @loss; with --reference=file.json arguments and expected results come from a
// file; --check-buffers compares every public function with its lowering to the rt dialect. Exit status 1 says that something differs.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Spmd/IR/Spmd.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include "meshc/Interpreter/Gradients.h"
#include "meshc/Interpreter/Reference.h"
#include "meshc/Interpreter/RtInterpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("<program>"), llvm::cl::init("-"));
static llvm::cl::opt<std::string> entry("entry", llvm::cl::desc("function to run"), llvm::cl::init("loss"));
static llvm::cl::opt<uint64_t> seed("seed", llvm::cl::desc("seed of the random arguments"), llvm::cl::init(1));
static llvm::cl::opt<bool> ranks("ranks", llvm::cl::desc("run on all virtual ranks of the mesh even if nothing is sharded"));
static llvm::cl::opt<std::string> other("compare", llvm::cl::desc("program whose function must give the same values"), llvm::cl::value_desc("file"));
static llvm::cl::opt<std::string> referenceFile("reference", llvm::cl::desc("arguments and expected results as JSON"), llvm::cl::value_desc("file"));
static llvm::cl::opt<double> tolerance("tolerance", llvm::cl::desc("largest relative difference of --compare and --reference"), llvm::cl::init(1e-10));
static llvm::cl::opt<bool> gradients("check-gradients", llvm::cl::desc("check @loss_grad against finite differences of @loss"));
static llvm::cl::opt<bool> buffers("check-buffers", llvm::cl::desc("lower every public function to buffers and kernels and compare"));

namespace {
struct Run {
  std::vector<Tensor> results;
  Taps taps;
  func::FuncOp function;
};
} // namespace

/// Puts the reference's values in place of the random ones.
static LogicalResult useArguments(func::FuncOp function, const Reference &reference, std::vector<Tensor> &arguments) {
  for (const auto &entry : reference.arguments) {
    bool found = false;
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      if (argumentName(function, i) != entry.first())
        continue;
      if (argument.dims() != entry.second.dims())
        return function.emitError() << "argument '" << entry.first() << "' has another shape in the reference";
      argument = entry.second;
      found = true;
    }
    if (!found)
      return function.emitError() << "no argument '" << entry.first() << "'";
  }
  return success();
}

static LogicalResult compareWith(const Reference &reference, const Run &run) {
  func::FuncOp function = run.function;
  unsigned compared = 0;
  for (auto [i, result] : llvm::enumerate(run.results)) {
    auto it = reference.results.find(resultName(function, i));
    if (it == reference.results.end())
      continue;
    ++compared;
    if (auto difference = firstDifference(it->second, result, tolerance))
      return function.emitError() << "result '" << it->first() << "' differs from the reference at " << describe(*difference, result);
  }
  if (compared != reference.results.size())
    return function.emitError() << "gives " << compared << " of the reference's " << reference.results.size() << " results";
  llvm::outs() << "equal: " << compared << " results of the reference\n";
  return success();
}

static FailureOr<Reference> loadReference(MLIRContext &context) {
  auto buffer = llvm::MemoryBuffer::getFile(referenceFile);
  std::string error = buffer ? "" : buffer.getError().message();
  FailureOr<Reference> reference = failure();
  if (buffer)
    reference = readReference((*buffer)->getBuffer(), context, error);
  if (failed(reference))
    llvm::errs() << "error: cannot read " << referenceFile << ": " << error << "\n";
  return reference;
}

static FailureOr<Run> run(ModuleOp module, StringRef file, const Reference *reference = nullptr) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function)
    return module.emitError() << "no function '" << entry << "' in " << file;
  Interpreter interpreter(module, ranks ? Mode::VirtualRanks : Interpreter::modeOf(function));
  std::vector<Tensor> arguments = randomArguments(function, seed);
  if (reference && failed(useArguments(function, *reference, arguments)))
    return failure();
  auto results = interpreter.call(function, arguments);
  if (failed(results))
    return failure();
  return Run{std::move(*results), interpreter.taps(), function};
}

/// Compares the taps first: they lead up to the results.
static LogicalResult compare(const Run &expected, const Run &actual) {
  for (const auto &[name, tap] : expected.taps) {
    auto it = actual.taps.find(name);
    if (it == actual.taps.end())
      return emitError(tap.loc) << "value '" << name << "' is missing in " << other;
    if (auto difference = firstDifference(tap.value, it->second.value, tolerance))
      return emitError(tap.loc) << "value '" << name << "' differs at " << describe(*difference, tap.value);
  }
  func::FuncOp function = expected.function;
  if (expected.results.size() != actual.results.size())
    return function.emitError() << "has " << expected.results.size() << " results, in " << other << " " << actual.results.size();
  for (auto [i, pair] : llvm::enumerate(llvm::zip(expected.results, actual.results))) {
    auto &[a, b] = pair;
    if (auto difference = firstDifference(a, b, tolerance))
      return function.emitError() << "result '" << resultName(function, i) << "' differs at " << describe(*difference, a);
  }
  llvm::outs() << "equal: " << expected.results.size() << " results, " << expected.taps.size() << " taps\n";
  return success();
}

static LogicalResult runTool(MLIRContext &context, llvm::SourceMgr &sources) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(inputFile, sources, &context);
  if (!module)
    return failure();
  if (buffers) {
    if (failed(compareWithRt(*module, seed, tolerance)))
      return failure();
    llvm::outs() << "equal in buffers\n";
    return success();
  }
  if (gradients) {
    auto loss = module->lookupSymbol<func::FuncOp>("loss"), gradient = module->lookupSymbol<func::FuncOp>("loss_grad");
    if (!loss || !gradient)
      return module->emitError() << "--check-gradients needs functions 'loss' and 'loss_grad'";
    GradientCheck options;
    options.seed = seed;
    return checkGradients(*module, loss, gradient, randomArguments(loss, seed), options, llvm::outs());
  }
  if (!referenceFile.empty()) {
    FailureOr<Reference> reference = loadReference(context);
    if (failed(reference))
      return failure();
    FailureOr<Run> actual = run(*module, inputFile, &*reference);
    return failed(actual) ? failure() : compareWith(*reference, *actual);
  }
  FailureOr<Run> expected = run(*module, inputFile);
  if (failed(expected))
    return failure();
  if (!other.empty()) {
    OwningOpRef<ModuleOp> otherModule = parseSourceFile<ModuleOp>(other, &context);
    if (!otherModule)
      return failure();
    FailureOr<Run> actual = run(*otherModule, other);
    return failed(actual) ? failure() : compare(*expected, *actual);
  }
  for (auto [i, result] : llvm::enumerate(expected->results))
    llvm::outs() << "result " << resultName(expected->function, i) << " " << summarize(result) << "\n";
  for (const auto &[name, tap] : expected->taps)
    llvm::outs() << "tap " << name << " " << summarize(tap.value) << "\n";
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "runs a function of a meshc program in float64\n");
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, mtf::MtfDialect, spmd::SpmdDialect>();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  return failed(runTool(context, sources));
}
