//===- Differentiate.cpp - reverse-mode differentiation --------------------===//
//
// Makes @loss_grad from @loss: the same computation, then the cotangent of every value from the last to the first.
//
//   func @loss(%w {mtf.param = @w}, %x {mtf.data = "x"}) -> %numerator, %metrics...
//   func @loss_grad(%w, %x, %cotangent {mtf.input = "cotangent"}) -> %numerator, %metrics..., %d_w {mtf.param = @w}
//
// A loop becomes two: the forward one stacks the residuals (Residuals.h), the backward one runs in the other direction.
//
//   %h = repeat "layers" carries(%x0) slices(%w) {(%i, %x, %wi): %y = f(%x, %wi); next carries(%y)}
//   =>
//   %h, %xs = repeat "layers" carries(%x0) slices(%w) {(%i, %x, %wi): %y = f(%x, %wi); next carries(%y) stacks(%x)}
//   %dx0, %dw = repeat "layers" reverse carries(%dh) slices(%w, %xs) {(%i, %dy, %wi, %x): next carries(df/dx dy) stacks(df/dw dy)}
//
// Cotangents of the loop's carries, and of values it captures, are carries of the backward loop; those of its slices are stacked.
// A cotangent that is zero has no value at all for as long as possible.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/MtfGradients.h"
#include "Mtf/Transforms/Passes.h"
#include "Mtf/Transforms/Residuals.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

//===----------------------------------------------------------------------===//
// Which values depend on a parameter
//===----------------------------------------------------------------------===//

static bool isFloat(Value value) {
  auto type = dyn_cast<NamedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

static void findVarying(Block &block, DenseSet<Value> &varying);

/// A carry varies if it starts so or becomes so; what it reaches is visited again until nothing is added.
static void findVarying(RepeatOp loop, DenseSet<Value> &varying) {
  for (unsigned i = 0; i < loop.numCarries(); ++i)
    if (varying.contains(loop.getInits()[i]))
      varying.insert(loop.carryArg(i));
  for (auto [i, scanned] : llvm::enumerate(loop.getScanned()))
    if (varying.contains(scanned))
      varying.insert(loop.sliceArg(i));
  NextOp next = loop.next();
  for (bool changed = true; changed;) {
    findVarying(*loop.bodyBlock(), varying);
    changed = false;
    for (unsigned i = 0; i < loop.numCarries(); ++i)
      if (varying.contains(next.getCarries()[i]))
        changed |= varying.insert(loop.carryArg(i)).second;
  }
  for (auto [i, result] : llvm::enumerate(loop.carryResults()))
    if (varying.contains(loop.carryArg(i)))
      varying.insert(result);
  for (auto [i, result] : llvm::enumerate(loop.stackedResults()))
    if (varying.contains(next.getStacked()[i]))
      varying.insert(result);
}

static void findVarying(Block &block, DenseSet<Value> &varying) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      findVarying(loop, varying);
      continue;
    }
    if (isa<StopGradientOp, SignOp, FloorOp, CeilOp>(op))
      continue;
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return varying.contains(operand); }))
      for (Value result : op.getResults())
        if (isFloat(result))
          varying.insert(result);
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// The user's name of a value, from its location; empty if it has none.
static StringRef nameOf(Value value) {
  auto loc = dyn_cast<NameLoc>(value.getLoc());
  return loc ? loc.getName().getValue() : StringRef();
}

static Location withoutName(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getChildLoc() : loc;
}

/// Where the cotangent of `value` is computed: called d_x after x.
static Location cotangentLoc(Value value) {
  Location loc = withoutName(value.getLoc());
  StringRef name = nameOf(value);
  return name.empty() ? loc : NameLoc::get(StringAttr::get(value.getContext(), "d_" + name), loc);
}

