//===- BuiltinsDims.cpp - functions of dimensions ----------------------------------===//
#include "Builtins.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

/// The dims that argument `i`, a name, stands for; none after an error.
static std::optional<Dims> namedDims(BuiltinCall &call, size_t i) {
  const auto *name = llvm::dyn_cast<NameExpr>(call.expr(i));
  if (!name)
    return call.wrongUse() << ", with a name of a dimension";
  if (std::optional<Dims> dims = call.e.lookupDims(name->name))
    return dims;
  llvm::SmallVector<StringRef> known(llvm::make_first_range(call.e.frame().module->dims));
  llvm::append_range(known, call.e.frame().dims.keys());
  return call.e.error(name->loc) << "the size of '" << name->name << "' is not known here" << didYouMean(name->name, known);
}

/// index(d): the place along d, or the iteration of the enclosing loop over d.
static Value index(BuiltinCall &call) {
  std::optional<Dims> dims = namedDims(call, 0);
  if (!dims || !call.e.canBuild(call.loc()))
    return {};
  if (dims->size() != 1)
    return call.error() << "'index' takes one dimension, not a list of " << dims->size();
  for (const std::unique_ptr<Loop> &loop : call.e.function->loops)
    if (loop->dim.getName() == dims->front().getName())
      return Value::ofTensor(loop->index);
  if (!call.e.makeType(call.loc(), *dims, call.e.i32))
    return {};
  return Value::ofTensor(mtf::IndexOp::create(call.e.builder, call.at(), mtf::NamedTensorType::get(*dims, call.e.i32),
                                              dims->front().getName(), mlir::Value()));
}

static Value size(BuiltinCall &call) {
  std::optional<Dims> dims = namedDims(call, 0);
  if (!dims)
    return {};
  return call.e.productOf(*dims, call.loc());
}

/// Reports a dim that the operation would give to a tensor that has it.
static bool expectNew(BuiltinCall &call, Loc loc, mtf::NamedTensorType type, StringAttr name) {
  if (!type.hasDim(name))
    return true;
  call.e.error(loc) << "'" << name.getValue() << "' is a dimension of " << spell(type) << " already; choose another name";
  return false;
}

static Value rename(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  if (!input)
    return {};
  if (call.args.expr->arrows.empty())
    return call.wrongUse();
  Names from, to;
  mtf::NamedTensorType type = mtf::tensorType(input);
  for (const Arrow &arrow : call.args.expr->arrows) {
    Names source = call.e.namesOf(arrow.from.text);
    for (StringAttr name : source)
      if (!call.e.expectDim(arrow.from.loc, type, name, call.expr(0)))
        return {};
    if (source.size() != 1)
      return call.e.error(arrow.from.loc) << "'" << arrow.from.text << "' is a list of " << source.size() << " dimensions; rename one at a time";
    std::optional<Dims> target = call.e.newDims(arrow.to, type.dimSize(source.front()));
    if (!target)
      return {};
    if (target->size() != 1 || arrow.to.value)
      return call.wrongUse();
    from.push_back(source.front());
    to.push_back(target->front().getName());
  }
  Dims dims;
  for (mtf::DimAttr dim : type.getDims()) {
    auto renamed = llvm::find(from, dim.getName());
    dims.push_back(renamed == from.end() ? dim : dim.withName(to[renamed - from.begin()]));
  }
  if (!call.e.makeType(call.loc(), dims, type.getElementType()))
    return {};
  return Value::ofTensor(mtf::RenameOp::create(call.e.builder, call.at(), input, from, to));
}

/// Names of dims in positional and named arguments and at one side of the arrow, in the order they are written.
static std::vector<DimItem> dimItems(BuiltinCall &call, bool fromArrow) {
  std::vector<DimItem> items;
  for (size_t i : llvm::seq<size_t>(1, call.size()))
    if (const auto *name = llvm::dyn_cast<NameExpr>(call.expr(i)))
      items.push_back({{name->name, name->loc}});
  for (const NamedArg &named : call.args.expr->named)
    items.push_back({named.name, false, named.value});
  for (const Arrow &arrow : call.args.expr->arrows)
    items.push_back(fromArrow ? DimItem{arrow.from} : arrow.to);
  llvm::sort(items, [](const DimItem &a, const DimItem &b) {
    return std::pair(a.name.loc.line, a.name.loc.column) < std::pair(b.name.loc.line, b.name.loc.column);
  });
  return items;
}

