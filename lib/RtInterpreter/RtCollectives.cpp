//===- RtCollectives.cpp - executes collectives over the ranks' arenas ------===//
#include "meshc/Interpreter/RtInterpreter.h"
#include <map>

using namespace mlir;
using namespace meshc;
using namespace meshc::rt;
using namespace meshc::interp;

/// Calls body(element, index along `dim`, element without that index) for every element of a row-major buffer.
template <typename Body>
static void forEachAlong(BufferType type, StringAttr dim, Body &&body) {
  Dims loops;
  std::array<Strides, 3> strides;
  for (auto [d, stride] : llvm::zip(type.getDims(), type.getStrides())) {
    loops.push_back({d.getName(), d.getSize()});
    strides[0].push_back(stride);
    strides[1].push_back(d.getName() == dim ? 1 : 0);
    strides[2].push_back(d.getName() == dim ? 0 : stride);
  }
  forEach<3>(loops, strides, [&](auto at) { body(at[0], at[1], at[2]); });
}

/// The element of `type` at the same indices as element `element` of row-major `from`, but for `shifted` dims.
static int64_t translate(BufferType from, int64_t element, BufferType to, const std::map<StringRef, int64_t> &offsets) {
  int64_t result = 0;
  for (size_t i = 0; i < from.getDims().size(); ++i) {
    DimAttr dim = from.getDims()[i];
    int64_t index = element / from.getStrides()[i] % dim.getSize();
    auto it = offsets.find(dim.getName().getValue());
    result += (index + (it == offsets.end() ? 0 : it->second)) * to.stride(dim.getName());
  }
  return result;
}

LogicalResult RtInterpreter::runCollective(Operation &op) {
  auto axes = op.getAttrOfType<ArrayAttr>("axes");
  // Groups: ranks that agree in all other coordinates; members by their index along the axes.
  std::map<std::vector<int64_t>, std::vector<int64_t>> groups;
  for (int64_t r = 0; r < static_cast<int64_t>(ranks.size()); ++r) {
    std::vector<int64_t> key;
    for (StringAttr axis : mesh.getAxisNames())
      if (!llvm::is_contained(axes, axis))
        key.push_back(mesh.coordinate(r, axis));
    groups[key].push_back(r);
  }
  for (auto &[key, members] : groups) {
    llvm::sort(members, [&](int64_t a, int64_t b) { return shardIndex(a, axes) < shardIndex(b, axes); });
    if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      BufferType type = reduce.getBuffer().getType();
      forEachAlong(type, {}, [&](int64_t element, int64_t, int64_t) {
        double value = bufferOf(ranks[members[0]], reduce.getBuffer()).read(element);
        for (int64_t member : ArrayRef(members).drop_front()) {
          double other = bufferOf(ranks[member], reduce.getBuffer()).read(element);
          switch (reduce.getKind()) {
          case mtf::ReductionKind::Sum: value += other; break;
          case mtf::ReductionKind::Prod: value *= other; break;
          case mtf::ReductionKind::Max: value = std::max(value, other); break;
          case mtf::ReductionKind::Min: value = std::min(value, other); break;
          }
        }
        for (int64_t member : members)
          bufferOf(ranks[member], reduce.getBuffer()).write(element, value);
      });
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      BufferType part = gather.getPart().getType(), whole = gather.getResult().getType();
      for (auto [m, member] : llvm::enumerate(members))
        for (int64_t receiver : members)
          forEachAlong(part, gather.getDimAttr(), [&](int64_t element, int64_t, int64_t) {
            int64_t there = translate(part, element, whole, {{gather.getDim(), static_cast<int64_t>(m) * part.size(gather.getDimAttr())}});
            bufferOf(ranks[receiver], gather.getResult()).write(there, bufferOf(ranks[member], gather.getPart()).read(element));
          });
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      BufferType part = scatter.getPart().getType(), whole = scatter.getInput().getType();
      for (auto [m, member] : llvm::enumerate(members))
        forEachAlong(part, scatter.getDimAttr(), [&](int64_t element, int64_t, int64_t) {
          int64_t there = translate(part, element, whole, {{scatter.getDim(), static_cast<int64_t>(m) * part.size(scatter.getDimAttr())}});
          double sum = 0;
          for (int64_t sender : members)
            sum += bufferOf(ranks[sender], scatter.getInput()).read(there);
          bufferOf(ranks[member], scatter.getPart()).write(element, sum);
        });
    } else if (auto exchange = dyn_cast<ExchangeOp>(op)) {
      for (auto [member, source] : llvm::zip_equal(members, exchange.getSources()))
        forEachAlong(exchange.getResult().getType(), {}, [&](int64_t element, int64_t, int64_t) {
          bufferOf(ranks[member], exchange.getResult())
              .write(element, source < 0 ? 0.0 : bufferOf(ranks[members[source]], exchange.getInput()).read(element));
        });
    } else {
      auto all = cast<AllToAllOp>(op);
      BufferType input = all.getInput().getType(), result = all.getResult().getType();
      int64_t split = result.size(all.getSplitAttr()), concat = input.size(all.getConcatAttr());
      for (auto [s, sender] : llvm::enumerate(members))
        forEachAlong(input, all.getSplitAttr(), [&](int64_t element, int64_t index, int64_t) {
          int64_t receiver = index / split;
          int64_t there = translate(input, element, result, {{all.getSplit(), -receiver * split}, {all.getConcat(), static_cast<int64_t>(s) * concat}});
          bufferOf(ranks[members[receiver]], all.getResult()).write(there, bufferOf(ranks[sender], all.getInput()).read(element));
        });
    }
  }
  return success();
}
