//===- Generator.h - draws well-formed random programs ----------*- C++ -*-===//
//
// A program grows op by op from pools of values: floats, indices (i32) and conditions (i1). What would blur a comparison is kept out:
//  - floats stay of moderate size and finite, so that two orders of a sum agree to 1e-10;
//  - what jumps (floor, sign, argmax, indices, conditions on floats) is made of *steady* values only, those that no parameter moves,
//    since finite differences cannot see past a jump;
//  - orders (argmax, top-k, sort) are of values that differ from place to place.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_GENERATOR_H
#define MESHC_TOOLS_GENERATOR_H

#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"
#include <random>

namespace meshc {

class Generator {
public:
  Generator(mlir::MLIRContext &context, uint64_t seed);

  mlir::OwningOpRef<mlir::ModuleOp> module();

private:
  using Names = llvm::SmallVector<mlir::StringAttr>;
  using Value = mlir::Value;

  // Drawing.
  int64_t below(int64_t limit) { return static_cast<int64_t>(random() % limit); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  auto &pick(T &&list) { return list[below(list.size())]; }
  mlir::StringAttr name(const llvm::Twine &text) { return b.getStringAttr(text); }
  mtf::DimAttr dim(mlir::StringAttr name) { return mtf::DimAttr::get(name, sizes.lookup(name)); }

  // The frame of a program: RandomProgram.cpp.
  void chooseDims();
  void chooseMesh(mlir::ModuleOp module);
  void chooseLayout(mlir::ModuleOp module, mlir::func::FuncOp loss);
  void chooseMicrobatches(mlir::ModuleOp module, mlir::func::FuncOp loss);
  mtf::NamedTensorType randomType(mlir::Type element, int64_t maxDims);
  mlir::func::FuncOp makeLoss();
  void makeWeight(mlir::func::FuncOp loss);
  void makeUpdate(llvm::StringRef path, mtf::NamedTensorType type);

  // Values.
  /// Adds `value` to the pool of its element type, tapped; too large ones are dropped.
  void keep(Value value);
  Value any() { return pick(pool); }
  /// A value with at least one dim; null if there is none.
  Value anyTensor(bool steady = false);
  /// A value that no parameter moves.
  Value anySteady();
  bool isSteady(Value value);
  /// A value whose dims have the sizes that `other` gives them; null if there is none.
  Value fitting(Value other, llvm::ArrayRef<Value> from);
  mlir::StringAttr anyDim(Value value);
  Names someDims(Value value);
  /// A name that `value` lacks, for a dim of `size`; null if there is none.
  mlir::StringAttr freeName(Value value, int64_t size, mlir::StringAttr except = {});

  Value constant(double value) { return mtf::ConstantOp::create(b, value, f32); }
  Value whole(int64_t value) { return mtf::ConstantOp::create(b, static_cast<double>(value), i32); }
  Value index(mtf::DimAttr dim) { return mtf::IndexOp::create(b, mtf::NamedTensorType::get({dim}, i32), dim.getName(), Value()); }
  /// tanh: brings products back to moderate size.
  Value bounded(Value value) { return mtf::TanhOp::create(b, value); }
  /// In (0.5, 1.5).
  Value positive(Value value) { return mtf::AddOp::create(b, constant(0.5), mtf::SigmoidOp::create(b, value)); }
  /// `value` with another summand at each place along `over`, so that no two are equal.
  Value distinct(Value value, mlir::StringAttr over);
  /// Whole numbers brought to [0, limit).
  Value modulo(Value value, int64_t limit) { return mtf::RemOp::create(b, value, whole(limit)); }
  /// A condition over dims of `value`.
  Value condition(Value value);

  // Ops: RandomOps.cpp.
  void step(int depth);
  void unary();
  void binary();
  void jumps();
  void integers();
  void booleans();
  void contraction();
  void reduction();
  void order();
  void renaming();
  void cutting();
  void joining();
  void merging();
  void windows();
  void gathering();
  void scattering();
  void attention();
  void noise();
  void loop(int depth);

  std::mt19937_64 random;
  mlir::ImplicitLocOpBuilder b;
  mlir::Type f32, i32;
  Names names;
  llvm::DenseMap<mlir::StringAttr, int64_t> sizes;
  llvm::SmallVector<Value> pool, ints, bools;
  llvm::DenseMap<Value, bool> steady;
  Value seed, step_;
  llvm::SmallVector<Value> loopIndices;
  /// Whether the loss is to be a sum over `batch`, the dim `a`, of what each of its elements gives.
  bool batched = false;
  mlir::StringAttr batch;
  int counter = 0;
};

} // namespace meshc

#endif
