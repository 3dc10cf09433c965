//===- SpmdOps.cpp - verifiers and traffic of the collectives --------------===//
#include "Spmd/IR/Spmd.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::spmd;
using mtf::DimAttr;
using mtf::MeshAttr;
using mtf::NamedTensorType;
using mtf::Padding;
using mtf::ReductionKind;

#include "Spmd/IR/SpmdInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "Spmd/IR/SpmdOps.cpp.inc"

using Axes = SmallVector<StringAttr>;

static Axes axesOf(ArrayAttr over) { return llvm::to_vector(over.getAsRange<StringAttr>()); }

/// What every op of the dialect must satisfy:
/// - `over` names axes of the mesh, none of size 1, none twice
/// - the types differ in sharding only
static LogicalResult verifyCommon(CollectiveOpInterface op) {
  MeshAttr mesh = MeshAttr::of(op);
  if (op.getOver().empty())
    return op->emitOpError() << "needs at least one mesh axis";
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr axis : axesOf(op.getOver())) {
    if (!mesh.hasAxis(axis))
      return op->emitOpError() << "unknown mesh axis '" << axis.getValue() << "'";
    if (mesh.axisSize(axis) == 1)
      return op->emitOpError() << "mesh axis '" << axis.getValue() << "' has size 1: there is nothing to do over it";
    if (!seen.insert(axis).second)
      return op->emitOpError() << "names mesh axis '" << axis.getValue() << "' twice";
  }
  NamedTensorType input = op.getInput().getType(), result = op.getResult().getType();
  if (input.getElementType() != result.getElementType())
    return op->emitOpError() << "changes the element type from " << input.getElementType() << " to " << result.getElementType();
  if (input.global() != result.global())
    return op->emitOpError() << "changes more than the sharding: " << input << " to " << result;
  return success();
}

static LogicalResult expectResult(CollectiveOpInterface op, NamedTensorType expected) {
  NamedTensorType actual = op.getResult().getType();
  if (actual.withPadding(Padding::Undefined) != expected.withPadding(Padding::Undefined))
    return op->emitOpError() << "should give " << expected << ", got: " << actual;
  return success();
}

/// The type without the axes of `over` among the partial ones; null if one of them is not partial with `kind`.
static NamedTensorType reduced(CollectiveOpInterface op, ReductionKind kind) {
  NamedTensorType type = op.getInput().getType();
  Axes left(type.getPartialAxes());
  for (StringAttr axis : axesOf(op.getOver())) {
    auto *it = llvm::find(left, axis);
    if (it == left.end() || type.getPartialKind() != kind) {
      op->emitOpError() << "reduces (" << stringifyReductionKind(kind) << ") over '" << axis.getValue()
                        << "', over which the value is not partial: " << type;
      return {};
    }
    left.erase(it);
  }
  return type.withPartial(left, kind);
}

/// The type with `over` appended to the axes of `dim`; null if that cannot be.
static NamedTensorType appended(CollectiveOpInterface op, NamedTensorType type, StringAttr name) {
  DimAttr dim = type.findDim(name);
  if (!dim) {
    op->emitOpError() << "dimension '" << name.getValue() << "' is not in " << type;
    return {};
  }
  Axes axes(dim.getAxes()), used = type.splitAxes();
  llvm::append_range(used, type.getPartialAxes());
  for (StringAttr axis : axesOf(op.getOver())) {
    if (llvm::is_contained(used, axis)) {
      op->emitOpError() << "mesh axis '" << axis.getValue() << "' is used already in " << type;
      return {};
    }
    axes.push_back(axis);
  }
  return type.with(dim.withAxes(axes));
}

/// The type without `over` as the last axes of `dim`; null if they are not the last.
static NamedTensorType stripped(CollectiveOpInterface op, StringAttr name) {
  NamedTensorType type = op.getInput().getType();
  DimAttr dim = type.findDim(name);
  if (!dim) {
    op->emitOpError() << "dimension '" << name.getValue() << "' is not in " << type;
    return {};
  }
  Axes over = axesOf(op.getOver());
  ArrayRef<StringAttr> axes = dim.getAxes();
  if (axes.size() < over.size() || axes.take_back(over.size()) != ArrayRef<StringAttr>(over)) {
    op->emitOpError() << "the last axes that split dimension '" << name.getValue() << "' should be those of the op: " << type;
    return {};
  }
  return type.with(dim.withAxes(axes.drop_back(over.size())));
}

/// Part of `bytes` that a rank receives when a group of the op's size shares it out: bytes (n - 1) / n.
static int64_t share(CollectiveOpInterface op, int64_t bytes) {
  int64_t ranks = MeshAttr::of(op).shardCount(axesOf(op.getOver()));
  return bytes / ranks * (ranks - 1) + bytes % ranks * (ranks - 1) / ranks;
}

static int64_t inputBytes(CollectiveOpInterface op) { return localBytes(op.getInput().getType(), MeshAttr::of(op)); }

LogicalResult AllReduceOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType expected = reduced(*this, getKind());
  return expected ? expectResult(*this, expected) : failure();
}
int64_t AllReduceOp::bytesPerRank() { return 2 * share(*this, inputBytes(*this)); }

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType expected = reduced(*this, getKind());
  expected = expected ? appended(*this, expected, getDimAttr()) : expected;
  return expected ? expectResult(*this, expected) : failure();
}
int64_t ReduceScatterOp::bytesPerRank() { return share(*this, inputBytes(*this)); }