/// x.split(d -> outer = 4, inner): one part may leave its size to the others.
static Value split(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  if (!input)
    return {};
  if (call.args.expr->arrows.size() != 1)
    return call.wrongUse();
  const Ident &source = call.args.expr->arrows.front().from;
  Names names = call.e.namesOf(source.text);
  mtf::NamedTensorType type = mtf::tensorType(input);
  if (names.size() != 1)
    return call.wrongUse();
  if (!call.e.expectDim(source.loc, type, names.front(), call.expr(0)))
    return {};
  int64_t whole = type.dimSize(names.front()), known = 1;
  std::vector<DimItem> items = dimItems(call, /*fromArrow=*/false);
  const DimItem *open = nullptr;
  for (const DimItem &item : items) {
    std::optional<Dims> dims = item.value ? std::nullopt : call.e.lookupDims(item.name.text);
    if (!item.value && !dims) {
      if (open)
        return call.e.error(item.name.loc) << "the sizes of '" << open->name.text << "' and '" << item.name.text << "' are both open; give one";
      open = &item;
      continue;
    }
    std::optional<int64_t> size = item.value ? call.e.evaluateSize(*item.value) : std::optional<int64_t>(1);
    if (!size)
      return {};
    std::optional<int64_t> product = llvm::checkedMul(known, *size);
    for (mtf::DimAttr dim : dims.value_or(Dims()))
      product = product ? llvm::checkedMul(*product, dim.getSize()) : product;
    if (!product)
      return call.error() << "the product of the sizes does not fit in 63 bits";
    known = *product;
  }
  if (whole % known != 0 || (!open && known != whole))
    return call.error() << "'" << source.text << "' has size " << whole << ", which is not " << (open ? "a multiple of " : "the product of the parts, ")
                        << known;
  Dims parts;
  for (const DimItem &item : items) {
    std::optional<Dims> dims = call.e.newDims(item, &item == open ? whole / known : -1);
    if (!dims)
      return {};
    parts.append(*dims);
  }
  Dims all(llvm::to_vector(type.without(names).getDims()));
  all.append(parts);
  if (!call.e.makeType(call.loc(), all, type.getElementType()))
    return {};
  return Value::ofTensor(mtf::SplitOp::create(call.e.builder, call.at(), input, names.front(), parts));
}

/// x.merge(outer, inner -> d)
static Value merge(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  if (!input)
    return {};
  if (call.args.expr->arrows.size() != 1)
    return call.wrongUse();
  mtf::NamedTensorType type = mtf::tensorType(input);
  Names names;
  int64_t size = 1;
  for (const DimItem &item : dimItems(call, /*fromArrow=*/true))
    for (StringAttr name : call.e.namesOf(item.name.text)) {
      if (!call.e.expectDim(item.name.loc, type, name, call.expr(0)))
        return {};
      names.push_back(name);
      size *= type.dimSize(name);
    }
  const DimItem &target = call.args.expr->arrows.front().to;
  std::optional<Dims> into = call.e.newDims(target, size);
  if (!into)
    return {};
  if (into->size() != 1 || into->front().getSize() != size)
    return call.e.error(target.name.loc) << "the merged dimension has size " << size << ", '" << target.name.text << "' has another";
  if (!llvm::is_contained(names, into->front().getName()) && !expectNew(call, target.name.loc, type, into->front().getName()))
    return {};
  return Value::ofTensor(mtf::MergeOp::create(call.e.builder, call.at(), input, names, into->front().getName()));
}

