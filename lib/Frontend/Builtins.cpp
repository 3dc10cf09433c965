//===- Builtins.cpp - look-up and checks common to all built-ins -----------------===//
#include "Builtins.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

llvm::ArrayRef<Builtin> meshc::allBuiltins() {
  static const std::vector<Builtin> table = [] {
    std::vector<Builtin> all;
    for (llvm::ArrayRef<Builtin> part : {mathBuiltins(), reductionBuiltins(), dimBuiltins(), randomBuiltins()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

const Builtin *meshc::findBuiltin(StringRef name) {
  static const llvm::StringMap<const Builtin *> index = [] {
    llvm::StringMap<const Builtin *> map;
    for (const Builtin &builtin : allBuiltins())
      map[builtin.name] = &builtin;
    return map;
  }();
  return index.lookup(name);
}

static bool contains(StringRef words, StringRef word) {
  llvm::SmallVector<StringRef> parts;
  words.split(parts, ' ', -1, /*KeepEmpty=*/false);
  return llvm::is_contained(parts, word);
}

Value Elaborator::callBuiltin(const Builtin &builtin, CallArgs &args) {
  const CallExpr &call = *args.expr;
  if (!canBuildOrFold(builtin, args))
    return {};
  auto wrong = [&](Loc loc) { return error(loc) << "'" << builtin.name << "' is used as " << builtin.signature; };
  if (args.values.size() < builtin.minArgs || (builtin.maxArgs != kAnyNumber && args.values.size() > builtin.maxArgs))
    return wrong(call.loc) << ", not with " << args.values.size() << (args.values.size() == 1 ? " argument" : " arguments");
  for (const Clause &clause : call.clauses)
    if (!contains(builtin.clauses, clause.word.text))
      return wrong(clause.word.loc) << ", without '" << clause.word.text << "'";
  if (!builtin.namedAreDims)
    for (const auto &[name, value] : args.named)
      if (!contains(builtin.named, name.text)) {
        llvm::SmallVector<StringRef> known;
        StringRef(builtin.named).split(known, ' ', -1, false);
        return wrong(name.loc) << ", without '" << name.text << "'" << didYouMean(name.text, known);
      }
  if (!builtin.takesArrows && !call.arrows.empty())
    return wrong(call.arrows.front().from.loc) << ", without '->'";
  BuiltinCall context(*this, builtin, args);
  return builtin.build(context);
}

/// Functions of numbers and initializers fold; anything else needs a function of the IR to stand in.
bool Elaborator::canBuildOrFold(const Builtin &builtin, const CallArgs &args) {
  if (function || llvm::all_of(args.values, [](const Value &value) { return value && !value.isTensor(); }))
    return true;
  return canBuild(args.expr->loc);
}

Error BuiltinCall::wrongUse() {
  Error message = error();
  message << "'" << builtin.name << "' is used as " << builtin.signature;
  return message;
}

Value BuiltinCall::named(StringRef name) const {
  for (const auto &[given, value] : args.named)
    if (given.text == name)
      return value;
  return {};
}

std::optional<int64_t> BuiltinCall::namedInt(StringRef name, int64_t otherwise) {
  Value value = named(name);
  if (!value)
    return otherwise;
  if (value.getKind() != Value::Kind::Int)
    return error() << "'" << name << "' must be a whole number, not " << value.describe();
  return value.asInt();
}

std::optional<bool> BuiltinCall::namedBool(StringRef name) {
  Value value = named(name);
  if (!value)
    return false;
  if (!value.isBool())
    return error() << "'" << name << "' must be true or false, not " << value.describe();
  return value.asBool();
}

const Clause *BuiltinCall::clause(StringRef word) const {
  for (const Clause &clause : args.expr->clauses)
    if (clause.word.text == word)
      return &clause;
  return nullptr;
}

mlir::Value BuiltinCall::tensor(size_t i, mlir::Type element) { return e.materialize(expr(i)->loc, value(i), element); }

mlir::Value BuiltinCall::floats(size_t i) {
  mlir::Value result = tensor(i);
  if (!result || llvm::isa<mlir::FloatType>(mtf::tensorType(result).getElementType()))
    return result;
  Error message = e.error(expr(i)->loc);
  message << "'" << builtin.name << "' needs floats, but " << nameOf(expr(i), "its argument") << " is " << spell(mtf::tensorType(result))
          << "; convert it with cast(x, f32)";
  e.noteDeclaration(message, expr(i));
  return {};
}

mlir::Value BuiltinCall::numbers(size_t i) {
  mlir::Value result = tensor(i);
  if (!result || mtf::tensorType(result).getElementType() != e.i1)
    return result;
  e.error(expr(i)->loc) << "'" << builtin.name << "' needs numbers, but " << nameOf(expr(i), "its argument") << " holds truth values; convert it with cast(x, f32)";
  return {};
}

std::optional<Names> BuiltinCall::dimsOf(StringRef word, size_t i, mlir::Value tensor) {
  mtf::NamedTensorType type = mtf::tensorType(tensor);
  Names names;
  const Clause *given = clause(word);
  if (!given) {
    for (mtf::DimAttr dim : type.getDims())
      names.push_back(dim.getName());
    return names;
  }
  for (const DimItem &item : given->dims) {
    if (item.value)
      return e.error(item.name.loc) << "'" << word << " " << item.name.text << "' takes no size";
    for (StringAttr name : e.namesOf(item.name.text)) {
      if (!e.expectDim(item.name.loc, type, name, expr(i)))
        return std::nullopt;
      if (llvm::is_contained(names, name))
        return e.error(item.name.loc) << "'" << name.getValue() << "' is listed twice";
      names.push_back(name);
    }
  }
  return names;
}

StringAttr BuiltinCall::oneDim(StringRef word, size_t i, mlir::Value tensor) {
  if (!clause(word)) {
    wrongUse();
    return {};
  }
  std::optional<Names> names = dimsOf(word, i, tensor);
  if (!names)
    return {};
  if (names->size() == 1)
    return names->front();
  error() << "'" << builtin.name << "' takes one dimension with '" << word << "', not " << names->size();
  return {};
}

std::optional<mtf::DimAttr> BuiltinCall::newDim(StringRef word, int64_t implied) {
  const Clause *given = clause(word);
  if (!given)
    return wrongUse();
  if (given->dims.size() != 1)
    return error() << "'" << builtin.name << "' takes one dimension with '" << word << "', not " << given->dims.size();
  std::optional<Dims> dims = e.newDims(given->dims.front(), implied);
  if (!dims)
    return std::nullopt;
  if (dims->size() != 1)
    return error() << "'" << builtin.name << "' takes one dimension with '" << word << "', not " << dims->size();
  return dims->front();
}
