//===- Elaborator.h - semantic analysis and IR generation in one expansion ------===//
//
// The elaborator interprets the program symbolically: a call is expanded where it stands, with concrete dimensions and static values, and
// each operation on tensors becomes one of the IR. `repeat` alone stays a loop. One traversal therefore checks a program and
// builds it, and a function that is never called is never checked beyond its syntax.
//
//   Dims.cpp         sizes, names of dimensions, types            Calls.cpp       binding of arguments, labels, hygiene
//   Expressions.cpp  names, members, indexing                     Statements.cpp  let, if, return, annotations
//   Arithmetic.cpp   static folding, elementwise, broadcasting    Params.cpp      parameters and their paths
//   Builtins*.cpp    the table of built-in functions              Repeat.cpp      loops
//   TrainBlock.cpp   loss, weight, eval, optimizers               Layout.cpp      mesh, rules, pins
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_FRONTEND_ELABORATOR_H
#define MESHC_LIB_FRONTEND_ELABORATOR_H

#include "Program.h"
#include "Value.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace meshc {

using Dims = llvm::SmallVector<mtf::DimAttr, 4>;
using Names = llvm::SmallVector<mlir::StringAttr, 4>;

struct Variable {
  Value value;
  ast::Loc loc;
};

/// The use of a call label in one scope.
struct LabelUse {
  const void *callee;
  std::string calleeName;
  ast::Loc loc;
  bool isExplicit;
  /// The call made parameters or random numbers, so that its path means something.
  bool hasState;
};

/// One call being expanded (or a block of the file, for which `fn` is null).
struct Frame {
  const ast::FnDecl *fn = nullptr;
  ProgramModule *module = nullptr;
  Frame *caller = nullptr;
  ast::Loc callLoc;
  /// "gpt.block.attn"
  std::string path;
  std::vector<llvm::StringMap<Variable>> scopes = std::vector<llvm::StringMap<Variable>>(1);
  /// Names of dims that mean something else here than globally: formals, and dims declared in the body.
  llvm::StringMap<Dims> dims;
  /// Dims of the arguments; a local dim of the same name is primed.
  llvm::SmallDenseSet<mlir::StringAttr> present;
  /// (primed, plain) names that this call made.
  llvm::SmallVector<std::pair<mlir::StringAttr, mlir::StringAttr>> primed;
  llvm::StringMap<LabelUse> labels;
  bool hasState = false;
  /// `let`s of a train block: evaluated when first used, in any order.
  llvm::StringMap<const ast::LetStmt *> lazyLets;
  std::optional<Value> result;
  /// Dims that an annotation allows an outer product to make.
  const llvm::SmallDenseSet<mlir::StringAttr> *annotated = nullptr;
  /// The same of the result's annotation, for `return`.
  const llvm::SmallDenseSet<mlir::StringAttr> *annotatedResult = nullptr;
  ast::Loc resultLoc;
};

/// A loop being expanded.
struct Loop {
  mtf::DimAttr dim;
  mlir::Region region;
  llvm::SmallVector<mlir::Value> scanned;
  llvm::SmallVector<mlir::BlockArgument> slices;
  llvm::StringMap<mlir::BlockArgument> paramSlices;
  mlir::BlockArgument index;
  /// Whose body the loop stands in.
  const Frame *frame = nullptr;
  const ast::NextStmt *nextStmt = nullptr;
  std::vector<Value> carries, stacked;
};

/// A parameter of the program, from its first use.
struct ParamInfo {
  std::string path;
  ast::Loc loc;
  mtf::NamedTensorType type;
  Names order, fanIn, fanOut;
  bool noArrow = false;
  /// The element type is written in the program.
  bool isPinned = false;
  Value init;
  std::string group;
  Names states;
};

/// A function of the module being built.
struct FunctionState {
  enum class Kind { Loss, Weight, Eval, Forward, Update, Metric };
  Kind kind;
  std::string name;
  mlir::Region region;
  /// Parameters in order of first use, by path.
  llvm::MapVector<mlir::StringAttr, mlir::BlockArgument> params;
  /// The other arguments with their attributes, in order.
  llvm::SmallVector<std::pair<mlir::BlockArgument, mlir::NamedAttribute>> arguments;
  mlir::BlockArgument seed, step, totalSteps;
  llvm::SmallVector<std::unique_ptr<Loop>> loops;
  bool isTraining() const { return kind == Kind::Loss; }
};

class Elaborator;

