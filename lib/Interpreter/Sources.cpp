//===- Sources.cpp - values from nothing -----------------------------------===//
#include "Evaluator.h"
#include "Philox.h"

using namespace mlir;
using namespace meshc::interp;
namespace mtf = meshc::mtf;

static void evaluateIndex(mtf::IndexOp op, RankOp &at) {
  Tensor &result = at.make();
  int64_t first = at.firstIndex(at.resultType().getDims().front());
  if (op.getOffset())
    first += static_cast<int64_t>(at.operand(0)[0]);
  for (int64_t i = 0; i < result.numElements(); ++i)
    result[i] = static_cast<double>(first + i);
}

static uint32_t word(const Tensor &scalar) { return static_cast<uint32_t>(static_cast<int64_t>(scalar[0])); }

static double draw(mtf::RandomOp op, const std::array<uint32_t, 4> &words) {
  switch (op.getDistribution()) {
  case mtf::Distribution::Uniform:   return uniformOf(words[0]);
  case mtf::Distribution::Normal:    return normalOf(words);
  case mtf::Distribution::Bernoulli: return keepOf(words[0], op.getParameter().convertToDouble());
  }
  llvm_unreachable("unknown distribution");
}

static void evaluateRandom(mtf::RandomOp op, RankOp &at) {
  // Operands: seed, step, enclosing loops' indices, offsets.
  unsigned numIndices = op.getIndices().size();
  uint32_t repeats = 0;
  for (unsigned i = 0; i < numIndices; ++i)
    repeats = mixRepeat(repeats, word(at.operand(2 + i)));
  std::array<uint32_t, 2> key = {word(at.operand(0)), hashPath(op.getPath())};
  uint32_t step = word(at.operand(1));

  // The element's linear index is the sum over dims of (first + i) * weight, weights from the global sizes in `order`.
  llvm::SmallDenseMap<StringAttr, int64_t> weights;
  int64_t weight = 1, first = 0;
  SmallVector<StringAttr> order = nameList(op.getOrder());
  for (auto [name, extent] : llvm::reverse(llvm::zip_equal(order, op.getExtents()))) {
    weights[name] = weight;
    weight *= extent;
  }
  for (mtf::DimAttr dim : at.resultType().getDims())
    first += at.firstIndex(dim) * weights.lookup(dim.getName());
  for (auto [i, name] : llvm::enumerate(op.getOffsetDims().getAsRange<StringAttr>()))
    first += static_cast<int64_t>(at.operand(2 + numIndices + i)[0]) * weights.lookup(name);

  Tensor &result = at.make();
  Strides linear;
  for (const Dim &dim : result.dims())
    linear.push_back(weights.lookup(dim.name));
  forEach<2>(result.dims(), std::array<Strides, 2>{result.strides(result.dims()), linear}, [&](auto o) {
    uint64_t index = first + o[1];
    result[o[0]] = draw(op, philox(key, {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), step, repeats}));
  });
}

void meshc::interp::addSources(EvaluatorTable &table) {
  table.add<mtf::ConstantOp>([](mtf::ConstantOp op, RankOp &at) { at.make()[0] = op.asDouble(); });
  table.add<mtf::IndexOp>(evaluateIndex);
  table.add<mtf::RandomOp>(evaluateRandom);
}
