//===- Verify.cpp - is the partitioned program the program? ----------------===//
#include "meshc/Verify/Verify.h"
#include "Microbatches.h"
#include "Taps.h"
#include "Mtf/IR/Mtf.h"
#include "Mtf/Transforms/Passes.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include "meshc/Interpreter/Gradients.h"
#include "meshc/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

namespace {
/// What one level of the program computes.
struct Values {
  std::vector<Tensor> results;
  Taps taps;
};

class Verifier {
public:
  Verifier(ModuleOp program, const VerifyOptions &options, raw_ostream &os)
      : program(program), options(options), os(os), ranks(mtf::MeshAttr::of(program).numRanks()) {}

  /// `whole` is the program on the whole batch at once, null without microbatches.
  LogicalResult run(ModuleOp whole) {
    return success(succeeded(checkGradients()) && (!whole || succeeded(checkMicrobatches(whole))) &&
                   succeeded(compareLevels("loss_grad", "gradients")) && succeeded(compareLevels("train_step", "training step")));
  }

private:
  LogicalResult checkGradients();
  LogicalResult checkMicrobatches(ModuleOp whole);
  LogicalResult compareLevels(StringRef function, StringRef what);
  FailureOr<Values> evaluate(ModuleOp module, StringRef function, ArrayRef<Tensor> arguments, Mode mode = Mode::Global);
  FailureOr<unsigned> compare(const Values &expected, const Values &actual, func::FuncOp function, const Twine &which);

  ModuleOp program;
  const VerifyOptions &options;
  raw_ostream &os;
  int64_t ranks;
};
} // namespace

/// `program` at `level`. For `loss_grad` the gradients are a function of their own, for `train_step` they are inside the step.
static OwningOpRef<ModuleOp> lowered(ModuleOp program, Level level, StringRef function) {
  OwningOpRef<ModuleOp> module = program.clone();
  PassManager passes(module->getContext());
  if (function == "loss_grad") {
    passes.addPass(mtf::createDifferentiate());
    addPasses(passes, Level::Grad, level);
  } else {
    addPasses(passes, Level::Mtf, level);
  }
  return succeeded(passes.run(*module)) ? std::move(module) : OwningOpRef<ModuleOp>();
}

LogicalResult Verifier::checkGradients() {
  OwningOpRef<ModuleOp> module = lowered(program, Level::Grad, "loss_grad");
  if (!module)
    return failure();
  auto loss = module->lookupSymbol<func::FuncOp>("loss"), gradient = module->lookupSymbol<func::FuncOp>("loss_grad");
  if (!loss || !gradient)
    return success(); // A program without training has nothing to differentiate.
  GradientCheck check;
  check.seed = options.seed;
  check.samples = options.samples;
  check.directions = options.directions;
  check.tolerance = options.gradientTolerance;
  std::string lines;
  llvm::raw_string_ostream log(lines);
  if (failed(interp::checkGradients(*module, loss, gradient, randomArguments(loss, options.seed), check, log)))
    return failure();
  os << "finite differences: the gradients of " << StringRef(lines).count('\n') << " parameters agree\n";
  return success();
}

FailureOr<Values> Verifier::evaluate(ModuleOp module, StringRef name, ArrayRef<Tensor> arguments, Mode mode) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return module.emitError() << "function '" << name << "' is lost on the way";
  Interpreter interpreter(module, mode);
  auto results = interpreter.call(function, arguments);
  if (failed(results))
    return failure();
  return Values{std::move(*results), interpreter.taps()};
}

