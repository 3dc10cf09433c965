//===- EmitCpu.cpp - a program for the CPU runtime ------------------------------------------------===//
//
// The file that is printed: a heading, constants, one function per kernel, one per step, the description, main.
//
//===----------------------------------------------------------------------===//
#include "CpuKernel.h"
#include "meshc/Target/BodyPrinter.h"
#include "meshc/Target/Description.h"
#include "meshc/Target/ExpandCopies.h"
#include "meshc/Target/StepPrinter.h"
#include "meshc/Target/Target.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// The body of an attention mask: loads name every index themselves.
class MaskBody : public BodyPrinter {
public:
  using BodyPrinter::BodyPrinter;

  Expr element(mlir::Operation *access) override {
    auto load = llvm::cast<rt::LoadOp>(access);
    rt::BufferType type = rt::bufferType(load.getBuffer());
    Expr at = 0;
    for (auto [name, value] : llvm::zip(load.getAt().getAsRange<mlir::StringAttr>(), load.getIndices()))
      at = at + use(value) * vocabulary.stride(type, type.position(name));
    Expr buffer = use(load.getBuffer());
    return at.isZero() ? Expr::unary("*", buffer) : buffer.index(at);
  }
  Expr index(mlir::StringAttr) override { return 0; }
  Expr shard(mlir::ArrayAttr axes) override { return Expr::call("rank.shard", {vocabulary.axes(axes)}); }
};

class CpuStep : public StepPrinter {
public:
  using StepPrinter::StepPrinter;

private:
  llvm::SmallVector<std::string> kernelArguments(rt::KernelOp kernel, const KernelFunction &function) override {
    llvm::SmallVector<std::string> result;
    if (needsRank(kernel))
      result.push_back("rank");
    for (const KernelSignature::Parameter &parameter : function.signature.parameters) {
      Expr argument = text(parameter.operand(kernel));
      result.push_back(parameter.isInputScalar() ? Expr::unary("*", argument).str() : argument.str());
    }
    return result;
  }

  /// `[=](int64_t query, int64_t key, int64_t, int64_t) { return key <= query; }`
  mlir::FailureOr<std::string> mask(mlir::Region &region, mlir::ValueRange operands) override {
    mlir::Block &block = region.front();
    std::string name = scope->add("mask");
    Names names(scope);
    Numbers numbers;
    numbers.resolve({{}}, names);
    MaskBody body(p, vocabulary, numbers);
    body.setNames(&names);
    llvm::SmallVector<std::string> parameters;
    static constexpr StringRef words[] = {"query", "key", "batch", "head"};
    for (auto [number, argument] : llvm::enumerate(block.getArguments())) {
      if (number >= 4) {
        body.define(argument, text(operands[number - 4]));
        continue;
      }
      std::string word = argument.use_empty() ? "" : names.add(words[number]);
      parameters.push_back(word.empty() ? "int64_t" : "int64_t " + word);
      body.define(argument, Expr::name(word));
    }
    p.open("const auto " + name + " = [=](" + llvm::join(parameters, ", ") + ")");
    for (mlir::Operation &op : block.without_terminator())
      if (!op.use_empty() && !body.print(&op))
        return mlir::failure();
    p.line("return " + body.use(block.getTerminator()->getOperand(0)).str() + ";");
    p.close(";");
    return name;
  }
};
} // namespace

static void heading(Printer &p, StringRef text) {
  p.gap();
  p.line("//===----------------------------------------------------------------------===//");
  p.line("// " + text);
  p.line("//===----------------------------------------------------------------------===//");
  p.line();
}

/// `mesh pod[data=2, model=2]`
static std::string meshText(mtf::MeshAttr mesh) {
  llvm::SmallVector<std::string> axes;
  for (auto [name, size] : llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    axes.push_back((name.getValue() + "=" + Twine(size)).str());
  return axes.empty() ? "one rank" : "mesh " + mesh.getName().getValue().str() + "[" + llvm::join(axes, ", ") + "]";
}

mlir::LogicalResult meshc::target::emitCpu(mlir::ModuleOp input, llvm::raw_ostream &os) {
  mlir::OwningOpRef<mlir::ModuleOp> module = input.clone();
  expandCopies(*module);
  Vocabulary vocabulary(*module);

  // The body first: it decides which constants the file needs.
  KernelTable kernels;
  if (mlir::failed(kernels.build(vocabulary, [&](rt::KernelOp kernel, const KernelSignature &signature, StringRef name,
                                                 Numbers &numbers, Printer &p) {
        return printCpuKernel(kernel, signature, name, vocabulary, numbers, p);
      })))
    return mlir::failure();
  std::string body;
  llvm::raw_string_ostream bodyStream(body);
  Printer p(bodyStream);
  if (!kernels.functions().empty())
    heading(p, "Kernels");
  for (const std::unique_ptr<KernelFunction> &function : kernels.functions()) {
    p.gap();
    bodyStream << function->text;
    p.line();
  }
  heading(p, "Steps");
  for (auto step : module->getOps<rt::StepOp>()) {
    p.gap();
    if (mlir::failed(CpuStep(vocabulary, kernels, p).print(step)))
      return mlir::failure();
  }
  heading(p, "Description");
  if (mlir::failed(printDescription(vocabulary, p)))
    return mlir::failure();

  Printer top(os);
  auto source = input->getAttrOfType<mlir::StringAttr>(mtf::kSource);
  top.comment(vocabulary.programName() + ": " + meshText(vocabulary.mesh) + ", CPU ranks." +
              (source ? " Compiled by meshc from " + source.getValue().str() + "." : ""));
  top.line("#include \"meshrt/cpu.h\"");
  top.line();
  top.line("using namespace meshrt;");
  top.line("static_assert(kProgramVersion == 1);");
  top.line();
  top.line("namespace {");
  vocabulary.print(top);
  top.line();
  os << body;
  os << "\n} // namespace\n\nint main(int argc, char **argv) { return trainerMain(argc, argv, program()); }\n";
  return mlir::success();
}

std::string meshc::target::programName(mlir::ModuleOp module) { return Vocabulary(module).programName(); }
