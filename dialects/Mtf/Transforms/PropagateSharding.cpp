//===- PropagateSharding.cpp - decides every value's sharding --------------===//
//
// Pins, then the layout's rules in order, then inference; see ShardingRules.h, ShardingPropagation.cpp, ShardingPartial.cpp and
// ShardingPadding.h for the parts. The program is not changed: each op gets the attribute `mtf.sharding`, the types that its operands
// must have and its results have; arguments of functions have one each. `mtf-insert-reshards` makes them true.
//
//   %y = mtf.dot %h, %w over ["ff"] : ...             // layout: ff -> model
//
//   %y = mtf.dot %h, %w over ["ff"] {mtf.sharding = [!mtf.tensor<[batch=8, ff=64 (model)], f32>, !mtf.tensor<[ff=64 (model), embed=16], f32>,
//                                                    !mtf.tensor<[batch=8, embed=16], f32, partial(sum: model)>]} : ...
//
// With `explain`, `mtf.why` lists the decisions about the results.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "ShardingPadding.h"
#include "ShardingPropagation.h"
#include <memory>

namespace meshc::mtf {
#define GEN_PASS_DEF_PROPAGATESHARDING
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

namespace {
/// The types that follow from what was decided about one function.
class FunctionTypes {
public:
  FunctionTypes(std::unique_ptr<ShardingGraph> graph, PartialPlacement partials) : graph(std::move(graph)), partials(std::move(partials)) {}

  NamedTensorType made(Value value) const;
  NamedTensorType needed(OpOperand &use) const;
  /// Every type, for padded sizes.
  void visit(llvm::function_ref<void(NamedTensorType)> callback) const;
  void annotate(const PaddedSizes &padded, bool explain) const;

  std::unique_ptr<ShardingGraph> graph;

private:
  NamedTensorType type(Value value, Sharding sharding, AxisSet partial) const;
  static NamedTensorType withLoopDim(NamedTensorType type, RepeatOp op) {
    return type.with(DimAttr::get(op.getDimAttr(), op.getCount()));
  }

  PartialPlacement partials;
};
} // namespace

/// `sharding` without the axes over which the value is partial.
NamedTensorType FunctionTypes::type(Value value, Sharding sharding, AxisSet partial) const {
  for (AxisList &axes : sharding.dims)
    llvm::erase_if(axes, [&](Axis axis) { return partial & bit(axis); });
  sharding.partial |= partial;
  return applySharding(tensorType(value), sharding, graph->mesh);
}

NamedTensorType FunctionTypes::made(Value value) const {
  if (std::optional<Sharding> storage = graph->storage(value))
    return applySharding(tensorType(value), *storage, graph->mesh);
  AxisSet partial = partials.made.lookup(value);
  if (auto it = graph->nodeOf.find(value.getDefiningOp()); value.getDefiningOp() && it != graph->nodeOf.end()) {
    const Node &node = graph->nodes[it->second];
    Sharding placed = graph->placed(node, node.numOperands + cast<OpResult>(value).getResultNumber());
    // What is owed to the op's own reductions is there already, in its own kind.
    AxisSet own = placed.partial;
    for (AxisList &axes : placed.dims)
      llvm::erase_if(axes, [&](Axis axis) { return node.kept & bit(axis); });
    return type(value, placed, partial & ~own);
  }
  return type(value, graph->home(value), partial);
}

NamedTensorType FunctionTypes::needed(OpOperand &use) const {
  Operation *op = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    if (index < repeat.numCarries())
      return made(repeat.carryArg(index));
    return withLoopDim(made(repeat.sliceArg(index - repeat.numCarries())), repeat);
  }
  if (auto next = dyn_cast<NextOp>(op)) {
    auto repeat = cast<RepeatOp>(next->getParentOp());
    if (index < repeat.numCarries())
      return made(repeat.carryArg(index));
    return made(repeat.getResult(index)).without({repeat.getDimAttr()});
  }
  if (isa<func::ReturnOp>(op)) {
    func::FuncOp function = graph->function;
    for (StringRef key : {StringRef(kParam), StringRef(kState)})
      if (Attribute name = function.getResultAttr(index, key))
        for (unsigned i = 0; i < function.getNumArguments(); ++i)
          if (function.getArgAttr(i, key) == name)
            return made(function.getArgument(i));
    // A program's results go to the host in one piece; a helper's stay where they are.
    return function.isPublic() ? tensorType(use.get()) : type(use.get(), graph->home(use.get()), 0);
  }
  // A stored parameter is converted where it is.
  if (isa<CastOp>(op) && graph->storage(op->getResult(0)))
    return made(use.get());
  const Node &node = graph->nodes[graph->nodeOf.find(op)->second];
  Sharding placed = graph->placed(node, index);
  for (AxisList &axes : placed.dims)
    llvm::erase_if(axes, [&](Axis axis) { return node.kept & bit(axis); });
  return type(use.get(), placed, partials.taken.lookup(&use));
}

/// Ops that get the attribute: those with a node, loops and terminators.
static bool isPlaced(const ShardingGraph &graph, Operation *op) {
  return graph.nodeOf.count(op) || isa<RepeatOp, NextOp, func::ReturnOp>(op);
}

