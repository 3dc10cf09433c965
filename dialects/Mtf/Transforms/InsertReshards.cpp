//===- InsertReshards.cpp - makes types carry what was decided -------------===//
//
//   %y = mtf.dot %h, %w over ["ff"] {mtf.sharding = [...]} : (global types)
//   %z = mtf.add %y, %bias {mtf.sharding = [...]} : (global types)
//
//   %y = mtf.dot %h, %w over ["ff"] : ... -> !mtf.tensor<[batch=8 (data), embed=16], f32, partial(sum: model)>
//   %r = mtf.reshard %y {reason = "add takes the sum over 'model'"} : ... -> !mtf.tensor<[batch=8 (data), embed=16], f32>
//   %z = mtf.add %r, %bias : ...
//
// A reshard stands in the block of its value, so one inside a loop that could stand before it does. A second use takes the cheapest of the
// versions that exist already. A parameter that is stored in parts (`mtf.stored`) is gathered where it is used: in the body of the loop over
// layers, after the slice, and again after a loop that it is not used in, so that nothing whole is kept over a loop. Free values (no
// `mtf.sharding` on their op) are copied in the sharding that each use wants.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "ReshardPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

/// `'a', 'b'`
static std::string quote(ArrayRef<StringAttr> names) {
  return llvm::join(llvm::map_range(names, [](StringAttr name) { return "'" + name.str() + "'"; }), ", ");
}

/// Why `user` needs another version of a value.
static std::string describe(NamedTensorType from, NamedTensorType to, Operation *user) {
  std::string name = isa<func::ReturnOp>(user) ? "the function's result" : user->getName().stripDialect().str();
  SmallVector<StringAttr> summed;
  llvm::copy_if(from.getPartialAxes(), std::back_inserter(summed), [&](StringAttr axis) { return !llvm::is_contained(to.getPartialAxes(), axis); });
  if (!summed.empty())
    return name + " takes the " + (from.getPartialKind() == ReductionKind::Sum ? "sum" : stringifyReductionKind(from.getPartialKind()).str()) + " over " +
           quote(summed);
  std::string text;
  for (auto [before, after] : llvm::zip(from.getDims(), to.getDims())) {
    if (before.getAxes() == after.getAxes())
      continue;
    text += (text.empty() ? "" : ", ") + ("'" + before.getName().str() + "' ") +
            (after.getAxes().empty() ? std::string("in one piece") : "split over " + quote(SmallVector<StringAttr>(after.getAxes())));
  }
  if (text.empty())
    return name + " adds it to a sum that waits";
  return name + " takes " + text;
}

static bool isZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return constant.asDouble() == 0;
  return isa_and_nonnull<BroadcastOp, CastOp, RenameOp>(op) && isZero(op->getOperand(0));
}

namespace {
class Inserter {
public:
  Inserter(func::FuncOp function) : function(function), mesh(MeshAttr::of(function)) {}
  void run();

private:
  void visit(Block &block);
  Value version(OpOperand &use, NamedTensorType type);
  Value gathered(OpOperand &use, NamedTensorType type);
  bool isStored(Value value) const { return !stored.empty() && stored.contains(storedArgument(value)); }
  Value materialize(Value value, NamedTensorType type);
  Value reshard(Value value, Value from, NamedTensorType type, Operation *user);
  bool isFree(Value value) const { return free.contains(value); }

  func::FuncOp function;
  Mesh mesh;
  llvm::DenseSet<Value> free, stored;
  /// Versions of a value made so far, in order.
  llvm::DenseMap<Value, SmallVector<Value>> versions;
  llvm::DenseMap<std::pair<Value, Type>, Value> copies;
};
} // namespace

/// A copy of the free `value` with `type`, next to the original.
Value Inserter::materialize(Value value, NamedTensorType type) {
  if (value.getType() == type)
    return value;
  Value &known = copies[{value, type}];
  if (known)
    return known;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(value.getContext());
  if (!op || (type.isPartial() && !isZero(value))) {
    Value whole = materialize(value, type.withPartial({}));
    builder.setInsertionPointAfterValue(whole);
    Value summand = ReshardOp::create(builder, value.getLoc(), type, whole);
    return copies[{value, type}] = summand;
  }
  SmallVector<SmallVector<DimAttr>> dims(op->getNumOperands());
  for (auto [list, operand] : llvm::zip(dims, op->getOperands()))
    llvm::append_range(list, tensorType(operand).getDims());
  if (auto factors = dyn_cast<FactorOpInterface>(op))
    for (const Factor &factor : factors.getFactors()) {
      const DimUse &result = factor.uses.back();
      DimAttr placed = type.findDim(result.dim);
      for (const DimUse &use : factor.uses)
        if (use.value < dims.size())
          for (DimAttr &dim : dims[use.value])
            if (dim.getName() == use.dim)
              dim = placed.withName(use.dim);
    }
  IRMapping mapping;
  for (auto [list, operand] : llvm::zip(dims, op->getOperands())) {
    NamedTensorType wanted = tensorType(operand).withDims(list);
    if (type.isPartial() && isZero(operand))
      wanted = wanted.withPartial(type.getPartialAxes());
    mapping.map(operand, materialize(operand, wanted));
  }
  builder.setInsertionPointAfter(op);
  // Operands may have been copied after `op`'s place only if they are copies of its operands, which stand before it.
  Operation *copy = builder.clone(*op, mapping);
  copy->getResult(0).setType(type);
  return copies[{value, type}] = copy->getResult(0);
}

