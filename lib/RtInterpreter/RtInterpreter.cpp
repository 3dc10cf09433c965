//===- RtInterpreter.cpp - executes rt programs in float64 ------------------===//
#include "meshc/Interpreter/RtInterpreter.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::rt;
using namespace meshc::interp;

RtInterpreter::RtInterpreter(ModuleOp module) : module(module), mesh(mtf::MeshAttr::of(module)) {
  int64_t bytes = module->getAttrOfType<IntegerAttr>(kArenaBytes).getInt();
  ranks.resize(mesh.numRanks());
  for (Rank &rank : ranks)
    rank.memory.assign(bytes, kPoison);
}

void RtInterpreter::Buffer::write(int64_t element, double value) const {
  int64_t bytes = type.elementBytes(), at = base + element * bytes;
  rank->memory[at] = value;
  for (int64_t i = 1; i < bytes; ++i)
    rank->memory[at + i] = kPoison;
}

int64_t RtInterpreter::shardIndex(int64_t rank, ArrayAttr axes) const {
  return mesh.shardIndex(rank, llvm::to_vector(axes.getAsRange<StringAttr>()));
}

//===----------------------------------------------------------------------===//
// Globals
//===----------------------------------------------------------------------===//

/// Calls `body(element, offset in the global tensor)` for a global's elements on one rank; offset -1 in the padding.
template <typename Body>
static void forEachElement(GlobalOp global, const mtf::MeshAttr &mesh, int64_t rank, const Tensor &tensor, Body &&body) {
  auto type = cast<mtf::NamedTensorType>(global.getTensor());
  BufferType buffer = global.bufferType();
  Dims loops;
  std::array<Strides, 1> strides;
  for (auto [dim, stride] : llvm::zip(buffer.getDims(), buffer.getStrides())) {
    loops.push_back({dim.getName(), dim.getSize()});
    strides[0].push_back(stride);
  }
  SmallVector<int64_t> first;
  for (DimAttr dim : buffer.getDims())
    first.push_back(mesh.shardIndex(rank, type.findDim(dim.getName()).getAxes()) * dim.getSize());
  std::vector<int64_t> index(loops.size(), 0);
  forEach<1>(loops, strides, [&](auto at) {
    int64_t offset = 0;
    for (size_t d = 0; d < loops.size() && offset >= 0; ++d) {
      int64_t position = first[d] + index[d];
      offset = position < tensor.size(loops[d].name) ? offset + position * tensor.stride(loops[d].name) : -1;
    }
    body(at[0], offset);
    for (size_t d = loops.size(); d-- > 0 && ++index[d] == loops[d].size;)
      index[d] = 0;
  });
}

void RtInterpreter::set(GlobalOp global, const Tensor &value) {
  for (auto [r, rank] : llvm::enumerate(ranks)) {
    Buffer buffer{&rank, global.bufferType(), global.getOffsetAttr().getInt()};
    forEachElement(global, mesh, r, value, [&](int64_t element, int64_t offset) { buffer.write(element, offset < 0 ? 0 : value[offset]); });
  }
}

FailureOr<Tensor> RtInterpreter::get(GlobalOp global) const {
  Dims dims;
  for (mtf::DimAttr dim : cast<mtf::NamedTensorType>(global.getTensor()).getDims())
    dims.push_back({dim.getName(), dim.getSize()});
  Tensor result(dims, kPoison);
  std::vector<bool> seen(result.numElements());
  bool agree = true;
  for (auto [r, rank] : llvm::enumerate(ranks)) {
    Buffer buffer{const_cast<Rank *>(&rank), global.bufferType(), global.getOffsetAttr().getInt()};
    forEachElement(global, mesh, r, result, [&](int64_t element, int64_t offset) {
      if (offset < 0)
        return;
      double value = buffer.read(element);
      agree &= !seen[offset] || result[offset] == value || (std::isnan(result[offset]) && std::isnan(value));
      result[offset] = value;
      seen[offset] = true;
    });
  }
  if (!agree)
    return global->emitError() << "ranks hold different values of @" << global.getSymName();
  return result;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

LogicalResult RtInterpreter::run(StepOp step) {
  // Only globals survive between steps.
  int64_t persistent = 0;
  for (auto global : module.getOps<GlobalOp>())
    persistent = std::max(persistent, global.getOffsetAttr().getInt() + global.bufferType().bytes());
  for (Rank &rank : ranks)
    std::fill(rank.memory.begin() + persistent, rank.memory.end(), kPoison);
  return runBlock(step.getBody().front());
}

LogicalResult RtInterpreter::runBlock(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<LoopOp>(op)) {
      if (failed(runLoop(loop)))
        return failure();
      continue;
    }
    if (isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, ExchangeOp>(op)) {
      if (failed(runCollective(op)))
        return failure();
      continue;
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      if (failed(runOp(op, rank)))
        return failure();
  }
  return success();
}