static Value pad(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  StringAttr dim = input ? call.oneDim("along", 0, input) : StringAttr();
  std::optional<int64_t> low = call.namedInt("low", 0), high = call.namedInt("high", 0);
  if (!dim || !low || !high)
    return {};
  if (*low < 0 || *high < 0 || *low > INT32_MAX || *high > INT32_MAX)
    return call.error() << "'pad' adds elements, low = " << *low << " and high = " << *high << " do not; use x[" << dim.getValue() << " = a:b] to cut";
  mtf::NamedTensorType type = mtf::tensorType(input);
  Value given = call.named("value");
  mlir::Type element = type.getElementType();
  Value zero = element == call.e.i1 ? Value::ofBool(false) : Value::ofInt(0);
  mlir::Value value = call.e.materialize(call.loc(), given ? given : zero, element);
  if (!value)
    return {};
  if (mtf::tensorType(value) != call.e.scalarType(element))
    return call.error() << "the value to pad with must be a scalar " << spellElement(element) << ", not " << given.describe();
  std::optional<int64_t> size = llvm::checkedAdd(type.dimSize(dim), *low + *high);
  if (!size)
    return call.error() << "the size of '" << dim.getValue() << "' does not fit in 63 bits";
  Dims dims(llvm::to_vector(type.without({dim}).getDims()));
  dims.push_back(mtf::DimAttr::get(dim, *size));
  if (!call.e.makeType(call.loc(), dims, element))
    return {};
  return Value::ofTensor(mtf::PadOp::create(call.e.builder, call.at(), input, value, dim, *low, *high));
}

/// All arguments as tensors of one element type.
static std::optional<llvm::SmallVector<mlir::Value>> sameElements(BuiltinCall &call) {
  llvm::SmallVector<mlir::Value> inputs;
  for (size_t i : llvm::seq(call.size())) {
    inputs.push_back(call.tensor(i));
    if (!inputs.back())
      return std::nullopt;
    if (mtf::tensorType(inputs.back()).getElementType() != mtf::tensorType(inputs.front()).getElementType())
      return call.error() << "'" << call.builtin.name << "' needs one element type, not " << spell(mtf::tensorType(inputs.front())) << " and "
                          << spell(mtf::tensorType(inputs.back()));
  }
  return inputs;
}

static Value concat(BuiltinCall &call) {
  auto inputs = sameElements(call);
  StringAttr dim = inputs ? call.oneDim("along", 0, inputs->front()) : StringAttr();
  if (!dim)
    return {};
  int64_t size = 0;
  mtf::NamedTensorType first = mtf::tensorType(inputs->front());
  for (auto [i, input] : llvm::enumerate(*inputs)) {
    if (!call.e.expectDim(call.expr(i)->loc, mtf::tensorType(input), dim, call.expr(i)))
      return {};
    if (mtf::tensorType(input).without({dim}) != first.without({dim}))
      return call.e.error(call.expr(i)->loc) << "'concat' along '" << dim.getValue() << "' needs the same other dimensions, not " << spell(first) << " and "
                                             << spell(mtf::tensorType(input));
    std::optional<int64_t> sum = llvm::checkedAdd(size, mtf::tensorType(input).dimSize(dim));
    if (!sum)
      return call.error() << "the size of '" << dim.getValue() << "' does not fit in 63 bits";
    size = *sum;
  }
  Dims dims(llvm::to_vector(first.without({dim}).getDims()));
  dims.push_back(mtf::DimAttr::get(dim, size));
  if (!call.e.makeType(call.loc(), dims, first.getElementType()))
    return {};
  return Value::ofTensor(mtf::ConcatOp::create(call.e.builder, call.at(), *inputs, dim));
}

static Value stack(BuiltinCall &call) {
  auto inputs = sameElements(call);
  if (!inputs)
    return {};
  mtf::NamedTensorType first = mtf::tensorType(inputs->front());
  for (auto [i, input] : llvm::enumerate(*inputs))
    if (input.getType() != first)
      return call.e.error(call.expr(i)->loc) << "'stack' needs tensors of one type, not " << spell(first) << " and " << spell(mtf::tensorType(input));
  std::optional<mtf::DimAttr> dim = call.newDim("along", inputs->size());
  if (!dim || !expectNew(call, call.clause("along")->dims.front().name.loc, first, dim->getName()))
    return {};
  if (dim->getSize() != static_cast<int64_t>(inputs->size()))
    return call.error() << "'" << dim->getName().getValue() << "' has size " << dim->getSize() << ", but " << inputs->size() << " tensors are stacked";
  Dims dims(llvm::to_vector(first.getDims()));
  dims.push_back(*dim);
  if (!call.e.makeType(call.loc(), dims, first.getElementType()))
    return {};
  return Value::ofTensor(mtf::StackOp::create(call.e.builder, call.at(), *inputs, dim->getName()));
}

