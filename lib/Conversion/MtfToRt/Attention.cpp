//===- Attention.cpp - mtf.attend and its gradient on buffers ------------------===//
#include "Lowering.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

static ArrayAttr array(Builder &builder, ArrayRef<StringAttr> names) {
  return builder.getArrayAttr(SmallVector<Attribute>(names.begin(), names.end()));
}

/// The dim d if `value` is `mtf.index d` without offset.
static StringAttr plainIndex(Value value) {
  auto index = value.getDefiningOp<IndexOp>();
  return index && !index.getOffset() ? index.getDimAttr() : StringAttr();
}

/// Whether `mask` is index(mem) <= index(query).
static bool isCausal(Value mask, const AttendDims &dims) {
  auto compare = mask ? mask.getDefiningOp<CompareOp>() : CompareOp();
  if (!compare || dims.query.size() != 1)
    return false;
  StringAttr lhs = plainIndex(compare.getLhs()), rhs = plainIndex(compare.getRhs());
  return (compare.getPredicate() == Predicate::Le && lhs == dims.mem[0] && rhs == dims.query[0]) ||
         (compare.getPredicate() == Predicate::Ge && rhs == dims.mem[0] && lhs == dims.query[0]);
}

template <typename OpTy>
AttendDims Lowering::attendDims(OpTy op) const {
  NamedTensorType q = op.getQ().getType(), k = op.getK().getType(), v = op.getV().getType();
  AttendDims dims;
  dims.head = llvm::to_vector(op.getHead().template getAsRange<StringAttr>());
  dims.mem = {op.getMemAttr()};
  SmallVector<StringAttr> shared, own;
  for (DimAttr dim : orders.order(op.getQ())) {
    dims.sizes[dim.getName()] = localSize(dim);
    if (!llvm::is_contained(dims.head, dim.getName()))
      (k.hasDim(dim.getName()) ? shared : own).push_back(dim.getName());
  }
  for (DimAttr dim : orders.order(op.getV()))
    if (!llvm::is_contained(shared, dim.getName()) && dim.getName() != op.getMemAttr())
      dims.value.push_back(dim.getName());
  // The query position: what the mask speaks of, else the largest.
  StringAttr query;
  for (StringAttr name : own) {
    auto key = [&](StringAttr n) { return std::pair(op.getMask() && tensorType(op.getMask()).hasDim(n), q.dimSize(n)); };
    if (!query || key(name) > key(query))
      query = name;
  }
  for (StringAttr name : own)
    if (name == query)
      dims.query = {name};
    else
      dims.groups.push_back(name);
  // The innermost shared dim is the heads, the others are batches.
  if (!shared.empty()) {
    dims.heads = {shared.back()};
    dims.batch.assign(shared.begin(), shared.end() - 1);
  }
  return dims;
}

namespace {
/// Row-major types in the one order that rt.attend always takes.
struct Layouts {
  const AttendDims &dims;
  rt::BufferType of(rt::BufferType like, ArrayRef<ArrayRef<StringAttr>> groups) const {
    SmallVector<rt::DimAttr> order;
    for (ArrayRef<StringAttr> names : groups)
      for (StringAttr name : names)
        order.push_back(rt::DimAttr::get(name, like.size(name)));
    return rt::BufferType::get(order, like.getElementType());
  }
  rt::BufferType query(rt::BufferType like, ArrayRef<StringAttr> last) const {
    return of(like, {dims.batch, dims.query, dims.heads, dims.groups, last});
  }
  rt::BufferType key(rt::BufferType like, ArrayRef<StringAttr> last) const { return of(like, {dims.batch, dims.mem, dims.heads, last}); }

  /// Whether a buffer serves as it is: lists merge and what comes last is contiguous.
  bool fits(rt::BufferType type, ArrayRef<StringAttr> row, ArrayRef<StringAttr> groups, ArrayRef<StringAttr> last) const {
    SmallVector<Attribute> heads(dims.heads.begin(), dims.heads.end());
    heads.append(groups.begin(), groups.end());
    MLIRContext *context = type.getContext();
    auto merges = [&](ArrayRef<Attribute> names) { return rt::mergedIndex(type, ArrayAttr::get(context, names)); };
    auto attrs = [](ArrayRef<StringAttr> names) { return SmallVector<Attribute>(names.begin(), names.end()); };
    auto inner = merges(attrs(last));
    return merges(heads) && merges(attrs(dims.batch)) && merges(attrs(row)) && inner && (inner->size == 1 || inner->stride == 1);
  }
};
} // namespace

