//===- BuildTrainStep.cpp - one optimizer step as one function -------------===//
//
// Puts @weight, @loss_grad and every @update.* together:
//
//   func @train_step(%w {mtf.param}, %m {mtf.state}, %x {mtf.data} [micro=2, batch=4], %seed, %step, %total_steps)
//     %weight = repeat "micro" ... sum of @weight                      the denominator, over the whole batch, before anything else
//     %cotangent = 1 / %weight
//     %sum, %d_w = repeat "micro" ... sums of @loss_grad(..., %cotangent)
//     %grad_norm = sqrt(sum of squares of %d_w, over all parameters)
//     %scale = min(1, clip / %grad_norm)                               if the module has `mtf.clip`
//     %w', %m' = @update.w(%w, %d_w * %scale, %m, %step, %total_steps)
//     return %w', %m', %sum / %weight, %grad_norm
//
// All functions are for one microbatch. If it is the only one there is no loop, and the data have no dimension `micro`. @eval_step is the same without gradients, from @eval; its
// results are the numerator and the denominator of the loss.
// The functions put together become private: they are kept for inspection only.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/MtfGradients.h"
#include "Mtf/Transforms/Microbatch.h"
#include "Mtf/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_BUILDTRAINSTEP
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

namespace {
/// How the step is cut, from the module's attributes.
struct Microbatches {
  explicit Microbatches(ModuleOp module) : dim(StringAttr::get(module.getContext(), kMicroDim)) {
    if (auto attr = module->getAttrOfType<IntegerAttr>(kMicrobatches))
      count = attr.getInt();
    batch = module->getAttrOfType<StringAttr>(kBatchDim);
    if (!batch)
      batch = StringAttr::get(module.getContext(), "batch");
  }
  StringAttr dim, batch;
  int64_t count = 1;
};

/// A function of the module, told which microbatch it works on if there are several; such a copy is erased with this object.
class Part {
public:
  Part(func::FuncOp original, const Microbatches &micro) : function(original) {
    if (micro.count == 1)
      return;
    function = original.clone();
    isCopy = true;
    valid = succeeded(numberMicrobatch(function, micro.batch));
  }
  Part(const Part &) = delete;
  ~Part() {
    if (isCopy)
      function.erase();
  }
  bool failed() const { return !valid; }
  func::FuncOp get() const { return function; }
  /// Its argument with the number of the microbatch is not among these.
  ArrayRef<BlockArgument> arguments() const { return get().getArguments().drop_back(isCopy ? 1 : 0); }

private:
  func::FuncOp function;
  bool isCopy = false, valid = true;
};

/// The step being built.
class Step {
public:
  Step(ModuleOp module, StringRef name, const Microbatches &micro)
      : micro(micro), builder(OpBuilder::atBlockEnd(module.getBody())),
        function(func::FuncOp::create(builder, module.getLoc(), name, builder.getFunctionType({}, {}))) {
    builder.setInsertionPointToStart(function.addEntryBlock());
  }

  /// Finds the argument for one of a part's by its attributes, or adds it. Data get the dimension `micro`.
  Value argumentLike(func::FuncOp part, BlockArgument argument);
  Value addArgument(Type type, Location loc, StringRef attribute, Attribute value);
  Value findArgument(StringRef attribute, Attribute value) const;

  /// The results of `part`, summed over the microbatches.
  FailureOr<SmallVector<Value>> sumOver(const Part &part, Value cotangent);
  /// The results of `callee`'s body, cloned here.
  SmallVector<Value> inlined(OpBuilder &at, func::FuncOp callee, ArrayRef<Value> arguments);

  void addResult(Value value, StringRef attribute, Attribute name) {
    results.push_back(value);
    resultAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(attribute, name)));
  }
  void finish();

  const Microbatches &micro;
  OpBuilder builder;
  func::FuncOp function;

private:
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
};
} // namespace

/// The location of a value that the user did not name but a reader will look for.
static Location named(StringRef name, Location loc) { return NameLoc::get(StringAttr::get(loc.getContext(), name), loc); }

Value Step::addArgument(Type type, Location loc, StringRef attribute, Attribute value) {
  DictionaryAttr attributes = builder.getDictionaryAttr(builder.getNamedAttr(attribute, value));
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, attributes, loc);
  return function.getArgument(index);
}

Value Step::findArgument(StringRef attribute, Attribute value) const {
  func::FuncOp self = function;
  for (BlockArgument argument : self.getArguments())
    if (self.getArgAttr(argument.getArgNumber(), attribute) == value)
      return argument;
  return {};
}

