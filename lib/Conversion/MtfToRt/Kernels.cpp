//===- Kernels.cpp - units of maps and reductions as rt.kernel -----------------===//
//
// A kernel is built from what it stores: the value of each stored root is *pulled* through its expression down to buffers, constants and indices.
// What is needed once per outer index is emitted in the kernel's block, what is needed per element in row loops. Row loop number l holds the
// reductions and stores that depend on the results of loops 0 .. l - 1 at most. An element value needed in several loops is loaded
// again if it was stored, else computed again.
//
// A `View` says where in an expression we stand: for each dim of the value, the iteration dim or the i32 index to read it at. Renames, splits,
// merges, slices change the view and emit nothing.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
/// Where one dim of a value is read: along an iteration dim, or at an index into this rank's part. `global` is the index in the whole
/// dimension where it is known already (masks).
struct Place {
  StringAttr iteration;
  Value index;
  Value global;
};
using View = llvm::SmallDenseMap<StringAttr, Place, 4>;
} // namespace

namespace meshc {
class KernelBuilder {
public:
  KernelBuilder(Lowering &lowering, Block *body)
      : lowering(lowering), body(body), firstIn(body->getNumArguments()), outer(builderAt(body)) {}

  LogicalResult build(const Unit &unit);
  /// For masks: a body with the arguments (query, key, batch, head) that says whether `mask` holds there.
  void buildMask(Value mask, const AttendDims &dims);

  SmallVector<Value> ins;

private:
  struct Reduction {
    Operation *op;
    unsigned level;
  };

  /// The blocks belong to no op yet.
  OpBuilder builderAt(Block *block) const {
    OpBuilder builder(lowering.builder.getContext());
    builder.setInsertionPointToEnd(block);
    return builder;
  }
  OpBuilder &at() { return inRow ? *inRow : outer; }
  Value inArg(Value operand);
  Value load(Value buffer, const View &view, bool checked = false);
  Value indexOf(const Place &place);
  Value globalIndex(const Place &place, DimAttr dim);
  Value constant(double value, Type type);
  Value widen(Value value);

  Value pull(Value value, const View &view);
  Value pull(Value value);
  Value compute(Operation *op, const View &view);
  Value arithmetic(Operation *op, ArrayRef<Value> operands);
  Value compare(Predicate predicate, Value lhs, Value rhs);
  Value cast(Value value, Type from, Type to);
  Value random(RandomOp op, const View &view);
  View identity(Value value) const;
  bool isOuter(Value value) const { return (lowering.fusion.setOf(value) & rowDims).none(); }

  unsigned levelOf(Value value);
  Value reductionInput(Operation *op);
  void emitRow(unsigned level);
  void store(Value root);

  Lowering &lowering;
  Block *body;
  /// Arguments before the kernel's operands: a mask's indices.
  unsigned firstIn;
  OpBuilder outer;
  std::optional<OpBuilder> inRow;
  const Unit *unit = nullptr;
  DimSet rowDims;
  llvm::SmallDenseSet<Operation *> members;
  llvm::DenseMap<Value, Value> inArgs;
  llvm::MapVector<Value, Value> outArgs; // root -> block argument
  llvm::SmallDenseSet<Value> storedHere;
  llvm::DenseMap<Value, Value> outerValues, rowValues;
  llvm::DenseMap<Value, unsigned> levels;
  llvm::MapVector<Operation *, unsigned> reductions; // op -> level of its input
  Location loc = lowering.builder.getUnknownLoc();

  friend class Lowering;
};
} // namespace meshc

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

Value KernelBuilder::inArg(Value operand) {
  Value &argument = inArgs[operand];
  if (!argument) {
    argument = body->insertArgument(firstIn + ins.size(), operand.getType(), operand.getLoc());
    ins.push_back(operand);
  }
  return argument;
}

Value KernelBuilder::constant(double value, Type type) {
  TypedAttr attr = isa<FloatType>(type) ? TypedAttr(at().getFloatAttr(type, value))
                                        : TypedAttr(at().getIntegerAttr(type, static_cast<int64_t>(value)));
  return arith::ConstantOp::create(at(), loc, attr);
}

