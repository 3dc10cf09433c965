//===- Vocabulary.cpp - what a program's text calls things -----------------------===//
#include "meshc/Target/Vocabulary.h"
#include "meshc/Target/ScalarOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;

std::string meshc::target::singular(StringRef dim) {
  bool plural = dim.size() > 3 && dim.ends_with("s") && !dim.ends_with("ss");
  return dim.drop_back(plural ? 1 : 0).str();
}

std::string meshc::target::shapeText(rt::BufferType type, bool sizes) {
  if (type.isScalar())
    return "";
  std::string text = "[";
  for (rt::DimAttr dim : type.getDims()) {
    text += text.size() > 1 ? ", " : "";
    text += dim.getName().getValue();
    if (sizes)
      text += "=" + std::to_string(dim.getSize());
  }
  return text + "]";
}

StringRef meshc::target::nameOf(mlir::Value value, Vocabulary &vocabulary) {
  while (true) {
    mlir::Operation *op = value.getDefiningOp();
    if (auto get = llvm::dyn_cast_or_null<rt::GetGlobalOp>(op))
      return vocabulary.variable(vocabulary.lookup(get));
    if (StringRef name = nameOf(value.getLoc()); !name.empty())
      return name;
    if (!op || !llvm::isa<rt::SliceOp, rt::ViewOp>(op))
      return "";
    value = op->getOperand(0);
  }
}

Vocabulary::Vocabulary(mlir::ModuleOp module) : module(module), mesh(mtf::MeshAttr::of(module)) {
  for (StringRef name : {"Rank", "Program", "Tensor", "Dim", "Axes", "Step", "Attend", "AllToAll", "Strides", "MatMul", "matmul", "program",
                         "allReduce", "allGather", "reduceScatter", "allToAll", "exchange", "attendForward", "attendBackward", "math", "fill",
                         "trainStep", "evalStep", "forward", "prepare", "abs", "exp", "log", "sin", "cos", "sqrt", "floor", "ceil", "pow",
                         "max", "min", "index", "div", "time", "rand", "remove", "rename", "kProgramVersion", "kInitStep"})
    names.reserve(name);
  for (mlir::StringAttr axis : mesh.getAxisNames())
    axisNames[axis].constant = names.add(constantName(axis.getValue()) + "Axis");
  nameSizes();
  nameGlobals();
}

/// Dims of every buffer, kernel and loop, the larger sizes of a name first.
void Vocabulary::nameSizes() {
  std::map<StringRef, std::set<int64_t>> found;
  mlir::AttrTypeWalker walker;
  walker.addWalk([&](rt::DimAttr dim) { found[dim.getName().getValue()].insert(dim.getSize()); });
  module.walk([&](mlir::Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (mlir::Type type : op->getResultTypes())
      walker.walk(type);
    if (auto loop = llvm::dyn_cast<rt::LoopOp>(op))
      found[loop.getDim()].insert(loop.getCount());
  });
  for (auto &[name, values] : found) {
    StringRef suffix;
    for (int64_t value : llvm::reverse(values)) {
      auto dim = rt::DimAttr::get(mlir::StringAttr::get(module.getContext(), name), value);
      sizes[dim].constant = names.add(constantName(name) + suffix.str());
      suffix = "Local";
    }
  }
}

/// Parameters and states by the shortest unique end of their path, the others by the user's name.
void Vocabulary::nameGlobals() {
  std::vector<StringRef> paths;
  module.walk([&](rt::GlobalOp global) {
    if (auto param = global.getParam(); param && !llvm::is_contained(paths, *param))
      paths.push_back(*param);
  });
  std::map<StringRef, std::string> shortNames;
  for (auto [path, name] : llvm::zip(paths, shortestSuffixes(paths)))
    shortNames[path] = name;
  module.walk([&](rt::GlobalOp global) {
    std::string name = global.getName().str();
    if (auto param = global.getParam()) {
      name = shortNames[*param];
      if (global.getRole() == rt::Role::State)
        name += "." + global.getName().str();
    }
    // Data, scalars and results of the training step have the plain names.
    std::string constant = name;
    if (StringRef step = global.getStep().value_or(""); !step.empty() && step != "train_step")
      constant = (step.ends_with("_step") ? step.drop_back(5) : step).str() + "." + name;
    globals[global] = {identifier(name), names.add(constantName(constant))};
  });
}

