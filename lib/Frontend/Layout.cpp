//===- Layout.cpp - the mesh and the layout ----------------------------------------===//
#include "Elaborator.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

bool meshc::matchesGlob(StringRef glob, StringRef text) {
  // Iterative, with one way back: to the last star.
  size_t g = 0, t = 0, star = StringRef::npos, mark = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      ++g;
      ++t;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = t;
    } else if (star != StringRef::npos) {
      g = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*')
    ++g;
  return g == glob.size();
}

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

bool Elaborator::readMesh() {
  llvm::MapVector<StringRef, int64_t> axes;
  Loc nowhere, meshLoc;
  if (root.mesh) {
    meshLoc = root.mesh->loc;
    for (const NamedArg &axis : root.mesh->axes) {
      Value size = evaluateStatic(*axis.value, root);
      if (!size)
        return false;
      if (size.getKind() != Value::Kind::Int || size.asInt() < 1) {
        error(axis.value->loc) << "mesh axis '" << axis.name.text << "' must have a size of at least 1, not " << size.describe();
        return false;
      }
      if (!axes.insert({axis.name.text, size.asInt()}).second) {
        error(axis.name.loc) << "mesh axis '" << axis.name.text << "' is declared twice";
        return false;
      }
    }
  }
  StringRef wildcard;
  for (StringRef list : options.meshes) {
    llvm::SmallVector<StringRef> parts;
    list.split(parts, ',');
    for (StringRef part : parts) {
      auto [name, text] = part.split('=');
      name = name.trim();
      text = text.trim();
      int64_t size = 1;
      if (name.empty() || (text != "*" && (text.getAsInteger(10, size) || size < 1))) {
        error(nowhere) << "--mesh " << list << ": '" << part << "' is not axis=size with a size of at least 1, or axis=*";
        return false;
      }
      if (text == "*")
        wildcard = name;
      axes[name] = size;
    }
  }
  int64_t ranks = 1;
  for (auto &[name, size] : axes) {
    std::optional<int64_t> product = llvm::checkedMul(ranks, size);
    if (!product || *product > (int64_t(1) << 31)) {
      error(meshLoc) << "the mesh has more than 2^31 ranks";
      return false;
    }
    ranks = *product;
  }
  if (!wildcard.empty()) {
    if (options.worldSize < 1) {
      error(nowhere) << "--mesh " << wildcard << "=*: the number of ranks is not known; give it with --ranks";
      return false;
    }
    if (options.worldSize % ranks != 0) {
      error(nowhere) << "--mesh " << wildcard << "=*: the other axes have " << ranks << " ranks together, which does not divide " << options.worldSize;
      return false;
    }
    axes[wildcard] = options.worldSize / ranks;
  }
  llvm::SmallVector<StringAttr> names;
  llvm::SmallVector<int64_t> sizes;
  for (auto &[name, size] : axes) {
    names.push_back(attr(name));
    sizes.push_back(size);
  }
  mesh = mtf::MeshAttr::get(context, attr(root.mesh ? root.mesh->name.text : "mesh"), names, sizes);
  return true;
}

