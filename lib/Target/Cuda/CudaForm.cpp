//===- CudaForm.cpp - which threads work together on a kernel ------------------------===//
#include "CudaForm.h"
#include "CudaKernel.h"

using namespace meshc;
using namespace meshc::target;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Rows up to this length are a warp's work.
static constexpr int64_t kWarpRow = 1024;

static int64_t elements(ArrayRef<Loop> loops) {
  int64_t count = 1;
  for (const Loop &loop : loops)
    count *= loop.size();
  return count;
}

int meshc::target::teamSize(const LoopNest &nest) {
  int64_t length = elements(nest.row);
  return length <= kWarpRow ? 32 : length <= 8 * kWarpRow ? 256 : 512;
}

llvm::DenseSet<mlir::Value> meshc::target::reducedValues(rt::KernelOp kernel) {
  llvm::DenseSet<mlir::Value> reduced;
  for (mlir::Operation &op : kernel.getBody().front())
    if (llvm::isa<rt::RowOp>(op) || llvm::any_of(op.getOperands(), [&](mlir::Value v) { return reduced.contains(v); }))
      reduced.insert(op.result_begin(), op.result_end());
  return reduced;
}

/// Whether no row loop needs what another one reduced: then one pass of the grid does them all.
static bool rowsAreIndependent(rt::KernelOp kernel) {
  llvm::DenseSet<mlir::Value> reduced = reducedValues(kernel);
  for (auto row : kernel.getBody().front().getOps<rt::RowOp>()) {
    auto result = row.getBody().walk([&](mlir::Operation *op) {
      bool uses = llvm::any_of(op->getOperands(), [&](mlir::Value v) { return reduced.contains(v); });
      return uses ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
    });
    if (result.wasInterrupted())
      return false;
  }
  return true;
}

bool meshc::target::overwritesOthersElements(rt::KernelOp kernel) {
  llvm::DenseSet<mlir::Value> stored, loaded;
  kernel.walk([&](rt::StoreOp op) {
    if (llvm::isa<rt::RowOp>(op->getParentOp()))
      stored.insert(kernel.operandOf(llvm::cast<mlir::BlockArgument>(op.getBuffer())).get());
  });
  kernel.walk([&](rt::LoadOp op) {
    if (!op.getIndices().empty())
      loaded.insert(kernel.operandOf(llvm::cast<mlir::BlockArgument>(op.getBuffer())).get());
  });
  return llvm::any_of(stored, [&](mlir::Value buffer) { return loaded.contains(buffer); });
}

/// Whether the whole grid can do a kernel without outer dims: its only meeting is after the row loops.
static bool fitsGrid(rt::KernelOp kernel) {
  mlir::Block &block = kernel.getBody().front();
  bool reduces = llvm::any_of(block.getOps<rt::RowOp>(), [](rt::RowOp row) { return row.getNumResults() != 0; });
  return rowsAreIndependent(kernel) && !overwritesOthersElements(kernel) && (reduces || block.getOps<rt::StoreOp>().empty());
}

static bool storesInRows(rt::KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front().getOps<rt::RowOp>(), [](rt::RowOp row) { return !row.getBody().getOps<rt::StoreOp>().empty(); });
}

Form meshc::target::formOf(rt::KernelOp kernel, const LoopNest &nest) {
  if (nest.row.empty())
    return nest.outer.empty() ? Form::Plain : Form::Map;
  if (nest.outer.empty())
    return fitsGrid(kernel) ? Form::Grid : Form::Rows;
  return kernel.getColumns() && !storesInRows(kernel) ? Form::Columns : Form::Rows;
}

SmallVector<mlir::ArrayAttr> meshc::target::shardAxes(rt::KernelOp kernel) {
  SmallVector<mlir::ArrayAttr> result;
  kernel.walk([&](rt::ShardIndexOp op) {
    if (!llvm::is_contained(result, op.getAxes()))
      result.push_back(op.getAxes());
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

static Expr countOf(ArrayRef<Loop> loops, Vocabulary &vocabulary) {
  Expr result = 1;
  for (const Loop &loop : loops)
    result = result * vocabulary.product(loop.dims);
  return result;
}

std::string meshc::target::launchShape(rt::KernelOp kernel, Vocabulary &vocabulary) {
  LoopNest nest(kernel);
  std::string outer = countOf(nest.outer, vocabulary).str(), row = countOf(nest.row, vocabulary).str();
  switch (formOf(kernel, nest)) {
  case Form::Plain: return "{1, 1}";
  case Form::Map: return "mapShape(" + outer + ")";
  case Form::Rows: return "rowShape<" + std::to_string(teamSize(nest)) + ">(" + outer + ")";
  case Form::Columns: return "columnShape(" + outer + ")";
  case Form::Grid: return "gridShape(" + row + ")";
  }
  return "";
}

SmallVector<std::string> meshc::target::launchArguments(rt::KernelOp kernel, Vocabulary &vocabulary) {
  SmallVector<std::string> result;
  for (mlir::ArrayAttr axes : shardAxes(kernel))
    result.push_back("rank.shard(" + vocabulary.axes(axes).str() + ")");
  if (formOf(kernel, LoopNest(kernel)) == Form::Grid)
    result.push_back("rank.reduction()");
  return result;
}
