//===- AST.h - what the user wrote ------------------------------------------===//
//
// Plain nodes, each with its place, allocated in the AstArena of the program: they live as long as it does and need no destructors, so
// that neither a long chain of operators nor a large file can exhaust the stack when the tree goes away.
//
// Names are resolved later, by the elaborator: here `nn.gelu` is a member access and `x.rename(a -> b)` a call of one.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_AST_H
#define MESHC_FRONTEND_AST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <new>

namespace meshc::ast {

/// A place in a file: `file` counts the program's files, lines and columns count from 1 (columns in bytes).
struct Loc {
  uint32_t file = 0, line = 0, column = 0;
  bool operator==(const Loc &) const = default;
};

/// Owns the nodes, the lists between them and their strings.
class AstArena {
public:
  template <typename Node> Node *make() { return new (allocator.Allocate<Node>()) Node(); }
  template <typename Item> llvm::ArrayRef<Item> list(llvm::ArrayRef<Item> items) { return items.copy(allocator); }
  llvm::StringRef string(llvm::StringRef text) { return saver.save(text); }

private:
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
};

struct Ident {
  llvm::StringRef text;
  Loc loc;
};

struct Expr;
struct Block;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// One entry of a shape: `..`, `name`, `name*` (a list of dimensions), each with an optional size.
struct ShapeItem {
  Ident name;
  bool rest = false, list = false;
  Expr *size = nullptr;
};

struct Shape {
  Loc loc;
  llvm::ArrayRef<ShapeItem> items;
  /// Where the arrow of a parameter stands among the items; -1 without one.
  int arrow = -1;
};

/// `f32[batch, seq]`; either part may be missing.
struct TypeRef {
  Loc loc;
  Ident element;
  Shape *shape = nullptr;
};

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

enum class ExprKind { Int, Float, String, Bool, Name, Tuple, If, Unary, Binary, Member, Call, Index, Repeat };

struct Expr {
  const ExprKind kind;
  Loc loc;

protected:
  explicit Expr(ExprKind kind) : kind(kind) {}
};

template <ExprKind K> struct ExprOf : Expr {
  ExprOf() : Expr(K) {}
  static bool classof(const Expr *expr) { return expr->kind == K; }
};

struct IntExpr : ExprOf<ExprKind::Int> {
  int64_t value = 0;
};
struct FloatExpr : ExprOf<ExprKind::Float> {
  double value = 0;
};
struct StringExpr : ExprOf<ExprKind::String> {
  llvm::StringRef value;
};
struct BoolExpr : ExprOf<ExprKind::Bool> {
  bool value = false;
};
struct NameExpr : ExprOf<ExprKind::Name> {
  llvm::StringRef name;
};
/// `(a, b; c)`; `(a)` is just `a`.
struct TupleExpr : ExprOf<ExprKind::Tuple> {
  llvm::ArrayRef<Expr *> items;
  /// Items before the semicolon; -1 without one.
  int semicolon = -1;
};
struct IfExpr : ExprOf<ExprKind::If> {
  Expr *condition, *onTrue, *onFalse;
};

enum class UnaryOp { Neg, Not };
enum class BinaryOp { Add, Sub, Mul, Div, Rem, Pow, Eq, Ne, Lt, Le, Gt, Ge, And, Or };
llvm::StringRef spelling(BinaryOp op);

struct UnaryExpr : ExprOf<ExprKind::Unary> {
  UnaryOp op;
  Expr *operand;
};
struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op;
  Expr *lhs, *rhs;
};
struct MemberExpr : ExprOf<ExprKind::Member> {
  Expr *base;
  Ident name;
};

/// A dimension in a clause or after an arrow: `d`, `d*`, `d = size`.
struct DimItem {
  Ident name;
  bool list = false;
  Expr *value = nullptr;
};
/// `over d, e`
struct Clause {
  Ident word;
  llvm::ArrayRef<DimItem> dims;
};
/// `from -> to`
struct Arrow {
  Ident from;
  DimItem to;
};
struct NamedArg {
  Ident name;
  Expr *value;
};
struct CallExpr : ExprOf<ExprKind::Call> {
  Expr *callee;
  /// Empty without a label.
  Ident label;
  llvm::ArrayRef<Expr *> args;
  llvm::ArrayRef<NamedArg> named;
  llvm::ArrayRef<Clause> clauses;
  llvm::ArrayRef<Arrow> arrows;
};

/// `dim = at` (one index, or a tensor of them) or `dim = at : limit : step`.
struct IndexItem {
  Ident dim;
  Expr *at, *limit = nullptr, *step = nullptr;
};
struct IndexExpr : ExprOf<ExprKind::Index> {
  Expr *base;
  llvm::ArrayRef<IndexItem> items;
};

/// `name = value`; the value is missing in the short form of `repeat layers (x)`.
struct Binding {
  Ident name;
  Expr *value;
};
struct RepeatExpr : ExprOf<ExprKind::Repeat> {
  Ident dim;
  llvm::ArrayRef<Binding> carries, slices;
  Block *body;
};

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

enum class StmtKind { Let, Param, Return, Next, If, Dim };

struct Stmt {
  const StmtKind kind;
  Loc loc;

protected:
  explicit Stmt(StmtKind kind) : kind(kind) {}
};