/// A step in microbatches must be the step on the whole batch.
LogicalResult Verifier::checkMicrobatches(ModuleOp whole) {
  OwningOpRef<ModuleOp> module = lowered(program, Level::Grad, "train_step"), wholeModule = lowered(whole, Level::Grad, "train_step");
  if (!module || !wholeModule)
    return failure();
  auto step = module->lookupSymbol<func::FuncOp>("train_step"), wholeStep = wholeModule->lookupSymbol<func::FuncOp>("train_step");
  if (!step || !wholeStep)
    return success();
  FailureOr<Values> actual = evaluate(*module, "train_step", randomArguments(step, options.seed));
  FailureOr<Values> expected = evaluate(*wholeModule, "train_step", randomArguments(wholeStep, options.seed));
  if (failed(actual) || failed(expected))
    return failure();
  // Inside the loop values have other names and shapes.
  expected->taps.clear();
  if (failed(compare(*expected, *actual, wholeStep, "the step in microbatches")))
    return failure();
  os << microbatchesOf(program) << " microbatches: the step on the whole batch, " << expected->results.size() << " results agree\n";
  return success();
}

LogicalResult Verifier::compareLevels(StringRef function, StringRef what) {
  OwningOpRef<ModuleOp> global = lowered(program, Level::Grad, function);
  if (!global)
    return failure();
  auto reference = global->lookupSymbol<func::FuncOp>(function);
  if (!reference)
    return success();
  std::vector<Tensor> arguments = randomArguments(reference, options.seed);
  FailureOr<Values> expected = evaluate(*global, function, arguments);
  if (failed(expected))
    return failure();
  for (auto [level, name] : {std::pair(Level::Sharded, StringRef("sharded")), std::pair(Level::Spmd, StringRef("partitioned"))}) {
    OwningOpRef<ModuleOp> module = lowered(program, level, function);
    if (!module)
      return failure();
    FailureOr<Values> actual = evaluate(*module, function, arguments, Mode::VirtualRanks);
    if (failed(actual))
      return failure();
    FailureOr<unsigned> compared = compare(*expected, *actual, reference, "the " + name + " program");
    if (failed(compared))
      return failure();
    os << name << " on " << ranks << (ranks == 1 ? " rank" : " ranks") << ": " << what << ", " << expected->results.size()
       << " results and " << *compared << " values agree\n";
  }
  return success();
}

/// Values first, in the order of their computation: the first that differs is where the mistake is. Returns the number of values
/// compared; those that nothing used may be gone at the lower level.
FailureOr<unsigned> Verifier::compare(const Values &expected, const Values &actual, func::FuncOp function, const Twine &which) {
  unsigned compared = 0;
  for (const auto &[name, tap] : expected.taps) {
    auto it = actual.taps.find(name);
    if (it == actual.taps.end())
      continue;
    ++compared;
    if (auto difference = firstDifference(tap.value, it->second.value, options.tolerance))
      return emitError(tap.loc) << "value '" << name << "' of " << which << " differs at " << describe(*difference, tap.value);
  }
  for (auto [i, pair] : llvm::enumerate(llvm::zip_equal(expected.results, actual.results)))
    if (auto difference = firstDifference(std::get<0>(pair), std::get<1>(pair), options.tolerance)) {
      Location loc = function.front().getTerminator()->getOperand(i).getLoc();
      return emitError(loc) << "result '" << resultName(function, i) << "' of @" << function.getName() << " of " << which << " differs at "
                            << describe(*difference, std::get<0>(pair));
    }
  return compared;
}

static void printSizes(const std::vector<ShrunkDim> &dims, raw_ostream &os) {
  os << "sizes:";
  for (const ShrunkDim &dim : dims) {
    os << " " << dim.name << "=" << dim.used;
    if (dim.used != dim.size)
      os << " (of " << dim.size << ")";
  }
  os << "\n";
}

LogicalResult meshc::verifyProgram(Elaborate elaborate, const VerifyOptions &options, raw_ostream &os) {
  OwningOpRef<ModuleOp> program = elaborate({}), whole;
  if (!program)
    return failure();
  if (!options.keepSizes) {
    std::vector<ShrunkDim> dims;
    std::vector<std::string> settings = shrinkSizes(*program, elaborate, dims);
    printSizes(dims, os);
    program = elaborate(settings);
    if (microbatchesOf(*program) > 1)
      whole = withWholeBatch(*program, elaborate, settings);
  }
  if (auto loss = program->lookupSymbol<func::FuncOp>("loss"))
    tapNamedValues(loss);
  return Verifier(*program, options, os).run(whole ? *whole : ModuleOp());
}