/// An error being written. It converts to the empty result of whatever was to be computed; when it goes out of scope it adds the calls
/// that lead to it.
class Error {
public:
  Error(Elaborator &elaborator, mlir::InFlightDiagnostic &&diagnostic, ast::Loc loc, bool shown)
      : elaborator(elaborator), diagnostic(std::move(diagnostic)), loc(loc), shown(shown) {}
  Error(Error &&other)
      : elaborator(other.elaborator), diagnostic(std::move(other.diagnostic)), loc(other.loc), shown(std::exchange(other.shown, false)) {}
  ~Error();
  template <typename Part> Error &operator<<(Part &&part) & {
    diagnostic << std::forward<Part>(part);
    return *this;
  }
  template <typename Part> Error &&operator<<(Part &&part) && {
    diagnostic << std::forward<Part>(part);
    return std::move(*this);
  }
  mlir::Diagnostic &note(ast::Loc loc);
  operator Value() const { return {}; }
  /// No `operator bool`: through it an optional number would become 0.
  template <typename T> operator std::optional<T>() const { return std::nullopt; }
  operator mlir::LogicalResult() const { return mlir::failure(); }

private:
  Elaborator &elaborator;
  mlir::InFlightDiagnostic diagnostic;
  ast::Loc loc;
  /// False for an error that has been reported before.
  bool shown;
  std::optional<mlir::Diagnostic> unshownNote;
};

/// Arguments of a call, evaluated.
struct CallArgs {
  const ast::CallExpr *expr;
  std::vector<Value> values;
  /// What `values` were written as.
  std::vector<const ast::Expr *> exprs;
  std::vector<std::pair<ast::Ident, Value>> named;
};

class Elaborator {
public:
  Elaborator(Program &program, ProgramModule &root, const FrontendOptions &options, Diagnostics &diagnostics);

  /// The whole module, or null after errors.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  //===--- errors ---===//
  Error error(ast::Loc loc);
  void addCallNotes(mlir::InFlightDiagnostic &diagnostic, ast::Loc loc);
  mlir::Location location(ast::Loc loc) const { return diagnostics.location(loc); }
  Diagnostics &diagnostics;

  //===--- Dims.cpp ---===//
  mlir::StringAttr attr(llvm::StringRef name) { return mlir::StringAttr::get(context, name); }
  /// A dim or constant of a module; `part`: with the size of one microbatch for `batch`. Invalid after errors.
  Value evaluateSetting(ProgramModule &module, llvm::StringRef name, Setting &setting, bool isDim, bool part);
  std::optional<int64_t> evaluateSize(const ast::Expr &expr);
  /// The dims that `name` stands for in the frame; none if it is not declared (which is no error yet).
  std::optional<Dims> lookupDims(llvm::StringRef name);
  /// The same for the names alone, for dims that a tensor has: an undeclared name stands for itself.
  Names namesOf(llvm::StringRef name);
  /// A dim to be created by `name`, `name = size` or `name*`; reports unknown sizes. `implied` is a size that follows from context (-1: none).
  std::optional<Dims> newDims(const ast::DimItem &item, int64_t implied = -1);
  /// Whole number of elements of a dim, for use as a number: of `batch` all microbatches.
  int64_t wholeSize(mtf::DimAttr dim) const;
  /// The product of the sizes, as a number.
  Value productOf(llvm::ArrayRef<mtf::DimAttr> dims, ast::Loc loc);
  /// Reports a type with a dim twice or too many elements.
  std::optional<mtf::NamedTensorType> makeType(ast::Loc loc, llvm::ArrayRef<mtf::DimAttr> dims, mlir::Type element);
  std::optional<mlir::Type> elementType(ast::Ident name);
  /// Null if `name` names no element type.
  mlir::Type elementTypeOf(llvm::StringRef name);
  /// Reports a value that lacks a dim. `expr` is what the value was written as.
  bool expectDim(ast::Loc loc, mtf::NamedTensorType type, mlir::StringAttr dim, const ast::Expr *expr);
  void noteDeclaration(Error &error, const ast::Expr *expr);
  bool checkSize(ast::Loc loc, llvm::StringRef name, int64_t size);
  /// `name`, primed until no argument of the call has it.
  mlir::StringAttr freshName(llvm::StringRef name);

  //===--- Expressions.cpp ---===//
  Value evaluate(const ast::Expr &expr);
  Value evaluateStatic(const ast::Expr &expr, ProgramModule &module);
  /// A tensor; numbers become scalars (of `element`, f32 if null).
  mlir::Value evaluateTensor(const ast::Expr &expr, mlir::Type element = {});
  std::optional<Value> lookup(llvm::StringRef name, ast::Loc loc);
  const Variable *findVariable(llvm::StringRef name) const;
  Value evaluateName(const ast::NameExpr &expr);
  Value evaluateMember(const ast::MemberExpr &expr);
  Value evaluateIndex(const ast::IndexExpr &expr);
  mlir::Value slice(ast::Loc loc, mlir::Value base, const ast::IndexItem &item, mlir::StringAttr dim, int64_t start);
  std::optional<bool> evaluateCondition(const ast::Expr &expr);
  std::optional<double> evaluateNumber(const ast::Expr &expr, llvm::StringRef what);
  /// A tensor that is itself a function of indices and constants.
  bool isFree(mlir::Value value);
  void rename(Value &value, ast::Ident name);

