//===- RandomOps.cpp - one random op at a time -----------------------------===//
#include "Generator.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

/// Values with more elements are dropped, so that sixteen ranks run in no time.
static constexpr int64_t kMaxElements = 1000;

static bool fits(NamedTensorType a, NamedTensorType b) {
  return llvm::all_of(a.getDims(), [&](DimAttr dim) { return !b.hasDim(dim.getName()) || b.dimSize(dim.getName()) == dim.getSize(); });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void Generator::keep(Value value) {
  NamedTensorType type = tensorType(value);
  if (type.numElements() > kMaxElements || type.getDims().size() > 5)
    return;
  Value tap = TapOp::create(b, value.getType(), name("t" + Twine(counter++)), value);
  (type.getElementType().isInteger(1) ? bools : type.getElementType().isInteger(32) ? ints : pool).push_back(tap);
}

bool Generator::isSteady(Value value) {
  if (auto it = steady.find(value); it != steady.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  // Arguments of the loss are noted when they are made; what loops carry may depend on anything.
  bool result = op && op->getNumRegions() == 0 && llvm::all_of(op->getOperands(), [&](Value operand) { return isSteady(operand); });
  return steady[value] = result;
}

Value Generator::anyTensor(bool steady) {
  for (int tries = 0; tries < 8; ++tries)
    if (Value value = steady ? anySteady() : any(); value && !tensorType(value).isScalar())
      return value;
  return {};
}

Value Generator::anySteady() {
  for (int tries = 0; tries < 12; ++tries)
    if (Value value = any(); isSteady(value))
      return value;
  return {};
}

Value Generator::fitting(Value other, ArrayRef<Value> from) {
  for (int tries = 0; tries < 8 && !from.empty(); ++tries)
    if (Value value = pick(from); fits(tensorType(value), tensorType(other)))
      return value;
  return {};
}

StringAttr Generator::anyDim(Value value) {
  StringAttr dim = pick(tensorType(value).getDims()).getName();
  // The batch is mostly left alone, so that it can be cut into microbatches.
  return batched && dim == batch && !chance(5) ? pick(tensorType(value).getDims()).getName() : dim;
}

Generator::Names Generator::someDims(Value value) {
  Names chosen;
  for (DimAttr dim : tensorType(value).getDims())
    if (chance(50) && !(batched && dim.getName() == batch && !chance(5)))
      chosen.push_back(dim.getName());
  if (chosen.empty())
    chosen.push_back(anyDim(value));
  return chosen;
}

StringAttr Generator::freeName(Value value, int64_t size, StringAttr except) {
  SmallVector<StringAttr> candidates;
  for (StringAttr other : names)
    if (other != except && sizes.lookup(other) == size && !tensorType(value).hasDim(other))
      candidates.push_back(other);
  return candidates.empty() ? StringAttr() : pick(candidates);
}

Value Generator::distinct(Value value, StringAttr over) {
  Value place = CastOp::create(b, index(tensorType(value).findDim(over)), f32);
  return AddOp::create(b, value, MulOp::create(b, constant(0.3), SinOp::create(b, MulOp::create(b, constant(1.7), place))));
}

Value Generator::condition(Value value) {
  if (Value ready = chance(40) ? fitting(value, bools) : Value())
    return ready;
  if (tensorType(value).isScalar())
    return {};
  auto place = [&] { return index(tensorType(value).findDim(anyDim(value))); };
  Value i = place(), j = chance(70) ? place() : whole(1 + below(3));
  return CompareOp::create(b, pick(ArrayRef{Predicate::Le, Predicate::Gt, Predicate::Ne, Predicate::Ge, Predicate::Lt, Predicate::Eq}), i, j);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void Generator::unary() {
  Value x = any();
  switch (below(15)) {
  case 0: return keep(SinOp::create(b, x));
  case 1: return keep(CosOp::create(b, x));
  case 2: return keep(TanhOp::create(b, x));
  case 3: return keep(SigmoidOp::create(b, x));
  case 4: return keep(ExpOp::create(b, bounded(x)));
  case 5: return keep(ErfOp::create(b, x));
  case 6: return keep(NegOp::create(b, x));
  case 7: return keep(AbsOp::create(b, x));
  case 8: return keep(LogOp::create(b, positive(x)));
  case 9: return keep(SqrtOp::create(b, positive(x)));
  case 10: return keep(RsqrtOp::create(b, positive(x)));
  case 11: {
    Value square = bounded(x);
    return keep(MulOp::create(b, square, square));
  }
  case 12: return keep(MulOp::create(b, x, constant(0.25)));
  default: {
    // Repeated along one or two dims.
    NamedTensorType type = tensorType(x);
    for (int64_t i = 0, n = 1 + below(2); i < n; ++i)
      if (StringAttr extra = pick(names); !type.hasDim(extra))
        type = type.with(dim(extra));
    if (type.numElements() <= kMaxElements)
      keep(chance(50) ? BroadcastOp::create(b, type, x).getResult() : AddOp::create(b, type, x, constant(0.1)).getResult());
  }
  }
}

void Generator::binary() {
  Value x = any(), y = fitting(x, pool);
  if (!y)
    return;
  switch (below(9)) {
  case 0:
  case 1: return keep(AddOp::create(b, x, y));
  case 2: return keep(SubOp::create(b, x, y));
  case 3: return keep(bounded(MulOp::create(b, x, y)));
  case 4: return keep(DivOp::create(b, bounded(x), positive(y)));
  case 5: return keep(MaxOp::create(b, x, y));
  case 6: return keep(MinOp::create(b, x, y));
  case 7: return keep(PowOp::create(b, positive(x), bounded(y)));
  default:
    if (Value mask = condition(x); mask && fits(tensorType(mask), tensorType(y)))
      keep(SelectOp::create(b, mask, x, y));
  }
}

/// What finite differences cannot follow.
void Generator::jumps() {
  Value x = anySteady();
  if (!x)
    return;
  Value scaled = MulOp::create(b, x, constant(2.7));
  switch (below(8)) {
  case 0: return keep(FloorOp::create(b, scaled));
  case 1: return keep(CeilOp::create(b, scaled));
  case 2: return keep(SignOp::create(b, x));
  case 3: return keep(RemOp::create(b, scaled, positive(x)));
  case 4: return keep(CastOp::create(b, scaled, i32));
  case 5: return keep(CastOp::create(b, CastOp::create(b, x, b.getBF16Type()), f32));
  case 6: return keep(StopGradientOp::create(b, x));
  default: {
    Value y = fitting(x, pool);
    if (y && isSteady(y))
      keep(CompareOp::create(b, pick(ArrayRef{Predicate::Lt, Predicate::Ge}), x, y));
  }
  }
}

void Generator::integers() {
  if (ints.empty())
    return;
  Value x = modulo(pick(ints), 11), y = fitting(x, ints);
  if (!y)
    return;
  y = modulo(y, 5);
  switch (below(15)) {
  case 0: return keep(AddOp::create(b, x, y));
  case 1: return keep(SubOp::create(b, x, y));
  case 2: return keep(MulOp::create(b, x, y));
  case 3: return keep(DivOp::create(b, SubOp::create(b, x, whole(4)), AddOp::create(b, y, whole(1))));
  case 4: return keep(chance(50) ? MaxOp::create(b, x, y).getResult() : MinOp::create(b, x, y).getResult());
  case 5: return keep(AbsOp::create(b, NegOp::create(b, x)));
  case 6: return keep(SignOp::create(b, SubOp::create(b, x, y)));
  case 7:
  case 8: return keep(bounded(MulOp::create(b, CastOp::create(b, x, f32), constant(0.3))));
  case 9: return keep(CompareOp::create(b, pick(ArrayRef{Predicate::Eq, Predicate::Ne, Predicate::Le}), x, y));
  case 10:
    if (Value mask = condition(x); mask && fits(tensorType(mask), tensorType(y)))
      keep(SelectOp::create(b, mask, x, y));
    return;
  case 11: {
    // One-hot.
    StringAttr d = pick(names);
    if (!tensorType(x).hasDim(d))
      keep(CastOp::create(b, CompareOp::create(b, Predicate::Eq, index(dim(d)), x), f32));
    return;
  }
  case 12: return keep(index(dim(pick(names))));
  default:
    if (tensorType(x).isScalar())
      return;
    if (chance(50))
      keep(ReduceOp::create(b, pick(ArrayRef{ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min}), x, someDims(x)));
    else
      keep(CumSumOp::create(b, x, anyDim(x), chance(50), chance(50)));
  }
}

void Generator::booleans() {
  if (bools.empty())
    return;
  Value x = pick(bools), y = fitting(x, bools);
  switch (below(5)) {
  case 0: return keep(NotOp::create(b, x));
  case 1: return y ? keep(AndOp::create(b, x, y)) : void();
  case 2: return y ? keep(OrOp::create(b, x, y)) : void();
  case 3: return keep(CastOp::create(b, x, i32));
  default: return keep(CastOp::create(b, x, f32));
  }
}

//===----------------------------------------------------------------------===//
// Contraction, reduction, order
//===----------------------------------------------------------------------===//

void Generator::contraction() {
  Value x = any(), y = fitting(x, pool);
  if (!y)
    return;
  Names shared;
  for (DimAttr dim : tensorType(x).getDims())
    if (tensorType(y).hasDim(dim.getName()) && chance(70) && !(batched && dim.getName() == batch))
      shared.push_back(dim.getName());
  keep(bounded(DotOp::create(b, x, y, shared)));
}

void Generator::reduction() {
  Value x = anyTensor();
  if (!x)
    return;
  switch (below(8)) {
  case 0:
  case 1: return keep(bounded(ReduceOp::create(b, ReductionKind::Sum, x, someDims(x))));
  case 2: return keep(ReduceOp::create(b, ReductionKind::Max, x, someDims(x)));
  case 3: return keep(ReduceOp::create(b, ReductionKind::Min, x, someDims(x)));
  case 4: return keep(bounded(ReduceOp::create(b, ReductionKind::Prod, positive(x), someDims(x))));
  case 5: return keep(SoftmaxOp::create(b, x, someDims(x)));
  case 6: return keep(LogSumExpOp::create(b, x, someDims(x)));
  default: return keep(bounded(CumSumOp::create(b, x, anyDim(x), chance(50), chance(50))));
  }
}

void Generator::order() {
  bool argmax = chance(35);
  Value x = anyTensor(/*steady=*/argmax);
  if (!x)
    return;
  StringAttr over = anyDim(x);
  x = distinct(x, over);
  if (argmax)
    return keep(ArgMaxOp::create(b, x, over));
  int64_t size = tensorType(x).dimSize(over), k = chance(50) ? size : 1 + below(size);
  StringAttr into = name("best");
  if (tensorType(x).hasDim(into))
    return;
  auto top = TopKOp::create(b, x, over, into, k);
  // Of the whole size it is a sort, under the dim's own name.
  auto kept = [&](Value value) {
    keep(k == size ? RenameOp::create(b, value, ArrayRef(into), ArrayRef(over)).getResult() : value);
  };
  kept(top.getValues());
  if (isSteady(x))
    kept(top.getIndices());
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

void Generator::renaming() {
  Value x = anyTensor();
  if (!x)
    return;
  ArrayRef<DimAttr> dims = tensorType(x).getDims();
  // Two names exchanged.
  if (dims.size() > 1 && chance(30)) {
    Names from = {dims[0].getName(), dims[1].getName()}, to = {dims[1].getName(), dims[0].getName()};
    return keep(RenameOp::create(b, x, from, to));
  }
  StringAttr d = anyDim(x);
  if (StringAttr other = freeName(x, tensorType(x).dimSize(d), d))
    keep(RenameOp::create(b, x, ArrayRef(d), ArrayRef(other)));
}

/// Slices, pads and shifts. What comes out may have another size under the same name.
void Generator::cutting() {
  Value x = anyTensor();
  if (!x)
    return;
  StringAttr d = anyDim(x);
  int64_t size = tensorType(x).dimSize(d);
  switch (below(4)) {
  case 0: return keep(ShiftOp::create(b, x, d, below(5) - 2));
  case 1: {
    int64_t start = below(size), limit = start + 1 + below(size - start);
    return keep(SliceOp::create(b, x, d, start, limit, 1 + below(3)));
  }
  case 2: return keep(PadOp::create(b, x, constant(chance(50) ? 0 : 0.25), d, below(3), below(3)));
  default:
    if (size > 1) {
      Value cut = SliceOp::create(b, x, d, 1, size);
      keep(PadOp::create(b, cut, constant(0.25), d, 1, 0));
    }
  }
}

void Generator::joining() {
  Value x = anyTensor();
  if (!x)
    return;
  StringAttr d = anyDim(x);
  int64_t size = tensorType(x).dimSize(d);
  switch (below(4)) {
  case 0:
    if (size > 2) {
      Value front = SliceOp::create(b, x, d, 0, size / 2), back = SliceOp::create(b, x, d, size / 2, size);
      keep(ConcatOp::create(b, ValueRange{back, front}, d));
    }
    return;
  case 1: {
    Value y = SinOp::create(b, SliceOp::create(b, x, d, 0, 1 + below(size)));
    return keep(chance(50) ? ConcatOp::create(b, ValueRange{x, y}, d) : ConcatOp::create(b, ValueRange{y, x, y}, d));
  }
  default: {
    // A new dim of two or three; sometimes reduced at once.
    StringAttr into = name("pair");
    if (tensorType(x).hasDim(into))
      return;
    SmallVector<Value> parts = {x, SinOp::create(b, x)};
    if (chance(40))
      parts.push_back(CosOp::create(b, x));
    Value both = StackOp::create(b, parts, into);
    keep(chance(50) ? ReduceOp::create(b, ReductionKind::Max, both, ArrayRef(into)).getResult() : both);
  }
  }
}

void Generator::merging() {
  Value x = anyTensor();
  if (!x)
    return;
  SmallVector<DimAttr> parts(tensorType(x).getDims());
  StringAttr flat = name(chance(50) ? "flat" : "flat2");
  if (tensorType(x).hasDim(flat)) {
    // Into other parts than it was made of.
    int64_t size = tensorType(x).dimSize(flat), outer = 2 + below(3);
    if (size % outer == 0)
      keep(SplitOp::create(b, x, flat, {DimAttr::get(name("outer"), outer), DimAttr::get(name("inner"), size / outer)}));
    return;
  }
  if (parts.size() < 2)
    return;
  std::shuffle(parts.begin(), parts.end(), random);
  parts.resize(std::min<size_t>(parts.size(), 2 + below(2)));
  Names dims;
  for (DimAttr part : parts)
    dims.push_back(part.getName());
  Value merged = SinOp::create(b, MergeOp::create(b, x, dims, flat));
  if (chance(60))
    merged = SplitOp::create(b, merged, flat, parts);
  keep(merged);
}

/// A convolution, a pooling, or the windows themselves.
void Generator::windows() {
  Value x = anyTensor();
  if (!x)
    return;
  StringAttr d = anyDim(x), into = name("tap");
  if (tensorType(x).hasDim(into))
    return;
  int64_t size = tensorType(x).dimSize(d), width = 1 + below(3), dilation = 1 + below(2), stride = 1 + below(2), low = below(width + 1);
  int64_t reach = dilation * (width - 1) + 1, padded = size + low + below(width + 1);
  if (reach > padded)
    return;
  DimAttr window = DimAttr::get(into, width);
  Value windows = WindowOp::create(b, x, d, window, (padded - reach) / stride + 1, stride, dilation, low);
  Value weights = SinOp::create(b, MulOp::create(b, constant(1.3), AddOp::create(b, constant(1), CastOp::create(b, index(window), f32))));
  switch (below(4)) {
  case 0: return keep(windows);
  case 1: return keep(bounded(ReduceOp::create(b, pick(ArrayRef{ReductionKind::Max, ReductionKind::Sum}), windows, ArrayRef(into))));
  default: return keep(bounded(DotOp::create(b, windows, weights, ArrayRef(into))));
  }
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

void Generator::gathering() {
  bool ofInts = !ints.empty() && chance(15);
  Value table = ofInts ? pick(ints) : anyTensor();
  if (!table || ints.empty() || tensorType(table).isScalar())
    return;
  StringAttr over = anyDim(table);
  Value at = pick(ints);
  NamedTensorType rest = tensorType(table).without({over});
  // A dim that both have is batched; the one that is indexed must have another name. Some indices are outside.
  if (tensorType(at).hasDim(over) || !fits(rest, tensorType(at)))
    return;
  keep(GatherOp::create(b, table, modulo(at, tensorType(table).dimSize(over) + chance(20)), over));
}

void Generator::scattering() {
  Value updates = anyTensor();
  if (!updates || ints.empty())
    return;
  NamedTensorType type = tensorType(updates);
  Value at = fitting(updates, ints);
  if (!at || !llvm::all_of(tensorType(at).getDims(), [&](DimAttr dim) { return type.hasDim(dim.getName()); }))
    return;
  // The dims of the indices give way to `into`, which may be one of them.
  Names over;
  for (DimAttr dim : tensorType(at).getDims())
    if (chance(80))
      over.push_back(dim.getName());
  NamedTensorType kept = type.without(over);
  StringAttr into = pick(names);
  if (kept.hasDim(into))
    return;
  // Into a dim that gives way, a permutation undone for one: under another name before.
  if (type.hasDim(into) && (tensorType(updates).dimSize(into) != dim(into).getSize() || chance(50))) {
    StringAttr other = name(into.getValue() + "'");
    updates = RenameOp::create(b, updates, ArrayRef(into), ArrayRef(other));
    if (tensorType(at).hasDim(into))
      at = RenameOp::create(b, at, ArrayRef(into), ArrayRef(other));
  }
  NamedTensorType result = kept.with(dim(into));
  keep(bounded(ScatterAddOp::create(b, result, updates, modulo(at, result.dimSize(into) + chance(20)), into)));
}

//===----------------------------------------------------------------------===//
// Attention, random numbers, loops
//===----------------------------------------------------------------------===//

/// q[.., s, h], k and v[.., m, h] from one value x[.., s, h].
void Generator::attention() {
  Value x = anyTensor();
  if (!x || tensorType(x).getDims().size() < 2)
    return;
  SmallVector<DimAttr> dims(tensorType(x).getDims());
  std::shuffle(dims.begin(), dims.end(), random);
  StringAttr s = dims[0].getName(), h = dims[1].getName();
  StringAttr m = freeName(x, dims[0].getSize());
  if (!m)
    return;
  Value memory = SinOp::create(b, x);
  // Grouped queries: keys and values that one dim of the queries lacks.
  if (dims.size() > 2 && chance(30))
    memory = ReduceOp::create(b, ReductionKind::Max, memory, ArrayRef(dims[2].getName()));
  Value k = RenameOp::create(b, memory, ArrayRef(s), ArrayRef(m)), v = CosOp::create(b, k);
  // Values with a head dim of their own.
  if (StringAttr other = chance(30) ? freeName(x, dims[1].getSize(), m) : StringAttr())
    v = RenameOp::create(b, v, ArrayRef(h), ArrayRef(other));
  Value mask = chance(60) ? CompareOp::create(b, Predicate::Le, index(dim(m)), index(dims[0])).getResult() : Value();
  auto attend = AttendOp::create(b, x, k, v, mask, ArrayRef(h), m, 0.5);
  if (tensorType(attend.getOutput()).numElements() <= kMaxElements)
    keep(attend.getOutput());
}

void Generator::noise() {
  Value x = any();
  SmallVector<DimAttr> dims(tensorType(x).getDims());
  std::shuffle(dims.begin(), dims.end(), random);
  SmallVector<Attribute> order;
  SmallVector<int64_t> extents;
  for (DimAttr dim : dims) {
    order.push_back(dim.getName());
    extents.push_back(dim.getSize());
  }
  Distribution kind = pick(ArrayRef{Distribution::Bernoulli, Distribution::Bernoulli, Distribution::Normal, Distribution::Uniform});
  Value numbers = RandomOp::create(b, tensorType(x).withElementType(f32), kind, llvm::APFloat(kind == Distribution::Bernoulli ? 0.7 : 0.0),
                                   ("drop" + Twine(counter)).str(), b.getArrayAttr(order), extents, b.getArrayAttr({}), seed, step_, loopIndices,
                                   ValueRange());
  keep(bounded(MulOp::create(b, x, numbers)));
}

/// One or two carries, a slice of a parameter-like value, captured values, sometimes a stack. Loops nest.
void Generator::loop(int depth) {
  StringAttr dim = name(depth == 0 ? "layers" : "inner_layers");
  int64_t count = 1 + below(3);
  SmallVector<Value> inits = {any()};
  if (chance(40))
    inits.push_back(any());
  Value once = any();
  if (tensorType(once).hasDim(dim))
    return;
  // The slices differ from one iteration to the next.
  Value position = CastOp::create(b, index(DimAttr::get(dim, count)), f32);
  Value scanned = SinOp::create(b, AddOp::create(b, once, position));
  if (tensorType(scanned).numElements() > kMaxElements)
    return;
  bool stacks = chance(50) && !tensorType(inits[0]).hasDim(dim);
  SmallVector<Type> stackTypes;
  if (stacks)
    stackTypes.push_back(tensorType(inits[0]).with(DimAttr::get(dim, count)));
  auto repeat = RepeatOp::create(b, dim, count, inits, ValueRange{scanned}, stackTypes, chance(20));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(repeat.bodyBlock());
    SmallVector<Value> outer = pool, outerInts = ints, outerBools = bools;
    for (unsigned i = 0; i < repeat.numCarries(); ++i)
      pool.push_back(repeat.carryArg(i));
    pool.push_back(repeat.sliceArg(0));
    for (Value argument : repeat.bodyBlock()->getArguments())
      steady[argument] = false;
    loopIndices.push_back(repeat.indexArg());
    for (int64_t i = 0, n = 1 + below(5); i < n; ++i)
      step(depth + 1);
    // Back to the carries' dims: what one lacks is summed, what it has in excess broadcast.
    SmallVector<Value> next;
    for (unsigned i = 0; i < repeat.numCarries(); ++i) {
      Value carry = repeat.carryArg(i), last = pool[pool.size() - 1 - i];
      Names extra;
      for (DimAttr dim : tensorType(last).getDims())
        if (!tensorType(carry).hasDim(dim.getName()) || tensorType(carry).dimSize(dim.getName()) != dim.getSize())
          extra.push_back(dim.getName());
      if (!extra.empty())
        last = ReduceOp::create(b, ReductionKind::Sum, last, extra);
      next.push_back(bounded(AddOp::create(b, tensorType(carry), carry, last)));
    }
    NextOp::create(b, next, stacks ? ValueRange{next[0]} : ValueRange());
    pool = outer;
    ints = outerInts;
    bools = outerBools;
    loopIndices.pop_back();
  }
  for (Value result : repeat.carryResults())
    keep(result);
  if (stacks)
    keep(chance(50) ? Value(ReduceOp::create(b, ReductionKind::Sum, repeat.stackedResults().front(), ArrayRef(dim)))
                    : Value(repeat.stackedResults().front()));
}

void Generator::step(int depth) {
  static const std::pair<int, void (Generator::*)()> table[] = {
      {14, &Generator::unary},     {14, &Generator::binary},  {7, &Generator::jumps},     {6, &Generator::integers}, {4, &Generator::booleans},
      {14, &Generator::contraction}, {12, &Generator::reduction}, {5, &Generator::order},   {5, &Generator::renaming}, {5, &Generator::cutting},
      {4, &Generator::joining},    {5, &Generator::merging},  {5, &Generator::windows},   {6, &Generator::gathering}, {5, &Generator::scattering},
      {5, &Generator::attention},  {4, &Generator::noise}};
  int total = 6;
  for (auto [weight, make] : table)
    total += weight;
  int64_t drawn = below(total);
  for (auto [weight, make] : table) {
    if (drawn < weight)
      return (this->*make)();
    drawn -= weight;
  }
  if (depth < 2)
    loop(depth);
}
