//===- RandomProgram.cpp - well-formed random programs ---------------------===//
#include "RandomProgram.h"
#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <random>

using namespace mlir;
using namespace meshc::mtf;

namespace {
using Names = SmallVector<StringAttr>;

class Generator {
public:
  Generator(MLIRContext &context, uint64_t seed) : random(seed), b(UnknownLoc::get(&context), &context), f32(b.getF32Type()) {}

  OwningOpRef<ModuleOp> module();

private:
  int64_t below(int64_t limit) { return static_cast<int64_t>(random() % limit); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  auto &pick(T &&list) { return list[below(list.size())]; }
  StringAttr name(const Twine &text) { return b.getStringAttr(text); }
  DimAttr dim(StringAttr name) { return DimAttr::get(name, sizes.lookup(name)); }

  void chooseDims();
  void chooseMeshAndLayout(ModuleOp module);
  NamedTensorType randomType(Type element, int64_t maxDims);
  void makeLoss(ModuleOp module);
  void makeWeight(func::FuncOp loss);
  void makeUpdate(StringRef path, NamedTensorType type);

  /// Adds `value` to the pool, tapped; too large ones are dropped.
  void keep(Value value);
  Value any() { return pick(pool); }
  /// A value with at least one dim; null if the pool has none.
  Value anyTensor();
  StringAttr anyDim(Value value) { return pick(tensorType(value).getDims()).getName(); }
  Names someDims(Value value);
  /// tanh: brings products back to moderate size.
  Value bounded(Value value) { return TanhOp::create(b, value); }
  Value constant(double value) { return ConstantOp::create(b, value, f32); }
  Value index(StringAttr name) { return IndexOp::create(b, NamedTensorType::get({dim(name)}, b.getI32Type()), name, Value()); }
  /// A condition on the indices of dims that `value` has.
  Value condition(Value value);
  /// Another name of the same size, free in `value`; null if there is none.
  StringAttr freeName(Value value, StringAttr dim);

  void elementwise();
  void contraction();
  void reduction();
  void shape();
  void indexing();
  void attention();
  void noise();
  void loop();
  void step(bool insideLoop);

  std::mt19937_64 random;
  ImplicitLocOpBuilder b;
  Type f32;
  Names names;
  llvm::DenseMap<StringAttr, int64_t> sizes;
  SmallVector<Value> pool, indices;
  Value seed, step_;
  SmallVector<Value> loopIndices;
  int counter = 0;
};
} // namespace

/// Five names; each has a second name of the same size, as `mem` is to `seq`.
void Generator::chooseDims() {
  for (const char *text : {"a", "b", "c", "d", "e"}) {
    int64_t size = chance(10) ? 1 : 2 + below(6);
    for (StringAttr dim : {name(text), name(Twine(text) + "2")}) {
      names.push_back(dim);
      sizes[dim] = size;
    }
  }
}

void Generator::chooseMeshAndLayout(ModuleOp module) {
  Names axes = {name("data"), name("model")};
  SmallVector<int64_t> axisSizes = {1 + below(3), 1 + below(4)};
  if (axisSizes[0] * axisSizes[1] == 1)
    axisSizes[1] = 2;
  if (axisSizes[0] * axisSizes[1] > 8)
    axisSizes[0] = 2;
  MLIRContext *context = b.getContext();
  module->setAttr(kMesh, MeshAttr::get(context, name("pod"), axes, axisSizes));
  SmallVector<RuleAttr> rules;
  for (int64_t i = 0, n = 1 + below(4); i < n; ++i) {
    Names dims = {pick(names)};
    if (StringAttr second = pick(names); chance(40) && second != dims[0])
      dims.push_back(second);
    RuleScope scope = chance(60) ? RuleScope::All : chance(50) ? RuleScope::Values : RuleScope::Params;
    rules.push_back(RuleAttr::get(context, dims, {pick(axes)}, scope, name(""), b.getUnknownLoc()));
  }
  module->setAttr(kLayout, LayoutAttr::get(context, rules));
  SmallVector<Attribute> order(names.begin(), names.end());
  module->setAttr(kDimOrder, b.getArrayAttr(order));
  module->setAttr(kMicrobatches, b.getI64IntegerAttr(1));
  module->setAttr(kPrecision, name("f32"));
  if (chance(50))
    module->setAttr(kClip, b.getF64FloatAttr(0.5));
}

NamedTensorType Generator::randomType(Type element, int64_t maxDims) {
  SmallVector<DimAttr> dims;
  for (int64_t i = 0, n = below(maxDims + 1); i < n; ++i)
    if (DimAttr candidate = dim(pick(names)); !llvm::is_contained(dims, candidate))
      dims.push_back(candidate);
  return NamedTensorType::get(dims, element);
}

void Generator::keep(Value value) {
  NamedTensorType type = tensorType(value);
  if (type.numElements() > 1500 || type.getDims().size() > 5 || !isa<FloatType>(type.getElementType()))
    return;
  pool.push_back(TapOp::create(b, value.getType(), name("t" + Twine(counter++)), value));
}

Value Generator::anyTensor() {
  for (int tries = 0; tries < 8; ++tries)
    if (Value value = any(); !tensorType(value).isScalar())
      return value;
  return {};
}

Names Generator::someDims(Value value) {
  Names chosen;
  for (DimAttr dim : tensorType(value).getDims())
    if (chance(50))
      chosen.push_back(dim.getName());
  if (chosen.empty())
    chosen.push_back(anyDim(value));
  return chosen;
}

Value Generator::condition(Value value) {
  Value i = index(anyDim(value)), j = index(anyDim(value));
  return CompareOp::create(b, pick(SmallVector<Predicate>{Predicate::Le, Predicate::Gt, Predicate::Ne}), i, j);
}

StringAttr Generator::freeName(Value value, StringAttr dim) {
  for (StringAttr other : names)
    if (other != dim && sizes.lookup(other) == tensorType(value).dimSize(dim) && !tensorType(value).hasDim(other))
      return other;
  return {};
}

void Generator::elementwise() {
  Value x = any(), y = any();
  switch (below(12)) {
  case 0: return keep(SinOp::create(b, x));
  case 1: return keep(SigmoidOp::create(b, x));
  case 2: return keep(ExpOp::create(b, bounded(x)));
  case 3: return keep(ErfOp::create(b, x));
  case 4: return keep(NegOp::create(b, x));
  case 5: return keep(AddOp::create(b, x, y));
  case 6: return keep(SubOp::create(b, x, y));
  case 7: return keep(bounded(MulOp::create(b, x, y)));
  case 8: return keep(DivOp::create(b, bounded(x), AddOp::create(b, constant(0.5), SigmoidOp::create(b, y))));
  case 9: return keep(MaxOp::create(b, x, y));
  case 10: return keep(RsqrtOp::create(b, AddOp::create(b, constant(1), MulOp::create(b, bounded(x), bounded(x)))));
  default:
    if (!tensorType(x).isScalar())
      keep(SelectOp::create(b, condition(x), x, y));
  }
}

void Generator::contraction() {
  Value x = any(), y = any();
  Names shared;
  for (DimAttr dim : tensorType(x).getDims())
    if (tensorType(y).hasDim(dim.getName()) && chance(70))
      shared.push_back(dim.getName());
  keep(bounded(DotOp::create(b, x, y, shared)));
}

void Generator::reduction() {
  Value x = anyTensor();
  if (!x)
    return;
  switch (below(7)) {
  case 0:
  case 1: return keep(bounded(ReduceOp::create(b, ReductionKind::Sum, x, someDims(x))));
  case 2: return keep(ReduceOp::create(b, ReductionKind::Max, x, someDims(x)));
  case 3: return keep(ReduceOp::create(b, ReductionKind::Min, x, someDims(x)));
  case 4: return keep(SoftmaxOp::create(b, x, someDims(x)));
  case 5: return keep(LogSumExpOp::create(b, x, someDims(x)));
  default: return keep(bounded(CumSumOp::create(b, x, anyDim(x), chance(50), chance(50))));
  }
}

void Generator::shape() {
  Value x = anyTensor();
  if (!x)
    return;
  StringAttr d = anyDim(x), other = freeName(x, d);
  int64_t size = tensorType(x).dimSize(d);
  switch (below(7)) {
  case 0:
  case 1:
    if (other)
      keep(RenameOp::create(b, x, ArrayRef(d), ArrayRef(other)));
    return;
  case 2: return keep(ShiftOp::create(b, x, d, below(5) - 2));
  case 3:
    // There and back again: the sizes between have no name in the layout.
    if (size > 1) {
      Value cut = SliceOp::create(b, x, d, 1, size);
      keep(PadOp::create(b, cut, constant(0.25), d, 1, 0));
    }
    return;
  case 4: {
    Value both = StackOp::create(b, ValueRange{x, SinOp::create(b, x)}, name("pair"));
    return keep(ReduceOp::create(b, ReductionKind::Max, both, ArrayRef(name("pair"))));
  }
  case 5:
    if (size > 2) {
      Value front = SliceOp::create(b, x, d, 0, size / 2), back = SliceOp::create(b, x, d, size / 2, size);
      keep(ConcatOp::create(b, ValueRange{back, front}, d));
    }
    return;
  default:
    if (tensorType(x).getDims().size() > 1) {
      Names dims = {tensorType(x).getDims()[0].getName(), tensorType(x).getDims()[1].getName()};
      SmallVector<DimAttr> parts = {tensorType(x).getDims()[0], tensorType(x).getDims()[1]};
      Value merged = MergeOp::create(b, x, dims, name("flat"));
      keep(SplitOp::create(b, SinOp::create(b, merged), name("flat"), parts));
    }
  }
}

void Generator::indexing() {
  Value table = anyTensor();
  if (!table || indices.empty())
    return;
  StringAttr over = anyDim(table);
  Value index = pick(indices);
  // The indices address `over` after a remainder; a dim that both have is batched.
  if (tensorType(index).hasDim(over))
    return;
  Value limit = ConstantOp::create(b, static_cast<double>(tensorType(table).dimSize(over)), b.getI32Type());
  index = RemOp::create(b, index, limit);
  keep(GatherOp::create(b, table, index, over));
}

void Generator::attention() {
  // q[.., s, h], k and v[.., m, h] from one value x[.., s, h].
  Value x = anyTensor();
  if (!x || tensorType(x).getDims().size() < 2)
    return;
  StringAttr s = tensorType(x).getDims()[0].getName(), h = tensorType(x).getDims()[1].getName();
  StringAttr m = freeName(x, s);
  if (!m)
    return;
  Value k = RenameOp::create(b, SinOp::create(b, x), ArrayRef(s), ArrayRef(m));
  Value mask = chance(70) ? CompareOp::create(b, Predicate::Le, index(m), index(s)).getResult() : Value();
  keep(AttendOp::create(b, x, k, k, mask, ArrayRef(h), m, 0.5).getOutput());
}

void Generator::noise() {
  Value x = any();
  Names order;
  SmallVector<int64_t> extents;
  for (DimAttr dim : tensorType(x).getDims()) {
    order.push_back(dim.getName());
    extents.push_back(dim.getSize());
  }
  SmallVector<Attribute> orderAttrs(order.begin(), order.end());
  Value mask = RandomOp::create(b, tensorType(x), Distribution::Bernoulli, llvm::APFloat(0.7), ("drop" + Twine(counter)).str(),
                                b.getArrayAttr(orderAttrs), extents, b.getArrayAttr({}), seed, step_,
                                loopIndices, ValueRange());
  keep(MulOp::create(b, x, mask));
}

/// One carry, a slice of a parameter-like value, a captured value, sometimes a stack.
void Generator::loop() {
  StringAttr dim = name("layers");
  int64_t count = 1 + below(3);
  Value init = any(), once = any();
  // The slices differ from one iteration to the next.
  auto position = IndexOp::create(b, NamedTensorType::get({DimAttr::get(dim, count)}, b.getI32Type()), dim, Value());
  Value scanned = SinOp::create(b, AddOp::create(b, once, CastOp::create(b, position, f32)));
  if (tensorType(scanned).numElements() > 1500)
    return;
  bool stacks = chance(50);
  SmallVector<Type> stackTypes;
  if (stacks)
    stackTypes.push_back(tensorType(init).with(DimAttr::get(dim, count)));
  auto repeat = RepeatOp::create(b, dim, count, ValueRange{init}, ValueRange{scanned}, stackTypes, chance(20));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(repeat.bodyBlock());
    SmallVector<Value> outer = pool;
    pool.push_back(repeat.carryArg(0));
    pool.push_back(repeat.sliceArg(0));
    loopIndices.push_back(repeat.indexArg());
    for (int64_t i = 0, n = 1 + below(4); i < n; ++i)
      step(/*insideLoop=*/true);
    // Back to the carry's dims: what it lacks is summed, what it has in excess broadcast.
    Value carry = repeat.carryArg(0), last = pool.back();
    Names extra;
    for (DimAttr dim : tensorType(last).getDims())
      if (!tensorType(carry).hasDim(dim.getName()))
        extra.push_back(dim.getName());
    if (!extra.empty())
      last = ReduceOp::create(b, ReductionKind::Sum, last, extra);
    Value next = bounded(AddOp::create(b, tensorType(carry), carry, last));
    NextOp::create(b, ValueRange{next}, stacks ? ValueRange{next} : ValueRange());
    pool = outer;
    loopIndices.pop_back();
  }
  keep(repeat.carryResults().front());
  if (stacks)
    keep(ReduceOp::create(b, ReductionKind::Sum, repeat.stackedResults().front(), ArrayRef(dim)));
}