namespace {
/// Cotangents found so far. Absent means zero.
class Cotangents {
public:
  Value lookup(Value value) const { return map.lookup(value); }
  void add(OpBuilder &builder, Value value, Value cotangent) {
    Value &sum = map[value];
    sum = sum ? Value(AddOp::create(builder, cotangentLoc(value), sum, cotangent)) : cotangent;
  }
  Value take(Value value) {
    Value cotangent = lookup(value);
    map.erase(value);
    return cotangent;
  }

private:
  DenseMap<Value, Value> map;
};

class Backpropagation {
public:
  Backpropagation(const DenseSet<Value> &varying, double flopsPerByte) : varying(varying), flopsPerByte(flopsPerByte) {}

  /// Builds at `builder` the cotangents of everything that `ops` (in program order) use, from those of their results.
  LogicalResult run(ArrayRef<Operation *> ops, OpBuilder &builder, Cotangents &cotangents);

private:
  LogicalResult visit(Operation *op, ArrayRef<Value> resultCotangents, OpBuilder &builder, Cotangents &cotangents);
  LogicalResult visit(RepeatOp loop, ArrayRef<Value> resultCotangents, OpBuilder &builder, Cotangents &cotangents);
  SmallVector<unsigned> activeCarries(RepeatOp loop, ArrayRef<Value> resultCotangents);

  const DenseSet<Value> &varying;
  const double flopsPerByte; ///< Residuals.h
};
} // namespace

static SmallVector<Operation *> opsOf(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  return ops;
}

LogicalResult Backpropagation::run(ArrayRef<Operation *> ops, OpBuilder &builder, Cotangents &cotangents) {
  for (Operation *op : llvm::reverse(ops)) {
    SmallVector<Value> resultCotangents;
    for (Value result : op->getResults())
      resultCotangents.push_back(cotangents.take(result));
    if (llvm::none_of(resultCotangents, [](Value value) { return static_cast<bool>(value); }))
      continue;
    auto loop = dyn_cast<RepeatOp>(op);
    if (failed(loop ? visit(loop, resultCotangents, builder, cotangents) : visit(op, resultCotangents, builder, cotangents)))
      return failure();
  }
  return success();
}

LogicalResult Backpropagation::visit(Operation *op, ArrayRef<Value> resultCotangents, OpBuilder &builder, Cotangents &cotangents) {
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(varying.contains(operand));
  if (!llvm::is_contained(needed, true))
    return success();
  auto differentiable = dyn_cast<GradientOpInterface>(op);
  if (!differentiable) {
    InFlightDiagnostic error = op->emitError() << "op '" << op->getName().stripDialect() << "' has no derivative";
    error.attachNote() << "it lies between a parameter and the loss; stop_gradient around its operand takes it off that path";
    return error;
  }
  SmallVector<Value> grads(op->getNumOperands());
  Operation *before = builder.getInsertionPoint() == builder.getBlock()->begin() ? nullptr : &*std::prev(builder.getInsertionPoint());
  if (failed(differentiable.buildGradient(builder, resultCotangents, needed, grads)))
    return failure();
  // The new ops carry the forward op's location, and with it the name of its result, which is not theirs.
  // A type that the user pinned holds for the derivative, too.
  Attribute pinned = op->getAttr(kPinnedType);
  for (auto it = before ? std::next(before->getIterator()) : builder.getBlock()->begin(); it != builder.getInsertionPoint(); ++it) {
    it->setLoc(withoutName(it->getLoc()));
    if (pinned)
      it->setAttr(kPinnedType, pinned);
  }
  for (auto [operand, isNeeded, grad] : llvm::zip(op->getOperands(), needed, grads)) {
    if (!isNeeded || !grad)
      continue;
    if (Operation *definition = grad.getDefiningOp(); definition && definition->getLoc() == withoutName(op->getLoc()) &&
                                                      definition->getNumResults() == 1)
      definition->setLoc(cotangentLoc(operand));
    cotangents.add(builder, operand, grad);
  }
  return success();
}

