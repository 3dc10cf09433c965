//===- EvaluatorTest.cpp - every op against values worked out by hand ------===//
//
// A case is the body of @f: arguments %0, %1, ... have the types listed, the last line's results are returned. Elements are
// in row-major order of the dims sorted by name.
//
//===----------------------------------------------------------------------===//
#include "Program.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshc::interp;
using namespace meshc::interp::test;

namespace {
struct Case {
  const char *name;
  std::vector<const char *> argumentTypes;
  std::vector<Values> arguments;
  const char *op; ///< `mtf.neg %0`, without the types.
  std::vector<const char *> resultTypes;
  std::vector<Values> expected;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.op; }

std::string tensorType(const char *text) { return std::string("!mtf.tensor<") + text + ">"; }

std::string list(const std::vector<const char *> &types) {
  std::string text;
  for (const char *type : types)
    text += (text.empty() ? "" : ", ") + tensorType(type);
  return text;
}

std::string programOf(const Case &c) {
  std::string formals, results, returned = list(c.resultTypes);
  for (size_t i = 0; i < c.argumentTypes.size(); ++i)
    formals += (i ? ", %" : "%") + std::to_string(i) + ": " + tensorType(c.argumentTypes[i]);
  for (size_t i = 0; i < c.resultTypes.size(); ++i)
    results += (i ? ", %r" : "%r") + std::to_string(i);
  return "func.func @f(" + formals + ") -> (" + returned + ") {\n" + results + " = " + c.op + " : (" + list(c.argumentTypes) + ") -> (" +
         returned + ")\nreturn " + results + " : " + returned + "\n}";
}

class Evaluator : public testing::TestWithParam<Case> {};

const double e = std::exp(1.0);

// a is the slow dim, b the fast one: [[1 2 3] [4 5 6]].
const Values kCount = {1, 2, 3, 4, 5, 6};

const Case kCases[] = {
    {"neg", {"[a=2], f32"}, {{1, -2}}, "mtf.neg %0", {"[a=2], f32"}, {{-1, 2}}},
    {"abs", {"[a=2], i32"}, {{1, -2}}, "mtf.abs %0", {"[a=2], i32"}, {{1, 2}}},
    {"sign", {"[a=3], f32"}, {{5, -2, 0}}, "mtf.sign %0", {"[a=3], f32"}, {{1, -1, 0}}},
    {"exp", {"[a=2], f32"}, {{0, 1}}, "mtf.exp %0", {"[a=2], f32"}, {{1, e}}},
    {"log", {"[a=2], f32"}, {{1, e}}, "mtf.log %0", {"[a=2], f32"}, {{0, 1}}},
    {"sqrt", {"[a=2], f32"}, {{4, 2.25}}, "mtf.sqrt %0", {"[a=2], f32"}, {{2, 1.5}}},
    {"rsqrt", {"[a=2], f32"}, {{4, 0.25}}, "mtf.rsqrt %0", {"[a=2], f32"}, {{0.5, 2}}},
    {"tanh", {"[a=2], f32"}, {{0, std::log(2.0)}}, "mtf.tanh %0", {"[a=2], f32"}, {{0, 0.6}}},
    {"erf", {"[a=2], f32"}, {{0, 0.5}}, "mtf.erf %0", {"[a=2], f32"}, {{0, 0.520499877813046537}}},
    {"sin", {"[a=2], f32"}, {{0, M_PI / 6}}, "mtf.sin %0", {"[a=2], f32"}, {{0, 0.5}}},
    {"cos", {"[a=2], f32"}, {{0, M_PI / 3}}, "mtf.cos %0", {"[a=2], f32"}, {{1, 0.5}}},
    {"sigmoid", {"[a=2], f32"}, {{0, std::log(3.0)}}, "mtf.sigmoid %0", {"[a=2], f32"}, {{0.5, 0.75}}},
    {"floor", {"[a=2], f32"}, {{1.5, -1.5}}, "mtf.floor %0", {"[a=2], f32"}, {{1, -2}}},
    {"ceil", {"[a=2], f32"}, {{1.5, -1.5}}, "mtf.ceil %0", {"[a=2], f32"}, {{2, -1}}},
    {"not", {"[a=2], i1"}, {{0, 1}}, "mtf.not %0", {"[a=2], i1"}, {{1, 0}}},
    {"add", {"[a=2], f32", "[b=3], f32"}, {{10, 20}, {1, 2, 3}}, "mtf.add %0, %1", {"[a=2, b=3], f32"}, {{11, 12, 13, 21, 22, 23}}},
    {"sub", {"[a=2], f32", "[a=2, b=3], f32"}, {{10, 20}, kCount}, "mtf.sub %0, %1", {"[a=2, b=3], f32"}, {{9, 8, 7, 16, 15, 14}}},
    {"mul", {"[], f32", "[a=2], f32"}, {{3}, {1, 2}}, "mtf.mul %0, %1", {"[a=2], f32"}, {{3, 6}}},
    {"mul_wraps", {"[], i32", "[], i32"}, {{65537}, {65537}}, "mtf.mul %0, %1", {"[], i32"}, {{131073}}},
    {"div", {"[a=2], f32", "[a=2], f32"}, {{1, 3}, {4, -2}}, "mtf.div %0, %1", {"[a=2], f32"}, {{0.25, -1.5}}},
    {"div_floor", {"[a=4], i32", "[a=4], i32"}, {{7, -7, 7, -7}, {2, 2, -2, -2}}, "mtf.div %0, %1", {"[a=4], i32"}, {{3, -4, -4, 3}}},
    {"rem", {"[a=4], f32", "[a=4], f32"}, {{7, -7, 7, -7}, {4, 4, -4, -4}}, "mtf.rem %0, %1", {"[a=4], f32"}, {{3, 1, -1, -3}}},
    {"max", {"[a=2], f32", "[], f32"}, {{1, 3}, {2}}, "mtf.max %0, %1", {"[a=2], f32"}, {{2, 3}}},
    {"min", {"[a=2], f32", "[], f32"}, {{1, 3}, {2}}, "mtf.min %0, %1", {"[a=2], f32"}, {{1, 2}}},
    {"pow", {"[a=2], f32", "[a=2], f32"}, {{2, 9}, {10, 0.5}}, "mtf.pow %0, %1", {"[a=2], f32"}, {{1024, 3}}},
    {"and", {"[a=4], i1", "[a=4], i1"}, {{0, 0, 1, 1}, {0, 1, 0, 1}}, "mtf.and %0, %1", {"[a=4], i1"}, {{0, 0, 0, 1}}},
    {"or", {"[a=4], i1", "[a=4], i1"}, {{0, 0, 1, 1}, {0, 1, 0, 1}}, "mtf.or %0, %1", {"[a=4], i1"}, {{0, 1, 1, 1}}},
    {"eq", {"[a=3], i32", "[], i32"}, {{1, 2, 3}, {2}}, "mtf.compare eq %0, %1", {"[a=3], i1"}, {{0, 1, 0}}},
    {"ne", {"[a=3], i32", "[], i32"}, {{1, 2, 3}, {2}}, "mtf.compare ne %0, %1", {"[a=3], i1"}, {{1, 0, 1}}},
    {"lt", {"[a=3], i32", "[], i32"}, {{1, 2, 3}, {2}}, "mtf.compare lt %0, %1", {"[a=3], i1"}, {{1, 0, 0}}},
    {"le", {"[a=3], i32", "[], i32"}, {{1, 2, 3}, {2}}, "mtf.compare le %0, %1", {"[a=3], i1"}, {{1, 1, 0}}},
    {"gt", {"[a=3], i32", "[], i32"}, {{1, 2, 3}, {2}}, "mtf.compare gt %0, %1", {"[a=3], i1"}, {{0, 0, 1}}},
    {"ge", {"[a=3], i32", "[], i32"}, {{1, 2, 3}, {2}}, "mtf.compare ge %0, %1", {"[a=3], i1"}, {{0, 1, 1}}},
    {"select", {"[b=2], i1", "[a=2], f32", "[], f32"}, {{1, 0}, {5, 6}, {0}}, "mtf.select %0, %1, %2", {"[a=2, b=2], f32"}, {{5, 0, 6, 0}}},
    {"cast_to_int", {"[a=2], f32"}, {{1.9, -1.9}}, "mtf.cast %0", {"[a=2], i32"}, {{1, -1}}},
    {"broadcast", {"[b=2], f32"}, {{1, 2}}, "mtf.broadcast %0", {"[a=2, b=2, c=2], f32"}, {{1, 1, 2, 2, 1, 1, 2, 2}}},
    {"index", {"[], i32"}, {{5}}, "mtf.index \"a\" offset %0 : !mtf.tensor<[], i32> : !mtf.tensor<[a=3], i32> //", {"[a=3], i32"}, {{5, 6, 7}}},

    // [[1 2 3] [4 5 6]] times [[1 0 2] [0 1 0]] over b.
    {"dot", {"[a=2, b=3], f32", "[b=3, c=2], f32"}, {kCount, {1, 0, 0, 1, 2, 0}}, "mtf.dot %0, %1 over [\"b\"]", {"[a=2, c=2], f32"}, {{7, 2, 16, 5}}},
    {"dot_batched", {"[a=2, b=3], f32", "[a=2, b=3], f32"}, {kCount, {1, 1, 1, 2, 2, 2}}, "mtf.dot %0, %1 over [\"b\"]", {"[a=2], f32"}, {{6, 30}}},
    {"dot_two", {"[a=2, b=3], f32", "[a=2, b=3], f32"}, {kCount, kCount}, "mtf.dot %0, %1 over [\"b\", \"a\"]", {"[], f32"}, {{91}}},
    {"dot_outer", {"[a=2], f32", "[b=2], f32"}, {{1, 2}, {3, 4}}, "mtf.dot %0, %1 over []", {"[a=2, b=2], f32"}, {{3, 4, 6, 8}}},
    {"sum", {"[a=2, b=3], f32"}, {kCount}, "mtf.reduce sum %0 over [\"a\"]", {"[b=3], f32"}, {{5, 7, 9}}},
    {"max_of", {"[a=2, b=3], f32"}, {kCount}, "mtf.reduce max %0 over [\"b\"]", {"[a=2], f32"}, {{3, 6}}},
    {"min_of", {"[a=2, b=3], f32"}, {kCount}, "mtf.reduce min %0 over [\"a\", \"b\"]", {"[], f32"}, {{1}}},
    {"prod", {"[a=2, b=3], f32"}, {kCount}, "mtf.reduce prod %0 over [\"b\"]", {"[a=2], f32"}, {{6, 120}}},
    {"logsumexp", {"[a=2, b=2], f32"}, {{0, 0, 1000, 1000 + std::log(3.0)}}, "mtf.logsumexp %0 over [\"b\"]", {"[a=2], f32"},
     {{std::log(2.0), 1000 + std::log(4.0)}}},
    {"softmax", {"[a=2, b=2], f32"}, {{0, std::log(3.0), 1000, 1000}}, "mtf.softmax %0 over [\"b\"]", {"[a=2, b=2], f32"}, {{0.25, 0.75, 0.5, 0.5}}},
    {"argmax", {"[a=2, b=3], f32"}, {{1, 3, 3, 5, 5, 4}}, "mtf.argmax %0 over \"b\"", {"[a=2], i32"}, {{1, 0}}},
    {"top_k", {"[a=2, b=3], f32"}, {{1, 3, 2, 5, 5, 6}}, "mtf.top_k %0 over \"b\" into \"k\"", {"[a=2, k=2], f32", "[a=2, k=2], i32"},
     {{3, 2, 6, 5}, {1, 2, 2, 0}}},
    {"cumsum", {"[a=2, b=3], f32"}, {kCount}, "mtf.cumsum %0 over \"b\"", {"[a=2, b=3], f32"}, {{1, 3, 6, 4, 9, 15}}},
    {"cumsum_back", {"[b=3], f32"}, {{1, 2, 3}}, "mtf.cumsum %0 over \"b\" exclusive reverse", {"[b=3], f32"}, {{5, 3, 0}}},

    {"rename", {"[a=2, b=3], f32"}, {kCount}, "mtf.rename %0 [\"a\"] to [\"z\"]", {"[b=3, z=2], f32"}, {{1, 4, 2, 5, 3, 6}}},
    {"rename_exchange", {"[a=2, b=2], f32"}, {{1, 2, 3, 4}}, "mtf.rename %0 [\"a\", \"b\"] to [\"b\", \"a\"]", {"[a=2, b=2], f32"}, {{1, 3, 2, 4}}},
    // The first part varies slowest, whatever its name's place in the type.
    {"split", {"[a=6], f32"}, {kCount}, "mtf.split %0 \"a\" into [\"y\", \"x\"]", {"[x=3, y=2], f32"}, {{1, 4, 2, 5, 3, 6}}},
    {"merge", {"[a=2, b=3], f32"}, {kCount}, "mtf.merge %0 [\"b\", \"a\"] into \"c\"", {"[c=6], f32"}, {{1, 4, 2, 5, 3, 6}}},
    {"slice", {"[a=6], f32"}, {kCount}, "mtf.slice %0 \"a\"[1:6:2]", {"[a=3], f32"}, {{2, 4, 6}}},
    {"pad", {"[a=2, b=2], f32", "[], f32"}, {{1, 2, 3, 4}, {9}}, "mtf.pad %0 with %1 \"b\"[1, 0, 1]", {"[a=2, b=4], f32"}, {{9, 1, 9, 2, 9, 3, 9, 4}}},
    {"concat", {"[a=1, b=2], f32", "[a=2, b=2], f32"}, {{1, 2}, {3, 4, 5, 6}}, "mtf.concat %0, %1 along \"a\"", {"[a=3, b=2], f32"}, {kCount}},
    {"stack", {"[a=3], f32", "[a=3], f32"}, {{1, 2, 3}, {4, 5, 6}}, "mtf.stack %0, %1 along \"s\"", {"[a=3, s=2], f32"}, {{1, 4, 2, 5, 3, 6}}},
    {"shift", {"[a=2, b=3], f32"}, {kCount}, "mtf.shift %0 \"b\" by 1", {"[a=2, b=3], f32"}, {{0, 1, 2, 0, 4, 5}}},
    {"shift_back", {"[a=2, b=3], f32"}, {kCount}, "mtf.shift %0 \"b\" by -2", {"[a=2, b=3], f32"}, {{3, 0, 0, 6, 0, 0}}},
    {"window", {"[a=4], f32"}, {{1, 2, 3, 4}}, "mtf.window %0 \"a\" into \"w\" stride 2 dilation 1 low 1", {"[a=2, w=3], f32"}, {{0, 1, 2, 2, 3, 4}}},
    {"fold", {"[a=2, w=3], f32"}, {kCount}, "mtf.fold %0 \"w\" onto \"a\" stride 2 dilation 1 low 1", {"[a=4], f32"}, {{2, 7, 5, 6}}},

    {"gather", {"[d=2, v=3], f32", "[t=4], i32"}, {kCount, {2, 0, 3, -1}}, "mtf.gather %0[\"v\" = %1]", {"[d=2, t=4], f32"}, {{3, 1, 0, 0, 6, 4, 0, 0}}},
    {"gather_batched", {"[t=2, v=3], f32", "[t=2], i32"}, {kCount, {2, 0}}, "mtf.gather %0[\"v\" = %1]", {"[t=2], f32"}, {{3, 4}}},
    {"gather_own_dim", {"[v=3], f32", "[v=3], i32"}, {{1, 2, 3}, {2, 2, 0}}, "mtf.gather %0[\"v\" = %1]", {"[v=3], f32"}, {{3, 3, 1}}},
    {"scatter_add", {"[d=2, t=3], f32", "[t=3], i32"}, {kCount, {1, 1, 5}}, "mtf.scatter_add %0 at %1 into \"v\"", {"[d=2, v=2], f32"}, {{0, 3, 0, 9}}},
    {"scatter_batched", {"[t=2], f32", "[t=2], i32"}, {{5, 6}, {1, 0}}, "mtf.scatter_add %0 at %1 into \"v\"", {"[t=2, v=2], f32"}, {{0, 5, 6, 0}}},

    // One query of scale 1: scores (0, log 3), weights (1/4, 3/4).
    {"attend", {"[h=1], f32", "[h=1, m=2], f32", "[m=2, o=2], f32"}, {{1}, {0, std::log(3.0)}, {4, 8, 0, 4}},
     "mtf.attend %0, %1, %2 over [\"h\"], \"m\" scale 1.0", {"[o=2], f32", "[], f32"}, {{1, 5}, {std::log(4.0)}}},
    // Masked: position 0 sees key 0, position 1 both, position 2 none.
    {"attend_masked", {"[h=1, s=3], f32", "[h=1, m=2], f32", "[m=2, o=1], f32", "[m=2, s=3], i1"},
     {{1, 1, 1}, {0, 0}, {4, 8}, {1, 1, 0, 0, 1, 0}}, "mtf.attend %0, %1, %2 where %3 over [\"h\"], \"m\" scale 1.0",
     {"[o=1, s=3], f32", "[s=3], f32"}, {{4, 6, 0}, {0, std::log(2.0), -kInfinity}}},
    // p = (1/4, 3/4), do = 1, v = (4, 0), o = 1: ds = p (v - o) = (3/4, -3/4); dq = ds k, dk = ds q.
    {"attend_grad", {"[h=1], f32", "[h=1, m=2], f32", "[m=2, o=1], f32", "[o=1], f32", "[], f32", "[o=1], f32"},
     {{2}, {0, std::log(3.0)}, {4, 0}, {1}, {std::log(4.0)}, {1}},
     "mtf.attend_grad %0, %1, %2 output %3, %4, %5 over [\"h\"], \"m\" scale 0.5", {"[h=1], f32", "[h=1, m=2], f32", "[m=2, o=1], f32"},
     {{-0.375 * std::log(3.0)}, {0.75, -0.75}, {0.25, 0.75}}},
};
} // namespace

