//===- ShardingGraph.cpp - one function as propagation sees it -------------===//
#include "ShardingGraph.h"

using namespace mlir;
using namespace meshc::mtf;

DimSplit *Variable::find(StringAttr name) {
  for (DimSplit &dim : dims)
    if (dim.name == name)
      return &dim;
  return nullptr;
}

AxisSet Variable::used() const {
  AxisSet set = 0;
  for (const DimSplit &dim : dims)
    set |= setOf(dim.axes);
  return set;
}

void Variable::append(DimSplit &dim, Axis axis, int priority, std::string reason) {
  dim.axes.push_back(axis);
  dim.priorities.push_back(priority);
  reasons.push_back(std::move(reason));
}

int64_t meshc::mtf::tripCount(Block *block) {
  int64_t trips = 1;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    if (auto loop = dyn_cast<RepeatOp>(op))
      trips *= loop.getCount();
  return trips;
}

/// The user's name for a value, from its location.
static std::string userName(Value value) {
  if (auto tap = value.getDefiningOp<TapOp>())
    return tap.getName().str();
  if (auto name = dyn_cast<NameLoc>(value.getLoc()))
    return name.getName().str();
  return "";
}

ShardingGraph::ShardingGraph(func::FuncOp function, const Mesh &mesh, const llvm::SmallDenseSet<StringAttr> &loopDims,
                             const PaddedSizes &padded)
    : mesh(mesh), function(function), loopDims(loopDims), padded(padded) {
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    auto type = dyn_cast<NamedTensorType>(argument.getType());
    if (!type || type.isScalar())
      continue;
    Variable &variable = variables[newVariable(argument)];
    variable.open = false;
    if (auto param = function.getArgAttrOfType<FlatSymbolRefAttr>(i, kParam)) {
      variable.kind = Variable::Param;
      variable.path = param.getValue().str();
    } else if (auto state = function.getArgAttrOfType<ArrayAttr>(i, kState)) {
      variable.kind = Variable::State;
      variable.path = cast<FlatSymbolRefAttr>(state[0]).getValue().str();
    } else if (auto data = function.getArgAttrOfType<StringAttr>(i, kData)) {
      variable.path = data.getValue().str();
    }
  }
  build(function.getBody().front());
  markParamLike();
  markUpdates();
}

int ShardingGraph::newVariable(Value value) {
  int index = variables.size();
  variables.emplace_back();
  variables.back().example = value;
  variables.back().path = userName(value);
  addDims(variables.back(), value);
  variableOf[value] = index;
  return index;
}

void ShardingGraph::addDims(Variable &variable, Value value) {
  for (DimAttr dim : tensorType(value).getDims())
    if (!variable.find(dim.getName()))
      variable.dims.push_back({dim.getName(), {}, {}});
}

/// Ops whose result is as cheap to make anew as to move.
static bool isFreeOp(Operation *op) {
  return isa<ConstantOp, IndexOp, RandomOp, RenameOp>(op) || op->hasTrait<Elementwise>();
}

void ShardingGraph::build(Block &block) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      buildRepeat(repeat);
      continue;
    }
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      // What a function returns for a parameter or state is placed as what it took.
      for (auto [i, operand] : llvm::enumerate(ret.getOperands()))
        for (StringRef key : {StringRef(kParam), StringRef(kState)})
          if (Attribute name = function.getResultAttr(i, key))
            for (unsigned j = 0; j < function.getNumArguments(); ++j)
              if (function.getArgAttr(j, key) == name)
                addLink(ret, {operand}, function.getArgument(j));
      continue;
    }
    if (isFreeOp(&op) && llvm::all_of(op.getOperands(), [&](Value operand) { return isFree(operand); }))
      continue;
    if (auto factors = dyn_cast<FactorOpInterface>(op)) {
      for (Value result : op.getResults())
        newVariable(result);
      addNode(factors);
    }
  }
}

void ShardingGraph::buildRepeat(RepeatOp op) {
  for (unsigned i = 0; i < op.numCarries(); ++i) {
    // A scalar carry is a value of its own, too: it may be partial.
    int variable = newVariable(op.carryArg(i));
    variableOf[op.carryResults()[i]] = variable;
    if (std::string name = userName(op.carryResults()[i]); !name.empty())
      variables[variable].path = name;
  }
  for (auto [i, input] : llvm::enumerate(op.getScanned())) {
    if (isFree(input))
      newVariable(op.sliceArg(i));
    else
      variableOf[op.sliceArg(i)] = variable(input);
  }
  build(*op.bodyBlock());
  NextOp next = op.next();
  for (auto [value, result] : llvm::zip(next.getStacked(), op.stackedResults())) {
    if (isFree(value)) {
      newVariable(result);
      continue;
    }
    variableOf[result] = variable(value);
    addDims(variables[variable(value)], result);
  }
  for (unsigned i = 0; i < op.numCarries(); ++i)
    addLink(op, {op.getInits()[i], next.getCarries()[i]}, op.carryArg(i));
}

void ShardingGraph::addNode(FactorOpInterface op) {
  Node node;
  node.op = op;
  node.numOperands = op->getNumOperands();
  llvm::append_range(node.values, op->getOperands());
  llvm::append_range(node.values, op->getResults());
  node.factors = op.getFactors();
  nodeOf[op] = nodes.size();
  finish(std::move(node));
}

