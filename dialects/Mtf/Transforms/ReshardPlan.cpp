//===- ReshardPlan.cpp - the cheapest collectives between two shardings ----===//
#include "ReshardPlan.h"
#include <queue>
#include <string>
#include <unordered_map>

using namespace mlir;
using namespace meshc::mtf;

static int64_t elementBytes(Type type) { return type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8; }

int64_t meshc::mtf::partBytes(NamedTensorType type, const Sharding &sharding, const Mesh &mesh) {
  int64_t bytes = elementBytes(type.getElementType());
  for (auto [dim, axes] : llvm::zip(type.getDims(), sharding.dims)) {
    int64_t shards = mesh.shards(axes);
    bytes *= (dim.getPadded() + shards - 1) / shards;
  }
  return bytes;
}

namespace {
/// Dijkstra's algorithm from one sharding to another.
class Search {
public:
  Search(NamedTensorType type, const Sharding &from, const Sharding &to, const Mesh &mesh, bool exact)
      : type(type), from(from), to(to), mesh(mesh), exact(exact) {
    for (auto [a, b] : llvm::zip(from.dims, to.dims)) {
      size_t common = 0;
      while (common < a.size() && common < b.size() && a[common] == b[common])
        ++common;
      fixed.push_back(common);
    }
    peak = 2 * std::max(partBytes(type, from, mesh), partBytes(type, to, mesh));
  }

  ReshardPlan run();

private:
  struct Node {
    Sharding sharding;
    int64_t cost = 0;
    int previous = -1;
    ReshardStep step;
    bool done = false;
  };

  void expand(int index);
  void visit(ReshardStep::Kind kind, AxisList axes, int fromDim, int toDim, Sharding after);
  std::string key(const Sharding &sharding) const;
  bool allowed(const Sharding &sharding) const;
  ReshardPlan unwind(int index) const;

  NamedTensorType type;
  const Sharding &from, &to;
  const Mesh &mesh;
  bool exact;
  int64_t peak;
  SmallVector<size_t> fixed;
  std::vector<Node> nodes;
  std::unordered_map<std::string, int> index;
  std::priority_queue<std::pair<int64_t, int>, std::vector<std::pair<int64_t, int>>, std::greater<>> queue;
  int current = -1;
};
} // namespace

/// Bytes a rank receives in a step from `before` to `after`, both in bytes of one rank's part, in groups of `ranks`.
static int64_t stepBytes(ReshardStep::Kind kind, int64_t before, int64_t after, int64_t ranks) {
  auto share = [&](int64_t bytes) { return bytes / ranks * (ranks - 1) + bytes % ranks * (ranks - 1) / ranks; };
  switch (kind) {
  case ReshardStep::AllReduce:     return 2 * share(before);
  case ReshardStep::ReduceScatter: return share(before);
  case ReshardStep::AllGather:     return share(after);
  case ReshardStep::AllToAll:      return share(before);
  case ReshardStep::Permute:       return before;
  case ReshardStep::Slice:
  case ReshardStep::Unreduce:      return 0;
  }
  llvm_unreachable("unknown step");
}

std::string Search::key(const Sharding &sharding) const {
  std::string text;
  for (const AxisList &axes : sharding.dims) {
    text.append(axes.begin(), axes.end());
    text.push_back('\xff');
  }
  text.append(reinterpret_cast<const char *>(&sharding.partial), sizeof(sharding.partial));
  return text;
}

bool Search::allowed(const Sharding &sharding) const {
  if (!exact)
    return true;
  for (auto [dim, axes] : llvm::zip(type.getDims(), sharding.dims))
    if (dim.getPadded() % mesh.shards(axes) != 0)
      return false;
  return true;
}

void Search::visit(ReshardStep::Kind kind, AxisList axes, int fromDim, int toDim, Sharding after) {
  if (!allowed(after))
    return;
  int64_t before = partBytes(type, nodes[current].sharding, mesh), size = partBytes(type, after, mesh);
  bool local = kind == ReshardStep::Slice || kind == ReshardStep::Unreduce;
  // A local step still copies: of plans that send the same, the one that touches less memory wins.
  int64_t cost = nodes[current].cost + stepBytes(kind, before, size, mesh.shards(axes)) + (local ? 1 : kCollectiveStart) + size / 1024;
  if (size > peak)
    cost += int64_t(1) << 48;
  auto [it, isNew] = index.try_emplace(key(after), static_cast<int>(nodes.size()));
  if (isNew)
    nodes.emplace_back();
  else if (nodes[it->second].done || nodes[it->second].cost <= cost)
    return;
  Node &node = nodes[it->second];
  node.sharding = after;
  node.cost = cost;
  node.previous = current;
  node.step = {kind, std::move(axes), fromDim, toDim, std::move(after)};
  queue.push({cost, it->second});
}