TEST_P(Evaluator, GivesTheValuesWorkedOutByHand) {
  const Case &c = GetParam();
  Program program(programOf(c));
  ASSERT_TRUE(program.module);
  std::vector<Values> results = program.run(c.arguments);
  ASSERT_EQ(results.size(), c.expected.size()) << program.errors;
  for (auto [actual, expected] : llvm::zip(results, c.expected)) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      if (std::isinf(expected[i]))
        EXPECT_EQ(actual[i], expected[i]) << "element " << i;
      else
        EXPECT_NEAR(actual[i], expected[i], 1e-14 * std::max(1.0, std::abs(expected[i]))) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Evaluator, testing::ValuesIn(kCases), [](const auto &info) { return std::string(info.param.name); });

TEST(Interpreter, EveryOpHasACase) {
  Program program("");
  for (mlir::RegisteredOperationName op : program.context.getRegisteredOperationsByDialect("mtf")) {
    // Not from a single op's text: below, in lit tests, or without a value.
    llvm::StringRef name = op.getStringRef();
    if (llvm::is_contained({"mtf.constant", "mtf.random", "mtf.repeat", "mtf.next", "mtf.param", "mtf.tap", "mtf.stop_gradient", "mtf.reshard",
                            "mtf.fill_padding"}, name))
      continue;
    EXPECT_TRUE(llvm::any_of(kCases, [&](const Case &c) { return llvm::StringRef(c.op).starts_with(name.str() + " "); })) << name.str();
  }
}

