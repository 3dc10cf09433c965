//===- Calls.cpp - binding of arguments, labels, hygiene ---------------------===//
//
// A call is expanded: its formals are bound to values and to dims, its body is executed in a frame of its own.
//
// Hygiene. A formal behind `to`, `via` or `into` names dims that the call creates. Where an argument already has a dim of the actual
// name, the formal gets a primed one: in `dense(x over embed to embed)` the weight is [embed -> embed']. When the result no
// longer has the plain name the prime is dropped, so that the caller sees [.., embed].
//
// Labels. A call's label (the callee's name if it has none) is a component of the paths of parameters and random numbers made inside.
//
//===----------------------------------------------------------------------===//
#include "Builtins.h"
#include "Elaborator.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

/// No program expands to more calls; a chain of functions that each call the next twice would.
static constexpr unsigned kMaxExpansions = 20'000;
static constexpr unsigned kMaxCallDepth = 64;

Value Elaborator::evaluateCall(const CallExpr &expr) {
  CallArgs args{&expr, {}, {}, {}};
  Value callee;
  const auto *member = llvm::dyn_cast<MemberExpr>(expr.callee);
  const Expr *receiver = nullptr;
  if (member) {
    // `module.f(…)`, or `x.f(…)` for f(x, …).
    const auto *base = llvm::dyn_cast<NameExpr>(member->base);
    std::optional<Value> baseValue = base && !findVariable(base->name) ? lookup(base->name, base->loc) : std::nullopt;
    if (baseValue && baseValue->getKind() == Value::Kind::Module) {
      callee = evaluateMember(*member);
    } else {
      receiver = member->base;
      NameExpr name;
      name.name = member->name.text;
      name.loc = member->name.loc;
      callee = evaluateName(name);
    }
  } else {
    callee = evaluate(*expr.callee);
  }
  if (!callee)
    return {};
  const Builtin *builtin = callee.getKind() == Value::Kind::Builtin ? callee.asBuiltin() : nullptr;
  if (!builtin && callee.getKind() != Value::Kind::Function)
    return error(expr.loc) << "only functions are called, this is " << callee.describe();

  bool valid = true;
  auto add = [&](const Expr *arg) {
    args.exprs.push_back(arg);
    // Some built-ins take names of dims where others take values.
    bool isName = builtin && args.values.size() >= builtin->namesFrom;
    args.values.push_back(isName ? Value() : evaluate(*arg));
    valid &= isName || static_cast<bool>(args.values.back());
  };
  if (receiver)
    add(receiver);
  for (const Expr *arg : expr.args)
    add(arg);
  llvm::StringSet<> seen;
  for (const NamedArg &arg : expr.named) {
    if (!seen.insert(arg.name.text).second) {
      error(arg.name.loc) << "the argument '" << arg.name.text << "' is given twice";
      valid = false;
    }
    args.named.push_back({arg.name, evaluate(*arg.value)});
    valid &= static_cast<bool>(args.named.back().second);
  }
  if (!valid)
    return {};
  return builtin ? callBuiltin(*builtin, args) : callFunction(*callee.asFunction(), *callee.getModule(), args);
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

std::string Elaborator::childPath(StringRef label) const {
  const Frame &current = *frames.back();
  return current.path.empty() ? label.str() : current.path + "." + label.str();
}

bool Elaborator::beginLabel(const CallExpr &call, StringRef name, StringRef calleeName, const void *callee) {
  auto known = frame().labels.find(name);
  if (known == frame().labels.end() || !known->second.hasState)
    return true;
  const LabelUse &other = known->second;
  bool isExplicit = !call.label.text.empty();
  if (isExplicit && other.isExplicit && other.callee == callee)
    return true;
  Error message = error(isExplicit ? call.label.loc : call.loc);
  if (other.callee != callee)
    message << "the label '" << name << "' is given to '" << calleeName << "' and to '" << other.calleeName
            << "', which would mix their parameters; choose another label";
  else
    message << "two calls of '" << calleeName << "', which has parameters or random numbers, in one scope; label them (" << calleeName
            << "@a, " << calleeName << "@b), or give both one label to share";
  message.note(other.loc) << "the other call is here";
  return false;
}

void Elaborator::endLabel(const CallExpr &call, StringRef name, StringRef calleeName, const void *callee, bool hasState) {
  LabelUse use{callee, calleeName.str(), call.loc, !call.label.text.empty(), hasState};
  auto [known, isNew] = frame().labels.try_emplace(name, use);
  if (!isNew && hasState)
    known->second = use;
  frame().hasState |= hasState;
}

//===----------------------------------------------------------------------===//
// Calls of functions written in the language
//===----------------------------------------------------------------------===//

Value Elaborator::callFunction(const FnDecl &fn, ProgramModule &module, CallArgs &args) {
  const CallExpr &call = *args.expr;
  unsigned height = 0;
  for (const Frame *up = &frame(); up; up = up->caller, ++height)
    if (up->fn == &fn) {
      Error message = error(call.loc);
      message << "'" << fn.name.text << "' calls itself; the language has 'repeat' instead of recursion";
      message.note(fn.loc) << "'" << fn.name.text << "' is declared here";
      return message;
    }
  if (height > kMaxCallDepth)
    return error(call.loc) << "calls are nested more than " << kMaxCallDepth << " deep";
  if (++expansions > kMaxExpansions)
    return error(call.loc) << "the program expands to more than " << kMaxExpansions << " calls; write repetition as 'repeat'";

  StringRef label = call.label.text.empty() ? fn.name.text : call.label.text;
  if (!beginLabel(call, label, fn.name.text, &fn))
    return {};
  Frame callee;
  callee.fn = &fn;
  callee.module = &module;
  callee.caller = &frame();
  callee.callLoc = call.loc;
  callee.path = childPath(label);
  if (!bindDims(callee, call))
    return {};
  Value result;
  {
    FrameScope enter(*this, callee);
    if (bindFormals(callee, args)) {
      if (fn.isModel && !model)
        rememberModel(fn, args);
      result = invoke(callee);
    }
  }
  endLabel(call, label, fn.name.text, &fn, callee.hasState);
  return result ? unprime(callee, result, call.loc) : Value();
}

void Elaborator::rememberModel(const FnDecl &fn, const CallArgs &args) {
  model = &fn;
  modelCall = args.expr;
  modelArgs = args;
  auto typeOf = [](const Value &value) { return value.isTensor() ? value.type() : mtf::NamedTensorType(); };
  for (const Value &value : args.values)
    modelArgTypes.push_back(typeOf(value));
  for (const auto &[name, value] : args.named)
    modelNamedTypes.push_back(typeOf(value));
}

/// Executes the body; the frame is entered and bound.
Value Elaborator::invoke(Frame &callee) {
  const FnDecl &fn = *callee.fn;
  std::optional<llvm::SmallDenseSet<StringAttr>> annotation;
  if (fn.results.size() == 1 && !fn.resultTuple)
    annotation = annotatedDims(fn.results.front());
  callee.annotatedResult = annotation ? &*annotation : nullptr;
  if (!execute(*fn.body))
    return {};
  if (!callee.result)
    return error(fn.name.loc) << "'" << fn.name.text << "' ends without 'return'";
  return checkResult(fn, *callee.result);
}

Value Elaborator::checkResult(const FnDecl &fn, Value value) {
  if (!value || fn.results.empty())
    return value;
  if (!fn.resultTuple)
    return annotate(value, *fn.results.front(), "the result of '" + fn.name.text.str() + "'", frame().resultLoc);
  if (value.getKind() != Value::Kind::Tuple || value.asTuple().size() != fn.results.size())
    return error(frame().resultLoc) << "'" << fn.name.text << "' promises " << fn.results.size() << " results but returns " << value.describe();
  std::vector<Value> items;
  for (auto [item, type] : llvm::zip(value.asTuple(), fn.results)) {
    // `-> (w, m, v)` only names its results.
    bool isName = !type->shape && !elementTypeOf(type->element.text);
    items.push_back(isName ? item : annotate(item, *type, "a result of '" + fn.name.text.str() + "'", frame().resultLoc));
    if (!items.back())
      return {};
  }
  return Value::ofTuple(std::move(items));
}

Value Elaborator::unprime(Frame &callee, Value value, Loc loc) {
  if (value.getKind() == Value::Kind::Tuple) {
    std::vector<Value> items;
    for (const Value &item : value.asTuple())
      items.push_back(unprime(callee, item, loc));
    return Value::ofTuple(std::move(items));
  }
  if (!value.isTensor())
    return value;
  Names from, to;
  for (auto [primed, plain] : callee.primed)
    if (value.type().hasDim(primed) && !value.type().hasDim(plain) && !llvm::is_contained(to, plain)) {
      from.push_back(primed);
      to.push_back(plain);
    }
  if (from.empty())
    return value;
  return Value::ofTensor(mtf::RenameOp::create(builder, location(loc), value.asTensor(), from, to));
}

//===----------------------------------------------------------------------===//
// Formals
//===----------------------------------------------------------------------===//

/// Binds the names behind clause words, evaluated in the caller's frame, which is the current one.
bool Elaborator::bindDims(Frame &callee, const CallExpr &call) {
  const FnDecl &fn = *callee.fn;
  llvm::StringMap<llvm::SmallVector<const Formal *>> formals;
  for (const Formal &formal : fn.formals)
    if (!formal.word.empty())
      formals[formal.word].push_back(&formal);
  for (const Clause &clause : call.clauses) {
    auto known = formals.find(clause.word.text);
    if (known == formals.end()) {
      Error message = error(clause.word.loc);
      message << "'" << fn.name.text << "' takes no dimensions with '" << clause.word.text << "'";
      message.note(fn.name.loc) << "'" << fn.name.text << "' is declared here";
      return false;
    }
    llvm::SmallVector<const Formal *> &targets = known->second;
    bool creates = clause.word.text == "to" || clause.word.text == "via" || clause.word.text == "into";
    size_t next = 0;
    for (const DimItem &item : clause.dims) {
      Dims dims;
      if (creates || item.value) {
        std::optional<Dims> made = newDims(item);
        if (!made)
          return false;
        dims = *made;
      } else if (std::optional<Dims> declared = lookupDims(item.name.text)) {
        dims = *declared;
      } else {
        // A dim without a declaration: its size comes with the arguments.
        dims.push_back(mtf::DimAttr::get(attr(item.name.text), 1));
      }
      if (next == targets.size()) {
        Error message = error(item.name.loc);
        message << "'" << fn.name.text << "' takes " << targets.size() << (targets.size() == 1 ? " dimension" : " dimensions") << " with '"
                << clause.word.text << "', '" << item.name.text << "' is one too many";
        message.note(fn.name.loc) << "'" << fn.name.text << "' is declared here";
        return false;
      }
      const Formal &formal = *targets[next];
      Dims &bound = callee.dims[formal.name.text];
      bound.append(dims.begin(), dims.end());
      if (!formal.list) {
        if (bound.size() != 1) {
          error(item.name.loc) << "'" << item.name.text << "' stands for " << bound.size() << " dimensions, '" << fn.name.text << "' takes one";
          return false;
        }
        ++next;
      }
    }
  }
  for (const Formal &formal : fn.formals) {
    if (formal.word.empty() || callee.dims.contains(formal.name.text))
      continue;
    if (formal.list) {
      callee.dims[formal.name.text] = {};
      continue;
    }
    Error message = error(call.loc);
    message << "'" << fn.name.text << "' needs a dimension: " << fn.name.text << "(… " << formal.word << " " << formal.name.text << ")";
    message.note(formal.name.loc) << "'" << formal.name.text << "' is declared here";
    return false;
  }
  return true;
}

static bool createsDims(const Formal &formal) { return formal.word == "to" || formal.word == "via" || formal.word == "into"; }

/// Binds values; the callee's frame is the current one. Order matters: the arguments say which dims are present, then formals that create
/// dims are primed against them, then defaults, which may speak of both, are evaluated.
bool Elaborator::bindFormals(Frame &callee, CallArgs &args) {
  const FnDecl &fn = *callee.fn;
  const CallExpr &call = *args.expr;
  llvm::SmallVector<const Formal *> values;
  for (const Formal &formal : fn.formals)
    if (formal.word.empty())
      values.push_back(&formal);
  size_t positional = llvm::count_if(values, [](const Formal *formal) { return !formal->keyword; });
  if (args.values.size() > positional) {
    Error message = error(args.exprs[positional]->loc);
    message << "'" << fn.name.text << "' takes " << positional << (positional == 1 ? " argument" : " arguments") << ", not " << args.values.size();
    message.note(fn.name.loc) << "'" << fn.name.text << "' is declared here";
    return false;
  }
  if (!call.arrows.empty()) {
    error(call.arrows.front().from.loc) << "'" << fn.name.text << "' takes no renaming 'a -> b'";
    return false;
  }
  struct Actual {
    Value value;
    Loc loc;
    const Expr *expr = nullptr;
  };
  std::vector<std::optional<Actual>> actuals(values.size());
  for (size_t i = 0; i < args.values.size(); ++i)
    actuals[i] = Actual{args.values[i], args.exprs[i]->loc, args.exprs[i]};
  for (auto &[name, value] : args.named) {
    auto formal = llvm::find_if(values, [&, &name = name](const Formal *formal) { return formal->name.text == name.text; });
    if (formal == values.end()) {
      llvm::SmallVector<StringRef> known;
      for (const Formal *each : values)
        known.push_back(each->name.text);
      Error message = error(name.loc);
      message << "'" << fn.name.text << "' has no argument '" << name.text << "'" << didYouMean(name.text, known);
      message.note(fn.name.loc) << "'" << fn.name.text << "' is declared here";
      return false;
    }
    std::optional<Actual> &slot = actuals[formal - values.begin()];
    if (slot) {
      error(name.loc) << "the argument '" << name.text << "' is given twice, by position and by name";
      return false;
    }
    slot = Actual{value, name.loc};
  }
  for (const auto &actual : actuals)
    if (actual && actual->value.isTensor())
      for (mtf::DimAttr dim : actual->value.type().getDims())
        callee.present.insert(dim.getName());
  // Sizes of dims that arguments have are theirs.
  for (auto &entry : callee.dims)
    for (mtf::DimAttr &dim : entry.second)
      for (const auto &actual : actuals)
        if (actual && actual->value.isTensor())
          if (mtf::DimAttr own = actual->value.type().findDim(dim.getName()); own && !isCreated(fn, entry.getKey()))
            dim = own;
  for (const Formal &formal : fn.formals) {
    if (!createsDims(formal))
      continue;
    for (mtf::DimAttr &dim : callee.dims[formal.name.text]) {
      StringAttr fresh = freshName(dim.getName().getValue());
      if (fresh != dim.getName())
        callee.primed.push_back({fresh, dim.getName()});
      dim = dim.withName(fresh);
      callee.present.insert(fresh);
    }
  }
  for (auto [formal, actual] : llvm::zip(values, actuals)) {
    if (!actual) {
      if (!formal->defaultValue) {
        Error message = error(call.loc);
        message << "'" << fn.name.text << "' needs the argument '" << formal->name.text << "'";
        message.note(formal->name.loc) << "'" << formal->name.text << "' is declared here";
        return false;
      }
      actual = Actual{evaluate(*formal->defaultValue), formal->defaultValue->loc};
      if (!actual->value)
        return false;
    }
    if (!bindValue(callee, *formal, actual->value, actual->loc, actual->expr))
      return false;
  }
  return true;
}

bool Elaborator::isCreated(const FnDecl &fn, StringRef name) {
  return llvm::any_of(fn.formals, [&](const Formal &formal) { return formal.name.text == name && createsDims(formal); });
}

bool Elaborator::bindValue(Frame &callee, const Formal &formal, const Value &value, Loc loc, const Expr *expr) {
  auto bind = [&](Value bound) {
    callee.scopes.back()[formal.name.text] = {bound, formal.name.loc};
    return true;
  };
  if (!formal.type)
    return bind(value);
  auto mismatch = [&](StringRef expected) {
    Error message = error(loc);
    message << "'" << formal.name.text << "' of '" << callee.fn->name.text << "' must be " << expected << ", not " << value.describe();
    message.note(formal.name.loc) << "'" << formal.name.text << "' is declared here";
    return false;
  };
  const TypeRef &type = *formal.type;
  StringRef word = type.element.text;
  if (!type.shape) {
    if (word == "bool")
      return value.isBool() ? bind(value) : mismatch("true or false, known while the program is compiled");
    if (word == "int")
      return value.getKind() == Value::Kind::Int ? bind(value) : mismatch("a whole number");
    if (word == "float")
      return value.isNumber() ? bind(value) : mismatch("a number");
    if (word == "string")
      return value.getKind() == Value::Kind::String ? bind(value) : mismatch("a text in quotes");
    if (word == "init")
      return value.getKind() == Value::Kind::Init ? bind(value) : mismatch("an initializer such as normal(0.02)");
    if (word == "function")
      return value.getKind() == Value::Kind::Function || value.getKind() == Value::Kind::Builtin ? bind(value) : mismatch("a function");
  }
  // Flags may stand for masks: `where: bool[..] = true`.
  if (value.isBool() && word == "bool")
    return bind(value);
  if (!value.isTensor() && !value.isScalar())
    return mismatch("a tensor");
  std::optional<mlir::Type> element = word.empty() ? std::optional<mlir::Type>(mlir::Type()) : elementType(type.element);
  if (!element)
    return false;
  mlir::Value tensor = materialize(loc, value, *element);
  if (!tensor)
    return false;
  mtf::NamedTensorType actual = mtf::tensorType(tensor);
  if (*element && actual.getElementType() != *element)
    return mismatch("of type " + spellElement(*element));
  if (type.shape && !matchShape(callee, *type.shape, actual, formal.name.text, loc, formal.name.loc))
    return false;
  return bind(Value::ofTensor(tensor));
}

/// Checks the dims of an argument. A name that is neither a formal nor declared is bound if it is the only one left to match.
bool Elaborator::matchShape(Frame &callee, const Shape &shape, mtf::NamedTensorType type, StringRef name, Loc loc, Loc declared) {
  auto fail = [&](const llvm::Twine &what) {
    Error message = error(loc);
    message << "'" << name << "' of '" << callee.fn->name.text << "' is " << spell(type) << ", " << what.str();
    message.note(declared) << "'" << name << "' is declared here";
    return false;
  };
  llvm::SmallDenseSet<StringAttr> matched;
  const ShapeItem *unknown = nullptr;
  bool rest = false;
  for (const ShapeItem &item : shape.items) {
    if (item.rest) {
      rest = true;
      continue;
    }
    std::optional<Dims> dims = lookupDims(item.name.text);
    if (!dims) {
      if (unknown)
        return fail("and which of its dimensions are '" + unknown->name.text + "' and '" + item.name.text +
                    "' cannot be told; name them with 'over'");
      unknown = &item;
      continue;
    }
    if (item.size) {
      std::optional<int64_t> size = evaluateSize(*item.size);
      if (!size)
        return false;
      for (mtf::DimAttr &dim : *dims)
        dim = mtf::DimAttr::get(dim.getName(), *size);
    }
    for (mtf::DimAttr dim : *dims) {
      mtf::DimAttr own = type.findDim(dim.getName());
      if (!own)
        return fail("without the dimension '" + dim.getName().getValue() + "'");
      if (own.getSize() != dim.getSize())
        return fail("but '" + dim.getName().getValue() + "' should have size " + llvm::Twine(dim.getSize()));
      matched.insert(dim.getName());
    }
  }
  Dims left;
  llvm::copy_if(type.getDims(), std::back_inserter(left), [&](mtf::DimAttr dim) { return !matched.contains(dim.getName()); });
  if (unknown) {
    if (left.size() != 1 || rest)
      return fail("and which of its dimensions is '" + unknown->name.text + "' cannot be told; declare '" + unknown->name.text +
                  "' with 'dim' or name it with 'over'");
    callee.dims[unknown->name.text] = {left.front()};
    return true;
  }
  if (!rest && !left.empty())
    return fail("which has the dimension '" + left.front().getName().getValue() + "' too many; write [..] to allow others");
  return true;
}
