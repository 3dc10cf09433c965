//===- Compare.cpp - where two values differ -------------------------------===//
#include "meshc/Interpreter/Compare.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace meshc::interp;

double meshc::interp::largestMagnitude(const Tensor &tensor) {
  double largest = 0;
  for (double x : tensor.values())
    if (std::isfinite(x))
      largest = std::max(largest, std::abs(x));
  return largest;
}

std::optional<Difference> meshc::interp::firstDifference(const Tensor &expected, const Tensor &actual, double tolerance) {
  if (expected.dims() != actual.dims())
    return Difference{{}, static_cast<double>(expected.numElements()), static_cast<double>(actual.numElements())};
  double bound = tolerance * std::max({largestMagnitude(expected), largestMagnitude(actual), 1e-3});
  for (int64_t i = 0; i < expected.numElements(); ++i) {
    double a = expected[i], b = actual[i];
    bool same = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) <= bound : a == b || (std::isnan(a) && std::isnan(b));
    if (same)
      continue;
    Difference difference{{}, a, b};
    int64_t rest = i;
    for (const Dim &dim : llvm::reverse(expected.dims())) {
      difference.index.insert(difference.index.begin(), rest % dim.size);
      rest /= dim.size;
    }
    return difference;
  }
  return std::nullopt;
}

std::string meshc::interp::describe(const Difference &difference, const Tensor &tensor) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(llvm::zip(tensor.dims(), difference.index), os,
                        [&](auto pair) { os << std::get<0>(pair).name.getValue() << "=" << std::get<1>(pair); });
  os << "]: expected " << formatNumber(difference.expected) << ", got " << formatNumber(difference.actual);
  return text;
}

std::string meshc::interp::summarize(const Tensor &tensor) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(tensor.dims(), os, [&](const Dim &dim) { os << dim.name.getValue() << "=" << dim.size; });
  double squares = 0, moment = 0, largest = largestMagnitude(tensor);
  for (auto [i, x] : llvm::enumerate(tensor.values())) {
    squares += x * x;
    // Magnitudes do not cancel, so the sum is as stable as its terms; the weights tell permutations apart.
    moment += std::abs(x) * (i + 1) / tensor.numElements();
  }
  os << "] norm " << formatNumber(std::sqrt(squares), 7) << " moment " << formatNumber(moment, 7) << " first";
  for (double x : tensor.values().take_front(4))
    os << " " << formatNumber(std::abs(x) <= 1e-12 * largest ? 0.0 : x, 7);
  return text;
}