Value Inserter::reshard(Value value, Value from, NamedTensorType type, Operation *user) {
  // The ancestor of the user in the value's own block.
  Operation *at = value.getParentBlock()->findAncestorOpInBlock(*user);
  OpBuilder builder(at);
  auto op = ReshardOp::create(builder, value.getLoc(), type, from);
  op->setAttr("reason", builder.getStringAttr(describe(tensorType(from), type, user)));
  return op;
}

Value Inserter::version(OpOperand &use, NamedTensorType type) {
  Value value = use.get();
  if (isFree(value))
    return materialize(value, type);
  if (value.getType() == type)
    return value;
  if (isStored(value))
    return gathered(use, type);
  SmallVector<Value> &known = versions[value];
  Value best = value;
  int64_t bestCost = std::numeric_limits<int64_t>::max();
  SmallVector<Value> candidates = {value};
  llvm::append_range(candidates, known);
  for (Value candidate : candidates) {
    if (candidate.getType() == type)
      return candidate;
    NamedTensorType from = tensorType(candidate);
    int64_t cost = planReshard(from, shardingOf(from, mesh), shardingOf(type, mesh), mesh, /*exact=*/true).cost;
    if (cost < bestCost)
      best = candidate, bestCost = cost;
  }
  Value result = reshard(value, best, type, use.getOwner());
  known.push_back(result);
  return result;
}

/// The block in which the parameter `value` is gathered for `user`. A parameter that a loop over layers uses as a whole is gathered before
/// it: every iteration needs it. The loop over microbatches uses all parameters, which must not all be whole at once.
static Block *gatheringBlock(Value value, Operation *user) {
  Block *block = user->getBlock();
  while (block != value.getParentBlock()) {
    auto loop = cast<RepeatOp>(block->getParentOp());
    if (loop.getDim() == kMicroDim)
      break;
    block = loop->getBlock();
  }
  return block;
}

static bool hasLoopBetween(Operation *first, Operation *last) {
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (isa<RepeatOp>(op))
      return true;
  return false;
}

Value Inserter::gathered(OpOperand &use, NamedTensorType type) {
  Value value = use.get();
  Block *block = gatheringBlock(value, use.getOwner());
  Operation *at = block->findAncestorOpInBlock(*use.getOwner());
  SmallVector<Value> &known = versions[value];
  for (Value version : known)
    if (version.getType() == type && version.getParentBlock() == block && !hasLoopBetween(version.getDefiningOp(), at))
      return version;
  OpBuilder builder(at);
  auto op = ReshardOp::create(builder, value.getLoc(), type, value);
  std::string reason = describe(tensorType(value), type, use.getOwner());
  // The number keeps equal gathers apart that are meant to happen twice.
  if (!known.empty())
    reason += " (gather " + std::to_string(known.size() + 1) + ")";
  op->setAttr("reason", builder.getStringAttr(reason));
  known.push_back(op);
  return op;
}

void Inserter::visit(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto types = op.getAttrOfType<ArrayAttr>(kSharding);
    if (!types) {
      for (Value result : op.getResults())
        if (isa<NamedTensorType>(result.getType()) && !isa<ReshardOp>(op))
          free.insert(result);
      continue;
    }
    op.removeAttr(kSharding);
    for (OpOperand &use : op.getOpOperands())
      use.set(version(use, cast<NamedTensorType>(cast<TypeAttr>(types[use.getOperandNumber()]).getValue())));
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      result.setType(cast<TypeAttr>(types[op.getNumOperands() + i]).getValue());
    auto repeat = dyn_cast<RepeatOp>(op);
    if (!repeat)
      continue;
    free.insert(repeat.indexArg());
    for (unsigned i = 0; i < repeat.numCarries(); ++i)
      repeat.carryArg(i).setType(repeat.getInits()[i].getType());
    for (auto [i, input] : llvm::enumerate(repeat.getScanned()))
      repeat.sliceArg(i).setType(tensorType(input).without({repeat.getDimAttr()}));
    visit(*repeat.bodyBlock());
  }
}

/// Originals of free values that all uses have replaced by copies.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

void Inserter::run() {
  Block &body = function.getBody().front();
  SmallVector<Type> arguments;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    auto type = function.getArgAttrOfType<TypeAttr>(i, kSharding);
    if (type) {
      function.removeArgAttr(i, kSharding);
      argument.setType(type.getValue());
    }
    if (auto tensor = dyn_cast<NamedTensorType>(argument.getType()); tensor && tensor.isScalar())
      free.insert(argument);
    if (function.removeArgAttr(i, kStored))
      stored.insert(argument);
    arguments.push_back(argument.getType());
  }
  visit(body);
  eraseDead(body);
  function.setType(FunctionType::get(function.getContext(), arguments, body.getTerminator()->getOperandTypes()));
}

namespace {
struct InsertReshardsPass : meshc::mtf::impl::InsertReshardsBase<InsertReshardsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().front().getTerminator()->hasAttr(kSharding))
        Inserter(function).run();
    for (auto param : module.getOps<ParamOp>())
      if (auto type = param->getAttrOfType<TypeAttr>(kSharding)) {
        param->removeAttr(kSharding);
        param.setTypeAttr(type);
      }
  }
};
} // namespace
