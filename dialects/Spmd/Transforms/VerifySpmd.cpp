//===- VerifySpmd.cpp - the laws of a partitioned program ------------------===//
//
// Types say what each value is per mesh axis; the ops' own verifiers check that operands and results agree dimension by
// dimension, and the collectives' that each does exactly what its types say. What remains is the flow of partial values:
//
//   %dw = mtf.dot %x, %dy over ["batch"] : ... -> !mtf.tensor<[in=4, out=4], f32, partial(sum: data)>
//   %s  = mtf.sqrt %dw                   // error: takes operand 0 partial over 'data', but is not linear in it
//
// As a partial value can only be consumed by a linear op or by a reducing collective, and a reducing collective only takes a
// partial value, each sum over ranks happens exactly once: a dropped reduction leaves a partial value where none may be, a
// doubled one lacks a partial operand.
//
//===----------------------------------------------------------------------===//
#include "Spmd/Transforms/Passes.h"
#include "Checks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::spmd {
#define GEN_PASS_DEF_VERIFYSPMD
#include "Spmd/Transforms/Passes.h.inc"
} // namespace meshc::spmd

using namespace mlir;
using namespace meshc;
using mtf::DimAttr;
using mtf::Factor;
using mtf::FactorKind;
using mtf::FactorOpInterface;
using mtf::Linearity;
using mtf::MeshAttr;
using mtf::NamedTensorType;
using mtf::ReductionKind;

static NamedTensorType valueType(Operation *op, unsigned value) {
  unsigned operands = op->getNumOperands();
  return mtf::tensorType(value < operands ? op->getOperand(value) : Value(op->getResult(value - operands)));
}

static LogicalResult verifyAxes(Operation *op, Type type, MeshAttr mesh) {
  auto tensor = dyn_cast<NamedTensorType>(type);
  if (!tensor)
    return success();
  SmallVector<StringAttr> axes = tensor.splitAxes();
  llvm::append_range(axes, tensor.getPartialAxes());
  for (StringAttr axis : axes)
    if (mesh.axisSize(axis) < 2)
      return op->emitError() << "type " << tensor << " uses mesh axis '" << axis.getValue() << "', which "
                             << (mesh.hasAxis(axis) ? "has size 1" : "the mesh lacks");
  for (DimAttr dim : tensor.getDims())
    if (int64_t shards = mesh.shardCount(dim.getAxes()); dim.getPadded() % shards != 0)
      return op->emitError() << "dimension '" << dim.getName().getValue() << "' of padded size " << dim.getPadded()
                             << " is split into " << shards << " parts that are not equal: " << tensor;
  return success();
}

/// Whole and expandable dimensions are in one piece.
static LogicalResult verifyFactors(FactorOpInterface op) {
  for (const Factor &factor : op.getFactors()) {
    if (factor.kind != FactorKind::Whole && factor.kind != FactorKind::Expandable)
      continue;
    for (const mtf::DimUse &use : factor.uses)
      if (DimAttr dim = valueType(op, use.value).findDim(use.dim); dim && dim.isSplit())
        return op->emitError() << "needs dimension '" << use.dim.getValue() << "' in one piece, but it is split: "
                               << valueType(op, use.value);
  }
  return success();
}

/// Partial axes that a result owes to the split dimensions that the op reduces away from it.
static SmallVector<StringAttr> reducedAxes(FactorOpInterface op, NamedTensorType result) {
  SmallVector<StringAttr> axes;
  for (const Factor &factor : op.getFactors()) {
    const mtf::DimUse &use = factor.uses.front();
    if (factor.kind == FactorKind::Reduced && !result.hasDim(use.dim))
      llvm::append_range(axes, valueType(op, use.value).findDim(use.dim).getAxes());
  }
  return axes;
}

/// Operand `i` is partial over `axis`; the op must be linear in it, and the other operands must fit.
static LogicalResult verifyPartialOperand(FactorOpInterface op, unsigned i, StringAttr axis) {
  NamedTensorType type = valueType(op, i);
  Linearity linearity = op.getLinearity(i);
  if (linearity == Linearity::None)
    return op->emitError() << "takes operand " << i << " partial over '" << axis.getValue() << "', but is not linear in it: " << type;
  if (type.getPartialKind() != ReductionKind::Sum)
    return op->emitError() << "takes operand " << i << " partial (" << stringifyReductionKind(type.getPartialKind())
                           << "), but only sums pass through an op: " << type;
  for (unsigned j = 0; j < op->getNumOperands(); ++j) {
    if (j == i)
      continue;
    NamedTensorType other = valueType(op, j);
    bool otherPartial = llvm::is_contained(other.getPartialAxes(), axis);
    if (linearity == Linearity::Joint && op.getLinearity(j) == Linearity::Joint && !otherPartial)
      return op->emitError() << "adds operand " << i << ", partial over '" << axis.getValue() << "', and operand " << j
                             << ", which is not and would be counted once per rank: " << other;
    if (linearity == Linearity::Separate && otherPartial)
      return op->emitError() << "multiplies operands " << std::min(i, j) << " and " << std::max(i, j)
                             << ", both partial over '" << axis.getValue() << "': " << type << " and " << other;
    if (llvm::is_contained(other.splitAxes(), axis))
      return op->emitError() << "takes operand " << i << " partial over '" << axis.getValue() << "' and operand " << j
                             << " split over it: " << other;
  }
  return success();
}

