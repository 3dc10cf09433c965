//===- ASTPrinter.cpp - the text of `--emit=ast` -----------------------------===//
//
//   dim batch = 8 @3:5
//   fn block(x[batch, embed]) @7:1
//     let y = (x + f@g(x over embed)) @8:3
//
//===----------------------------------------------------------------------===//
#include "meshc/Frontend/AST.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::interleaveComma;
using llvm::raw_ostream;

llvm::StringRef ast::spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Add: return "+";
  case BinaryOp::Sub: return "-";
  case BinaryOp::Mul: return "*";
  case BinaryOp::Div: return "/";
  case BinaryOp::Rem: return "%";
  case BinaryOp::Pow: return "^";
  case BinaryOp::Eq: return "==";
  case BinaryOp::Ne: return "!=";
  case BinaryOp::Lt: return "<";
  case BinaryOp::Le: return "<=";
  case BinaryOp::Gt: return ">";
  case BinaryOp::Ge: return ">=";
  case BinaryOp::And: return "and";
  case BinaryOp::Or: return "or";
  }
  return "?";
}

namespace {
class Printer {
public:
  explicit Printer(raw_ostream &os) : os(os) {}
  void printExpr(const Expr &expr);
  void printDecl(const Decl &decl);

private:
  void printCall(const CallExpr &call);
  void printRepeat(const RepeatExpr &repeat);
  void printShape(const Shape &shape);
  void printType(const TypeRef &type);
  void printFormals(llvm::ArrayRef<Formal> formals);
  void printResults(const FnDecl &fn);
  void printStmt(const Stmt &stmt);
  void printLet(const LetStmt &let);
  void printParams(const ParamStmt &param);
  void printBlock(const Block &block);
  void printLayoutItem(const LayoutItem &item);
  void printTrain(const TrainDecl &train);
  void printDimItem(const DimItem &item);
  void printBindings(llvm::ArrayRef<Binding> bindings);
  void printNames(llvm::ArrayRef<Ident> names) {
    interleaveComma(names, os, [&](const Ident &name) { os << name.text; });
  }
  void printNamed(llvm::ArrayRef<NamedArg> args) {
    interleaveComma(args, os, [&](const NamedArg &arg) {
      os << arg.name.text << " = ";
      printExpr(*arg.value);
    });
  }
  void endLine(Loc loc) { os << " @" << loc.line << ":" << loc.column << "\n"; }
  raw_ostream &startLine() { return os.indent(depth * 2); }

  raw_ostream &os;
  unsigned depth = 0;
};
} // namespace

void Printer::printDimItem(const DimItem &item) {
  os << item.name.text << (item.list ? "*" : "");
  if (item.value) {
    os << " = ";
    printExpr(*item.value);
  }
}

void Printer::printCall(const CallExpr &call) {
  printExpr(*call.callee);
  if (!call.label.text.empty())
    os << "@" << call.label.text;
  os << "(";
  llvm::ListSeparator comma;
  for (const Expr *arg : call.args) {
    os << comma;
    printExpr(*arg);
  }
  for (const Arrow &arrow : call.arrows) {
    os << comma << arrow.from.text << " -> ";
    printDimItem(arrow.to);
  }
  for (const Clause &clause : call.clauses) {
    os << (&clause == call.clauses.begin() && call.args.empty() && call.arrows.empty() ? "" : " ") << clause.word.text << " ";
    interleaveComma(clause.dims, os, [&](const DimItem &item) { printDimItem(item); });
  }
  if (!call.named.empty()) {
    os << (call.args.empty() && call.arrows.empty() && call.clauses.empty() ? "" : ", ");
    printNamed(call.named);
  }
  os << ")";
}

void Printer::printBindings(llvm::ArrayRef<Binding> bindings) {
  interleaveComma(bindings, os, [&](const Binding &binding) {
    os << binding.name.text;
    if (binding.value) {
      os << " = ";
      printExpr(*binding.value);
    }
  });
}

void Printer::printRepeat(const RepeatExpr &repeat) {
  os << "repeat " << repeat.dim.text << " (";
  printBindings(repeat.carries);
  if (!repeat.slices.empty()) {
    os << "; ";
    printBindings(repeat.slices);
  }
  os << ") {\n";
  depth += 2;
  printBlock(*repeat.body);
  depth -= 2;
  os.indent((depth + 1) * 2) << "}";
}

