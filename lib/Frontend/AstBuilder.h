//===- AstBuilder.h - from ANTLR's parse tree to the AST --------------------===//
#ifndef MESHC_LIB_FRONTEND_ASTBUILDER_H
#define MESHC_LIB_FRONTEND_ASTBUILDER_H

#include "Diagnostics.h"
#include "MeshParser.h"
#include "meshc/Frontend/AST.h"

namespace meshc {

class AstBuilder {
public:
  using P = grammar::MeshParser;

  AstBuilder(ast::AstArena &arena, Diagnostics &diagnostics, uint32_t file)
      : arena(arena), diagnostics(diagnostics), file(file) {}

  llvm::ArrayRef<ast::Decl *> build(P::FileContext *ctx);

private:
  template <typename Node> Node *make(antlr4::Token *start) {
    Node *node = arena.make<Node>();
    node->loc = loc(start);
    return node;
  }
  template <typename Item> llvm::ArrayRef<Item> list(const std::vector<Item> &items) {
    return arena.list(llvm::ArrayRef<Item>(items));
  }
  ast::Loc loc(antlr4::Token *token) const {
    return {file, static_cast<uint32_t>(token->getLine()), static_cast<uint32_t>(token->getCharPositionInLine() + 1)};
  }
  ast::Ident ident(antlr4::ParserRuleContext *name);
  ast::Ident unquoted(antlr4::tree::TerminalNode *string);
  llvm::ArrayRef<ast::Ident> names(P::NameListContext *ctx);
  void unsupported(antlr4::Token *token, llvm::StringRef what);

  // Declarations.
  void decl(P::DeclContext *ctx);
  ast::Decl *importDecl(P::ImportDeclContext *ctx);
  ast::NamedArg setting(P::SettingContext *ctx) { return {ident(ctx->name()), expr(ctx->expr())}; }
  llvm::ArrayRef<ast::NamedArg> settings(const std::vector<P::SettingContext *> &ctxs);
  ast::Decl *layoutDecl(P::LayoutDeclContext *ctx);
  void layoutItem(P::LayoutItemContext *ctx, std::vector<ast::LayoutItem> &items);
  template <typename Context> ast::Decl *function(Context *ctx, bool isModel);
  llvm::ArrayRef<ast::Formal> formals(P::FormalsContext *ctx);
  ast::Decl *dataDecl(P::DataDeclContext *ctx);
  ast::Decl *trainDecl(P::TrainDeclContext *ctx);
  ast::Decl *evalDecl(P::EvalDeclContext *ctx);
  template <typename Value> bool once(bool isSet, antlr4::Token *token, Value &&what);

  // Types.
  ast::TypeRef *type(P::TypeContext *ctx);
  ast::TypeRef *annotation(P::ShapeContext *shape, P::TypeContext *type);
  ast::Shape *shape(P::ShapeContext *ctx);
  ast::Shape *paramShape(P::ParamShapeContext *ctx);
  ast::ShapeItem shapeItem(P::ShapeItemContext *ctx);

  // Statements.
  ast::Block *block(P::BlockContext *ctx);
  ast::Stmt *stmt(P::StmtContext *ctx);
  ast::LetStmt *let(P::LetStmtContext *ctx);
  ast::Stmt *param(P::ParamStmtContext *ctx);
  ast::Stmt *next(P::NextStmtContext *ctx);
  ast::Stmt *ifStmt(P::IfStmtContext *ctx);

  // Expressions.
  ast::Expr *expr(P::ExprContext *ctx);
  ast::Expr *orExpr(P::OrExprContext *ctx);
  ast::Expr *andExpr(P::AndExprContext *ctx);
  ast::Expr *notExpr(P::NotExprContext *ctx);
  ast::Expr *compareExpr(P::CompareExprContext *ctx);
  ast::Expr *addExpr(P::AddExprContext *ctx);
  ast::Expr *mulExpr(P::MulExprContext *ctx);
  ast::Expr *unaryExpr(P::UnaryExprContext *ctx);
  ast::Expr *powerExpr(P::PowerExprContext *ctx);
  ast::Expr *postfixExpr(P::PostfixExprContext *ctx);
  ast::Expr *primary(P::PrimaryContext *ctx);
  ast::Expr *tuple(P::TupleExprContext *ctx);
  ast::Expr *repeat(P::RepeatExprContext *ctx);
  llvm::ArrayRef<ast::Binding> bindings(P::BindingsContext *ctx);
  ast::Expr *binary(ast::BinaryOp op, ast::Expr *lhs, ast::Expr *rhs, antlr4::Token *at);
  ast::Expr *call(P::CallSuffixContext *ctx, ast::Expr *callee, ast::Ident label);
  ast::Expr *index(P::IndexSuffixContext *ctx, ast::Expr *base);
  ast::DimItem dimItem(P::DimItemContext *ctx);

  ast::AstArena &arena;
  Diagnostics &diagnostics;
  uint32_t file;
  std::vector<ast::Decl *> decls;
};

} // namespace meshc

#endif
