//===- Microbatch.cpp - where in the batch a microbatch lies ---------------===//
#include "Mtf/Transforms/Microbatch.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace meshc::mtf;

namespace {
using DimOfValue = std::pair<Value, StringAttr>;

/// The dimensions of the values of a function that lie along the batch.
class BatchDims {
public:
  BatchDims(func::FuncOp function, StringAttr batch);
  bool contains(Value value, StringAttr dim) const {
    auto it = ids.find({value, dim});
    return it != ids.end() && cut.contains(classes.findLeader(it->second));
  }
  bool contains(Operation *op, const DimUse &use) const {
    unsigned operands = op->getNumOperands();
    return contains(use.value < operands ? op->getOperand(use.value) : Value(op->getResult(use.value - operands)), use.dim);
  }
  bool any(Value value) const {
    return llvm::any_of(tensorType(value).getDims(), [&](DimAttr dim) { return contains(value, dim.getName()); });
  }

private:
  unsigned idOf(Value value, StringAttr dim) {
    auto [it, isNew] = ids.try_emplace({value, dim}, ids.size());
    if (isNew)
      classes.grow(ids.size());
    return it->second;
  }
  void tie(Value a, StringAttr dimOfA, Value b, StringAttr dimOfB) { classes.join(idOf(a, dimOfA), idOf(b, dimOfB)); }
  /// Every dimension of `a` with the one of its name in `b`, if `b` has it.
  void tieByName(Value a, Value b) {
    for (DimAttr dim : tensorType(a).getDims())
      if (tensorType(b).hasDim(dim.getName()))
        tie(a, dim.getName(), b, dim.getName());
  }

  DenseMap<DimOfValue, unsigned> ids;
  llvm::IntEqClasses classes;
  DenseSet<unsigned> cut;
};
} // namespace

BatchDims::BatchDims(func::FuncOp function, StringAttr batch) {
  auto visit = [&](Value value) {
    if (auto type = dyn_cast<NamedTensorType>(value.getType()))
      for (DimAttr dim : type.getDims())
        idOf(value, dim.getName());
  };
  function.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), visit);
    llvm::for_each(op->getResults(), visit);
    auto valueOf = [&](unsigned i) {
      return i < op->getNumOperands() ? op->getOperand(i) : Value(op->getResult(i - op->getNumOperands()));
    };
    if (auto factored = dyn_cast<FactorOpInterface>(op))
      for (const Factor &factor : factored.getFactors())
        for (const DimUse &use : ArrayRef(factor.uses).drop_front())
          tie(valueOf(factor.uses[0].value), factor.uses[0].dim, valueOf(use.value), use.dim);
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      NextOp next = loop.next();
      for (unsigned i = 0; i < loop.numCarries(); ++i) {
        tieByName(loop.carryArg(i), loop.getInits()[i]);
        tieByName(loop.carryArg(i), loop.getResult(i));
        tieByName(loop.carryArg(i), next.getCarries()[i]);
      }
      for (auto [i, scanned] : llvm::enumerate(loop.getScanned()))
        tieByName(loop.sliceArg(i), scanned);
      for (auto [value, result] : llvm::zip(next.getStacked(), loop.stackedResults()))
        tieByName(value, result);
    }
  });
  for (auto &[key, id] : ids)
    if (key.second == batch)
      cut.insert(classes.findLeader(id));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static InFlightDiagnostic needsWholeBatch(Operation *op, StringAttr dim, StringAttr batch) {
  InFlightDiagnostic error = op->emitError() << "op '" << op->getName().stripDialect() << "' mixes elements along '" << dim.getValue()
                                             << "', so the batch cannot be computed in microbatches";
  if (dim != batch)
    error.attachNote() << "'" << dim.getValue() << "' is made of '" << batch.getValue() << "'";
  error.attachNote() << "set microbatches to 1, or keep examples apart";
  return error;
}

/// Of an op's factors, only those that keep parts of the batch apart or sum over them can be cut.
static LogicalResult checkFactors(FactorOpInterface op, const BatchDims &dims, StringAttr batch) {
  for (const Factor &factor : op.getFactors()) {
    auto use = llvm::find_if(factor.uses, [&](const DimUse &use) { return dims.contains(op, use); });
    if (use == factor.uses.end())
      continue;
    bool sums = factor.kind == FactorKind::Reduced && factor.reduction == ReductionKind::Sum;
    // Indices count from the start of the batch.
    bool indexed = (isa<GatherOp>(op) && cast<GatherOp>(op).getOverAttr() == use->dim) ||
                   (isa<ScatterAddOp>(op) && cast<ScatterAddOp>(op).getIntoAttr() == use->dim);
    if (indexed || (factor.kind != FactorKind::Parallel && !sums))
      return needsWholeBatch(op, use->dim, batch);
  }
  return success();
}