void Generator::step(bool insideLoop) {
  int64_t kind = below(100);
  if (kind < 30)
    elementwise();
  else if (kind < 50)
    contraction();
  else if (kind < 65)
    reduction();
  else if (kind < 78)
    shape();
  else if (kind < 85)
    indexing();
  else if (kind < 90)
    attention();
  else if (kind < 94)
    noise();
  else if (!insideLoop)
    loop();
}

/// The denominator: positive, from the data alone.
void Generator::makeWeight(func::FuncOp loss) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types;
  SmallVector<Attribute> data;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    if (Attribute name = loss.getArgAttr(i, kData)) {
      types.push_back(loss.getArgumentTypes()[i]);
      data.push_back(name);
    }
  auto scalar = NamedTensorType::get({}, f32);
  auto weight = func::FuncOp::create(b, "weight", b.getFunctionType(types, {scalar}));
  for (auto [i, name] : llvm::enumerate(data))
    weight.setArgAttr(i, kData, name);
  b.setInsertionPointToStart(weight.addEntryBlock());
  Value x = SigmoidOp::create(b, weight.getArgument(0));
  Names all;
  for (DimAttr dim : tensorType(x).getDims())
    all.push_back(dim.getName());
  func::ReturnOp::create(b, all.empty() ? x : ReduceOp::create(b, ReductionKind::Sum, x, all).getResult());
}