Value Step::argumentLike(func::FuncOp part, BlockArgument argument) {
  for (StringRef attribute : {StringRef(kParam), StringRef(kData), StringRef(kInput)}) {
    Attribute value = part.getArgAttr(argument.getArgNumber(), attribute);
    if (!value)
      continue;
    if (Value found = findArgument(attribute, value))
      return found;
    NamedTensorType type = tensorType(argument);
    if (attribute == kData && micro.count > 1 && type.hasDim(micro.batch))
      type = type.with(DimAttr::get(micro.dim, micro.count));
    return addArgument(type, argument.getLoc(), attribute, value);
  }
  return {};
}

SmallVector<Value> Step::inlined(OpBuilder &at, func::FuncOp callee, ArrayRef<Value> arguments) {
  IRMapping mapping;
  Block &body = callee.getBody().front();
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    at.clone(op, mapping);
  SmallVector<Value> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(result));
  return results;
}

FailureOr<SmallVector<Value>> Step::sumOver(const Part &part, Value cotangent) {
  func::FuncOp callee = part.get();
  SmallVector<Value> arguments;
  for (BlockArgument argument : part.arguments()) {
    bool isCotangent = cotangent && callee.getArgAttr(argument.getArgNumber(), kInput) == builder.getStringAttr("cotangent");
    Value value = isCotangent ? cotangent : argumentLike(callee, argument);
    if (!value) {
      emitError(argument.getLoc()) << "argument " << argument.getArgNumber() << " of '" << callee.getName()
                                   << "' has none of the attributes mtf.param, mtf.data and mtf.input, so nothing can be passed for it";
      return failure();
    }
    arguments.push_back(value);
  }
  if (micro.count == 1)
    return inlined(builder, callee, arguments);

  // Microbatches of one size that count their elements need no loop.
  Block &body = callee.getBody().front();
  if (body.getTerminator()->getNumOperands() == 1)
    if (auto constant = body.getTerminator()->getOperand(0).getDefiningOp<ConstantOp>()) {
      Type type = constant.getType().getElementType();
      return SmallVector<Value>{ConstantOp::create(builder, constant.getLoc(), constant.asDouble() * micro.count, type)};
    }
  // Accumulators start at zero; data that have the dimension `micro` are slices.
  SmallVector<Value> inits, scanned;
  for (Value result : body.getTerminator()->getOperands())
    inits.push_back(filled(builder, result.getLoc(), 0, tensorType(result)));
  for (Value value : arguments)
    if (tensorType(value).hasDim(micro.dim))
      scanned.push_back(value);
  auto loop = RepeatOp::create(builder, callee.getLoc(), micro.dim, micro.count, inits, scanned, ArrayRef<Type>());
  unsigned slice = 0;
  for (Value &value : arguments)
    if (tensorType(value).hasDim(micro.dim))
      value = loop.sliceArg(slice++);
  arguments.push_back(loop.indexArg());
  OpBuilder inside = OpBuilder::atBlockEnd(loop.bodyBlock());
  SmallVector<Value> sums;
  for (auto [i, value] : llvm::enumerate(inlined(inside, callee, arguments)))
    sums.push_back(AddOp::create(inside, value.getLoc(), loop.carryArg(i), value));
  NextOp::create(inside, callee.getLoc(), sums, ValueRange());
  return SmallVector<Value>(loop.getResults());
}

void Step::finish() {
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultAttributes);
}

//===----------------------------------------------------------------------===//
// What is computed
//===----------------------------------------------------------------------===//

/// The parameters that train, in the order of the loss's arguments, with their updates.
namespace {
struct Trained {
  Attribute symbol;
  ParamOp param;
  func::FuncOp update;
  Value value, gradient;
  SmallVector<Value> states;
};
} // namespace

static FailureOr<SmallVector<Trained>> findTrained(ModuleOp module, func::FuncOp loss) {
  SmallVector<Trained> trained;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    auto symbol = loss.getArgAttrOfType<FlatSymbolRefAttr>(i, kParam);
    if (!symbol)
      continue;
    auto param = module.lookupSymbol<ParamOp>(symbol.getAttr());
    if (!param) {
      emitError(loss.getArgument(i).getLoc()) << "there is no mtf.param '" << symbol.getValue() << "'";
      return failure();
    }
    func::FuncOp update;
    if (FlatSymbolRefAttr name = param.getUpdateAttr()) {
      update = module.lookupSymbol<func::FuncOp>(name.getAttr());
      size_t states = param.getStates().size();
      if (!update || update.getNumArguments() != states + 4 || update.getNumResults() != states + 1) {
        param.emitError() << "'" << name.getValue() << "' should be a function from a value, its gradient, " << states
                          << " states, the step and the number of steps to the new value and states";
        return failure();
      }
    }
    trained.push_back({symbol, param, update, {}, {}, {}});
  }
  return trained;
}

