//===- ExpandCopies.cpp - copies and fills as kernels --------------------------------===//
//
//   rt.copy %x to %y : X to Y      ->   rt.kernel outer [dims of Y] row [] ins(%x : X) outs(%y : Y) {
//                                         %0 = rt.load %x : X
//                                         rt.store %0, %y : f32 to Y
//                                       }
//
//===----------------------------------------------------------------------===//
#include "meshc/Target/ExpandCopies.h"
#include "Rt/IR/Rt.h"
#include "mlir/IR/Builders.h"

using namespace meshc;

/// An empty kernel over the dims of `target`, outermost in memory first.
static rt::KernelOp mapKernel(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange ins, mlir::Value target) {
  rt::BufferType type = rt::bufferType(target);
  llvm::SmallVector<unsigned> order(llvm::to_vector(llvm::seq<unsigned>(0, type.getDims().size())));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(-type.getStrides()[a], a) < std::pair(-type.getStrides()[b], b);
  });
  llvm::SmallVector<mlir::Attribute> dims;
  for (unsigned i : order)
    dims.push_back(type.getDims()[i]);
  auto kernel = rt::KernelOp::create(builder, loc, builder.getArrayAttr(dims), builder.getArrayAttr({}), /*columns=*/false, ins,
                                     mlir::ValueRange(target));
  mlir::Block &body = kernel.getBody().emplaceBlock();
  for (mlir::Value operand : kernel->getOperands())
    body.addArgument(operand.getType(), builder.getUnknownLoc());
  builder.setInsertionPointToStart(&body);
  return kernel;
}

void meshc::target::expandCopies(mlir::ModuleOp module) {
  module.walk([](mlir::Operation *op) {
    mlir::OpBuilder builder(op);
    if (auto copy = llvm::dyn_cast<rt::CopyOp>(op)) {
      rt::KernelOp kernel = mapKernel(builder, op->getLoc(), copy.getSource(), copy.getTarget());
      auto value = rt::LoadOp::create(builder, op->getLoc(), kernel.inArg(0));
      rt::StoreOp::create(builder, op->getLoc(), value, kernel.outArg(0));
      op->erase();
    } else if (auto fill = llvm::dyn_cast<rt::FillOp>(op)) {
      rt::KernelOp kernel = mapKernel(builder, op->getLoc(), {}, fill.getTarget());
      auto value = mlir::arith::ConstantOp::create(builder, op->getLoc(), llvm::cast<mlir::TypedAttr>(fill.getValueAttr()));
      rt::StoreOp::create(builder, op->getLoc(), value, kernel.outArg(0));
      op->erase();
    }
  });
}
