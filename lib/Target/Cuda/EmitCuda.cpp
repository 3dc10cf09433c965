//===- EmitCuda.cpp - a program for the CUDA runtime ---------------------------------===//
//
// The file has the layout of a CPU program. Kernels are __global__ functions, and a step enqueues them:
//
//   launch(rank, mapShape(kBatch * kFf), computeGelu, h, b1, y);
//
//===----------------------------------------------------------------------===//
#include "CudaKernel.h"
#include "meshc/Target/ProgramText.h"
#include "meshc/Target/Target.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;

namespace {
class CudaStep : public StepPrinter {
public:
  using StepPrinter::StepPrinter;

private:
  void kernel(rt::KernelOp op) override {
    const KernelFunction &function = kernels.functionOf(op);
    llvm::SmallVector<std::string> arguments = {"rank", launchShape(op, vocabulary), function.name};
    for (const KernelSignature::Parameter &parameter : function.signature.parameters)
      arguments.push_back(text(parameter.operand(op)).str());
    for (int64_t number : kernels.numbersOf(op))
      arguments.push_back(std::to_string(number));
    llvm::append_range(arguments, launchArguments(op, vocabulary));
    call(op, "launch", arguments);
  }

  std::string maskHead(StringRef parameters) override { return ("[=] __device__(" + parameters + ")").str(); }
  bool startsCollectives() const override { return true; }
};
} // namespace

mlir::LogicalResult meshc::target::emitCuda(mlir::ModuleOp module, llvm::raw_ostream &os) {
  return printProgram<CudaStep>(module, {"one process per GPU", "meshrt/cuda.h", printCudaKernel}, os);
}
