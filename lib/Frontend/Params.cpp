//===- Params.cpp - parameters and their paths -------------------------------===//
//
// A parameter is its path: `gpt.block.attn.wq`. The same path asked for twice (a label used twice, the evaluation after the training)
// is the same parameter. Inside loops it has their dims too and is a sliced input of each; as an argument of the function it is whole.
//
//===----------------------------------------------------------------------===//
#include "Elaborator.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

bool Elaborator::executeParam(const ParamStmt &stmt) {
  if (!frame().fn) {
    error(stmt.loc) << "parameters belong into a function or a model";
    return false;
  }
  if (!canBuild(stmt.loc))
    return false;
  bool valid = true;
  for (const ParamDef &def : stmt.defs)
    valid &= defineParam(def);
  return valid;
}

bool Elaborator::defineParam(const ParamDef &def) {
  auto fail = [&](Ident name) {
    define(name, {});
    return false;
  };
  if (!def.shape) {
    error(def.name.loc) << "parameter '" << def.name.text << "' has no shape; write " << def.name.text << "[…]";
    return fail(def.name);
  }
  if (!def.init) {
    error(def.name.loc) << "parameter '" << def.name.text << "' has no initializer; write ~ normal(0.02), uniform(b), zeros, ones or constant(c)";
    return fail(def.name);
  }
  ParamInfo info;
  info.path = childPath(def.name.text);
  info.loc = def.name.loc;
  info.noArrow = def.shape->arrow < 0;
  Dims dims;
  for (auto [i, item] : llvm::enumerate(def.shape->items)) {
    if (item.rest) {
      error(item.name.loc) << "a parameter lists all its dimensions";
      return fail(def.name);
    }
    std::optional<Dims> own = newDims({item.name, item.list, item.size});
    if (!own)
      return fail(def.name);
    for (mtf::DimAttr dim : *own)
      (info.noArrow || static_cast<int>(i) < def.shape->arrow ? info.fanIn : info.fanOut).push_back(dim.getName());
    dims.append(*own);
  }
  for (mtf::DimAttr dim : dims)
    if (dim.getName() == attr("batch")) {
      error(def.name.loc) << "parameter '" << def.name.text << "' has the dimension 'batch', but parameters are shared by all examples";
      return fail(def.name);
    }
  if (info.noArrow)
    info.fanIn.clear();
  mlir::Type element = f32;
  if (!def.element.text.empty()) {
    std::optional<mlir::Type> given = elementType(def.element);
    if (!given)
      return fail(def.name);
    if (!llvm::isa<mlir::FloatType>(*given)) {
      error(def.element.loc) << "parameters are floats (f32, bf16, f64), not " << def.element.text;
      return fail(def.name);
    }
    element = *given;
    info.isPinned = true;
  }
  Dims whole;
  for (const std::unique_ptr<Loop> &loop : function->loops)
    whole.push_back(loop->dim);
  whole.append(dims);
  for (mtf::DimAttr dim : whole)
    info.order.push_back(dim.getName());
  std::optional<mtf::NamedTensorType> type = makeType(def.name.loc, whole, element);
  if (!type)
    return fail(def.name);
  info.type = *type;
  info.init = evaluate(*def.init);
  if (!info.init)
    return fail(def.name);
  if (info.init.getKind() != Value::Kind::Init) {
    error(def.init->loc) << "an initializer is normal(std), uniform(bound), zeros, ones or constant(value), not " << info.init.describe();
    return fail(def.name);
  }
  frame().hasState = true;
  if (function->kind == FunctionState::Kind::Weight) {
    error(def.name.loc) << "the weight of the loss depends on parameter '" << info.path << "'; it must follow from the data alone";
    return fail(def.name);
  }
  if (function->kind == FunctionState::Kind::Update) {
    error(def.name.loc) << "an optimizer has no parameters; its state is the arguments after the gradient";
    return fail(def.name);
  }
  mlir::Location loc = mlir::NameLoc::get(attr(def.name.text), location(def.name.loc));
  mlir::Value value = paramValue(info, loc);
  return define(def.name, value ? tapIfPinned(Value::ofTensor(value), def.name.text, def.name.loc) : Value()) && value;
}

mlir::Value Elaborator::paramValue(ParamInfo &info, mlir::Location loc) {
  StringAttr path = attr(info.path);
  auto [known, isNew] = params.insert({path, info});
  if (!isNew && (known->second.type != info.type || known->second.order != info.order)) {
    Error message = error(info.loc);
    message << "parameter '" << info.path << "' is " << spell(info.type) << " here but " << spell(known->second.type) << " at its first use";
    message.note(known->second.loc) << "its first use is here";
    return {};
  }
  mlir::Value value = paramArgument(known->second, loc);
  for (const std::unique_ptr<Loop> &loop : function->loops) {
    auto [slice, isNewSlice] = loop->paramSlices.try_emplace(info.path);
    if (isNewSlice) {
      mlir::Type type = mtf::tensorType(value).without({loop->dim.getName()});
      slice->second = loop->region.front().addArgument(type, loc);
      loop->scanned.push_back(value);
      loop->slices.push_back(slice->second);
    }
    value = slice->second;
  }
  return value;
}

mlir::BlockArgument Elaborator::paramArgument(const ParamInfo &info, mlir::Location loc) {
  auto [entry, isNew] = function->params.insert({attr(info.path), {}});
  if (isNew)
    entry->second = function->region.front().addArgument(info.type, loc);
  return entry->second;
}
