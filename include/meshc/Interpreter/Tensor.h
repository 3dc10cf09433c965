//===- Tensor.h - dense tensors of doubles over named dimensions -*- C++ -*-===//
//
// The interpreter's only container. A tensor is its dimensions (sorted by name, as in the type) and its elements in
// row-major order of them. Integers and booleans are doubles too: 32 bits fit exactly. NaN doubles as poison.
//
// Every evaluator is a loop nest over names:
//
//   // y[batch, ff] = sum over embed of x[batch, embed] w[embed, ff]
//   forEach<3>({batch, ff, embed}, {&y, &x, &w}, [&](auto at) { y[at[0]] += x[at[1]] * w[at[2]]; });
//
// A tensor that lacks a dimension of the nest has stride 0 along it, which is broadcasting.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_INTERPRETER_TENSOR_H
#define MESHC_INTERPRETER_TENSOR_H

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <array>
#include <limits>
#include <string>
#include <vector>

namespace meshc::interp {

inline constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Dim {
  mlir::StringAttr name;
  int64_t size;
  bool operator==(const Dim &other) const { return name == other.name && size == other.size; }
};
using Dims = llvm::SmallVector<Dim, 6>;
using Strides = llvm::SmallVector<int64_t, 6>;

class Tensor {
public:
  /// A scalar zero.
  Tensor() : elements(1, 0.0) {}
  /// `dims` must be sorted by name.
  explicit Tensor(llvm::ArrayRef<Dim> dims, double fill = 0.0);
  static Tensor scalar(double value);

  llvm::ArrayRef<Dim> dims() const { return dimensions; }
  int64_t numElements() const { return elements.size(); }
  llvm::ArrayRef<double> values() const { return elements; }
  llvm::MutableArrayRef<double> values() { return elements; }
  double &operator[](int64_t offset) { return elements[offset]; }
  double operator[](int64_t offset) const { return elements[offset]; }

  bool has(mlir::StringAttr name) const { return size(name) != 0; }
  /// Size of a dimension; 0 if there is none of that name.
  int64_t size(mlir::StringAttr name) const;
  /// Distance of neighbours along a dimension; 0 if there is none of that name.
  int64_t stride(mlir::StringAttr name) const;
  Strides strides(llvm::ArrayRef<Dim> loops) const;

  /// The element of an index tuple given in the order of `dims`.
  double at(llvm::ArrayRef<int64_t> index) const;
  /// True if shape and bits agree (a NaN equals a NaN).
  bool identical(const Tensor &other) const;

private:
  Dims dimensions;
  std::vector<double> elements;
};

/// `0.25`, `-inf`, `nan`: up to `digits` significant digits.
std::string formatNumber(double value, int digits = 12);

/// `dims` without the dimensions called one of `names`.
Dims without(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<mlir::StringAttr> names);
/// `dims` followed by those of `more` that it lacks.
Dims unite(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<Dim> more);

/// Runs `body` for every index of the loop nest with one offset per entry of `strides`, the last loop fastest.
template <size_t N, typename Body>
void forEach(llvm::ArrayRef<Dim> loops, const std::array<Strides, N> &strides, Body &&body) {
  std::array<int64_t, N> offsets{};
  Strides index(loops.size(), 0);
  while (true) {
    body(offsets);
    int64_t loop = static_cast<int64_t>(loops.size()) - 1;
    for (; loop >= 0; --loop) {
      int64_t step = 1;
      if (++index[loop] == loops[loop].size) {
        index[loop] = 0;
        step = 1 - loops[loop].size;
      }
      for (size_t i = 0; i < N; ++i)
        offsets[i] += step * strides[i][loop];
      if (step == 1)
        break;
    }
    if (loop < 0)
      return;
  }
}

template <size_t N, typename Body>
void forEach(llvm::ArrayRef<Dim> loops, const std::array<const Tensor *, N> &tensors, Body &&body) {
  std::array<Strides, N> strides;
  for (size_t i = 0; i < N; ++i)
    strides[i] = tensors[i]->strides(loops);
  forEach<N>(loops, strides, std::forward<Body>(body));
}

} // namespace meshc::interp

#endif