void Printer::printExpr(const Expr &expr) {
  llvm::TypeSwitch<const Expr *>(&expr)
      .Case([&](const IntExpr *e) { os << e->value; })
      .Case([&](const FloatExpr *e) { os << llvm::format("%g", e->value); })
      .Case([&](const StringExpr *e) { os << '"' << e->value << '"'; })
      .Case([&](const BoolExpr *e) { os << (e->value ? "true" : "false"); })
      .Case([&](const NameExpr *e) { os << e->name; })
      .Case([&](const TupleExpr *e) {
        os << "(";
        for (auto [i, item] : llvm::enumerate(e->items)) {
          if (static_cast<int>(i) == e->semicolon)
            os << "; ";
          else if (i)
            os << ", ";
          printExpr(*item);
        }
        os << ")";
      })
      .Case([&](const IfExpr *e) {
        os << "(if ";
        printExpr(*e->condition);
        os << " then ";
        printExpr(*e->onTrue);
        os << " else ";
        printExpr(*e->onFalse);
        os << ")";
      })
      .Case([&](const UnaryExpr *e) {
        os << (e->op == UnaryOp::Neg ? "(-" : "(not ");
        printExpr(*e->operand);
        os << ")";
      })
      .Case([&](const BinaryExpr *e) {
        os << "(";
        printExpr(*e->lhs);
        os << " " << spelling(e->op) << " ";
        printExpr(*e->rhs);
        os << ")";
      })
      .Case([&](const MemberExpr *e) {
        printExpr(*e->base);
        os << "." << e->name.text;
      })
      .Case([&](const CallExpr *e) { printCall(*e); })
      .Case([&](const IndexExpr *e) {
        printExpr(*e->base);
        os << "[";
        interleaveComma(e->items, os, [&](const IndexItem &item) {
          os << item.dim.text << " = ";
          printExpr(*item.at);
          for (const Expr *part : {item.limit, item.step})
            if (part) {
              os << ":";
              printExpr(*part);
            }
        });
        os << "]";
      })
      .Case([&](const RepeatExpr *e) { printRepeat(*e); });
}

void Printer::printShape(const Shape &shape) {
  os << "[";
  for (auto [i, item] : llvm::enumerate(shape.items)) {
    if (static_cast<int>(i) == shape.arrow)
      os << (i ? " -> " : "-> ");
    else if (i)
      os << ", ";
    os << (item.rest ? ".." : item.name.text) << (item.list ? "*" : "");
    if (item.size) {
      os << ": ";
      printExpr(*item.size);
    }
  }
  if (shape.arrow == static_cast<int>(shape.items.size()))
    os << " ->";
  os << "]";
}

void Printer::printType(const TypeRef &type) {
  os << type.element.text;
  if (type.shape)
    printShape(*type.shape);
}

void Printer::printFormals(llvm::ArrayRef<Formal> formals) {
  os << "(";
  bool keywords = false;
  for (auto [i, formal] : llvm::enumerate(formals)) {
    if (i || formal.keyword)
      os << (formal.keyword && !keywords ? "; " : ", ");
    keywords |= formal.keyword;
    if (!formal.word.empty())
      os << formal.word << " ";
    os << formal.name.text << (formal.list ? "*" : "");
    if (formal.type) {
      os << ": ";
      printType(*formal.type);
    }
    if (formal.defaultValue) {
      os << " = ";
      printExpr(*formal.defaultValue);
    }
  }
  os << ")";
}

void Printer::printResults(const FnDecl &fn) {
  if (fn.results.empty())
    return;
  os << (fn.resultTuple ? " -> (" : " -> ");
  interleaveComma(fn.results, os, [&](const TypeRef *type) { printType(*type); });
  os << (fn.resultTuple ? ")" : "");
}

void Printer::printBlock(const Block &block) {
  ++depth;
  for (const Stmt *stmt : block.stmts)
    printStmt(*stmt);
  --depth;
}

void Printer::printLet(const LetStmt &let) {
  startLine() << "let " << (let.tuple ? "(" : "");
  interleaveComma(let.binders, os, [&](const Binder &binder) {
    os << binder.name.text;
    if (binder.type) {
      os << ": ";
      printType(*binder.type);
    }
  });
  os << (let.tuple ? ") = " : " = ");
  printExpr(*let.value);
  endLine(let.loc);
}

void Printer::printParams(const ParamStmt &param) {
  for (const ParamDef &def : param.defs) {
    startLine() << "param " << def.name.text;
    if (!def.element.text.empty())
      os << ": " << def.element.text;
    if (def.shape)
      printShape(*def.shape);
    if (def.init) {
      os << " ~ ";
      printExpr(*def.init);
    }
    endLine(def.name.loc);
  }
}

void Printer::printStmt(const Stmt &stmt) {
  llvm::TypeSwitch<const Stmt *>(&stmt)
      .Case([&](const LetStmt *s) { printLet(*s); })
      .Case([&](const ParamStmt *s) { printParams(*s); })
      .Case([&](const ReturnStmt *s) {
        startLine() << "return ";
        printExpr(*s->value);
        endLine(s->loc);
      })
      .Case([&](const NextStmt *s) {
        startLine() << "next (";
        interleaveComma(s->carries, os, [&](const Expr *e) { printExpr(*e); });
        os << (s->stacked.empty() ? "" : "; ");
        interleaveComma(s->stacked, os, [&](const Expr *e) { printExpr(*e); });
        os << ")";
        endLine(s->loc);
      })
      .Case([&](const IfStmt *s) {
        startLine() << "if ";
        printExpr(*s->condition);
        endLine(s->loc);
        printBlock(*s->onTrue);
        if (s->onFalse) {
          startLine() << "else";
          endLine(s->onFalse->loc);
          printBlock(*s->onFalse);
        }
      })
      .Case([&](const DimStmt *s) {
        startLine() << "dim ";
        printNamed(s->dims);
        endLine(s->loc);
      });
}