/// Kernels compute bf16 in f32.
Value KernelBuilder::widen(Value value) {
  return value.getType().isBF16() ? arith::ExtFOp::create(at(), loc, at().getF32Type(), value) : value;
}

Value KernelBuilder::indexOf(const Place &place) {
  return place.index ? place.index : rt::IndexOp::create(at(), loc, at().getI32Type(), place.iteration).getResult();
}

/// Index in the whole dimension of a position in this rank's part.
Value KernelBuilder::globalIndex(const Place &place, DimAttr dim) {
  if (place.global)
    return place.global;
  Value local = indexOf(place);
  if (lowering.mesh.shardCount(dim.getAxes()) == 1)
    return local;
  SmallVector<Attribute> axes(dim.getAxes().begin(), dim.getAxes().end());
  Value shard = rt::ShardIndexOp::create(at(), loc, at().getI32Type(), at().getArrayAttr(axes));
  Value first = arith::MulIOp::create(at(), loc, shard, constant(lowering.localSize(dim), at().getI32Type()));
  return arith::AddIOp::create(at(), loc, first, local);
}

Value KernelBuilder::load(Value buffer, const View &view, bool checked) {
  SmallVector<StringAttr> names;
  SmallVector<Value> indices;
  for (rt::DimAttr dim : rt::bufferType(buffer).getDims()) {
    const Place &place = view.find(dim.getName())->second;
    if (place.iteration == dim.getName())
      continue;
    names.push_back(dim.getName());
    indices.push_back(indexOf(place));
  }
  return widen(rt::LoadOp::create(at(), loc, buffer, names, indices, !checked && !names.empty()));
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

View KernelBuilder::identity(Value value) const {
  View view;
  for (DimAttr dim : tensorType(value).getDims())
    view[dim.getName()] = {dim.getName(), Value(), Value()};
  return view;
}

/// The part of a view that speaks of the dims of `value`.
static View restricted(const View &view, Value value) {
  View result;
  for (DimAttr dim : tensorType(value).getDims())
    result[dim.getName()] = view.find(dim.getName())->second;
  return result;
}

static bool isIdentity(const View &view) {
  return llvm::all_of(view, [](const auto &entry) { return entry.second.iteration == entry.first; });
}

/// The value at the iteration's place; once per outer index if it has no row dim.
Value KernelBuilder::pull(Value value) {
  bool once = isOuter(value) && unit;
  auto &memo = once ? outerValues : rowValues;
  if (Value done = memo.lookup(value))
    return done;
  std::optional<OpBuilder> row;
  if (once)
    std::swap(row, inRow);
  Value result = pull(value, identity(value));
  if (once)
    std::swap(row, inRow);
  memo[value] = result;
  return result;
}

Value KernelBuilder::pull(Value value, const View &view) {
  if (Value index = lowering.loopIndices.lookup(value))
    return inArg(index);
  Operation *op = value.getDefiningOp();
  bool mine = op && members.contains(op);
  if (mine && storedHere.contains(value))
    return load(outArgs.find(value)->second, view);
  if (!mine)
    if (Value buffer = lowering.bufferOf(value))
      return load(inArg(buffer), view);
  if (reducedDims(op))
    return outerValues.lookup(value);
  return compute(op, view);
}

Value KernelBuilder::compute(Operation *op, const View &view) {
  auto saved = loc;
  loc = op->getLoc();
  auto done = [&](Value value) {
    loc = saved;
    return value;
  };
  auto place = [&](StringAttr name) { return view.find(name)->second; };
  Type i32 = at().getI32Type();
  auto intConstant = [&](int64_t value) { return constant(value, i32); };

  if (auto constantOp = dyn_cast<ConstantOp>(op)) {
    Type type = constantOp.getType().getElementType();
    return done(constant(constantOp.asDouble(), type.isBF16() ? at().getF32Type() : type));
  }
  if (auto index = dyn_cast<IndexOp>(op)) {
    Value result = globalIndex(place(index.getDimAttr()), index.getType().getDims().front());
    if (index.getOffset())
      result = arith::AddIOp::create(at(), loc, result, pull(index.getOffset(), View()));
    return done(result);
  }
  if (auto randomOp = dyn_cast<RandomOp>(op))
    return done(random(randomOp, view));

  // Views: only where to read changes.
  if (auto rename = dyn_cast<RenameOp>(op)) {
    View inner = view;
    for (auto from : rename.getFrom().getAsRange<StringAttr>())
      inner.erase(from);
    for (auto [from, to] : llvm::zip(rename.getFrom().getAsRange<StringAttr>(), rename.getTo().getAsRange<StringAttr>()))
      inner[from] = place(to);
    return done(pull(rename.getInput(), restricted(inner, rename.getInput())));
  }
  if (auto split = dyn_cast<SplitOp>(op)) {
    Value index = intConstant(0);
    for (auto part : split.getInto().getAsRange<StringAttr>()) {
      Value scaled = arith::MulIOp::create(at(), loc, index, intConstant(lowering.localSize(split.getType().findDim(part))));
      index = arith::AddIOp::create(at(), loc, scaled, indexOf(place(part)));
    }
    View inner = view;
    inner[split.getDimAttr()] = {StringAttr(), index, Value()};
    return done(pull(split.getInput(), restricted(inner, split.getInput())));
  }
  if (auto merge = dyn_cast<MergeOp>(op)) {
    Value rest = indexOf(place(merge.getIntoAttr()));
    View inner = view;
    for (auto part : llvm::reverse(llvm::to_vector(merge.getDims().getAsRange<StringAttr>()))) {
      Value size = intConstant(lowering.localSize(merge.getInput().getType().findDim(part)));
      inner[part] = {StringAttr(), arith::RemSIOp::create(at(), loc, rest, size), Value()};
      rest = arith::DivSIOp::create(at(), loc, rest, size);
    }
    return done(pull(merge.getInput(), restricted(inner, merge.getInput())));
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Value scaled = arith::MulIOp::create(at(), loc, indexOf(place(slice.getDimAttr())), intConstant(slice.getStride()));
    View inner = view;
    inner[slice.getDimAttr()] = {StringAttr(), arith::AddIOp::create(at(), loc, scaled, intConstant(slice.getStart())), Value()};
    return done(pull(slice.getInput(), inner));
  }
  if (auto slice = dyn_cast<spmd::SliceOp>(op)) {
    SmallVector<Attribute> axes(slice.getOver().begin(), slice.getOver().end());
    Value shard = rt::ShardIndexOp::create(at(), loc, i32, at().getArrayAttr(axes));
    Value first = arith::MulIOp::create(at(), loc, shard, intConstant(lowering.localSize(slice.getType().findDim(slice.getDimAttr()))));
    View inner = view;
    inner[slice.getDimAttr()] = {StringAttr(), arith::AddIOp::create(at(), loc, first, indexOf(place(slice.getDimAttr()))), Value()};
    return done(pull(slice.getInput(), inner));
  }

  // Reads at computed places, zero outside.
  if (auto gather = dyn_cast<GatherOp>(op)) {
    Value index = lowering.fusion.setOf(gather.getIndices()).none() || isIdentity(restricted(view, gather.getIndices()))
                      ? pull(gather.getIndices())
                      : pull(gather.getIndices(), restricted(view, gather.getIndices()));
    DimAttr dim = gather.getTable().getType().findDim(gather.getOverAttr());
    if (lowering.mesh.shardCount(dim.getAxes()) > 1)
      index = arith::SubIOp::create(at(), loc, index, globalIndex({StringAttr(), intConstant(0), Value()}, dim));
    View inner = view;
    inner[gather.getOverAttr()] = {StringAttr(), index, Value()};
    return done(load(inArg(lowering.bufferOf(gather.getTable())), inner, /*checked=*/true));
  }
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    View inner = view;
    Value index = arith::SubIOp::create(at(), loc, indexOf(place(shift.getDimAttr())), intConstant(shift.getAmount()));
    inner[shift.getDimAttr()] = {StringAttr(), index, Value()};
    return done(load(inArg(lowering.bufferOf(shift.getInput())), inner, /*checked=*/true));
  }
  if (auto pad = dyn_cast<PadOp>(op)) {
    // Position low + i * (interior + 1) holds element i.
    Value index = arith::SubIOp::create(at(), loc, indexOf(place(pad.getDimAttr())), intConstant(pad.getLow()));
    Value zero = intConstant(0), inside = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::sge, index, zero);
    if (pad.getInterior() > 0) {
      Value step = intConstant(pad.getInterior() + 1);
      Value rest = arith::RemSIOp::create(at(), loc, index, step);
      Value onStep = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, rest, zero);
      inside = arith::AndIOp::create(at(), loc, inside, onStep);
      index = arith::DivSIOp::create(at(), loc, index, step);
    }
    Value size = intConstant(pad.getInput().getType().dimSize(pad.getDimAttr()));
    Value below = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::slt, index, size);
    inside = arith::AndIOp::create(at(), loc, inside, below);
    View inner = view;
    inner[pad.getDimAttr()] = {StringAttr(), index, Value()};
    Value element = load(inArg(lowering.bufferOf(pad.getInput())), inner, /*checked=*/true);
    return done(arith::SelectOp::create(at(), loc, inside, element, pull(pad.getValue(), View())));
  }
  if (auto window = dyn_cast<WindowOp>(op)) {
    Value start = arith::MulIOp::create(at(), loc, indexOf(place(window.getDimAttr())), intConstant(window.getStride()));
    Value offset = arith::MulIOp::create(at(), loc, indexOf(place(window.getWindowAttr())), intConstant(window.getDilation()));
    Value index = arith::SubIOp::create(at(), loc, arith::AddIOp::create(at(), loc, start, offset), intConstant(window.getLow()));
    View inner = view;
    inner.erase(window.getWindowAttr());
    inner[window.getDimAttr()] = {StringAttr(), index, Value()};
    return done(load(inArg(lowering.bufferOf(window.getInput())), inner, /*checked=*/true));
  }

  // Elementwise.
  SmallVector<Value> operands;
  bool plain = unit && isIdentity(view);
  for (Value operand : op->getOperands())
    operands.push_back(plain ? pull(operand) : pull(operand, restricted(view, operand)));
  if (isa<BroadcastOp>(op))
    return done(operands[0]);
  if (auto unreduce = dyn_cast<spmd::UnreduceOp>(op)) {
    Value shard = rt::ShardIndexOp::create(at(), loc, i32, unreduce.getOver());
    Value isFirst = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, shard, intConstant(0));
    return done(arith::SelectOp::create(at(), loc, isFirst, operands[0], constant(0, operands[0].getType())));
  }
  if (auto fill = dyn_cast<FillPaddingOp>(op)) {
    Type type = operands[0].getType();
    double infinity = isa<FloatType>(type) ? std::numeric_limits<double>::infinity() : 2147483647.0;
    double value = 0;
    switch (fill.getType().getPadding()) {
    case Padding::Undefined: return done(operands[0]);
    case Padding::Zero: break;
    case Padding::NegInf: value = -infinity; break;
    case Padding::PosInf: value = infinity; break;
    case Padding::One: value = 1; break;
    }
    Value result = operands[0];
    for (DimAttr dim : fill.getType().getDims()) {
      if (!dim.isPadded())
        continue;
      Value inside = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::slt, globalIndex(place(dim.getName()), dim), intConstant(dim.getSize()));
      result = arith::SelectOp::create(at(), loc, inside, result, constant(value, type));
    }
    return done(result);
  }
  return done(arithmetic(op, operands));
}