  //===--- Arithmetic.cpp ---===//
  Value evaluateUnary(const ast::UnaryExpr &expr);
  Value evaluateBinary(const ast::BinaryExpr &expr);
  Value foldStatic(const ast::BinaryExpr &expr, const Value &lhs, const Value &rhs);
  Value elementwise(ast::BinaryOp op, ast::Loc loc, const Value &lhs, const Value &rhs, const ast::Expr *lhsExpr, const ast::Expr *rhsExpr);
  /// Makes operands of one element type out of numbers and tensors and checks the broadcasting rule.
  bool unify(ast::Loc loc, llvm::StringRef what, llvm::MutableArrayRef<Value> operands, llvm::ArrayRef<const ast::Expr *> exprs);
  /// Reports a dim that has two sizes among the operands; `except` may.
  bool checkBroadcastSizes(ast::Loc loc, llvm::ArrayRef<Value> operands, llvm::ArrayRef<const ast::Expr *> exprs, mlir::StringAttr except = {});
  bool checkBroadcast(ast::Loc loc, llvm::StringRef what, llvm::ArrayRef<Value> operands, llvm::ArrayRef<const ast::Expr *> exprs);
  /// A scalar of the IR from a number or truth value; tensors pass.
  mlir::Value materialize(ast::Loc loc, const Value &value, mlir::Type element = {});
  mlir::Value constant(ast::Loc loc, double value, mlir::Type element);

  //===--- Calls.cpp ---===//
  Value evaluateCall(const ast::CallExpr &expr);
  Value callBuiltin(const Builtin &builtin, CallArgs &args);
  bool canBuildOrFold(const Builtin &builtin, const CallArgs &args);
  Value callFunction(const ast::FnDecl &fn, ProgramModule &module, CallArgs &args);
  void rememberModel(const ast::FnDecl &fn, const CallArgs &args);
  Value invoke(Frame &frame);
  bool bindFormals(Frame &frame, CallArgs &args);
  bool bindDims(Frame &frame, const ast::CallExpr &call);
  bool bindValue(Frame &frame, const ast::Formal &formal, const Value &value, ast::Loc loc, const ast::Expr *expr);
  bool matchShape(Frame &frame, const ast::Shape &shape, mtf::NamedTensorType type, llvm::StringRef name, ast::Loc loc, ast::Loc declared);
  /// The formal `name` stands for dims that the call creates.
  static bool isCreated(const ast::FnDecl &fn, llvm::StringRef name);
  bool beginLabel(const ast::CallExpr &call, llvm::StringRef name, llvm::StringRef calleeName, const void *callee);
  void endLabel(const ast::CallExpr &call, llvm::StringRef name, llvm::StringRef calleeName, const void *callee, bool hasState);
  std::string childPath(llvm::StringRef label) const;
  Value unprime(Frame &callee, Value value, ast::Loc loc);
  Value checkResult(const ast::FnDecl &fn, Value value);

  //===--- Statements.cpp ---===//
  bool execute(const ast::Block &block);
  bool execute(const ast::Stmt &stmt);
  bool executeLet(const ast::LetStmt &let);
  bool define(ast::Ident name, Value value);
  /// Checks a value against an annotation, converting floats where it names another element type.
  Value annotate(Value value, const ast::TypeRef &type, llvm::StringRef name, ast::Loc loc);
  std::optional<llvm::SmallDenseSet<mlir::StringAttr>> annotatedDims(const ast::TypeRef *type);
  Value pinPrecision(mlir::Value tensor, std::optional<mlir::Type> element);

  //===--- Params.cpp ---===//
  bool executeParam(const ast::ParamStmt &stmt);
  bool defineParam(const ast::ParamDef &def);
  mlir::Value paramValue(ParamInfo &info, mlir::Location loc);
  mlir::BlockArgument paramArgument(const ParamInfo &info, mlir::Location loc);

  //===--- Repeat.cpp ---===//
  Value evaluateRepeat(const ast::RepeatExpr &expr);
  Loop *currentLoop();
  bool executeNext(const ast::NextStmt &stmt);
  bool checkCarries(Loop &loop, const ast::RepeatExpr &expr, llvm::ArrayRef<mlir::Value> inits);
  Value finishLoop(Loop &loop, const ast::RepeatExpr &expr, llvm::ArrayRef<mlir::Value> inits);