/// The square root of the sum of squares over all gradients, in f32 whatever they are.
static Value globalNorm(OpBuilder &builder, Location loc, ArrayRef<Trained> trained) {
  GradientBuilder b{builder, loc};
  Value total;
  for (const Trained &p : trained) {
    if (!p.update)
      continue;
    Value g = p.gradient;
    if (!tensorType(g).getElementType().isF32())
      g = b.create<CastOp>(g, builder.getF32Type());
    Value squares = b.fitTo(b.mul(g, g), NamedTensorType::get({}, builder.getF32Type()));
    total = total ? b.add(total, squares) : squares;
  }
  if (!total)
    total = b.create<ConstantOp>(0.0, builder.getF32Type());
  return SqrtOp::create(builder, named("grad_norm", loc), total);
}

/// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
static Value clipScale(OpBuilder &builder, Location loc, Value norm, double clip) {
  GradientBuilder b{builder, loc};
  Value ratio = b.div(b.constant(clip, norm), b.add(norm, b.constant(1e-6, norm)));
  return MinOp::create(builder, named("clip_scale", loc), ratio, b.constant(1, norm));
}

/// Scales and updates every parameter, and returns new values, then new states, as the step's results.
static void applyUpdates(Step &step, MutableArrayRef<Trained> trained, Value scale) {
  OpBuilder &builder = step.builder;
  Type i32 = NamedTensorType::get({}, builder.getI32Type());
  auto input = [&](StringRef name) {
    Attribute value = builder.getStringAttr(name);
    Value found = step.findArgument(kInput, value);
    return found ? found : step.addArgument(i32, named(name, step.function.getLoc()), kInput, value);
  };
  Value stepNumber = input("step"), total = input("total_steps");
  SmallVector<SmallVector<Value>> newValues;
  for (Trained &p : trained) {
    if (!p.update) {
      newValues.push_back({p.value});
      continue;
    }
    Value gradient = p.gradient;
    if (scale) {
      Value factor = scale;
      if (Type element = tensorType(gradient).getElementType(); !element.isF32())
        factor = CastOp::create(builder, scale.getLoc(), scale, element);
      gradient = MulOp::create(builder, gradient.getLoc(), gradient, factor);
    }
    SmallVector<Value> arguments = {p.value, gradient};
    arguments.append(p.states);
    arguments.append({stepNumber, total});
    newValues.push_back(step.inlined(builder, p.update, arguments));
  }
  for (auto [p, values] : llvm::zip(trained, newValues))
    step.addResult(values[0], kParam, p.symbol);
  for (auto [p, values] : llvm::zip(trained, newValues))
    for (auto [name, value] : llvm::zip(p.param.getStates(), ArrayRef(values).drop_front()))
      step.addResult(value, kState, builder.getArrayAttr({p.symbol, name}));
}

/// The loss and the metrics, each a sum until here, divided by the weight: results `first` and later of `from`.
static void addMeans(Step &step, ArrayRef<Value> sums, Value weight, func::FuncOp from, unsigned first) {
  for (unsigned i = first; Value sum : sums) {
    Attribute name = from.getResultAttr(i, kResult);
    if (!name)
      name = step.builder.getStringAttr(i == 0 ? "loss" : "metric" + std::to_string(i));
    ++i;
    Location loc = named(cast<StringAttr>(name).getValue(), step.function.getLoc());
    step.addResult(DivOp::create(step.builder, loc, sum, weight), kResult, name);
  }
}