void Search::expand(int node) {
  current = node;
  const Sharding state = nodes[node].sharding;
  const int rank = state.dims.size();
  const AxisSet splitGoal = to.split(), free = ~(state.split() | state.partial);

  // Reductions: of any set of axes at once, or scattered to a dimension.
  AxisSet reducible = state.partial & ~to.partial;
  for (AxisSet set = reducible; set; set = (set - 1) & reducible) {
    Sharding after = state;
    after.partial &= ~set;
    visit(ReshardStep::AllReduce, mesh.list(set), -1, -1, after);
    // Several axes are scattered in the order in which the goal has them.
    for (int d = 0; d < rank; ++d) {
      AxisList axes;
      for (Axis axis : to.dims[d])
        if (set & bit(axis))
          axes.push_back(axis);
      if (setOf(axes) != set && !llvm::has_single_bit(set))
        continue;
      if (llvm::has_single_bit(set))
        axes = mesh.list(set);
      Sharding scattered = after;
      scattered.dims[d].append(axes.begin(), axes.end());
      visit(ReshardStep::ReduceScatter, axes, -1, d, scattered);
    }
  }

  for (int d = 0; d < rank; ++d) {
    const AxisList &axes = state.dims[d];
    for (size_t keep = fixed[d]; keep < axes.size(); ++keep) {
      AxisList tail(axes.begin() + keep, axes.end());
      Sharding after = state;
      after.dims[d].truncate(keep);
      visit(ReshardStep::AllGather, tail, d, -1, after);
      for (int e = 0; e < rank; ++e) {
        if (e == d)
          continue;
        Sharding moved = after;
        moved.dims[e].append(tail.begin(), tail.end());
        visit(ReshardStep::AllToAll, tail, d, e, moved);
      }
    }
    // The same blocks on other ranks.
    AxisList order(axes.begin() + fixed[d], axes.end());
    if (order.size() > 1) {
      llvm::sort(order);
      do {
        Sharding after = state;
        after.dims[d].truncate(fixed[d]);
        after.dims[d].append(order.begin(), order.end());
        if (!(after == state))
          visit(ReshardStep::Permute, mesh.list(setOf(order)), -1, -1, after);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    for (Axis axis : mesh.list(splitGoal & free)) {
      Sharding after = state;
      after.dims[d].push_back(axis);
      visit(ReshardStep::Slice, {axis}, -1, d, after);
    }
  }

  // Axes of equal size exchanged between dimensions.
  bool sameShape = state.partial == to.partial && !(state == to);
  AxisSet changed = 0;
  for (int d = 0; d < rank && sameShape; ++d) {
    sameShape = mesh.shards(state.dims[d]) == mesh.shards(to.dims[d]);
    if (state.dims[d] != to.dims[d])
      changed |= setOf(state.dims[d]) | setOf(to.dims[d]);
  }
  if (sameShape)
    visit(ReshardStep::Permute, mesh.list(changed), -1, -1, to);

  if (AxisSet missing = to.partial & free;
      missing && to.kind == ReductionKind::Sum && (!state.partial || state.kind == ReductionKind::Sum)) {
    Sharding after = state;
    after.partial |= missing;
    after.kind = ReductionKind::Sum;
    visit(ReshardStep::Unreduce, mesh.list(missing), -1, -1, after);
  }
}

/// Neighbouring slices of one dimension become one.
static void mergeSlices(SmallVectorImpl<ReshardStep> &steps) {
  SmallVector<ReshardStep, 2> merged;
  for (ReshardStep &step : steps) {
    if (!merged.empty() && step.kind == ReshardStep::Slice && merged.back().kind == ReshardStep::Slice && merged.back().to == step.to) {
      merged.back().axes.append(step.axes.begin(), step.axes.end());
      merged.back().after = step.after;
    } else {
      merged.push_back(std::move(step));
    }
  }
  steps.assign(merged.begin(), merged.end());
}

ReshardPlan Search::unwind(int node) const {
  ReshardPlan plan;
  for (; nodes[node].previous >= 0; node = nodes[node].previous) {
    int64_t before = partBytes(type, nodes[nodes[node].previous].sharding, mesh), after = partBytes(type, nodes[node].sharding, mesh);
    plan.bytes += stepBytes(nodes[node].step.kind, before, after, mesh.shards(nodes[node].step.axes));
    plan.peakBytes = std::max(plan.peakBytes, after);
    plan.steps.push_back(nodes[node].step);
    bool local = nodes[node].step.kind == ReshardStep::Slice || nodes[node].step.kind == ReshardStep::Unreduce;
    plan.cost += local ? 1 : kCollectiveStart;
  }
  plan.cost += plan.bytes;
  std::reverse(plan.steps.begin(), plan.steps.end());
  mergeSlices(plan.steps);
  return plan;
}

ReshardPlan Search::run() {
  nodes.emplace_back().sharding = from;
  index[key(from)] = 0;
  queue.push({0, 0});
  while (!queue.empty()) {
    auto [cost, node] = queue.top();
    queue.pop();
    if (nodes[node].done)
      continue;
    nodes[node].done = true;
    if (nodes[node].sharding == to)
      return unwind(node);
    expand(node);
  }
  llvm_unreachable("every sharding can be gathered and sliced into every other");
}

ReshardPlan meshc::mtf::planReshard(NamedTensorType type, const Sharding &from, const Sharding &to, const Mesh &mesh, bool exact) {
  if (from == to)
    return {};
  return Search(type, from, to, mesh, exact).run();
}
