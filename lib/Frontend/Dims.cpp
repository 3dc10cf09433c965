//===- Dims.cpp - sizes, names of dimensions, types -----------------------===//
//
// `batch` has two sizes: the number of sequences of an optimizer step where the program uses it as a number, and that of one microbatch
// in types. Sizes of other dims follow the one or the other.
//
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

static constexpr StringRef kBatch = "batch";

bool Elaborator::checkSize(Loc loc, StringRef name, int64_t size) {
  if (size >= 1)
    return true;
  error(loc) << "dimension '" << name << "' has size " << size << "; sizes are at least 1";
  return false;
}

Value Elaborator::evaluateSetting(ProgramModule &module, StringRef name, Setting &setting, bool isDim, bool part) {
  Setting::State &state = setting.states[part];
  if (state == Setting::State::Done)
    return setting.values[part];
  if (state == Setting::State::Running)
    return error(setting.loc) << "'" << name << "' is defined by itself";
  state = Setting::State::Running;
  Value value;
  if (setting.override) {
    value = *setting.override;
  } else {
    bool outer = partSizes;
    partSizes = part;
    value = evaluateStatic(*setting.expr, setting.scope ? *setting.scope : module);
    partSizes = outer;
  }
  if (value && isDim) {
    if (value.getKind() == Value::Kind::Float) {
      value = error(setting.expr->loc) << "the size of '" << name << "' is " << spellNumber(value.asDouble())
                                       << ", not a whole number; write ceil(…) to round up";
    } else if (value.getKind() != Value::Kind::Int) {
      value = error(setting.expr->loc) << "the size of '" << name << "' must be a whole number, not " << value.describe();
    } else if (!checkSize(setting.loc, name, value.asInt())) {
      value = {};
    } else if (part && name == kBatch && &module == &root) {
      value = Value::ofInt(value.asInt() / microbatches);
    }
  }
  state = Setting::State::Done;
  return setting.values[part] = value;
}

std::optional<int64_t> Elaborator::evaluateSize(const Expr &expr) {
  bool outer = partSizes;
  partSizes = true;
  Value value = evaluate(expr);
  partSizes = outer;
  if (!value)
    return std::nullopt;
  if (value.getKind() == Value::Kind::Float)
    return error(expr.loc) << "this size is " << spellNumber(value.asDouble())
                           << ", not a whole number; write ceil(…) to round up";
  if (value.getKind() != Value::Kind::Int)
    return error(expr.loc) << "a size must be a whole number, not " << value.describe();
  if (value.asInt() < 1)
    return error(expr.loc) << "this size is " << value.asInt() << "; sizes are at least 1";
  return value.asInt();
}

int64_t Elaborator::wholeSize(mtf::DimAttr dim) const {
  return dim.getName().getValue() == kBatch ? dim.getSize() * microbatches : dim.getSize();
}

Value Elaborator::productOf(llvm::ArrayRef<mtf::DimAttr> dims, Loc loc) {
  int64_t product = 1;
  for (mtf::DimAttr dim : dims)
    if (llvm::MulOverflow(product, partSizes ? dim.getSize() : wholeSize(dim), product))
      return error(loc) << "the product of the sizes " << spellDims(dims) << " does not fit in 63 bits";
  return Value::ofInt(product);
}

std::optional<Dims> Elaborator::lookupDims(StringRef name) {
  if (auto local = frame().dims.find(name); local != frame().dims.end())
    return local->second;
  ProgramModule &module = *frame().module;
  auto declared = module.dims.find(name);
  if (declared == module.dims.end())
    return std::nullopt;
  Value size = evaluateSetting(module, declared->first, declared->second, /*isDim=*/true, /*part=*/true);
  StringAttr dim = attr(name);
  // A dim whose size is wrong has been reported; size 1 lets the rest be checked.
  return Dims{mtf::DimAttr::get(dim, size ? size.asInt() : 1)};
}

Names Elaborator::namesOf(StringRef name) {
  Names names;
  auto local = frame().dims.find(name);
  if (local == frame().dims.end())
    return {attr(name)};
  for (mtf::DimAttr dim : local->second)
    names.push_back(dim.getName());
  return names;
}

StringAttr Elaborator::freshName(StringRef name) {
  std::string fresh = name.str();
  while (frame().present.contains(attr(fresh)))
    fresh += '\'';
  return attr(fresh);
}

