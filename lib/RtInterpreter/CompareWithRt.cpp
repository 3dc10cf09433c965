//===- CompareWithRt.cpp - level 4 against level 3 ---------------------------===//
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include "meshc/Interpreter/RtInterpreter.h"
#include "meshc/Pipelines/Pipelines.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

/// The global of an argument or result, by what its attributes say it is.
static rt::GlobalOp findGlobal(ModuleOp module, StringRef step, DictionaryAttr attrs, bool isResult, const std::string &fallback) {
  auto lookup = [&](StringRef key) { return attrs ? attrs.get(key) : Attribute(); };
  for (auto global : module.getOps<rt::GlobalOp>()) {
    if (auto param = dyn_cast_or_null<FlatSymbolRefAttr>(lookup(mtf::kParam))) {
      if (global.getRole() == rt::Role::Param && global.getParamAttr() == param)
        return global;
    } else if (auto state = dyn_cast_or_null<ArrayAttr>(lookup(mtf::kState))) {
      if (global.getRole() == rt::Role::State && global.getParamAttr() == state[0] && global.getNameAttr() == state[1])
        return global;
    } else {
      Attribute name = lookup(isResult ? StringRef(mtf::kResult) : lookup(mtf::kData) ? StringRef(mtf::kData) : StringRef(mtf::kInput));
      StringRef wanted = name ? cast<StringAttr>(name).getValue() : StringRef(fallback);
      if ((global.getRole() == rt::Role::Result) == isResult && global.getStep() == step && global.getName() == wanted &&
          global.getRole() != rt::Role::Param && global.getRole() != rt::Role::State)
        return global;
    }
  }
  return {};
}

static OwningOpRef<ModuleOp> lower(ModuleOp module, bool gatherAhead) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  PassManager passes(module.getContext());
  RtOptions options;
  options.gatherAhead = gatherAhead;
  buildRtPipeline(passes, options);
  return succeeded(passes.run(*lowered)) ? std::move(lowered) : OwningOpRef<ModuleOp>();
}

static LogicalResult compare(ModuleOp module, ModuleOp lowered, uint64_t seed, double tolerance) {
  for (auto function : module.getOps<func::FuncOp>()) {
    // Functions of the trainer (metrics) are not steps.
    auto step = lowered.lookupSymbol<rt::StepOp>(function.getSymName());
    if (!step)
      continue;
    std::vector<Tensor> arguments = randomArguments(function, seed);
    Interpreter reference(module, Interpreter::modeOf(function));
    FailureOr<std::vector<Tensor>> expected = reference.call(function, arguments);
    if (failed(expected))
      return failure();
    RtInterpreter program(lowered);
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      rt::GlobalOp global = findGlobal(lowered, function.getSymName(), function.getArgAttrDict(i), false, "arg" + std::to_string(i));
      if (!global)
        return function.emitError() << "no global for argument " << i;
      program.set(global, argument);
    }
    if (failed(program.run(step)))
      return failure();
    for (auto [i, value] : llvm::enumerate(*expected)) {
      rt::GlobalOp global = findGlobal(lowered, function.getSymName(), function.getResultAttrDict(i), true, "result" + std::to_string(i));
      if (!global)
        return function.emitError() << "no global for result " << i;
      FailureOr<Tensor> actual = program.get(global);
      if (failed(actual))
        return failure();
      if (auto difference = firstDifference(value, *actual, tolerance))
        return function.emitError() << "in the buffers of '" << function.getSymName() << "' result '" << resultName(function, i) << "' differs at "
                                    << describe(*difference, value);
    }
  }
  return success();
}

LogicalResult interp::compareWithRt(ModuleOp module, uint64_t seed, double tolerance) {
  OwningOpRef<ModuleOp> plain = lower(module, false), ahead = lower(module, true);
  if (!plain || !ahead || failed(compare(module, *plain, seed, tolerance)))
    return failure();
  bool differs = ahead->walk([](rt::LoopOp loop) { return loop.runsAhead() ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
  return success(!differs || succeeded(compare(module, *ahead, seed, tolerance)));
}
