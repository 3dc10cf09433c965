//===- Tensor.cpp - dense tensors of doubles over named dimensions ---------===//
#include "meshc/Interpreter/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstdio>

using namespace meshc::interp;

Tensor::Tensor(llvm::ArrayRef<Dim> dims, double fill) : dimensions(dims) {
  int64_t count = 1;
  for (const Dim &dim : dims)
    count *= dim.size;
  elements.assign(count, fill);
}

Tensor Tensor::scalar(double value) { return Tensor({}, value); }

int64_t Tensor::size(mlir::StringAttr name) const {
  auto it = llvm::find_if(dimensions, [&](const Dim &dim) { return dim.name == name; });
  return it == dimensions.end() ? 0 : it->size;
}

int64_t Tensor::stride(mlir::StringAttr name) const {
  int64_t stride = 1;
  for (const Dim &dim : llvm::reverse(dimensions)) {
    if (dim.name == name)
      return stride;
    stride *= dim.size;
  }
  return 0;
}

Strides Tensor::strides(llvm::ArrayRef<Dim> loops) const {
  Strides result;
  for (const Dim &loop : loops)
    result.push_back(stride(loop.name));
  return result;
}

double Tensor::at(llvm::ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  for (auto [i, dim] : llvm::zip(index, dimensions))
    offset = offset * dim.size + i;
  return elements[offset];
}

bool Tensor::identical(const Tensor &other) const {
  if (dims() != other.dims())
    return false;
  return llvm::all_of(llvm::zip(elements, other.elements), [](auto pair) {
    auto [a, b] = pair;
    return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
  });
}

std::string meshc::interp::formatNumber(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

Dims meshc::interp::without(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<mlir::StringAttr> names) {
  Dims kept;
  llvm::copy_if(dims, std::back_inserter(kept), [&](const Dim &dim) { return !llvm::is_contained(names, dim.name); });
  return kept;
}

Dims meshc::interp::unite(llvm::ArrayRef<Dim> dims, llvm::ArrayRef<Dim> more) {
  Dims all(dims);
  for (const Dim &dim : more)
    if (llvm::none_of(all, [&](const Dim &known) { return known.name == dim.name; }))
      all.push_back(dim);
  return all;
}