/// The carries that vary and from which the loss is reached, through this iteration or later ones.
SmallVector<unsigned> Backpropagation::activeCarries(RepeatOp loop, ArrayRef<Value> resultCotangents) {
  NextOp next = loop.next();
  DenseSet<Value> useful;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (resultCotangents[i])
      useful.insert(next->getOperand(i));
  SmallVector<Operation *> ops = opsOf(*loop.bodyBlock());
  for (bool changed = true; changed;) {
    for (Operation *op : llvm::reverse(ops)) {
      if (llvm::none_of(op->getResults(), [&](Value result) { return useful.contains(result); }))
        continue;
      useful.insert(op->operand_begin(), op->operand_end());
      for (Region &region : op->getRegions())
        visitUsedValuesDefinedAbove(region, [&](OpOperand *use) { useful.insert(use->get()); });
    }
    changed = false;
    for (unsigned i = 0; i < loop.numCarries(); ++i)
      if (useful.contains(loop.carryArg(i)))
        changed |= useful.insert(next.getCarries()[i]).second;
  }
  SmallVector<unsigned> active;
  for (unsigned i = 0; i < loop.numCarries(); ++i)
    if (varying.contains(loop.carryArg(i)) && (resultCotangents[i] || useful.contains(loop.carryArg(i))))
      active.push_back(i);
  return active;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// `loop` with `values` of its body stacked as further results, which are returned. `loop` is replaced.
static ResultRange stackAlso(RepeatOp &loop, ArrayRef<Value> values) {
  SmallVector<Type> types(TypeRange(loop.stackedResults()));
  for (Value value : values)
    types.push_back(tensorType(value).with(DimAttr::get(loop.getDimAttr(), loop.getCount())));
  OpBuilder builder(loop);
  auto extended = RepeatOp::create(builder, loop.getLoc(), loop.getDimAttr(), loop.getCount(), loop.getInits(), loop.getScanned(), types,
                                   loop.getReverse());
  extended->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  extended.getBody().takeBody(loop.getBody());
  extended.next().getStackedMutable().append(values);
  unsigned old = loop.getNumResults();
  loop->replaceAllUsesWith(extended.getResults().take_front(old));
  loop.erase();
  loop = extended;
  return extended.getResults().drop_front(old);
}

namespace {
/// A loop being put together: its body exists before its operands and results are known.
struct LoopBuilder {
  LoopBuilder(RepeatOp like) : like(like) {
    body.emplaceBlock().addArgument(like.indexArg().getType(), like.indexArg().getLoc());
  }
  Block &block() { return body.front(); }
  Value addCarry(Value init, Location loc) {
    inits.push_back(init);
    return block().insertArgument(inits.size(), init.getType(), loc);
  }
  /// After the last carry.
  Value addSlice(Value stacked, Location loc) {
    scanned.push_back(stacked);
    return block().addArgument(tensorType(stacked).without({like.getDimAttr()}), loc);
  }
  void dropCarry(unsigned i) {
    inits.erase(inits.begin() + i);
    block().eraseArgument(1 + i);
  }
  RepeatOp create(OpBuilder &builder, ArrayRef<Value> carries, ArrayRef<Value> stacked) {
    SmallVector<Type> types;
    for (Value value : stacked)
      types.push_back(tensorType(value).with(DimAttr::get(like.getDimAttr(), like.getCount())));
    auto loop = RepeatOp::create(builder, withoutName(like.getLoc()), like.getDimAttr(), like.getCount(), inits, scanned, types,
                                 !like.getReverse());
    loop.getBody().takeBody(body);
    OpBuilder end = OpBuilder::atBlockEnd(loop.bodyBlock());
    NextOp::create(end, withoutName(like.getLoc()), carries, stacked);
    return loop;
  }

  RepeatOp like;
  Region body;
  SmallVector<Value> inits, scanned;
};
} // namespace

/// Values of `forward` that the backward body uses.
static llvm::SetVector<Value> usedFrom(Block &forward, Block &backward) {
  llvm::SetVector<Value> used;
  backward.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == &forward)
        used.insert(operand);
  });
  return used;
}

/// Why an op that is not free is computed again.
static std::string reasonFor(Operation *op) {
  int64_t bytes = 0;
  for (Value result : op->getResults())
    bytes += bytesOf(result);
  return (Twine(bytes) + " bytes less per iteration for " + Twine(static_cast<int64_t>(recomputeWork(op))) + " operations more").str();
}

