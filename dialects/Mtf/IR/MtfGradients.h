//===- MtfGradients.h - what the gradient rules share ----------------------===//
//
// A rule receives the cotangent g of the result and returns, for each operand that wants one, a cotangent of exactly the
// operand's type. Two things stand between g and that type everywhere:
//
//   x[seq] + b[]            dims that the operand lacks were broadcast: their cotangents are summed   (`fitTo`)
//   sum(x over seq)         dims that the result lacks: the cotangent is repeated along them          (`broadcastTo`)
//
// Nothing here is visible outside the MtfGradients*.cpp and the passes on level 1, whose types carry no sharding.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_IR_MTFGRADIENTS_H
#define MTF_IR_MTFGRADIENTS_H

#include "Mtf/IR/Mtf.h"
#include "mlir/IR/Builders.h"

namespace meshc::mtf {

using Grads = llvm::SmallVectorImpl<mlir::Value>;

/// A builder with a location: `b.create<MulOp>(x, y)`.
struct GradientBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  template <typename OpTy, typename... Args>
  mlir::Value create(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return create<AddOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return create<SubOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return create<MulOp>(a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return create<DivOp>(a, b); }
  mlir::Value neg(mlir::Value a) { return create<NegOp>(a); }

  /// A scalar of the element type of `like`.
  mlir::Value constant(double value, mlir::Value like) { return create<ConstantOp>(value, tensorType(like).getElementType()); }
  /// `x` times a constant.
  mlir::Value scaled(mlir::Value x, double factor) { return mul(x, constant(factor, x)); }
  /// `x` repeated along the dims of `type` that it lacks.
  mlir::Value broadcastTo(mlir::Value x, NamedTensorType type) { return broadcastTo(builder, loc, x, type); }
  /// The sum of `g` over the dims that `type` lacks.
  mlir::Value fitTo(mlir::Value g, NamedTensorType type);

  static mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, NamedTensorType type);
};

/// Names of the dims of `a` that `b` lacks.
llvm::SmallVector<mlir::StringAttr> missingDims(NamedTensorType a, NamedTensorType b);

/// A tensor of `type` full of `value`.
mlir::Value filled(mlir::OpBuilder &builder, mlir::Location loc, double value, NamedTensorType type);

} // namespace meshc::mtf

#endif
