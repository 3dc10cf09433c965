//===- PaddingState.cpp - what the padding of values holds -----------------===//
#include "PaddingState.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

static std::optional<double> number(Padding padding) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (padding) {
  case Padding::Undefined: return std::nullopt;
  case Padding::Zero:      return 0.0;
  case Padding::One:       return 1.0;
  case Padding::NegInf:    return -infinity;
  case Padding::PosInf:    return infinity;
  }
  llvm_unreachable("unknown padding");
}

static Padding paddingOf(std::optional<double> value) {
  for (Padding padding : {Padding::Zero, Padding::One, Padding::NegInf, Padding::PosInf})
    if (value == number(padding))
      return padding;
  return Padding::Undefined;
}

/// The one number that a constant or a broadcast of one holds.
static std::optional<double> constantValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return constant.asDouble();
  if (isa_and_nonnull<BroadcastOp, RenameOp>(op))
    return constantValue(op->getOperand(0));
  return std::nullopt;
}

/// `op` on numbers. Only what is exact: rounding would make zero of something else.
static std::optional<double> evaluate(Operation *op, ArrayRef<std::optional<double>> x) {
  if (auto select = dyn_cast<SelectOp>(op)) {
    if (x[0])
      return *x[0] != 0 ? x[1] : x[2];
    return x[1] == x[2] ? x[1] : std::nullopt;
  }
  if (isa<AndOp>(op) && (x[0] == 0.0 || x[1] == 0.0))
    return 0.0;
  if (isa<OrOp>(op) && (x[0] == 1.0 || x[1] == 1.0))
    return 1.0;
  if (llvm::any_of(x, [](const std::optional<double> &value) { return !value; }))
    return std::nullopt;
  double a = *x[0], b = x.size() > 1 ? *x[1] : 0;
  bool isInteger = tensorType(op->getResult(0)).getElementType().isInteger(32);
  double result = llvm::TypeSwitch<Operation *, double>(op)
      .Case<NegOp>([&](auto) { return 0 - a; })
      .Case<AbsOp>([&](auto) { return std::fabs(a); })
      .Case<SignOp>([&](auto) { return a > 0 ? 1 : a < 0 ? -1 : 0; })
      .Case<ExpOp>([&](auto) { return std::exp(a); })
      .Case<LogOp>([&](auto) { return std::log(a); })
      .Case<SqrtOp>([&](auto) { return std::sqrt(a); })
      .Case<RsqrtOp>([&](auto) { return 1 / std::sqrt(a); })
      .Case<TanhOp>([&](auto) { return std::tanh(a); })
      .Case<ErfOp>([&](auto) { return std::erf(a); })
      .Case<SinOp>([&](auto) { return std::sin(a); })
      .Case<CosOp>([&](auto) { return std::cos(a); })
      .Case<FloorOp>([&](auto) { return std::floor(a); })
      .Case<CeilOp>([&](auto) { return std::ceil(a); })
      .Case<NotOp>([&](auto) { return a == 0; })
      .Case<AddOp>([&](auto) { return a + b; })
      .Case<SubOp>([&](auto) { return a - b; })
      .Case<MulOp>([&](auto) { return a * b; })
      .Case<DivOp>([&](auto) { return isInteger ? std::floor(a / b) : a / b; })
      .Case<MaxOp>([&](auto) { return std::max(a, b); })
      .Case<MinOp>([&](auto) { return std::min(a, b); })
      .Case<AndOp, OrOp>([&](auto) { return isa<AndOp>(op) ? (a != 0 && b != 0) : (a != 0 || b != 0); })
      .Case<CompareOp>([&](CompareOp compare) -> double {
        switch (compare.getPredicate()) {
        case Predicate::Eq: return a == b;
        case Predicate::Ne: return a != b;
        case Predicate::Lt: return a < b;
        case Predicate::Le: return a <= b;
        case Predicate::Gt: return a > b;
        case Predicate::Ge: return a >= b;
        }
        llvm_unreachable("unknown predicate");
      })
      .Case<CastOp>([&](CastOp cast) -> double {
        Type to = cast.getResult().getType().getElementType();
        if (to.isInteger(1))
          return a != 0;
        // Conversions of infinities to integers are not defined.
        return to.isInteger(32) && !std::isfinite(a) ? NAN : a;
      })
      .Case<StopGradientOp, BroadcastOp, TapOp>([&](auto) { return a; })
      .Default([](Operation *) { return NAN; });
  if (std::isnan(result))
    return std::nullopt;
  // The sign of zero and the bits of what type can say are enough; -0 would survive a sum, so it counts as undefined.
  if (result == 0 && std::signbit(result))
    return std::nullopt;
  return result;
}