static Value shift(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  StringAttr dim = input ? call.oneDim("along", 0, input) : StringAttr();
  if (!dim)
    return {};
  if (call.value(1).getKind() != Value::Kind::Int)
    return call.e.error(call.expr(1)->loc) << "'shift' moves by a whole number, not by " << call.value(1).describe();
  return Value::ofTensor(mtf::ShiftOp::create(call.e.builder, call.at(), input, dim, call.value(1).asInt()));
}

static Value window(BuiltinCall &call) {
  mlir::Value input = call.numbers(0);
  StringAttr dim = input ? call.oneDim("along", 0, input) : StringAttr();
  std::optional<int64_t> stride = call.namedInt("stride", 1), dilation = call.namedInt("dilation", 1), low = call.namedInt("low", 0),
                         high = call.namedInt("high", 0);
  if (!dim || !stride || !dilation || !low || !high)
    return {};
  std::optional<mtf::DimAttr> into = call.newDim("into");
  mtf::NamedTensorType type = mtf::tensorType(input);
  if (!into || !expectNew(call, call.clause("into")->dims.front().name.loc, type, into->getName()))
    return {};
  for (int64_t value : {*stride, *dilation, *low, *high})
    if (value < 0 || value > INT32_MAX)
      return call.error() << "'window' got " << value << "; stride and dilation are at least 1, low and high at least 0";
  std::optional<int64_t> whole = llvm::checkedAdd(type.dimSize(dim), *low + *high), steps = llvm::checkedMul(*dilation, into->getSize() - 1);
  int64_t span = whole.value_or(0), reach = steps && whole && *steps < *whole ? *steps + 1 : INT64_MAX;
  if (*stride < 1 || *dilation < 1 || reach > span)
    return call.error() << "a window of " << into->getSize() << " with dilation " << *dilation << " and stride " << *stride
                        << " does not fit into '" << dim.getValue() << "', which has " << span << " elements with its padding";
  int64_t count = (span - reach) / *stride + 1;
  Dims dims(llvm::to_vector(type.without({dim}).getDims()));
  dims.push_back(mtf::DimAttr::get(dim, count));
  dims.push_back(*into);
  if (!call.e.makeType(call.loc(), dims, type.getElementType()))
    return {};
  return Value::ofTensor(mtf::WindowOp::create(call.e.builder, call.at(), input, dim, *into, count, *stride, *dilation, *low));
}

static Value broadcast(BuiltinCall &call) {
  mlir::Value input = call.tensor(0);
  if (!input)
    return {};
  if (!call.clause("to"))
    return call.wrongUse();
  mtf::NamedTensorType type = mtf::tensorType(input);
  Dims dims(llvm::to_vector(type.getDims()));
  for (const DimItem &item : call.clause("to")->dims) {
    std::optional<Dims> target = call.e.newDims(item);
    if (!target)
      return {};
    for (mtf::DimAttr dim : *target) {
      mtf::DimAttr own = type.findDim(dim.getName());
      if (own && own != dim)
        return call.e.error(item.name.loc) << "'" << item.name.text << "' has size " << dim.getSize() << ", the value has it with size " << own.getSize();
      if (!own)
        dims.push_back(dim);
    }
  }
  std::optional<mtf::NamedTensorType> result = call.e.makeType(call.loc(), dims, type.getElementType());
  return result ? Value::ofTensor(mtf::BroadcastOp::create(call.e.builder, call.at(), *result, input)) : Value();
}

/// An argument that holds indices; null after an error.
static mlir::Value indices(BuiltinCall &call, size_t i) {
  mlir::Value input = call.tensor(i, call.e.i32);
  if (!input || mtf::tensorType(input).getElementType() == call.e.i32)
    return input;
  call.e.error(call.expr(i)->loc) << "'" << call.builtin.name << "' needs i32 indices, not " << spell(mtf::tensorType(input));
  return {};
}

