//===- ReshardTest.cpp - every sharding into every other -------------------===//
//
// All pairs of shardings of a tensor with two dims on meshes with two and three axes, sizes that do not divide included: what mtf-partition
// makes of the reshard gives the same global value, and sends no more than gathering everything and slicing would.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "Program.h"
#include "Spmd/IR/Spmd.h"
#include "meshc/Interpreter/Compare.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::interp;
using namespace meshc::interp::test;

namespace {
using Lists = std::vector<std::vector<std::string>>; // Axes of dim a, of dim b, partial ones.

std::string describe(const Lists &lists, const std::string &padA, const std::string &padB) {
  auto join = [](const std::vector<std::string> &axes) { return llvm::join(axes, ", "); };
  auto dim = [&](std::string text, const std::vector<std::string> &axes) { return text + (axes.empty() ? "" : " (" + join(axes) + ")"); };
  return "!mtf.tensor<[" + dim("a=5 pad " + padA, lists[0]) + ", " + dim("b=4 pad " + padB, lists[1]) + "], f32" +
         (lists[2].empty() ? "" : ", partial(sum: " + join(lists[2]) + ")") + ">";
}

/// Every way to put `axes` from number `next` on into the lists or nowhere, in every order.
void enumerate(const std::vector<std::string> &axes, size_t next, const Lists &lists, std::vector<Lists> &all) {
  if (next == axes.size()) {
    all.push_back(lists);
    return;
  }
  enumerate(axes, next + 1, lists, all);
  for (int list = 0; list < 3; ++list)
    // The order of partial axes says nothing.
    for (size_t place = list == 2 ? lists[2].size() : 0; place <= lists[list].size(); ++place) {
      Lists more = lists;
      more[list].insert(more[list].begin() + place, axes[next]);
      enumerate(axes, next + 1, more, all);
    }
}

/// One function per source with a result per goal, so that parsing and passes run once.
void checkAll(const std::string &mesh, const std::vector<std::string> &axes, const std::string &padA, const std::string &padB) {
  std::vector<Lists> all;
  enumerate(axes, 0, Lists(3), all);
  std::string goals, text = "module attributes {mtf.mesh = #mtf.mesh<\"pod\", [" + mesh + "]>} {\n";
  std::string returned;
  for (size_t j = 0; j < all.size(); ++j) {
    goals += (j ? ", " : "") + describe(all[j], padA, padB);
    returned += (j ? ", %r" : "%r") + std::to_string(j);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    std::string from = describe(all[i], padA, padB);
    text += "func.func @f" + std::to_string(i) + "(%x: " + from + ") -> (" + goals + ") {\n";
    for (size_t j = 0; j < all.size(); ++j)
      text += "%r" + std::to_string(j) + " = mtf.reshard %x : " + from + " -> " + describe(all[j], padA, padB) + "\n";
    text += "return " + returned + " : " + goals + "\n}\n";
  }
  Program program(text + "}");
  ASSERT_TRUE(program.module);
  mlir::PassManager passes(&program.context);
  passes.addPass(mtf::createPartition());
  ASSERT_TRUE(succeeded(passes.run(*program.module))) << program.errors;

  mtf::MeshAttr attr = mtf::MeshAttr::of(*program.module);
  Interpreter interpreter(*program.module, Mode::VirtualRanks);
  for (size_t i = 0; i < all.size(); ++i) {
    mlir::func::FuncOp f = program.function("f" + std::to_string(i));
    auto type = llvm::cast<mtf::NamedTensorType>(f.getArgumentTypes()[0]);
    Tensor x(globalDims(type));
    for (int64_t k = 0; k < x.numElements(); ++k)
      x[k] = k + 1;
    auto results = interpreter.call(f, {x});
    ASSERT_TRUE(succeeded(results)) << program.errors;
    for (size_t j = 0; j < all.size(); ++j)
      EXPECT_FALSE(firstDifference(x, (*results)[j], 1e-14)) << describe(all[i], padA, padB) << " to " << describe(all[j], padA, padB);

    // Bytes on the way to each goal, against an all-reduce of the partial axes, gathers of everything, and slices.
    int64_t whole = spmd::localBytes(type.withDims({type.getDims()[0].withAxes({}), type.getDims()[1].withAxes({})}), attr);
    int64_t bound = whole + 2 * spmd::localBytes(type, attr);
    for (mlir::Value result : f.getBody().front().getTerminator()->getOperands()) {
      int64_t bytes = 0;
      for (auto step = result.getDefiningOp<spmd::CollectiveOpInterface>(); step; step = step.getInput().getDefiningOp<spmd::CollectiveOpInterface>())
        bytes += step.bytesPerRank();
      EXPECT_LE(bytes, bound);
    }
  }
}
} // namespace

TEST(Reshard, EveryPairOnTwoAxes) { checkAll("x=2, y=3", {"x", "y"}, "6", "6"); }
TEST(Reshard, EveryPairOnEqualAxes) { checkAll("x=2, y=2", {"x", "y"}, "8", "4"); }
TEST(Reshard, EveryPairOnThreeAxes) { checkAll("x=2, y=2, z=2", {"x", "y", "z"}, "8", "8"); }
