//===- PlacementTest.cpp - parts of sharded values -------------------------===//
#include "meshc/Interpreter/Placement.h"
#include "mlir/AsmParser/AsmParser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::interp;

namespace {
class Placement : public testing::Test {
protected:
  Placement() { context.loadDialect<mtf::MtfDialect>(); }

  mtf::NamedTensorType type(llvm::StringRef text) {
    return llvm::cast<mtf::NamedTensorType>(mlir::parseType(("!mtf.tensor<" + text + ">").str(), &context));
  }
  /// data = 2 (slow), model = 3.
  mtf::MeshAttr mesh() {
    mlir::Builder b(&context);
    return mtf::MeshAttr::get(&context, b.getStringAttr("pod"), {b.getStringAttr("data"), b.getStringAttr("model")}, {2, 3});
  }
  Tensor counting(mtf::NamedTensorType type) {
    Tensor tensor(globalDims(type));
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      tensor[i] = i + 1;
    return tensor;
  }
  mlir::MLIRContext context;
};
} // namespace

TEST_F(Placement, CutsWithPaddingAtTheTail) {
  auto t = type("[a=5 pad 6 (model)], f32, padding(zero)");
  Shards parts = scatter(counting(t), t, mesh());
  ASSERT_EQ(parts.size(), 6u);
  std::vector<std::vector<double>> expected = {{1, 2}, {3, 4}, {5, 0}, {1, 2}, {3, 4}, {5, 0}};
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(parts[rank].values().vec(), expected[rank]) << "rank " << rank;
}

TEST_F(Placement, PoisonsUndefinedPadding) {
  auto t = type("[a=1 pad 3 (model)], f32");
  Shards parts = scatter(counting(t), t, mesh());
  EXPECT_EQ(parts[0][0], 1);
  EXPECT_TRUE(std::isnan(parts[1][0]));
  EXPECT_TRUE(std::isnan(parts[5][0]));
}

TEST_F(Placement, FirstAxisIsMostSignificant) {
  auto t = type("[a=6 (model, data)], f32");
  Shards parts = scatter(counting(t), t, mesh());
  // rank = 3 data + model, block = 2 model + data
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(parts[rank][0], 2 * (rank % 3) + rank / 3 + 1);
}

TEST_F(Placement, SummandsDifferAndAddUp) {
  auto t = type("[a=2], f32, partial(sum: model)");
  Shards parts = scatter(counting(t), t, mesh());
  EXPECT_NE(parts[0][1], parts[1][1]);
  EXPECT_TRUE(parts[0].identical(parts[3]));
  EXPECT_NEAR(parts[0][1] + parts[1][1] + parts[2][1], 2, 1e-15);
}

TEST_F(Placement, AssembleUndoesScatter) {
  for (const char *text : {"[], f32", "[a=4, b=3], f32", "[a=4 (data), b=3 (model)], f32", "[a=7 pad 12 (model, data), b=2], f32",
                           "[a=4 (data)], f32, partial(max: model)", "[a=4], f32, partial(min: data, model)",
                           "[b=5 pad 6 (model)], i32, partial(sum: data)", "[a=3 pad 4 (data), b=5 pad 6 (model)], i1, padding(zero)"}) {
    auto t = type(text);
    Tensor global = counting(t);
    EXPECT_TRUE(assemble(scatter(global, t, mesh()), t, mesh()).identical(global)) << text;
  }
}

TEST_F(Placement, ReplicaRootKeepsSplitAndPartialAxes) {
  EXPECT_EQ(replicaRoot(type("[a=4], f32"), mesh(), 5), 0);
  EXPECT_EQ(replicaRoot(type("[a=6 (model)], f32"), mesh(), 5), 2);
  EXPECT_EQ(replicaRoot(type("[a=6 (model)], f32, partial(sum: data)"), mesh(), 5), 5);
}