Value KernelBuilder::random(RandomOp op, const View &view) {
  // The linear index over the unpadded global sizes.
  Type i64 = at().getI64Type();
  auto wide = [&](Value value) { return arith::ExtSIOp::create(at(), loc, i64, value).getResult(); };
  llvm::SmallDenseMap<StringAttr, Value> offsets;
  for (auto [name, offset] : llvm::zip(op.getOffsetDims().getAsRange<StringAttr>(), op.getOffsets()))
    offsets[name] = offset;
  Value linear;
  for (auto [name, extent] : llvm::zip(op.getOrder().getAsRange<StringAttr>(), op.getExtents())) {
    Value index = globalIndex(view.find(name)->second, op.getType().findDim(name));
    if (Value offset = offsets.lookup(name))
      index = arith::AddIOp::create(at(), loc, index, pull(offset, View()));
    if (linear)
      linear = arith::MulIOp::create(at(), loc, linear, constant(extent, i64));
    linear = linear ? arith::AddIOp::create(at(), loc, linear, wide(index)).getResult() : wide(index);
  }
  if (!linear)
    linear = constant(0, i64);
  SmallVector<Value> repeats;
  for (Value index : op.getIndices())
    repeats.push_back(pull(index, View()));
  return rt::RandomOp::create(at(), loc, at().getF32Type(), op.getDistributionAttr(), op.getParameterAttr(), op.getPathAttr(), pull(op.getSeed(), View()),
                              pull(op.getStep(), View()), linear, repeats);
}

