//===- ShardingPropagation.cpp - where ops execute, and inference ----------===//
//
// An op executes with each mesh axis in at most one of its factors. Which one, where operands and results say different things:
//
//  1. as much of the mesh as can be used: nothing is computed twice that a layout has split;
//  2. the rules' order as far as parameters go: a parameter (or its gradient) that a rule has split is not moved for the sake of a
//     value that a later rule has split (Megatron's weights stay where they are, the sequence-parallel value is gathered);
//  3. bytes moved on this mesh, over all operands and results (Ulysses: the projections run on the split sequence, their small results
//     are exchanged);
//  4. the rules' order, then the names of dimensions.
//
//===----------------------------------------------------------------------===//
#include "ShardingPropagation.h"
#include "ReshardPlan.h"
#include "llvm/ADT/MapVector.h"
#include <tuple>

using namespace mlir;
using namespace meshc::mtf;

namespace {
/// An assignment of axes to factors and what it costs; smaller is better.
struct Choice {
  int64_t unused; ///< Minus the number of parts the op is cut into.
  int moved;      ///< Parameters moved against the rules' order.
  int64_t bytes;
  SmallVector<int> priorities;
  std::string names;
  SmallVector<AxisList, 4> axes;

  bool operator<(const Choice &other) const {
    return std::tie(unused, moved, bytes, priorities, names) <
           std::tie(other.unused, other.moved, other.bytes, other.priorities, other.names);
  }
};

class Chooser {
public:
  Chooser(const ShardingGraph &graph, Node &node) : graph(graph), node(node) {}
  void run();

private:
  const DimSplit *split(const DimUse &use) const {
    int variable = node.variables[use.value];
    return variable < 0 ? nullptr : graph.variables[variable].find(use.dim);
  }
  bool mayCut(const Factor &factor, AxisSet axes) const;
  AxisList ordered(const Factor &factor, AxisSet axes) const;
  int bestPriority(unsigned factor, Axis axis) const;
  void enumerate(size_t at, SmallVectorImpl<int> &factorOfAxis);
  Choice rate(ArrayRef<int> factorOfAxis) const;

  const ShardingGraph &graph;
  Node &node;
  AxisList axes;
  SmallVector<SmallVector<int, 2>> candidates; ///< Factors per entry of `axes`.
  std::optional<Choice> best;
};
} // namespace

/// Whether `factor` can be cut into the parts that `axes` make.
bool Chooser::mayCut(const Factor &factor, AxisSet set) const {
  if (factor.kind == FactorKind::Whole || (factor.kind == FactorKind::Reduced && factor.reduction == ReductionKind::Prod))
    return false;
  int64_t shards = graph.mesh.shards(set);
  return llvm::all_of(factor.uses, [&](const DimUse &use) {
    int64_t size = tensorType(node.values[use.value]).dimSize(use.dim);
    if (factor.exact)
      return size % shards == 0 && size / shards >= factor.reach;
    return factor.compound ? size % shards == 0 : graph.canSplit(use.dim, size, shards);
  });
}

int Chooser::bestPriority(unsigned index, Axis axis) const {
  int best = kInferred + 1;
  for (const DimUse &use : node.factors[index].uses)
    if (const DimSplit *dim = split(use))
      if (const Axis *it = llvm::find(dim->axes, axis); it != dim->axes.end())
        best = std::min(best, dim->priorities[it - dim->axes.begin()]);
  return best;
}

/// `set` in the order of the use that has most of it; what that use lacks follows in mesh order.
AxisList Chooser::ordered(const Factor &factor, AxisSet set) const {
  AxisList order;
  std::tuple<size_t, int, StringRef> best{0, 0, ""};
  for (const DimUse &use : factor.uses) {
    const DimSplit *dim = split(use);
    if (!dim)
      continue;
    AxisList axes;
    int priority = 0;
    for (auto [axis, p] : llvm::zip(dim->axes, dim->priorities))
      if (set & bit(axis)) {
        axes.push_back(axis);
        priority -= p;
      }
    std::tuple<size_t, int, StringRef> rank{axes.size(), priority, dim->name.getValue()};
    if (!axes.empty() && (order.empty() || rank > best || (rank == best && axes < order))) {
      best = rank;
      order = axes;
    }
  }
  for (Axis axis : graph.mesh.list(set & ~setOf(order)))
    order.push_back(axis);
  return order;
}

