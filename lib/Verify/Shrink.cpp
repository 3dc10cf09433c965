//===- Shrink.cpp - small sizes with the same remainders -------------------===//
//
// Which dims can be set is the program's business: some follow from others (`mem = seq`, `ff = 4 * embed`), some cannot change (a
// rotary `head` must be even). So each dim is tried in the order of declaration, and a size is taken if the program accepts it and
// every dim that it changed keeps its remainder:
//
//   mesh [data=2, model=4], batch -> data, heads, vocab -> model:
//   batch 512 -> 2   seq 1024 -> 3   vocab 50257 -> 5   heads 12 -> 4   embed 768 -> 6   layers 12 -> 7
//
// The modulus of a dim is the product of the axes that rules give it. A dim that only propagation splits may lose its remainder: it
// then is padded where it was not, or the other way round, which is as good a program to verify.
//
// Sizes differ from each other where they can: a tensor whose dims are mixed up then shows.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Microbatches.h"
#include "meshc/Verify/Verify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace meshc;

using Sizes = llvm::MapVector<StringAttr, int64_t>;

/// The global size of every dim, in the order of declaration. A name with several sizes keeps the largest. Functions are for one
/// microbatch, the batch is all of them together.
static Sizes sizesOf(ModuleOp module) {
  Sizes sizes;
  if (auto order = module->getAttrOfType<ArrayAttr>(mtf::kDimOrder))
    for (auto name : order.getAsRange<StringAttr>())
      sizes[name] = 0;
  auto visit = [&](Type type) {
    if (auto tensor = dyn_cast<mtf::NamedTensorType>(type))
      for (mtf::DimAttr dim : tensor.getDims())
        sizes[dim.getName()] = std::max(sizes[dim.getName()], dim.getSize());
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), visit);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), visit);
  });
  sizes.remove_if([](const auto &entry) { return entry.second == 0; });
  if (auto batch = module->getAttrOfType<StringAttr>(mtf::kBatchDim); batch && sizes.contains(batch))
    sizes[batch] *= microbatchesOf(module);
  return sizes;
}

/// The number of parts that the layout's rules may cut each dim into.
static llvm::DenseMap<StringAttr, int64_t> partsByRules(ModuleOp module) {
  auto mesh = mtf::MeshAttr::of(module);
  llvm::DenseMap<StringAttr, SmallVector<StringAttr>> axes;
  if (auto layout = module->getAttrOfType<mtf::LayoutAttr>(mtf::kLayout))
    for (mtf::RuleAttr rule : layout.getRules())
      for (StringAttr dim : rule.getDims())
        for (StringAttr axis : rule.getAxes())
          if (mesh.hasAxis(axis) && !llvm::is_contained(axes[dim], axis))
            axes[dim].push_back(axis);
  llvm::DenseMap<StringAttr, int64_t> parts;
  for (auto &[dim, list] : axes)
    parts[dim] = mesh.shardCount(list);
  return parts;
}

/// Sizes to try for a dim of `size`, smallest first; all have its remainder modulo `modulus`, and an element for every part if it has.
static SmallVector<int64_t> candidates(int64_t size, int64_t modulus, const llvm::SmallSet<int64_t, 8> &taken) {
  SmallVector<int64_t> fresh, used;
  for (int64_t candidate = size % modulus + (size % modulus == 0 ? 0 : modulus); candidate < std::min<int64_t>(size, 5 * modulus + 8); candidate += modulus)
    if (candidate >= 2)
      (taken.contains(candidate) ? used : fresh).push_back(candidate);
  fresh.truncate(std::min<size_t>(fresh.size(), 4));
  llvm::append_range(fresh, used);
  return fresh;
}

std::vector<std::string> meshc::shrinkSizes(ModuleOp program, Elaborate elaborate, std::vector<ShrunkDim> &dims) {
  Sizes original = sizesOf(program), current = original;
  llvm::DenseMap<StringAttr, int64_t> parts = partsByRules(program);
  int64_t microbatches = microbatchesOf(program);
  StringAttr batch = program->getAttrOfType<StringAttr>(mtf::kBatchDim);
  auto modulusOf = [&](StringAttr name) {
    return std::max<int64_t>(parts.lookup(name), 1) * (name == batch ? microbatches : 1);
  };

  std::vector<std::string> settings;
  llvm::SmallSet<int64_t, 8> taken;
  // Trying a size is asking: what the program says against it is of no interest to the user.
  ScopedDiagnosticHandler silence(program.getContext(), [](Diagnostic &) { return success(); });
  for (auto [name, size] : original) {
    if (current.lookup(name) != size || size <= 2)
      continue; // It follows from another, or is small already.
    for (int64_t candidate : candidates(size, modulusOf(name), taken)) {
      std::vector<std::string> tried = settings;
      tried.push_back((name.getValue() + "=" + Twine(candidate)).str());
      OwningOpRef<ModuleOp> smaller = elaborate(tried);
      if (!smaller)
        continue;
      Sizes sizes = sizesOf(*smaller);
      bool keepsRemainders = llvm::all_of(sizes, [&](const auto &entry) {
        auto [dim, now] = entry;
        int64_t before = original.lookup(dim), modulus = modulusOf(dim);
        return now == before || now % modulus == before % modulus;
      });
      if (sizes.lookup(name) != candidate || !keepsRemainders)
        continue;
      settings = std::move(tried);
      current = std::move(sizes);
      for (auto [dim, now] : current)
        if (now != original.lookup(dim))
          taken.insert(now);
      break;
    }
  }
  for (auto [name, size] : original)
    dims.push_back({name.str(), size, current.lookup(name)});
  return settings;
}