Value KernelBuilder::compare(Predicate predicate, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType())) {
    static constexpr arith::CmpFPredicate kinds[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
                                                     arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return arith::CmpFOp::create(at(), loc, kinds[static_cast<unsigned>(predicate)], lhs, rhs);
  }
  static constexpr arith::CmpIPredicate kinds[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::slt,
                                                   arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  return arith::CmpIOp::create(at(), loc, kinds[static_cast<unsigned>(predicate)], lhs, rhs);
}

/// `from` and `to` are the tensors' element types; `value` is already widened.
Value KernelBuilder::cast(Value value, Type from, Type to) {
  OpBuilder &b = at();
  if (from == to)
    return value;
  if (to.isInteger(1))
    return compare(Predicate::Ne, value, constant(0, value.getType()));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (!fromFloat && !toFloat)
    return arith::ExtUIOp::create(b, loc, to, value); // i1 to i32
  if (!fromFloat) {
    Type target = to.isBF16() ? b.getF32Type() : to;
    value = from.isInteger(1) ? arith::UIToFPOp::create(b, loc, target, value).getResult() : arith::SIToFPOp::create(b, loc, target, value).getResult();
  } else if (!toFloat) {
    return arith::FPToSIOp::create(b, loc, to, value);
  }
  unsigned have = value.getType().getIntOrFloatBitWidth(), want = to.isBF16() ? 32 : to.getIntOrFloatBitWidth();
  if (have < want)
    value = arith::ExtFOp::create(b, loc, to, value);
  else if (have > want)
    value = arith::TruncFOp::create(b, loc, to.isBF16() ? b.getF32Type() : to, value);
  // Rounded where the program says so, although computed in f32.
  return to.isBF16() ? widen(arith::TruncFOp::create(b, loc, to, value)) : value;
}

Value KernelBuilder::arithmetic(Operation *op, ArrayRef<Value> in) {
  OpBuilder &b = at();
  bool isFloat = isa<FloatType>(in.back().getType());
  auto make = [&](auto tag, auto... operands) -> Value { return decltype(tag)::create(b, loc, operands...); };
  auto number = [&](double value) { return constant(value, in.back().getType()); };
#define EITHER(FLOAT, INT, ...) (isFloat ? make(FLOAT(), __VA_ARGS__) : make(INT(), __VA_ARGS__))
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return EITHER(arith::AddFOp, arith::AddIOp, in[0], in[1]); })
      .Case<SubOp>([&](auto) { return EITHER(arith::SubFOp, arith::SubIOp, in[0], in[1]); })
      .Case<MulOp>([&](auto) { return EITHER(arith::MulFOp, arith::MulIOp, in[0], in[1]); })
      .Case<DivOp>([&](auto) { return EITHER(arith::DivFOp, arith::FloorDivSIOp, in[0], in[1]); })
      .Case<MaxOp>([&](auto) { return EITHER(arith::MaximumFOp, arith::MaxSIOp, in[0], in[1]); })
      .Case<MinOp>([&](auto) { return EITHER(arith::MinimumFOp, arith::MinSIOp, in[0], in[1]); })
      .Case<PowOp>([&](auto) { return EITHER(math::PowFOp, math::IPowIOp, in[0], in[1]); })
      .Case<RemOp>([&](auto) {
        Value quotient = isFloat ? make(math::FloorOp(), make(arith::DivFOp(), in[0], in[1])) : make(arith::FloorDivSIOp(), in[0], in[1]);
        Value whole = EITHER(arith::MulFOp, arith::MulIOp, in[1], quotient);
        return EITHER(arith::SubFOp, arith::SubIOp, in[0], whole);
      })
      .Case<AndOp>([&](auto) { return make(arith::AndIOp(), in[0], in[1]); })
      .Case<OrOp>([&](auto) { return make(arith::OrIOp(), in[0], in[1]); })
      .Case<NotOp>([&](auto) { return make(arith::XOrIOp(), in[0], number(1)); })
      .Case<NegOp>([&](auto) { return isFloat ? make(arith::NegFOp(), in[0]) : make(arith::SubIOp(), number(0), in[0]); })
      .Case<AbsOp>([&](auto) { return EITHER(math::AbsFOp, math::AbsIOp, in[0]); })
      .Case<SignOp>([&](auto) {
        Value positive = make(arith::SelectOp(), compare(Predicate::Gt, in[0], number(0)), number(1), number(0));
        return make(arith::SelectOp(), compare(Predicate::Lt, in[0], number(0)), number(-1), positive);
      })
      .Case<ExpOp>([&](auto) { return make(math::ExpOp(), in[0]); })
      .Case<LogOp>([&](auto) { return make(math::LogOp(), in[0]); })
      .Case<SqrtOp>([&](auto) { return make(math::SqrtOp(), in[0]); })
      .Case<RsqrtOp>([&](auto) { return make(math::RsqrtOp(), in[0]); })
      .Case<TanhOp>([&](auto) { return make(math::TanhOp(), in[0]); })
      .Case<ErfOp>([&](auto) { return make(math::ErfOp(), in[0]); })
      .Case<SinOp>([&](auto) { return make(math::SinOp(), in[0]); })
      .Case<CosOp>([&](auto) { return make(math::CosOp(), in[0]); })
      .Case<FloorOp>([&](auto) { return make(math::FloorOp(), in[0]); })
      .Case<CeilOp>([&](auto) { return make(math::CeilOp(), in[0]); })
      .Case<SigmoidOp>([&](auto) {
        Value e = make(math::ExpOp(), make(arith::NegFOp(), in[0]));
        return make(arith::DivFOp(), number(1), make(arith::AddFOp(), number(1), e));
      })
      .Case<CompareOp>([&](CompareOp op) { return compare(op.getPredicate(), in[0], in[1]); })
      .Case<SelectOp>([&](auto) { return make(arith::SelectOp(), in[0], in[1], in[2]); })
      .Case<CastOp>([&](CastOp op) { return cast(in[0], op.getInput().getType().getElementType(), op.getType().getElementType()); })
      .Case<TapOp, StopGradientOp>([&](auto) { return in.back(); })
      .Default([](Operation *op) -> Value { llvm::report_fatal_error("no kernel form of " + op->getName().getStringRef()); });