LogicalResult AllGatherOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType expected = stripped(*this, getDimAttr());
  return expected ? expectResult(*this, expected) : failure();
}
int64_t AllGatherOp::bytesPerRank() { return share(*this, localBytes(getResult().getType(), MeshAttr::of(*this))); }

LogicalResult AllToAllOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  if (getFrom() == getTo())
    return emitOpError() << "should move a split to another dimension, got '" << getTo() << "' twice";
  NamedTensorType expected = stripped(*this, getFromAttr());
  expected = expected ? appended(*this, expected, getToAttr()) : expected;
  return expected ? expectResult(*this, expected) : failure();
}
int64_t AllToAllOp::bytesPerRank() { return share(*this, inputBytes(*this)); }

/// - `over` names the axes of dimensions that change, from the first that differs on
/// - partial axes stay, local shapes are equal
LogicalResult PermuteOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType input = getInput().getType(), result = getResult().getType();
  MeshAttr mesh = MeshAttr::of(*this);
  if (input.getPartialAxes() != result.getPartialAxes() || input.getPartialKind() != result.getPartialKind())
    return emitOpError() << "cannot reduce: " << input << " to " << result;
  Axes over = axesOf(getOver());
  for (auto [before, after] : llvm::zip(input.getDims(), result.getDims())) {
    if (mesh.localSize(before) != mesh.localSize(after))
      return emitOpError() << "changes the local size of dimension '" << before.getName().getValue() << "' from "
                           << mesh.localSize(before) << " to " << mesh.localSize(after);
    // Blocks stay inside the block that the common leading axes make.
    size_t common = 0;
    while (common < std::min(before.getAxes().size(), after.getAxes().size()) && before.getAxes()[common] == after.getAxes()[common])
      ++common;
    for (ArrayRef<StringAttr> axes : {before.getAxes(), after.getAxes()})
      for (StringAttr axis : axes.drop_front(common))
        if (!llvm::is_contained(over, axis))
          return emitOpError() << "moves parts over mesh axis '" << axis.getValue() << "', which it does not name";
  }
  return success();
}
/// The first member that held the same block of every dimension; the same in all groups, as ranks of one agree in all other coordinates.
SmallVector<int64_t> PermuteOp::sources() {
  MeshAttr mesh = MeshAttr::of(*this);
  Axes over = axesOf(getOver());
  SmallVector<int64_t> members(mesh.shardCount(over), -1), sources;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (llvm::all_of(mesh.getAxisNames(), [&](StringAttr axis) { return llvm::is_contained(over, axis) || mesh.coordinate(rank, axis) == 0; }))
      members[mesh.shardIndex(rank, over)] = rank;
  auto holds = [&](int64_t other, int64_t rank) {
    return llvm::all_of(llvm::zip_equal(getInput().getType().getDims(), getResult().getType().getDims()), [&](auto pair) {
      auto [from, to] = pair;
      return mesh.shardIndex(other, from.getAxes()) == mesh.shardIndex(rank, to.getAxes());
    });
  };
  for (int64_t rank : members)
    sources.push_back(llvm::find_if(members, [&](int64_t other) { return holds(other, rank); }) - members.begin());
  return sources;
}
int64_t PermuteOp::bytesPerRank() { return inputBytes(*this); }

/// - each rank of a group has one element of the dimension, which is split over the op's axes and no others
LogicalResult ShiftOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType type = getInput().getType();
  DimAttr dim = type.findDim(getDimAttr());
  if (!dim)
    return emitOpError() << "dimension '" << getDim() << "' is not in " << type;
  if (dim.getAxes() != ArrayRef<StringAttr>(axesOf(getOver())) || dim.isPadded() || MeshAttr::of(*this).localSize(dim) != 1)
    return emitOpError() << "needs one element of dimension '" << getDim() << "' on each rank of the group: " << type;
  return expectResult(*this, type);
}
SmallVector<int64_t> ShiftOp::sources() {
  SmallVector<int64_t> sources;
  for (int64_t member = 0, members = MeshAttr::of(*this).shardCount(axesOf(getOver())); member < members; ++member) {
    int64_t from = member - static_cast<int64_t>(getAmount());
    sources.push_back(from < 0 || from >= members ? -1 : from);
  }
  return sources;
}
int64_t ShiftOp::bytesPerRank() { return inputBytes(*this); }

LogicalResult SliceOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType expected = appended(*this, getInput().getType(), getDimAttr());
  return expected ? expectResult(*this, expected) : failure();
}
int64_t SliceOp::bytesPerRank() { return 0; }

/// - the value is neither split nor partial over the axes
LogicalResult UnreduceOp::verify() {
  if (failed(verifyCommon(*this)))
    return failure();
  NamedTensorType type = getInput().getType();
  if (type.isPartial() && type.getPartialKind() != ReductionKind::Sum)
    return emitOpError() << "is for sums only, got: " << type;
  Axes used = type.splitAxes(), partial(type.getPartialAxes());
  llvm::append_range(used, partial);
  for (StringAttr axis : axesOf(getOver())) {
    if (llvm::is_contained(used, axis))
      return emitOpError() << "mesh axis '" << axis.getValue() << "' is used already in " << type;
    partial.push_back(axis);
  }
  return expectResult(*this, type.withPartial(partial));
}
int64_t UnreduceOp::bytesPerRank() { return 0; }