static LogicalResult verifyPartialFlow(FactorOpInterface op) {
  llvm::SmallDenseSet<StringAttr> passed;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    for (StringAttr axis : mtf::tensorType(operand).getPartialAxes()) {
      if (failed(verifyPartialOperand(op, i, axis)))
        return failure();
      passed.insert(axis);
    }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    NamedTensorType type = mtf::tensorType(result);
    llvm::SmallDenseSet<StringAttr> owed(passed.begin(), passed.end());
    for (StringAttr axis : reducedAxes(op, type))
      owed.insert(axis);
    for (StringAttr axis : owed)
      if (!llvm::is_contained(type.getPartialAxes(), axis))
        return op->emitError() << "result " << i << " must be partial over '" << axis.getValue() << "': " << type;
    for (StringAttr axis : type.getPartialAxes())
      if (!owed.count(axis))
        return op->emitError() << "result " << i << " is partial over '" << axis.getValue() << "', but no operand is and no dimension split over it is reduced: "
                               << type;
  }
  return success();
}

static LogicalResult verifyReturn(func::ReturnOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    auto type = dyn_cast<NamedTensorType>(operand.getType());
    if (!type)
      continue;
    if (type.isPartial())
      return op->emitError() << "result " << i << " of '" << function.getName() << "' is partial over '"
                             << type.getPartialAxes().front().getValue() << "': a reduction is missing: " << type;
    for (StringRef key : {StringRef(mtf::kParam), StringRef(mtf::kState)}) {
      Attribute name = function.getResultAttr(i, key);
      if (!name)
        continue;
      for (unsigned j = 0; j < function.getNumArguments(); ++j)
        if (function.getArgAttr(j, key) == name && function.getArgument(j).getType() != type)
          return op->emitError() << "takes " << name << " as " << function.getArgument(j).getType() << " and gives it back as " << type;
    }
  }
  return success();
}

static LogicalResult verifyOp(Operation *op, MeshAttr mesh) {
  for (Type type : op->getResultTypes())
    if (failed(verifyAxes(op, type, mesh)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (failed(verifyAxes(op, type, mesh)))
          return failure();
  if (isa<mtf::ReshardOp>(op))
    return op->emitError() << "is left after partitioning";
  if (auto constant = dyn_cast<mtf::ConstantOp>(op)) {
    NamedTensorType type = constant.getResult().getType();
    if (type.isPartial() && (type.getPartialKind() != ReductionKind::Sum || constant.asDouble() != 0))
      return op->emitError() << "is partial over '" << type.getPartialAxes().front().getValue()
                             << "' but not zero: every rank would contribute it: " << type;
    return success();
  }
  if (auto factors = dyn_cast<FactorOpInterface>(op))
    return success(succeeded(verifyFactors(factors)) && succeeded(verifyPartialFlow(factors)));
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return verifyReturn(ret);
  if (op->getNumRegions() > 0 && !isa<mtf::RepeatOp, func::FuncOp>(op) && op->getParentOfType<func::FuncOp>())
    return op->emitError() << "is control flow other than 'mtf.repeat': ranks might issue different collectives";
  return success();
}

namespace {
struct VerifySpmdPass : spmd::impl::VerifySpmdBase<VerifySpmdPass> {
  void runOnOperation() override {
    MeshAttr mesh = MeshAttr::of(getOperation());
    bool sound = true;
    // All violations are reported, not the first only.
    getOperation().walk([&](func::FuncOp function) {
      function.walk([&](Operation *op) { sound &= succeeded(verifyOp(op, mesh)); });
      if (!function.isExternal() && sound)
        sound = succeeded(spmd::verifyPadding(function)) && succeeded(spmd::verifyMeaning(function));
    });
    sound = sound && succeeded(spmd::verifyVersions(getOperation()));
    if (!sound)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
