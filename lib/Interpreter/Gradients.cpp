//===- Gradients.cpp - gradients against finite differences ----------------===//
#include "meshc/Interpreter/Gradients.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

FailureOr<double> interp::derivative(function_ref<FailureOr<double>(double)> f, double step) {
  SmallVector<double, 4> at;
  for (double factor : {1.0, -1.0, 2.0, -2.0}) {
    FailureOr<double> result = f(factor * step);
    if (failed(result))
      return failure();
    at.push_back(*result);
  }
  return (8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * step);
}

namespace {
/// The loss as a function of one parameter moved along a direction.
struct Line {
  ModuleOp module;
  func::FuncOp loss;
  std::vector<Tensor> arguments;
  unsigned parameter;

  FailureOr<double> slope(ArrayRef<double> direction, double step) {
    Tensor &moved = arguments[parameter];
    Tensor start = moved;
    FailureOr<double> result = derivative([&](double t) -> FailureOr<double> {
      for (int64_t i = 0; i < moved.numElements(); ++i)
        moved[i] = start[i] + t * direction[i];
      auto results = Interpreter(module, Interpreter::modeOf(loss)).call(loss, arguments);
      if (failed(results))
        return failure();
      return results->front()[0];
    }, step);
    moved = start;
    return result;
  }
};
} // namespace

/// The directions to try: unit vectors of sampled elements, then random ones of length about 1.
static std::vector<std::vector<double>> directionsFor(int64_t size, const GradientCheck &options) {
  std::vector<std::vector<double>> directions;
  for (int64_t i = 0, n = std::min(size, options.samples); i < n; ++i) {
    // Spread over the whole parameter; every element when there are few.
    int64_t element = size <= options.samples ? i : static_cast<int64_t>(hashedUniform(options.seed, i) * size);
    directions.emplace_back(size, 0.0)[element] = 1;
  }
  for (int64_t d = 0; d < options.directions; ++d) {
    std::vector<double> &direction = directions.emplace_back(size);
    for (int64_t i = 0; i < size; ++i)
      direction[i] = (2 * hashedUniform(options.seed + d + 1, i) - 1) * std::sqrt(3.0 / size);
  }
  return directions;
}

LogicalResult interp::checkGradients(ModuleOp module, func::FuncOp loss, func::FuncOp gradient, ArrayRef<Tensor> arguments,
                                     const GradientCheck &options, raw_ostream &os) {
  std::vector<Tensor> withCotangent(arguments);
  withCotangent.push_back(Tensor::scalar(1));
  auto results = Interpreter(module, Interpreter::modeOf(gradient)).call(gradient, withCotangent);
  if (failed(results))
    return failure();
  unsigned next = loss.getNumResults();
  double floor = 1e-4;
  for (const Tensor &grad : ArrayRef(*results).drop_front(std::min<size_t>(next, results->size())))
    floor = std::max(floor, 0.01 * largestMagnitude(grad));
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    if (!loss.getArgAttr(i, mtf::kParam))
      continue;
    std::string name = argumentName(loss, i);
    if (next >= results->size())
      return gradient.emitError() << "returns no gradient for parameter '" << name << "'";
    const Tensor &grad = (*results)[next++];
    if (grad.dims() != arguments[i].dims())
      return gradient.emitError() << "gradient of '" << name << "' has another shape than the parameter";
    double scale = std::max(floor, largestMagnitude(grad)), worst = 0;
    Line line{module, loss, arguments, i};
    auto directions = directionsFor(grad.numElements(), options);
    for (const std::vector<double> &direction : directions) {
      double actual = 0, expected = 0, error = kInfinity;
      for (auto [g, d] : llvm::zip(grad.values(), direction))
        actual += d == 0 ? 0 : g * d;
      // A kink (of a maximum, say) may lie within the first step, hardly within both.
      for (double step : {1e-3, 1e-5}) {
        FailureOr<double> slope = line.slope(direction, step);
        if (failed(slope))
          return failure();
        expected = *slope;
        error = std::abs(actual - expected) / scale;
        if (error <= options.tolerance)
          break;
      }
      if (!(error <= options.tolerance))
        return gradient.emitError() << "gradient of '" << name << "' is wrong: finite differences give " << formatNumber(expected)
                                    << ", got: " << formatNumber(actual);
      worst = std::max(worst, error);
    }
    os << "gradient of " << name << ": " << directions.size() << " directions agree to " << formatNumber(worst, 1) << "\n";
  }
  return success();
}
