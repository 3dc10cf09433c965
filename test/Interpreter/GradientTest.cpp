//===- GradientTest.cpp - the derivative of every op ------------------------===//
//
// A case is a body over arguments %0, %1, ...; floats are parameters. The loss is the sum of the results times fixed random weights,
// so that every cotangent differs. The gradient that mtf-differentiate makes must equal finite differences in f64, for every
// element of small parameters and in random directions.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "Program.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Gradients.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::interp;
using namespace meshc::interp::test;

namespace {
enum Domain { Real, Positive };

struct Case {
  const char *name;
  std::vector<std::string> arguments;
  /// The right-hand side of one op without its types, or lines that define %r0, %r1, ...
  std::string body;
  std::vector<std::string> results;
  Domain domain = Real;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.body; }

std::string tensor(llvm::StringRef type) { return ("!mtf.tensor<" + type + ">").str(); }

std::string list(llvm::ArrayRef<std::string> types) {
  std::string text;
  for (const std::string &type : types)
    text += (text.empty() ? "" : ", ") + tensor(type);
  return text;
}

/// The dims of `[a=2, b=3], f32` as a list of names: `"a", "b"`.
std::string dimNames(llvm::StringRef type) {
  llvm::SmallVector<llvm::StringRef> dims;
  type.split(']').first.drop_front().split(dims, ", ", -1, false);
  std::string names;
  for (llvm::StringRef dim : dims)
    names += (names.empty() ? "\"" : ", \"") + dim.split('=').first.str() + "\"";
  return names;
}

std::string programOf(const Case &c) {
  std::string text = "func.func @loss(", total, bodyResults;
  for (auto [i, type] : llvm::enumerate(c.arguments)) {
    bool isFloat = llvm::StringRef(type).ends_with("f32");
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + tensor(type) + (isFloat ? " {mtf.param = @p" : " {mtf.data = \"d") +
            std::to_string(i) + (isFloat ? "}" : "\"}");
  }
  for (auto [i, type] : llvm::enumerate(c.results)) {
    bodyResults += (i ? ", %r" : "%r") + std::to_string(i);
    if (llvm::StringRef(type).ends_with("f32"))
      text += ", %w" + std::to_string(i) + ": " + tensor(type) + " {mtf.data = \"w" + std::to_string(i) + "\"}";
  }
  text += ") -> !mtf.tensor<[], f32> {\n";
  if (c.body.find("%r0") != std::string::npos)
    text += c.body;
  else
    text += bodyResults + " = " + c.body + " : (" + list(c.arguments) + ") -> (" + list(c.results) + ")";
  text += "\n";
  for (auto [i, type] : llvm::enumerate(c.results)) {
    if (!llvm::StringRef(type).ends_with("f32"))
      continue;
    std::string n = std::to_string(i);
    text += "%t" + n + " = mtf.dot %r" + n + ", %w" + n + " over [" + dimNames(type) + "] : (" + tensor(type) + ", " + tensor(type) +
            ") -> !mtf.tensor<[], f32>\n";
    if (!total.empty())
      text += "%u" + n + " = mtf.add " + total + ", %t" + n + " : (!mtf.tensor<[], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[], f32>\n";
    total = (total.empty() ? "%t" : "%u") + n;
  }
  return text + "return " + total + " : !mtf.tensor<[], f32>\n}";
}

const Case kCases[] = {
    {"neg", {"[a=3], f32"}, "mtf.neg %0", {"[a=3], f32"}},
    {"abs", {"[a=5], f32"}, "mtf.abs %0", {"[a=5], f32"}},
    {"sign", {"[a=5], f32"}, "mtf.sign %0", {"[a=5], f32"}},
    {"exp", {"[a=3, b=1], f32"}, "mtf.exp %0", {"[a=3, b=1], f32"}},
    {"log", {"[a=3], f32"}, "mtf.log %0", {"[a=3], f32"}, Positive},
    {"sqrt", {"[a=3], f32"}, "mtf.sqrt %0", {"[a=3], f32"}, Positive},
    {"rsqrt", {"[a=3], f32"}, "mtf.rsqrt %0", {"[a=3], f32"}, Positive},
    {"tanh", {"[a=3], f32"}, "mtf.tanh %0", {"[a=3], f32"}},
    {"erf", {"[a=3], f32"}, "mtf.erf %0", {"[a=3], f32"}},
    {"sin", {"[a=3], f32"}, "mtf.sin %0", {"[a=3], f32"}},
    {"cos", {"[a=3], f32"}, "mtf.cos %0", {"[a=3], f32"}},
    {"sigmoid", {"[a=3], f32"}, "mtf.sigmoid %0", {"[a=3], f32"}},
    {"unary_broadcast", {"[a=3], f32"}, "mtf.exp %0", {"[a=3, b=2], f32"}},
    {"floor", {"[a=5], f32"}, "mtf.floor %0", {"[a=5], f32"}},
    {"ceil", {"[a=5], f32"}, "mtf.ceil %0", {"[a=5], f32"}},
    {"broadcast", {"[b=3], f32"}, "mtf.broadcast %0", {"[a=2, b=3, c=1], f32"}},
    {"tap", {"[b=3], f32"}, "mtf.tap \"x\" %0", {"[b=3], f32"}},
    {"cast", {"[a=3], f32"}, "%b = mtf.cast %0 : (!mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], bf16>\n"
     "%r0 = mtf.cast %b : (!mtf.tensor<[a=3], bf16>) -> !mtf.tensor<[a=3], f32>", {"[a=3], f32"}},

    {"add", {"[a=3], f32", "[b=2], f32"}, "mtf.add %0, %1", {"[a=3, b=2], f32"}},
    {"sub", {"[a=3, b=2], f32", "[b=2], f32"}, "mtf.sub %0, %1", {"[a=3, b=2], f32"}},
    {"mul", {"[a=3, c=1], f32", "[b=2, a=3], f32"}, "mtf.mul %0, %1", {"[a=3, b=2, c=1], f32"}},
    {"mul_scalar", {"[], f32", "[a=3], f32"}, "mtf.mul %0, %1", {"[a=3], f32"}},
    {"mul_itself", {"[a=3], f32"}, "%r0 = mtf.mul %0, %0 : (!mtf.tensor<[a=3], f32>, !mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], f32>", {"[a=3], f32"}},
    {"mul_both_short", {"[a=3], f32", "[a=3], f32"}, "mtf.mul %0, %1", {"[a=3, b=2], f32"}},
    {"div", {"[a=3], f32", "[b=2], f32"}, "mtf.div %0, %1", {"[a=3, b=2], f32"}, Positive},
    {"rem", {"[a=3], f32", "[b=2], f32"}, "mtf.rem %0, %1", {"[a=3, b=2], f32"}, Positive},
    {"max", {"[a=5], f32", "[b=3], f32"}, "mtf.max %0, %1", {"[a=5, b=3], f32"}},
    {"min", {"[a=5], f32", "[b=3], f32"}, "mtf.min %0, %1", {"[a=5, b=3], f32"}},
    {"pow", {"[a=3], f32", "[b=2], f32"}, "mtf.pow %0, %1", {"[a=3, b=2], f32"}, Positive},
    {"select", {"[a=5, b=3], i1", "[a=5], f32", "[], f32"}, "mtf.select %0, %1, %2", {"[a=5, b=3], f32"}},

    {"dot", {"[a=3, b=2], f32", "[b=2, c=5], f32"}, "mtf.dot %0, %1 over [\"b\"]", {"[a=3, c=5], f32"}},
    {"dot_batched", {"[a=3, b=2, d=2], f32", "[b=2, c=5, d=2], f32"}, "mtf.dot %0, %1 over [\"b\"]", {"[a=3, c=5, d=2], f32"}},
    {"dot_two", {"[a=3, b=2], f32", "[a=3, b=2, c=1], f32"}, "mtf.dot %0, %1 over [\"a\", \"b\"]", {"[c=1], f32"}},
    {"dot_outer", {"[a=3], f32", "[b=2], f32"}, "mtf.dot %0, %1 over []", {"[a=3, b=2], f32"}},
    {"dot_itself", {"[a=3, b=2], f32"}, "%r0 = mtf.dot %0, %0 over [\"b\"] : (!mtf.tensor<[a=3, b=2], f32>, !mtf.tensor<[a=3, b=2], f32>) -> !mtf.tensor<[a=3], f32>", {"[a=3], f32"}},
    {"sum", {"[a=3, b=2], f32"}, "mtf.reduce sum %0 over [\"a\"]", {"[b=2], f32"}},
    {"sum_all", {"[a=3, b=2], f32"}, "mtf.reduce sum %0 over [\"a\", \"b\"]", {"[], f32"}},
    {"max_of", {"[a=3, b=5], f32"}, "mtf.reduce max %0 over [\"b\"]", {"[a=3], f32"}},
    {"min_of", {"[a=3, b=5], f32"}, "mtf.reduce min %0 over [\"a\"]", {"[b=5], f32"}},
    {"prod", {"[a=3, b=5], f32"}, "mtf.reduce prod %0 over [\"b\"]", {"[a=3], f32"}},
    {"logsumexp", {"[a=3, b=5], f32"}, "mtf.logsumexp %0 over [\"b\"]", {"[a=3], f32"}},
    {"logsumexp_one", {"[a=3, b=1], f32"}, "mtf.logsumexp %0 over [\"b\"]", {"[a=3], f32"}},
    {"softmax", {"[a=3, b=5], f32"}, "mtf.softmax %0 over [\"b\"]", {"[a=3, b=5], f32"}},
    {"softmax_two", {"[a=3, b=2, c=2], f32"}, "mtf.softmax %0 over [\"a\", \"c\"]", {"[a=3, b=2, c=2], f32"}},
    {"top_k", {"[a=3, b=5], f32"}, "mtf.top_k %0 over \"b\" into \"k\"", {"[a=3, k=2], f32", "[a=3, k=2], i32"}},
    {"cumsum", {"[a=3, b=5], f32"}, "mtf.cumsum %0 over \"b\"", {"[a=3, b=5], f32"}},
    {"cumsum_exclusive", {"[a=3, b=5], f32"}, "mtf.cumsum %0 over \"b\" exclusive", {"[a=3, b=5], f32"}},
    {"cumsum_reverse", {"[a=3, b=5], f32"}, "mtf.cumsum %0 over \"b\" reverse", {"[a=3, b=5], f32"}},

    {"rename", {"[a=3, b=2], f32"}, "mtf.rename %0 [\"a\"] to [\"z\"]", {"[b=2, z=3], f32"}},
    {"rename_exchange", {"[a=3, b=3], f32"}, "mtf.rename %0 [\"a\", \"b\"] to [\"b\", \"a\"]", {"[a=3, b=3], f32"}},
    {"split", {"[a=6, c=2], f32"}, "mtf.split %0 \"a\" into [\"y\", \"x\"]", {"[c=2, x=3, y=2], f32"}},
    {"merge", {"[a=2, b=3, c=2], f32"}, "mtf.merge %0 [\"b\", \"a\"] into \"d\"", {"[c=2, d=6], f32"}},
    {"slice", {"[a=7, b=2], f32"}, "mtf.slice %0 \"a\"[1:6:2]", {"[a=3, b=2], f32"}},
    {"pad", {"[a=3, b=2], f32", "[], f32"}, "mtf.pad %0 with %1 \"a\"[2, 1, 1]", {"[a=8, b=2], f32"}},
    {"pad_crops", {"[a=5, b=2], f32", "[], f32"}, "mtf.pad %0 with %1 \"a\"[-1, -2, 0]", {"[a=2, b=2], f32"}},
    {"pad_crops_and_spreads", {"[a=4], f32", "[], f32"}, "mtf.pad %0 with %1 \"a\"[-1, -1, 2]", {"[a=8], f32"}},
    {"concat", {"[a=1, b=2], f32", "[a=3, b=2], f32"}, "mtf.concat %0, %1 along \"a\"", {"[a=4, b=2], f32"}},
    {"stack", {"[a=3], f32", "[a=3], f32"}, "mtf.stack %0, %1 along \"s\"", {"[a=3, s=2], f32"}},
    {"shift", {"[a=5, b=2], f32"}, "mtf.shift %0 \"a\" by 2", {"[a=5, b=2], f32"}},
    {"shift_back", {"[a=5, b=2], f32"}, "mtf.shift %0 \"a\" by -1", {"[a=5, b=2], f32"}},
    {"window", {"[a=7, b=2], f32"}, "mtf.window %0 \"a\" into \"w\" stride 2 dilation 2 low 1", {"[a=3, b=2, w=3], f32"}},
    {"fold", {"[a=3, b=2, w=3], f32"}, "mtf.fold %0 \"w\" onto \"a\" stride 2 dilation 2 low 1", {"[a=7, b=2], f32"}},

    {"gather", {"[d=2, v=5], f32", "[t=3], i32"}, "mtf.gather %0[\"v\" = %1]", {"[d=2, t=3], f32"}},
    {"gather_batched", {"[t=3, v=5], f32", "[t=3], i32"}, "mtf.gather %0[\"v\" = %1]", {"[t=3], f32"}},
    {"gather_some_batched", {"[d=2, t=3, v=5], f32", "[s=2, t=3], i32"}, "mtf.gather %0[\"v\" = %1]", {"[d=2, s=2, t=3], f32"}},
    {"gather_own_dim", {"[d=2, v=5], f32", "[v=5], i32"}, "mtf.gather %0[\"v\" = %1]", {"[d=2, v=5], f32"}},
    {"scatter_add", {"[d=2, t=5], f32", "[t=5], i32"}, "mtf.scatter_add %0 at %1 into \"v\"", {"[d=2, v=3], f32"}},
    {"scatter_add_batched", {"[d=2, t=5], f32", "[t=5], i32"}, "mtf.scatter_add %0 at %1 into \"v\"", {"[d=2, t=5, v=3], f32"}},

    {"attend", {"[b=2, h=3, s=5], f32", "[b=2, h=3, m=4], f32", "[b=2, m=4, o=3], f32"},
     "%r0, %l = mtf.attend %0, %1, %2 over [\"h\"], \"m\" scale 0.7 : (!mtf.tensor<[b=2, h=3, s=5], f32>, !mtf.tensor<[b=2, h=3, m=4], f32>, "
     "!mtf.tensor<[b=2, m=4, o=3], f32>) -> (!mtf.tensor<[b=2, o=3, s=5], f32>, !mtf.tensor<[b=2, s=5], f32>)", {"[b=2, o=3, s=5], f32"}},
    // Grouped queries: g is a dim of q only. The mask forbids some keys, and all of them for some rows.
    {"attend_grouped_masked", {"[b=2, g=2, h=3, s=5], f32", "[b=2, h=3, m=2], f32", "[b=2, m=2, h=3], f32", "[b=2, m=2, s=5], i1"},
     "%r0, %l = mtf.attend %0, %1, %2 where %3 over [\"h\"], \"m\" scale 0.7 : (!mtf.tensor<[b=2, g=2, h=3, s=5], f32>, "
     "!mtf.tensor<[b=2, h=3, m=2], f32>, !mtf.tensor<[b=2, h=3, m=2], f32>, !mtf.tensor<[b=2, m=2, s=5], i1>) -> "
     "(!mtf.tensor<[b=2, g=2, h=3, s=5], f32>, !mtf.tensor<[b=2, g=2, s=5], f32>)", {"[b=2, g=2, h=3, s=5], f32"}},

    // Carries, slices, stacks, a captured value and the index, forward and back.
    {"repeat", {"[a=3], f32", "[a=3, l=4], f32", "[a=3], f32"},
     "%r0, %r1 = mtf.repeat \"l\" 4 carries(%0 : !mtf.tensor<[a=3], f32>) slices(%1 : !mtf.tensor<[a=3, l=4], f32>) -> "
     "!mtf.tensor<[a=3], f32>, !mtf.tensor<[a=3, l=4], f32> {\n"
     "^bb0(%i: !mtf.tensor<[], i32>, %c: !mtf.tensor<[a=3], f32>, %s: !mtf.tensor<[a=3], f32>):\n"
     "  %j = mtf.cast %i : (!mtf.tensor<[], i32>) -> !mtf.tensor<[], f32>\n"
     "  %m = mtf.mul %s, %c : (!mtf.tensor<[a=3], f32>, !mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], f32>\n"
     "  %g = mtf.mul %m, %2 : (!mtf.tensor<[a=3], f32>, !mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], f32>\n"
     "  %n = mtf.add %g, %j : (!mtf.tensor<[a=3], f32>, !mtf.tensor<[], f32>) -> !mtf.tensor<[a=3], f32>\n"
     "  %t = mtf.tanh %n : (!mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], f32>\n"
     "  mtf.next carries(%t : !mtf.tensor<[a=3], f32>) stacks(%m : !mtf.tensor<[a=3], f32>)\n}", {"[a=3], f32", "[a=3, l=4], f32"}},
    {"repeat_reverse", {"[a=3], f32", "[a=3, l=4], f32"},
     "%r0 = mtf.repeat \"l\" 4 reverse carries(%0 : !mtf.tensor<[a=3], f32>) slices(%1 : !mtf.tensor<[a=3, l=4], f32>) -> !mtf.tensor<[a=3], f32> {\n"
     "^bb0(%i: !mtf.tensor<[], i32>, %c: !mtf.tensor<[a=3], f32>, %s: !mtf.tensor<[a=3], f32>):\n"
     "  %m = mtf.mul %s, %c : (!mtf.tensor<[a=3], f32>, !mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], f32>\n"
     "  %t = mtf.sin %m : (!mtf.tensor<[a=3], f32>) -> !mtf.tensor<[a=3], f32>\n"
     "  mtf.next carries(%t : !mtf.tensor<[a=3], f32>) stacks()\n}", {"[a=3], f32"}},
};

class OpGradient : public testing::TestWithParam<Case> {};
} // namespace

