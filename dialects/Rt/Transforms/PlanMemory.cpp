//===- PlanMemory.cpp - fixed offsets in one arena per rank ------------------===//
#include "Rt/Transforms/Accesses.h"
#include "Rt/Transforms/Passes.h"

namespace meshc::rt {
#define GEN_PASS_DEF_PLANMEMORY
#include "Rt/Transforms/Passes.h.inc"
} // namespace meshc::rt

using namespace mlir;
using namespace meshc::rt;

static constexpr int64_t kAlignment = 64;

namespace {
/// An alloc with its life in numbered ops, both ends included.
struct Life {
  AllocOp alloc;
  int64_t bytes;
  unsigned begin, end;
  int64_t offset = 0;

  bool overlaps(const Life &other) const { return begin <= other.end && other.begin <= end; }
};
} // namespace

/// Numbers ops in program order; a loop's range covers its body.
static void number(Block &block, unsigned &next, llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> &ranges) {
  for (Operation &op : block) {
    unsigned begin = next++;
    if (auto loop = dyn_cast<LoopOp>(op))
      number(loop.getBody().front(), next, ranges);
    ranges[&op] = {begin, next - 1};
  }
}

static std::vector<Life> livesOf(StepOp step) {
  llvm::DenseMap<Operation *, std::pair<unsigned, unsigned>> ranges;
  unsigned next = 0;
  number(step.getBody().front(), next, ranges);
  std::vector<Life> lives;
  step.walk([&](AllocOp alloc) {
    Span span = spanIn(alloc->getBlock(), accessesOf(alloc.getResult()));
    if (!span.first)
      return;
    lives.push_back({alloc, static_cast<int64_t>(llvm::alignTo(alloc.getType().bytes(), kAlignment)), ranges[span.first].first, ranges[span.last].second});
  });
  return lives;
}

/// Places the largest first, each at the lowest free offset; returns the end of the highest.
static int64_t place(std::vector<Life> &lives, int64_t base) {
  std::vector<Life *> order;
  for (Life &life : lives)
    order.push_back(&life);
  llvm::stable_sort(order, [](Life *a, Life *b) { return a->bytes > b->bytes; });
  std::vector<Life *> placed; // by offset
  int64_t top = base;
  for (Life *life : order) {
    int64_t offset = base;
    for (Life *other : placed) {
      if (!life->overlaps(*other) || other->offset + other->bytes <= offset)
        continue;
      if (offset + life->bytes <= other->offset)
        break;
      offset = other->offset + other->bytes;
    }
    life->offset = offset;
    top = std::max(top, offset + life->bytes);
    placed.insert(llvm::upper_bound(placed, life, [](Life *a, Life *b) { return a->offset < b->offset; }), life);
  }
  return top;
}

namespace {
struct PlanMemoryPass : meshc::rt::impl::PlanMemoryBase<PlanMemoryPass> {
  using PlanMemoryBase::PlanMemoryBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());
    int64_t base = 0, top = 0;
    std::map<StringRef, int64_t> bytes;
    for (auto global : module.getOps<GlobalOp>()) {
      int64_t size = llvm::alignTo(global.bufferType().bytes(), kAlignment);
      global.setOffsetAttr(builder.getI64IntegerAttr(base));
      base += size;
      bytes[stringifyRole(global.getRole())] += size;
    }
    top = base;
    for (auto step : module.getOps<StepOp>()) {
      std::vector<Life> lives = livesOf(step);
      int64_t end = place(lives, base);
      for (Life &life : lives)
        life.alloc.setOffsetAttr(builder.getI64IntegerAttr(life.offset));
      step.walk([&](AllocOp alloc) {
        if (!alloc.getOffsetAttr())
          alloc.setOffsetAttr(builder.getI64IntegerAttr(base));
      });
      bytes[step.getSymName()] = end - base;
      top = std::max(top, end);
    }
    SmallVector<NamedAttribute> report;
    for (auto [what, size] : bytes)
      report.push_back(builder.getNamedAttr(what, builder.getI64IntegerAttr(size)));
    module->setAttr(kArenaBytes, builder.getI64IntegerAttr(top));
    module->setAttr("rt.memory", builder.getDictionaryAttr(report));
  }
};
} // namespace