  //===--- TrainBlock.cpp ---===//
  /// The type that an annotation says by itself.
  std::optional<mtf::NamedTensorType> declaredType(const ast::TypeRef &type, ast::Loc loc);
  void readData();
  void bindData(Frame &frame);
  const ast::CallExpr *lossCall();
  Value weightedLoss(const ast::CallExpr &call);
  bool checkWeight(const ast::CallExpr &call, mlir::Value weight);
  mlir::Value sumAll(mlir::Value value, ast::Loc loc);
  bool checkMicrobatches(mlir::Value loss);
  void buildLoss(FunctionState::Kind kind);
  void buildWeight();
  bool argumentsFromFormals(CallArgs &args);
  void buildForward();
  bool checkGroups();
  void buildUpdates();
  bool buildUpdate(ParamInfo &info, const ast::OptimizerGroup &group);
  void buildMetrics();
  const ast::OptimizerGroup *groupOf(const ParamInfo &info);

  //===--- Layout.cpp ---===//
  bool readMesh();
  bool readMicrobatches();
  void readLayout();
  void readWord(const ast::LayoutItem &item);
  bool checkAxes(llvm::ArrayRef<ast::Ident> axes, llvm::SmallVector<mlir::StringAttr> &into);
  void checkDivides(const ast::LayoutItem &item, llvm::ArrayRef<mlir::StringAttr> axes);
  std::optional<mtf::RuleScope> scopeOf(const ast::LayoutItem &item);
  mlir::Value makeTap(mlir::Value value, llvm::StringRef name, ast::Loc loc);
  void warnUnusedRules(mlir::ModuleOp module);
  /// Tap under `name` if a pin of the layout speaks of it.
  Value tapIfPinned(Value value, llvm::StringRef name, ast::Loc loc);
  Value pin(mlir::Value value, llvm::ArrayRef<ast::Arrow> arrows, llvm::StringRef name, ast::Loc loc);

  //===--- functions of the module ---===//
  FunctionState &beginFunction(FunctionState::Kind kind, llvm::StringRef name);
  mlir::BlockArgument addArgument(mlir::Type type, llvm::StringRef attribute, mlir::Attribute value, mlir::Location loc);
  void finishFunction(llvm::ArrayRef<mlir::Value> results, llvm::ArrayRef<llvm::StringRef> resultNames);
  void buildParams();
  void readTrainSettings();
  void evaluateSettings();
  void setModuleAttributes();
  void setRunAttributes();

  Frame &frame() { return *frames.back(); }
  bool canBuild(ast::Loc loc);
  mtf::NamedTensorType scalarType(mlir::Type element) { return mtf::NamedTensorType::get({}, element); }

  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  mlir::Type f32, i32, i1;
  Program &program;
  ProgramModule &root;
  const FrontendOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> moduleOp;

  llvm::SmallVector<Frame *> frames;
  std::unique_ptr<FunctionState> function;
  /// Parameters by path, in order of first use.
  llvm::MapVector<mlir::StringAttr, ParamInfo> params;
  mtf::MeshAttr mesh;
  int64_t microbatches = 1;
  std::vector<std::pair<ast::Loc, mtf::RuleAttr>> layoutRules;
  /// Paths with stars of the layout's pins.
  std::vector<std::string> pinPaths;
  llvm::StringSet<> taps;
  /// Names of dims in order of declaration or first appearance.
  llvm::SetVector<mlir::StringAttr> dimOrder;
  /// Shape of the loss before the mean, for its denominator.
  mtf::NamedTensorType lossType;
  /// The model, its first call and the types of the tensors among the arguments (null for others): @forward is built from them.
  const ast::FnDecl *model = nullptr;
  const ast::CallExpr *modelCall = nullptr;
  CallArgs modelArgs;
  llvm::SmallVector<mtf::NamedTensorType> modelArgTypes, modelNamedTypes;
  llvm::SmallDenseSet<const void *> reported;
  llvm::DenseMap<mlir::Value, bool> freeValues;
  llvm::StringSet<> reportedPlaces;
  unsigned depth = 0, expansions = 0;
  bool reportedDepth = false;
  /// Dims as numbers mean the sizes of one microbatch (in types) instead of those of the whole batch.
  bool partSizes = false;
};

/// Enters a frame for its lifetime.
class FrameScope {
public:
  FrameScope(Elaborator &elaborator, Frame &frame) : elaborator(elaborator) { elaborator.frames.push_back(&frame); }
  ~FrameScope() { elaborator.frames.pop_back(); }

private:
  Elaborator &elaborator;
};

/// True if `glob` with `*` and `?` matches the whole text.
bool matchesGlob(llvm::StringRef glob, llvm::StringRef text);

} // namespace meshc

#endif
