//===- Shrink.cpp - the smallest program that still fails ------------------===//
#include "Shrink.h"
#include "Mtf/IR/Mtf.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
class Shrinker {
public:
  Shrinker(ModuleOp program, llvm::function_ref<bool(ModuleOp)> fails) : best(program.clone()), fails(fails) {}

  OwningOpRef<ModuleOp> run() {
    bool smaller = true;
    while (smaller) {
      smaller = false;
      for (auto take : {&Shrinker::takeOps, &Shrinker::takeRules, &Shrinker::takeAxes, &Shrinker::takeSizes})
        smaller |= (this->*take)();
    }
    return std::move(best);
  }

private:
  /// Keeps `candidate` if it is a program and fails as well.
  bool accept(OwningOpRef<ModuleOp> candidate) {
    if (!candidate || failed(verify(*candidate)) || !fails(*candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  bool takeOps();
  bool takeRules();
  bool takeAxes();
  bool takeSizes();

  OwningOpRef<ModuleOp> best;
  llvm::function_ref<bool(ModuleOp)> fails;
};
} // namespace

static func::FuncOp lossOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("loss"); }

static SmallVector<Operation *> opsOf(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function && !op->hasTrait<OpTrait::IsTerminator>())
      ops.push_back(op);
  });
  return ops;
}

static void eraseDead(func::FuncOp function) {
  SmallVector<Operation *> ops = opsOf(function);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

/// Arguments that nobody uses, with the parameter or the weight's argument that belongs to each.
static void eraseUnused(ModuleOp module) {
  func::FuncOp loss = lossOf(module), weight = module.lookupSymbol<func::FuncOp>("weight");
  unsigned data = weight ? weight.getNumArguments() : 0;
  for (unsigned i = loss.getNumArguments(); i-- > 0;) {
    bool isData = static_cast<bool>(loss.getArgAttr(i, kData)), used = !loss.getArgument(i).use_empty();
    data -= isData;
    if (auto param = loss.getArgAttrOfType<FlatSymbolRefAttr>(i, kParam); param && !used) {
      Operation *declaration = module.lookupSymbol(param.getAttr());
      if (Operation *update = module.lookupSymbol(("update." + param.getValue()).str()))
        update->erase();
      if (declaration)
        declaration->erase();
      (void)loss.eraseArgument(i);
    } else if (isData && !used && weight && weight.getArgument(data).use_empty()) {
      (void)weight.eraseArgument(data);
      (void)loss.eraseArgument(i);
    }
  }
}

/// New data of the type of `value`, before the other data.
static Value addData(ModuleOp module, Value value) {
  static int counter = 0;
  func::FuncOp loss = lossOf(module), weight = module.lookupSymbol<func::FuncOp>("weight");
  MLIRContext *context = module.getContext();
  unsigned place = 0;
  while (place < loss.getNumArguments() && !loss.getArgAttr(place, kData))
    ++place;
  auto attrs = DictionaryAttr::get(context, NamedAttribute(StringAttr::get(context, kData), StringAttr::get(context, "new" + Twine(counter++))));
  (void)loss.insertArgument(place, value.getType(), attrs, loss.getLoc());
  (void)weight.insertArgument(0, value.getType(), attrs, loss.getLoc());
  return loss.getArgument(place);
}

bool Shrinker::takeOps() {
  bool smaller = false;
  for (int64_t i = opsOf(lossOf(*best)).size() - 1; i >= 0; --i) {
    // How a value can be replaced: by one of its operands, or by data.
    for (int64_t way = 0;; ++way) {
      if (i >= static_cast<int64_t>(opsOf(lossOf(*best)).size()))
        break;
      OwningOpRef<ModuleOp> candidate(best->clone());
      Operation *op = opsOf(lossOf(*candidate))[i];
      bool byData = way == static_cast<int64_t>(op->getNumOperands());
      if (way > static_cast<int64_t>(op->getNumOperands()) || op->getNumResults() == 0)
        break;
      bool replaced = true;
      for (Value result : op->getResults()) {
        if (result.use_empty())
          continue;
        if (byData)
          result.replaceAllUsesWith(addData(*candidate, result));
        else if (op->getOperand(way).getType() == result.getType())
          result.replaceAllUsesWith(op->getOperand(way));
        else
          replaced = false;
      }
      // Data may only be introduced where something becomes unused by it.
      if (!replaced || (byData && isa<IndexOp, ConstantOp>(op)))
        continue;
      eraseDead(lossOf(*candidate));
      eraseUnused(*candidate);
      if (accept(std::move(candidate))) {
        smaller = true;
        break;
      }
    }
  }
  return smaller;
}

bool Shrinker::takeRules() {
  bool smaller = false;
  auto layout = (*best)->getAttrOfType<LayoutAttr>(kLayout);
  for (int64_t i = layout.getRules().size() - 1; i >= 0; --i) {
    SmallVector<RuleAttr> rules((*best)->getAttrOfType<LayoutAttr>(kLayout).getRules());
    rules.erase(rules.begin() + i);
    OwningOpRef<ModuleOp> candidate(best->clone());
    (*candidate)->setAttr(kLayout, LayoutAttr::get(candidate->getContext(), rules));
    smaller |= accept(std::move(candidate));
  }
  for (StringRef name : {StringRef(kClip), StringRef(kPrecision), StringRef(kMicrobatches), StringRef(kBatchDim)})
    if ((*best)->hasAttr(name)) {
      OwningOpRef<ModuleOp> candidate(best->clone());
      (*candidate)->removeAttr(name);
      smaller |= accept(std::move(candidate));
    }
  return smaller;
}

bool Shrinker::takeAxes() {
  bool smaller = false;
  for (unsigned i = 0; i < MeshAttr::of(*best).getAxisSizes().size(); ++i)
    for (int64_t size = 1; size < MeshAttr::of(*best).getAxisSizes()[i]; ++size) {
      MeshAttr mesh = MeshAttr::of(*best);
      SmallVector<int64_t> sizes(mesh.getAxisSizes());
      sizes[i] = size;
      OwningOpRef<ModuleOp> candidate(best->clone());
      (*candidate)->setAttr(kMesh, MeshAttr::get(best->getContext(), mesh.getName(), mesh.getAxisNames(), sizes));
      smaller |= accept(std::move(candidate));
    }
  return smaller;
}

/// Every `dim=size` in the text at once; ops whose attributes do not fit refuse.
bool Shrinker::takeSizes() {
  bool smaller = false;
  llvm::MapVector<StringAttr, int64_t> sizes;
  for (Operation *op : opsOf(lossOf(*best)))
    for (Value operand : op->getOperands())
      for (DimAttr dim : tensorType(operand).getDims())
        sizes.insert({dim.getName(), dim.getSize()});
  for (auto [name, size] : sizes)
    for (int64_t less = 1; less < size; ++less) {
      std::string text;
      llvm::raw_string_ostream os(text);
      best->print(os);
      std::string from = (name.getValue() + "=" + Twine(size)).str(), to = (name.getValue() + "=" + Twine(less)).str();
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        if (!llvm::isAlnum(text[at - 1]) && !llvm::isAlnum(text[at + from.size()]))
          text.replace(at, from.size(), to);
      if (accept(parseSourceString<ModuleOp>(text, best->getContext()))) {
        smaller = true;
        break;
      }
    }
  return smaller;
}

OwningOpRef<ModuleOp> meshc::shrinkProgram(ModuleOp program, llvm::function_ref<bool(ModuleOp)> fails) { return Shrinker(program, fails).run(); }
