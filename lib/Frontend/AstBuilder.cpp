//===- AstBuilder.cpp - declarations, types and statements ------------------===//
//
// One function per rule of Mesh.g4, called on trees without syntax errors only. It undoes the sugar: `fn f(..) = e` gets a block,
// `param a, b[s] ~ i` gives both the shape and the initializer, `dim a = 1, b = 2` are two declarations.
//
//===----------------------------------------------------------------------===//
#include "AstBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshc;
using namespace meshc::ast;

Ident AstBuilder::ident(antlr4::ParserRuleContext *name) {
  return {arena.string(name->getStart()->getText()), loc(name->getStart())};
}

Ident AstBuilder::unquoted(antlr4::tree::TerminalNode *string) {
  std::string text = string->getText();
  return {arena.string(llvm::StringRef(text).drop_front().drop_back()), loc(string->getSymbol())};
}

llvm::ArrayRef<Ident> AstBuilder::names(P::NameListContext *ctx) {
  std::vector<Ident> result;
  for (P::NameContext *name : ctx->name())
    result.push_back(ident(name));
  return list(result);
}

void AstBuilder::unsupported(antlr4::Token *token, llvm::StringRef what) {
  diagnostics.error(loc(token)) << "'" << what << "' is reserved and not supported yet";
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

llvm::ArrayRef<Decl *> AstBuilder::build(P::FileContext *ctx) {
  for (P::DeclContext *child : ctx->decl())
    decl(child);
  return list(decls);
}

void AstBuilder::decl(P::DeclContext *ctx) {
  if (auto *d = ctx->importDecl())
    decls.push_back(importDecl(d));
  else if (auto *d = ctx->dimDecl()) {
    for (P::SettingContext *child : d->setting()) {
      auto *dim = make<DimDecl>(child->getStart());
      dim->name = ident(child->name());
      dim->size = expr(child->expr());
      decls.push_back(dim);
    }
  } else if (auto *d = ctx->constDecl()) {
    for (P::SettingContext *child : d->setting()) {
      auto *constant = make<ConstDecl>(child->getStart());
      constant->name = ident(child->name());
      constant->value = expr(child->expr());
      decls.push_back(constant);
    }
  } else if (auto *d = ctx->meshDecl()) {
    auto *mesh = make<MeshDecl>(d->getStart());
    mesh->name = ident(d->name());
    mesh->axes = settings(d->setting());
    decls.push_back(mesh);
  } else if (auto *d = ctx->layoutDecl())
    decls.push_back(layoutDecl(d));
  else if (auto *d = ctx->fnDecl())
    decls.push_back(function(d, /*isModel=*/false));
  else if (auto *d = ctx->modelDecl())
    decls.push_back(function(d, /*isModel=*/true));
  else if (auto *d = ctx->dataDecl())
    decls.push_back(dataDecl(d));
  else if (auto *d = ctx->trainDecl())
    decls.push_back(trainDecl(d));
  else if (auto *d = ctx->evalDecl())
    decls.push_back(evalDecl(d));
  else if (auto *d = ctx->reservedDecl())
    unsupported(d->word, d->word->getText());
}

Decl *AstBuilder::importDecl(P::ImportDeclContext *ctx) {
  auto *import = make<ImportDecl>(ctx->getStart());
  import->isFile = ctx->STRING() != nullptr;
  import->path = import->isFile ? unquoted(ctx->STRING()) : ident(ctx->name(0));
  if (ctx->name().size() == (import->isFile ? 1u : 2u)) {
    import->alias = ident(ctx->name().back());
  } else {
    // `import "lib/teacher.mesh"` is called `teacher`.
    import->alias = import->path;
    if (import->isFile)
      import->alias.text = import->path.text.substr(import->path.text.rfind('/') + 1).split('.').first;
  }
  import->settings = settings(ctx->setting());
  return import;
}

llvm::ArrayRef<NamedArg> AstBuilder::settings(const std::vector<P::SettingContext *> &ctxs) {
  std::vector<NamedArg> result;
  for (P::SettingContext *ctx : ctxs)
    result.push_back(setting(ctx));
  return list(result);
}

Decl *AstBuilder::layoutDecl(P::LayoutDeclContext *ctx) {
  auto *layout = make<LayoutDecl>(ctx->getStart());
  std::vector<LayoutItem> items;
  for (P::LayoutItemContext *child : ctx->layoutItem())
    layoutItem(child, items);
  layout->items = list(items);
  return layout;
}

void AstBuilder::layoutItem(P::LayoutItemContext *ctx, std::vector<LayoutItem> &items) {
  LayoutItem item;
  item.loc = loc(ctx->getStart());
  if (auto *c = dynamic_cast<P::MicrobatchesItemContext *>(ctx)) {
    item.kind = LayoutItemKind::Microbatches;
    item.count = expr(c->expr());
  } else if (auto *c = dynamic_cast<P::WordItemContext *>(ctx)) {
    item.kind = LayoutItemKind::Word;
    item.scope = {arena.string(c->word->getText()), loc(c->word)};
    item.isQuoted = c->STRING() != nullptr;
    item.scopeArg = item.isQuoted ? unquoted(c->STRING()) : ident(c->name());
  } else if (auto *c = dynamic_cast<P::StateItemContext *>(ctx)) {
    item.kind = LayoutItemKind::State;
    item.scopeArg = ident(c->name());
    item.axes = names(c->nameList());
  } else if (auto *c = dynamic_cast<P::PinItemContext *>(ctx)) {
    item.kind = LayoutItemKind::Pin;
    item.path = unquoted(c->STRING());
    item.dims = names(c->nameList(0));
    item.axes = names(c->nameList(1));
  } else if (auto *c = dynamic_cast<P::RuleItemContext *>(ctx)) {
    item.kind = LayoutItemKind::Rule;
    if (c->STRING())
      item.path = unquoted(c->STRING());
    item.dims = names(c->nameList(0));
    item.axes = names(c->nameList(1));
    if (P::RuleScopeContext *scope = c->ruleScope()) {
      item.scope = ident(scope->name(0));
      if (scope->name().size() > 1)
        item.scopeArg = ident(scope->name(1));
    }
  } else {
    return;
  }
  items.push_back(item);
}

template <typename Context> Decl *AstBuilder::function(Context *ctx, bool isModel) {
  auto *fn = make<FnDecl>(ctx->getStart());
  fn->isModel = isModel;
  fn->name = ident(ctx->name());
  if (ctx->formals())
    fn->formals = formals(ctx->formals());
  if (P::ResultTypeContext *result = ctx->resultType()) {
    std::vector<TypeRef *> types;
    for (P::TypeContext *child : result->type())
      types.push_back(type(child));
    fn->results = list(types);
    fn->resultTuple = result->getStart()->getText() == "(";
  }
  if (ctx->block()) {
    fn->body = block(ctx->block());
    return fn;
  }
  auto *result = make<ReturnStmt>(ctx->expr()->getStart());
  result->value = expr(ctx->expr());
  fn->body = arena.make<Block>();
  fn->body->loc = result->loc;
  fn->body->stmts = list(std::vector<Stmt *>{result});
  return fn;
}

llvm::ArrayRef<Formal> AstBuilder::formals(P::FormalsContext *ctx) {
  std::vector<Formal> result;
  // Set while bare names go on with a clause's list: `over head, mem, where: bool`.
  llvm::StringRef word;
  bool keyword = ctx->leading != nullptr;
  auto addClauses = [&](const std::vector<P::FormalClauseContext *> &clauses) {
    for (P::FormalClauseContext *clause : clauses) {
      Formal formal;
      formal.word = word = arena.string(clause->clauseWord()->getText());
      formal.name = ident(clause->name());
      formal.list = clause->getStop()->getText() == "*";
      result.push_back(formal);
    }
  };
  auto addFormal = [&](P::FormalContext *child) {
    Formal formal;
    formal.name = ident(child->name());
    formal.type = annotation(child->shape(), child->type());
    formal.defaultValue = child->expr() ? expr(child->expr()) : nullptr;
    formal.keyword = keyword;
    for (antlr4::tree::ParseTree *part : child->children)
      formal.list |= part->getText() == "*";
    bool bare = !formal.type && !formal.defaultValue;
    if (bare && !keyword)
      formal.word = word;
    if (!bare)
      word = {};
    if (formal.list && formal.word.empty())
      diagnostics.error(formal.name.loc) << "a list of dimensions needs a word before it, such as 'over " << formal.name.text << "*'";
    result.push_back(formal);
  };
  std::vector<P::FormalGroupContext *> groups = ctx->formalGroup();
  std::vector<P::SeparatorContext *> separators = ctx->separator();
  for (auto [i, group] : llvm::enumerate(groups)) {
    if (i > 0 && separators[i - 1]->getText() == ";") {
      keyword = true;
      word = {};
    }
    if (group->formal())
      addFormal(group->formal());
    addClauses(group->formalClause());
  }
  return list(result);
}

Decl *AstBuilder::dataDecl(P::DataDeclContext *ctx) {
  auto *data = make<DataDecl>(ctx->getStart());
  std::vector<DataItem> items;
  for (P::DataItemContext *child : ctx->dataItem()) {
    // A field without a type takes the next one's: go backwards.
    std::vector<DataField> fields;
    TypeRef *next = nullptr;
    std::vector<P::DataFieldContext *> written = child->dataField();
    for (P::DataFieldContext *field : llvm::reverse(written)) {
      if (field->type())
        next = type(field->type());
      if (!next)
        diagnostics.error(loc(field->getStart())) << "'" << field->getStart()->getText() << "' has no type; write ': f32[batch, …]'";
      fields.push_back({ident(field->name()), next});
    }
    std::reverse(fields.begin(), fields.end());
    items.push_back({list(fields), expr(child->expr())});
  }
  data->items = list(items);
  return data;
}

/// Reports a second `what` in one block.
template <typename Value> bool AstBuilder::once(bool isSet, antlr4::Token *token, Value &&what) {
  if (isSet)
    diagnostics.error(loc(token)) << "'" << what << "' is given twice in this block";
  return !isSet;
}

Decl *AstBuilder::trainDecl(P::TrainDeclContext *ctx) {
  auto *train = make<TrainDecl>(ctx->getStart());
  std::vector<LetStmt *> lets;
  std::vector<OptimizerGroup> groups;
  for (P::TrainItemContext *child : ctx->trainItem()) {
    antlr4::Token *start = child->getStart();
    if (auto *c = dynamic_cast<P::LossItemContext *>(child)) {
      if (once(train->loss, start, "loss"))
        train->loss = expr(c->expr());
    } else if (auto *c = dynamic_cast<P::OptimizerItemContext *>(child)) {
      if (once(!groups.empty(), start, "optimizer"))
        for (P::GroupItemContext *group : c->groupItem())
          groups.push_back({group->STRING() ? unquoted(group->STRING()) : ident(group->name()), group->STRING() != nullptr,
                            expr(group->expr())});
      train->optimizerLoc = loc(start);
    } else if (auto *c = dynamic_cast<P::TrainLetContext *>(child)) {
      lets.push_back(let(c->letStmt()));
    } else if (auto *c = dynamic_cast<P::ClipItemContext *>(child)) {
      if (once(train->clipValue, start, "clip")) {
        train->clip = ident(c->name());
        train->clipValue = expr(c->expr());
      }
    } else if (auto *c = dynamic_cast<P::PrecisionItemContext *>(child)) {
      if (once(!train->precision.text.empty(), start, "precision"))
        train->precision = ident(c->name());
    } else if (auto *c = dynamic_cast<P::StepsItemContext *>(child)) {
      if (once(train->steps, start, "steps"))
        train->steps = expr(c->expr());
    }
  }
  train->lets = list(lets);
  train->groups = list(groups);
  return train;
}

Decl *AstBuilder::evalDecl(P::EvalDeclContext *ctx) {
  auto *eval = make<EvalDecl>(ctx->getStart());
  std::vector<NamedArg> metrics;
  std::vector<LetStmt *> lets;
  for (P::MetricItemContext *child : ctx->metricItem())
    metrics.push_back({ident(child->name()), expr(child->expr())});
  for (P::LetStmtContext *child : ctx->letStmt())
    lets.push_back(let(child));
  eval->metrics = list(metrics);
  eval->lets = list(lets);
  return eval;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ShapeItem AstBuilder::shapeItem(P::ShapeItemContext *ctx) {
  ShapeItem item;
  if (!ctx->name()) {
    item.rest = true;
    item.name = {"..", loc(ctx->getStart())};
    return item;
  }
  item.name = ident(ctx->name());
  item.list = ctx->children.size() > 1 && ctx->children[1]->getText() == "*";
  if (ctx->expr())
    item.size = expr(ctx->expr());
  return item;
}

Shape *AstBuilder::shape(P::ShapeContext *ctx) {
  auto *result = make<Shape>(ctx->getStart());
  std::vector<ShapeItem> items;
  for (P::ShapeItemContext *child : ctx->shapeItem())
    items.push_back(shapeItem(child));
  result->items = list(items);
  return result;
}

Shape *AstBuilder::paramShape(P::ParamShapeContext *ctx) {
  auto *result = make<Shape>(ctx->getStart());
  std::vector<ShapeItem> items;
  for (antlr4::tree::ParseTree *child : ctx->children) {
    if (auto *item = dynamic_cast<P::ShapeItemContext *>(child))
      items.push_back(shapeItem(item));
    else if (child->getText() == "->")
      result->arrow = items.size();
  }
  result->items = list(items);
  return result;
}

TypeRef *AstBuilder::type(P::TypeContext *ctx) {
  auto *result = make<TypeRef>(ctx->getStart());
  if (ctx->name())
    result->element = ident(ctx->name());
  if (ctx->shape())
    result->shape = shape(ctx->shape());
  return result;
}

/// `x[a]`, `x: f32`, `x: f32[a]` and `x[a]: f32` are the ways to annotate a name.
TypeRef *AstBuilder::annotation(P::ShapeContext *shapeCtx, P::TypeContext *typeCtx) {
  TypeRef *result = typeCtx ? type(typeCtx) : nullptr;
  if (!shapeCtx)
    return result;
  if (!result)
    result = make<TypeRef>(shapeCtx->getStart());
  if (result->shape)
    diagnostics.error(loc(typeCtx->getStart())) << "two shapes for one name";
  result->shape = shape(shapeCtx);
  return result;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Block *AstBuilder::block(P::BlockContext *ctx) {
  auto *result = make<Block>(ctx->getStart());
  std::vector<Stmt *> stmts;
  for (P::StmtContext *child : ctx->stmt())
    if (Stmt *built = stmt(child))
      stmts.push_back(built);
  result->stmts = list(stmts);
  return result;
}

Stmt *AstBuilder::stmt(P::StmtContext *ctx) {
  if (auto *s = ctx->letStmt())
    return let(s);
  if (auto *s = ctx->paramStmt())
    return param(s);
  if (auto *s = ctx->returnStmt()) {
    auto *result = make<ReturnStmt>(s->getStart());
    result->value = expr(s->expr());
    return result;
  }
  if (auto *s = ctx->nextStmt())
    return next(s);
  if (auto *s = ctx->ifStmt())
    return ifStmt(s);
  if (auto *s = ctx->dimDecl()) {
    auto *dim = make<DimStmt>(s->getStart());
    dim->dims = settings(s->setting());
    return dim;
  }
  if (auto *s = ctx->reservedStmt())
    unsupported(s->word ? s->word : s->arrow, s->word ? s->word->getText() : "<-");
  return nullptr;
}

LetStmt *AstBuilder::let(P::LetStmtContext *ctx) {
  auto *result = make<LetStmt>(ctx->getStart());
  std::vector<Binder> binders;
  for (P::BinderContext *child : ctx->pattern()->binder())
    binders.push_back({ident(child->name()), annotation(child->shape(), child->type())});
  result->binders = list(binders);
  result->tuple = ctx->pattern()->getStart()->getText() == "(";
  result->value = expr(ctx->expr());
  return result;
}

Stmt *AstBuilder::param(P::ParamStmtContext *ctx) {
  auto *result = make<ParamStmt>(ctx->getStart());
  std::vector<ParamDef> defs;
  // A definition without a shape or an initializer takes the next one's: go backwards.
  Shape *nextShape = nullptr;
  Expr *nextInit = nullptr;
  std::vector<P::ParamDefContext *> written = ctx->paramDef();
  for (P::ParamDefContext *child : llvm::reverse(written)) {
    if (child->paramShape())
      nextShape = paramShape(child->paramShape());
    if (child->expr())
      nextInit = expr(child->expr());
    Ident element = child->name().size() > 1 ? ident(child->name(1)) : Ident();
    defs.push_back({ident(child->name(0)), element, nextShape, nextInit});
  }
  std::reverse(defs.begin(), defs.end());
  result->defs = list(defs);
  return result;
}

Stmt *AstBuilder::next(P::NextStmtContext *ctx) {
  auto *result = make<NextStmt>(ctx->getStart());
  Expr *value = expr(ctx->expr());
  auto *tuple = llvm::dyn_cast<TupleExpr>(value);
  if (!tuple) {
    result->carries = list(std::vector<Expr *>{value});
  } else if (tuple->semicolon < 0) {
    result->carries = tuple->items;
  } else {
    result->carries = tuple->items.take_front(tuple->semicolon);
    result->stacked = tuple->items.drop_front(tuple->semicolon);
  }
  return result;
}

Stmt *AstBuilder::ifStmt(P::IfStmtContext *ctx) {
  auto *result = make<IfStmt>(ctx->getStart());
  result->condition = expr(ctx->expr());
  result->onTrue = block(ctx->block(0));
  if (ctx->ifStmt()) {
    result->onFalse = arena.make<Block>();
    result->onFalse->loc = loc(ctx->ifStmt()->getStart());
    result->onFalse->stmts = list(std::vector<Stmt *>{ifStmt(ctx->ifStmt())});
  } else if (ctx->block().size() > 1) {
    result->onFalse = block(ctx->block(1));
  }
  return result;
}
