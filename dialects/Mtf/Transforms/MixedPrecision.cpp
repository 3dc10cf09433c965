//===- MixedPrecision.cpp - products in bf16 -------------------------------===//
//
// In a module of precision "bf16" the operands of products (dot, attend and its gradient) become bf16; results of dots, and
// everything else, stay f32; attention writes bf16 and is widened. Each value is rounded once, where it is defined, so that
//
//  - a parameter (an f32 master) is rounded once per step, outside of all loops, and its slices are slices of the rounded one,
//  - a residual that only products use is stacked in bf16.
//
//   %y = repeat "layers" carries(%x0) slices(%w : f32) {(%i, %x, %wi): %p = dot %x, %wi; ...}
//   =>
//   %wh = cast %w : bf16
//   %y = repeat "layers" carries(%x0) slices(%wh : bf16) {(%i, %x, %wi): %xh = cast %x; %p = dot %xh, %wi -> f32; ...}
//
// What the user annotated binds (`mtf.pinned_type`): a pinned product, a product with a pinned parameter, and the products of their
// gradients keep their operands.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Mtf/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_MIXEDPRECISION
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

static bool isF32(Value value) { return tensorType(value).getElementType().isF32(); }

namespace {
/// Rounds the values of one function.
class Rounding {
public:
  explicit Rounding(func::FuncOp function) : function(function), bf16(BFloat16Type::get(function.getContext())) {}
  void run();

private:
  /// `value` in bf16: one cast, right after its definition.
  Value rounded(Value value);
  void roundOperands(Operation *product);
  /// Makes a product write bf16; its users get the value widened again.
  void roundResult(Value result);
  /// Passes slices of rounded parameters, and residuals rounded.
  void roundSlices(RepeatOp loop);
  /// Of parameters; a pinned value that was computed is f32, but a product of it may round.
  bool isPinned(Value value);

  func::FuncOp function;
  Type bf16;
  DenseMap<Value, Value> cache;
};
} // namespace

Value Rounding::rounded(Value value) {
  Value &result = cache[value];
  if (result)
    return result;
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(value);
  return result = CastOp::create(builder, value.getLoc(), value, bf16);
}

/// The function's argument that a value is, possibly sliced by loops; null if it is something else.
static BlockArgument parameterOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  while (argument) {
    auto loop = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (!loop)
      break;
    unsigned first = 1 + loop.numCarries();
    argument = argument.getArgNumber() < first ? BlockArgument() : dyn_cast<BlockArgument>(loop.getScanned()[argument.getArgNumber() - first]);
  }
  return argument;
}

bool Rounding::isPinned(Value value) {
  BlockArgument parameter = parameterOf(value);
  if (!parameter)
    return false;
  if (function.getArgAttr(parameter.getArgNumber(), kPinnedType))
    return true;
  auto symbol = function.getArgAttrOfType<FlatSymbolRefAttr>(parameter.getArgNumber(), kParam);
  auto param = symbol ? SymbolTable::lookupNearestSymbolFrom<ParamOp>(function, symbol) : ParamOp();
  return param && param->hasAttr(kPinnedType);
}

void Rounding::roundOperands(Operation *product) {
  auto isMask = [](Value value) { return !isa<FloatType>(tensorType(value).getElementType()); };
  if (product->hasAttr(kPinnedType) || llvm::any_of(product->getOperands(), [&](Value operand) { return isPinned(operand); }))
    return;
  for (OpOperand &operand : product->getOpOperands()) {
    // The log-sum-exp is a statistic, not a factor.
    if (auto grad = dyn_cast<AttendGradOp>(product); grad && operand.get() == grad.getLse())
      continue;
    if (!isMask(operand.get()) && isF32(operand.get()))
      operand.set(rounded(operand.get()));
  }
  // Attention works in one type: its sums are f32 inside, what it writes is rounded once.
  if (auto attend = dyn_cast<AttendOp>(product))
    roundResult(attend.getOutput());
  if (isa<AttendGradOp>(product))
    for (Value gradient : product->getResults())
      roundResult(gradient);
}