void FunctionTypes::visit(llvm::function_ref<void(NamedTensorType)> callback) const {
  for (Value argument : graph->function.getArguments())
    callback(made(argument));
  graph->function.walk([&](Operation *op) {
    if (!isPlaced(*graph, op))
      return;
    for (OpOperand &use : op->getOpOperands())
      callback(needed(use));
    for (Value result : op->getResults())
      callback(made(result));
  });
}

void FunctionTypes::annotate(const PaddedSizes &padded, bool explain) const {
  func::FuncOp function = graph->function;
  auto why = [&](Value value) {
    SmallVector<Attribute> lines;
    if (int variable = graph->variable(value); variable >= 0)
      for (const std::string &reason : (graph->storage(value) ? graph->stored[graph->variable(storedArgument(value))] : graph->variables[variable]).reasons)
        lines.push_back(StringAttr::get(function.getContext(), reason));
    return ArrayAttr::get(function.getContext(), lines);
  };
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    function.setArgAttr(i, kSharding, TypeAttr::get(padded.apply(made(argument))));
    if (graph->storage(argument))
      function.setArgAttr(i, kStored, UnitAttr::get(function.getContext()));
    if (explain)
      function.setArgAttr(i, kWhy, why(argument));
  }
  function.walk([&](Operation *op) {
    if (!isPlaced(*graph, op))
      return;
    SmallVector<Attribute> types, reasons;
    for (OpOperand &use : op->getOpOperands())
      types.push_back(TypeAttr::get(padded.apply(needed(use))));
    for (Value result : op->getResults()) {
      types.push_back(TypeAttr::get(padded.apply(made(result))));
      reasons.push_back(why(result));
    }
    op->setAttr(kSharding, ArrayAttr::get(op->getContext(), types));
    if (explain && !reasons.empty())
      op->setAttr(kWhy, ArrayAttr::get(op->getContext(), reasons));
  });
}

/// - one block per function, every tensor global, every op one that propagation understands
static LogicalResult checkFunction(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError() << "function '" << function.getName() << "' has " << function.getBody().getBlocks().size()
                                << " blocks; sharding takes functions of one";
  WalkResult result = function.walk([&](Operation *op) {
    auto isTensor = [](Type type) { return isa<NamedTensorType>(type); };
    if (llvm::none_of(op->getOperandTypes(), isTensor) && llvm::none_of(op->getResultTypes(), isTensor))
      return WalkResult::advance();
    if (!isa<FactorOpInterface, RepeatOp, NextOp, ConstantOp, func::ReturnOp>(op)) {
      op->emitError() << "'" << op->getName().getStringRef() << "' cannot be sharded; inline calls and insert reshards later";
      return WalkResult::interrupt();
    }
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<NamedTensorType>(type); tensor && !tensor.isGlobal()) {
        op->emitError() << "is sharded already: " << tensor;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct PropagateShardingPass : meshc::mtf::impl::PropagateShardingBase<PropagateShardingPass> {
  using PropagateShardingBase::PropagateShardingBase;

  LogicalResult decide(const Mesh &mesh);

  void runOnOperation() override {
    MeshAttr attr = MeshAttr::of(getOperation());
    if (attr.getAxisNames().size() > 32) {
      getOperation().emitError() << "a mesh has at most 32 axes, got: " << attr.getAxisNames().size();
      return signalPassFailure();
    }
    if (failed(decide(Mesh(attr))))
      signalPassFailure();
  }
};
} // namespace

/// The function's argument for `param`'s type, or one of no function.
static void placeParams(ModuleOp module, ArrayRef<std::unique_ptr<FunctionTypes>> functions, const PaddedSizes &padded) {
  llvm::DenseMap<Attribute, NamedTensorType> types;
  for (const auto &types_ : functions)
    for (auto [i, argument] : llvm::enumerate(types_->graph->function.getArguments()))
      if (auto symbol = types_->graph->function.getArgAttrOfType<FlatSymbolRefAttr>(i, kParam))
        types.try_emplace(symbol, padded.apply(types_->made(argument)));
  for (auto param : module.getOps<ParamOp>())
    if (NamedTensorType type = types.lookup(FlatSymbolRefAttr::get(param.getSymNameAttr())))
      param->setAttr(kSharding, TypeAttr::get(type));
}

LogicalResult PropagateShardingPass::decide(const Mesh &mesh) {
  ModuleOp module = getOperation();
  llvm::SmallDenseSet<StringAttr> loopDims;
  module.walk([&](RepeatOp op) { loopDims.insert(op.getDimAttr()); });
  FailureOr<ShardingRules> rules = ShardingRules::create(module, mesh, loopDims);
  if (failed(rules))
    return failure();
  SmallVector<std::unique_ptr<FunctionTypes>> functions;
  PaddedSizes padded(mesh);
  module.walk([&](FactorOpInterface op) { padded.addOp(op); });
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (failed(checkFunction(function)))
      return failure();
    auto graph = std::make_unique<ShardingGraph>(function, mesh, loopDims, padded);
    if (failed(rules->apply(*graph)))
      return failure();
    propagate(*graph, *rules);
    PartialPlacement partials = placePartials(*graph);
    functions.push_back(std::make_unique<FunctionTypes>(std::move(graph), std::move(partials)));
    functions.back()->visit([&](NamedTensorType type) { padded.addType(type); });
  }
  if (warnUnmatched)
    rules->reportUnmatched();
  if (failed(padded.solve()))
    return failure();
  for (const auto &function : functions)
    function->annotate(padded, explain);
  placeParams(module, functions, padded);
  return success();
}