/// Gradient descent with momentum.
void Generator::makeUpdate(StringRef path, NamedTensorType type) {
  OpBuilder::InsertionGuard guard(b);
  auto i32 = NamedTensorType::get({}, b.getI32Type());
  auto update = func::FuncOp::create(b, ("update." + path).str(), b.getFunctionType({type, type, type, i32, i32}, {type, type}));
  b.setInsertionPointToStart(update.addEntryBlock());
  Value momentum = AddOp::create(b, MulOp::create(b, update.getArgument(2), constant(0.9)), update.getArgument(1));
  Value value = SubOp::create(b, update.getArgument(0), MulOp::create(b, momentum, constant(0.1)));
  func::ReturnOp::create(b, ValueRange{value, momentum});
}

void Generator::makeLoss(ModuleOp module) {
  MLIRContext *context = b.getContext();
  auto scalar = NamedTensorType::get({}, f32), scalarInt = NamedTensorType::get({}, b.getI32Type());
  SmallVector<Type> types;
  SmallVector<NamedAttribute> attrs;
  int64_t params = 2 + below(4), floats = 1 + below(2), ints = below(3);
  for (int64_t i = 0; i < params; ++i) {
    NamedTensorType type = randomType(f32, 3);
    types.push_back(type);
    std::string path = "p" + std::to_string(i);
    SmallVector<Attribute> order;
    for (DimAttr dim : type.getDims())
      order.push_back(dim.getName());
    attrs.push_back(b.getNamedAttr(kParam, FlatSymbolRefAttr::get(context, path)));
    ParamOp::create(b, path, type, b.getArrayAttr(order), InitAttr::get(context, InitKind::Normal, b.getF64FloatAttr(0.02)),
                    b.getArrayAttr({}), b.getArrayAttr({}), true, "default", FlatSymbolRefAttr::get(context, "update." + path),
                    b.getArrayAttr({name("m")}));
    makeUpdate(path, type);
  }
  for (int64_t i = 0; i < floats + ints; ++i) {
    types.push_back(randomType(i < floats ? f32 : Type(b.getI32Type()), i < floats ? 3 : 2));
    attrs.push_back(b.getNamedAttr(kData, name("x" + Twine(i))));
  }
  for (const char *input : {"seed", "step"}) {
    types.push_back(scalarInt);
    attrs.push_back(b.getNamedAttr(kInput, name(input)));
  }
  auto function = func::FuncOp::create(b, "loss", b.getFunctionType(types, {scalar}));
  for (auto [i, attr] : llvm::enumerate(attrs))
    function.setArgAttr(i, attr.getName(), attr.getValue());
  function.setResultAttr(0, kResult, name("loss"));
  b.setInsertionPointToStart(function.addEntryBlock());
  for (BlockArgument argument : function.getArguments().drop_back(2))
    (tensorType(argument).getElementType().isInteger(32) ? indices : pool).push_back(argument);
  seed = function.getArguments().drop_back().back();
  step_ = function.getArguments().back();

  for (int64_t i = 0, n = 5 + below(20); i < n; ++i)
    step(/*insideLoop=*/false);

  // The loss depends on the last values and, so that each has a gradient, on every parameter.
  SmallVector<Value> ends(function.getArguments().take_front(params));
  llvm::append_range(ends, ArrayRef(pool).take_back(4));
  Value loss = constant(0);
  for (Value end : ends) {
    Names all;
    for (DimAttr dim : tensorType(end).getDims())
      all.push_back(dim.getName());
    Value term = SinOp::create(b, end);
    loss = AddOp::create(b, loss, all.empty() ? term : ReduceOp::create(b, ReductionKind::Sum, term, all));
  }
  func::ReturnOp::create(b, loss);
  b.setInsertionPointAfter(function);
  makeWeight(function);
}

OwningOpRef<ModuleOp> Generator::module() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  chooseDims();
  chooseMeshAndLayout(*module);
  makeLoss(*module);
  return module;
}

OwningOpRef<ModuleOp> meshc::randomProgram(MLIRContext &context, uint64_t seed) { return Generator(context, seed).module(); }
