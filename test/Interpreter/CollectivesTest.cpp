//===- CollectivesTest.cpp - every collective keeps the global value -------===//
//
// A collective is the identity on global values, so each is run between scattered arguments and assembled results. Summands of
// partial values and poison in the padding make a wrong group, order or block show.
//
//===----------------------------------------------------------------------===//
#include "Program.h"
#include <gtest/gtest.h>

using namespace meshc::interp;
using namespace meshc::interp::test;

namespace {
struct Case {
  const char *name, *op, *before, *after;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.op; }

// Mesh data = 2 (slow), model = 3; a has 5 elements, b 4, c 6.
const Case kCases[] = {
    {"all_reduce", "all_reduce sum %x over [\"model\"]", "[b=4], f32, partial(sum: model)", "[b=4], f32"},
    {"all_reduce_one_of_two", "all_reduce sum %x over [\"data\"]", "[b=4], f32, partial(sum: data, model)", "[b=4], f32, partial(sum: model)"},
    {"all_reduce_both", "all_reduce sum %x over [\"data\", \"model\"]", "[b=4], f32, partial(sum: data, model)", "[b=4], f32"},
    {"all_reduce_max", "all_reduce max %x over [\"model\"]", "[b=4 (data)], f32, partial(max: model)", "[b=4 (data)], f32"},
    {"reduce_scatter", "reduce_scatter sum %x to \"c\" over [\"model\"]", "[b=4, c=6], f32, partial(sum: model)", "[b=4, c=6 (model)], f32"},
    {"reduce_scatter_minor", "reduce_scatter sum %x to \"c\" over [\"data\"]", "[c=6 (model)], f32, partial(sum: data)", "[c=6 (model, data)], f32"},
    {"all_gather", "all_gather %x from \"c\" over [\"model\"]", "[b=4 (data), c=6 (model)], f32", "[b=4 (data), c=6], f32"},
    {"all_gather_minor", "all_gather %x from \"c\" over [\"data\"]", "[c=6 (model, data)], f32", "[c=6 (model)], f32"},
    {"all_gather_both", "all_gather %x from \"c\" over [\"model\", \"data\"]", "[c=6 (model, data)], f32", "[c=6], f32"},
    {"all_gather_padded", "all_gather %x from \"a\" over [\"model\"]", "[a=5 pad 6 (model)], f32", "[a=5 pad 6], f32"},
    {"all_to_all", "all_to_all %x from \"b\" to \"c\" over [\"data\"]", "[b=4 (data), c=6 (model)], f32", "[b=4, c=6 (model, data)], f32"},
    {"permute", "permute %x over [\"data\", \"model\"]", "[c=6 (model, data)], f32", "[c=6 (data, model)], f32"},
    {"slice", "slice %x to \"c\" over [\"model\"]", "[c=6], f32", "[c=6 (model)], f32"},
    {"slice_minor", "slice %x to \"c\" over [\"model\"]", "[c=6 (data)], f32", "[c=6 (data, model)], f32"},
    {"unreduce", "unreduce %x over [\"model\"]", "[b=4], f32", "[b=4], f32, partial(sum: model)"},
};

class CollectiveOp : public testing::TestWithParam<Case> {};
} // namespace

TEST_P(CollectiveOp, KeepsTheGlobalValue) {
  const Case &c = GetParam();
  std::string before = std::string("!mtf.tensor<") + c.before + ">", after = std::string("!mtf.tensor<") + c.after + ">";
  Program program("module attributes {mtf.mesh = #mtf.mesh<\"pod\", [\"data\"=2, \"model\"=3]>} {\nfunc.func @f(%x: " + before + ") -> " +
                  after + " {\n%y = spmd." + c.op + " : " + before + " -> " + after + "\nreturn %y : " + after + "\n}}");
  ASSERT_TRUE(program.module);
  auto type = llvm::cast<meshc::mtf::NamedTensorType>(program.function().getArgumentTypes()[0]);
  Values values(type.numElements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 12.0 * (i + 1); // Every summand is exact.
  std::vector<Values> results = program.run({values});
  ASSERT_EQ(results.size(), 1u) << program.errors;
  EXPECT_EQ(results[0], values);
}

INSTANTIATE_TEST_SUITE_P(Ops, CollectiveOp, testing::ValuesIn(kCases), [](const auto &info) { return std::string(info.param.name); });

TEST(Collective, EveryOpHasACase) {
  Program program("");
  for (mlir::RegisteredOperationName op : program.context.getRegisteredOperationsByDialect("spmd"))
    EXPECT_TRUE(llvm::any_of(kCases, [&](const Case &c) { return op.getStringRef().drop_front(5) == llvm::StringRef(c.op).split(' ').first; }))
        << op.getStringRef().str();
}
