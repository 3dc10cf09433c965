//===- Kernels.cpp - row loops, stores and masks --------------------------===//
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

//===----------------------------------------------------------------------===//
// Row loops
//===----------------------------------------------------------------------===//

/// How many row loops must be over before `value` can be computed; collects the reductions on the way.
unsigned KernelBuilder::levelOf(Value value) {
  auto [it, isNew] = levels.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  bool mine = op && members.contains(op);
  if (!op || lowering.loopIndices.contains(value) || (!mine && lowering.bufferOf(value)))
    return 0;
  unsigned level = 0;
  for (Value operand : op->getOperands())
    level = std::max(level, levelOf(operand));
  if (reducedDims(op)) {
    reductions[op] = level;
    ++level;
  }
  return levels[value] = level;
}

Value KernelBuilder::reductionInput(Operation *op) {
  auto fold = dyn_cast<FoldOp>(op);
  if (!fold)
    return pull(op->getOperand(0));
  // Element p gets input[i, j] where i * stride + j * dilation - low = p.
  Type i32 = at().getI32Type();
  loc = op->getLoc();
  Value p = rt::IndexOp::create(at(), loc, i32, fold.getDimAttr()), j = rt::IndexOp::create(at(), loc, i32, fold.getWindowAttr());
  Value offset = arith::MulIOp::create(at(), loc, j, constant(fold.getDilation(), i32));
  Value scaled = arith::SubIOp::create(at(), loc, arith::AddIOp::create(at(), loc, p, constant(fold.getLow(), i32)), offset);
  Value stride = constant(fold.getStride(), i32), zero = constant(0, i32);
  Value inside = arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::sge, scaled, zero);
  Value rest = arith::RemSIOp::create(at(), loc, scaled, stride);
  inside = arith::AndIOp::create(at(), loc, inside, arith::CmpIOp::create(at(), loc, arith::CmpIPredicate::eq, rest, zero));
  View view = identity(fold.getInput());
  view[fold.getDimAttr()] = {StringAttr(), arith::DivSIOp::create(at(), loc, scaled, stride), Value()};
  Value element = load(inArg(lowering.bufferOf(fold.getInput())), view, /*checked=*/true);
  return arith::SelectOp::create(at(), loc, inside, element, constant(0, element.getType()));
}

void KernelBuilder::store(Value root) {
  Value value = pull(root);
  loc = root.getLoc();
  if (tensorType(root).getElementType().isBF16())
    value = arith::TruncFOp::create(at(), loc, at().getBF16Type(), value);
  rt::StoreOp::create(at(), loc, value, outArgs[root]);
  storedHere.insert(root);
}

/// One pass over the row: the reductions and stores of this level.
void KernelBuilder::emitRow(unsigned level) {
  SmallVector<Operation *> reduced;
  for (auto [op, inputLevel] : reductions)
    if (inputLevel == level)
      reduced.push_back(op);
  SmallVector<Value> roots;
  for (auto [root, argument] : outArgs)
    if (!isOuter(root) && levelOf(root) == level)
      roots.push_back(root);
  if (reduced.empty() && roots.empty())
    return;

  auto region = std::make_unique<Region>();
  Block &block = region->emplaceBlock();
  // Outer values are emitted before the loop, so the loop op is inserted once its body is complete.
  inRow.emplace(builderAt(&block));
  rowValues.clear();
  SmallVector<Attribute> kinds;
  SmallVector<Value> values;
  for (Operation *op : reduced) {
    ReductionKind kind = isa<ReduceOp>(op) ? cast<ReduceOp>(op).getKind() : ReductionKind::Sum;
    values.push_back(reductionInput(op));
    kinds.push_back(ReductionKindAttr::get(op->getContext(), kind));
  }
  for (Value root : roots)
    store(root);
  loc = reduced.empty() ? roots.front().getLoc() : reduced.front()->getLoc();
  rt::YieldOp::create(*inRow, loc, inRow->getArrayAttr(kinds), values);
  inRow.reset();
  auto row = rt::RowOp::create(outer, loc, ValueRange(values).getTypes());
  row.getBody().takeBody(*region);
  for (auto [op, result] : llvm::zip(reduced, row.getResults())) {
    result.setLoc(op->getLoc());
    outerValues[op->getResult(0)] = result;
  }
  rowValues.clear();
}

