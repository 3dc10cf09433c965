//===- Collectives.cpp - the spmd dialect on virtual ranks -----------------===//
#include "Collectives.h"
#include "Evaluator.h"
#include "Spmd/IR/Spmd.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;
using mtf::MeshAttr;

namespace {
/// The ranks that differ in the coordinates of some axes only, in the order of those coordinates.
class Groups {
public:
  Groups(MeshAttr mesh, ArrayRef<StringAttr> over) : mesh(mesh), over(over) {}

  int64_t size() const { return mesh.shardCount(over); }
  int64_t position(int64_t rank) const { return mesh.shardIndex(rank, over); }
  SmallVector<int64_t> members(int64_t rank) const {
    SmallVector<int64_t> ranks(size());
    for (int64_t other = 0; other < mesh.numRanks(); ++other)
      if (llvm::all_of(mesh.getAxisNames(), [&](StringAttr axis) {
            return llvm::is_contained(over, axis) || mesh.coordinate(other, axis) == mesh.coordinate(rank, axis);
          }))
        ranks[position(other)] = other;
    return ranks;
  }

private:
  MeshAttr mesh;
  ArrayRef<StringAttr> over;
};
} // namespace

static Tensor reduce(const Shards &parts, ArrayRef<int64_t> ranks, mtf::ReductionKind kind) {
  Tensor result = parts[ranks.front()];
  for (int64_t rank : ranks.drop_front())
    for (auto [a, b] : llvm::zip(result.values(), parts[rank].values()))
      a = combine(kind, a, b);
  return result;
}

static Dims resized(const Tensor &tensor, StringAttr dim, int64_t size) {
  Dims dims(tensor.dims());
  for (Dim &d : dims)
    if (d.name == dim)
      d.size = size;
  return dims;
}

/// Block `index` of `count` along `dim`.
static Tensor block(const Tensor &whole, StringAttr dim, int64_t index, int64_t count) {
  int64_t size = whole.size(dim) / count;
  Tensor part(resized(whole, dim, size));
  int64_t base = index * size * whole.stride(dim);
  forEach<2>(part.dims(), {&part, &whole}, [&](auto o) { part[o[0]] = whole[o[1] + base]; });
  return part;
}

static Tensor concatenate(const Shards &parts, ArrayRef<int64_t> ranks, StringAttr dim) {
  int64_t size = parts[ranks.front()].size(dim), base = 0;
  Tensor whole(resized(parts[ranks.front()], dim, size * ranks.size()));
  for (int64_t rank : ranks) {
    const Tensor &part = parts[rank];
    forEach<2>(part.dims(), {&part, &whole}, [&](auto o) { whole[o[1] + base] = part[o[0]]; });
    base += size * whole.stride(dim);
  }
  return whole;
}

/// The part that `rank` gets by a permute: of the group's ranks, the first that held the same block of every dimension.
static FailureOr<Tensor> permuted(spmd::PermuteOp op, MeshAttr mesh, const Shards &input, int64_t rank, ArrayRef<int64_t> ranks) {
  auto holds = [&](int64_t other) {
    return llvm::all_of(llvm::zip_equal(op.getInput().getType().getDims(), op.getResult().getType().getDims()), [&](auto pair) {
      auto [from, to] = pair;
      return mesh.shardIndex(other, from.getAxes()) == mesh.shardIndex(rank, to.getAxes());
    });
  };
  auto it = llvm::find_if(ranks, holds);
  if (it == ranks.end())
    return op.emitError() << "no rank of the group holds the block that rank " << rank << " needs";
  return input[*it];
}

FailureOr<Shards> interp::runCollective(Operation *op, MeshAttr mesh, const Shards &input) {
  auto collective = cast<spmd::CollectiveOpInterface>(op);
  SmallVector<StringAttr> over = nameList(collective.getOver());
  Groups groups(mesh, over);
  int64_t count = groups.size();
  Shards result;
  for (int64_t rank = 0, e = mesh.numRanks(); rank < e; ++rank) {
    SmallVector<int64_t> ranks = groups.members(rank);
    int64_t position = groups.position(rank);
    FailureOr<Tensor> part =
        llvm::TypeSwitch<Operation *, FailureOr<Tensor>>(op)
            .Case([&](spmd::AllReduceOp op) { return reduce(input, ranks, op.getKind()); })
            .Case([&](spmd::ReduceScatterOp op) { return block(reduce(input, ranks, op.getKind()), op.getDimAttr(), position, count); })
            .Case([&](spmd::AllGatherOp op) { return concatenate(input, ranks, op.getDimAttr()); })
            .Case([&](spmd::AllToAllOp op) {
              Shards blocks;
              for (int64_t other : ranks)
                blocks.push_back(block(input[other], op.getToAttr(), position, count));
              return concatenate(blocks, llvm::to_vector(llvm::seq<int64_t>(0, count)), op.getFromAttr());
            })
            .Case([&](spmd::PermuteOp op) { return permuted(op, mesh, input, rank, ranks); })
            .Case([&](spmd::ShiftOp op) {
              int64_t from = position - static_cast<int64_t>(op.getAmount());
              return from < 0 || from >= count ? Tensor(input[rank].dims(), 0.0) : input[ranks[from]];
            })
            .Case([&](spmd::SliceOp op) { return block(input[rank], op.getDimAttr(), position, count); })
            .Case([&](spmd::UnreduceOp op) {
              double neutral = identityOf(op.getResult().getType().getPartialKind());
              return position == 0 ? input[rank] : Tensor(input[rank].dims(), neutral);
            })
            .Default([&](Operation *op) -> FailureOr<Tensor> {
              return op->emitError() << "the interpreter does not know '" << op->getName().getStringRef() << "'";
            });
    if (failed(part))
      return failure();
    Dims expected = localDims(collective.getResult().getType(), mesh);
    if (part->dims() != ArrayRef<Dim>(expected))
      return op->emitError() << "the ranks' parts do not have the local shape of " << collective.getResult().getType();
    result.push_back(std::move(*part));
  }
  return result;
}
