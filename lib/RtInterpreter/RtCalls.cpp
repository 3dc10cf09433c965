//===- RtCalls.cpp - executes library calls on buffers ----------------------===//
#include "RtKernels.h"
#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::rt;
using namespace meshc::interp;

void RtInterpreter::runGemm(GemmOp op, Rank &rank) {
  GemmShape s = op.shape();
  Buffer a = bufferOf(rank, op.getA()), b = bufferOf(rank, op.getB()), c = bufferOf(rank, op.getC());
  int64_t batches = 1;
  for (const GemmShape::Batch &batch : s.batches)
    batches *= batch.size;
  for (int64_t linear = 0; linear < batches; ++linear) {
    int64_t rest = linear, atA = 0, atB = 0, atC = 0;
    for (const GemmShape::Batch &batch : llvm::reverse(s.batches)) {
      int64_t i = rest % batch.size;
      rest /= batch.size;
      atA += i * batch.a, atB += i * batch.b, atC += i * batch.c;
    }
    for (int64_t m = 0; m < s.m; ++m)
      for (int64_t n = 0; n < s.n; ++n) {
        int64_t at = atC + m * s.c.row + n * s.c.col;
        double sum = op.getAccumulate() ? c.read(at) : 0;
        for (int64_t k = 0; k < s.k; ++k)
          sum += a.read(atA + m * s.a.row + k * s.a.col) * b.read(atB + k * s.b.row + n * s.b.col);
        c.write(at, sum);
      }
  }
}

template <typename OpTy>
void RtInterpreter::runAttend(OpTy op, int64_t number) {
  Rank &rank = ranks[number];
  AttendShape s = op.shape();
  constexpr bool isGrad = std::is_same_v<OpTy, AttendGradOp>;
  Buffer q = bufferOf(rank, op.getQ()), k = bufferOf(rank, op.getK()), v = bufferOf(rank, op.getV()), o = bufferOf(rank, op.getO()),
         lse = bufferOf(rank, op.getLse());
  KernelRun mask(*this, rank, number);
  if (!op.getMask().empty())
    for (auto [argument, operand] : llvm::zip(op.getMask().front().getArguments().drop_front(4), op.getMaskIns()))
      mask.bind(argument, operand);
  int64_t firstQuery = shardIndex(number, op.getQueryAxes()) * s.queries, firstKey = shardIndex(number, op.getKeyAxes()) * s.keys;
  auto visible = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    i += firstQuery, j += firstKey;
    if (op.getCausal())
      return j <= i;
    return op.getMask().empty() || mask.runMask(op.getMask().front(), {double(i), double(j), double(b), double(h)});
  };
  if constexpr (isGrad)
    for (Value grad : {op.getQGrad(), op.getKGrad(), op.getVGrad()})
      for (int64_t i = 0; i < bufferType(grad).extent(); ++i)
        bufferOf(rank, grad).write(i, 0);
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i) {
        int64_t g = h / (s.heads / s.kvHeads);
        auto at = [](const AttendShape::Strides &strides, int64_t batch, int64_t head, int64_t row) {
          return batch * strides.batch + head * strides.head + row * strides.row;
        };
        int64_t atQ = at(s.q, b, h, i), atO = at(s.o, b, h, i), atLse = at(s.lse, b, h, i);
        std::vector<double> scores(s.keys, -kInfinity);
        double top = -kInfinity;
        for (int64_t j = 0; j < s.keys; ++j) {
          if (!visible(b, h, i, j))
            continue;
          scores[j] = 0;
          for (int64_t d = 0; d < s.dim; ++d)
            scores[j] += s.scale * q.read(atQ + d) * k.read(at(s.k, b, g, j) + d);
          top = std::max(top, scores[j]);
        }
        if constexpr (!isGrad) {
          double sum = 0;
          for (double score : scores)
            sum += score == -kInfinity ? 0 : std::exp(score - top);
          double total = sum == 0 ? -kInfinity : top + std::log(sum);
          lse.write(atLse, total);
          for (int64_t e = 0; e < s.valueDim; ++e) {
            double out = 0;
            for (int64_t j = 0; j < s.keys; ++j)
              if (scores[j] != -kInfinity)
                out += std::exp(scores[j] - total) * v.read(at(s.v, b, g, j) + e);
            o.write(atO + e, out);
          }
        } else {
          Buffer dO = bufferOf(rank, op.getOGrad()), dQ = bufferOf(rank, op.getQGrad()), dK = bufferOf(rank, op.getKGrad()),
                 dV = bufferOf(rank, op.getVGrad());
          auto add = [](const Buffer &buffer, int64_t element, double value) { buffer.write(element, buffer.read(element) + value); };
          double delta = 0;
          for (int64_t e = 0; e < s.valueDim; ++e)
            delta += dO.read(atO + e) * o.read(atO + e);
          for (int64_t j = 0; j < s.keys; ++j) {
            if (scores[j] == -kInfinity)
              continue;
            double p = std::exp(scores[j] - lse.read(atLse)), dP = 0;
            for (int64_t e = 0; e < s.valueDim; ++e) {
              dP += dO.read(atO + e) * v.read(at(s.v, b, g, j) + e);
              add(dV, at(s.v, b, g, j) + e, p * dO.read(atO + e));
            }
            double dS = p * (dP - delta) * s.scale;
            for (int64_t d = 0; d < s.dim; ++d) {
              add(dQ, atQ + d, dS * k.read(at(s.k, b, g, j) + d));
              add(dK, at(s.k, b, g, j) + d, dS * q.read(atQ + d));
            }
          }
        }
      }
}
template void RtInterpreter::runAttend(AttendOp, int64_t);
template void RtInterpreter::runAttend(AttendGradOp, int64_t);