bool Elaborator::readMicrobatches() {
  if (!root.layout)
    return true;
  const LayoutItem *given = nullptr;
  for (const LayoutItem &item : root.layout->items) {
    if (item.kind != LayoutItemKind::Microbatches)
      continue;
    if (given) {
      error(item.loc) << "'microbatches' is given twice in this layout";
      return false;
    }
    given = &item;
  }
  if (!given)
    return true;
  Value count = evaluateStatic(*given->count, root);
  if (!count)
    return false;
  if (count.getKind() != Value::Kind::Int || count.asInt() < 1) {
    error(given->count->loc) << "the number of microbatches must be at least 1, not " << count.describe();
    return false;
  }
  auto batch = root.dims.find("batch");
  if (batch == root.dims.end()) {
    if (count.asInt() == 1)
      return true;
    error(given->loc) << "microbatches divide the dimension 'batch', which this program does not declare";
    return false;
  }
  Value size = evaluateSetting(root, batch->first, batch->second, /*isDim=*/true, /*part=*/false);
  if (!size)
    return false;
  if (size.asInt() % count.asInt() != 0) {
    Error message = error(given->count->loc);
    message << count.asInt() << " microbatches do not divide 'batch', which is " << size.asInt();
    message.note(batch->second.loc) << "'batch' is declared here";
    return false;
  }
  microbatches = count.asInt();
  return true;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

bool Elaborator::checkAxes(llvm::ArrayRef<Ident> axes, llvm::SmallVector<StringAttr> &into) {
  llvm::SmallVector<StringRef> known;
  for (StringAttr axis : mesh.getAxisNames())
    known.push_back(axis.getValue());
  for (const Ident &axis : axes) {
    if (axis.text == "none" && axes.size() == 1)
      return true;
    if (!mesh.hasAxis(attr(axis.text))) {
      Error message = error(axis.loc);
      message << "unknown mesh axis '" << axis.text << "'" << didYouMean(axis.text, known);
      std::string list;
      for (auto [name, size] : llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
        list += (list.empty() ? "'" : ", '") + name.getValue().str() + "' (" + std::to_string(size) + ")";
      message.note(root.mesh ? root.mesh->loc : axis.loc) << "mesh '" << mesh.getName().getValue() << "' has "
                                                          << (list.empty() ? "no axes" : "axes " + list);
      return false;
    }
    if (llvm::is_contained(into, attr(axis.text))) {
      error(axis.loc) << "mesh axis '" << axis.text << "' is listed twice";
      return false;
    }
    into.push_back(attr(axis.text));
  }
  return true;
}

static std::optional<mtf::RuleScope> stateScope(StringRef name) {
  if (name == "optimizer")
    return mtf::RuleScope::StateOptimizer;
  if (name == "gradients")
    return mtf::RuleScope::StateGradients;
  if (name == "params")
    return mtf::RuleScope::StateParams;
  return std::nullopt;
}

std::optional<mtf::RuleScope> Elaborator::scopeOf(const LayoutItem &item) {
  static constexpr StringRef states[] = {"optimizer", "gradients", "params"}, scopes[] = {"values", "params", "state"};
  if (item.kind == LayoutItemKind::Pin)
    return mtf::RuleScope::Pin;
  if (item.kind == LayoutItemKind::State || item.scope.text == "state") {
    if (std::optional<mtf::RuleScope> scope = stateScope(item.scopeArg.text))
      return scope;
    return error(item.scopeArg.text.empty() ? item.scope.loc : item.scopeArg.loc)
           << "unknown state '" << item.scopeArg.text << "'" << didYouMean(item.scopeArg.text, states)
           << " (one of state(optimizer), state(gradients), state(params))";
  }
  if (item.scope.text.empty())
    return mtf::RuleScope::All;
  if (item.scope.text == "values")
    return mtf::RuleScope::Values;
  if (item.scope.text == "params")
    return mtf::RuleScope::Params;
  return error(item.scope.loc) << "a rule is narrowed by 'in values', 'in params' or 'in state(…)', not 'in " << item.scope.text << "'"
                               << didYouMean(item.scope.text, scopes);
}

void Elaborator::readLayout() {
  if (!root.layout)
    return;
  llvm::StringMap<Loc> words;
  for (const LayoutItem &item : root.layout->items) {
    if (item.kind == LayoutItemKind::Microbatches)
      continue;
    if (item.kind == LayoutItemKind::Word) {
      readWord(item);
      if (!words.try_emplace(item.scope.text, item.loc).second)
        error(item.loc) << "'" << item.scope.text << "' is given twice in this layout";
      continue;
    }
    std::optional<mtf::RuleScope> scope = scopeOf(item);
    llvm::SmallVector<StringAttr> dims, axes;
    if (!scope || !checkAxes(item.axes, axes))
      continue;
    for (const Ident &dim : item.dims)
      dims.push_back(attr(dim.text));
    if (*scope == mtf::RuleScope::Pin)
      pinPaths.push_back(item.path.text.str());
    checkDivides(item, axes);
    layoutRules.push_back({item.loc, mtf::RuleAttr::get(context, dims, axes, *scope, attr(item.path.text), location(item.loc))});
  }
}

/// `schedule one_f_one_b`, `recompute selective`, `recompute "20 GiB"`: kept for the passes that obey them.
void Elaborator::readWord(const LayoutItem &item) {
  static constexpr StringRef schedules[] = {"gpipe", "one_f_one_b", "interleaved", "zero_bubble"}, recomputes[] = {"none", "selective", "full"},
                             offloads[] = {"none", "optimizer", "activations"};
  StringRef word = item.scope.text, value = item.scopeArg.text;
  bool isRecompute = word == "recompute";
  llvm::ArrayRef<StringRef> known = word == "schedule" ? schedules : isRecompute ? llvm::ArrayRef(recomputes) : offloads;
  if (isRecompute && item.isQuoted) {
    if (!mtf::parseMemoryBudget(value)) {
      error(item.scopeArg.loc) << "'" << value << "' is no amount of memory, such as \"20 GiB\" per rank or \"60 %\" of what it takes without recomputation";
      return;
    }
    (*moduleOp)->setAttr(mtf::kRecomputeLoc, location(item.scopeArg.loc));
  } else if (item.isQuoted || !llvm::is_contained(known, value)) {
    error(item.scopeArg.loc) << "unknown " << word << " '" << value << "'" << didYouMean(value, known) << " (one of "
                             << llvm::join(known, ", ") << (isRecompute ? ", or memory: \"20 GiB\", \"60 %\")" : ")");
    return;
  }
  if (word == "offload" && value != "none") {
    error(item.loc) << "'offload " << value << "' is not available: everything stays in a rank's arena";
    return;
  }
  (*moduleOp)->setAttr(("mtf." + word).str(), builder.getStringAttr(value));
}

/// Data ranks divide the batch: padding it would weigh examples that do not exist.
void Elaborator::checkDivides(const LayoutItem &item, llvm::ArrayRef<StringAttr> axes) {
  auto batch = root.dims.find("batch");
  bool splitsBatch = llvm::any_of(item.dims, [](const Ident &dim) { return dim.text == "batch"; });
  if (!splitsBatch || batch == root.dims.end())
    return;
  Value size = evaluateSetting(root, batch->first, batch->second, true, true);
  int64_t ranks = mesh.shardCount(axes);
  if (!size || size.asInt() % ranks == 0)
    return;
  Error message = error(item.loc);
  message << ranks << " ranks do not divide " << (microbatches > 1 ? "a microbatch" : "'batch'") << ", which has " << size.asInt() << " sequences";
  message.note(batch->second.loc) << "'batch' is declared here";
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

mlir::Value Elaborator::makeTap(mlir::Value value, StringRef name, Loc loc) {
  taps.insert(name);
  return mtf::TapOp::create(builder, mlir::NameLoc::get(attr(name.rsplit('.').second.empty() ? name : name.rsplit('.').second), location(loc)),
                            value.getType(), attr(name), value);
}

Value Elaborator::tapIfPinned(Value value, StringRef name, Loc loc) {
  if (!value.isTensor() || pinPaths.empty())
    return value;
  std::string path = childPath(name);
  bool pinned = llvm::any_of(pinPaths, [&](StringRef glob) { return matchesGlob(glob, path); });
  return pinned ? Value::ofTensor(makeTap(value.asTensor(), path, loc)) : value;
}

Value Elaborator::pin(mlir::Value value, llvm::ArrayRef<Arrow> arrows, StringRef name, Loc loc) {
  std::string path = childPath(name);
  bool isNew = !taps.contains(path);
  for (const Arrow &arrow : arrows) {
    Names dims = namesOf(arrow.from.text);
    for (StringAttr dim : dims)
      if (!expectDim(arrow.from.loc, mtf::tensorType(value), dim, nullptr))
        return {};
    llvm::SmallVector<StringAttr> axes;
    if (!checkAxes({arrow.to.name}, axes))
      return {};
    if (isNew)
      layoutRules.push_back({loc, mtf::RuleAttr::get(context, dims, axes, mtf::RuleScope::Pin, attr(path), location(arrow.from.loc))});
  }
  return Value::ofTensor(makeTap(value, path, loc));
}

//===----------------------------------------------------------------------===//
// Rules that match nothing
//===----------------------------------------------------------------------===//

namespace {
/// What a program has that rules can speak of.
struct Subjects {
  llvm::DenseSet<StringAttr> valueDims, paramDims;
};
} // namespace

static void collectDims(mlir::Type type, llvm::DenseSet<StringAttr> &into) {
  if (auto tensor = llvm::dyn_cast<mtf::NamedTensorType>(type))
    for (mtf::DimAttr dim : tensor.getDims())
      into.insert(dim.getName());
}

void Elaborator::warnUnusedRules(mlir::ModuleOp module) {
  Subjects subjects;
  module.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      collectDims(type, subjects.valueDims);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        for (mlir::Type type : block.getArgumentTypes())
          collectDims(type, subjects.valueDims);
  });
  for (auto &[path, info] : params)
    collectDims(info.type, subjects.paramDims);
  llvm::SmallVector<StringRef> known;
  for (StringAttr dim : dimOrder)
    known.push_back(dim.getValue());
  for (auto &[loc, rule] : layoutRules) {
    StringRef path = rule.getPath().getValue();
    if (!path.empty()) {
      bool matches = llvm::any_of(params, [&](auto &entry) { return matchesGlob(path, entry.first.getValue()); }) ||
                     llvm::any_of(taps.keys(), [&](StringRef tap) { return matchesGlob(path, tap); });
      if (!matches) {
        if (rule.getScope() == mtf::RuleScope::Pin)
          error(loc) << "no parameter or value is called '" << path << "'";
        else
          diagnostics.warning(loc) << "this rule matches nothing: no parameter is called '" << path << "'";
      }
      continue;
    }
    bool paramsOnly = rule.getScope() == mtf::RuleScope::Params;
    const llvm::DenseSet<StringAttr> &dims = paramsOnly ? subjects.paramDims : subjects.valueDims;
    for (StringAttr dim : rule.getDims())
      if (!dims.contains(dim))
        diagnostics.warning(loc) << "this rule matches nothing: no " << (paramsOnly ? "parameter" : "tensor") << " has the dimension '"
                                 << dim.getValue() << "'" << didYouMean(dim.getValue(), known);
  }
}
