//===- MtfFactors.cpp - factors and linearity of every op ------------------===//
//
// Most ops treat a dimension the same way wherever its name occurs; `byName` collects those factors and takes the
// exceptions. Only rename, split and merge tie dimensions of different names together.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshc::mtf;

namespace {
using Factors = SmallVector<Factor>;

struct Kind {
  FactorKind kind;
  ReductionKind reduction = ReductionKind::Sum;
};
using Exceptions = llvm::SmallDenseMap<StringAttr, Kind, 4>;
} // namespace

/// One factor per name over all operands and results; Parallel unless `exceptions` says otherwise.
static Factors byName(Operation *op, const Exceptions &exceptions = Exceptions()) {
  llvm::MapVector<StringAttr, Factor> factors;
  auto visit = [&](unsigned index, Type type) {
    for (DimAttr dim : cast<NamedTensorType>(type).getDims()) {
      auto [it, isNew] = factors.try_emplace(dim.getName(), Factor{FactorKind::Parallel, {}});
      if (auto exception = exceptions.find(dim.getName()); isNew && exception != exceptions.end()) {
        it->second.kind = exception->second.kind;
        it->second.reduction = exception->second.reduction;
      }
      it->second.uses.push_back({index, dim.getName()});
    }
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    visit(i, type);
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    visit(op->getNumOperands() + i, type);
  Factors result;
  for (auto &entry : factors)
    result.push_back(entry.second);
  return result;
}

static Exceptions all(ArrayAttr names, FactorKind kind, ReductionKind reduction = ReductionKind::Sum) {
  Exceptions exceptions;
  for (auto name : names.getAsRange<StringAttr>())
    exceptions[name] = {kind, reduction};
  return exceptions;
}

static Exceptions whole(std::initializer_list<StringAttr> names) {
  Exceptions exceptions;
  for (StringAttr name : names)
    exceptions[name] = {FactorKind::Whole};
  return exceptions;
}

//===----------------------------------------------------------------------===//
// Elementwise ops and values from nothing
//===----------------------------------------------------------------------===//

#define BY_NAME(OP, LINEARITY)                                                                                              \
  Factors OP::getFactors() { return byName(*this); }                                                                       \
  Linearity OP::getLinearity([[maybe_unused]] unsigned operand) { return LINEARITY; }

BY_NAME(NegOp, Linearity::Joint)
BY_NAME(AbsOp, Linearity::None)
BY_NAME(SignOp, Linearity::None)
BY_NAME(ExpOp, Linearity::None)
BY_NAME(LogOp, Linearity::None)
BY_NAME(SqrtOp, Linearity::None)
BY_NAME(RsqrtOp, Linearity::None)
BY_NAME(TanhOp, Linearity::None)
BY_NAME(ErfOp, Linearity::None)
BY_NAME(SinOp, Linearity::None)
BY_NAME(CosOp, Linearity::None)
BY_NAME(SigmoidOp, Linearity::None)
BY_NAME(FloorOp, Linearity::None)
BY_NAME(CeilOp, Linearity::None)
BY_NAME(NotOp, Linearity::None)
BY_NAME(AddOp, Linearity::Joint)
BY_NAME(SubOp, Linearity::Joint)
BY_NAME(MulOp, Linearity::Separate)
BY_NAME(DivOp, getResult().getType().getElementType().isInteger(32) || operand != 0 ? Linearity::None : Linearity::Separate)
BY_NAME(RemOp, Linearity::None)
BY_NAME(MaxOp, Linearity::None)
BY_NAME(MinOp, Linearity::None)
BY_NAME(PowOp, Linearity::None)
BY_NAME(AndOp, Linearity::None)
BY_NAME(OrOp, Linearity::None)
BY_NAME(CompareOp, Linearity::None)
BY_NAME(SelectOp, operand == 0 ? Linearity::None : Linearity::Joint)
BY_NAME(StopGradientOp, Linearity::Joint)
BY_NAME(BroadcastOp, Linearity::Joint)
BY_NAME(IndexOp, Linearity::None)
BY_NAME(RandomOp, Linearity::None)
BY_NAME(TapOp, Linearity::Joint)

Factors CastOp::getFactors() { return byName(*this); }
/// Rounding each part and then the sum is not rounding the sum, so only widening passes partial values.
Linearity CastOp::getLinearity(unsigned) {
  auto from = dyn_cast<FloatType>(getInput().getType().getElementType());
  auto to = dyn_cast<FloatType>(getResult().getType().getElementType());
  return from && to && to.getWidth() >= from.getWidth() ? Linearity::Joint : Linearity::None;
}

//===----------------------------------------------------------------------===//
// Contraction and reduction
//===----------------------------------------------------------------------===//

Factors DotOp::getFactors() { return byName(*this, all(getOver(), FactorKind::Reduced)); }
Linearity DotOp::getLinearity(unsigned) { return Linearity::Separate; }

Factors ReduceOp::getFactors() { return byName(*this, all(getOver(), FactorKind::Reduced, getKind())); }
Linearity ReduceOp::getLinearity(unsigned) { return getKind() == ReductionKind::Sum ? Linearity::Joint : Linearity::None; }

Factors LogSumExpOp::getFactors() { return byName(*this, all(getOver(), FactorKind::Expandable)); }
Linearity LogSumExpOp::getLinearity(unsigned) { return Linearity::None; }

Factors SoftmaxOp::getFactors() { return byName(*this, all(getOver(), FactorKind::Expandable)); }
Linearity SoftmaxOp::getLinearity(unsigned) { return Linearity::None; }

Factors ArgMaxOp::getFactors() { return byName(*this, whole({getOverAttr()})); }
Linearity ArgMaxOp::getLinearity(unsigned) { return Linearity::None; }

Factors TopKOp::getFactors() { return byName(*this, whole({getOverAttr(), getIntoAttr()})); }
Linearity TopKOp::getLinearity(unsigned) { return Linearity::None; }

/// Factors by name, those of `dim` being cut where neighbours can exchange `reach` elements.
static Factors alongNeighbours(Operation *op, Exceptions exceptions, StringAttr dim, int64_t reach) {
  exceptions[dim] = {FactorKind::Expandable};
  Factors factors = byName(op, exceptions);
  for (Factor &factor : factors)
    if (factor.uses.front().dim == dim) {
      factor.exact = true;
      factor.reach = reach;
    }
  return factors;
}

Factors CumSumOp::getFactors() { return alongNeighbours(*this, Exceptions(), getOverAttr(), 0); }
Linearity CumSumOp::getLinearity(unsigned) { return Linearity::Joint; }

//===----------------------------------------------------------------------===//
// Dimensions renamed, split, merged, cut
//===----------------------------------------------------------------------===//

Factors RenameOp::getFactors() {
  llvm::SmallDenseMap<StringAttr, StringAttr> renamed;
  for (auto [from, to] : llvm::zip(getFrom().getAsRange<StringAttr>(), getTo().getAsRange<StringAttr>()))
    renamed[from] = to;
  Factors factors;
  for (DimAttr dim : getInput().getType().getDims()) {
    StringAttr to = renamed.lookup(dim.getName());
    factors.push_back({FactorKind::Parallel, {{0, dim.getName()}, {1, to ? to : dim.getName()}}});
  }
  return factors;
}
Linearity RenameOp::getLinearity(unsigned) { return Linearity::Joint; }

/// Factors of split (`fine` is the result) and merge (`fine` is the operand): the outermost of the fine dims is cut as the
/// coarse one is, the others are whole.
static Factors splitFactors(NamedTensorType fineType, unsigned fine, unsigned coarse, ArrayAttr fineDims, StringAttr coarseDim) {
  Factors factors;
  for (DimAttr dim : fineType.getDims()) {
    StringAttr name = dim.getName();
    if (name == fineDims[0]) {
      factors.push_back({FactorKind::Parallel, {{fine, name}, {coarse, coarseDim}}});
      factors.back().compound = true;
    } else if (llvm::is_contained(fineDims, name)) {
      factors.push_back({FactorKind::Whole, {{fine, name}}});
    } else {
      factors.push_back({FactorKind::Parallel, {{fine, name}, {coarse, name}}});
    }
  }
  return factors;
}

Factors SplitOp::getFactors() { return splitFactors(getResult().getType(), 1, 0, getInto(), getDimAttr()); }
Linearity SplitOp::getLinearity(unsigned) { return Linearity::Joint; }

Factors MergeOp::getFactors() { return splitFactors(getInput().getType(), 0, 1, getDims(), getIntoAttr()); }
Linearity MergeOp::getLinearity(unsigned) { return Linearity::Joint; }

template <typename OpTy>
static Halo haloOfWindows(OpTy op, NamedTensorType windows) {
  int64_t low = op.getLow(), reach = (windows.dimSize(op.getWindowAttr()) - 1) * static_cast<int64_t>(op.getDilation());
  return {std::max<int64_t>(low, 0), std::max<int64_t>(reach - low + 1 - static_cast<int64_t>(op.getStride()), 0)};
}
Halo meshc::mtf::haloOf(WindowOp op) { return haloOfWindows(op, op.getResult().getType()); }
Halo meshc::mtf::haloOf(FoldOp op) { return haloOfWindows(op, op.getInput().getType()); }

#define WHOLE_DIM(OP, LINEARITY)                                                                                            \
  Factors OP::getFactors() { return byName(*this, whole({getDimAttr()})); }                                                \
  Linearity OP::getLinearity(unsigned) { return LINEARITY; }

WHOLE_DIM(SliceOp, Linearity::Joint)
WHOLE_DIM(PadOp, Linearity::None)
WHOLE_DIM(ConcatOp, Linearity::Joint)
WHOLE_DIM(StackOp, Linearity::Joint)

Factors ShiftOp::getFactors() { return alongNeighbours(*this, Exceptions(), getDimAttr(), std::abs(static_cast<int64_t>(getAmount()))); }
Linearity ShiftOp::getLinearity(unsigned) { return Linearity::Joint; }

/// Windows that lie over the dim as evenly as its parts do can be cut with it: `stride` elements for each window.
template <typename OpTy>
static Factors windowFactors(OpTy op, NamedTensorType elements, NamedTensorType windows) {
  if (elements.dimSize(op.getDimAttr()) != windows.dimSize(op.getDimAttr()) * static_cast<int64_t>(op.getStride()))
    return byName(op, whole({op.getDimAttr(), op.getWindowAttr()}));
  Halo halo = haloOf(op);
  return alongNeighbours(op, whole({op.getWindowAttr()}), op.getDimAttr(), std::max(halo.low, halo.high));
}

Factors WindowOp::getFactors() { return windowFactors(*this, getInput().getType(), getResult().getType()); }
Linearity WindowOp::getLinearity(unsigned) { return Linearity::Joint; }
Factors FoldOp::getFactors() { return windowFactors(*this, getResult().getType(), getInput().getType()); }
Linearity FoldOp::getLinearity(unsigned) { return Linearity::Joint; }

//===----------------------------------------------------------------------===//
// Indexing by values
//===----------------------------------------------------------------------===//

Factors GatherOp::getFactors() { Exceptions exceptions;
  // Indices that have the dim too permute it: the result's is not the table's.
  exceptions[getOverAttr()] = {getIndices().getType().hasDim(getOverAttr()) ? FactorKind::Whole : FactorKind::Reduced};
  return byName(*this, exceptions); }
Linearity GatherOp::getLinearity(unsigned operand) { return operand == 0 ? Linearity::Separate : Linearity::None; }

Factors ScatterAddOp::getFactors() {
  Exceptions exceptions;
  for (DimAttr dim : getUpdates().getType().getDims())
    if (!getResult().getType().hasDim(dim.getName()))
      exceptions[dim.getName()] = {FactorKind::Reduced};
  if (getUpdates().getType().hasDim(getIntoAttr()))
    exceptions[getIntoAttr()] = {FactorKind::Whole};
  return byName(*this, exceptions);
}
Linearity ScatterAddOp::getLinearity(unsigned operand) { return operand == 0 ? Linearity::Separate : Linearity::None; }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static Exceptions attendExceptions(ArrayAttr head, StringAttr mem) {
  Exceptions exceptions = all(head, FactorKind::Whole);
  exceptions[mem] = {FactorKind::Whole};
  return exceptions;
}

Factors AttendOp::getFactors() { return byName(*this, attendExceptions(getHead(), getMemAttr())); }
Linearity AttendOp::getLinearity(unsigned) { return Linearity::None; }

/// Dims that one of q, k and v lacks (queries, grouped heads, the values' own head dims) are summed in its cotangent.
Factors AttendGradOp::getFactors() {
  Exceptions exceptions = attendExceptions(getHead(), getMemAttr());
  Value inputs[] = {getQ(), getK(), getV()};
  for (Value input : inputs)
    for (DimAttr dim : tensorType(input).getDims())
      if (!exceptions.count(dim.getName()) && !llvm::all_of(inputs, [&](Value other) { return tensorType(other).hasDim(dim.getName()); }))
        exceptions[dim.getName()] = {FactorKind::Reduced};
  return byName(*this, exceptions);
}
Linearity AttendGradOp::getLinearity(unsigned) { return Linearity::None; }

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult meshc::mtf::verifyFactorShardings(FactorOpInterface op) {
  auto typeOf = [&](unsigned value) {
    unsigned operands = op->getNumOperands();
    return cast<NamedTensorType>(value < operands ? op->getOperand(value).getType() : op->getResult(value - operands).getType());
  };
  for (const Factor &factor : op.getFactors()) {
    const DimUse &first = factor.uses.front();
    DimAttr dim = typeOf(first.value).findDim(first.dim);
    if (!dim)
      return op->emitOpError() << "speaks of dimension '" << first.dim.getValue() << "', which the value lacks";
    if (factor.kind == FactorKind::Whole) {
      for (const DimUse &use : factor.uses)
        if (DimAttr other = typeOf(use.value).findDim(use.dim); other && other.isSplit())
          return op->emitOpError() << "needs dimension '" << use.dim.getValue() << "' in one piece, but it is split: " << typeOf(use.value);
      continue;
    }
    for (const DimUse &use : ArrayRef(factor.uses).drop_front()) {
      DimAttr other = typeOf(use.value).findDim(use.dim);
      if (!other)
        return op->emitOpError() << "speaks of dimension '" << use.dim.getValue() << "', which the value lacks";
      if (!factor.compound && !factor.exact && (other.getSize() != dim.getSize() || other.getPadded() != dim.getPadded()))
        return op->emitOpError() << "dimension '" << use.dim.getValue() << "' has size " << dim.getSize() << " in " << typeOf(first.value)
                                 << " and " << other.getSize() << " in " << typeOf(use.value);
      if (other.getAxes() != dim.getAxes())
        return op->emitOpError() << "dimension '" << use.dim.getValue() << "' is split differently in " << typeOf(first.value) << " and "
                                 << typeOf(use.value);
    }
    if (factor.kind != FactorKind::Reduced || !dim.isSplit())
      continue;
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      auto type = cast<NamedTensorType>(result.getType());
      if (type.hasDim(first.dim))
        continue;
      for (StringAttr axis : dim.getAxes())
        if (!llvm::is_contained(type.getPartialAxes(), axis) || type.getPartialKind() != factor.reduction)
          return op->emitOpError() << "reduces dimension '" << first.dim.getValue() << "' split over '" << axis.getValue()
                                   << "', so result " << i << " must be partial (" << stringifyReductionKind(factor.reduction)
                                   << ") over it: " << type;
    }
  }
  return success();
}