/// The nest over a buffer's dims, with the strides of other buffers (0 where they lack the dim).
template <size_t N>
static std::pair<Dims, std::array<Strides, N>> nest(BufferType over, std::array<BufferType, N> types, StringAttr except = {}) {
  Dims loops;
  std::array<Strides, N> strides;
  for (DimAttr dim : over.getDims()) {
    if (dim.getName() == except)
      continue;
    loops.push_back({dim.getName(), dim.getSize()});
    for (size_t i = 0; i < N; ++i)
      strides[i].push_back(types[i].hasDim(dim.getName()) ? types[i].stride(dim.getName()) : 0);
  }
  return {loops, strides};
}

void RtInterpreter::runScatterAdd(ScatterAddOp op, int64_t number) {
  Rank &rank = ranks[number];
  Buffer updates = bufferOf(rank, op.getUpdates()), indices = bufferOf(rank, op.getIndices()), target = bufferOf(rank, op.getTarget());
  int64_t size = target.type.size(op.getAlongAttr()), stride = target.type.stride(op.getAlongAttr());
  int64_t first = shardIndex(number, op.getAxes()) * size;
  auto [loops, strides] = nest<3>(updates.type, {updates.type, indices.type, target.type});
  // A dim called `along` of the updates is summed, not the target's.
  for (auto [loop, s] : llvm::zip(loops, strides[2]))
    if (loop.name == op.getAlongAttr())
      s = 0;
  forEach<3>(loops, strides, [&](auto at) {
    int64_t index = static_cast<int64_t>(indices.read(at[1])) - first;
    if (index >= 0 && index < size)
      target.write(at[2] + index * stride, target.read(at[2] + index * stride) + updates.read(at[0]));
  });
}

void RtInterpreter::runTopK(TopKOp op, Rank &rank) {
  Buffer input = bufferOf(rank, op.getInput()), values = bufferOf(rank, op.getValues()), indices = bufferOf(rank, op.getIndices());
  // A padded `into` may be longer than `over`.
  int64_t size = input.type.size(op.getOverAttr()), k = std::min(size, values.type.size(op.getIntoAttr()));
  auto [loops, strides] = nest<3>(input.type, {input.type, values.type, indices.type}, op.getOverAttr());
  forEach<3>(loops, strides, [&](auto at) {
    std::vector<int64_t> order(size);
    for (int64_t i = 0; i < size; ++i)
      order[i] = i;
    auto element = [&](int64_t i) { return input.read(at[0] + i * input.type.stride(op.getOverAttr())); };
    llvm::stable_sort(order, [&](int64_t a, int64_t b) { return element(a) > element(b); });
    for (int64_t i = 0; i < k; ++i) {
      values.write(at[1] + i * values.type.stride(op.getIntoAttr()), element(order[i]));
      indices.write(at[2] + i * indices.type.stride(op.getIntoAttr()), order[i]);
    }
  });
}

void RtInterpreter::runCumSum(CumSumOp op, Rank &rank) {
  Buffer input = bufferOf(rank, op.getInput()), output = bufferOf(rank, op.getOutput());
  int64_t size = input.type.size(op.getOverAttr());
  auto [loops, strides] = nest<2>(input.type, {input.type, output.type}, op.getOverAttr());
  forEach<2>(loops, strides, [&](auto at) {
    double sum = 0;
    for (int64_t n = 0; n < size; ++n) {
      int64_t i = op.getReverse() ? size - 1 - n : n;
      double element = input.read(at[0] + i * input.type.stride(op.getOverAttr()));
      output.write(at[1] + i * output.type.stride(op.getOverAttr()), op.getExclusive() ? sum : sum + element);
      sum += element;
    }
  });
}
