//===- ShardingPartial.cpp - where sums over ranks are completed -----------===//
//
// A dot over a split dimension gives a partial value. Linear ops may pass it on; it must be reduced on every way to an op that is not
// linear, exactly once on each way, and as cheaply as possible:
//
//   %a = dot(dq, wq)  %b = dot(dk, wk)  %c = dot(dv, wv)     partial over model
//   %d = a + b + c                                           reduced here: one all-reduce instead of three
//   %e = layer norm's derivative of d                        its results would be as large, and gain and bias come on top
//
//   repeat micro (acc = zeros) { next acc + dot(x, dy) }      acc stays partial over data; reduced after the loop, not in it
//
// This is a minimum cut. Per axis, a value v has a node in(v): on the source's side it is made partial, on the sink's side complete. An
// edge in(v) -> red(v) of the cost of reducing v, times the executions; an infinite edge red(v) -> use for each use, so that one
// reduction serves all uses that need it. Uses by ops that are not linear are tied to the sink, uses by a linear op to its result; ops
// that contract a split dimension have their results tied to the source. A summand that is complete where its sum stays partial is zeroed on
// all ranks but one (spmd.unreduce), which costs little for a scalar and is never worth it for a large value. Of equal cuts the latest is taken.
//
//===----------------------------------------------------------------------===//
#include "MaxFlow.h"
#include "ReshardPlan.h"
#include "ShardingPropagation.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshc::mtf;

/// True if `value` is zero on every rank whatever its sharding: a sum of it is itself.
static bool isZero(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<ConstantOp>(op))
    return constant.asDouble() == 0;
  return isa_and_nonnull<BroadcastOp, CastOp, RenameOp>(op) && isZero(op->getOperand(0));
}

namespace {
class AxisCut {
public:
  AxisCut(ShardingGraph &graph, PartialPlacement &placement, Axis axis) : graph(graph), placement(placement), axis(axis) {}
  void run();

private:
  using Passes = SmallVector<unsigned, 4>;

  bool makesPartial(const Node &node, unsigned result) const;
  bool isComplete(Value value) const { return graph.variables[graph.variable(value)].complete & bit(axis); }
  bool splits(Value value) const { return graph.home(value).split() & bit(axis); }
  bool spread(Block &block);
  bool spread(RepeatOp op);
  bool prune();
  bool mayBePartial(Value value) const;
  bool add(Value value) { return values.insert(value); }
  Passes passingOperands(const Node &node) const;
  int64_t reductionCost(Value value) const;
  int64_t zeroingCost(Value value) const;
  void buildValue(Value value);
  void buildNode(Node &node);
  void buildRepeat(RepeatOp op);
  /// Nodes of a use and of a value hold the same state.
  void tie(OpOperand &use, Value value);
  void apply(const std::vector<bool> &partial);

  ShardingGraph &graph;
  PartialPlacement &placement;
  Axis axis;
  /// While candidates are collected: take it that what is split over the axis will be one.
  bool optimistic = true;
  MaxFlow flow;
  int source = -1, sink = -1;
  /// Values that may be partial.
  llvm::SetVector<Value> values;
  llvm::DenseMap<Value, int> made, reduced;
  llvm::MapVector<OpOperand *, int> uses;
  llvm::SmallPtrSet<OpOperand *, 32> linear;
  /// Summands that are complete wherever they come from, with the use that the sum's state decides.
  SmallVector<std::pair<OpOperand *, Value>> summands;
};
} // namespace

bool AxisCut::makesPartial(const Node &node, unsigned result) const {
  Sharding placed = graph.placed(node, node.numOperands + result);
  return (placed.partial & bit(axis)) && placed.kind == ReductionKind::Sum;
}

/// The operands through which `node` may take a value partial over the axis; empty if none.
AxisCut::Passes AxisCut::passingOperands(const Node &node) const {
  auto op = cast<FactorOpInterface>(node.op);
  Passes joint, separate;
  for (unsigned i = 0; i < node.op->getNumResults(); ++i)
    if (graph.placed(node, node.numOperands + i).partial & bit(axis))
      return {};
  for (unsigned i = 0; i < node.numOperands; ++i) {
    Value value = node.values[i];
    bool candidate = values.contains(value);
    if (candidate && op.getLinearity(i) == Linearity::Joint)
      joint.push_back(i);
    // A square needs its value complete as the other factor, so nothing is put off.
    else if (candidate && op.getLinearity(i) == Linearity::Separate && llvm::count(node.op->getOperands(), value) == 1)
      separate.push_back(i);
    // A complete operand that is split over the axis would have to be gathered.
    if (!candidate && !optimistic && !graph.isFree(value) && splits(value))
      return {};
  }
  if (!joint.empty())
    return joint;
  if (separate.empty())
    return {};
  // One factor of a product may be partial: the larger, whose reduction is put off. The others are complete, and whole over the axis.
  auto better = [&](unsigned a, unsigned b) {
    return std::make_pair(reductionCost(node.values[a]), graph.variable(node.values[b])) <
           std::make_pair(reductionCost(node.values[b]), graph.variable(node.values[a]));
  };
  unsigned chosen = *std::max_element(separate.begin(), separate.end(), better);
  for (unsigned i : separate)
    if (i != chosen && splits(node.values[i]))
      return {};
  return {chosen};
}