void PaddingStates::set(Value value, Padding padding) {
  auto type = dyn_cast<NamedTensorType>(value.getType());
  states[value] = type && isPadded(type) ? padding : Padding::Undefined;
}

std::optional<double> PaddingStates::valueInPadding(Value operand, NamedTensorType result) const {
  if (std::optional<double> constant = constantValue(operand)) {
    // A filled constant differs from itself in the padding.
    if (of(operand) == Padding::Undefined)
      return constant;
  }
  for (DimAttr dim : result.getDims())
    if (dim.isPadded() && !tensorType(operand).hasDim(dim.getName()))
      return std::nullopt;
  return number(of(operand));
}

Padding PaddingStates::elementwise(Operation *op) const {
  SmallVector<std::optional<double>> values;
  for (Value operand : op->getOperands()) {
    values.push_back(valueInPadding(operand, tensorType(op->getResult(0))));
    // An undefined element makes the result's undefined, whatever the others are. (An operand without padding is an ordinary number.)
    if (!values.back() && isPadded(tensorType(operand)))
      return Padding::Undefined;
  }
  return paddingOf(evaluate(op, values));
}

static Padding identityOf(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:  return Padding::Zero;
  case ReductionKind::Prod: return Padding::One;
  case ReductionKind::Max:  return Padding::NegInf;
  case ReductionKind::Min:  return Padding::PosInf;
  }
  llvm_unreachable("unknown reduction");
}

/// True if every padded dimension of `type` is named in `dims`.
static bool onlyPaddedIn(NamedTensorType type, ArrayAttr dims) {
  return llvm::all_of(type.getDims(), [&](DimAttr dim) { return !dim.isPadded() || llvm::is_contained(dims, Attribute(dim.getName())); });
}

/// Names of the dimensions of `value`.
static SmallVector<StringAttr> tensorNames(Value value) {
  SmallVector<StringAttr> names;
  for (DimAttr dim : tensorType(value).getDims())
    names.push_back(dim.getName());
  return names;
}

Padding PaddingStates::transferResult(Operation *op, Value result) const {
  if (isa<FillPaddingOp>(op))
    return tensorType(result).getPadding();
  if (op->hasTrait<Elementwise>() || isa<TapOp>(op))
    return elementwise(op);
  // The padding of an inner part has no place in the whole.
  if (auto split = dyn_cast<SplitOp>(op); split && llvm::any_of(split.getInto().getValue().drop_front(), [&](Attribute part) {
        return split.getType().findDim(cast<StringAttr>(part)).isPadded();
      }))
    return Padding::Undefined;
  if (isa<RenameOp, SplitOp, MergeOp>(op))
    return of(op->getOperand(0));
  if (isa<spmd::AllGatherOp, spmd::AllToAllOp, spmd::PermuteOp, spmd::SliceOp>(op))
    return of(op->getOperand(0));
  if (isa<ReshardOp, spmd::AllReduceOp, spmd::ReduceScatterOp, spmd::UnreduceOp>(op)) {
    // Of what each rank has, only zeros stay what they are when summed or kept on one rank.
    NamedTensorType from = tensorType(op->getOperand(0)), to = tensorType(result);
    bool isSum = from.getPartialAxes() != to.getPartialAxes() && (to.isPartial() || from.getPartialKind() == ReductionKind::Sum);
    Padding padding = of(op->getOperand(0));
    return isSum && padding != Padding::Zero ? Padding::Undefined : padding;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    // Where a dimension that is reduced has padding, all padding of the input is filled with the identity first.
    bool isFilled = isPadded(reduce.getInput().getType().without(tensorNames(result)));
    std::optional<double> value = isFilled ? number(identityOf(reduce.getKind())) : valueInPadding(reduce.getInput(), tensorType(result));
    // Of known equal numbers: a maximum is the number, a sum is known for zero and the infinities, a product for zero and one.
    bool keeps = reduce.getKind() == ReductionKind::Max || reduce.getKind() == ReductionKind::Min ||
                 (value && (*value == 0 || (reduce.getKind() == ReductionKind::Sum ? std::isinf(*value) : *value == 1)));
    return keeps ? paddingOf(value) : Padding::Undefined;
  }
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return onlyPaddedIn(tensorType(result), softmax.getOver()) ? Padding::Zero : Padding::Undefined;
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    // In the padding of dims other than `into`, what is added is the padding of the updates. Of `into`, an index past its size may hit it.
    bool mayHit = tensorType(result).findDim(scatter.getIntoAttr()).isPadded();
    return !mayHit && of(scatter.getUpdates()) == Padding::Zero ? Padding::Zero : Padding::Undefined;
  }
  return Padding::Undefined;
}