std::optional<Dims> Elaborator::newDims(const DimItem &item, int64_t implied) {
  if (item.value) {
    std::optional<int64_t> size = evaluateSize(*item.value);
    if (!size)
      return std::nullopt;
    implied = *size;
  }
  std::optional<Dims> known = lookupDims(item.name.text);
  if (implied < 0) {
    if (known)
      return known;
    llvm::SmallVector<StringRef> names(llvm::make_first_range(frame().module->dims));
    return error(item.name.loc) << "the size of '" << item.name.text << "' is not known" << didYouMean(item.name.text, names)
                                << " (declare it with 'dim', or write '" << item.name.text << " = size' here)";
  }
  if (known && known->size() == 1) {
    // A size given here wins over the declared one: `height -> height = height / 2`.
    StringAttr name = known->front().getName();
    return Dims{mtf::DimAttr::get(name, implied)};
  }
  StringAttr name = frame().fn ? freshName(item.name.text) : attr(item.name.text);
  Dims dims{mtf::DimAttr::get(name, implied)};
  // From here on the name means this dim, in `index(d)` and in shapes.
  frame().dims[item.name.text] = dims;
  dimOrder.insert(name);
  return dims;
}

std::optional<mtf::NamedTensorType> Elaborator::makeType(Loc loc, llvm::ArrayRef<mtf::DimAttr> dims, mlir::Type element) {
  llvm::SmallDenseSet<StringAttr> seen;
  int64_t count = 1;
  for (mtf::DimAttr dim : dims) {
    if (!seen.insert(dim.getName()).second)
      return error(loc) << "dimension '" << dim.getName().getValue() << "' occurs twice in one tensor; rename one of the two";
    if (llvm::MulOverflow(count, dim.getSize(), count))
      return error(loc) << "a tensor with the dimensions " << spellDims(dims) << " has more than 2^63 elements";
  }
  for (mtf::DimAttr dim : dims)
    dimOrder.insert(dim.getName());
  return mtf::NamedTensorType::get(dims, element);
}

std::optional<mlir::Type> Elaborator::elementType(Ident name) {
  static constexpr StringRef known[] = {"f32", "bf16", "f64", "i32", "bool"};
  if (mlir::Type type = elementTypeOf(name.text))
    return type;
  return error(name.loc) << "unknown element type '" << name.text << "'" << didYouMean(name.text, known)
                         << " (the types are f32, bf16, f64, i32, bool)";
}

mlir::Type Elaborator::elementTypeOf(StringRef name) {
  if (name == "f32")
    return f32;
  if (name == "bf16")
    return builder.getBF16Type();
  if (name == "f64")
    return builder.getF64Type();
  if (name == "i32")
    return i32;
  if (name == "bool")
    return i1;
  return {};
}

bool Elaborator::expectDim(Loc loc, mtf::NamedTensorType type, StringAttr dim, const Expr *expr) {
  if (type.hasDim(dim))
    return true;
  llvm::SmallVector<StringRef> known;
  for (mtf::DimAttr present : type.getDims())
    known.push_back(present.getName().getValue());
  Error message = error(loc);
  message << nameOf(expr, "the value") << " has no dimension '" << dim.getValue() << "'" << didYouMean(dim.getValue(), known)
          << "; it is " << spell(type);
  noteDeclaration(message, expr);
  return false;
}

void Elaborator::noteDeclaration(Error &error, const Expr *expr) {
  const auto *name = llvm::dyn_cast_if_present<NameExpr>(expr);
  const Variable *variable = name ? findVariable(name->name) : nullptr;
  if (variable && variable->loc.line)
    error.note(variable->loc) << "'" << name->name << "' is declared here"
                              << (variable->value.isTensor() ? ": " + spell(variable->value.type()) : "");
}

//===----------------------------------------------------------------------===//
// Spelling of types and values in messages
//===----------------------------------------------------------------------===//

std::string meshc::spellNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

std::string meshc::nameOf(const Expr *expr, StringRef otherwise) {
  const auto *name = llvm::dyn_cast_if_present<NameExpr>(expr);
  return name ? ("'" + name->name + "'").str() : otherwise.str();
}

std::string meshc::spellElement(mlir::Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string meshc::spellDims(llvm::ArrayRef<mtf::DimAttr> dims) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(dims, os, [&](mtf::DimAttr dim) { os << dim.getName().getValue() << "=" << dim.getSize(); });
  os << "]";
  return text;
}

std::string meshc::spell(mtf::NamedTensorType type) { return spellElement(type.getElementType()) + spellDims(type.getDims()); }

std::string Value::describe() const {
  switch (kind) {
  case Kind::Invalid: return "an invalid value";
  case Kind::Int: return "the number " + std::to_string(intValue);
  case Kind::Float: return "the number " + spellNumber(floatValue);
  case Kind::Bool: return intValue ? "true" : "false";
  case Kind::String: return ("the text \"" + text + "\"").str();
  case Kind::Tensor: return spell(type());
  case Kind::Tuple: return "a tuple of " + std::to_string(items->size());
  case Kind::Function: return ("the function '" + fn->name.text + "'").str();
  case Kind::Builtin: return "a built-in function";
  case Kind::Init: return "an initializer";
  case Kind::ElementType: return "the type " + spellElement(elementType);
  case Kind::Module: return "an imported module";
  }
  return "a value";
}