Choice Chooser::rate(ArrayRef<int> factorOfAxis) const {
  Choice choice{0, 0, 0, {}, "", SmallVector<AxisList, 4>(node.factors.size())};
  int64_t parts = 1;
  SmallVector<AxisSet> sets(node.factors.size(), 0);
  for (auto [axis, factor] : llvm::zip(axes, factorOfAxis)) {
    if (factor < 0)
      continue;
    sets[factor] |= bit(axis);
    parts *= graph.mesh.size(axis);
    choice.priorities.push_back(bestPriority(factor, axis));
    choice.names += node.factors[factor].uses.front().dim.str() + ",";
  }
  llvm::sort(choice.priorities);
  choice.unused = -parts;
  for (auto [i, factor] : llvm::enumerate(node.factors))
    choice.axes[i] = ordered(factor, sets[i]);

  for (auto [i, value] : llvm::enumerate(node.values)) {
    int index = node.variables[i];
    if (index < 0)
      continue;
    const Variable &variable = graph.variables[index];
    if (variable.kind != Variable::Value || variable.paramLike)
      for (const DimSplit &dim : variable.dims)
        for (auto [axis, priority] : llvm::zip(dim.axes, dim.priorities)) {
          size_t at = llvm::find(axes, axis) - axes.begin();
          auto dims = tensorType(value).getDims();
          auto *place = llvm::find_if(dims, [&](DimAttr d) { return d.getName() == dim.name; });
          if (at == axes.size() || place == dims.end() || priority >= kInferred)
            continue;
          int own = node.factorOf[i][place - dims.begin()], chosen = factorOfAxis[at];
          if (chosen != own && (chosen < 0 || bestPriority(chosen, axis) >= priority))
            ++choice.moved;
        }
    Sharding home = graph.home(value), placed = graph.placed(node, i, choice.axes);
    bool isOperand = i < node.numOperands;
    choice.bytes += planReshard(tensorType(value), isOperand ? home : placed, isOperand ? placed : home, graph.mesh, /*exact=*/false).cost;
  }
  return choice;
}

void Chooser::enumerate(size_t at, SmallVectorImpl<int> &factorOfAxis) {
  if (at == axes.size()) {
    SmallVector<AxisSet> sets(node.factors.size(), 0);
    for (auto [axis, factor] : llvm::zip(axes, factorOfAxis))
      if (factor >= 0)
        sets[factor] |= bit(axis);
    for (auto [factor, set] : llvm::zip(node.factors, sets))
      if (set && !mayCut(factor, set))
        return;
    if (Choice choice = rate(factorOfAxis); !best || choice < *best)
      best = std::move(choice);
    return;
  }
  for (int factor : candidates[at]) {
    factorOfAxis.push_back(factor);
    enumerate(at + 1, factorOfAxis);
    factorOfAxis.pop_back();
  }
}

void Chooser::run() {
  AxisSet set = 0;
  for (int variable : node.variables)
    if (variable >= 0)
      set |= graph.variables[variable].used();
  bool conflict = false;
  for (Axis axis : graph.mesh.list(set)) {
    SmallVector<int, 2> factors;
    for (auto [i, factor] : llvm::enumerate(node.factors))
      if (mayCut(factor, bit(axis)) && bestPriority(i, axis) <= kInferred)
        factors.push_back(i);
    if (factors.empty())
      continue;
    conflict |= factors.size() > 1 || node.factors[factors[0]].compound || node.factors[factors[0]].exact;
    // Not cutting at all is the last resort.
    factors.push_back(-1);
    axes.push_back(axis);
    candidates.push_back(factors);
  }
  if (!conflict) {
    // Everybody agrees; nothing to rate.
    SmallVector<AxisSet> sets(node.factors.size(), 0);
    for (auto [axis, factors] : llvm::zip(axes, candidates))
      sets[factors[0]] |= bit(axis);
    for (auto [i, factor] : llvm::enumerate(node.factors))
      node.axes[i] = ordered(factor, sets[i]);
    return;
  }
  SmallVector<int> assignment;
  enumerate(0, assignment);
  node.axes = best->axes;
}

namespace {
/// What a node would add to a variable.
struct Suggestion {
  StringAttr dim;
  AxisList axes;
  int64_t bytes;
  unsigned node;
};
} // namespace