/// Copies the ops that `wanted` need into `backward`, each before its first use, and completes `mapping`.
static void recompute(Block &forward, Block &backward, const llvm::SetVector<Value> &wanted, IRMapping &mapping) {
  DenseSet<Operation *> ops;
  SmallVector<Value> worklist(wanted.begin(), wanted.end());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (value.getParentBlock() == &forward && !mapping.contains(value) && ops.insert(op).second)
      worklist.append(op->operand_begin(), op->operand_end());
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&backward);
  SmallVector<Operation *> clones;
  for (Operation &op : forward) {
    if (!ops.contains(&op))
      continue;
    // A second tap of one name would be another value to `verify`.
    if (auto tap = dyn_cast<TapOp>(op)) {
      mapping.map(tap.getResult(), mapping.lookupOrDefault(tap.getInput()));
      continue;
    }
    clones.push_back(builder.clone(op, mapping));
    if (recomputeWork(&op) > 0)
      clones.back()->setAttr(kRecomputed, builder.getStringAttr(reasonFor(&op)));
  }
  for (Value value : wanted)
    value.replaceUsesWithIf(mapping.lookup(value), [&](OpOperand &use) {
      return backward.findAncestorOpInBlock(*use.getOwner()) != nullptr;
    });
  for (Operation *clone : llvm::reverse(clones)) {
    Operation *first = nullptr;
    for (Operation *user : clone->getUsers())
      if (Operation *ancestor = backward.findAncestorOpInBlock(*user); !first || ancestor->isBeforeInBlock(first))
        first = ancestor;
    if (first)
      clone->moveBefore(first);
  }
}