TEST_P(OpGradient, EqualsFiniteDifferences) {
  const Case &c = GetParam();
  Program program(programOf(c));
  ASSERT_TRUE(program.module);
  mlir::PassManager passes(&program.context);
  passes.addPass(mtf::createDifferentiate());
  ASSERT_TRUE(succeeded(passes.run(*program.module))) << program.errors;

  mlir::func::FuncOp loss = program.function("loss");
  std::vector<Tensor> arguments = randomArguments(loss, /*seed=*/1);
  if (c.domain == Positive)
    for (Tensor &argument : arguments)
      for (double &x : argument.values())
        x = std::abs(x) + 0.2;
  GradientCheck options;
  options.samples = 64;
  // The differences are good to about 1e-10; constants in the rules (2 / sqrt(pi)) are rounded to f32.
  options.tolerance = 1e-7;
  std::string report;
  llvm::raw_string_ostream os(report);
  EXPECT_TRUE(succeeded(checkGradients(*program.module, loss, program.function("loss_grad"), arguments, options, os)))
      << program.errors << report;
  EXPECT_NE(report, "");
}

INSTANTIATE_TEST_SUITE_P(Ops, OpGradient, testing::ValuesIn(kCases), [](const auto &info) { return std::string(info.param.name); });

TEST(Gradient, EveryOpWithADerivativeHasACase) {
  Program program("");
  for (mlir::RegisteredOperationName op : program.context.getRegisteredOperationsByDialect("mtf")) {
    std::string name = op.getStringRef().str() + " ";
    if (op.hasInterface<mtf::GradientOpInterface>() && name != "mtf.stop_gradient ")
      EXPECT_TRUE(llvm::any_of(kCases, [&](const Case &c) { return c.body.find(name) != std::string::npos; })) << name;
  }
}

