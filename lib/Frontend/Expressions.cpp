//===- Expressions.cpp - names, members, indexing, literals -----------------===//
#include "Builtins.h"
#include "Elaborator.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

/// Chains of operators longer than this are no program's.
static constexpr unsigned kMaxDepth = 2000;

Value Elaborator::evaluate(const Expr &expr) {
  if (depth >= kMaxDepth) {
    if (std::exchange(reportedDepth, true))
      return {};
    return error(expr.loc) << "this expression has more than " << kMaxDepth << " operators in a row; name parts of it with 'let'";
  }
  llvm::SaveAndRestore restore(depth, depth + 1);
  return llvm::TypeSwitch<const Expr *, Value>(&expr)
      .Case([&](const IntExpr *e) { return Value::ofInt(e->value); })
      .Case([&](const FloatExpr *e) { return Value::ofFloat(e->value); })
      .Case([&](const StringExpr *e) { return Value::ofString(e->value); })
      .Case([&](const BoolExpr *e) { return Value::ofBool(e->value); })
      .Case([&](const NameExpr *e) { return evaluateName(*e); })
      .Case([&](const TupleExpr *e) {
        std::vector<Value> items;
        for (const Expr *item : e->items)
          items.push_back(evaluate(*item));
        bool valid = llvm::all_of(items, [](const Value &item) { return static_cast<bool>(item); });
        return valid ? Value::ofTuple(std::move(items)) : Value();
      })
      .Case([&](const IfExpr *e) {
        std::optional<bool> condition = evaluateCondition(*e->condition);
        return condition ? evaluate(*condition ? *e->onTrue : *e->onFalse) : Value();
      })
      .Case([&](const UnaryExpr *e) { return evaluateUnary(*e); })
      .Case([&](const BinaryExpr *e) { return evaluateBinary(*e); })
      .Case([&](const MemberExpr *e) { return evaluateMember(*e); })
      .Case([&](const CallExpr *e) { return evaluateCall(*e); })
      .Case([&](const IndexExpr *e) { return evaluateIndex(*e); })
      .Case([&](const RepeatExpr *e) { return evaluateRepeat(*e); });
}

Value Elaborator::evaluateStatic(const Expr &expr, ProgramModule &module) {
  Frame scope;
  scope.module = &module;
  FrameScope enter(*this, scope);
  std::unique_ptr<FunctionState> none;
  std::swap(none, function);
  Value value = evaluate(expr);
  std::swap(none, function);
  return value;
}

bool Elaborator::canBuild(Loc loc) {
  if (function)
    return true;
  error(loc) << "only constants are possible here, not tensors";
  return false;
}

mlir::Value Elaborator::evaluateTensor(const Expr &expr, mlir::Type element) {
  Value value = evaluate(expr);
  return value ? materialize(expr.loc, value, element) : mlir::Value();
}

std::optional<bool> Elaborator::evaluateCondition(const Expr &expr) {
  Value value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (value.isBool())
    return value.asBool();
  Error message = error(expr.loc);
  message << "the condition of 'if' must be known while the program is compiled, but it is " << value.describe();
  if (value.isTensor())
    message << "; use where(condition, a, b) for tensors";
  return message;
}