/// The first index of microbatch `part` along a dimension of which each holds `size`.
static Value offsetOf(OpBuilder &builder, Location loc, Value part, int64_t size) {
  Value length = ConstantOp::create(builder, loc, static_cast<double>(size), builder.getI32Type());
  return MulOp::create(builder, loc, part, length);
}

static void addOffset(IndexOp op, Value part) {
  OpBuilder builder(op);
  Value offset = offsetOf(builder, op.getLoc(), part, op.getResult().getType().dimSize(op.getDimAttr()));
  if (Value old = op.getOffset())
    offset = AddOp::create(builder, op.getLoc(), old, offset);
  op.getOffsetMutable().assign(offset);
}

static void addOffset(RandomOp op, StringAttr dim, Value part) {
  OpBuilder builder(op);
  Value offset = offsetOf(builder, op.getLoc(), part, op.getResult().getType().dimSize(dim));
  SmallVector<Attribute> names(op.getOffsetDims().begin(), op.getOffsetDims().end());
  if (auto it = llvm::find(names, dim); it != names.end()) {
    OpOperand &old = op.getOffsetsMutable()[it - names.begin()];
    old.set(AddOp::create(builder, op.getLoc(), old.get(), offset));
    return;
  }
  names.push_back(dim);
  op.setOffsetDimsAttr(builder.getArrayAttr(names));
  op.getOffsetsMutable().append(offset);
}

