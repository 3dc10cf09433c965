//===- Program.cpp - programs given as text, for tests ---------------------===//
#include "Program.h"
#include "Spmd/IR/Spmd.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace meshc::interp;
using namespace meshc::interp::test;

Program::Program(llvm::StringRef text) {
  context.loadDialect<mlir::func::FuncDialect, meshc::mtf::MtfDialect, meshc::spmd::SpmdDialect>();
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) { errors += diagnostic.str() + "\n"; });
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << errors << text.str();
}

std::vector<Values> Program::run(const std::vector<Values> &arguments) {
  mlir::func::FuncOp f = function();
  std::vector<Tensor> tensors;
  for (auto [type, values] : llvm::zip_equal(f.getArgumentTypes(), arguments)) {
    Tensor &tensor = tensors.emplace_back(globalDims(llvm::cast<meshc::mtf::NamedTensorType>(type)));
    EXPECT_EQ(tensor.numElements(), static_cast<int64_t>(values.size()));
    llvm::copy(values, tensor.values().begin());
  }
  auto results = Interpreter(*module, Interpreter::modeOf(f)).call(f, tensors);
  std::vector<Values> values;
  if (succeeded(results))
    for (const Tensor &result : *results)
      values.emplace_back(result.values().begin(), result.values().end());
  return values;
}
