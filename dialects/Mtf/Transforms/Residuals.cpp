//===- Residuals.cpp - minimum cut between keeping and recomputing ---------===//
#include "Mtf/Transforms/Residuals.h"
#include "llvm/ADT/MapVector.h"
#include <deque>
#include <limits>

using namespace mlir;
using namespace meshc::mtf;

bool meshc::mtf::isCheap(Operation *op) {
  return op->hasTrait<Elementwise>() ||
         isa<ConstantOp, IndexOp, RandomOp, RenameOp, SplitOp, MergeOp, SliceOp, PadOp, ShiftOp, TapOp>(op);
}

/// An op that no kernel is fused through; the rest are maps and row reductions.
static bool isHeavy(Operation *op) {
  return !isCheap(op) && !isa<ReduceOp, SoftmaxOp, LogSumExpOp>(op);
}

/// True if the forward pass writes `value` to memory whether it is kept or not: it starts outside of kernels, is the first map after a
/// product (its epilogue), feeds a product, or is still wanted after one. Other results of cheap ops live in registers.
static bool isStoredAnyway(Value value) {
  Operation *definition = value.getDefiningOp();
  if (!definition || isHeavy(definition))
    return true;
  for (Value operand : definition->getOperands())
    if (Operation *op = operand.getDefiningOp(); op && isHeavy(op) && operand.hasOneUse() && operand.getType() == value.getType())
      return true;
  Block *block = definition->getBlock();
  Operation *last = definition;
  for (Operation *user : value.getUsers())
    if (Operation *ancestor = block->findAncestorOpInBlock(*user); ancestor && last->isBeforeInBlock(ancestor))
      last = ancestor;
  for (Operation *op = definition->getNextNode(); op && op != last; op = op->getNextNode())
    if (isHeavy(op))
      return true;
  return last->hasTrait<OpTrait::IsTerminator>() || isHeavy(last);
}

/// Bytes, and a quarter more for what would be written only to be kept.
static int64_t cost(Value value) {
  NamedTensorType type = tensorType(value);
  int64_t bytes = type.numElements() * std::max<int64_t>(1, type.getElementType().getIntOrFloatBitWidth() / 8);
  return isStoredAnyway(value) ? 4 * bytes : 5 * bytes;
}

namespace {
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max() / 4;

/// Maximum flow by shortest augmenting paths (Edmonds and Karp); a loop body has a few hundred values.
class FlowGraph {
public:
  unsigned addNode() {
    edgesOf.emplace_back();
    return edgesOf.size() - 1;
  }
  void addEdge(unsigned from, unsigned to, int64_t capacity) {
    edgesOf[from].push_back(edges.size());
    edges.push_back({to, capacity});
    edgesOf[to].push_back(edges.size());
    edges.push_back({from, 0});
  }
  void maximize(unsigned source, unsigned sink) {
    while (augment(source, sink)) {
    }
  }
  /// The nodes from which the sink can still be reached: the sink's side of the cut nearest to it.
  std::vector<bool> sinkSide(unsigned sink) const {
    std::vector<bool> seen(edgesOf.size());
    std::deque<unsigned> queue = {sink};
    seen[sink] = true;
    while (!queue.empty()) {
      unsigned node = queue.front();
      queue.pop_front();
      // Edge e ^ 1 runs the other way: from the neighbour to `node`.
      for (unsigned e : edgesOf[node])
        if (unsigned from = edges[e].to; edges[e ^ 1].capacity > 0 && !seen[from]) {
          seen[from] = true;
          queue.push_back(from);
        }
    }
    return seen;
  }

private:
  struct Edge {
    unsigned to;
    int64_t capacity;
  };

  bool augment(unsigned source, unsigned sink) {
    std::vector<int64_t> via(edgesOf.size(), -1);
    std::deque<unsigned> queue = {source};
    while (!queue.empty() && via[sink] < 0) {
      unsigned node = queue.front();
      queue.pop_front();
      for (unsigned e : edgesOf[node])
        if (edges[e].capacity > 0 && via[edges[e].to] < 0 && edges[e].to != source) {
          via[edges[e].to] = e;
          queue.push_back(edges[e].to);
        }
    }
    if (via[sink] < 0)
      return false;
    int64_t amount = kUnlimited;
    for (unsigned node = sink; node != source; node = edges[via[node] ^ 1].to)
      amount = std::min(amount, edges[via[node]].capacity);
    for (unsigned node = sink; node != source; node = edges[via[node] ^ 1].to) {
      edges[via[node]].capacity -= amount;
      edges[via[node] ^ 1].capacity += amount;
    }
    return true;
  }

  std::vector<SmallVector<unsigned, 4>> edgesOf;
  std::vector<Edge> edges;
};
} // namespace

llvm::SetVector<Value> meshc::mtf::chooseResiduals(Block &body, const llvm::SetVector<Value> &wanted,
                                                   const llvm::DenseSet<Value> &free) {
  FlowGraph graph;
  unsigned source = graph.addNode(), sink = graph.addNode();
  // Each value is two nodes; the edge between them is cut if the value is kept.
  llvm::MapVector<Value, unsigned> entries;
  SmallVector<Value> worklist;
  auto visit = [&](Value value) {
    auto [it, isNew] = entries.try_emplace(value, 0);
    if (isNew) {
      it->second = graph.addNode();
      graph.addEdge(it->second, graph.addNode(), cost(value));
      worklist.push_back(value);
    }
    return it->second;
  };
  for (Value value : wanted)
    graph.addEdge(visit(value) + 1, sink, kUnlimited);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    unsigned entry = entries.lookup(value);
    Operation *op = value.getDefiningOp();
    if (!op || !isCheap(op)) {
      graph.addEdge(source, entry, kUnlimited);
      continue;
    }
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == &body && !free.contains(operand))
        graph.addEdge(visit(operand) + 1, entry, kUnlimited);
  }
  graph.maximize(source, sink);
  std::vector<bool> sinkSide = graph.sinkSide(sink);
  llvm::SetVector<Value> kept;
  for (auto [value, entry] : entries)
    if (!sinkSide[entry] && sinkSide[entry + 1])
      kept.insert(value);
  return kept;
}
