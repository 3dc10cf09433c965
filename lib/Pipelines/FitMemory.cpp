//===- FitMemory.cpp - as little recomputation as a memory budget allows ------===//
//
// `recompute "20 GiB"` asks for a peak, which is known when memory is planned, by choices that are made when loops are differentiated. So
// the whole pipeline runs on copies of the module: the cut between keeping and recomputing has one parameter, the operations
// worth repeating per byte (Mtf/Transforms/Residuals.h), in which the peak falls and the work rises, and bisection finds the smallest that fits.
// The planned arena is what the program allocates, so the budget holds to the byte.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Mtf/Transforms/Residuals.h"
#include "Rt/IR/Rt.h"
#include "meshc/Pipelines/Pipelines.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace meshc;

static constexpr int kFirstStep = -4, kLastStep = 40; ///< Rates 2^(step / 2).

static double rateOf(int step) { return step == kLastStep ? mtf::kRecomputeFull : std::exp2(step / 2.0); }

/// Bytes of a rank's arena if a byte is worth `rate` operations; nothing if the program does not compile.
static std::optional<int64_t> peakBytes(ModuleOp module, double rate) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  (*copy)->setAttr(mtf::kRecompute, Builder(module.getContext()).getF64FloatAttr(rate));
  // What is wrong with the program is reported when it is compiled, once.
  ScopedDiagnosticHandler silence(module.getContext(), [](Diagnostic &) { return success(); });
  PassManager passes(module.getContext());
  addPasses(passes, Level::Mtf, Level::Rt);
  if (failed(passes.run(*copy)))
    return std::nullopt;
  auto bytes = (*copy)->getAttrOfType<IntegerAttr>(rt::kArenaBytes);
  return bytes ? std::optional(bytes.getInt()) : std::nullopt;
}

namespace {
struct FitMemoryPass : PassWrapper<FitMemoryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FitMemoryPass)

  StringRef getArgument() const override { return "meshc-fit-memory"; }
  StringRef getDescription() const override { return "turn a memory budget into the least recomputation that meets it"; }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto text = module->getAttrOfType<StringAttr>(mtf::kRecompute);
    std::optional<mtf::MemoryBudget> budget = text ? mtf::parseMemoryBudget(text) : std::nullopt;
    if (!budget)
      return;
    auto decide = [&](double rate) {
      module->setAttr(mtf::kRecompute, Builder(module.getContext()).getF64FloatAttr(rate));
      module->removeAttr(mtf::kRecomputeLoc);
    };
    std::optional<int64_t> most = peakBytes(module, mtf::kRecomputeNone);
    if (!most)
      return decide(mtf::kRecomputeNone); // The passes that follow say what is wrong.
    double limit = budget->isShare ? budget->amount * *most : budget->amount;
    if (*most <= limit)
      return decide(mtf::kRecomputeNone);
    auto fits = [&](int step) {
      std::optional<int64_t> bytes = peakBytes(module, rateOf(step));
      return bytes && *bytes <= limit;
    };
    if (!fits(kLastStep)) {
      auto loc = module->getAttrOfType<LocationAttr>(mtf::kRecomputeLoc);
      std::optional<int64_t> least = peakBytes(module, mtf::kRecomputeFull);
      InFlightDiagnostic error = emitError(loc ? Location(loc) : module.getLoc());
      error << "a rank cannot do with " << text.getValue() << ": it takes ";
      error << mebibytes(least.value_or(*most)) << " with everything computed again, " << mebibytes(*most) << " without";
      return signalPassFailure();
    }
    int tooSmall = kFirstStep - 1, enough = kLastStep;
    while (enough - tooSmall > 1) {
      int middle = tooSmall + (enough - tooSmall) / 2;
      (fits(middle) ? enough : tooSmall) = middle;
    }
    decide(rateOf(enough));
  }

  static std::string mebibytes(int64_t bytes) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.3f MiB", static_cast<double>(bytes) / 0x1p20);
    return text;
  }
};
} // namespace

std::unique_ptr<Pass> meshc::createFitMemory() { return std::make_unique<FitMemoryPass>(); }
