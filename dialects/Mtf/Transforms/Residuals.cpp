//===- Residuals.cpp - minimum cut between keeping and recomputing ---------===//
#include "Mtf/Transforms/Residuals.h"
#include "Mtf/Transforms/MaxFlow.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace meshc::mtf;

/// True if computing `op` again costs no more than about a pass over its result.
static bool isCheap(Operation *op) {
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

/// The price of what cannot be computed again.
static constexpr double kNever = std::numeric_limits<double>::infinity();

int64_t meshc::mtf::bytesOf(Value value) {
  NamedTensorType type = tensorType(value);
  return type.numElements() * std::max<int64_t>(1, type.getElementType().getIntOrFloatBitWidth() / 8);
}

/// Bytes, and a quarter more for what would be written only to be kept.
static int64_t cost(Value value) {
  return (isStoredAnyway(value) ? 4 : 5) * bytesOf(value);
}

/// A byte read from memory takes as long as this many operations; from about 20 (processors) to 200 (GPUs in bf16).
static constexpr double kOperationsPerByteRead = 64;

/// Operations of computing `op`: one for each point of its index space, two where a product is added up, and not less than its
/// operands take to read.
static double work(Operation *op) {
  auto shaped = dyn_cast<FactorOpInterface>(op);
  if (!shaped || op->getNumRegions() != 0)
    return kNever;
  double points = isa<AttendOp>(op) ? 4 : isa<DotOp>(op) ? 2 : 1;
  for (const Factor &factor : shaped.getFactors()) {
    int64_t size = 1;
    for (const DimUse &use : factor.uses) {
      Value value = use.value < op->getNumOperands() ? op->getOperand(use.value) : op->getResult(use.value - op->getNumOperands());
      size = std::max(size, tensorType(value).dimSize(use.dim));
    }
    points *= size;
  }
  double read = 0;
  for (Value operand : op->getOperands())
    read += bytesOf(operand);
  return std::max(points, kOperationsPerByteRead * read);
}

double meshc::mtf::recomputeWork(Operation *op) { return isCheap(op) ? 0 : work(op); }

llvm::SetVector<Value> meshc::mtf::chooseResiduals(Block &body, const llvm::SetVector<Value> &wanted,
                                                   const llvm::DenseSet<Value> &free, double flopsPerByte) {
  auto priceOf = [&](Value value) -> double {
    Operation *op = value.getDefiningOp();
    return !op || (flopsPerByte == 0 && !isCheap(op)) ? kNever : 4 * recomputeWork(op);
  };

  // Everything that may be kept, with what computing it again takes.
  llvm::MapVector<Value, SmallVector<Value>> candidates;
  SmallVector<Value> worklist;
  auto visit = [&](Value value) {
    if (candidates.try_emplace(value).second)
      worklist.push_back(value);
  };
  llvm::for_each(wanted, visit);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (priceOf(value) >= kNever)
      continue;
    for (Value operand : value.getDefiningOp()->getOperands())
      if (operand.getParentBlock() == &body && !free.contains(operand)) {
        visit(operand);
        candidates[value].push_back(operand);
      }
  }

  // Keeping costs bytes, computing again costs work. Capacities are whole numbers with enough room to add them up.
  double perByte = std::max(1.0, flopsPerByte), total = 0;
  for (auto &[value, unused] : candidates)
    total += perByte * cost(value) + (priceOf(value) < kNever ? priceOf(value) : 0);
  double scale = std::min(1.0, 0x1p55 / total);
  auto capacity = [&](double price) { return price >= kNever ? MaxFlow::kInfinite : static_cast<int64_t>(std::llround(price * scale)); };

  // Each value is two nodes, `entry` (what computing it takes) and `entry + 1` (to have it); it is kept if the edge between them is cut.
  // An op that is computed again has its entry, and all that this takes, on the sink's side.
  MaxFlow graph;
  int source = graph.addNode(), sink = graph.addNode();
  llvm::DenseMap<Value, int> entries;
  for (auto &[value, unused] : candidates) {
    int entry = entries[value] = graph.addNode();
    graph.addEdge(entry, graph.addNode(), std::max<int64_t>(1, capacity(perByte * cost(value))));
    graph.addEdge(source, entry, capacity(priceOf(value)));
  }
  for (auto &[value, needs] : candidates)
    for (Value operand : needs)
      graph.addEdge(entries[operand] + 1, entries[value], MaxFlow::kInfinite);
  for (Value value : wanted)
    graph.addEdge(entries[value] + 1, sink, MaxFlow::kInfinite);
  graph.run(source, sink);
  std::vector<bool> sourceSide = graph.sourceSide(source, sink);
  llvm::SetVector<Value> kept;
  for (auto &[value, unused] : candidates)
    if (int entry = entries[value]; sourceSide[entry] && !sourceSide[entry + 1])
      kept.insert(value);
  return kept;
}
