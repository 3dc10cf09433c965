//===- PrinterTest.cpp - the base of the emitters -------------------------------===//
#include "meshc/Target/Expr.h"
#include "meshc/Target/Names.h"
#include "meshc/Target/Printer.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace meshc::target;

static Expr x() { return Expr::name("x"); }
static Expr y() { return Expr::name("y"); }

TEST(Expr, ParenthesesOnlyWhereNeeded) {
  EXPECT_EQ(((x() + y()) * x()).str(), "(x + y) * x");
  EXPECT_EQ((x() + y() * x()).str(), "x + y * x");
  EXPECT_EQ((x() - (y() - x())).str(), "x - (y - x)");
  EXPECT_EQ((x() - y() - x()).str(), "x - y - x");
  EXPECT_EQ((x() / (y() * x())).str(), "x / (y * x)");
  EXPECT_EQ((x() * (y() / x())).str(), "x * (y / x)");
  EXPECT_EQ(Expr::unary("-", x() + y()).str(), "-(x + y)");
  EXPECT_EQ(Expr::unary("-", Expr::unary("-", x())).str(), "-(-x)");
  EXPECT_EQ((x() * Expr::unary("-", y())).str(), "x * -y");
  EXPECT_EQ((x() + y()).index(x() + 1).str(), "(x + y)[x + 1]");
  EXPECT_EQ((x() * Expr::call("f", {x() + y(), y()})).str(), "x * f(x + y, y)");
}

TEST(Expr, ConditionsKeepCompilersQuiet) {
  Expr less = Expr::binary("<", Precedence::Relational, x(), y());
  Expr both = Expr::binary("&&", Precedence::And, less, less);
  EXPECT_EQ(both.str(), "x < y && x < y");
  EXPECT_EQ(Expr::binary("||", Precedence::Or, both, less).str(), "(x < y && x < y) || x < y");
  EXPECT_EQ(Expr::binary("&&", Precedence::And, both, less).str(), "x < y && x < y && x < y");
  EXPECT_EQ(Expr::conditional(less, x(), y()).str(), "x < y ? x : y");
  EXPECT_EQ((Expr::conditional(less, x(), y()) + 1).str(), "(x < y ? x : y) + 1");
}

TEST(Expr, IntegersFold) {
  EXPECT_EQ((x() * 1 + 0).str(), "x");
  EXPECT_EQ((x() * 0 + y()).str(), "y");
  EXPECT_EQ((Expr(3) * 4 + 1).str(), "13");
  EXPECT_EQ((x() + -3).str(), "x - 3");
  EXPECT_EQ((x() % 1).str(), "0");
  EXPECT_EQ((x() / 1).str(), "x");
}

TEST(Expr, FloatsReadBackExactly) {
  EXPECT_EQ(Expr::floating(1).str(), "1.0f");
  EXPECT_EQ(Expr::floating(0.1).str(), "0.1f");
  EXPECT_EQ(Expr::floating(-0.5).str(), "-0.5f");
  EXPECT_EQ(Expr::floating(1e-8).str(), "1e-08f");
  EXPECT_EQ(Expr::floating(0.1, true).str(), "0.1");
  EXPECT_EQ(Expr::floating(std::numeric_limits<double>::infinity()).str(), "INFINITY");
  for (float value : {0.797884583f, 3.14159274f, 1.17549435e-38f, 3.40282347e+38f})
    EXPECT_EQ(std::strtof(Expr::floating(value).str().c_str(), nullptr), value);
}

TEST(Names, LookLikeTheUsers) {
  EXPECT_EQ(identifier("ln1.gain"), "ln1_gain");
  EXPECT_EQ(identifier("embed'"), "embed_p");
  EXPECT_EQ(identifier("grad(w1)"), "grad_w1");
  EXPECT_EQ(identifier("7x"), "n7x");
  EXPECT_EQ(identifier("float"), "float_");
  EXPECT_EQ(identifier("__x__"), "x");
  EXPECT_EQ(identifier("??"), "value");
  EXPECT_EQ(constantName("ln1.gain"), "kLn1Gain");
}

TEST(Names, AreUniqueAcrossScopes) {
  Names outer;
  EXPECT_EQ(outer.add("x"), "x");
  EXPECT_EQ(outer.add("x"), "x2");
  EXPECT_EQ(outer.add("w1"), "w1");
  EXPECT_EQ(outer.add("w1"), "w1_2");
  Names inner(&outer);
  EXPECT_EQ(inner.add("x"), "x3");
  EXPECT_EQ(inner.add("y"), "y");
  EXPECT_EQ(outer.add("y"), "y") << "a name may occur in a later sibling scope";
}

TEST(Names, ShortestSuffixes) {
  std::vector<std::string> names = shortestSuffixes({"gpt.wte", "gpt.ln1.gain", "gpt.ln2.gain", "gpt.wte.wte"});
  EXPECT_EQ(names, (std::vector<std::string>{"gpt.wte", "ln1.gain", "ln2.gain", "wte.wte"}));
  EXPECT_EQ(shortestSuffixes({"a", "b.a"}), (std::vector<std::string>{"a", "b.a"}));
}

TEST(Names, Locations) {
  mlir::MLIRContext context;
  auto line = mlir::FileLineColLoc::get(&context, "some/where/gpt.mesh", 31, 4);
  mlir::Location named = mlir::NameLoc::get(mlir::StringAttr::get(&context, "x"), line);
  EXPECT_EQ(nameOf(named), "x");
  EXPECT_EQ(sourceLine(named), "gpt.mesh:31");
  mlir::Location fused = mlir::FusedLoc::get(&context, {mlir::UnknownLoc::get(&context), named});
  EXPECT_EQ(nameOf(fused), "x");
  EXPECT_EQ(sourceLine(fused), "gpt.mesh:31");
  EXPECT_EQ(sourceLine(mlir::UnknownLoc::get(&context)), "");
}

static std::string printed(llvm::function_ref<void(Printer &)> body, unsigned width = 40) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Printer p(os, width);
  body(p);
  return text;
}

TEST(Printer, Blocks) {
  EXPECT_EQ(printed([](Printer &p) {
              p.gap();
              p.open("for (;;)");
              p.gap();
              p.line("x;");
              p.gap();
              p.gap();
              p.directive("#pragma omp simd");
              p.close(" // loop");
            }),
            "for (;;) {\n  x;\n\n#pragma omp simd\n} // loop\n");
}

TEST(Printer, LongLinesBreak) {
  EXPECT_EQ(printed([](Printer &p) { p.call("matmul", {"rank", "{.m = 4, .n = 4}", "input", "weights"}); }),
            "matmul(rank, {.m = 4, .n = 4}, input,\n       weights);\n");
  EXPECT_EQ(printed([](Printer &p) { p.assign("float t", "first * second + third * fourth + fifth"); }),
            "float t = first * second +\n          third * fourth + fifth;\n");
  EXPECT_EQ(printed([](Printer &p) { p.comment("one two three four five six seven eight nine"); }),
            "// one two three four five six seven\n// eight nine\n");
  EXPECT_EQ(printed([](Printer &p) { p.remarked("float *x = y;", "x[batch=4]"); }), "float *x = y;  // x[batch=4]\n");
  EXPECT_EQ(printed([](Printer &p) { p.remarked("float *x = rank.at(8);", "x[batch=4, seq=8]"); }),
            "// x[batch=4, seq=8]\nfloat *x = rank.at(8);\n");
}