void ShardingGraph::addLink(Operation *op, ArrayRef<Value> values, Value decides) {
  Node node;
  node.op = op;
  node.isLink = true;
  node.numOperands = values.size();
  node.values.assign(values.begin(), values.end());
  node.values.push_back(decides);
  for (DimAttr dim : tensorType(decides).getDims()) {
    Factor factor{FactorKind::Parallel, {}};
    for (unsigned i = 0; i < node.values.size(); ++i)
      factor.uses.push_back({i, dim.getName()});
    node.factors.push_back(factor);
  }
  finish(std::move(node));
}

void ShardingGraph::finish(Node node) {
  node.axes.resize(node.factors.size());
  for (Value value : node.values) {
    node.variables.push_back(variable(value));
    node.factorOf.emplace_back(tensorType(value).getDims().size(), 0);
  }
  for (auto [f, factor] : llvm::enumerate(node.factors))
    for (const DimUse &use : factor.uses)
      for (auto [d, dim] : llvm::enumerate(tensorType(node.values[use.value]).getDims()))
        if (dim.getName() == use.dim)
          node.factorOf[use.value][d] = f;
  for (int variable : node.variables)
    if (variable >= 0 && (variables[variable].nodes.empty() || variables[variable].nodes.back() != nodes.size()))
      variables[variable].nodes.push_back(nodes.size());
  nodes.push_back(std::move(node));
}

/// Backward from what a function returns for parameters and states, through elementwise ops on the same dims, up to loops.
void ShardingGraph::markUpdates() {
  SmallVector<Value> work;
  for (const Node &node : nodes)
    if (node.isLink && isa<func::ReturnOp>(node.op))
      work.push_back(node.values.front());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    int index = variable(value);
    if (!op || isa<RepeatOp>(op) || index < 0 || variables[index].update)
      continue;
    variables[index].update = true;
    if (op->hasTrait<Elementwise>() || isa<TapOp>(op))
      llvm::copy_if(op->getOperands(), std::back_inserter(work),
                    [&](Value operand) { return tensorType(operand).getDims() == tensorType(value).getDims(); });
  }
}

/// Forward from parameters through ops that only convert them; backward and forward from states and updated parameters through
/// elementwise ops on the same dims: moments, gradients and the sums that make them.
void ShardingGraph::markParamLike() {
  SmallVector<int> work;
  auto mark = [&](int variable, const std::string &path, bool spread) {
    if (variable < 0)
      return;
    Variable &v = variables[variable];
    if (v.kind != Variable::Value || v.paramLike)
      return;
    v.paramLike = true;
    v.gradientLike = spread;
    v.path = path;
    if (spread)
      work.push_back(variable);
  };
  for (int i = 0, e = variables.size(); i < e; ++i)
    if (variables[i].kind == Variable::State)
      work.push_back(i);
  for (const Node &node : nodes) {
    int last = node.variables.back();
    if (node.isLink && isa<func::ReturnOp>(node.op) && last >= 0 && variables[last].kind != Variable::Value)
      mark(node.variables.front(), variables[last].path, true);
  }
  while (!work.empty()) {
    int variable = work.pop_back_val();
    for (unsigned index : variables[variable].nodes) {
      const Node &node = nodes[index];
      if (!node.isLink && !node.op->hasTrait<Elementwise>() && !isa<TapOp>(node.op))
        continue;
      auto dims = tensorType(node.values.back()).global().getDims();
      auto sameDims = [&](unsigned i) { return tensorType(node.values[i]).global().getDims() == dims; };
      bool whole = false;
      for (unsigned i = 0; i < node.values.size(); ++i)
        whole |= node.variables[i] == variable && sameDims(i);
      for (unsigned i = 0; whole && i < node.values.size(); ++i)
        if (sameDims(i))
          mark(node.variables[i], variables[variable].path, true);
    }
  }
  for (const Node &node : nodes) {
    if (node.isLink || !isa<CastOp, RenameOp, StopGradientOp, TapOp>(node.op) || node.variables[0] < 0)
      continue;
    const Variable &source = variables[node.variables[0]];
    if (source.kind == Variable::Param || (source.paramLike && source.kind == Variable::Value))
      mark(node.variables[1], std::string(source.path), false);
  }
}

/// How `variable` splits a value of type `type`.
static Sharding splitOf(const Variable &variable, NamedTensorType type) {
  Sharding sharding(type.getDims().size());
  for (auto [axes, dim] : llvm::zip(sharding.dims, type.getDims()))
    if (const DimSplit *split = variable.find(dim.getName()))
      axes = split->axes;
  return sharding;
}

Sharding ShardingGraph::home(Value value) const {
  int index = variable(value);
  return index >= 0 ? splitOf(variables[index], tensorType(value)) : Sharding(tensorType(value).getDims().size());
}

std::optional<Sharding> ShardingGraph::storage(Value value) const {
  if (stored.empty())
    return std::nullopt;
  BlockArgument argument = storedArgument(value);
  auto it = argument ? stored.find(variable(argument)) : stored.end();
  return it == stored.end() ? std::nullopt : std::optional(splitOf(it->second, tensorType(value)));
}

Sharding ShardingGraph::placed(const Node &node, unsigned index, ArrayRef<AxisList> axes) const {
  NamedTensorType type = tensorType(node.values[index]);
  Sharding sharding(type.getDims().size());
  for (size_t d = 0; d < sharding.dims.size(); ++d)
    sharding.dims[d] = axes[node.factorOf[index][d]];
  if (index < node.numOperands || node.isLink)
    return sharding;
  for (auto [factor, list] : llvm::zip(node.factors, axes))
    if (factor.kind == FactorKind::Reduced && !list.empty() && !type.hasDim(factor.uses.front().dim)) {
      sharding.partial |= setOf(list);
      sharding.kind = factor.reduction;
    }
  return sharding;
}
