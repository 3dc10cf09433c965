//===- Elaborator.cpp - the module and its functions -----------------------------===//
#include "Elaborator.h"
#include "mlir/IR/Verifier.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

Elaborator::Elaborator(Program &program, ProgramModule &root, const FrontendOptions &options, Diagnostics &diagnostics)
    : diagnostics(diagnostics), context(diagnostics.getContext()), builder(context), f32(builder.getF32Type()), i32(builder.getI32Type()),
      i1(builder.getI1Type()), program(program), root(root), options(options) {}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// One place is reported once: a function that is expanded twice has its errors twice.
Error Elaborator::error(Loc loc) {
  std::string place = std::to_string(loc.file) + ":" + std::to_string(loc.line) + ":" + std::to_string(loc.column);
  bool repeated = loc.line && !reportedPlaces.insert(place).second;
  if (!repeated && !diagnostics.tooMany())
    return Error(*this, diagnostics.error(loc), loc, /*shown=*/true);
  mlir::InFlightDiagnostic dropped = mlir::emitError(location(loc));
  dropped.abandon();
  return Error(*this, std::move(dropped), loc, /*shown=*/false);
}

Error::~Error() {
  if (shown)
    elaborator.addCallNotes(diagnostic, loc);
}

mlir::Diagnostic &Error::note(Loc loc) {
  if (shown)
    return diagnostic.attachNote(elaborator.location(loc));
  return unshownNote.emplace(elaborator.location(loc), mlir::DiagnosticSeverity::Note);
}

/// The calls that lead to an error inside a function, innermost first.
void Elaborator::addCallNotes(mlir::InFlightDiagnostic &diagnostic, Loc loc) {
  constexpr unsigned kMaxNotes = 6;
  unsigned count = 0;
  for (const Frame *inner : llvm::reverse(frames)) {
    if (!inner->fn || !inner->caller)
      continue;
    // Not where the error itself stands in the call; and a model that no loss calls is expanded at its own name.
    Loc call = inner->callLoc;
    bool says = (call.file != loc.file || call.line != loc.line) && call != inner->fn->name.loc;
    if (says && count++ < kMaxNotes)
      diagnostic.attachNote(location(call)) << "in this call of '" << inner->fn->name.text << "'";
  }
}

//===----------------------------------------------------------------------===//
// Functions of the module
//===----------------------------------------------------------------------===//

FunctionState &Elaborator::beginFunction(FunctionState::Kind kind, StringRef name) {
  function = std::make_unique<FunctionState>();
  function->kind = kind;
  function->name = name.str();
  mlir::Block &entry = function->region.emplaceBlock();
  builder.setInsertionPointToEnd(&entry);
  freeValues.clear();
  return *function;
}

mlir::BlockArgument Elaborator::addArgument(mlir::Type type, StringRef attribute, mlir::Attribute value, mlir::Location loc) {
  mlir::BlockArgument argument = function->region.front().addArgument(type, loc);
  function->arguments.push_back({argument, builder.getNamedAttr(attribute, value)});
  return argument;
}

