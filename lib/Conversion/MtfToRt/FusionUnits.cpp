//===- FusionUnits.cpp - the kernels and library calls of one block -----------===//
#include "Fusion.h"
#include "Prepare.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

struct Fusion::Build {
  Fusion &fusion;
  Block &block;
  std::vector<Unit> units;
  llvm::DenseMap<Operation *, int> unitOf;

  Build(Fusion &fusion, Block &block) : fusion(fusion), block(block) {}

  /// The unit that computes `value`, or -1 if it is free, an argument or from another block.
  int producer(Value value) const {
    Operation *op = value.getDefiningOp();
    auto it = op ? unitOf.find(op) : unitOf.end();
    return it == unitOf.end() ? -1 : it->second;
  }

  void makeUnits();
  Unit kernelUnit(Operation *op);
  void mergeIntoProducers(int unit);
  bool readOneValue(const Unit &a, const Unit &b) const;
  bool fits(const Unit &a, const Unit &b, Unit &merged) const;
  bool wouldCycle(int a, int b) const;
  void merge(int into, int from);
  void decideStored();
  unsigned recomputeCost(Value value, unsigned depth) const;
  void makeLeavesStored(Value value);
  void addDependencies(Value value, int user, llvm::SmallSetVector<int, 8> &on) const;
  std::vector<Unit> scheduled();
};

Unit Fusion::Build::kernelUnit(Operation *op) {
  Unit unit;
  unit.ops = {op};
  unit.isKernel = true;
  unit.dims = fusion.setOf(op->getResult(0));
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getResults()), SmallVector<Value>(op->getOperands())))
    for (DimAttr dim : tensorType(value).getDims())
      unit.sizes.try_emplace(dim.getName(), fusion.orders.localSize(dim));
  ArrayAttr over = reducedDims(op);
  if (!over)
    return unit;
  unit.row = fusion.setOf(over);
  unit.dims |= unit.row;
  unit.reduces = true;
  // Row kernels want the row contiguous. `order` of the operand: its innermost dim must be one of the row.
  DimAttr innermost;
  for (DimAttr dim : fusion.orders.order(op->getOperand(0)))
    if (dim.getPadded() > 1)
      innermost = dim;
  bool rowInside = innermost && unit.row[fusion.number(innermost.getName())];
  unit.reductionOnly = unit.dims == unit.row || !rowInside;
  return unit;
}

void Fusion::Build::makeUnits() {
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    // Free values that nobody needs in memory are computed where they are used; what an add accumulates is computed there.
    if (op.getNumResults() == 1 && fusion.isFree(op.getResult(0)) && !fusion.isStored(op.getResult(0)))
      continue;
    if (op.getNumResults() == 1 && accumulates(op.getResult(0)))
      if (auto add = dyn_cast<AddOp>(*op.getResult(0).user_begin()))
        if (auto operand = accumulatedOperand(add); operand && add.getOperand(*operand) == op.getResult(0))
          continue;
    auto add = dyn_cast<AddOp>(op);
    auto accumulated = add ? accumulatedOperand(add) : std::nullopt;
    int index = units.size();
    if (isFusable(&op) && !accumulated) {
      units.push_back(kernelUnit(&op));
      unitOf[&op] = index;
      mergeIntoProducers(index);
      continue;
    }
    Unit unit;
    unit.ops = {&op};
    if (accumulated) {
      unit.ops.insert(unit.ops.begin(), add.getOperand(*accumulated).getDefiningOp());
      unitOf[unit.ops.front()] = index;
      fusion.stored.insert(add.getResult());
      fusion.stored.insert(add.getOperand(1 - *accumulated));
    }
    unitOf[&op] = index;
    units.push_back(unit);
  }
}

