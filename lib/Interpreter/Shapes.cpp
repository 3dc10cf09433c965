//===- Shapes.cpp - dims renamed, split, merged, cut and joined ------------===//
//
// Along the dim that such an op cuts or joins, its indices are those of the whole value, which one rank holds (the dim is
// never split there). Elements past the value's size are poison.
//
//===----------------------------------------------------------------------===//
#include "Evaluator.h"

using namespace mlir;
using namespace meshc::interp;
namespace mtf = meshc::mtf;

static void evaluateRename(mtf::RenameOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make();
  SmallVector<StringAttr> from = nameList(op.getFrom()), to = nameList(op.getTo());
  Strides target;
  for (const Dim &dim : input.dims()) {
    auto it = llvm::find(from, dim.name);
    target.push_back(result.stride(it == from.end() ? dim.name : to[it - from.begin()]));
  }
  forEach<2>(input.dims(), std::array<Strides, 2>{target, input.strides(input.dims())},
             [&](auto o) { result[o[0]] = input[o[1]]; });
}

/// Copies between the one dim of `coarse` and the several of `fine`; `body(fine offset, coarse offset)`. Inner parts are in one piece
/// and count by their sizes; what is padding in them, or reaches past the coarse dim, is nowhere in it.
static void forEachPart(const Tensor &coarse, StringAttr dim, const Tensor &fine, mtf::NamedTensorType fineType, ArrayAttr parts,
                        llvm::function_ref<void(int64_t, int64_t)> body) {
  llvm::SmallDenseMap<StringAttr, int64_t> places;
  int64_t place = 1;
  SmallVector<StringAttr> partNames = nameList(parts);
  for (StringAttr part : llvm::reverse(partNames)) {
    places[part] = place;
    place *= fineType.dimSize(part);
  }
  Dims loops(fine.dims());
  Strides along, coarseStrides;
  for (Dim &loop : loops) {
    auto it = places.find(loop.name);
    bool isPart = it != places.end();
    if (isPart && loop.name != parts[0])
      loop.size = fineType.dimSize(loop.name);
    along.push_back(isPart ? it->second : 0);
    coarseStrides.push_back(isPart ? it->second * coarse.stride(dim) : coarse.stride(loop.name));
  }
  int64_t size = coarse.size(dim);
  forEach<3>(loops, std::array<Strides, 3>{fine.strides(loops), coarseStrides, along}, [&](auto o) {
    if (o[2] < size)
      body(o[0], o[1]);
  });
}

/// For each pair of lines of `result` and `input` along `dim` (same other dims), `body(result base, input base)`.
template <typename Body>
static void forEachLine(const Tensor &result, const Tensor &input, StringAttr dim, Body body) {
  forEach<2>(without(result.dims(), {dim}), {&result, &input}, [&](auto o) { body(o[0], o[1]); });
}

static void evaluateSlice(mtf::SliceOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make(0, kPoison);
  StringAttr dim = op.getDimAttr();
  int64_t to = result.stride(dim), from = input.stride(dim), count = at.resultType().dimSize(dim);
  int64_t start = op.getStart(), stride = op.getStride();
  forEachLine(result, input, dim, [&](int64_t target, int64_t source) {
    for (int64_t i = 0; i < count; ++i)
      result[target + i * to] = input[source + (start + i * stride) * from];
  });
}

static void evaluatePad(mtf::PadOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make(0, at.operand(1)[0]);
  StringAttr dim = op.getDimAttr();
  int64_t to = result.stride(dim), from = input.stride(dim);
  int64_t size = at.operandType(0).dimSize(dim), total = at.resultType().dimSize(dim);
  int64_t low = op.getLow(), step = static_cast<int64_t>(op.getInterior()) + 1;
  forEachLine(result, input, dim, [&](int64_t target, int64_t source) {
    for (int64_t i = 0; i < size; ++i)
      // Negative `low` or `high` cut elements off.
      if (int64_t place = low + i * step; place >= 0 && place < total)
        result[target + place * to] = input[source + i * from];
  });
}

