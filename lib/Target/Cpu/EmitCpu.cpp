//===- EmitCpu.cpp - a program for the CPU runtime ------------------------------------------------===//
#include "CpuKernel.h"
#include "meshc/Target/ProgramText.h"
#include "meshc/Target/Target.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;

namespace {
class CpuStep : public StepPrinter {
public:
  using StepPrinter::StepPrinter;

private:
  void kernel(rt::KernelOp op) override {
    const KernelFunction &function = kernels.functionOf(op);
    llvm::SmallVector<std::string> arguments;
    if (needsRank(op))
      arguments.push_back("rank");
    for (const KernelSignature::Parameter &parameter : function.signature.parameters) {
      Expr argument = text(parameter.operand(op));
      arguments.push_back(parameter.isInputScalar() ? Expr::unary("*", argument).str() : argument.str());
    }
    for (int64_t number : kernels.numbersOf(op))
      arguments.push_back(std::to_string(number));
    call(op, function.name, arguments);
  }

  std::string maskHead(StringRef parameters) override { return ("[=](" + parameters + ")").str(); }
  bool startsCollectives() const override { return false; }
};
} // namespace

mlir::LogicalResult meshc::target::emitCpu(mlir::ModuleOp module, llvm::raw_ostream &os) {
  return printProgram<CpuStep>(module, {"CPU ranks", "meshrt/cpu.h", printCpuKernel}, os);
}
