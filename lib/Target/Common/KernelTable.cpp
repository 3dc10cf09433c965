//===- KernelTable.cpp - one function for all kernels with the same text ---------------===//
#include "meshc/Target/KernelTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;

const KernelSignature::Parameter &KernelSignature::of(mlir::Value argument) const {
  return *llvm::find_if(parameters, [&](const Parameter &parameter) {
    return llvm::is_contained(parameter.arguments, llvm::cast<mlir::BlockArgument>(argument));
  });
}

KernelSignature KernelSignature::of(rt::KernelOp kernel) {
  KernelSignature signature;
  llvm::DenseMap<mlir::Value, size_t> parameterOf;
  for (mlir::BlockArgument argument : kernel.getBody().getArguments()) {
    if (argument.use_empty())
      continue;
    mlir::Value operand = kernel->getOperand(argument.getArgNumber());
    auto [it, isNew] = parameterOf.insert({operand, signature.parameters.size()});
    if (isNew)
      signature.parameters.push_back({{}, argument.getType(), "", false});
    Parameter &parameter = signature.parameters[it->second];
    parameter.arguments.push_back(argument);
    parameter.written |= argument.getArgNumber() >= kernel.getIns().size();
  }
  return signature;
}

/// Kernels that compute nothing go by what they do: `fill`, `copy`.
static StringRef verb(rt::KernelOp kernel) {
  bool loads = false, computes = false;
  kernel.getBody().walk([&](mlir::Operation *op) {
    loads |= llvm::isa<rt::LoadOp>(op);
    computes |= !llvm::isa<rt::LoadOp, rt::StoreOp, mlir::arith::ConstantOp>(op);
  });
  return computes ? "compute" : loads ? "copy" : "fill";
}

/// A verb and the name of what the kernel writes: `computeGradW1`.
static std::string functionName(rt::KernelOp kernel, const KernelSignature &signature, bool several, Vocabulary &vocabulary) {
  if (several && verb(kernel) != "compute")
    return verb(kernel).str() + "Buffer";
  StringRef name = nameOf(kernel.getLoc());
  for (const KernelSignature::Parameter &parameter : signature.parameters)
    if (name.empty() && parameter.written && nameOf(parameter.operand(kernel), vocabulary) != "")
      name = parameter.name;
  // Without a name the place says most: nnLine47.
  if (std::string line = sourceLine(kernel.getLoc()); name.empty() && !line.empty()) {
    auto [file, number] = StringRef(line).split(':');
    return identifier(file.split('.').first) + "Line" + number.str();
  }
  return verb(kernel).str() + constantName(name).substr(1);
}

/// What a parameter is called where uses differ: parameters of the model are `w`, a state has its own name, others go by
/// their first use.
static std::string parameterName(const KernelFunction &function, size_t number, Vocabulary &vocabulary) {
  llvm::SmallVector<StringRef> wanted;
  const KernelSignature::Parameter &first = function.signature.parameters[number];
  for (rt::KernelOp use : function.uses)
    wanted.push_back(nameOf(KernelSignature::of(use).parameters[number].operand(use), vocabulary));
  if (llvm::all_equal(wanted))
    return wanted.front().empty() ? "t" : wanted.front().str();
  if (auto get = rt::rootOf(first.operand(function.uses.front())).getDefiningOp<rt::GetGlobalOp>()) {
    rt::GlobalOp global = vocabulary.lookup(get);
    if (global.getRole() == rt::Role::Param)
      return "w";
    if (global.getRole() == rt::Role::State)
      return global.getName().str();
  }
  return wanted.front().empty() ? "t" : wanted.front().str();
}

static std::string location(llvm::ArrayRef<rt::KernelOp> uses) {
  llvm::SmallVector<std::string> lines;
  for (rt::KernelOp use : uses)
    if (std::string line = sourceLine(use.getLoc()); !line.empty() && !llvm::is_contained(lines, line))
      lines.push_back(line);
  if (lines.size() > 3) {
    lines.resize(3);
    lines.push_back("...");
  }
  return llvm::join(lines, ", ");
}

/// `// gpt.mesh:20   h[batch=4, ff=64], b1[ff=64] -> y[batch=4, ff=64]`
std::string KernelTable::comment(const KernelFunction &function) const {
  llvm::SmallVector<std::string> inputs, outputs;
  bool sizes = function.numbers.parameters().empty();
  for (const KernelSignature::Parameter &parameter : function.signature.parameters) {
    std::string text = parameter.name + (parameter.isBuffer() ? shapeText(parameter.buffer(), sizes) : "");
    bool read = llvm::any_of(parameter.arguments, [&](mlir::BlockArgument argument) {
      return llvm::any_of(argument.getUsers(), [](mlir::Operation *user) { return llvm::isa<rt::LoadOp>(user); });
    });
    if (parameter.isBuffer() && read)
      inputs.push_back(text);
    if (parameter.written)
      outputs.push_back(text);
  }
  std::string result = llvm::join(inputs, ", ") + (inputs.empty() ? "-> " : " -> ") + llvm::join(outputs, ", ");
  if (std::string where = location(function.uses); !where.empty())
    result = where + ": " + result;
  return result;
}

mlir::LogicalResult KernelTable::build(Vocabulary &vocabulary, PrintFunction print) {
  // First printing: kernels by text.
  llvm::StringMap<KernelFunction *> byText;
  llvm::DenseMap<KernelFunction *, llvm::SmallVector<llvm::SmallVector<int64_t>>> recorded;
  bool failed = false;
  vocabulary.module.walk([&](rt::KernelOp kernel) {
    KernelSignature signature = KernelSignature::of(kernel);
    for (KernelSignature::Parameter &parameter : signature.parameters)
      parameter.name = "p";
    std::string text;
    llvm::raw_string_ostream os(text);
    Printer p(os, 10000);
    Numbers numbers;
    failed |= mlir::failed(print(kernel, signature, "f", numbers, p));
    KernelFunction *&function = byText[text];
    if (!function) {
      all.push_back(std::make_unique<KernelFunction>());
      function = all.back().get();
      function->signature = signature;
    }
    functionByUse[kernel] = {function, function->uses.size()};
    function->uses.push_back(kernel);
    recorded[function].emplace_back(numbers.recorded());
  });
  if (failed)
    return mlir::failure();

  // Second printing: names, and parameters for the numbers that differ.
  for (const std::unique_ptr<KernelFunction> &function : all) {
    Names parameterNames(&vocabulary.names);
    for (auto [number, parameter] : llvm::enumerate(function->signature.parameters))
      parameter.name = parameterNames.add(parameterName(*function, number, vocabulary));
    function->numbers.resolve(recorded[function.get()], parameterNames);
    rt::KernelOp kernel = function->uses.front();
    function->name = vocabulary.names.add(functionName(kernel, function->signature, function->uses.size() > 1, vocabulary));
    llvm::raw_string_ostream os(function->text);
    Printer p(os);
    p.comment(comment(*function));
    if (mlir::failed(print(kernel, function->signature, function->name, function->numbers, p)))
      return mlir::failure();
  }
  return mlir::success();
}

llvm::SmallVector<int64_t> KernelTable::numbersOf(rt::KernelOp kernel) const {
  auto [function, use] = functionByUse.lookup(kernel);
  llvm::SmallVector<int64_t> result;
  for (size_t i = 0; i < function->numbers.parameters().size(); ++i)
    result.push_back(function->numbers.argument(i, use));
  return result;
}