static std::string describeInference(const ShardingGraph &graph, const Suggestion &suggestion, Axis axis) {
  Operation *op = graph.nodes[suggestion.node].op;
  std::string place = describePlace(op->getLoc());
  return (suggestion.dim.getValue() + ": " + graph.mesh.name(axis).getValue() + " inferred through " + op->getName().getStringRef() +
          (place.empty() ? "" : " (" + place + ")"))
      .str();
}

/// A rename, split or merge: the factor's dimension has another name elsewhere.
static bool changesName(const Factor &factor, StringAttr name) {
  return llvm::any_of(factor.uses, [&](const DimUse &use) { return use.dim != name; });
}

/// Whether a parameter, a state or another value of their update is split so.
static bool agreesWithParameter(const ShardingGraph &graph, const Node &node, const Factor &factor, const AxisList &axes) {
  return llvm::any_of(factor.uses, [&](const DimUse &use) {
    if (node.variables[use.value] < 0)
      return false;
    const Variable &variable = graph.variables[node.variables[use.value]];
    const DimSplit *dim = variable.find(use.dim);
    return (variable.update || variable.kind != Variable::Value) && dim && isPrefix(axes, dim->axes);
  });
}

static void suggest(const ShardingGraph &graph, const ShardingRules &rules, unsigned index,
                    llvm::MapVector<int, SmallVector<Suggestion>> &suggestions) {
  const Node &node = graph.nodes[index];
  for (auto [f, factor] : llvm::enumerate(node.factors)) {
    const AxisList &axes = node.axes[f];
    if (axes.empty())
      continue;
    int64_t bytes = 0;
    for (const DimUse &use : factor.uses)
      if (node.variables[use.value] >= 0)
        if (const DimSplit *dim = graph.variables[node.variables[use.value]].find(use.dim); dim && isPrefix(axes, dim->axes))
          bytes += partBytes(tensorType(node.values[use.value]), graph.home(node.values[use.value]), graph.mesh);
    for (const DimUse &use : factor.uses) {
      int target = node.variables[use.value];
      if (target < 0)
        continue;
      const Variable &variable = graph.variables[target];
      const DimSplit *dim = variable.find(use.dim);
      if (!variable.open || dim->closed || graph.loopDims.contains(use.dim) || dim->axes.size() >= axes.size() ||
          !isPrefix(dim->axes, axes))
        continue;
      if (setOf(ArrayRef(axes).drop_front(dim->axes.size())) & variable.used())
        continue;
      if (changesName(factor, use.dim) && rules.hasRule(variable, use.dim))
        continue;
      if (variable.update && !agreesWithParameter(graph, node, factor, axes))
        continue;
      suggestions[target].push_back({use.dim, axes, bytes, index});
    }
  }
}

void meshc::mtf::propagate(ShardingGraph &graph, const ShardingRules &rules) {
  // Rounds: all nodes around what changed speak from the same state, then variables take the best of what they heard.
  SmallVector<unsigned> work;
  for (unsigned i = 0; i < graph.nodes.size(); ++i)
    work.push_back(i);
  while (!work.empty()) {
    llvm::MapVector<int, SmallVector<Suggestion>> suggestions;
    for (unsigned index : work) {
      Chooser(graph, graph.nodes[index]).run();
      suggest(graph, rules, index, suggestions);
    }
    llvm::SmallDenseSet<unsigned> next;
    for (auto &[target, list] : suggestions) {
      llvm::sort(list, [](const Suggestion &a, const Suggestion &b) {
        return std::make_tuple(-a.bytes, a.dim.getValue(), a.axes, a.node) < std::make_tuple(-b.bytes, b.dim.getValue(), b.axes, b.node);
      });
      Variable &variable = graph.variables[target];
      for (const Suggestion &suggestion : list) {
        DimSplit *dim = variable.find(suggestion.dim);
        if (dim->axes.size() >= suggestion.axes.size() || !isPrefix(dim->axes, suggestion.axes) ||
            (setOf(ArrayRef(suggestion.axes).drop_front(dim->axes.size())) & variable.used()))
          continue;
        for (Axis axis : ArrayRef(suggestion.axes).drop_front(dim->axes.size()))
          variable.append(*dim, axis, kInferred, describeInference(graph, suggestion, axis));
        next.insert(variable.nodes.begin(), variable.nodes.end());
      }
    }
    work.assign(next.begin(), next.end());
    llvm::sort(work);
  }
}
