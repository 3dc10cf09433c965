//===- ShardingPadding.cpp - padded sizes of dimensions --------------------===//
#include "ShardingPadding.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace meshc::mtf;

PaddedSizes::Key PaddedSizes::key(DimAttr dim) {
  auto [it, isNew] = keys.try_emplace({dim.getName(), dim.getSize()}, multiples.size());
  if (isNew) {
    multiples.push_back(1);
    classes.insert(it->second);
  }
  return it->second;
}

void PaddedSizes::addType(NamedTensorType type) {
  for (DimAttr dim : type.getDims()) {
    int64_t &multiple = multiples[key(dim)];
    multiple = std::lcm(multiple, mesh.shards(mesh.axes(dim.getAxes())));
  }
}

static NamedTensorType valueType(Operation *op, unsigned value) {
  unsigned operands = op->getNumOperands();
  return tensorType(value < operands ? op->getOperand(value) : Value(op->getResult(value - operands)));
}

void PaddedSizes::addOp(FactorOpInterface op) {
  for (const Factor &factor : op.getFactors()) {
    auto dimOf = [&](const DimUse &use) { return valueType(op, use.value).findDim(use.dim); };
    if (factor.compound) {
      DimAttr outer = dimOf(factor.uses[0]), whole = dimOf(factor.uses[1]);
      compounds.push_back({key(outer), key(whole), whole.getSize() / outer.getSize(), op});
    } else if (factor.kind == FactorKind::Whole && isa<SplitOp, MergeOp>(op)) {
      unpaddable.push_back(key(dimOf(factor.uses.front())));
    } else if (factor.kind != FactorKind::Whole && !factor.exact) {
      Key first = key(dimOf(factor.uses.front()));
      for (const DimUse &use : factor.uses)
        classes.unionSets(first, key(dimOf(use)));
    }
  }
}

bool PaddedSizes::mayPad(StringAttr name, int64_t size) const {
  auto it = keys.find({name, size});
  return it == keys.end() ||
         llvm::none_of(unpaddable, [&](Key inner) { return classes.isEquivalent(inner, it->second); });
}

LogicalResult PaddedSizes::solve() {
  SmallVector<int64_t> least(multiples.size(), 1);
  for (Key k = 0; k < multiples.size(); ++k) {
    int64_t &multiple = least[classes.getLeaderValue(k)];
    multiple = std::lcm(multiple, multiples[k]);
  }
  SmallVector<int64_t> sizes(multiples.size());
  for (auto &[dim, k] : keys)
    sizes[k] = dim.second;
  // The shards of a whole are shards of its outermost part.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Compound &compound : compounds) {
      int64_t whole = least[classes.getLeaderValue(compound.whole)], &outer = least[classes.getLeaderValue(compound.outer)];
      // No padding, nothing to tie.
      if (sizes[compound.whole] % whole == 0 && sizes[compound.outer] % outer == 0)
        continue;
      if (int64_t both = std::lcm(whole, outer); both != outer) {
        outer = both;
        changed = true;
      }
    }
  }
  padded.resize(multiples.size());
  for (Key k = 0; k < multiples.size(); ++k)
    padded[k] = llvm::alignTo(sizes[k], least[classes.getLeaderValue(k)]);
  for (unsigned round = 0; round < compounds.size(); ++round)
    for (const Compound &compound : compounds)
      for (Key k = 0; k < padded.size(); ++k)
        if (padded[compound.outer] != sizes[compound.outer] && classes.isEquivalent(k, compound.whole))
          padded[k] = std::max(padded[k], padded[compound.outer] * compound.inner);
  for (const Compound &compound : compounds)
    if (padded[compound.whole] != padded[compound.outer] * compound.inner)
      return compound.op->emitError() << "cannot split a dimension of padded size " << padded[compound.whole] << " here: its outermost part of "
                                      << sizes[compound.outer] << " would be padded to " << padded[compound.outer]
                                      << "; choose sizes that the mesh axes divide";
  return success();
}

NamedTensorType PaddedSizes::apply(NamedTensorType type) const {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : type.getDims()) {
    auto it = keys.find({dim.getName(), dim.getSize()});
    dims.push_back(DimAttr::get(dim.getName(), dim.getSize(), it == keys.end() ? dim.getSize() : padded[it->second], dim.getAxes()));
  }
  return type.withDims(dims);
}