bool AxisCut::spread(RepeatOp op) {
  bool changed = false;
  for (auto [input, i] : llvm::zip(op.getScanned(), llvm::seq<unsigned>(0, op.getScanned().size())))
    if (values.contains(input))
      changed |= add(op.sliceArg(i));
  changed |= spread(*op.bodyBlock());
  NextOp next = op.next();
  for (unsigned i = 0; i < op.numCarries(); ++i)
    if (values.contains(op.getInits()[i]) || values.contains(next.getCarries()[i])) {
      changed |= add(op.carryArg(i));
      changed |= add(op.carryResults()[i]);
    }
  for (auto [value, result] : llvm::zip(next.getStacked(), op.stackedResults()))
    if (values.contains(value))
      changed |= add(result);
  return changed;
}

/// Adds the values of `block` that may be partial; true if there are new ones.
bool AxisCut::spread(Block &block) {
  bool changed = false;
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      changed |= spread(repeat);
      continue;
    }
    auto it = graph.nodeOf.find(&op);
    if (it == graph.nodeOf.end())
      continue;
    const Node &node = graph.nodes[it->second];
    bool passes = !passingOperands(node).empty();
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      if (passes || makesPartial(node, i))
        changed |= add(result);
  }
  return changed;
}

/// Whether `value`, a candidate, still has where to come from.
bool AxisCut::mayBePartial(Value value) const {
  auto isCandidate = [&](Value other) { return values.contains(other); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    unsigned number = argument.getArgNumber();
    if (!loop)
      return false;
    if (number > loop.numCarries())
      return isCandidate(loop.getScanned()[number - 1 - loop.numCarries()]);
    return isCandidate(loop.getInits()[number - 1]) || isCandidate(loop.next().getCarries()[number - 1]);
  }
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = value.getDefiningOp<RepeatOp>())
    return number < loop.numCarries() ? isCandidate(loop.carryArg(number)) : isCandidate(loop.next()->getOperand(number));
  const Node &node = graph.nodes[graph.nodeOf.find(value.getDefiningOp())->second];
  return makesPartial(node, number) || !passingOperands(node).empty();
}

/// Drops candidates that are none after all; true if there were any. A sum over microbatches that is split at last, and the additions to it,
/// justify each other: that is why candidates are dropped from too many, and not found from none.
bool AxisCut::prune() {
  SmallVector<Value> dropped;
  llvm::copy_if(values, std::back_inserter(dropped), [&](Value value) { return !mayBePartial(value); });
  for (Value value : dropped)
    values.remove(value);
  return !dropped.empty();
}

int64_t AxisCut::reductionCost(Value value) const {
  Sharding home = graph.home(value), partial = home;
  for (AxisList &axes : partial.dims)
    llvm::erase(axes, axis);
  partial.partial |= bit(axis);
  return planReshard(tensorType(value), partial, home, graph.mesh, /*exact=*/false).cost * tripCount(value.getParentBlock());
}

int64_t AxisCut::zeroingCost(Value value) const {
  return 64 + partBytes(tensorType(value), graph.home(value), graph.mesh) / 2;
}

void AxisCut::tie(OpOperand &use, Value value) {
  flow.addEdge(uses[&use], made[value], MaxFlow::kInfinite);
  flow.addEdge(made[value], uses[&use], MaxFlow::kInfinite);
  linear.insert(&use);
}

void AxisCut::buildValue(Value value) {
  made[value] = flow.addNode();
  reduced[value] = flow.addNode();
  flow.addEdge(made[value], reduced[value], reductionCost(value));
  for (OpOperand &use : value.getUses()) {
    int node = uses[&use] = flow.addNode();
    flow.addEdge(reduced[value], node, MaxFlow::kInfinite);
    flow.addEdge(node, made[value], splits(value) ? MaxFlow::kInfinite : zeroingCost(value) * tripCount(use.getOwner()->getBlock()));
  }
}