void Lowering::lowerAttend(AttendOp op) {
  AttendDims dims = attendDims(op);
  Layouts layouts{dims};
  Location loc = op.getLoc();
  auto queryLike = [&](Value buffer, ArrayRef<StringAttr> last) {
    rt::BufferType type = rt::bufferType(buffer);
    return layouts.fits(type, dims.query, dims.groups, last) ? buffer : inOrder(buffer, layouts.query(type, last), loc);
  };
  auto keyLike = [&](Value buffer, ArrayRef<StringAttr> last) {
    rt::BufferType type = rt::bufferType(buffer);
    return layouts.fits(type, dims.mem, {}, last) ? buffer : inOrder(buffer, layouts.key(type, last), loc);
  };
  Value q = queryLike(bufferOf(op.getQ()), dims.head), k = keyLike(bufferOf(op.getK()), dims.head), v = keyLike(bufferOf(op.getV()), dims.value);
  Value o = define(op.getOutput()), lse = define(op.getLse());
  Value rawO = layouts.fits(rt::bufferType(o), dims.query, dims.groups, dims.value) ? o : allocate(layouts.query(rt::bufferType(o), dims.value), loc);
  Value rawLse = layouts.fits(rt::bufferType(lse), dims.query, dims.groups, {}) ? lse : allocate(layouts.query(rt::bufferType(lse), {}), loc);

  Region mask;
  bool causal = isCausal(op.getMask(), dims);
  SmallVector<Value> maskIns;
  if (op.getMask() && !causal)
    maskIns = buildMask(op.getMask(), mask, dims);
  auto axesOf = [&](NamedTensorType type, ArrayRef<StringAttr> names) {
    return names.empty() ? builder.getArrayAttr({}) : array(builder, type.findDim(names[0]).getAxes());
  };
  auto call = rt::AttendOp::create(builder, loc, q, k, v, rawO, rawLse, maskIns, array(builder, dims.batch), array(builder, dims.heads),
                                   array(builder, dims.groups), array(builder, dims.query), array(builder, dims.mem), array(builder, dims.head),
                                   array(builder, dims.value), op.getScaleAttr(), causal ? builder.getUnitAttr() : UnitAttr(), axesOf(op.getQ().getType(), dims.query),
                                   axesOf(op.getK().getType(), dims.mem));
  call.getMask().takeBody(mask);
  if (rawO != o)
    rt::CopyOp::create(builder, loc, rawO, o);
  if (rawLse != lse)
    rt::CopyOp::create(builder, loc, rawLse, lse);
}

void Lowering::lowerAttendGrad(AttendGradOp op) {
  AttendDims dims = attendDims(op);
  Layouts layouts{dims};
  Location loc = op.getLoc();
  auto queryLike = [&](Value buffer, ArrayRef<StringAttr> last) {
    rt::BufferType type = rt::bufferType(buffer);
    return layouts.fits(type, dims.query, dims.groups, last) ? buffer : inOrder(buffer, layouts.query(type, last), loc);
  };
  auto keyLike = [&](Value buffer, ArrayRef<StringAttr> last) {
    rt::BufferType type = rt::bufferType(buffer);
    return layouts.fits(type, dims.mem, {}, last) ? buffer : inOrder(buffer, layouts.key(type, last), loc);
  };
  Value q = queryLike(bufferOf(op.getQ()), dims.head), k = keyLike(bufferOf(op.getK()), dims.head), v = keyLike(bufferOf(op.getV()), dims.value);
  Value o = queryLike(bufferOf(op.getOutput()), dims.value), lse = queryLike(bufferOf(op.getLse()), {});
  // The gradients lie as what they are the gradients of.
  Value oGrad = bufferOf(op.getOutputGrad());
  if (rt::bufferType(oGrad) != rt::bufferType(o))
    oGrad = inOrder(oGrad, rt::bufferType(o), loc);
  SmallVector<Value> targets, raws;
  for (auto [result, like] : {std::pair(op.getQGrad(), q), std::pair(op.getKGrad(), k), std::pair(op.getVGrad(), v)}) {
    Value target = define(result);
    // A buffer of one element type and dim order, but row-major: views of larger buffers have other strides.
    rt::BufferType likeType = rt::bufferType(like);
    auto packed = rt::BufferType::get(likeType.getDims(), rt::bufferType(target).getElementType());
    targets.push_back(target);
    raws.push_back(rt::bufferType(target) == packed ? target : allocate(packed, loc));
  }
  // "Laid out as": operands that are not row-major themselves are packed first.
  auto contiguous = [&](Value buffer) {
    rt::BufferType type = rt::bufferType(buffer);
    return type.isContiguous() ? buffer : inOrder(buffer, rt::BufferType::get(type.getDims(), type.getElementType()), loc);
  };
  q = contiguous(q), k = contiguous(k), v = contiguous(v), o = contiguous(o), oGrad = contiguous(oGrad);

  Region mask;
  bool causal = isCausal(op.getMask(), dims);
  SmallVector<Value> maskIns;
  if (op.getMask() && !causal)
    maskIns = buildMask(op.getMask(), mask, dims);
  auto axesOf = [&](NamedTensorType type, ArrayRef<StringAttr> names) {
    return names.empty() ? builder.getArrayAttr({}) : array(builder, type.findDim(names[0]).getAxes());
  };
  auto call = rt::AttendGradOp::create(builder, loc, q, k, v, o, lse, oGrad, raws[0], raws[1], raws[2], maskIns, array(builder, dims.batch),
                                       array(builder, dims.heads), array(builder, dims.groups), array(builder, dims.query), array(builder, dims.mem),
                                       array(builder, dims.head), array(builder, dims.value), op.getScaleAttr(), causal ? builder.getUnitAttr() : UnitAttr(),
                                       axesOf(op.getQ().getType(), dims.query), axesOf(op.getK().getType(), dims.mem));
  call.getMask().takeBody(mask);
  for (auto [raw, target] : llvm::zip(raws, targets))
    if (raw != target)
      rt::CopyOp::create(builder, loc, raw, target);
}
