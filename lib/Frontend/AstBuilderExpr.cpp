//===- AstBuilderExpr.cpp - expressions --------------------------------------===//
#include "AstBuilder.h"
#include "llvm/ADT/StringSwitch.h"

using namespace meshc;
using namespace meshc::ast;

Expr *AstBuilder::binary(BinaryOp op, Expr *lhs, Expr *rhs, antlr4::Token *at) {
  auto *result = make<BinaryExpr>(at);
  result->op = op;
  result->lhs = lhs;
  result->rhs = rhs;
  return result;
}

Expr *AstBuilder::expr(P::ExprContext *ctx) {
  if (ctx->orExpr())
    return orExpr(ctx->orExpr());
  auto *result = make<IfExpr>(ctx->getStart());
  result->condition = expr(ctx->expr(0));
  result->onTrue = expr(ctx->expr(1));
  result->onFalse = expr(ctx->expr(2));
  return result;
}

Expr *AstBuilder::orExpr(P::OrExprContext *ctx) {
  std::vector<P::AndExprContext *> operands = ctx->andExpr();
  Expr *result = andExpr(operands.front());
  for (size_t i = 1; i < operands.size(); ++i)
    result = binary(BinaryOp::Or, result, andExpr(operands[i]), ctx->getStart());
  return result;
}

Expr *AstBuilder::andExpr(P::AndExprContext *ctx) {
  std::vector<P::NotExprContext *> operands = ctx->notExpr();
  Expr *result = notExpr(operands.front());
  for (size_t i = 1; i < operands.size(); ++i)
    result = binary(BinaryOp::And, result, notExpr(operands[i]), ctx->getStart());
  return result;
}

Expr *AstBuilder::notExpr(P::NotExprContext *ctx) {
  Expr *result = compareExpr(ctx->compareExpr());
  for (size_t i = 1; i < ctx->children.size(); ++i) {
    auto *negation = make<UnaryExpr>(ctx->getStart());
    negation->op = UnaryOp::Not;
    negation->operand = result;
    result = negation;
  }
  return result;
}

Expr *AstBuilder::compareExpr(P::CompareExprContext *ctx) {
  Expr *lhs = addExpr(ctx->addExpr(0));
  if (!ctx->op)
    return lhs;
  BinaryOp op = llvm::StringSwitch<BinaryOp>(ctx->op->getText())
                    .Case("==", BinaryOp::Eq)
                    .Case("!=", BinaryOp::Ne)
                    .Case("<", BinaryOp::Lt)
                    .Case("<=", BinaryOp::Le)
                    .Case(">", BinaryOp::Gt)
                    .Default(BinaryOp::Ge);
  return binary(op, lhs, addExpr(ctx->addExpr(1)), ctx->op);
}

Expr *AstBuilder::addExpr(P::AddExprContext *ctx) {
  std::vector<P::MulExprContext *> operands = ctx->mulExpr();
  std::vector<P::AddOpContext *> ops = ctx->addOp();
  Expr *result = mulExpr(operands.front());
  for (size_t i = 1; i < operands.size(); ++i) {
    antlr4::Token *op = ops[i - 1]->getStart();
    result = binary(op->getText() == "+" ? BinaryOp::Add : BinaryOp::Sub, result, mulExpr(operands[i]), op);
  }
  return result;
}

Expr *AstBuilder::mulExpr(P::MulExprContext *ctx) {
  std::vector<P::UnaryExprContext *> operands = ctx->unaryExpr();
  std::vector<P::MulOpContext *> ops = ctx->mulOp();
  Expr *result = unaryExpr(operands.front());
  for (size_t i = 1; i < operands.size(); ++i) {
    antlr4::Token *op = ops[i - 1]->getStart();
    BinaryOp kind = op->getText() == "*" ? BinaryOp::Mul : op->getText() == "/" ? BinaryOp::Div : BinaryOp::Rem;
    result = binary(kind, result, unaryExpr(operands[i]), op);
  }
  return result;
}