static Value oneHot(BuiltinCall &call) {
  mlir::Value input = indices(call, 0);
  std::optional<mtf::DimAttr> dim = input ? call.newDim("to") : std::nullopt;
  if (!dim || !expectNew(call, call.clause("to")->dims.front().name.loc, mtf::tensorType(input), dim->getName()))
    return {};
  Dims dims(llvm::to_vector(mtf::tensorType(input).getDims()));
  dims.push_back(*dim);
  if (!call.e.makeType(call.loc(), dims, call.e.f32))
    return {};
  mlir::Value places = mtf::IndexOp::create(call.e.builder, call.at(), mtf::NamedTensorType::get(*dim, call.e.i32), dim->getName(), mlir::Value());
  mlir::Value equal = mtf::CompareOp::create(call.e.builder, call.at(), mtf::Predicate::Eq, places, input);
  return Value::ofTensor(mtf::CastOp::create(call.e.builder, call.at(), equal, call.e.f32));
}

/// scatter_add(updates, at over token into row): the updates' dims that `over` lists (all that the indices have, without it) give way to `row`.
static Value scatterAdd(BuiltinCall &call) {
  mlir::Value updates = call.numbers(0), at = indices(call, 1);
  if (!updates || !at)
    return {};
  std::optional<mtf::DimAttr> into = call.newDim("into");
  if (!into)
    return {};
  mtf::NamedTensorType type = mtf::tensorType(updates);
  for (mtf::DimAttr dim : mtf::tensorType(at).getDims())
    if (!call.e.expectDim(call.expr(1)->loc, type, dim.getName(), call.expr(0)))
      return {};
  if (!call.e.checkBroadcastSizes(call.loc(), {Value::ofTensor(updates), Value::ofTensor(at)}, call.args.exprs))
    return {};
  std::optional<Names> over = call.clause("over") ? call.dimsOf("over", 0, updates) : call.dimsOf("over", 1, at);
  if (!over)
    return {};
  mtf::NamedTensorType kept = type.without(*over);
  if (!expectNew(call, call.clause("into")->dims.front().name.loc, kept, into->getName()))
    return {};
  Dims dims(llvm::to_vector(kept.getDims()));
  dims.push_back(*into);
  // `into` may be a dim that gives way (a permutation undone): it then goes by another name before.
  if (llvm::is_contained(*over, into->getName())) {
    StringAttr other = call.e.attr(into->getName().str() + "'");
    while (type.hasDim(other))
      other = call.e.attr(other.str() + "'");
    for (mlir::Value *operand : {&updates, &at})
      if (mtf::tensorType(*operand).hasDim(into->getName()))
        *operand = mtf::RenameOp::create(call.e.builder, call.at(), *operand, llvm::ArrayRef(into->getName()), llvm::ArrayRef(other));
  }
  std::optional<mtf::NamedTensorType> result = call.e.makeType(call.loc(), dims, type.getElementType());
  return result ? Value::ofTensor(mtf::ScatterAddOp::create(call.e.builder, call.at(), *result, updates, at, into->getName())) : Value();
}

llvm::ArrayRef<Builtin> meshc::dimBuiltins() {
  static const Builtin table[] = {
      {"index", "index(d)", 1, 1, "", "", index, 0},
      {"size", "size(d)", 1, 1, "", "", size, 0},
      {"rename", "x.rename(d -> e, …)", 1, 1, "", "", rename, Builtin::kNever, true},
      {"split", "x.split(d -> outer = n, inner)", 1, kAnyNumber, "", "", split, 1, true, true},
      {"merge", "x.merge(outer, inner -> d)", 1, kAnyNumber, "", "", merge, 1, true},
      {"pad", "pad(x along d, low = 0, high = 0, value = 0)", 1, 1, "along", "low high value", pad},
      {"concat", "concat(a, b, … along d)", 1, kAnyNumber, "along", "", concat},
      {"stack", "stack(a, b, … along d)", 1, kAnyNumber, "along", "", stack},
      {"shift", "shift(x, amount along d)", 2, 2, "along", "", shift},
      {"window", "window(x along d into w = size, stride = 1, dilation = 1, low = 0, high = 0)", 1, 1, "along into",
       "stride dilation low high", window},
      {"broadcast", "broadcast(x to d, …)", 1, 1, "to", "", broadcast},
      {"one_hot", "one_hot(indices to d)", 1, 1, "to", "", oneHot},
      {"scatter_add", "scatter_add(updates, indices over d, … into e)", 2, 2, "over into", "", scatterAdd},
  };
  return table;
}