LogicalResult meshc::mtf::numberMicrobatch(func::FuncOp function, StringAttr batch) {
  BatchDims dims(function, batch);
  for (BlockArgument argument : function.getArguments())
    if (auto symbol = function.getArgAttrOfType<SymbolRefAttr>(argument.getArgNumber(), kParam); symbol && dims.any(argument))
      return emitError(argument.getLoc()) << "parameter '" << symbol.getLeafReference().getValue() << "' has a value per element of '"
                                          << batch.getValue() << "', so the batch cannot be computed in microbatches";

  SmallVector<std::pair<Operation *, StringAttr>> positions;
  WalkResult walked = function.walk([&](Operation *op) -> WalkResult {
    if (auto factored = dyn_cast<FactorOpInterface>(op); factored && failed(checkFactors(factored, dims, batch)))
      return WalkResult::interrupt();
    if (auto loop = dyn_cast<RepeatOp>(op); loop && loop.getDimAttr() == batch)
      return loop.emitError() << "a loop over '" << batch.getValue() << "' cannot be computed in microbatches";
    if (isa<IndexOp, RandomOp>(op))
      for (DimAttr dim : tensorType(op->getResult(0)).getDims())
        if (dims.contains(op->getResult(0), dim.getName()))
          positions.push_back({op, dim.getName()});
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();

  Block &body = function.getBody().front();
  Value part = body.addArgument(NamedTensorType::get({}, IntegerType::get(function.getContext(), 32)), function.getLoc());
  function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(), function.getResultTypes()));
  for (auto [op, dim] : positions) {
    if (auto index = dyn_cast<IndexOp>(op))
      addOffset(index, part);
    else
      addOffset(cast<RandomOp>(op), dim, part);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Linearity
//===----------------------------------------------------------------------===//

namespace {
/// What one microbatch has of a value that does not lie along the batch: all of it, a summand, or nothing but zeros, which are both.
enum class Share { Same, Summand, Zero };

class SumOverBatch {
public:
  SumOverBatch(func::FuncOp function, StringAttr batch) : dims(function, batch), batch(batch) {}
  LogicalResult visit(Block &block);
  Share of(Value value) const {
    auto it = shares.find(value);
    return it == shares.end() ? Share::Same : it->second;
  }
  bool isCut(Value value) const { return dims.any(value); }

private:
  LogicalResult visit(FactorOpInterface op);
  LogicalResult visit(RepeatOp loop);
  LogicalResult notLinear(Operation *op, Value operand);

  BatchDims dims;
  StringAttr batch;
  DenseMap<Value, Share> shares;
};
} // namespace

LogicalResult SumOverBatch::notLinear(Operation *op, Value operand) {
  InFlightDiagnostic error = op->emitError() << "op '" << op->getName().stripDialect() << "' is not linear in a sum over '"
                                             << batch.getValue() << "', so the batch cannot be computed in microbatches";
  error.attachNote(operand.getLoc()) << "this sum over '" << batch.getValue() << "' would have to be complete";
  error.attachNote() << "set microbatches to 1, or make the loss a sum over '" << batch.getValue() << "' of each element's own loss";
  return error;
}

LogicalResult SumOverBatch::visit(FactorOpInterface op) {
  bool sums = llvm::any_of(op.getFactors(), [&](const Factor &factor) {
    return factor.kind == FactorKind::Reduced && llvm::any_of(factor.uses, [&](const DimUse &use) { return dims.contains(op, use); });
  });
  unsigned numSummands = llvm::count_if(op->getOperands(), [&](Value operand) { return of(operand) == Share::Summand; });
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (of(operand) != Share::Summand)
      continue;
    Linearity linearity = op.getLinearity(i);
    bool othersAreZero = llvm::all_of(op->getOperands(), [&](Value other) {
      bool isCondition = isa<SelectOp>(op) && other == op->getOperand(0);
      return isCondition ? !isCut(other) : of(other) != Share::Same;
    });
    bool othersAreSame = numSummands == 1 && llvm::none_of(op->getOperands(), [&](Value other) { return isCut(other); });
    if (sums || linearity == Linearity::None || (linearity == Linearity::Joint ? !othersAreZero : !othersAreSame))
      return notLinear(op, operand);
  }
  bool isZero = false;
  if (isa<BroadcastOp, CastOp, NegOp, RenameOp, TapOp>(op))
    isZero = of(op->getOperand(0)) == Share::Zero;
  for (Value result : op->getResults()) {
    if (sums || numSummands > 0)
      shares[result] = Share::Summand;
    else if (isZero)
      shares[result] = Share::Zero;
  }
  return success();
}

/// Zero is below both other shares; carries only go up, so this ends.
LogicalResult SumOverBatch::visit(RepeatOp loop) {
  for (unsigned i = 0; i < loop.numCarries(); ++i)
    shares[loop.carryArg(i)] = of(loop.getInits()[i]);
  for (auto [i, scanned] : llvm::enumerate(loop.getScanned()))
    shares[loop.sliceArg(i)] = of(scanned);
  NextOp next = loop.next();
  for (bool changed = true; changed;) {
    if (failed(visit(*loop.bodyBlock())))
      return failure();
    changed = false;
    for (unsigned i = 0; i < loop.numCarries(); ++i) {
      Share before = of(loop.carryArg(i)), after = of(next.getCarries()[i]);
      if (isCut(loop.carryArg(i)) || after == before || after == Share::Zero)
        continue;
      if (before != Share::Zero)
        return notLinear(loop, before == Share::Summand ? loop.getInits()[i] : next.getCarries()[i]);
      shares[loop.carryArg(i)] = after;
      changed = true;
    }
  }
  for (unsigned i = 0; i < loop.numCarries(); ++i)
    shares[loop.getResult(i)] = of(loop.carryArg(i));
  for (auto [value, result] : llvm::zip(next.getStacked(), loop.stackedResults()))
    shares[result] = of(value);
  return success();
}

LogicalResult SumOverBatch::visit(Block &block) {
  for (Operation &op : block) {
    if (auto constant = dyn_cast<ConstantOp>(op); constant && constant.asDouble() == 0)
      shares[constant.getResult()] = Share::Zero;
    if (auto loop = dyn_cast<RepeatOp>(op); loop && failed(visit(loop)))
      return failure();
    if (auto factored = dyn_cast<FactorOpInterface>(op); factored && failed(visit(factored)))
      return failure();
  }
  return success();
}

LogicalResult meshc::mtf::verifySumOverBatch(func::FuncOp function, StringAttr batch, bool countsItself) {
  SumOverBatch analysis(function, batch);
  Block &body = function.getBody().front();
  if (failed(analysis.visit(body)))
    return failure();
  for (Value result : body.getTerminator()->getOperands())
    if (!countsItself && analysis.of(result) == Share::Same && !analysis.isCut(result))
      return emitError(result.getLoc()) << "the loss does not depend on '" << batch.getValue()
                                        << "', so the sum over microbatches would count it once for each of them";
  return success();
}