void PaddingStates::transfer(Operation *op) {
  for (Value result : op->getResults())
    if (isa<NamedTensorType>(result.getType()))
      set(result, transferResult(op, result));
}

std::optional<Padding> PaddingStates::requirement(OpOperand &use) const {
  Operation *op = use.getOwner();
  NamedTensorType type = tensorType(use.get());
  unsigned index = use.getOperandNumber();
  auto padded = [&](StringAttr name) {
    DimAttr dim = type.findDim(name);
    return dim && dim.isPadded();
  };
  auto anyPadded = [&](ArrayAttr names) {
    return llvm::any_of(names.getAsRange<StringAttr>(), [&](StringAttr name) { return padded(name); });
  };
  auto when = [](bool condition, Padding padding) { return condition ? std::optional(padding) : std::nullopt; };
  return llvm::TypeSwitch<Operation *, std::optional<Padding>>(op)
      .Case<DotOp>([&](DotOp dot) { return when(anyPadded(dot.getOver()), Padding::Zero); })
      .Case<ReduceOp>([&](ReduceOp reduce) { return when(anyPadded(reduce.getOver()), identityOf(reduce.getKind())); })
      .Case<LogSumExpOp, SoftmaxOp>([&](auto rows) { return when(anyPadded(rows.getOver()), Padding::NegInf); })
      .Case<ArgMaxOp, TopKOp>([&](auto rows) { return when(padded(rows.getOverAttr()), Padding::NegInf); })
      .Case<CumSumOp>([&](CumSumOp sum) { return when(padded(sum.getOverAttr()), Padding::Zero); })
      .Case<ShiftOp, WindowOp>([&](auto moved) { return when(padded(moved.getDimAttr()), Padding::Zero); })
      // Places past the end of a window are places of other elements.
      .Case<FoldOp>([&](FoldOp fold) { return when(padded(fold.getDimAttr()) || padded(fold.getWindowAttr()), Padding::Zero); })
      // An index past the size finds zero, also where there is padding.
      .Case<GatherOp>([&](GatherOp gather) { return when(index == 0 && padded(gather.getOverAttr()), Padding::Zero); })
      .Case<ScatterAddOp>([&](ScatterAddOp scatter) {
        // Updates in the padding of a summed dimension must be zero; where they go does not matter then, but must be somewhere. Of the
        // same name as `into`, a dimension is summed and made anew.
        NamedTensorType result = scatter.getResult().getType();
        return when(llvm::any_of(scatter.getUpdates().getType().getDims(), [&](DimAttr dim) {
          return dim.isPadded() && (!result.hasDim(dim.getName()) || dim.getName() == scatter.getIntoAttr());
        }), Padding::Zero);
      })
      .Case<AttendOp>([&](AttendOp attend) {
        if (attend.getMask() == use.get() && attend.getMask())
          return when(padded(attend.getMemAttr()), Padding::Zero);
        return when(anyPadded(attend.getHead()) || padded(attend.getMemAttr()), Padding::Zero);
      })
      // Queries are summed over in the cotangents of keys and values, so theirs must vanish too.
      .Case<AttendGradOp>([&](AttendGradOp) { return when(isPadded(type), Padding::Zero); })
      .Case<func::ReturnOp>([&](func::ReturnOp) { return when(isPadded(type), Padding::Zero); })
      .Case<RepeatOp>([&](RepeatOp repeat) {
        bool isCarry = index < repeat.numCarries();
        return when(isCarry && isPadded(type) && of(repeat.carryArg(index)) != Padding::Undefined,
                    isCarry ? of(repeat.carryArg(index)) : Padding::Undefined);
      })
      .Case<NextOp>([&](NextOp next) {
        auto repeat = cast<RepeatOp>(next->getParentOp());
        bool isCarry = index < repeat.numCarries();
        return when(isCarry && isPadded(type) && of(repeat.carryArg(index)) != Padding::Undefined,
                    isCarry ? of(repeat.carryArg(index)) : Padding::Undefined);
      })
      .Default([](Operation *) { return std::nullopt; });
}

void PaddingStates::write(Value value) const {
  if (auto type = dyn_cast<NamedTensorType>(value.getType()))
    value.setType(type.withPadding(of(value)));
}