#undef EITHER
}

//===----------------------------------------------------------------------===//
// Row loops
//===----------------------------------------------------------------------===//

/// How many row loops must be over before `value` can be computed; collects the reductions on the way.
unsigned KernelBuilder::levelOf(Value value) {
  auto [it, isNew] = levels.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  bool mine = op && members.contains(op);
  if (!op || lowering.loopIndices.contains(value) || (!mine && lowering.bufferOf(value)))
    return 0;
  unsigned level = 0;
  for (Value operand : op->getOperands())
    level = std::max(level, levelOf(operand));
  if (reducedDims(op)) {
    reductions[op] = level;
    ++level;
  }
  return levels[value] = level;
}

Value KernelBuilder::reductionInput(Operation *op) {
  auto fold = dyn_cast<FoldOp>(op);
  if (!fold)
    return pull(op->getOperand(0));
  // Element p gets input[i, j] where i * stride + j * dilation - low = p.
  Type i32 = at().getI32Type();
  loc = op->getLoc();
  Value p = rt::IndexOp::create(at(), loc, i32, fold.getDimAttr()), j = rt::IndexOp::create(at(), loc, i32, fold.getWindowAttr());
  Value offset = arith::MulIOp::create(at(), loc, j, constant(fold.getDilation(), i32));
  Value scaled = arith::SubIOp::create(at(), loc, arith::AddIOp::create(at(), loc, p, constant(fold.getLow(), i32)), offset);
  Value stride = constant(fold.getStride(), i32), zero = constant(0, i32);
  Value inside = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::sge, scaled, zero);
  Value rest = arith::RemSIOp::create(at(), loc, scaled, stride);
  inside = arith::AndIOp::create(at(), loc, inside, arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, rest, zero));
  View view = identity(fold.getInput());
  view[fold.getDimAttr()] = {StringAttr(), arith::DivSIOp::create(at(), loc, scaled, stride), Value()};
  Value element = load(inArg(lowering.bufferOf(fold.getInput())), view, /*checked=*/true);
  return arith::SelectOp::create(at(), loc, inside, element, constant(0, element.getType()));
}