template <StmtKind K> struct StmtOf : Stmt {
  StmtOf() : Stmt(K) {}
  static bool classof(const Stmt *stmt) { return stmt->kind == K; }
};

/// A name bound by `let`, with an optional annotation.
struct Binder {
  Ident name;
  TypeRef *type = nullptr;
};
struct LetStmt : StmtOf<StmtKind::Let> {
  llvm::ArrayRef<Binder> binders;
  /// `let (a) = …` takes a tuple apart, `let a = …` does not.
  bool tuple = false;
  Expr *value;
};

struct ParamDef {
  Ident name, element;
  Shape *shape;
  Expr *init;
};
struct ParamStmt : StmtOf<StmtKind::Param> {
  llvm::ArrayRef<ParamDef> defs;
};
struct ReturnStmt : StmtOf<StmtKind::Return> {
  Expr *value;
};
struct NextStmt : StmtOf<StmtKind::Next> {
  llvm::ArrayRef<Expr *> carries, stacked;
};
struct IfStmt : StmtOf<StmtKind::If> {
  Expr *condition;
  Block *onTrue, *onFalse = nullptr;
};
struct DimStmt : StmtOf<StmtKind::Dim> {
  llvm::ArrayRef<NamedArg> dims;
};

struct Block {
  Loc loc;
  llvm::ArrayRef<Stmt *> stmts;
};

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

enum class DeclKind { Import, Dim, Const, Mesh, Layout, Fn, Data, Train, Eval };

struct Decl {
  const DeclKind kind;
  Loc loc;

protected:
  explicit Decl(DeclKind kind) : kind(kind) {}
};

template <DeclKind K> struct DeclOf : Decl {
  DeclOf() : Decl(K) {}
  static bool classof(const Decl *decl) { return decl->kind == K; }
};

struct ImportDecl : DeclOf<DeclKind::Import> {
  /// `import nn` names a library, `import "f.mesh"` a file next to this one.
  Ident path;
  bool isFile = false;
  Ident alias;
  llvm::ArrayRef<NamedArg> settings;
};
struct DimDecl : DeclOf<DeclKind::Dim> {
  Ident name;
  Expr *size;
};
struct ConstDecl : DeclOf<DeclKind::Const> {
  Ident name;
  Expr *value;
};
struct MeshDecl : DeclOf<DeclKind::Mesh> {
  Ident name;
  llvm::ArrayRef<NamedArg> axes;
};

enum class LayoutItemKind { Rule, State, Pin, Microbatches, Word };
struct LayoutItem {
  LayoutItemKind kind;
  Loc loc;
  /// The path of a narrowed rule or a pin; empty without one.
  Ident path;
  llvm::ArrayRef<Ident> dims, axes;
  /// `values`, `params`, `state` with its argument; of a word item the setting and its value.
  Ident scope, scopeArg;
  bool isQuoted = false; ///< scopeArg is a string: `recompute "20 GiB"`.
  Expr *count = nullptr;
};
struct LayoutDecl : DeclOf<DeclKind::Layout> {
  llvm::ArrayRef<LayoutItem> items;
};

/// A formal of a function: a value (word empty) or dimensions behind a clause word.
struct Formal {
  Ident name;
  llvm::StringRef word;
  bool list = false;
  /// Behind the semicolon: by name only.
  bool keyword = false;
  TypeRef *type = nullptr;
  Expr *defaultValue = nullptr;
};
struct FnDecl : DeclOf<DeclKind::Fn> {
  bool isModel = false;
  Ident name;
  llvm::ArrayRef<Formal> formals;
  /// Empty: no annotation. Several: a tuple.
  llvm::ArrayRef<TypeRef *> results;
  bool resultTuple = false;
  /// An expression body is a block with one `return`.
  Block *body;
};

struct DataField {
  Ident name;
  TypeRef *type;
};
struct DataItem {
  llvm::ArrayRef<DataField> fields;
  Expr *source;
};
struct DataDecl : DeclOf<DeclKind::Data> {
  llvm::ArrayRef<DataItem> items;
};

/// `no_arrow: adamw(…)`, `"gpt.wte": …`, `default: …`
struct OptimizerGroup {
  Ident selector;
  bool isPath = false;
  Expr *call;
};
struct TrainDecl : DeclOf<DeclKind::Train> {
  Expr *loss = nullptr;
  llvm::ArrayRef<OptimizerGroup> groups;
  Loc optimizerLoc;
  llvm::ArrayRef<LetStmt *> lets;
  Ident clip, precision;
  Expr *clipValue = nullptr, *steps = nullptr;
};
struct EvalDecl : DeclOf<DeclKind::Eval> {
  llvm::ArrayRef<LetStmt *> lets;
  llvm::ArrayRef<NamedArg> metrics;
};

/// One parsed file.
struct File {
  uint32_t index = 0;
  llvm::StringRef name;
  llvm::ArrayRef<Decl *> decls;
};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void print(const Expr &expr, llvm::raw_ostream &os);
/// One line per declaration and statement, each with its `line:column`; expressions in the language's syntax, fully parenthesized.
void print(const File &file, llvm::raw_ostream &os);

} // namespace meshc::ast

#endif