std::optional<double> Elaborator::evaluateNumber(const Expr &expr, StringRef what) {
  Value value = evaluate(expr);
  if (!value)
    return std::nullopt;
  if (value.isNumber())
    return value.asDouble();
  return error(expr.loc) << what << " must be a number, not " << value.describe();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

const Variable *Elaborator::findVariable(StringRef name) const {
  const Frame &current = *frames.back();
  for (const llvm::StringMap<Variable> &scope : llvm::reverse(current.scopes))
    if (auto it = scope.find(name); it != scope.end())
      return &it->second;
  return nullptr;
}

std::optional<Value> Elaborator::lookup(StringRef name, Loc loc) {
  Frame &current = frame();
  if (const Variable *variable = findVariable(name))
    return variable->value;
  if (auto lazy = current.lazyLets.find(name); lazy != current.lazyLets.end()) {
    const LetStmt *let = lazy->second;
    if (!let)
      return error(loc) << "'" << name << "' is defined by itself";
    lazy->second = nullptr;
    executeLet(*let);
    frame().lazyLets[name] = let;
    const Variable *variable = findVariable(name);
    return variable ? variable->value : Value();
  }
  ProgramModule &module = *current.module;
  auto dim = module.dims.find(name);
  if (current.dims.contains(name) || (dim != module.dims.end() && partSizes)) {
    std::optional<Dims> dims = lookupDims(name);
    return productOf(*dims, loc);
  }
  if (dim != module.dims.end())
    return evaluateSetting(module, dim->first, dim->second, /*isDim=*/true, /*part=*/false);
  if (auto constant = module.constants.find(name); constant != module.constants.end())
    return evaluateSetting(module, constant->first, constant->second, /*isDim=*/false, /*part=*/false);
  if (const FnDecl *fn = module.functions.lookup(name))
    return Value::ofFunction(fn, &module);
  if (auto import = module.imports.find(name); import != module.imports.end())
    return Value::ofModule(import->second.module);
  if (name == "pi")
    return Value::ofFloat(M_PI);
  if (name == "inf")
    return Value::ofFloat(INFINITY);
  if (name == "training")
    return Value::ofBool(function && function->isTraining());
  if (name == "zeros" || name == "ones")
    return Value::ofInit(mtf::InitKind::Constant, name == "ones");
  if (mlir::Type element = elementTypeOf(name))
    return Value::ofElementType(element);
  if (name == "step" || name == "steps") {
    mlir::BlockArgument counter = !function ? mlir::BlockArgument() : name == "step" ? function->step : function->totalSteps;
    if (!counter)
      return error(loc) << "'" << name << "' is known in optimizers and schedules only";
    return Value::ofTensor(mtf::CastOp::create(builder, location(loc), counter, f32));
  }
  if (const Builtin *builtin = findBuiltin(name))
    return Value::ofBuiltin(builtin);
  // Optimizers and schedules need no import in a train block.
  if (!current.fn && function && root.train)
    if (ProgramModule *optim = program.library("optim"))
      if (const FnDecl *fn = optim->functions.lookup(name))
        return Value::ofFunction(fn, optim);
  return std::nullopt;
}

Value Elaborator::evaluateName(const NameExpr &expr) {
  if (std::optional<Value> value = lookup(expr.name, expr.loc))
    return *value;
  llvm::SmallVector<StringRef> known;
  for (const llvm::StringMap<Variable> &scope : frame().scopes)
    llvm::append_range(known, scope.keys());
  llvm::append_range(known, frame().dims.keys());
  ProgramModule &module = *frame().module;
  llvm::append_range(known, llvm::make_first_range(module.dims));
  llvm::append_range(known, llvm::make_first_range(module.constants));
  llvm::append_range(known, module.functions.keys());
  llvm::append_range(known, module.imports.keys());
  for (const Builtin &builtin : allBuiltins())
    known.push_back(builtin.name);
  for (StringRef word : {"pi", "inf", "training", "zeros", "ones", "f32", "bf16", "f64", "i32", "bool", "step", "steps"})
    known.push_back(word);
  return error(expr.loc) << "unknown name '" << expr.name << "'" << didYouMean(expr.name, known);
}

Value Elaborator::evaluateMember(const MemberExpr &expr) {
  Value base = evaluate(*expr.base);
  if (!base)
    return {};
  if (base.getKind() != Value::Kind::Module)
    return error(expr.name.loc) << "'." << expr.name.text << "' needs arguments: a value has no members, but x.f(…) calls f(x, …)";
  ProgramModule &module = *base.getModule();
  StringRef name = expr.name.text;
  if (const FnDecl *fn = module.functions.lookup(name))
    return Value::ofFunction(fn, &module);
  if (auto dim = module.dims.find(name); dim != module.dims.end())
    return evaluateSetting(module, dim->first, dim->second, /*isDim=*/true, partSizes);
  if (auto constant = module.constants.find(name); constant != module.constants.end())
    return evaluateSetting(module, constant->first, constant->second, /*isDim=*/false, false);
  llvm::SmallVector<StringRef> known(module.functions.keys());
  llvm::append_range(known, llvm::make_first_range(module.dims));
  llvm::append_range(known, llvm::make_first_range(module.constants));
  return error(expr.name.loc) << "'" << module.file->name << "' has no '" << name << "'" << didYouMean(name, known);
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

Value Elaborator::evaluateIndex(const IndexExpr &expr) {
  Value base = evaluate(*expr.base);
  if (!base)
    return {};
  if (!base.isTensor())
    return error(expr.loc) << "only tensors are indexed, this is " << base.describe();
  mlir::Value result = base.asTensor();
  for (const IndexItem &item : expr.items) {
    Names names = namesOf(item.dim.text);
    if (names.size() != 1)
      return error(item.dim.loc) << "'" << item.dim.text << "' is a list of " << names.size() << " dimensions; an index needs one";
    StringAttr dim = names.front();
    mtf::NamedTensorType type = mtf::tensorType(result);
    if (!expectDim(item.dim.loc, type, dim, expr.base))
      return {};
    Value at = evaluate(*item.at);
    if (!at)
      return {};
    if (at.getKind() == Value::Kind::Int) {
      result = slice(item.at->loc, result, item, dim, at.asInt());
      if (!result)
        return {};
      continue;
    }
    if (item.limit)
      return error(item.at->loc) << "the bounds of a slice are whole numbers, not " << at.describe();
    if (!at.isTensor() || at.type().getElementType() != i32)
      return error(item.at->loc) << "an index must be a whole number or an i32 tensor, not " << at.describe();
    if (at.type().hasDim(dim))
      return error(item.at->loc) << "the indices have the dimension '" << dim.getValue() << "' that they index; rename one of the two";
    if (!checkBroadcastSizes(item.at->loc, {Value::ofTensor(result), at}, {expr.base, item.at}, dim))
      return {};
    Dims dims(llvm::to_vector(type.without({dim}).getDims()));
    for (mtf::DimAttr extra : at.type().getDims())
      if (!type.hasDim(extra.getName()))
        dims.push_back(extra);
    if (!makeType(expr.loc, dims, type.getElementType()))
      return {};
    result = mtf::GatherOp::create(builder, location(expr.loc), result, at.asTensor(), dim);
  }
  return Value::ofTensor(result);
}

/// `x[d = i]` drops the dim, `x[d = a:b:s]` keeps it.
mlir::Value Elaborator::slice(Loc loc, mlir::Value base, const IndexItem &item, StringAttr dim, int64_t start) {
  int64_t size = mtf::tensorType(base).dimSize(dim), limit = start + 1, step = 1;
  for (auto [bound, part] : {std::pair(&limit, item.limit), std::pair(&step, item.step)}) {
    if (!part)
      continue;
    Value value = evaluate(*part);
    if (!value)
      return {};
    if (value.getKind() != Value::Kind::Int) {
      error(part->loc) << "the bounds of a slice are whole numbers, not " << value.describe();
      return {};
    }
    *bound = value.asInt();
  }
  if (start < 0 || limit > size || start >= limit || step < 1) {
    Error message = error(loc);
    if (item.limit)
      message << "[" << start << ":" << limit << ":" << step << "] is no slice of '" << dim.getValue() << "', which has size " << size;
    else
      message << "index " << start << " is outside of '" << dim.getValue() << "', which has size " << size;
    return {};
  }
  mlir::Value part = mtf::SliceOp::create(builder, location(loc), base, dim, start, limit, step);
  if (item.limit)
    return part;
  return mtf::ReduceOp::create(builder, location(loc), mtf::ReductionKind::Sum, part, llvm::ArrayRef(dim));
}

//===----------------------------------------------------------------------===//
// Names and kinds of values
//===----------------------------------------------------------------------===//

/// Gives the operation that made `value` the user's name, unless it has one already.
void Elaborator::rename(Value &value, Ident name) {
  if (!value.isTensor())
    return;
  auto rename = [&](mlir::Location old) -> mlir::Location {
    return llvm::isa<mlir::FileLineColLoc>(old) ? mlir::NameLoc::get(attr(name.text), old) : old;
  };
  if (mlir::Operation *op = value.asTensor().getDefiningOp(); op && op->getNumResults() == 1)
    op->setLoc(rename(op->getLoc()));
}

bool Elaborator::isFree(mlir::Value value) {
  if (llvm::isa<mlir::BlockArgument>(value))
    return false;
  if (auto known = freeValues.find(value); known != freeValues.end())
    return known->second;
  mlir::Operation *op = value.getDefiningOp();
  bool free = llvm::isa<mtf::IndexOp, mtf::ConstantOp>(op);
  if (op->getNumOperands() > 0 && op->hasTrait<mtf::Elementwise>())
    free = llvm::all_of(op->getOperands(), [&](mlir::Value operand) { return isFree(operand); });
  return freeValues[value] = free;
}