void KernelBuilder::store(Value root) {
  Value value = pull(root);
  loc = root.getLoc();
  if (tensorType(root).getElementType().isBF16())
    value = arith::TruncFOp::create(at(), loc, at().getBF16Type(), value);
  rt::StoreOp::create(at(), loc, value, outArgs[root]);
  storedHere.insert(root);
}

/// One pass over the row: the reductions and stores of this level.
void KernelBuilder::emitRow(unsigned level) {
  SmallVector<Operation *> reduced;
  for (auto [op, inputLevel] : reductions)
    if (inputLevel == level)
      reduced.push_back(op);
  SmallVector<Value> roots;
  for (auto [root, argument] : outArgs)
    if (!isOuter(root) && levelOf(root) == level)
      roots.push_back(root);
  if (reduced.empty() && roots.empty())
    return;

  auto region = std::make_unique<Region>();
  Block &block = region->emplaceBlock();
  // Outer values are emitted before the loop, so the loop op is inserted once its body is complete.
  inRow.emplace(builderAt(&block));
  rowValues.clear();
  SmallVector<Attribute> kinds;
  SmallVector<Value> values;
  for (Operation *op : reduced) {
    ReductionKind kind = isa<ReduceOp>(op) ? cast<ReduceOp>(op).getKind() : ReductionKind::Sum;
    values.push_back(reductionInput(op));
    kinds.push_back(ReductionKindAttr::get(op->getContext(), kind));
  }
  for (Value root : roots)
    store(root);
  loc = reduced.empty() ? roots.front().getLoc() : reduced.front()->getLoc();
  rt::YieldOp::create(*inRow, loc, inRow->getArrayAttr(kinds), values);
  inRow.reset();
  auto row = rt::RowOp::create(outer, loc, ValueRange(values).getTypes());
  row.getBody().takeBody(*region);
  for (auto [op, result] : llvm::zip(reduced, row.getResults())) {
    result.setLoc(op->getLoc());
    outerValues[op->getResult(0)] = result;
  }
  rowValues.clear();
}