// c' = c * slice + i, with the carries stacked, in both directions.
TEST(Repeat, CarriesSlicesStacksAndReverses) {
  for (bool reverse : {false, true}) {
    Program program(std::string("!s = !mtf.tensor<[], f32>\n"
                                "func.func @f(%x: !s, %w: !mtf.tensor<[l=3], f32>) -> (!s, !mtf.tensor<[l=3], f32>) {\n"
                                "%r, %k = mtf.repeat \"l\" 3 ") +
                    (reverse ? "reverse " : "") +
                    "carries(%x : !s) slices(%w : !mtf.tensor<[l=3], f32>) -> !s, !mtf.tensor<[l=3], f32> {\n"
                    "^bb0(%i: !mtf.tensor<[], i32>, %c: !s, %s: !s):\n"
                    "  %j = mtf.cast %i : (!mtf.tensor<[], i32>) -> !s\n"
                    "  %d = mtf.mul %c, %s : (!s, !s) -> !s\n"
                    "  %n = mtf.add %d, %j : (!s, !s) -> !s\n"
                    "  mtf.next carries(%n : !s) stacks(%c : !s)\n"
                    "}\nreturn %r, %k : !s, !mtf.tensor<[l=3], f32>\n}");
    std::vector<Values> results = program.run({{1}, {2, 3, 4}});
    ASSERT_EQ(results.size(), 2u) << program.errors;
    // Forward: 1 -> 1*2+0 = 2 -> 2*3+1 = 7 -> 7*4+2 = 30. Backward: 1 -> 1*4+2 = 6 -> 6*3+1 = 19 -> 19*2+0 = 38.
    EXPECT_EQ(results[0], reverse ? Values{38} : Values{30});
    EXPECT_EQ(results[1], reverse ? (Values{19, 6, 1}) : (Values{1, 2, 7}));
  }
}

