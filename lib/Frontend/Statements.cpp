//===- Statements.cpp - let, if, dim, return, annotations -------------------===//
#include "Elaborator.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

/// Executes until `return` or `next`. A statement with an error makes the result false, but the ones after it are executed too, so that one run
/// shows several errors; names it should have defined are invalid.
bool Elaborator::execute(const Block &block) {
  bool valid = true;
  for (const Stmt *stmt : block.stmts) {
    Loop *loop = currentLoop();
    bool ended = frame().result || (loop && loop->nextStmt);
    if (ended) {
      error(stmt->loc) << "this statement is never reached";
      return false;
    }
    valid &= execute(*stmt);
    if (diagnostics.tooMany())
      return false;
  }
  return valid;
}

bool Elaborator::execute(const Stmt &stmt) {
  return llvm::TypeSwitch<const Stmt *, bool>(&stmt)
      .Case([&](const LetStmt *s) { return executeLet(*s); })
      .Case([&](const ParamStmt *s) { return executeParam(*s); })
      .Case([&](const ReturnStmt *s) {
        if (currentLoop()) {
          error(s->loc) << "'return' inside 'repeat'; end the body with 'next'";
          return false;
        }
        llvm::SaveAndRestore annotated(frame().annotated, frame().annotatedResult);
        frame().result = evaluate(*s->value);
        frame().resultLoc = s->value->loc;
        return static_cast<bool>(*frame().result);
      })
      .Case([&](const NextStmt *s) { return executeNext(*s); })
      .Case([&](const IfStmt *s) {
        std::optional<bool> condition = evaluateCondition(*s->condition);
        if (!condition)
          return false;
        // What the branch defines stays defined after it, as if only that branch were written.
        const Block *taken = *condition ? s->onTrue : s->onFalse;
        return !taken || execute(*taken);
      })
      .Case([&](const DimStmt *s) {
        bool valid = true;
        for (const NamedArg &dim : s->dims) {
          std::optional<int64_t> size = evaluateSize(*dim.value);
          valid &= size.has_value();
          StringAttr name = frame().fn ? freshName(dim.name.text) : attr(dim.name.text);
          frame().dims[dim.name.text] = {mtf::DimAttr::get(name, size.value_or(1))};
          dimOrder.insert(name);
        }
        return valid;
      });
}

bool Elaborator::define(Ident name, Value value) {
  auto [known, isNew] = frame().scopes.back().try_emplace(name.text, Variable{value, name.loc});
  if (isNew)
    return true;
  Error message = error(name.loc);
  message << "'" << name.text << "' is defined twice in one scope";
  message.note(known->second.loc) << "the other '" << name.text << "' is here";
  return false;
}

bool Elaborator::executeLet(const LetStmt &let) {
  if (!let.tuple) {
    const Binder &binder = let.binders.front();
    std::optional<llvm::SmallDenseSet<StringAttr>> annotation = annotatedDims(binder.type);
    Value value;
    {
      const llvm::SmallDenseSet<StringAttr> *dims = annotation ? &*annotation : nullptr;
      llvm::SaveAndRestore annotated(frame().annotated, dims);
      value = evaluate(*let.value);
    }
    if (value && binder.type)
      value = annotate(value, *binder.type, "'" + binder.name.text.str() + "'", binder.name.loc);
    rename(value, binder.name);
    value = tapIfPinned(value, binder.name.text, binder.name.loc);
    return define(binder.name, value) && value;
  }
  Value value = evaluate(*let.value);
  bool matches = value.getKind() == Value::Kind::Tuple && value.asTuple().size() == let.binders.size();
  if (value && !matches && let.binders.size() == 1 && value.getKind() != Value::Kind::Tuple) {
    value = Value::ofTuple({value});
    matches = true;
  }
  if (value && !matches)
    value = error(let.loc) << "the pattern has " << let.binders.size() << (let.binders.size() == 1 ? " name" : " names") << " but the value is "
                           << value.describe();
  bool valid = static_cast<bool>(value);
  for (auto [i, binder] : llvm::enumerate(let.binders)) {
    Value item = value ? value.asTuple()[i] : Value();
    if (item && binder.type)
      item = annotate(item, *binder.type, "'" + binder.name.text.str() + "'", binder.name.loc);
    rename(item, binder.name);
    item = tapIfPinned(item, binder.name.text, binder.name.loc);
    valid &= define(binder.name, item) && item;
  }
  return valid;
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

/// The dims that an annotation lists, none if it lists no shape.
std::optional<llvm::SmallDenseSet<StringAttr>> Elaborator::annotatedDims(const TypeRef *type) {
  if (!type || !type->shape)
    return std::nullopt;
  llvm::SmallDenseSet<StringAttr> dims;
  for (const ShapeItem &item : type->shape->items)
    if (!item.rest)
      for (StringAttr name : namesOf(item.name.text))
        dims.insert(name);
  return dims;
}

Value Elaborator::annotate(Value value, const TypeRef &type, StringRef name, Loc loc) {
  std::optional<mlir::Type> element;
  if (!type.element.text.empty() && !(element = elementType(type.element)))
    return {};
  if (value.isBool() && !type.shape && element == i1)
    return value;
  mlir::Value tensor = materialize(loc, value, element.value_or(mlir::Type()));
  if (!tensor)
    return {};
  mtf::NamedTensorType actual = mtf::tensorType(tensor);
  if (type.shape) {
    Dims expected;
    bool rest = false;
    for (const ShapeItem &item : type.shape->items) {
      if (item.rest) {
        rest = true;
        continue;
      }
      int64_t implied = -1;
      Names names = namesOf(item.name.text);
      if (names.size() == 1)
        if (mtf::DimAttr own = actual.findDim(names.front()))
          implied = own.getSize();
      // A declared or given size is checked; an undeclared name takes the value's.
      std::optional<Dims> dims = lookupDims(item.name.text);
      if (item.size || !dims)
        dims = newDims({item.name, item.list, item.size}, dims ? -1 : implied);
      if (!dims)
        return {};
      expected.append(dims->begin(), dims->end());
    }
    bool matches = rest || expected.size() == actual.getDims().size();
    for (mtf::DimAttr dim : expected)
      matches &= actual.findDim(dim.getName()) == dim;
    if (!matches) {
      Error message = error(loc);
      message << name << " is " << spell(actual) << ", but is annotated as " << (element ? spellElement(*element) : std::string())
              << spellDims(expected) << (rest ? " and any others" : "");
      if (type.loc.line != loc.line)
        message.note(type.loc) << "the annotation is here";
      return message;
    }
  }
  if (!element || actual.getElementType() == *element)
    return pinPrecision(tensor, element);
  bool floats = llvm::isa<mlir::FloatType>(*element) && llvm::isa<mlir::FloatType>(actual.getElementType());
  if (!floats)
    return error(loc) << name << " is " << spell(actual) << ", but is annotated as " << spellElement(*element) << "; convert it with cast(x, "
                      << spellElement(*element) << ")";
  return pinPrecision(mtf::CastOp::create(builder, location(loc), tensor, *element), element);
}

/// An annotated element type binds every pass, `precision bf16` included: it stands on the operation.
Value Elaborator::pinPrecision(mlir::Value tensor, std::optional<mlir::Type> element) {
  mlir::Operation *op = tensor.getDefiningOp();
  if (element && op && llvm::isa<mlir::FloatType>(*element))
    op->setAttr(mtf::kPinnedType, mlir::TypeAttr::get(*element));
  return Value::ofTensor(tensor);
}