std::string Vocabulary::programName() {
  if (auto name = module->getAttrOfType<mlir::StringAttr>(mtf::kName))
    return identifier(name.getValue());
  if (auto source = module->getAttrOfType<mlir::StringAttr>(mtf::kSource))
    return identifier(llvm::sys::path::stem(source.getValue()));
  return "program";
}

rt::GlobalOp Vocabulary::lookup(rt::GetGlobalOp op) {
  return llvm::cast<rt::GlobalOp>(module.lookupSymbol(op.getGlobalAttr().getAttr()));
}

Expr Vocabulary::size(rt::DimAttr dim) {
  auto it = sizes.find(dim);
  if (dim.getSize() == 1 || it == sizes.end())
    return Expr(dim.getSize());
  it->second.used = true;
  return Expr::name(it->second.constant);
}

Expr Vocabulary::product(llvm::ArrayRef<rt::DimAttr> dims) {
  Expr result = 1;
  for (rt::DimAttr dim : dims)
    result = result * size(dim);
  return result;
}

Expr Vocabulary::stride(rt::BufferType type, unsigned position) {
  int64_t value = type.getStrides()[position], inner = 1;
  if (value <= 1)
    return value;
  llvm::ArrayRef<rt::DimAttr> later = type.getDims().drop_front(position + 1);
  for (rt::DimAttr dim : later)
    inner *= dim.getSize();
  return inner == value ? product(later) : Expr(value);
}

Expr Vocabulary::axes(mlir::ArrayAttr axes) {
  if (axes.size() == 1) {
    SizeName &name = axisNames[llvm::cast<mlir::StringAttr>(axes[0])];
    name.used = true;
    return Expr::name(name.constant);
  }
  llvm::SmallVector<std::string> numbers;
  for (mlir::Attribute axis : axes)
    numbers.push_back(std::to_string(llvm::find(mesh.getAxisNames(), axis) - mesh.getAxisNames().begin()));
  return Expr::raw("Axes{" + llvm::join(numbers, ", ") + "}", Precedence::Primary);
}

Expr Vocabulary::offset(rt::GlobalOp global) {
  GlobalName &name = globals[global];
  name.used = true;
  return Expr::name(name.constant);
}

void Vocabulary::print(Printer &p) {
  auto heading = [&](StringRef text) {
    p.gap();
    p.comment(text);
  };
  bool first = true;
  for (auto [number, axis] : llvm::enumerate(axisNames)) {
    if (!axis.second.used)
      continue;
    if (first)
      heading("Axes of the mesh");
    first = false;
    p.line("constexpr Axes " + axis.second.constant + "{" + llvm::Twine(number) + "};");
  }
  first = true;
  for (auto &[dim, name] : sizes) {
    if (!name.used)
      continue;
    if (first)
      heading("Sizes; Local: of one rank's part");
    first = false;
    p.line("constexpr int64_t " + name.constant + " = " + llvm::Twine(dim.getSize()) + ";");
  }
  first = true;
  for (auto &[global, name] : globals) {
    if (!name.used)
      continue;
    if (first)
      heading("Byte offsets in the arena of one rank");
    first = false;
    rt::GlobalOp op = global;
    rt::BufferType type = op.bufferType();
    std::string what = op.getParam() ? op.getParam()->str() : op.getName().str();
    if (op.getRole() == rt::Role::State)
      what = op.getName().str() + " of " + what;
    p.remarked("constexpr int64_t " + name.constant + " = " + llvm::Twine(op.getOffset().value_or(0)) + ";",
               what + shapeText(type) + (type.getElementType().isF32() ? "" : (" " + elementTypeName(type.getElementType()).lower())));
  }
}