Expr *AstBuilder::unaryExpr(P::UnaryExprContext *ctx) {
  Expr *result = powerExpr(ctx->powerExpr());
  for (size_t i = 1; i < ctx->children.size(); ++i) {
    auto *negation = make<UnaryExpr>(ctx->getStart());
    negation->op = UnaryOp::Neg;
    negation->operand = result;
    result = negation;
  }
  return result;
}

Expr *AstBuilder::powerExpr(P::PowerExprContext *ctx) {
  Expr *base = postfixExpr(ctx->postfixExpr());
  return ctx->unaryExpr() ? binary(BinaryOp::Pow, base, unaryExpr(ctx->unaryExpr()), ctx->getStart()) : base;
}

Expr *AstBuilder::postfixExpr(P::PostfixExprContext *ctx) {
  Expr *result = primary(ctx->primary());
  Ident label;
  for (P::SuffixContext *suffix : ctx->suffix()) {
    if (!label.text.empty() && !dynamic_cast<P::CallSuffixContext *>(suffix))
      diagnostics.error(label.loc) << "the label '@" << label.text << "' belongs right before the arguments of a call";
    if (auto *s = dynamic_cast<P::MemberSuffixContext *>(suffix)) {
      auto *member = make<MemberExpr>(ctx->getStart());
      member->base = result;
      member->name = ident(s->name());
      result = member;
    } else if (auto *s = dynamic_cast<P::LabelSuffixContext *>(suffix)) {
      label = ident(s->name());
      continue;
    } else if (auto *s = dynamic_cast<P::CallSuffixContext *>(suffix)) {
      result = call(s, result, label);
    } else if (auto *s = dynamic_cast<P::IndexSuffixContext *>(suffix)) {
      result = index(s, result);
    }
    label = {};
  }
  if (!label.text.empty())
    diagnostics.error(label.loc) << "the label '@" << label.text << "' belongs right before the arguments of a call";
  return result;
}

Expr *AstBuilder::primary(P::PrimaryContext *ctx) {
  antlr4::Token *start = ctx->getStart();
  if (ctx->INT()) {
    auto *result = make<IntExpr>(start);
    std::string digits = start->getText();
    if (llvm::StringRef(digits).getAsInteger(10, result->value))
      diagnostics.error(result->loc) << "the number does not fit in 63 bits";
    return result;
  }
  if (ctx->FLOAT()) {
    auto *result = make<FloatExpr>(start);
    std::string digits = start->getText();
    llvm::StringRef(digits).getAsDouble(result->value);
    return result;
  }
  if (ctx->STRING()) {
    auto *result = make<StringExpr>(start);
    result->value = unquoted(ctx->STRING()).text;
    return result;
  }
  if (ctx->name()) {
    auto *result = make<NameExpr>(start);
    result->name = ident(ctx->name()).text;
    return result;
  }
  if (ctx->tupleExpr())
    return tuple(ctx->tupleExpr());
  if (ctx->repeatExpr())
    return repeat(ctx->repeatExpr());
  auto *result = make<BoolExpr>(start);
  result->value = start->getText() == "true";
  return result;
}

Expr *AstBuilder::tuple(P::TupleExprContext *ctx) {
  auto *result = make<TupleExpr>(ctx->getStart());
  std::vector<Expr *> items;
  for (antlr4::tree::ParseTree *child : ctx->children) {
    if (auto *item = dynamic_cast<P::ExprContext *>(child)) {
      items.push_back(expr(item));
    } else if (child->getText() == ";") {
      if (result->semicolon >= 0)
        diagnostics.error(result->loc) << "a tuple has at most one ';'";
      result->semicolon = items.size();
    }
  }
  if (items.size() == 1 && result->semicolon < 0)
    return items.front();
  result->items = list(items);
  return result;
}

llvm::ArrayRef<Binding> AstBuilder::bindings(P::BindingsContext *ctx) {
  std::vector<Binding> result;
  for (P::BindingContext *child : ctx->binding())
    result.push_back({ident(child->name()), child->expr() ? expr(child->expr()) : nullptr});
  return list(result);
}