// The number at an element depends on its global place only: a part drawn with an offset is the part of the whole.
TEST(Random, DependsOnTheGlobalPlaceOnly) {
  Program program(R"(
    !i = !mtf.tensor<[], i32>
    func.func @f(%seed: !i, %step: !i, %loop: !i, %offset: !i) -> (!mtf.tensor<[a=2, b=4], f32>, !mtf.tensor<[a=2, b=2], f32>) {
      %0 = mtf.random normal 0.0 "p" order ["b", "a"] [4, 2] key(%seed, %step, %loop) offsets [] ()
        : (!i, !i, !i) -> !mtf.tensor<[a=2, b=4], f32>
      %1 = mtf.random normal 0.0 "p" order ["b", "a"] [4, 2] key(%seed, %step, %loop) offsets ["b"] (%offset)
        : (!i, !i, !i, !i) -> !mtf.tensor<[a=2, b=2], f32>
      return %0, %1 : !mtf.tensor<[a=2, b=4], f32>, !mtf.tensor<[a=2, b=2], f32>
    })");
  std::vector<Values> results = program.run({{7}, {1}, {2}, {2}});
  ASSERT_EQ(results.size(), 2u) << program.errors;
  EXPECT_EQ(results[1], (Values{results[0][2], results[0][3], results[0][6], results[0][7]}));
  EXPECT_NE(program.run({{8}, {1}, {2}, {2}})[0], results[0]);
  EXPECT_NE(program.run({{7}, {2}, {2}, {2}})[0], results[0]);
  EXPECT_NE(program.run({{7}, {1}, {3}, {2}})[0], results[0]);
}

