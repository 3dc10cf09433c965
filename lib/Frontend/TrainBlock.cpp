//===- TrainBlock.cpp - loss, weight, evaluation, optimizers --------------------===//
//
// The functions of the module, all from one `train` block:
//
//   @loss     numerator of the mean: the sum of weight * loss over the microbatch
//   @weight   its denominator, from the data alone
//   @eval     the numerator with `training` false
//   @forward  the model's result
//   @update.* one step of the optimizer for one parameter
//
//===----------------------------------------------------------------------===//
#include "Elaborator.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

std::optional<mtf::NamedTensorType> Elaborator::declaredType(const TypeRef &type, Loc loc) {
  mlir::Type element = f32;
  if (!type.element.text.empty()) {
    std::optional<mlir::Type> given = elementType(type.element);
    if (!given)
      return std::nullopt;
    element = *given;
  }
  Dims dims;
  if (type.shape)
    for (const ShapeItem &item : type.shape->items) {
      if (item.rest)
        return error(item.name.loc) << "this shape lists all its dimensions; '..' has nothing to stand for";
      std::optional<Dims> own = newDims({item.name, item.list, item.size});
      if (!own)
        return std::nullopt;
      dims.append(*own);
    }
  return makeType(loc, dims, element);
}

void Elaborator::bindData(Frame &frame) {
  for (const LetStmt *let : root.train->lets)
    for (const Binder &binder : let->binders)
      frame.lazyLets[binder.name.text] = let;
  if (!root.data)
    return;
  for (const DataItem &item : root.data->items)
    for (const DataField &field : item.fields) {
      std::optional<mtf::NamedTensorType> type = declaredType(*field.type, field.name.loc);
      Value value;
      if (type)
        value = Value::ofTensor(addArgument(*type, mtf::kData, attr(field.name.text),
                                            mlir::NameLoc::get(attr(field.name.text), location(field.name.loc))));
      define(field.name, value);
    }
}