void Rounding::roundResult(Value result) {
  if (!isF32(result))
    return;
  Type wide = tensorType(result).getElementType();
  result.setType(tensorType(result).withElementType(bf16));
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(result);
  Value widened = CastOp::create(builder, result.getLoc(), result, wide);
  result.replaceAllUsesExcept(widened, widened.getDefiningOp());
  cache[widened] = result;
}

/// True if the slices that `loops` cut from `stacked` are only rounded.
static bool onlyRounded(Value slice) {
  return !slice.use_empty() && llvm::all_of(slice.getUsers(), [](Operation *user) {
    auto cast = dyn_cast<CastOp>(user);
    return cast && cast.getType().getElementType().isBF16();
  });
}

/// Makes a slice bf16, its rounding having moved to where it is cut from.
static void takeRounded(BlockArgument slice) {
  slice.setType(tensorType(slice).withElementType(BFloat16Type::get(slice.getContext())));
  for (Operation *user : llvm::make_early_inc_range(slice.getUsers())) {
    user->getResult(0).replaceAllUsesWith(slice);
    user->erase();
  }
}

void Rounding::roundSlices(RepeatOp loop) {
  for (unsigned i = 0; i < loop.getScanned().size(); ++i) {
    Value stacked = loop.getScanned()[i];
    if (!isF32(stacked))
      continue;
    BlockArgument slice = loop.sliceArg(i);
    if (isa<BlockArgument>(stacked) && parameterOf(stacked)) {
      if (onlyRounded(slice)) {
        loop.getScannedMutable()[i].set(rounded(stacked));
        takeRounded(slice);
      } else if (Value inside = cache.lookup(slice)) {
        // The slice is wanted as it is, too.
        loop.getScannedMutable().append(rounded(stacked));
        inside.replaceAllUsesWith(loop.bodyBlock()->addArgument(inside.getType(), inside.getLoc()));
        inside.getDefiningOp()->erase();
      }
      cache.erase(slice);
      continue;
    }
    // A residual: every loop that takes it must round it.
    auto producer = stacked.getDefiningOp<RepeatOp>();
    if (!producer)
      continue;
    SmallVector<BlockArgument> slices;
    bool all = llvm::all_of(stacked.getUses(), [&](OpOperand &use) {
      auto user = dyn_cast<RepeatOp>(use.getOwner());
      if (!user || use.getOperandNumber() < user.numCarries())
        return false;
      slices.push_back(user.sliceArg(use.getOperandNumber() - user.numCarries()));
      return onlyRounded(slices.back());
    });
    unsigned result = cast<OpResult>(stacked).getResultNumber();
    if (!all || result < producer.numCarries())
      continue;
    OpOperand &kept = producer.next()->getOpOperand(result);
    kept.set(rounded(kept.get()));
    stacked.setType(tensorType(stacked).withElementType(bf16));
    for (BlockArgument argument : slices) {
      cache.erase(argument);
      takeRounded(argument);
    }
  }
}

void Rounding::run() {
  SmallVector<Operation *> products;
  SmallVector<RepeatOp> loops;
  function.walk([&](Operation *op) {
    if (isa<DotOp, AttendOp, AttendGradOp>(op))
      products.push_back(op);
    if (auto loop = dyn_cast<RepeatOp>(op))
      loops.push_back(loop);
  });
  for (Operation *product : products)
    roundOperands(product);
  // Inner loops first: what they no longer round, the outer ones may.
  for (RepeatOp loop : loops)
    roundSlices(loop);
}

namespace {
struct MixedPrecision : public meshc::mtf::impl::MixedPrecisionBase<MixedPrecision> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto precision = module->getAttrOfType<StringAttr>(kPrecision);
    if (!precision || precision.getValue() == "f32")
      return;
    if (precision.getValue() != "bf16") {
      module.emitError() << "unknown precision '" << precision.getValue() << "', expected 'f32' or 'bf16'";
      return signalPassFailure();
    }
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      if (!function.isPrivate() && !function.isExternal() && !function.getName().starts_with("update."))
        Rounding(function).run();
  }
};
} // namespace
