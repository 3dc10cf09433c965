//===- ShardingRules.cpp - the layout's rules on a function's values -------===//
#include "ShardingRules.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace meshc::mtf;

std::string meshc::mtf::describePlace(Location loc) {
  if (auto place = loc->findInstanceOf<FileLineColLoc>())
    return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
  return "";
}

/// Whether `axis` is free and can split `dim` further.
static bool canAppend(const ShardingGraph &graph, const Variable &variable, const DimSplit &dim, Axis axis) {
  DimAttr type = tensorType(variable.example).findDim(dim.name);
  return !(variable.used() & bit(axis)) && type &&
         graph.canSplit(dim.name, type.getSize(), graph.mesh.shards(dim.axes) * graph.mesh.size(axis));
}

/// The rule as the user wrote it: `heads, ff -> model`.
static std::string describeRule(RuleAttr rule) {
  auto join = [](ArrayRef<StringAttr> names) {
    return llvm::join(llvm::map_range(names, [](StringAttr name) { return name.str(); }), ", ");
  };
  std::string text, narrowed = rule.getDims().empty() ? "" : join(rule.getDims()) + " in ";
  switch (rule.getScope()) {
  case RuleScope::StateOptimizer: text = narrowed + "state(optimizer)"; break;
  case RuleScope::StateGradients: text = narrowed + "state(gradients)"; break;
  case RuleScope::StateParams:    text = narrowed + "state(params)"; break;
  case RuleScope::Values:         text = join(rule.getDims()) + " in values"; break;
  case RuleScope::Params:         text = join(rule.getDims()) + " in params"; break;
  case RuleScope::All:
  case RuleScope::Pin:            text = join(rule.getDims()); break;
  }
  if (!rule.getPath().empty())
    text = "\"" + rule.getPath().str() + "\": " + text;
  return text + " -> " + (rule.getAxes().empty() ? "none" : join(rule.getAxes()));
}

static std::string describeDecision(StringAttr dim, StringAttr axis, RuleAttr rule) {
  std::string place = describePlace(rule.getLoc());
  return (dim.getValue() + ": " + axis.getValue() + (rule.getScope() == RuleScope::Pin ? " by pin '" : " by rule '") + describeRule(rule) + "'" +
          (place.empty() ? "" : " (" + place + ")"))
      .str();
}

FailureOr<ShardingRules> ShardingRules::create(ModuleOp module, const Mesh &mesh, const llvm::SmallDenseSet<StringAttr> &loopDims) {
  ShardingRules result;
  result.module = module;
  auto layout = module->getAttrOfType<LayoutAttr>(kLayout);
  if (!layout)
    return result;
  bool sound = true;
  for (RuleAttr rule : layout.getRules()) {
    Location loc = rule.getLoc();
    for (StringAttr axis : rule.getAxes()) {
      if (!mesh.getAttr().hasAxis(axis)) {
        emitError(loc) << "rule '" << describeRule(rule) << "' names mesh axis '" << axis.getValue() << "', which mesh '"
                       << mesh.getAttr().getName().getValue() << "' lacks";
        sound = false;
      }
      for (StringAttr dim : rule.getDims())
        if (loopDims.contains(dim) && mesh.find(axis)) {
          emitError(loc) << "rule '" << describeRule(rule) << "' splits dimension '" << dim.getValue()
                         << "', over which a 'repeat' runs: its iterations follow one another, so it stays whole on every rank";
          sound = false;
        }
    }
    if (!rule.getPath().empty()) {
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(rule.getPath());
      if (!glob) {
        emitError(loc) << "'" << rule.getPath().getValue() << "' is no pattern of paths: " << llvm::toString(glob.takeError());
        sound = false;
      }
    }
    result.rules.push_back(rule);
  }
  result.matched.resize(result.rules.size());
  if (!sound)
    return failure();
  return result;
}

static bool isStateScope(RuleScope scope) {
  return scope == RuleScope::StateOptimizer || scope == RuleScope::StateGradients || scope == RuleScope::StateParams;
}

bool ShardingRules::concerns(const RuleAttr &rule, const Variable &variable) const {
  bool isState = variable.kind == Variable::State;
  bool isParam = variable.kind == Variable::Param || variable.paramLike || isState;
  switch (rule.getScope()) {
  case RuleScope::Values:         if (isParam) return false; break;
  case RuleScope::Params:         if (!isParam) return false; break;
  // Each of these goes on with the one before it. Parameters are split in storage only.
  case RuleScope::StateOptimizer: if (!isState) return false; break;
  case RuleScope::StateGradients:
  case RuleScope::StateParams:    if (!isState && !variable.gradientLike) return false; break;
  case RuleScope::Pin:
  case RuleScope::All:            break;
  }
  return matchesPath(rule, variable);
}

bool ShardingRules::matchesPath(RuleAttr rule, const Variable &variable) {
  if (rule.getPath().empty())
    return true;
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(rule.getPath());
  return glob && glob->match(variable.path);
}