/// Creates the function: parameters first, then the other arguments, whatever the order they were asked for.
void Elaborator::finishFunction(llvm::ArrayRef<mlir::Value> results, llvm::ArrayRef<StringRef> resultNames) {
  llvm::SmallVector<mlir::BlockArgument> arguments;
  llvm::SmallVector<mlir::Attribute> argumentAttrs, resultAttrs;
  auto dictionary = [&](mlir::NamedAttribute attribute) { return builder.getDictionaryAttr(attribute); };
  for (auto &[path, argument] : function->params) {
    arguments.push_back(argument);
    argumentAttrs.push_back(dictionary(builder.getNamedAttr(mtf::kParam, mlir::FlatSymbolRefAttr::get(path))));
  }
  for (auto &[argument, attribute] : function->arguments) {
    arguments.push_back(argument);
    argumentAttrs.push_back(dictionary(attribute));
  }
  for (StringRef name : resultNames)
    resultAttrs.push_back(dictionary(builder.getNamedAttr(mtf::kResult, attr(name))));

  mlir::Block &executed = function->region.front();
  builder.setInsertionPointToEnd(&executed);
  mlir::func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  builder.setInsertionPointToEnd(moduleOp->getBody());
  llvm::SmallVector<mlir::Type> types;
  for (mlir::BlockArgument argument : arguments)
    types.push_back(argument.getType());
  auto type = builder.getFunctionType(types, mlir::ValueRange(results).getTypes());
  auto func = mlir::func::FuncOp::create(builder, location({root.file->index, 1, 1}), function->name, type);
  func.setArgAttrsAttr(builder.getArrayAttr(argumentAttrs));
  func.setResAttrsAttr(builder.getArrayAttr(resultAttrs));
  mlir::Block *entry = func.addEntryBlock();
  for (auto [from, to] : llvm::zip(arguments, entry->getArguments())) {
    to.setLoc(from.getLoc());
    from.replaceAllUsesWith(to);
  }
  entry->getOperations().splice(entry->end(), executed.getOperations());
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

void Elaborator::buildParams() {
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(moduleOp->getBody());
  auto strings = [&](const Names &names) { return builder.getArrayAttr(llvm::SmallVector<mlir::Attribute>(names.begin(), names.end())); };
  for (auto &[path, info] : params) {
    auto init = mtf::InitAttr::get(context, info.init.getInitKind(), builder.getF64FloatAttr(info.init.asDouble()));
    bool trains = !info.group.empty();
    auto update = trains ? mlir::FlatSymbolRefAttr::get(context, "update." + info.path) : mlir::FlatSymbolRefAttr();
    auto param = mtf::ParamOp::create(builder, mlir::NameLoc::get(path, location(info.loc)), path, mlir::TypeAttr::get(info.type), strings(info.order), init,
                         strings(info.fanIn), strings(info.fanOut), info.noArrow ? builder.getUnitAttr() : mlir::UnitAttr(),
                         attr(trains ? info.group : "default"), update, strings(info.states));
    if (info.isPinned)
      param->setAttr(mtf::kPinnedType, mlir::TypeAttr::get(info.type.getElementType()));
  }
}

/// precision, clip, steps.
void Elaborator::readTrainSettings() {
  mlir::Operation *op = *moduleOp;
  static constexpr StringRef precisions[] = {"f32", "bf16"};
  const TrainDecl *train = root.train;
  StringRef precision = train && !train->precision.text.empty() ? train->precision.text : "f32";
  if (!llvm::is_contained(precisions, precision))
    error(train->precision.loc) << "unknown precision '" << precision << "'" << didYouMean(precision, precisions) << " (f32 or bf16)";
  op->setAttr(mtf::kPrecision, attr(precision));
  if (!train)
    return;
  Frame scope;
  scope.module = &root;
  FrameScope enter(*this, scope);
  if (train->clipValue) {
    static constexpr StringRef clips[] = {"global_norm"};
    if (train->clip.text != clips[0])
      error(train->clip.loc) << "unknown clip '" << train->clip.text << "'" << didYouMean(train->clip.text, clips) << " (write clip global_norm 1.0)";
    std::optional<double> bound = evaluateNumber(*train->clipValue, "the bound of the gradient's norm");
    if (bound && !(*bound > 0))
      error(train->clipValue->loc) << "the bound of the gradient's norm must be positive, not " << *bound;
    else if (bound)
      op->setAttr(mtf::kClip, builder.getF64FloatAttr(*bound));
  }
  if (train->steps) {
    Value steps = evaluate(*train->steps);
    if (steps && (steps.getKind() != Value::Kind::Int || steps.asInt() < 1 || steps.asInt() > INT32_MAX))
      error(train->steps->loc) << "the number of steps must be a whole number from 1 to 2^31 - 1, not " << steps.describe();
    else if (steps)
      op->setAttr(mtf::kSteps, builder.getI64IntegerAttr(steps.asInt()));
  }
}

/// All dims and constants of all files, so that a wrong one is reported even if nothing uses it.
void Elaborator::evaluateSettings() {
  for (const ProgramModule &each : program.allModules()) {
    auto &module = const_cast<ProgramModule &>(each);
    for (auto &[name, setting] : module.dims) {
      dimOrder.insert(attr(name));
      evaluateSetting(module, name, setting, /*isDim=*/true, /*part=*/false);
    }
    for (auto &[name, setting] : module.constants)
      evaluateSetting(module, name, setting, /*isDim=*/false, /*part=*/false);
  }
}

mlir::OwningOpRef<mlir::ModuleOp> Elaborator::run() {
  moduleOp = mlir::ModuleOp::create(location({root.file->index, 1, 1}));
  evaluateSettings();
  if (!readMesh() || !readMicrobatches() || diagnostics.numErrors())
    return nullptr;
  readLayout();
  readTrainSettings();
  readData();
  if (root.train) {
    buildLoss(FunctionState::Kind::Loss);
    // What is wrong in the loss is wrong again in the functions that share it.
    if (diagnostics.numErrors())
      return nullptr;
    buildWeight();
    buildLoss(FunctionState::Kind::Eval);
  } else {
    for (auto &entry : root.functions)
      if (entry.second->isModel && (!model || entry.second->loc.line < model->loc.line))
        model = entry.second;
    if (!model)
      error({root.file->index, 1, 1}) << "the program has neither a 'train' block nor a 'model'";
  }
  if (model && !diagnostics.numErrors())
    buildForward();
  if (root.train && !diagnostics.numErrors())
    buildUpdates();
  if (root.train && root.eval && !diagnostics.numErrors())
    buildMetrics();
  if (diagnostics.numErrors())
    return nullptr;
  buildParams();
  warnUnusedRules(*moduleOp);
  if (diagnostics.numErrors())
    return nullptr;
  setModuleAttributes();
  if (mlir::failed(mlir::verify(*moduleOp)))
    return nullptr;
  return std::move(moduleOp);
}

/// The number of tokens that may occur in a data input: the size of the table it indexes, or 0.
static int64_t vocabularyOf(mlir::ModuleOp module, mlir::Attribute name) {
  int64_t size = 0;
  module.walk([&](mtf::GatherOp gather) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(gather.getIndices());
    auto function = argument ? llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
    if (function && function.getArgAttr(argument.getArgNumber(), mtf::kData) == name)
      size = mtf::tensorType(gather.getTable()).dimSize(gather.getOverAttr());
  });
  return size;
}

