//===- StepCalls.cpp - a step's calls of the runtime ------------------------------------------===//
#include "meshc/Target/ScalarOps.h"
#include "meshc/Target/StepPrinter.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

/// `{.m = 4, .n = 8}`, fields that have their default left out.
static std::string record(llvm::ArrayRef<std::pair<StringRef, std::string>> fields, llvm::ArrayRef<StringRef> defaults = {}) {
  std::string result = "{";
  for (auto [i, field] : llvm::enumerate(fields)) {
    if (i < defaults.size() && field.second == defaults[i])
      continue;
    result += (result.size() > 1 ? ", ." : ".") + field.first.str() + " = " + field.second;
  }
  return result + "}";
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Neighbouring batch loops that run through every operand as one, merged.
static llvm::SmallVector<rt::GemmShape::Batch> mergeBatches(llvm::ArrayRef<rt::GemmShape::Batch> batches) {
  llvm::SmallVector<rt::GemmShape::Batch> result;
  for (const rt::GemmShape::Batch &batch : batches) {
    if (batch.size == 1)
      continue;
    if (!result.empty()) {
      rt::GemmShape::Batch &outer = result.back();
      if (outer.a == batch.a * batch.size && outer.b == batch.b * batch.size && outer.c == batch.c * batch.size) {
        outer = {outer.size * batch.size, batch.a, batch.b, batch.c};
        continue;
      }
    }
    result.push_back(batch);
  }
  return result;
}

void StepPrinter::gemm(rt::GemmOp op) {
  rt::GemmShape shape = op.shape();
  rt::BufferType a = rt::bufferType(op.getA()), b = rt::bufferType(op.getB()), c = rt::bufferType(op.getC());
  llvm::SmallVector<rt::GemmShape::Batch> batches = mergeBatches(shape.batches);

  remark(op, nameOrText(op.getC()) + shapeText(c) + (op.getAccumulate() ? " += " : " = ") + "dot(" + nameOrText(op.getA()) + ", " +
                 nameOrText(op.getB()) + ")");
  // The call loops over two batch indices; further ones are loops here.
  Expr pointerA = text(op.getA()), pointerB = text(op.getB()), pointerC = text(op.getC());
  unsigned loops = 0;
  Names inner(scope);
  for (; batches.size() - loops > 2; ++loops) {
    const rt::GemmShape::Batch &batch = batches[loops];
    std::string index = inner.add("i");
    p.open("for (int64_t " + index + " = 0; " + index + " < " + Twine(batch.size) + "; ++" + index + ")");
    pointerA = pointerA + Expr::name(index) * batch.a;
    pointerB = pointerB + Expr::name(index) * batch.b;
    pointerC = pointerC + Expr::name(index) * batch.c;
  }
  llvm::ArrayRef<rt::GemmShape::Batch> rest = llvm::ArrayRef(batches).drop_front(loops);
  auto batchSize = [&](unsigned i) { return std::to_string(i < rest.size() ? rest[i].size : 1); };
  std::string sizes =
      record({{"m", size(c, op.getM()).str()}, {"n", size(c, op.getN()).str()}, {"k", size(a, op.getK()).str()},
              {"beta", op.getAccumulate() ? "1" : "0"}, {"batch", batchSize(0)}, {"batch2", batchSize(1)}},
             {"", "", "", "0", "1", "1"});
  auto strides = [&](rt::BufferType type, mlir::ArrayAttr rows, mlir::ArrayAttr cols, rt::GemmShape::Matrix matrix,
                     int64_t rt::GemmShape::Batch::*step) {
    std::string result = "{" + stride(type, rows, matrix.row).str() + ", " + stride(type, cols, matrix.col).str();
    for (const rt::GemmShape::Batch &batch : rest)
      result += ", " + std::to_string(batch.*step);
    return result + "}";
  };
  p.call("matmul", {"rank", sizes, pointerA.str(), strides(a, op.getM(), op.getK(), shape.a, &rt::GemmShape::Batch::a),
                    pointerB.str(), strides(b, op.getK(), op.getN(), shape.b, &rt::GemmShape::Batch::b), pointerC.str(),
                    strides(c, op.getM(), op.getN(), shape.c, &rt::GemmShape::Batch::c)});
  for (unsigned i = 0; i < loops; ++i)
    p.close();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

template <typename OpTy>
mlir::LogicalResult StepPrinter::attend(OpTy op, StringRef function, mlir::ValueRange arguments) {
  rt::AttendShape shape = op.shape();
  auto strides = [](const rt::AttendShape::Strides &s) {
    return ("{" + Twine(s.batch) + ", " + Twine(s.head) + ", " + Twine(s.row) + "}").str();
  };
  rt::BufferType q = rt::bufferType(op.getQ()), k = rt::bufferType(op.getK()), v = rt::bufferType(op.getV());
  remark(op, nameOrText(op.getO()) + ": attention of " + nameOrText(op.getQ()) + shapeText(q) + " over " + nameOrText(op.getK()) +
                 shapeText(k) + (function == "attendBackward" ? ", backward" : ""));
  // Masks compare global positions.
  auto first = [&](mlir::ArrayAttr axes, int64_t count) {
    return axes.empty() ? std::string("0") : (Expr::call("rank.shard", {vocabulary.axes(axes)}) * count).str();
  };
  std::string fields = record({{"batch", size(q, op.getBatch()).str()},
                               {"heads", (size(q, op.getHeads()) * size(q, op.getGroups())).str()},
                               {"kvHeads", size(k, op.getHeads()).str()},
                               {"queries", size(q, op.getQuery()).str()},
                               {"keys", size(k, op.getMem()).str()},
                               {"dim", size(q, op.getHead()).str()},
                               {"valueDim", size(v, op.getValue()).str()},
                               {"scale", Expr::floating(shape.scale).str()},
                               {"q", strides(shape.q)},
                               {"k", strides(shape.k)},
                               {"v", strides(shape.v)},
                               {"o", strides(shape.o)},
                               {"lse", strides(shape.lse)},
                               {"firstQuery", first(op.getQueryAxes(), shape.queries)},
                               {"firstKey", first(op.getKeyAxes(), shape.keys)}},
                              {"", "", "", "", "", "", "", "", "", "", "", "", "", "0", "0"});
  std::string maskText = op.getCausal() ? "CausalMask{}" : "NoMask{}";
  if (!op.getMask().empty()) {
    mlir::FailureOr<std::string> printed = mask(op.getMask(), op.getMaskIns());
    if (mlir::failed(printed))
      return mlir::failure();
    maskText = *printed;
  }
  std::string name = scope->add("attend");
  p.line("const Attend " + name + fields + ";");
  llvm::SmallVector<std::string> words = {"rank", name};
  for (mlir::Value argument : arguments)
    words.push_back(text(argument).str());
  words.push_back(maskText);
  p.call(function, words);
  return mlir::success();
}

template mlir::LogicalResult StepPrinter::attend(rt::AttendOp, StringRef, mlir::ValueRange);
template mlir::LogicalResult StepPrinter::attend(rt::AttendGradOp, StringRef, mlir::ValueRange);

//===----------------------------------------------------------------------===//
// Indexing, sorting, scanning
//===----------------------------------------------------------------------===//

mlir::LogicalResult StepPrinter::scatterAdd(rt::ScatterAddOp op) {
  rt::BufferType updates = rt::bufferType(op.getUpdates()), indices = rt::bufferType(op.getIndices()),
                 target = rt::bufferType(op.getTarget());
  // Batch: dims of indices and target; rows: the indices' other dims, in one order in memory; a row: the other dims of the target.
  llvm::SmallVector<mlir::Attribute> batchDims, rowDims, innerDims;
  for (rt::DimAttr dim : indices.getDims()) {
    bool isBatch = target.hasDim(dim.getName()) && dim.getName() != op.getAlongAttr();
    (isBatch ? batchDims : rowDims).push_back(dim.getName());
  }
  for (rt::DimAttr dim : target.getDims())
    if (dim.getName() != op.getAlongAttr() && !indices.hasDim(dim.getName()))
      innerDims.push_back(dim.getName());
  auto array = [&](llvm::ArrayRef<mlir::Attribute> names) { return mlir::ArrayAttr::get(op.getContext(), names); };
  mlir::ArrayAttr batchNames = array(batchDims), rowNames = array(rowDims), innerNames = array(innerDims);
  // All three are packed: [batch, rows, inner], [batch, rows] and [batch, along, inner].
  auto isPacked = [](rt::BufferType type, llvm::ArrayRef<mlir::ArrayAttr> groups) {
    int64_t step = 1;
    for (mlir::ArrayAttr group : llvm::reverse(groups)) {
      std::optional<rt::Index> index = rt::mergedIndex(type, group);
      if (!index || (index->size != 1 && index->stride != step))
        return false;
      step *= index->size;
    }
    return true;
  };
  bool fits = batchDims.size() + rowDims.size() + innerDims.size() == updates.getDims().size() &&
              isPacked(updates, {batchNames, rowNames, innerNames}) && isPacked(indices, {batchNames, rowNames}) &&
              isPacked(target, {batchNames, array({op.getAlongAttr()}), innerNames});
  if (!fits)
    return op.emitError() << "scatter into " << target << " of rows from " << updates << " must be of contiguous rows";
  Expr tableRows = vocabulary.size(target.getDims()[target.position(op.getAlongAttr())]);
  Expr first = op.getAxes().empty() ? Expr(0) : Expr::call("rank.shard", {vocabulary.axes(op.getAxes())}) * tableRows;
  call(op, "scatterAddRows",
       {"rank", text(op.getTarget()).str(), text(op.getUpdates()).str(), text(op.getIndices()).str(), size(indices, rowNames).str(),
        size(target, innerNames).str(), first.str(), tableRows.str(), size(target, batchNames).str()},
       nameOrText(op.getTarget()) + "[" + op.getAlong().str() + " = " + nameOrText(op.getIndices()) + "] += " + nameOrText(op.getUpdates()));
  return mlir::success();
}

/// Sizes outside of a dim, along it and inside it, of a row-major buffer.
static std::optional<std::array<int64_t, 3>> around(rt::BufferType type, mlir::StringAttr dim) {
  if (!type.isContiguous())
    return std::nullopt;
  rt::Cut cut = rt::cutAt(type, dim);
  return std::array<int64_t, 3>{cut.outer, type.size(dim), cut.chunk / type.size(dim)};
}

mlir::LogicalResult StepPrinter::topK(rt::TopKOp op) {
  auto input = around(rt::bufferType(op.getInput()), op.getOverAttr());
  auto values = around(rt::bufferType(op.getValues()), op.getIntoAttr());
  auto indices = around(rt::bufferType(op.getIndices()), op.getIntoAttr());
  if (!input || !values || values != indices || (*input)[0] != (*values)[0] || (*input)[2] != (*values)[2])
    return op.emitError() << "top_k needs row-major buffers with '" << op.getOver() << "' and '" << op.getInto() << "' at the same place";
  auto number = [](int64_t value) { return std::to_string(value); };
  call(op, "topK", {"rank", text(op.getInput()).str(), text(op.getValues()).str(), text(op.getIndices()).str(), number((*input)[0]),
                    number((*input)[1]), number((*input)[2]), number((*values)[1])});
  return mlir::success();
}

mlir::LogicalResult StepPrinter::cumSum(rt::CumSumOp op) {
  auto input = around(rt::bufferType(op.getInput()), op.getOverAttr());
  auto output = around(rt::bufferType(op.getOutput()), op.getOverAttr());
  if (!input || input != output)
    return op.emitError() << "cumsum needs two row-major buffers of the same dim order";
  auto number = [](int64_t value) { return std::to_string(value); };
  call(op, "cumulativeSum",
       {"rank", text(op.getInput()).str(), text(op.getOutput()).str(), number((*input)[0]), number((*input)[1]), number((*input)[2]),
        op.getExclusive() ? "/*exclusive=*/true" : "/*exclusive=*/false", op.getReverse() ? "/*reverse=*/true" : "/*reverse=*/false"});
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

mlir::LogicalResult StepPrinter::allReduce(rt::AllReduceOp op) {
  StringRef kind;
  switch (op.getKind()) {
  case mtf::ReductionKind::Sum: kind = "Reduce::Sum"; break;
  case mtf::ReductionKind::Max: kind = "Reduce::Max"; break;
  case mtf::ReductionKind::Min: kind = "Reduce::Min"; break;
  case mtf::ReductionKind::Prod: return op.emitError() << "a product cannot be reduced over mesh axes";
  }
  rt::BufferType type = rt::bufferType(op.getBuffer());
  call(op, "allReduce", {"rank", vocabulary.axes(op.getAxes()).str(), kind.str(), text(op.getBuffer()).str(), vocabulary.count(type).str(),
                         site(op, op.getWhat())});
  return mlir::success();
}

void StepPrinter::allGather(rt::AllGatherOp op) {
  rt::Cut cut = rt::cutAt(rt::bufferType(op.getPart()), op.getDimAttr());
  call(op, pending.empty() ? "allGather" : pending + " = allGatherStart", {"rank", vocabulary.axes(op.getAxes()).str(), text(op.getResult()).str(), text(op.getPart()).str(),
                         std::to_string(cut.outer), std::to_string(cut.chunk), site(op, op.getWhat())});
}

void StepPrinter::reduceScatter(rt::ReduceScatterOp op) {
  rt::Cut cut = rt::cutAt(rt::bufferType(op.getPart()), op.getDimAttr());
  call(op, "reduceScatter", {"rank", vocabulary.axes(op.getAxes()).str(), text(op.getPart()).str(), text(op.getInput()).str(),
                             std::to_string(cut.outer), std::to_string(cut.chunk), site(op, op.getWhat())});
}

void StepPrinter::allToAll(rt::AllToAllOp op) {
  rt::BufferType input = rt::bufferType(op.getInput()), result = rt::bufferType(op.getResult());
  int split = input.position(op.getSplitAttr()), concat = input.position(op.getConcatAttr());
  auto between = [&](int from, int to) {
    int64_t product = 1;
    for (int i = from; i < to; ++i)
      product *= input.getDims()[i].getSize();
    return std::to_string(product);
  };
  int low = std::min(split, concat), high = std::max(split, concat);
  std::string shape = record({{"outer", between(0, low)},
                              {"split", std::to_string(result.size(op.getSplitAttr()))},
                              {"mid", between(low + 1, high)},
                              {"concat", std::to_string(input.size(op.getConcatAttr()))},
                              {"inner", between(high + 1, input.getDims().size())},
                              {"splitFirst", split < concat ? "true" : "false"}});
  call(op, "allToAll", {"rank", vocabulary.axes(op.getAxes()).str(), shape, text(op.getResult()).str(), text(op.getInput()).str(),
                        site(op, op.getWhat())});
}

void StepPrinter::exchange(rt::ExchangeOp op) {
  std::string sources = llvm::join(llvm::map_range(op.getSources(), [](int64_t source) { return std::to_string(source); }), ", ");
  call(op, "exchange", {"rank", vocabulary.axes(op.getAxes()).str(), "{" + sources + "}", text(op.getResult()).str(), text(op.getInput()).str(),
                        vocabulary.count(rt::bufferType(op.getInput())).str(), site(op, op.getWhat())});
}