Expr *AstBuilder::repeat(P::RepeatExprContext *ctx) {
  auto *result = make<RepeatExpr>(ctx->getStart());
  result->dim = ident(ctx->name());
  bool afterSemicolon = false;
  for (antlr4::tree::ParseTree *child : ctx->children) {
    if (auto *group = dynamic_cast<P::BindingsContext *>(child))
      (afterSemicolon ? result->slices : result->carries) = bindings(group);
    else if (child->getText() == ";")
      afterSemicolon = true;
  }
  result->body = block(ctx->block());
  return result;
}

DimItem AstBuilder::dimItem(P::DimItemContext *ctx) {
  DimItem item;
  item.name = ident(ctx->name());
  item.list = ctx->children.size() > 1 && ctx->children[1]->getText() == "*";
  if (ctx->expr())
    item.value = expr(ctx->expr());
  return item;
}

/// Sorts the arguments by kind. Behind a clause, bare names (and `name*`) go on with its list until something else comes.
Expr *AstBuilder::call(P::CallSuffixContext *ctx, Expr *callee, Ident label) {
  auto *result = make<CallExpr>(ctx->getStart());
  result->loc = callee->loc;
  result->callee = callee;
  result->label = label;
  std::vector<Expr *> args;
  std::vector<NamedArg> named;
  std::vector<Arrow> arrows;
  std::vector<std::pair<Ident, std::vector<DimItem>>> clauses;
  bool inClause = false;
  auto addArg = [&](P::ArgContext *arg) {
    if (auto *a = dynamic_cast<P::ValueArgContext *>(arg)) {
      Expr *value = expr(a->expr());
      auto *name = llvm::dyn_cast<NameExpr>(value);
      if (inClause && name) {
        clauses.back().second.push_back({{name->name, name->loc}});
        return;
      }
      args.push_back(value);
    } else if (auto *a = dynamic_cast<P::StarArgContext *>(arg)) {
      if (inClause) {
        clauses.back().second.push_back({ident(a->name()), /*list=*/true});
        return;
      }
      diagnostics.error(loc(a->getStart())) << "a list of dimensions needs a word before it, such as 'over " << a->name()->getText() << "*'";
    } else if (auto *a = dynamic_cast<P::NamedArgContext *>(arg)) {
      named.push_back({ident(a->name()), expr(a->expr())});
    } else if (auto *a = dynamic_cast<P::ArrowArgContext *>(arg)) {
      arrows.push_back({ident(a->name()), dimItem(a->dimItem())});
    }
    inClause = false;
  };
  if (P::ArgsContext *list = ctx->args()) {
    for (P::ArgGroupContext *group : list->argGroup()) {
      if (group->arg())
        addArg(group->arg());
      for (P::ClauseContext *clause : group->clause()) {
        clauses.push_back({ident(clause->clauseWord()), {dimItem(clause->dimItem())}});
        inClause = true;
      }
    }
  }
  std::vector<Clause> finished;
  for (auto &[word, dims] : clauses)
    finished.push_back({word, list(dims)});
  result->args = list(args);
  result->named = list(named);
  result->arrows = list(arrows);
  result->clauses = list(finished);
  return result;
}

Expr *AstBuilder::index(P::IndexSuffixContext *ctx, Expr *base) {
  auto *result = make<IndexExpr>(ctx->getStart());
  result->loc = base->loc;
  result->base = base;
  std::vector<IndexItem> items;
  for (P::IndexItemContext *child : ctx->indexItem()) {
    IndexItem item;
    item.dim = ident(child->name());
    item.at = expr(child->expr(0));
    if (child->expr().size() > 1)
      item.limit = expr(child->expr(1));
    if (child->expr().size() > 2)
      item.step = expr(child->expr(2));
    items.push_back(item);
  }
  result->items = list(items);
  return result;
}