TEST(Gradient, StopGradientIsZero) {
  Program program(programOf({"", {"[a=3], f32"}, "mtf.stop_gradient %0", {"[a=3], f32"}}));
  mlir::PassManager passes(&program.context);
  passes.addPass(mtf::createDifferentiate());
  ASSERT_TRUE(succeeded(passes.run(*program.module))) << program.errors;
  std::vector<Tensor> arguments = randomArguments(program.function("loss"), 1);
  arguments.push_back(Tensor::scalar(1));
  auto results = Interpreter(*program.module).call("loss_grad", arguments);
  ASSERT_TRUE(succeeded(results)) << program.errors;
  EXPECT_EQ(results->back().values().vec(), (Values{0, 0, 0}));
}

// The check is not vacuous: a wrong gradient is found and named.
TEST(Gradient, CheckFindsAWrongGradient) {
  Program program(R"(
    !s = !mtf.tensor<[], f32>
    func.func @loss(%w: !s {mtf.param = @w}) -> !s { %0 = mtf.sin %w : (!s) -> !s
      return %0 : !s }
    func.func @loss_grad(%w: !s {mtf.param = @w}, %c: !s {mtf.input = "cotangent"}) -> (!s, !s) {
      %0 = mtf.sin %w : (!s) -> !s
      return %0, %0 : !s, !s })");
  std::string report;
  llvm::raw_string_ostream os(report);
  mlir::func::FuncOp loss = program.function("loss");
  EXPECT_TRUE(failed(checkGradients(*program.module, loss, program.function("loss_grad"), randomArguments(loss, 1), {}, os)));
  EXPECT_NE(program.errors.find("gradient of 'w' is wrong"), std::string::npos) << program.errors;
}