static LogicalResult buildTrainStep(ModuleOp module, const Microbatches &micro, func::FuncOp loss, func::FuncOp gradient,
                                    func::FuncOp weight) {
  FailureOr<SmallVector<Trained>> trained = findTrained(module, loss);
  if (failed(trained))
    return failure();
  if (micro.count > 1 && (failed(verifySumOverBatch(loss, micro.batch)) ||
                          failed(verifySumOverBatch(weight, micro.batch, /*countsItself=*/true))))
    return failure();
  Part weightPart(weight, micro);
  if (weightPart.failed())
    return failure();
  Part gradientPart(gradient, micro);
  if (gradientPart.failed())
    return failure();

  Step step(module, "train_step", micro);
  OpBuilder &builder = step.builder;
  Location loc = loss.getLoc();
  // Arguments in the order of the contract: parameters, states, then as the loss has them.
  for (BlockArgument argument : gradientPart.arguments())
    if (Attribute symbol = gradient.getArgAttr(argument.getArgNumber(), kParam))
      llvm::find_if(*trained, [&](const Trained &p) { return p.symbol == symbol; })->value = step.argumentLike(gradientPart.get(), argument);
  for (Trained &p : *trained)
    for (Attribute name : p.param.getStates())
      p.states.push_back(step.addArgument(p.value.getType(), named((p.param.getSymName() + "." + cast<StringAttr>(name).getValue()).str(), p.param.getLoc()),
                                          kState, builder.getArrayAttr({p.symbol, name})));
  for (BlockArgument argument : gradientPart.arguments())
    if (gradient.getArgAttr(argument.getArgNumber(), kInput) != builder.getStringAttr("cotangent"))
      step.argumentLike(gradientPart.get(), argument);

  FailureOr<SmallVector<Value>> weights = step.sumOver(weightPart, Value());
  if (failed(weights))
    return failure();
  Value denominator = weights->front();
  Value one = ConstantOp::create(builder, loc, 1.0, tensorType(denominator).getElementType());
  Value cotangent = DivOp::create(builder, named("cotangent", loc), one, denominator);
  FailureOr<SmallVector<Value>> sums = step.sumOver(gradientPart, cotangent);
  if (failed(sums))
    return failure();
  ArrayRef<Value> lossSums = ArrayRef(*sums).take_front(loss.getNumResults());
  for (auto [p, value] : llvm::zip(*trained, ArrayRef(*sums).drop_front(loss.getNumResults())))
    p.gradient = value;

  Value norm = globalNorm(builder, loc, *trained), scale;
  if (auto clip = module->getAttrOfType<FloatAttr>(kClip))
    scale = clipScale(builder, loc, norm, clip.getValueAsDouble());
  applyUpdates(step, *trained, scale);
  addMeans(step, lossSums.take_front(1), denominator, loss, 0);
  step.addResult(norm, kResult, builder.getStringAttr("grad_norm"));
  addMeans(step, lossSums.drop_front(1), denominator, loss, 1);
  step.finish();
  return success();
}

static LogicalResult buildEvalStep(ModuleOp module, const Microbatches &micro, func::FuncOp eval, func::FuncOp weight) {
  Part weightPart(weight, micro);
  if (weightPart.failed())
    return failure();
  Part evalPart(eval, micro);
  if (evalPart.failed())
    return failure();
  Step step(module, "eval_step", micro);
  for (BlockArgument argument : evalPart.arguments())
    step.argumentLike(evalPart.get(), argument);
  FailureOr<SmallVector<Value>> weights = step.sumOver(weightPart, Value()), sums = step.sumOver(evalPart, Value());
  if (failed(weights) || failed(sums))
    return failure();
  // The trainer evaluates many batches: it divides the sum of these by the sum of those.
  step.addResult(sums->front(), kResult, step.builder.getStringAttr("numerator"));
  step.addResult(weights->front(), kResult, step.builder.getStringAttr("denominator"));
  addMeans(step, ArrayRef(*sums).drop_front(), weights->front(), eval, 1);
  step.finish();
  return success();
}

/// They have done their part.
static void dropStopGradients(func::FuncOp function) {
  function.walk([](StopGradientOp op) {
    if (op.getInput().getType() != op.getType())
      return;
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

namespace {
struct BuildTrainStep : public meshc::mtf::impl::BuildTrainStepBase<BuildTrainStep> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>("loss"), gradient = module.lookupSymbol<func::FuncOp>("loss_grad"),
         weight = module.lookupSymbol<func::FuncOp>("weight"), eval = module.lookupSymbol<func::FuncOp>("eval");
    Microbatches micro(module);
    if ((loss || eval) && !weight) {
      module.emitError() << "there is no function 'weight' to divide the loss by";
      return signalPassFailure();
    }
    if (loss && !gradient) {
      loss.emitError() << "there is no function 'loss_grad': run mtf-differentiate first";
      return signalPassFailure();
    }
    if (loss && failed(buildTrainStep(module, micro, loss, gradient, weight)))
      return signalPassFailure();
    if (eval && failed(buildEvalStep(module, micro, eval, weight)))
      return signalPassFailure();
    for (StringRef name : {"train_step", "eval_step"})
      if (auto built = module.lookupSymbol<func::FuncOp>(name))
        dropStopGradients(built);
    for (func::FuncOp part : module.getOps<func::FuncOp>())
      if (part == loss || part == gradient || part == weight || part == eval || part.getName().starts_with("update."))
        part.setPrivate();
  }
};
} // namespace