// Every rank draws its part of the same numbers, through padding and both axes.
TEST(Random, IsTheSameUnderEverySharding) {
  const char *body = R"(
    !i = !mtf.tensor<[], i32>
    !t = !mtf.tensor<[%s], f32>
    module attributes {mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>} {
    func.func @f(%%seed: !i, %%step: !i) -> !t {
      %%0 = mtf.random uniform 0.0 "p" order ["a", "b"] [3, 5] key(%%seed, %%step) offsets [] () : (!i, !i) -> !t
      return %%0 : !t
    }})";
  char text[1024];
  std::snprintf(text, sizeof text, body, "a=3, b=5");
  std::vector<Values> global = Program(text).run({{7}, {1}});
  ASSERT_EQ(global.size(), 1u);
  for (const char *dims : {"a=3 pad 4 (data), b=5", "a=3 pad 4 (model), b=5 pad 6 (data)", "a=3, b=5 pad 8 (model, data)"}) {
    std::snprintf(text, sizeof text, body, dims);
    Program program(text);
    EXPECT_EQ(program.run({{7}, {1}}), global) << dims << "\n" << program.errors;
  }
}

TEST(Interpreter, NamesTheOpThatItDoesNotKnow) {
  Program program("func.func @f(%0: !mtf.tensor<[], f32>) { return }");
  EXPECT_TRUE(program.run({{1}}).empty());
  EXPECT_EQ(program.errors, "");
  EXPECT_TRUE(failed(Interpreter(*program.module).call("g", {})));
  EXPECT_NE(program.errors.find("no function 'g'"), std::string::npos);
}
