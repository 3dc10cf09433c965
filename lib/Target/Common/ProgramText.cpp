//===- ProgramText.cpp - the file that is printed for a module ---------------------------------===//
#include "meshc/Target/ProgramText.h"
#include "meshc/Target/Description.h"
#include "meshc/Target/ExpandCopies.h"
#include "meshc/Target/Target.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

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

mlir::LogicalResult meshc::target::detail::printProgram(mlir::ModuleOp input, const ProgramText &text, MakeStepPrinter makeStep,
                                                        llvm::raw_ostream &os) {
  mlir::OwningOpRef<mlir::ModuleOp> module = input.clone();
  expandCopies(*module);
  Vocabulary vocabulary(*module);

  // The body first: it decides which constants the file needs.
  KernelTable kernels;
  if (mlir::failed(kernels.build(vocabulary, [&](rt::KernelOp kernel, const KernelSignature &signature, StringRef name,
                                                 Numbers &numbers, Printer &p) {
        return text.kernel(kernel, signature, name, vocabulary, numbers, p);
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
    if (mlir::failed(makeStep(vocabulary, kernels, p)->print(step)))
      return mlir::failure();
  }
  heading(p, "Description");
  if (mlir::failed(printDescription(vocabulary, p)))
    return mlir::failure();

  Printer top(os);
  auto source = input->getAttrOfType<mlir::StringAttr>(mtf::kSource);
  top.comment(vocabulary.programName() + ": " + meshText(vocabulary.mesh) + ", " + text.ranks.str() + "." +
              (source ? " Compiled by meshc from " + source.getValue().str() + "." : ""));
  top.line("#include \"" + text.header + "\"");
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
