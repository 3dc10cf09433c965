//===- Products.cpp - mtf.dot as rt.gemm ----------------------------------------===//
//
// The dims of c[..] = dot(a, b over k) fall into four groups: in a, b and c (batch), in a and c (m), in b and c (n), in a and b (k). A matrix
// index can be several dims that are adjacent in both operands that have them; what does not fit becomes a batch loop:
//
//   h[batch, seq, embed] x wte[vocab, embed]           m = batch, seq   n = vocab          k = embed
//   o[batch, seq, heads, head] x wo[heads, head, embed]  m = batch, seq   n = embed          k = heads, head
//   x[batch, seq, embed] x dy[batch, seq, ff]            m = embed        n = ff             k = batch, seq
//
// Operands are copied only if no index of theirs has unit stride or the contracted dims are not adjacent.
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
using Names = SmallVector<StringAttr>;

struct Operand {
  Value buffer;
  rt::BufferType type() const { return rt::bufferType(buffer); }
};
} // namespace

static ArrayAttr array(MLIRContext *context, ArrayRef<StringAttr> names) {
  return ArrayAttr::get(context, SmallVector<Attribute>(names.begin(), names.end()));
}

/// Names by falling stride in `type`.
static void sortByStride(Names &names, rt::BufferType type) {
  llvm::stable_sort(names, [&](StringAttr a, StringAttr b) { return type.stride(a) > type.stride(b); });
}

/// Maximal runs of names adjacent in all of `types`.
static SmallVector<Names> runs(const Names &names, ArrayRef<rt::BufferType> types) {
  SmallVector<Names> result;
  for (StringAttr name : names) {
    if (!result.empty()) {
      Names longer = result.back();
      longer.push_back(name);
      bool fits = llvm::all_of(types, [&](rt::BufferType type) {
        return rt::mergedIndex(type, array(name.getContext(), longer)).has_value();
      });
      if (fits) {
        result.back() = longer;
        continue;
      }
    }
    result.push_back({name});
  }
  return result;
}

/// Whether one of `names` has stride 1 in `type` and is longer than 1, or all dims have size 1.
static bool hasUnitStride(const Names &names, rt::BufferType type) {
  return llvm::any_of(names, [&](StringAttr name) { return type.size(name) > 1 && type.stride(name) == 1; });
}

static int64_t sizeOf(const Names &names, rt::BufferType type) {
  int64_t size = 1;
  for (StringAttr name : names)
    size *= type.size(name);
  return size;
}

/// The run that shall be the matrix index: with unit stride in `first`, else in `second`, else the longest. The other runs' names
/// are appended to `batch`.
static Names chooseRun(SmallVector<Names> candidates, rt::BufferType first, rt::BufferType second, Names &batch) {
  if (candidates.empty())
    return {};
  auto best = llvm::max_element(candidates, [&](const Names &a, const Names &b) {
    auto key = [&](const Names &names) {
      return std::tuple(hasUnitStride(names, first), hasUnitStride(names, second), sizeOf(names, first));
    };
    return key(a) < key(b);
  });
  Names chosen = *best;
  for (const Names &names : candidates)
    if (names != chosen)
      batch.append(names);
  return chosen;
}

static rt::BufferType packed(rt::BufferType like, ArrayRef<Names> groups) {
  SmallVector<rt::DimAttr> dims;
  for (const Names &names : groups)
    for (StringAttr name : names)
      if (like.hasDim(name) && !llvm::is_contained(llvm::map_range(dims, [](rt::DimAttr d) { return d.getName(); }), name))
        dims.push_back(rt::DimAttr::get(name, like.size(name)));
  return rt::BufferType::get(dims, like.getElementType());
}

LogicalResult Lowering::lowerDot(DotOp op, Value target, bool accumulate) {
  Location loc = op.getLoc();
  Operand a{bufferOf(op.getLhs())}, b{bufferOf(op.getRhs())}, c{target};
  Names batch, m, n, k;
  auto classify = [&] {
    batch.clear(), m.clear(), n.clear(), k.clear();
    for (rt::DimAttr dim : a.type().getDims()) {
      StringAttr name = dim.getName();
      bool inB = b.type().hasDim(name), inC = c.type().hasDim(name);
      (inB ? (inC ? batch : k) : m).push_back(name);
    }
    for (rt::DimAttr dim : b.type().getDims())
      if (!a.type().hasDim(dim.getName()))
        n.push_back(dim.getName());
  };
  classify();
  // c is written row by row: its contiguous dim shall be of n.
  if (!hasUnitStride(n, c.type()) && hasUnitStride(m, c.type())) {
    std::swap(a, b);
    classify();
  }
  sortByStride(batch, c.type());
  sortByStride(m, c.type());
  sortByStride(n, c.type());
  sortByStride(k, a.type());

  // Contracted dims are one index in both operands.
  if (runs(k, {a.type(), b.type()}).size() > 1) {
    if (runs(k, {a.type()}).size() > 1)
      a.buffer = inOrder(a.buffer, packed(a.type(), {batch, m, k}), loc);
    if (runs(k, {a.type(), b.type()}).size() > 1)
      b.buffer = inOrder(b.buffer, packed(b.type(), {batch, k, n}), loc);
  }
  // A free index is one run; the unit stride of an operand must be in a run or in k.
  auto split = [&](const Names &names, Operand &operand, bool kFirst) {
    Names extra;
    Names run = chooseRun(runs(names, {operand.type(), c.type()}), hasUnitStride(k, operand.type()) ? c.type() : operand.type(), c.type(), extra);
    if (!hasUnitStride(run, operand.type()) && !hasUnitStride(k, operand.type()) && sizeOf(run, operand.type()) * sizeOf(k, operand.type()) > 1) {
      operand.buffer = inOrder(operand.buffer, packed(operand.type(), kFirst ? ArrayRef<Names>{batch, k, names} : ArrayRef<Names>{batch, names, k}), loc);
      extra.clear();
      run = chooseRun(runs(names, {operand.type(), c.type()}), c.type(), c.type(), extra);
    }
    batch.append(extra);
    return run;
  };
  Names mRun = split(m, a, false), nRun = split(n, b, true);
  // A result without unit stride in its matrix is made apart.
  Value result = c.buffer;
  if (!hasUnitStride(mRun, c.type()) && !hasUnitStride(nRun, c.type()) && sizeOf(mRun, c.type()) * sizeOf(nRun, c.type()) > 1) {
    result = allocate(packed(c.type(), {batch, mRun, nRun}), loc);
    if (accumulate)
      rt::CopyOp::create(builder, loc, c.buffer, result);
  }
  MLIRContext *context = op.getContext();
  rt::GemmOp::create(builder, loc, a.buffer, b.buffer, result, array(context, batch), array(context, mRun), array(context, nRun), array(context, k), accumulate);
  if (result != c.buffer)
    rt::CopyOp::create(builder, loc, result, c.buffer);
  return success();
}