void Elaborator::readData() {
  if (!root.data)
    return;
  Frame scope;
  scope.module = &root;
  FrameScope enter(*this, scope);
  llvm::SmallVector<mlir::Attribute> sources;
  for (const DataItem &item : root.data->items) {
    const auto *call = llvm::dyn_cast<CallExpr>(item.source);
    const auto *kind = call ? llvm::dyn_cast<NameExpr>(call->callee) : nullptr;
    if (!kind || !call->clauses.empty() || !call->arrows.empty()) {
      error(item.source->loc) << "data come from a source such as text(\"corpus.txt\")";
      continue;
    }
    static constexpr StringRef kinds[] = {"text", "tokens", "tensors"};
    if (!llvm::is_contained(kinds, kind->name)) {
      error(kind->loc) << "unknown source '" << kind->name << "'" << didYouMean(kind->name, kinds) << " (one of " << llvm::join(llvm::ArrayRef(kinds), ", ") << ")";
      continue;
    }
    llvm::SmallVector<mlir::Attribute> names, arguments;
    llvm::SmallVector<mlir::NamedAttribute> options;
    bool valid = true;
    auto toAttribute = [&](const Expr &expr) -> mlir::Attribute {
      Value value = evaluate(expr);
      if (value.getKind() == Value::Kind::String)
        return builder.getStringAttr(value.asString());
      if (value.isBool())
        return builder.getBoolAttr(value.asBool());
      if (value.getKind() == Value::Kind::Int)
        return builder.getI64IntegerAttr(value.asInt());
      if (value.isNumber())
        return builder.getF64FloatAttr(value.asDouble());
      if (value)
        error(expr.loc) << "an argument of a source is a text or a number, not " << value.describe();
      valid = false;
      return builder.getUnitAttr();
    };
    for (const DataField &field : item.fields)
      names.push_back(attr(field.name.text));
    for (const Expr *arg : call->args)
      arguments.push_back(toAttribute(*arg));
    for (const NamedArg &arg : call->named)
      options.push_back(builder.getNamedAttr(arg.name.text, toAttribute(*arg.value)));
    if (valid)
      sources.push_back(builder.getDictionaryAttr({builder.getNamedAttr("names", builder.getArrayAttr(names)),
                                                   builder.getNamedAttr("kind", attr(kind->name)),
                                                   builder.getNamedAttr("arguments", builder.getArrayAttr(arguments)),
                                                   builder.getNamedAttr("options", builder.getDictionaryAttr(options))}));
  }
  (*moduleOp)->setAttr(mtf::kDataSources, builder.getArrayAttr(sources));
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

/// `mean(loss)` or `mean(loss, weight = w)`.
const CallExpr *Elaborator::lossCall() {
  const auto *call = llvm::dyn_cast_if_present<CallExpr>(root.train->loss);
  const auto *callee = call ? llvm::dyn_cast<NameExpr>(call->callee) : nullptr;
  bool fits = callee && callee->name == "mean" && call->args.size() == 1 && call->clauses.empty() && call->arrows.empty() &&
              call->named.size() <= 1 && (call->named.empty() || call->named.front().name.text == "weight");
  if (fits)
    return call;
  error(root.train->loss ? root.train->loss->loc : root.train->loc)
      << (root.train->loss ? "the loss is a mean over the global batch: write mean(x) or mean(x, weight = w)"
                           : "the train block has no 'loss'; write loss mean(…)");
  return nullptr;
}

/// The product of losses and weights, before the sum.
Value Elaborator::weightedLoss(const CallExpr &call) {
  mlir::Value loss = evaluateTensor(*call.args.front());
  if (!loss)
    return {};
  lossType = mtf::tensorType(loss);
  if (!llvm::isa<mlir::FloatType>(lossType.getElementType()))
    return error(call.args.front()->loc) << "the loss must be floats, not " << spell(lossType);
  if (lossType.getElementType() != f32)
    loss = mtf::CastOp::create(builder, location(call.loc), loss, f32);
  if (call.named.empty())
    return Value::ofTensor(loss);
  mlir::Value weight = evaluateTensor(*call.named.front().value, f32);
  if (!weight || !checkWeight(call, weight))
    return {};
  return Value::ofTensor(mtf::MulOp::create(builder, location(call.named.front().name.loc), loss, weight));
}

bool Elaborator::checkWeight(const CallExpr &call, mlir::Value weight) {
  Loc loc = call.named.front().value->loc;
  mtf::NamedTensorType type = mtf::tensorType(weight);
  if (type.getElementType() != f32) {
    error(loc) << "the weight must be f32, not " << spell(type) << "; convert it with cast(w, f32)";
    return false;
  }
  for (mtf::DimAttr dim : type.getDims())
    if (lossType.findDim(dim.getName()) != dim) {
      error(loc) << "the weight " << spellDims(type.getDims()) << " has the dimension '" << dim.getName().getValue() << "', which the loss "
                 << spellDims(lossType.getDims()) << " has not";
      return false;
    }
  return true;
}

mlir::Value Elaborator::sumAll(mlir::Value value, Loc loc) {
  Names all;
  for (mtf::DimAttr dim : mtf::tensorType(value).getDims())
    all.push_back(dim.getName());
  return all.empty() ? value : mtf::ReduceOp::create(builder, location(loc), mtf::ReductionKind::Sum, value, all).getResult();
}

/// Microbatches are computed one after another: what mixes examples before the mean would see a part of the batch only.
bool Elaborator::checkMicrobatches(mlir::Value loss) {
  if (microbatches == 1)
    return true;
  StringAttr batch = attr("batch");
  mlir::WalkResult result = function->region.walk([&](mtf::FactorOpInterface op) {
    if (op.getOperation() == loss.getDefiningOp())
      return mlir::WalkResult::advance();
    for (const mtf::Factor &factor : op.getFactors())
      if (factor.kind != mtf::FactorKind::Parallel &&
          llvm::any_of(factor.uses, [&](const mtf::DimUse &use) { return use.dim == batch; })) {
        diagnostics.error(op.getLoc()) << "this mixes examples of the batch, which is computed in " << microbatches
                                       << " microbatches; only the mean of the loss may";
        return mlir::WalkResult::interrupt();
      }
    return mlir::WalkResult::advance();
  });
  return !result.wasInterrupted();
}

void Elaborator::buildLoss(FunctionState::Kind kind) {
  const CallExpr *call = lossCall();
  if (!call)
    return;
  bool training = kind == FunctionState::Kind::Loss;
  Frame scope;
  scope.module = &root;
  FrameScope enter(*this, scope);
  FunctionState &state = beginFunction(kind, training ? "loss" : "eval");
  bindData(scope);
  if (training) {
    state.seed = addArgument(scalarType(i32), mtf::kInput, attr("seed"), builder.getUnknownLoc());
    state.step = addArgument(scalarType(i32), mtf::kInput, attr("step"), builder.getUnknownLoc());
  }
  Value product = weightedLoss(*call);
  if (product) {
    mlir::Value sum = sumAll(product.asTensor(), call->loc);
    if (checkMicrobatches(sum))
      finishFunction({sum}, {"loss"});
  }
  function.reset();
}

void Elaborator::buildWeight() {
  const CallExpr *call = lossCall();
  if (!call || !lossType)
    return;
  Frame scope;
  scope.module = &root;
  FrameScope enter(*this, scope);
  beginFunction(FunctionState::Kind::Weight, "weight");
  bindData(scope);
  // Dims of the loss that the weight lacks count as often as they have elements.
  double count = static_cast<double>(lossType.numElements());
  mlir::Value weight;
  if (!call->named.empty()) {
    weight = evaluateTensor(*call->named.front().value, f32);
    if (!weight || !checkWeight(*call, weight)) {
      function.reset();
      return;
    }
    count /= static_cast<double>(mtf::tensorType(weight).numElements());
    weight = sumAll(weight, call->loc);
  }
  mlir::Value factor = constant(call->loc, count, f32);
  finishFunction({weight ? mtf::MulOp::create(builder, location(call->loc), weight, factor).getResult() : factor}, {"weight"});
  function.reset();
}

//===----------------------------------------------------------------------===//
// The model alone
//===----------------------------------------------------------------------===//

/// Arguments for a model that no loss calls: by its own annotations.
bool Elaborator::argumentsFromFormals(CallArgs &args) {
  for (const Formal &formal : model->formals) {
    if (!formal.word.empty() || formal.defaultValue)
      continue;
    if (!formal.type) {
      error(formal.name.loc) << "an input of a model needs a type, such as '" << formal.name.text << ": f32[batch]'";
      return false;
    }
    std::optional<mtf::NamedTensorType> type = declaredType(*formal.type, formal.name.loc);
    if (!type)
      return false;
    args.values.push_back(Value::ofTensor(addArgument(*type, mtf::kData, attr(formal.name.text),
                                                      mlir::NameLoc::get(attr(formal.name.text), location(formal.name.loc)))));
    args.exprs.push_back(args.expr);
  }
  return true;
}

void Elaborator::buildForward() {
  Frame scope;
  scope.module = &root;
  FrameScope enter(*this, scope);
  beginFunction(FunctionState::Kind::Forward, "forward");
  CallArgs args = modelArgs;
  CallExpr call;
  NameExpr callee;
  bool valid = true;
  if (modelCall) {
    // The loss's call, with arguments of this function in place of the tensors.
    auto replace = [&](Value &value, mtf::NamedTensorType type, const Expr *expr, StringRef otherwise) {
      if (!type)
        return;
      std::string name = nameOf(expr, otherwise);
      StringAttr data = attr(StringRef(name).trim('\''));
      value = Value::ofTensor(addArgument(type, mtf::kData, data, mlir::NameLoc::get(data, location(modelCall->loc))));
    };
    for (auto [value, type, expr] : llvm::zip(args.values, modelArgTypes, args.exprs))
      replace(value, type, expr, "input");
    for (auto [argument, type, named] : llvm::zip(args.named, modelNamedTypes, modelCall->named))
      replace(argument.second, type, named.value, argument.first.text);
  } else {
    callee.name = call.label.text = model->name.text;
    call.loc = callee.loc = model->name.loc;
    call.callee = &callee;
    args.expr = &call;
    valid = argumentsFromFormals(args);
  }
  Value result = valid ? callFunction(*model, root, args) : Value();
  if (result && result.getKind() == Value::Kind::Tuple && !result.asTuple().empty())
    result = result.asTuple().front();
  if (result)
    if (mlir::Value tensor = materialize(model->name.loc, result))
      finishFunction({tensor}, {"output"});
  function.reset();
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

const OptimizerGroup *Elaborator::groupOf(const ParamInfo &info) {
  for (const OptimizerGroup &group : root.train->groups) {
    bool matches = group.isPath ? matchesGlob(group.selector.text, info.path)
                                : group.selector.text == "default" || (group.selector.text == "no_arrow" && info.noArrow);
    if (matches)
      return &group;
  }
  return nullptr;
}

bool Elaborator::checkGroups() {
  static constexpr StringRef selectors[] = {"default", "no_arrow"};
  bool valid = true;
  llvm::StringSet<> seen;
  for (const OptimizerGroup &group : root.train->groups) {
    if (!group.isPath && !llvm::is_contained(selectors, group.selector.text)) {
      error(group.selector.loc) << "unknown group of parameters '" << group.selector.text << "'" << didYouMean(group.selector.text, selectors)
                                << " (default, no_arrow, or a path in quotes such as \"*.wte\")";
      valid = false;
    }
    if (!seen.insert(group.selector.text).second) {
      error(group.selector.loc) << "the group '" << group.selector.text << "' is given twice";
      valid = false;
    }
    bool used = llvm::any_of(params, [&](auto &entry) { return groupOf(entry.second) == &group; });
    if (valid && group.isPath && !used)
      diagnostics.warning(group.selector.loc) << "this group is empty: no parameter is called '" << group.selector.text
                                              << "', or an earlier group has them all";
  }
  if (root.train->groups.empty()) {
    error(root.train->loc) << "the train block has no 'optimizer'; write optimizer { default: adamw(lr = 1e-3) }";
    valid = false;
  }
  return valid;
}

void Elaborator::buildUpdates() {
  if (!checkGroups())
    return;
  for (auto &[path, info] : params) {
    const OptimizerGroup *group = groupOf(info);
    if (!group) {
      Error message = error(root.train->optimizerLoc);
      message << "parameter '" << info.path << "' belongs to no group; add 'default: …'";
      message.note(info.loc) << "'" << info.path << "' is declared here";
      return;
    }
    info.group = group->selector.text.str();
    if (!buildUpdate(info, *group))
      return;
  }
}

bool Elaborator::buildUpdate(ParamInfo &info, const OptimizerGroup &group) {
  Frame scope;
  scope.module = &root;
  FrameScope enter(*this, scope);
  FunctionState &state = beginFunction(FunctionState::Kind::Update, "update." + info.path);
  auto abandon = [&] {
    function.reset();
    return false;
  };
  for (const LetStmt *let : root.train->lets)
    for (const Binder &binder : let->binders)
      scope.lazyLets[binder.name.text] = let;
  const auto *call = llvm::dyn_cast<CallExpr>(group.call);
  Value callee = call ? evaluate(*call->callee) : Value();
  if (call && !callee)
    return abandon();
  if (!call || callee.getKind() != Value::Kind::Function || !call->args.empty()) {
    error(group.call->loc) << "an optimizer is called with its settings by name, as in adamw(lr = 1e-3)";
    return abandon();
  }
  const FnDecl &fn = *callee.asFunction();
  llvm::SmallVector<StringRef> formals;
  for (const Formal &formal : fn.formals)
    if (formal.word.empty() && !formal.keyword)
      formals.push_back(formal.name.text);
  if (formals.size() < 2) {
    Error message = error(group.call->loc);
    message << "'" << fn.name.text << "' is no optimizer: it must take the parameter, its gradient and its states";
    message.note(fn.name.loc) << "'" << fn.name.text << "' is declared here";
    return abandon();
  }

  mlir::FlatSymbolRefAttr symbol = mlir::FlatSymbolRefAttr::get(context, info.path);
  CallArgs args{call, {}, {}, {}};
  auto addTensor = [&](StringRef name, StringRef attribute, mlir::Attribute value) {
    args.values.push_back(Value::ofTensor(addArgument(info.type, attribute, value, mlir::NameLoc::get(attr(name), location(info.loc)))));
    args.exprs.push_back(call);
  };
  addTensor(formals[0], mtf::kParam, symbol);
  addTensor(formals[1], mtf::kInput, attr("gradient"));
  info.states.clear();
  for (StringRef name : llvm::ArrayRef(formals).drop_front(2)) {
    info.states.push_back(attr(name));
    addTensor(name, mtf::kState, builder.getArrayAttr({symbol, attr(name)}));
  }
  state.step = addArgument(scalarType(i32), mtf::kInput, attr("step"), builder.getUnknownLoc());
  state.totalSteps = addArgument(scalarType(i32), mtf::kInput, attr("total_steps"), builder.getUnknownLoc());
  for (const NamedArg &named : call->named) {
    args.named.push_back({named.name, evaluate(*named.value)});
    if (!args.named.back().second)
      return abandon();
  }
  Value result = callFunction(fn, *callee.getModule(), args);
  if (!result)
    return abandon();
  std::vector<Value> results = result.getKind() == Value::Kind::Tuple ? result.asTuple().vec() : std::vector<Value>{result};
  llvm::SmallVector<mlir::Value> tensors;
  llvm::SmallVector<StringRef> names = {"param"};
  for (StringAttr name : info.states)
    names.push_back(name.getValue());
  bool fits = results.size() == names.size();
  for (const Value &each : results) {
    fits &= each.isTensor() && each.type() == info.type;
    tensors.push_back(each.isTensor() ? each.asTensor() : mlir::Value());
  }
  if (!fits) {
    Error message = error(group.call->loc);
    message << "'" << fn.name.text << "' must return the new parameter and its " << info.states.size() << " states, each " << spell(info.type)
            << ", but returns";
    for (const Value &each : results)
      message << " " << each.describe();
    message.note(fn.name.loc) << "'" << fn.name.text << "' is declared here";
    return abandon();
  }
  finishFunction(tensors, names);
  function.reset();
  return true;
}