LogicalResult Backpropagation::visit(RepeatOp loop, ArrayRef<Value> resultCotangents, OpBuilder &builder, Cotangents &cotangents) {
  if (llvm::none_of(llvm::zip(loop.getResults(), resultCotangents),
                    [&](auto pair) { return std::get<1>(pair) && varying.contains(std::get<0>(pair)); }))
    return success();
  NextOp next = loop.next();
  LoopBuilder backward(loop);
  Cotangents inner;
  OpBuilder inside(loop.getContext());
  inside.setInsertionPointToEnd(&backward.block());
  auto zero = [](OpBuilder &at, Value like) { return filled(at, withoutName(like.getLoc()), 0, tensorType(like)); };

  // Carries: the cotangents of the active carries, then one sum for every varying value from around the loop.
  SmallVector<unsigned> active = activeCarries(loop, resultCotangents);
  for (unsigned i : active) {
    Value init = resultCotangents[i] ? resultCotangents[i] : zero(builder, loop.getInits()[i]);
    inner.add(inside, next.getCarries()[i], backward.addCarry(init, cotangentLoc(loop.carryArg(i))));
  }
  llvm::SetVector<Value> captured;
  visitUsedValuesDefinedAbove(loop.getBody(), [&](OpOperand *use) {
    if (varying.contains(use->get()))
      captured.insert(use->get());
  });
  SmallVector<Value> sums;
  for (Value value : captured)
    sums.push_back(backward.addCarry(zero(builder, value), cotangentLoc(value)));
  for (unsigned i = 0; i < loop.numStacked(); ++i)
    if (Value cotangent = resultCotangents[loop.numCarries() + i])
      inner.add(inside, next.getStacked()[i], backward.addSlice(cotangent, cotangentLoc(next.getStacked()[i])));

  if (failed(run(opsOf(*loop.bodyBlock()), inside, inner)))
    return failure();

  SmallVector<Value> carries, stacked, stackedOf;
  for (unsigned i : active) {
    Value cotangent = inner.lookup(loop.carryArg(i));
    carries.push_back(cotangent ? cotangent : zero(inside, loop.carryArg(i)));
  }
  SmallVector<Value> summed;
  for (auto [value, sum] : llvm::zip(captured, sums)) {
    if (Value cotangent = inner.lookup(value)) {
      carries.push_back(AddOp::create(inside, cotangentLoc(value), sum, cotangent));
      summed.push_back(value);
    } else {
      backward.dropCarry(active.size() + summed.size());
    }
  }
  for (unsigned i = 0; i < loop.getScanned().size(); ++i)
    if (Value cotangent = inner.lookup(loop.sliceArg(i)); cotangent && varying.contains(loop.sliceArg(i))) {
      stacked.push_back(cotangent);
      stackedOf.push_back(loop.getScanned()[i]);
    }
  // The terminator must exist for its operands to count as uses of forward values.
  RepeatOp loopBack = backward.create(builder, carries, stacked);
  Block &forwardBody = *loop.bodyBlock(), &backwardBody = *loopBack.bodyBlock();

  // What the backward body takes from the forward one: its index and slices as they are, the rest kept or recomputed.
  IRMapping mapping;
  mapping.map(loop.indexArg(), loopBack.indexArg());
  auto addSlice = [&](Value value, Value stackedValue) {
    loopBack.getScannedMutable().append(stackedValue);
    mapping.map(value, backwardBody.addArgument(tensorType(stackedValue).without({loop.getDimAttr()}), value.getLoc()));
  };
  DenseSet<Value> free = {loop.indexArg()};
  for (unsigned i = 0; i < loop.getScanned().size(); ++i)
    free.insert(loop.sliceArg(i));
  llvm::SetVector<Value> wanted = usedFrom(forwardBody, backwardBody), computed;
  for (Value value : wanted)
    if (!free.contains(value))
      computed.insert(value);
  llvm::SetVector<Value> kept = chooseResiduals(forwardBody, computed, free, flopsPerByte);
  // Slices are needed directly, or to recompute something.
  llvm::SetVector<Value> reached = wanted;
  for (size_t i = 0; i < reached.size(); ++i)
    if (Operation *op = reached[i].getDefiningOp(); op && !kept.contains(reached[i]))
      for (Value operand : op->getOperands())
        if (operand.getParentBlock() == &forwardBody)
          reached.insert(operand);
  for (unsigned i = 0; i < loop.getScanned().size(); ++i)
    if (reached.contains(loop.sliceArg(i)))
      addSlice(loop.sliceArg(i), loop.getScanned()[i]);
  // A value that has the loop's dim itself is stacked under another name.
  StringAttr spare = builder.getStringAttr(loop.getDim() + "'");
  SmallVector<Value> toStack;
  for (Value value : kept) {
    OpBuilder atNext(loop.next());
    bool clashes = tensorType(value).hasDim(loop.getDimAttr());
    toStack.push_back(clashes ? RenameOp::create(atNext, value.getLoc(), value, ArrayRef(loop.getDimAttr()), ArrayRef(spare)) : value);
  }
  if (!kept.empty()) {
    ResultRange residuals = stackAlso(loop, toStack);
    OpBuilder atStart = OpBuilder::atBlockBegin(&backwardBody);
    for (auto [value, stacked, residual] : llvm::zip(kept, toStack, residuals)) {
      addSlice(value, residual);
      if (stacked != value)
        mapping.map(value, RenameOp::create(atStart, value.getLoc(), mapping.lookup(value), ArrayRef(spare), ArrayRef(loop.getDimAttr())).getResult());
    }
  }
  recompute(forwardBody, backwardBody, wanted, mapping);

  // Cotangents for those around the loop.
  unsigned result = 0;
  for (unsigned i : active) {
    if (varying.contains(loop.getInits()[i]))
      cotangents.add(builder, loop.getInits()[i], loopBack.getResult(result));
    ++result;
  }
  for (Value value : summed)
    cotangents.add(builder, value, loopBack.getResult(result++));
  for (Value value : stackedOf)
    cotangents.add(builder, value, loopBack.getResult(result++));
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// - the first result is a float scalar
static LogicalResult checkLoss(func::FuncOp loss) {
  if (loss.isExternal() || !loss.getBody().hasOneBlock())
    return loss.emitError() << "function '" << loss.getName() << "' must have a body of one block to be differentiated";
  auto type = loss.getNumResults() ? dyn_cast<NamedTensorType>(loss.getResultTypes()[0]) : NamedTensorType();
  if (!type || !type.isScalar() || !isa<FloatType>(type.getElementType()))
    return loss.emitError() << "the first result of '" << loss.getName() << "' must be a scalar of floats, the loss"
                            << (type ? ", got: " : "") << (type ? Type(type) : Type());
  return success();
}

static LogicalResult differentiate(func::FuncOp loss, StringRef name, double flopsPerByte) {
  if (failed(checkLoss(loss)))
    return failure();
  OpBuilder builder(loss.getContext());
  builder.setInsertionPointAfter(loss);
  auto gradient = cast<func::FuncOp>(builder.clone(*loss));
  gradient.setName(name);
  Block &body = gradient.getBody().front();
  Operation *terminator = body.getTerminator();

  SmallVector<BlockArgument> parameters;
  DenseSet<Value> varying;
  for (BlockArgument argument : body.getArguments())
    if (gradient.getArgAttr(argument.getArgNumber(), kParam) && isFloat(argument)) {
      parameters.push_back(argument);
      varying.insert(argument);
    }
  findVarying(body, varying);

  SmallVector<Operation *> ops = opsOf(body);
  Value numerator = terminator->getOperand(0);
  unsigned index = body.getNumArguments();
  DictionaryAttr input = builder.getDictionaryAttr(builder.getNamedAttr(kInput, builder.getStringAttr("cotangent")));
  if (failed(gradient.insertArgument(index, numerator.getType(), input, cotangentLoc(numerator))))
    return failure();

  builder.setInsertionPoint(terminator);
  Cotangents cotangents;
  if (varying.contains(numerator))
    cotangents.add(builder, numerator, body.getArgument(index));
  if (failed(Backpropagation(varying, flopsPerByte).run(ops, builder, cotangents)))
    return failure();

  for (BlockArgument parameter : parameters) {
    Value cotangent = cotangents.lookup(parameter);
    if (!cotangent)
      cotangent = filled(builder, withoutName(parameter.getLoc()), 0, tensorType(parameter));
    unsigned result = gradient.getNumResults();
    Attribute symbol = gradient.getArgAttr(parameter.getArgNumber(), kParam);
    if (failed(gradient.insertResult(result, parameter.getType(), builder.getDictionaryAttr(builder.getNamedAttr(kParam, symbol)))))
      return failure();
    terminator->insertOperands(terminator->getNumOperands(), cotangent);
  }
  return success();
}

/// The layout's word, or the rate that a budget has become.
static std::optional<double> recomputeRate(ModuleOp module) {
  Attribute recompute = module->getAttr(kRecompute);
  if (!recompute)
    return kRecomputeNone;
  if (auto rate = dyn_cast<FloatAttr>(recompute); rate && rate.getValueAsDouble() >= 0)
    return rate.getValueAsDouble();
  auto word = dyn_cast<StringAttr>(recompute);
  std::optional<double> rate = llvm::StringSwitch<std::optional<double>>(word ? word.getValue() : "")
                                   .Case("none", kRecomputeNone)
                                   .Case("selective", kRecomputeSelective)
                                   .Case("full", kRecomputeFull)
                                   .Default(std::nullopt);
  if (!rate)
    module.emitError() << "attribute '" << kRecompute << "' must be \"none\", \"selective\", \"full\" or operations per byte here, got: " << recompute;
  return rate;
}

namespace {
struct Differentiate : public meshc::mtf::impl::DifferentiateBase<Differentiate> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    auto loss = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!loss)
      return;
    std::string name = function + "_grad";
    if (Operation *existing = getOperation().lookupSymbol(name)) {
      existing->emitError() << "'" << name << "' exists already, so '" << function << "' cannot be differentiated into it";
      return signalPassFailure();
    }
    std::optional<double> rate = recomputeRate(getOperation());
    if (!rate || failed(differentiate(loss, name, *rate)))
      signalPassFailure();
  }
};
} // namespace