LogicalResult KernelBuilder::build(const Unit &kernel) {
  unit = &kernel;
  rowDims = kernel.row;
  members.insert(kernel.ops.begin(), kernel.ops.end());
  unsigned last = 0;
  for (Operation *op : kernel.ops) {
    Value root = op->getResult(0);
    if (!lowering.fusion.isStored(root))
      continue;
    Value buffer = lowering.allocate(lowering.orders.bufferType(root), root.getLoc());
    outArgs[root] = body->addArgument(buffer.getType(), root.getLoc());
    lowering.buffers[root] = buffer;
    last = std::max(last, levelOf(root));
  }
  // Outer values as early as possible: what they read of the row may be overwritten later.
  for (unsigned level = 0; level <= last; ++level) {
    for (auto [root, argument] : outArgs)
      if (isOuter(root) && levelOf(root) == level)
        store(root);
    if (kernel.row.any())
      emitRow(level);
  }
  return success();
}

LogicalResult Lowering::lowerKernel(const Unit &unit) {
  // Loops follow the memory order of the largest value stored, or else reduced.
  Value leader;
  for (Operation *op : unit.ops) {
    Value candidate = reducedDims(op) && isa<ReduceOp>(op) ? op->getOperand(0) : op->getResult(0);
    if (fusion.setOf(candidate) == unit.dims && (!leader || (fusion.isStored(candidate) && !fusion.isStored(leader))))
      leader = candidate;
  }
  llvm::SmallDenseMap<StringAttr, int64_t> sizes;
  SmallVector<StringAttr> order;
  auto add = [&](Value value) {
    for (DimAttr dim : orders.order(value))
      if (sizes.try_emplace(dim.getName(), localSize(dim)).second)
        order.push_back(dim.getName());
  };
  if (leader)
    add(leader);
  for (Operation *op : unit.ops) {
    add(op->getResult(0));
    for (Value operand : op->getOperands())
      if (DimSet set = fusion.setOf(operand); (set & unit.dims) == set)
        add(operand);
  }
  SmallVector<Attribute> outerDims, rowDims;
  DimSet row = unit.row;
  auto isRow = [&](StringAttr name) { return llvm::is_contained(fusion.names(row), name); };
  for (StringAttr name : order)
    (isRow(name) ? rowDims : outerDims).push_back(rt::DimAttr::get(name, sizes[name]));

  auto region = std::make_unique<Region>();
  Block &body = region->emplaceBlock();
  KernelBuilder kernel(*this, &body);
  if (failed(kernel.build(unit)))
    return failure();
  SmallVector<Value> outs;
  Location loc = unit.ops.back()->getLoc();
  for (Operation *op : unit.ops)
    if (fusion.isStored(op->getResult(0))) {
      outs.push_back(bufferOf(op->getResult(0)));
      loc = op->getLoc();
    }
  bool columns = unit.reductionOnly && !outerDims.empty();
  auto op = rt::KernelOp::create(builder, loc, builder.getArrayAttr(outerDims), builder.getArrayAttr(rowDims), columns, kernel.ins, outs);
  op.getBody().takeBody(*region);
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void KernelBuilder::buildMask(Value mask, const AttendDims &dims) {
  loc = mask.getLoc();
  View view;
  auto typeOf = [&](StringAttr name) { return tensorType(mask).findDim(name); };
  // The one dim of queries and of keys comes as a global index, the others as parts of a local one.
  auto addGlobal = [&](ArrayRef<StringAttr> names, Value global) {
    if (names.size() != 1 || !typeOf(names[0]))
      return;
    DimAttr dim = typeOf(names[0]);
    Place place{StringAttr(), global, global};
    if (lowering.mesh.shardCount(dim.getAxes()) > 1)
      place.index = arith::SubIOp::create(outer, loc, global, globalIndex({StringAttr(), constant(0, outer.getI32Type()), Value()}, dim));
    view[names[0]] = place;
  };
  auto addLocal = [&](ArrayRef<StringAttr> names, Value linear) {
    for (StringAttr name : llvm::reverse(names)) {
      Value size = constant(dims.sizes.lookup(name), outer.getI32Type());
      if (typeOf(name))
        view[name] = {StringAttr(), arith::RemSIOp::create(outer, loc, linear, size), Value()};
      linear = arith::DivSIOp::create(outer, loc, linear, size);
    }
  };
  addGlobal(dims.query, body->getArgument(0));
  addGlobal(dims.mem, body->getArgument(1));
  addLocal(dims.batch, body->getArgument(2));
  SmallVector<StringAttr> heads(dims.heads);
  heads.append(dims.groups);
  addLocal(heads, body->getArgument(3));
  rt::VisibleOp::create(outer, loc, pull(mask, view));
}

SmallVector<Value> Lowering::buildMask(Value mask, Region &region, const AttendDims &dims) {
  Block &body = region.emplaceBlock();
  for (int i = 0; i < 4; ++i)
    body.addArgument(builder.getI32Type(), mask.getLoc());
  KernelBuilder kernel(*this, &body);
  kernel.buildMask(mask, dims);
  return kernel.ins;
}
