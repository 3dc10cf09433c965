//===- Accesses.cpp - who reads and writes a buffer -------------------------===//
#include "Rt/Transforms/Accesses.h"

using namespace mlir;
using namespace meshc::rt;

static void collect(Value value, SmallVectorImpl<Access> &accesses) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (isa<SliceOp, ViewOp>(op)) {
      collect(op->getResult(0), accesses);
      continue;
    }
    Access access{op, &use};
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(op).getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (effect.getEffectValue<OpOperand *>() != &use)
        continue;
      access.reads |= isa<MemoryEffects::Read>(effect.getEffect());
      access.writes |= isa<MemoryEffects::Write>(effect.getEffect());
    }
    // An accumulating product also reads what it writes, another one only writes.
    if (auto gemm = dyn_cast<GemmOp>(op); gemm && use.getOperandNumber() == 2 && !gemm.getAccumulate())
      access.reads = false;
    accesses.push_back(access);
  }
}

SmallVector<Access> meshc::rt::accessesOf(Value root) {
  SmallVector<Access> accesses;
  collect(root, accesses);
  return accesses;
}

Span meshc::rt::spanIn(Block *block, ArrayRef<Access> accesses) {
  Span span;
  for (const Access &access : accesses) {
    Operation *op = block->findAncestorOpInBlock(*access.op);
    if (!op)
      continue;
    if (!span.first || op->isBeforeInBlock(span.first))
      span.first = op;
    if (!span.last || span.last->isBeforeInBlock(op))
      span.last = op;
  }
  return span;
}

bool meshc::rt::isSamePlace(Value a, Value b) {
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || a.getType() != b.getType() || !isa<SliceOp, ViewOp>(x))
    return false;
  if (x->getAttrDictionary() != y->getAttrDictionary() || !isSamePlace(x->getOperand(0), y->getOperand(0)))
    return false;
  if (auto slice = dyn_cast<SliceOp>(x)) {
    Value i = slice.getIndex(), j = cast<SliceOp>(y).getIndex();
    auto si = i.getDefiningOp<ShardIndexOp>(), sj = j.getDefiningOp<ShardIndexOp>();
    return i == j || (si && sj && si.getAxes() == sj.getAxes());
  }
  return true;
}
