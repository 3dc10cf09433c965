//===- meshc-opt.cpp - runs passes on textual IR ---------------------------===//
#include "Mtf/IR/Mtf.h"
#include "Mtf/Transforms/Passes.h"
#include "Rt/IR/Rt.h"
#include "Rt/Transforms/Passes.h"
#include "Spmd/IR/Spmd.h"
#include "Spmd/Transforms/Passes.h"
#include "meshc/Conversion/Passes.h"
#include "meshc/Pipelines/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect, meshc::mtf::MtfDialect,
                  meshc::rt::RtDialect, meshc::spmd::SpmdDialect>();
  meshc::spmd::registerSpmdPasses();
  meshc::registerConversionPasses();
  meshc::rt::registerRtPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  meshc::mtf::registerMtfPasses();
  meshc::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "meshc pass driver\n", registry));
}
