//===- Partition.cpp - reshards become collectives -------------------------===//
//
//   %r = mtf.reshard %y : !mtf.tensor<[batch=8 (data), seq=4, embed=16], f32, partial(sum: model)>
//                      -> !mtf.tensor<[batch=8 (data), seq=4 (model), embed=16], f32>
//
//   %r = spmd.reduce_scatter sum %y to "seq" over ["model"] : ...
//
// Every other op executes on the parts of its operands as it stands: its types say which. The sequence per reshard is the cheapest
// that ReshardPlan finds.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "ReshardPlan.h"
#include "Spmd/IR/Meaning.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_PARTITION
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

static Value createStep(OpBuilder &builder, ReshardOp op, Value input, const ReshardStep &step, const Mesh &mesh, StringAttr reason) {
  Location loc = op.getLoc();
  NamedTensorType before = tensorType(input), type = applySharding(before, step.after, mesh);
  SmallVector<Attribute> names;
  for (StringAttr name : mesh.names(step.axes))
    names.push_back(name);
  ArrayAttr over = builder.getArrayAttr(names);
  auto dim = [&](int index) { return before.getDims()[index].getName(); };
  ReductionKind kind = before.getPartialKind();
  switch (step.kind) {
  case ReshardStep::AllReduce:
    return spmd::AllReduceOp::create(builder, loc, type, input, over, kind, reason);
  case ReshardStep::ReduceScatter:
    return spmd::ReduceScatterOp::create(builder, loc, type, input, over, kind, dim(step.to), reason);
  case ReshardStep::AllGather:
    return spmd::AllGatherOp::create(builder, loc, type, input, over, dim(step.from), reason);
  case ReshardStep::AllToAll:
    return spmd::AllToAllOp::create(builder, loc, type, input, over, dim(step.from), dim(step.to), reason);
  case ReshardStep::Permute:
    return spmd::PermuteOp::create(builder, loc, type, input, over, reason);
  case ReshardStep::Slice:
    return spmd::SliceOp::create(builder, loc, type, input, over, dim(step.to), reason);
  case ReshardStep::Unreduce:
    return spmd::UnreduceOp::create(builder, loc, type, input, over, reason);
  }
  llvm_unreachable("unknown step");
}

/// - the padded sizes agree: a reshard moves parts, it does not resize them
/// - a value does not become partial otherwise than as a sum
static LogicalResult checkReshard(ReshardOp op, const Mesh &mesh) {
  NamedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  for (auto [a, b] : llvm::zip(from.getDims(), to.getDims()))
    if (a.getPadded() != b.getPadded())
      return op.emitError() << "dimension '" << a.getName().getValue() << "' is padded to " << a.getPadded() << " before and " << b.getPadded()
                            << " after";
  for (NamedTensorType type : {from, to})
    for (DimAttr dim : type.getDims())
      if (int64_t shards = mesh.shards(mesh.axes(dim.getAxes())); dim.getPadded() % shards != 0)
        return op.emitError() << "dimension '" << dim.getName().getValue() << "' of padded size " << dim.getPadded() << " does not split into "
                              << shards << " equal parts: " << type;
  if (to.isPartial() && (to.getPartialKind() != ReductionKind::Sum || (from.isPartial() && from.getPartialKind() != ReductionKind::Sum)))
    return op.emitError() << "cannot turn " << from << " into " << to;
  return success();
}

/// Axes of size 1 split nothing.
static NamedTensorType withoutUnitAxes(NamedTensorType type, const Mesh &mesh) { return applySharding(type, shardingOf(type, mesh), mesh); }

static LogicalResult partition(ReshardOp op, const Mesh &mesh) {
  if (failed(checkReshard(op, mesh)))
    return failure();
  NamedTensorType from = op.getInput().getType(), to = op.getResult().getType();
  Sharding source = shardingOf(from, mesh), goal = shardingOf(to, mesh);
  ReshardPlan plan = planReshard(from, source, goal, mesh, /*exact=*/true);
  int64_t larger = std::max(partBytes(from, source, mesh), partBytes(from, goal, mesh));
  if (plan.peakBytes > 2 * larger)
    op.emitWarning() << "resharding needs a buffer of " << plan.peakBytes << " bytes per rank, more than twice the larger end (" << larger
                     << "): " << from << " to " << to;
  OpBuilder builder(op);
  auto reason = op->getAttrOfType<StringAttr>("reason");
  Value value = op.getInput();
  for (const ReshardStep &step : plan.steps)
    value = createStep(builder, op, value, step, mesh, reason ? reason : builder.getStringAttr(""));
  op.replaceAllUsesWith(value);
  op.erase();
  return success();
}

namespace {
struct PartitionPass : meshc::mtf::impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    Mesh mesh(MeshAttr::of(getOperation()));
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      spmd::recordMeaning(function);
      function.walk([&](Block *block) {
        for (BlockArgument argument : block->getArguments())
          if (auto type = dyn_cast<NamedTensorType>(argument.getType()))
            argument.setType(withoutUnitAxes(type, mesh));
        for (Operation &op : *block)
          for (Value result : op.getResults())
            if (auto type = dyn_cast<NamedTensorType>(result.getType()))
              result.setType(withoutUnitAxes(type, mesh));
      });
      Block &body = function.getBody().front();
      function.setType(FunctionType::get(&getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
      SmallVector<ReshardOp> reshards;
      function.walk([&](ReshardOp op) { reshards.push_back(op); });
      for (ReshardOp op : reshards)
        if (failed(partition(op, mesh)))
          return signalPassFailure();
    }
  }
};
} // namespace