void Printer::printLayoutItem(const LayoutItem &item) {
  startLine();
  switch (item.kind) {
  case LayoutItemKind::Microbatches:
    os << "microbatches ";
    printExpr(*item.count);
    return endLine(item.loc);
  case LayoutItemKind::Word:
    os << item.scope.text << " ";
    if (item.isQuoted)
      os << '"' << item.scopeArg.text << '"';
    else
      os << item.scopeArg.text;
    return endLine(item.loc);
  case LayoutItemKind::State:
    os << "state(" << item.scopeArg.text << ")";
    break;
  case LayoutItemKind::Pin:
    os << "tensor \"" << item.path.text << "\": ";
    printNames(item.dims);
    break;
  case LayoutItemKind::Rule:
    if (!item.path.text.empty())
      os << '"' << item.path.text << "\": ";
    printNames(item.dims);
    if (!item.scope.text.empty())
      os << " in " << item.scope.text;
    if (!item.scopeArg.text.empty())
      os << "(" << item.scopeArg.text << ")";
    break;
  }
  os << " -> ";
  printNames(item.axes);
  endLine(item.loc);
}

void Printer::printTrain(const TrainDecl &train) {
  startLine() << "train";
  endLine(train.loc);
  ++depth;
  for (const LetStmt *let : train.lets)
    printLet(*let);
  if (train.loss) {
    startLine() << "loss ";
    printExpr(*train.loss);
    endLine(train.loss->loc);
  }
  for (const OptimizerGroup &group : train.groups) {
    startLine() << "optimizer " << (group.isPath ? "\"" : "") << group.selector.text << (group.isPath ? "\"" : "") << ": ";
    printExpr(*group.call);
    endLine(group.selector.loc);
  }
  if (train.clipValue) {
    startLine() << "clip " << train.clip.text << " ";
    printExpr(*train.clipValue);
    endLine(train.clip.loc);
  }
  if (!train.precision.text.empty()) {
    startLine() << "precision " << train.precision.text;
    endLine(train.precision.loc);
  }
  if (train.steps) {
    startLine() << "steps ";
    printExpr(*train.steps);
    endLine(train.steps->loc);
  }
  --depth;
}

void Printer::printDecl(const Decl &decl) {
  llvm::TypeSwitch<const Decl *>(&decl)
      .Case([&](const ImportDecl *d) {
        startLine() << "import " << (d->isFile ? "\"" : "") << d->path.text << (d->isFile ? "\"" : "") << " as " << d->alias.text;
        if (!d->settings.empty()) {
          os << " (";
          printNamed(d->settings);
          os << ")";
        }
        endLine(d->loc);
      })
      .Case([&](const DimDecl *d) {
        startLine() << "dim " << d->name.text << " = ";
        printExpr(*d->size);
        endLine(d->loc);
      })
      .Case([&](const ConstDecl *d) {
        startLine() << "const " << d->name.text << " = ";
        printExpr(*d->value);
        endLine(d->loc);
      })
      .Case([&](const MeshDecl *d) {
        startLine() << "mesh " << d->name.text << "[";
        printNamed(d->axes);
        os << "]";
        endLine(d->loc);
      })
      .Case([&](const LayoutDecl *d) {
        startLine() << "layout";
        endLine(d->loc);
        ++depth;
        for (const LayoutItem &item : d->items)
          printLayoutItem(item);
        --depth;
      })
      .Case([&](const FnDecl *d) {
        startLine() << (d->isModel ? "model " : "fn ") << d->name.text;
        printFormals(d->formals);
        printResults(*d);
        endLine(d->loc);
        printBlock(*d->body);
      })
      .Case([&](const DataDecl *d) {
        startLine() << "data";
        endLine(d->loc);
        ++depth;
        for (const DataItem &item : d->items) {
          startLine();
          interleaveComma(item.fields, os, [&](const DataField &field) {
            os << field.name.text << ": ";
            printType(*field.type);
          });
          os << " from ";
          printExpr(*item.source);
          endLine(item.fields.front().name.loc);
        }
        --depth;
      })
      .Case([&](const TrainDecl *d) { printTrain(*d); })
      .Case([&](const EvalDecl *d) {
        startLine() << "eval";
        endLine(d->loc);
        ++depth;
        for (const LetStmt *let : d->lets)
          printLet(*let);
        for (const NamedArg &metric : d->metrics) {
          startLine() << "metric " << metric.name.text << " = ";
          printExpr(*metric.value);
          endLine(metric.name.loc);
        }
        --depth;
      });
}

void ast::print(const Expr &expr, raw_ostream &os) { Printer(os).printExpr(expr); }

void ast::print(const File &file, raw_ostream &os) {
  Printer printer(os);
  for (const Decl *decl : file.decls)
    printer.printDecl(*decl);
}