bool Fusion::Build::fits(const Unit &a, const Unit &b, Unit &merged) const {
  if (!a.isKernel || !b.isKernel)
    return false;
  merged = a;
  merged.ops.append(b.ops);
  merged.reduces = a.reduces || b.reduces;
  merged.reductionOnly = a.reductionOnly || b.reductionOnly;
  for (auto [name, size] : b.sizes)
    if (merged.sizes.try_emplace(name, size).first->second != size)
      return false;
  // Reductions agree on what is reduced; ops are at element or at outer level.
  const Unit &large = (a.dims & b.dims) == b.dims ? a : b, &small = &large == &a ? b : a;
  if ((large.dims & small.dims) != small.dims)
    return false;
  merged.dims = large.dims;
  if (a.reduces && b.reduces) {
    if (a.row != b.row || a.dims != b.dims || a.reductionOnly != b.reductionOnly)
      return false;
  } else if (merged.reduces) {
    const Unit &reducer = a.reduces ? a : b, &other = a.reduces ? b : a;
    if (large.dims != reducer.dims)
      return false;
    merged.row = reducer.row;
    DimSet outer = reducer.dims & ~reducer.row;
    bool atOuter = other.dims == outer && other.row.none();
    bool atElement = other.dims == reducer.dims && (other.row.none() || other.row == reducer.row);
    if (!atOuter && (!atElement || merged.reductionOnly))
      return false;
  } else {
    DimSet difference = large.dims & ~small.dims;
    merged.row = difference.any() ? difference : (a.row.any() ? a.row : b.row);
    if ((large.row.any() && large.row != merged.row) || (difference.any() && small.row.any()) || (a.row.any() && b.row.any() && a.row != b.row))
      return false;
    DimSet outer = merged.dims & ~merged.row;
    if (difference.any() && outer.none())
      return false;
  }
  // The row must lie inside the outer dims in memory, or the loops would stride.
  if (merged.row.any() && !merged.reductionOnly) {
    SmallVector<StringAttr> order = fusion.names(merged.dims);
    if (!merged.row[fusion.number(order.back())])
      return false;
  }
  return true;
}

/// Whether some op outside units a and b depends on one of them and is needed by one of them.
bool Fusion::Build::wouldCycle(int a, int b) const {
  llvm::SmallDenseSet<int> reached;
  SmallVector<int> queue;
  auto visitUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers()) {
      Operation *inBlock = block.findAncestorOpInBlock(*user);
      auto it = inBlock ? unitOf.find(inBlock) : unitOf.end();
      if (it != unitOf.end() && reached.insert(it->second).second)
        queue.push_back(it->second);
    }
  };
  for (int unit : {a, b})
    for (Operation *op : units[unit].ops)
      visitUsers(op);
  // Direct uses among a and b do not leave.
  llvm::erase_if(queue, [&](int unit) { return unit == a || unit == b; });
  reached.erase(a);
  reached.erase(b);
  while (!queue.empty()) {
    int unit = queue.pop_back_val();
    if (unit == a || unit == b)
      return true;
    for (Operation *op : units[unit].ops)
      visitUsers(op);
  }
  return false;
}

void Fusion::Build::merge(int into, int from) {
  Unit merged;
  bool ok = fits(units[into], units[from], merged);
  assert(ok);
  (void)ok;
  llvm::sort(merged.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : units[from].ops)
    unitOf[op] = into;
  units[into] = merged;
  units[from] = Unit();
}

/// Whether two kernels of reductions read a value of all their dims in common.
bool Fusion::Build::readOneValue(const Unit &a, const Unit &b) const {
  llvm::SmallDenseSet<Value> read[2];
  for (auto [unit, values] : {std::pair(&a, &read[0]), std::pair(&b, &read[1])})
    for (Operation *op : unit->ops)
      if (reducedDims(op)) {
        values->insert(op->getOperand(0));
        if (Operation *map = op->getOperand(0).getDefiningOp(); map && isFusable(map))
          values->insert(map->operand_begin(), map->operand_end());
      }
  return llvm::any_of(read[0], [&](Value value) { return fusion.setOf(value) == a.dims && read[1].contains(value); });
}

void Fusion::Build::mergeIntoProducers(int index) {
  Operation *op = units[index].ops.front();
  llvm::SmallSetVector<int, 4> candidates;
  for (OpOperand &operand : op->getOpOperands())
    if (!readsAtIndex(operand))
      if (int unit = producer(operand.get()); unit >= 0)
        candidates.insert(unit);
  // Reductions of one value over the same dims share their loop.
  if (units[index].reductionOnly && units[index].dims != units[index].row)
    for (auto [i, other] : llvm::enumerate(ArrayRef(units).take_front(index)))
      if (other.reductionOnly && other.dims == units[index].dims && other.row == units[index].row && readOneValue(units[index], other))
        candidates.insert(i);
  // The latest producer first: it depends on the earlier ones.
  SmallVector<int> order(candidates.begin(), candidates.end());
  llvm::sort(order, std::greater<int>());
  for (int unit : order) {
    // An operand read at a computed place must come from an earlier kernel.
    bool barrier = false;
    for (Operation *member : units[index].ops)
      for (OpOperand &operand : member->getOpOperands())
        barrier |= readsAtIndex(operand) && producer(operand.get()) == unit;
    for (Operation *member : units[unit].ops)
      for (OpOperand &operand : member->getOpOperands())
        barrier |= readsAtIndex(operand) && producer(operand.get()) == index;
    Unit merged;
    if (unit == index || barrier || !fits(units[unit], units[index], merged) || wouldCycle(unit, index))
      continue;
    merge(unit, index);
    index = unit;
  }
}