/// What the trainer of the program is told besides the functions.
void Elaborator::setRunAttributes() {
  mlir::ModuleOp module = *moduleOp;
  if (model)
    module->setAttr(mtf::kName, attr(model->name.text));
  llvm::SmallVector<mlir::NamedAttribute> constants;
  for (auto &[name, setting] : root.dims)
    if (setting.states[0] == Setting::State::Done)
      constants.push_back(builder.getNamedAttr(name, attr(std::to_string(setting.values[0].asInt()))));
  module->setAttr(mtf::kConstants, builder.getDictionaryAttr(constants));
  // Token sources: which ids there are, unless the program says so.
  auto sources = module->getAttrOfType<mlir::ArrayAttr>(mtf::kDataSources);
  if (!sources)
    return;
  llvm::SmallVector<mlir::Attribute> described;
  for (auto source : sources.getAsRange<mlir::DictionaryAttr>()) {
    auto options = source.getAs<mlir::DictionaryAttr>("options");
    auto names = source.getAs<mlir::ArrayAttr>("names");
    int64_t size = names.empty() ? 0 : vocabularyOf(module, names[0]);
    if (size != 0 && !options.contains("vocab")) {
      mlir::NamedAttrList list(options);
      list.set("vocab", builder.getI64IntegerAttr(size));
      mlir::NamedAttrList all(source);
      all.set("options", list.getDictionary(context));
      source = all.getDictionary(context);
    }
    described.push_back(source);
  }
  module->setAttr(mtf::kDataSources, builder.getArrayAttr(described));
}

void Elaborator::setModuleAttributes() {
  mlir::Operation *op = *moduleOp;
  llvm::SmallVector<mlir::Attribute> order(dimOrder.begin(), dimOrder.end());
  llvm::SmallVector<mtf::RuleAttr> rules;
  for (auto &[loc, rule] : layoutRules)
    rules.push_back(rule);
  op->setAttr(mtf::kMesh, mesh);
  op->setAttr(mtf::kDimOrder, builder.getArrayAttr(order));
  op->setAttr(mtf::kLayout, mtf::LayoutAttr::get(context, rules));
  op->setAttr(mtf::kMicrobatches, builder.getI64IntegerAttr(microbatches));
  if (root.dims.contains("batch"))
    op->setAttr(mtf::kBatchDim, attr("batch"));
  setRunAttributes();
}

//===----------------------------------------------------------------------===//
// The front end's functions
//===----------------------------------------------------------------------===//

mlir::OwningOpRef<mlir::ModuleOp> meshc::parseAndElaborate(llvm::SourceMgr &sources, mlir::MLIRContext &context, const FrontendOptions &options) {
  Diagnostics diagnostics(&context);
  Program program(sources, options, diagnostics);
  ProgramModule *root = program.load();
  return root ? Elaborator(program, *root, options, diagnostics).run() : nullptr;
}

mlir::LogicalResult meshc::printAst(llvm::SourceMgr &sources, mlir::MLIRContext &context, llvm::raw_ostream &os) {
  Diagnostics diagnostics(&context);
  FrontendOptions options;
  Program program(sources, options, diagnostics);
  ast::File *file = program.parseRoot();
  if (!file)
    return mlir::failure();
  ast::print(*file, os);
  return mlir::success();
}