bool ShardingRules::hasRule(const Variable &variable, StringAttr dim) const {
  return llvm::any_of(rules, [&](RuleAttr rule) { return llvm::is_contained(rule.getDims(), dim) && concerns(rule, variable); });
}

LogicalResult ShardingRules::applyPins(ShardingGraph &graph, Variable &variable) {
  for (auto [i, rule] : llvm::enumerate(rules)) {
    if (rule.getScope() != RuleScope::Pin || !concerns(rule, variable))
      continue;
    for (StringAttr name : rule.getDims()) {
      DimSplit *dim = variable.find(name);
      if (!dim)
        continue;
      matched.set(i);
      dim->closed = true;
      for (StringAttr axisName : rule.getAxes()) {
        std::optional<Axis> axis = graph.mesh.find(axisName);
        if (!axis)
          continue;
        if (variable.used() & bit(*axis)) {
          InFlightDiagnostic diag = emitError(rule.getLoc())
                                    << "pin '" << describeRule(rule) << "' cannot hold: mesh axis '" << axisName.getValue()
                                    << "' splits another dimension of '" << variable.path << "' already";
          diag.attachNote(variable.example.getLoc()) << "the tensor is " << variable.example.getType();
          for (const std::string &reason : variable.reasons)
            diag.attachNote() << reason;
          return failure();
        }
        variable.append(*dim, *axis, kPinned, describeDecision(name, axisName, rule));
      }
    }
  }
  return success();
}

void ShardingRules::applyState(ShardingGraph &graph, Variable &variable, unsigned index) {
  RuleAttr rule = rules[index];
  auto named = [&](const DimSplit &dim) { return rule.getDims().empty() || llvm::is_contained(rule.getDims(), dim.name); };
  if (llvm::any_of(variable.dims, named))
    matched.set(index);
  for (StringAttr axisName : rule.getAxes()) {
    std::optional<Axis> axis = graph.mesh.find(axisName);
    if (!axis || (variable.used() & bit(*axis)))
      continue;
    DimSplit *best = nullptr;
    double bestPadding = 0;
    int64_t bestSize = 0;
    for (DimSplit &dim : variable.dims) {
      if (!named(dim) || graph.loopDims.contains(dim.name) || dim.closed || !canAppend(graph, variable, dim, *axis))
        continue;
      int64_t size = tensorType(variable.example).dimSize(dim.name), shards = graph.mesh.shards(dim.axes) * graph.mesh.size(*axis);
      double padding = static_cast<double>(llvm::alignTo(size, shards)) / size;
      // Dims are in the order of their names, so the first of equal ones stays.
      if (!best || padding < bestPadding || (padding == bestPadding && size > bestSize))
        best = &dim, bestPadding = padding, bestSize = size;
    }
    if (!best)
      continue;
    variable.append(*best, *axis, index, describeDecision(best->name, axisName, rule));
    if (variable.gradientLike)
      variable.complete |= bit(*axis);
  }
}

void ShardingRules::applyRule(ShardingGraph &graph, Variable &variable, unsigned index) {
  RuleAttr rule = rules[index];
  if (isStateScope(rule.getScope()))
    return applyState(graph, variable, index);
  for (StringAttr name : rule.getDims()) {
    DimSplit *dim = variable.find(name);
    if (!dim)
      continue;
    matched.set(index);
    if (dim->closed)
      continue;
    for (StringAttr axisName : rule.getAxes())
      if (std::optional<Axis> axis = graph.mesh.find(axisName); axis && canAppend(graph, variable, *dim, *axis))
        variable.append(*dim, *axis, index, describeDecision(name, axisName, rule));
  }
}

LogicalResult ShardingRules::apply(ShardingGraph &graph) {
  for (auto [v, variable] : llvm::enumerate(graph.variables)) {
    if (failed(applyPins(graph, variable)))
      return failure();
    if (variable.kind == Variable::Param &&
        llvm::any_of(rules, [&](RuleAttr rule) { return rule.getScope() == RuleScope::StateParams && matchesPath(rule, variable); }))
      graph.stored.emplace(v, variable);
  }
  for (auto [i, rule] : llvm::enumerate(rules)) {
    if (rule.getScope() == RuleScope::Pin)
      continue;
    for (Variable &variable : graph.variables)
      if (concerns(rule, variable))
        applyRule(graph, variable, i);
    for (auto &[index, storage] : graph.stored)
      if (concerns(rule, storage) || (rule.getScope() == RuleScope::StateParams && matchesPath(rule, storage)))
        applyRule(graph, storage, i);
  }
  for (auto it = graph.stored.begin(); it != graph.stored.end();) {
    bool differs = it->second.used() != graph.variables[it->first].used();
    it = differs ? std::next(it) : graph.stored.erase(it);
  }
  return success();
}

void ShardingRules::reportUnmatched() const {
  for (auto [i, rule] : llvm::enumerate(rules))
    if (!matched.test(i))
      emitWarning(rule.getLoc()) << "layout rule '" << describeRule(rule) << "' matches no tensor";
}