LogicalResult RtInterpreter::runLoop(LoopOp loop) {
  int64_t count = loop.getCount();
  auto runAt = [&](BlockArgument index, int64_t i) {
    for (Rank &rank : ranks)
      rank.values[index] = loop.getReverse() ? count - 1 - i : i;
    return runBlock(*index.getOwner());
  };
  if (loop.runsAhead() && failed(runAt(loop.aheadIndex(), 0)))
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    bool prepares = loop.runsAhead() && i + 1 < count, early = i % 2 == 0;
    if (prepares && early && failed(runAt(loop.aheadIndex(), i + 1)))
      return failure();
    if (failed(runAt(loop.index(), i)))
      return failure();
    if (prepares && !early && failed(runAt(loop.aheadIndex(), i + 1)))
      return failure();
  }
  return success();
}

/// Copies by name.
static void copy(const auto &source, const auto &target) {
  Dims loops;
  std::array<Strides, 2> strides;
  for (auto [dim, stride] : llvm::zip(target.type.getDims(), target.type.getStrides())) {
    loops.push_back({dim.getName(), dim.getSize()});
    strides[0].push_back(stride);
    strides[1].push_back(source.type.stride(dim.getName()));
  }
  forEach<2>(loops, strides, [&](auto at) { target.write(at[0], source.read(at[1])); });
}

LogicalResult RtInterpreter::runOp(Operation &op, int64_t r) {
  Rank &rank = ranks[r];
  auto buffer = [&](Value value) { return bufferOf(rank, value); };
  if (auto get = dyn_cast<GetGlobalOp>(op)) {
    rank.values[get] = module.lookupSymbol<GlobalOp>(get.getGlobal()).getOffsetAttr().getInt();
  } else if (auto alloc = dyn_cast<AllocOp>(op)) {
    rank.values[alloc] = alloc.getOffsetAttr().getInt();
  } else if (auto shard = dyn_cast<ShardIndexOp>(op)) {
    rank.values[shard] = shardIndex(r, shard.getAxes());
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    int64_t index = rank.values.lookup(slice.getIndex());
    if (slice.getCyclic())
      index %= slice.numBlocks();
    rank.values[slice] = buffer(slice.getSource()).base + index * slice.blockStride() * slice.getType().elementBytes();
  } else if (auto view = dyn_cast<ViewOp>(op)) {
    rank.values[view] = buffer(view.getSource()).base + static_cast<int64_t>(view.getStart()) * view.getType().elementBytes();
  } else if (auto copyOp = dyn_cast<CopyOp>(op)) {
    copy(buffer(copyOp.getSource()), buffer(copyOp.getTarget()));
  } else if (auto fill = dyn_cast<FillOp>(op)) {
    double value = isa<FloatAttr>(fill.getValue()) ? cast<FloatAttr>(fill.getValue()).getValueAsDouble()
                                                   : static_cast<double>(cast<IntegerAttr>(fill.getValue()).getInt());
    Buffer target = buffer(fill.getTarget());
    for (int64_t i = 0; i < target.type.extent(); ++i)
      target.write(i, value);
  } else if (auto kernel = dyn_cast<KernelOp>(op)) {
    runKernel(kernel, r);
  } else if (auto gemm = dyn_cast<GemmOp>(op)) {
    runGemm(gemm, rank);
  } else if (auto attend = dyn_cast<AttendOp>(op)) {
    runAttend(attend, r);
  } else if (auto attend = dyn_cast<AttendGradOp>(op)) {
    runAttend(attend, r);
  } else if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    runScatterAdd(scatter, r);
  } else if (auto top = dyn_cast<TopKOp>(op)) {
    runTopK(top, rank);
  } else if (auto sum = dyn_cast<CumSumOp>(op)) {
    runCumSum(sum, rank);
  } else {
    return op.emitError() << "cannot execute '" << op.getName() << "'";
  }
  return success();
}