/// The most work and loads that computing a value again may take.
static constexpr unsigned kRecomputeWork = 16, kTooMuch = 1000;

/// Work and loads of computing `value` in another kernel, from what is or can cheaply be stored.
unsigned Fusion::Build::recomputeCost(Value value, unsigned depth) const {
  if (fusion.isStored(value) || isa<BlockArgument>(value) || value.getParentBlock() != &block)
    return 1;
  if (fusion.isFree(value))
    return fusion.freeCost.lookup(value);
  Operation *op = value.getDefiningOp();
  // Results of reductions are small and get stored.
  if (reducedDims(op))
    return 1;
  if (!isFusable(op) || depth == 0)
    return kTooMuch;
  unsigned cost = workOf(op);
  for (Value operand : op->getOperands())
    cost += recomputeCost(operand, depth - 1);
  return cost;
}

/// Stores the reductions' results that a virtual value needs.
void Fusion::Build::makeLeavesStored(Value value) {
  if (fusion.isStored(value) || isa<BlockArgument>(value) || value.getParentBlock() != &block || fusion.isFree(value))
    return;
  if (reducedDims(value.getDefiningOp())) {
    fusion.stored.insert(value);
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    makeLeavesStored(operand);
}

void Fusion::Build::decideStored() {
  for (Operation &op : block) {
    int home = unitOf.contains(&op) ? unitOf[&op] : -1;
    if (home < 0 || !units[home].isKernel)
      continue;
    Value value = op.getResult(0);
    bool usedElsewhere = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !unitOf.contains(user) || unitOf[user] != home;
    });
    if (!usedElsewhere || fusion.isStored(value))
      continue;
    // Scalars and the outer values of a kernel are small: a load is cheaper than anything.
    bool isSmall = tensorType(value).isScalar() || (units[home].row.any() && fusion.setOf(value) != units[home].dims);
    if (reducedDims(&op) || isSmall || recomputeCost(value, 12) > kRecomputeWork)
      fusion.stored.insert(value);
    else
      makeLeavesStored(value);
  }
}

void Fusion::Build::addDependencies(Value value, int user, llvm::SmallSetVector<int, 8> &on) const {
  int unit = producer(value);
  // A free value outside every unit has operands without units.
  if (unit < 0 || unit == user)
    return;
  if (!units[unit].isKernel || fusion.isStored(value)) {
    on.insert(unit);
    return;
  }
  for (Value operand : value.getDefiningOp()->getOperands())
    addDependencies(operand, user, on);
}

std::vector<Unit> Fusion::Build::scheduled() {
  size_t count = units.size();
  std::vector<llvm::SmallSetVector<int, 8>> needs(count);
  std::vector<SmallVector<int>> neededBy(count);
  std::vector<bool> live(count);
  for (size_t i = 0; i < count; ++i) {
    // A kernel of virtual values alone is none.
    live[i] = !units[i].ops.empty() && (!units[i].isKernel || llvm::any_of(units[i].ops, [&](Operation *op) {
      return fusion.isStored(op->getResult(0));
    }));
    if (!live[i])
      continue;
    for (Operation *op : units[i].ops) {
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          addDependencies(operand, i, needs[i]);
      });
    }
    for (int other : needs[i])
      neededBy[other].push_back(i);
  }
  // By the place of the last op among those whose needs are met.
  llvm::DenseMap<Operation *, unsigned> position;
  for (auto [i, op] : llvm::enumerate(block))
    position[&op] = i;
  std::vector<size_t> waiting(count);
  std::vector<Unit> result;
  auto later = [&](int a, int b) { return position[units[a].ops.back()] > position[units[b].ops.back()]; };
  std::vector<int> ready;
  auto push = [&](int unit) {
    ready.push_back(unit);
    std::push_heap(ready.begin(), ready.end(), later);
  };
  size_t liveCount = 0;
  for (size_t i = 0; i < count; ++i) {
    waiting[i] = needs[i].size();
    liveCount += live[i];
    if (live[i] && waiting[i] == 0)
      push(i);
  }
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    int unit = ready.back();
    ready.pop_back();
    result.push_back(units[unit]);
    for (int user : neededBy[unit])
      if (--waiting[user] == 0)
        push(user);
  }
  if (result.size() != liveCount)
    llvm::report_fatal_error("kernels depend on one another in a cycle");
  return result;
}

void Fusion::planBlock(Block &block) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<RepeatOp>(op))
      planBlock(*loop.bodyBlock());
  Build build(*this, block);
  build.makeUnits();
  build.decideStored();
  schedule[&block] = build.scheduled();
}