void AxisCut::buildNode(Node &node) {
  for (auto [i, result] : llvm::enumerate(node.op->getResults()))
    if (values.contains(result) && makesPartial(node, i))
      flow.addEdge(source, made[result], MaxFlow::kInfinite);
  Passes passing = passingOperands(node);
  if (passing.empty())
    return;
  auto op = cast<FactorOpInterface>(node.op);
  Value result = node.op->getResult(0);
  for (unsigned i : passing)
    tie(node.op->getOpOperand(i), result);
  if (op.getLinearity(passing[0]) != Linearity::Joint)
    return;
  for (unsigned i = 0; i < node.numOperands; ++i) {
    OpOperand &operand = node.op->getOpOperand(i);
    if (op.getLinearity(i) != Linearity::Joint || values.contains(operand.get()))
      continue;
    summands.push_back({&operand, result});
    if (!isZero(operand.get()))
      flow.addEdge(made[result], sink, zeroingCost(operand.get()) * tripCount(node.op->getBlock()));
  }
}

void AxisCut::buildRepeat(RepeatOp op) {
  NextOp next = op.next();
  for (unsigned i = 0; i < op.numCarries(); ++i) {
    Value carry = op.carryArg(i), result = op.carryResults()[i];
    if (!values.contains(carry))
      continue;
    if (isComplete(carry))
      flow.addEdge(made[carry], sink, MaxFlow::kInfinite);
    flow.addEdge(made[carry], made[result], MaxFlow::kInfinite);
    flow.addEdge(made[result], made[carry], MaxFlow::kInfinite);
    OpOperand *ends[] = {&op->getOpOperand(i), &next->getOpOperand(i)};
    for (OpOperand *use : ends) {
      if (values.contains(use->get())) {
        tie(*use, carry);
        continue;
      }
      summands.push_back({use, carry});
      if (!isZero(use->get()))
        flow.addEdge(made[carry], sink,
                     !graph.isFree(use->get()) && splits(use->get()) ? MaxFlow::kInfinite : zeroingCost(use->get()) * tripCount(use->getOwner()->getBlock()));
    }
  }
  for (unsigned i = 0; i < op.getScanned().size(); ++i)
    if (values.contains(op.getScanned()[i]))
      tie(op->getOpOperand(op.numCarries() + i), op.sliceArg(i));
  for (unsigned i = 0; i < op.numStacked(); ++i)
    if (values.contains(next.getStacked()[i]))
      tie(next->getOpOperand(op.numCarries() + i), op.stackedResults()[i]);
  for (Value result : op.stackedResults())
    if (values.contains(result) && isComplete(result))
      flow.addEdge(made[result], sink, MaxFlow::kInfinite);
}

void AxisCut::apply(const std::vector<bool> &partial) {
  auto isPartial = [&](Value value) { return values.contains(value) && partial[made.lookup(value)]; };
  for (Value value : values)
    if (isPartial(value))
      placement.made[value] |= bit(axis);
  for (auto [use, node] : uses)
    if (partial[node])
      placement.taken[use] |= bit(axis);
  for (auto [use, result] : summands)
    if (isPartial(result))
      placement.taken[use] |= bit(axis);
  for (OpOperand *use : linear)
    if (auto it = graph.nodeOf.find(use->getOwner()); it != graph.nodeOf.end() && partial[uses[use]])
      graph.nodes[it->second].kept |= bit(axis);
}

void AxisCut::run() {
  Block &body = graph.function.getBody().front();
  while (spread(body)) {
  }
  optimistic = false;
  while (prune()) {
  }
  if (values.empty())
    return;
  source = flow.addNode();
  sink = flow.addNode();
  for (Value value : values)
    buildValue(value);
  for (Node &node : graph.nodes)
    if (!node.isLink)
      buildNode(node);
  graph.function.walk([&](RepeatOp op) { buildRepeat(op); });
  for (auto [use, node] : uses)
    if (!linear.contains(use))
      flow.addEdge(node, sink, MaxFlow::kInfinite);
  flow.run(source, sink);
  apply(flow.sourceSide(source, sink));
}

PartialPlacement meshc::mtf::placePartials(ShardingGraph &graph) {
  PartialPlacement placement;
  for (unsigned axis = 0; axis < graph.mesh.numAxes(); ++axis)
    if (graph.mesh.size(axis) > 1)
      AxisCut(graph, placement, axis).run();
  return placement;
}
