//===- LoopNest.cpp - the loops of a kernel ----------------------------------------===//
#include "meshc/Target/LoopNest.h"

using namespace meshc;
using namespace meshc::target;

mlir::Value meshc::target::bufferOf(mlir::Operation *access) {
  if (auto load = llvm::dyn_cast<rt::LoadOp>(access))
    return load.getBuffer();
  return llvm::cast<rt::StoreOp>(access).getBuffer();
}

rt::BufferType meshc::target::accessedType(mlir::Operation *access) { return rt::bufferType(bufferOf(access)); }

bool meshc::target::followsDim(mlir::Operation *access, mlir::StringAttr dim) {
  if (!accessedType(access).hasDim(dim))
    return false;
  auto load = llvm::dyn_cast<rt::LoadOp>(access);
  return !load || !llvm::is_contained(load.getAt(), mlir::Attribute(dim));
}

int64_t meshc::target::strideAlong(mlir::Operation *access, const Loop &loop) {
  mlir::StringAttr name = loop.inner().getName();
  return followsDim(access, name) ? accessedType(access).stride(name) : 0;
}

bool meshc::target::isFlat(mlir::Operation *access, llvm::ArrayRef<Loop> loops) {
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (strideAlong(access, loops[i]) != strideAlong(access, loops[i + 1]) * loops[i + 1].size())
      return false;
  return strideAlong(access, loops.back()) != 0;
}

mtf::ReductionKind meshc::target::kindOf(rt::YieldOp yield, unsigned i) {
  return llvm::cast<mtf::ReductionKindAttr>(yield.getKinds()[i]).getValue();
}

llvm::StringRef meshc::target::accumulatorWord(mtf::ReductionKind kind) {
  switch (kind) {
  case mtf::ReductionKind::Sum: return "sum";
  case mtf::ReductionKind::Max: return "largest";
  case mtf::ReductionKind::Min: return "smallest";
  case mtf::ReductionKind::Prod: return "product";
  }
  return "";
}

namespace {
/// The accesses of a kernel, and the dims whose index it asks for.
struct Uses {
  explicit Uses(rt::KernelOp kernel) {
    kernel.walk([&](mlir::Operation *op) {
      if (llvm::isa<rt::LoadOp, rt::StoreOp>(op))
        accesses.push_back(op);
      else if (auto index = llvm::dyn_cast<rt::IndexOp>(op))
        indexed.insert(index.getDimAttr());
    });
  }

  bool fuse(rt::DimAttr first, rt::DimAttr second) const {
    if (indexed.contains(first.getName()) || indexed.contains(second.getName()))
      return false;
    return llvm::all_of(accesses, [&](mlir::Operation *access) {
      bool has = followsDim(access, first.getName());
      if (has != followsDim(access, second.getName()))
        return false;
      rt::BufferType type = accessedType(access);
      return !has || type.stride(first.getName()) == type.stride(second.getName()) * second.getSize();
    });
  }

  llvm::SmallVector<Loop> loops(mlir::ArrayAttr dims) const {
    llvm::SmallVector<Loop> result;
    for (auto dim : dims.getAsRange<rt::DimAttr>()) {
      if (dim.getSize() == 1)
        continue;
      if (!result.empty() && fuse(result.back().inner(), dim))
        result.back().dims.push_back(dim);
      else
        result.push_back({{dim}});
    }
    return result;
  }

  llvm::SmallVector<mlir::Operation *> accesses;
  llvm::DenseSet<mlir::StringAttr> indexed;
};
} // namespace

LoopNest::LoopNest(rt::KernelOp kernel) {
  Uses uses(kernel);
  outer = uses.loops(kernel.getOuter());
  row = uses.loops(kernel.getRow());
}