LogicalResult KernelBuilder::build(const Unit &kernel) {
  unit = &kernel;
  rowDims = kernel.row;
  members.insert(kernel.ops.begin(), kernel.ops.end());
  unsigned last = 0;
  for (Operation *op : kernel.ops) {
    Value root = op->getResult(0);
    if (!lowering.fusion.isStored(root))
      continue;
    Value buffer = lowering.allocate(lowering.orders.bufferType(root), root.getLoc());
    outArgs[root] = body->addArgument(buffer.getType(), root.getLoc());
    lowering.buffers[root] = buffer;
    last = std::max(last, levelOf(root));
  }
  // Outer values as early as possible: what they read of the row may be overwritten later.
  for (unsigned level = 0; level <= last; ++level) {
    for (auto [root, argument] : outArgs)
      if (isOuter(root) && levelOf(root) == level)
        store(root);
    if (kernel.row.any())
      emitRow(level);
  }
  return success();
}

LogicalResult Lowering::lowerKernel(const Unit &unit) {
  // Loops follow the memory order of the largest value stored, or else reduced.
  Value leader;
  for (Operation *op : unit.ops) {
    Value candidate = reducedDims(op) && isa<ReduceOp>(op) ? op->getOperand(0) : op->getResult(0);
    if (fusion.setOf(candidate) == unit.dims && (!leader || (fusion.isStored(candidate) && !fusion.isStored(leader))))
      leader = candidate;
  }
  llvm::SmallDenseMap<StringAttr, int64_t> sizes;
  SmallVector<StringAttr> order;
  auto add = [&](Value value) {
    for (DimAttr dim : orders.order(value))
      if (sizes.try_emplace(dim.getName(), localSize(dim)).second)
        order.push_back(dim.getName());
  };
  if (leader)
    add(leader);
  for (Operation *op : unit.ops) {
    add(op->getResult(0));
    for (Value operand : op->getOperands())
      if (DimSet set = fusion.setOf(operand); (set & unit.dims) == set)
        add(operand);
  }
  SmallVector<Attribute> outerDims, rowDims;
  DimSet row = unit.row;
  auto isRow = [&](StringAttr name) { return llvm::is_contained(fusion.names(row), name); };
  for (StringAttr name : order)
    (isRow(name) ? rowDims : outerDims).push_back(rt::DimAttr::get(name, sizes[name]));

  auto region = std::make_unique<Region>();
  Block &body = region->emplaceBlock();
  KernelBuilder kernel(*this, &body);
  if (failed(kernel.build(unit)))
    return failure();
  SmallVector<Value> outs;
  Location loc = unit.ops.back()->getLoc();
  for (Operation *op : unit.ops)
    if (fusion.isStored(op->getResult(0))) {
      outs.push_back(bufferOf(op->getResult(0)));
      loc = op->getLoc();
    }
  bool columns = unit.reductionOnly && !outerDims.empty();
  auto op = rt::KernelOp::create(builder, loc, builder.getArrayAttr(outerDims), builder.getArrayAttr(rowDims), columns, kernel.ins, outs);
  op.getBody().takeBody(*region);
  return success();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void KernelBuilder::buildMask(Value mask, const AttendDims &dims) {
  loc = mask.getLoc();
  View view;
  auto typeOf = [&](StringAttr name) { return tensorType(mask).findDim(name); };
  // The one dim of queries and of keys comes as a global index, the others as parts of a local one.
  auto addGlobal = [&](ArrayRef<StringAttr> names, Value global) {
    if (names.size() != 1 || !typeOf(names[0]))
      return;
    DimAttr dim = typeOf(names[0]);
    Place place{StringAttr(), global, global};
    if (lowering.mesh.shardCount(dim.getAxes()) > 1)
      place.index = arith::SubIOp::create(outer, loc, global, globalIndex({StringAttr(), constant(0, outer.getI32Type()), Value()}, dim));
    view[names[0]] = place;
  };
  auto addLocal = [&](ArrayRef<StringAttr> names, Value linear) {
    for (StringAttr name : llvm::reverse(names)) {
      Value size = constant(dims.sizes.lookup(name), outer.getI32Type());
      if (typeOf(name))
        view[name] = {StringAttr(), arith::RemSIOp::create(outer, loc, linear, size), Value()};
      linear = arith::DivSIOp::create(outer, loc, linear, size);
    }
  };
  addGlobal(dims.query, body->getArgument(0));
  addGlobal(dims.mem, body->getArgument(1));
  addLocal(dims.batch, body->getArgument(2));
  SmallVector<StringAttr> heads(dims.heads);
  heads.append(dims.groups);
  addLocal(heads, body->getArgument(3));
  rt::VisibleOp::create(outer, loc, pull(mask, view));
}

SmallVector<Value> Lowering::buildMask(Value mask, Region &region, const AttendDims &dims) {
  Block &body = region.emplaceBlock();
  for (int i = 0; i < 4; ++i)
    body.addArgument(builder.getI32Type(), mask.getLoc());
  KernelBuilder kernel(*this, &body);
  kernel.buildMask(mask, dims);
  return kernel.ins;
}