static void evaluateConcat(mtf::ConcatOp op, RankOp &at) {
  Tensor &result = at.make(0, kPoison);
  StringAttr dim = op.getDimAttr();
  int64_t to = result.stride(dim), place = 0;
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    const Tensor &input = at.operand(i);
    int64_t from = input.stride(dim), size = at.operandType(i).dimSize(dim);
    forEachLine(result, input, dim, [&](int64_t target, int64_t source) {
      for (int64_t j = 0; j < size; ++j)
        result[target + (place + j) * to] = input[source + j * from];
    });
    place += size;
  }
}

static void evaluateStack(mtf::StackOp op, RankOp &at) {
  Tensor &result = at.make(0, kPoison);
  int64_t to = result.stride(op.getDimAttr());
  for (int64_t i = 0, e = op.getInputs().size(); i < e; ++i)
    forEachLine(result, at.operand(i), op.getDimAttr(),
                [&](int64_t target, int64_t source) { result[target + i * to] = at.operand(i)[source]; });
}

static void evaluateShift(mtf::ShiftOp op, RankOp &at) {
  const Tensor &input = at.operand(0);
  Tensor &result = at.make(0, kPoison);
  StringAttr dim = op.getDimAttr();
  int64_t stride = input.stride(dim), size = at.operandType(0).dimSize(dim), amount = op.getAmount();
  forEachLine(result, input, dim, [&](int64_t target, int64_t source) {
    for (int64_t i = 0; i < size; ++i) {
      bool inside = i - amount >= 0 && i - amount < size;
      result[target + i * stride] = inside ? input[source + (i - amount) * stride] : 0;
    }
  });
}

/// The pairs (element of the whole, element of a window) of window and fold: `body(whole offset, windows offset)`.
template <typename OpTy>
static void forEachWindow(OpTy op, const Tensor &whole, int64_t size, const Tensor &windows, int64_t count,
                          llvm::function_ref<void(int64_t, int64_t)> body) {
  StringAttr dim = op.getDimAttr(), window = op.getWindowAttr();
  int64_t stride = op.getStride(), dilation = op.getDilation(), low = op.getLow();
  forEach<2>(without(windows.dims(), {dim, window}), {&whole, &windows}, [&](auto o) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < windows.size(window); ++j)
        if (int64_t place = i * stride + j * dilation - low; place >= 0 && place < size)
          body(o[0] + place * whole.stride(dim), o[1] + i * windows.stride(dim) + j * windows.stride(window));
  });
}

void meshc::interp::addShapes(EvaluatorTable &table) {
  table.add<mtf::RenameOp>(evaluateRename);
  table.add<mtf::SplitOp>([](mtf::SplitOp op, RankOp &at) {
    const Tensor &input = at.operand(0);
    Tensor &result = at.make(0, kPoison);
    forEachPart(input, op.getDimAttr(), result, at.resultType(), op.getInto(), [&](int64_t fine, int64_t coarse) { result[fine] = input[coarse]; });
  });
  table.add<mtf::MergeOp>([](mtf::MergeOp op, RankOp &at) {
    const Tensor &input = at.operand(0);
    Tensor &result = at.make(0, kPoison);
    forEachPart(result, op.getIntoAttr(), input, at.operandType(0), op.getDims(), [&](int64_t fine, int64_t coarse) { result[coarse] = input[fine]; });
  });
  table.add<mtf::SliceOp>(evaluateSlice);
  table.add<mtf::PadOp>(evaluatePad);
  table.add<mtf::ConcatOp>(evaluateConcat);
  table.add<mtf::StackOp>(evaluateStack);
  table.add<mtf::ShiftOp>(evaluateShift);
  table.add<mtf::WindowOp>([](mtf::WindowOp op, RankOp &at) {
    const Tensor &input = at.operand(0);
    Tensor &result = at.make();
    forEachWindow(op, input, at.operandType(0).dimSize(op.getDimAttr()), result, at.resultType().dimSize(op.getDimAttr()),
                  [&](int64_t whole, int64_t windows) { result[windows] = input[whole]; });
  });
  table.add<mtf::FoldOp>([](mtf::FoldOp op, RankOp &at) {
    const Tensor &input = at.operand(0);
    Tensor &result = at.make();
    forEachWindow(op, result, at.resultType().dimSize(op.getDimAttr()), input, at.operandType(0).dimSize(op.getDimAttr()),
                  [&](int64_t whole, int64_t windows) { result[whole] += input[windows]; });
  });
}
