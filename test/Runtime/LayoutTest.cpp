// Tensors cut over ranks: every element goes to the right places and comes back.
#include "common/Checkpoint.h"
#include "common/Initialize.h"
#include "common/Layout.h"
#include "RunRanks.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace meshrt;
using namespace meshrt::test;

/// w[layers=3, rows=10 pad 12 (a, b), cols=7 pad 8 (c)], `rows` contiguous in
/// memory: nothing is in file order, everything padded.
static Tensor oddTensor(int64_t offset) {
  return {ElementType::F32, offset, {{"layers", 3, 3, 12}, {"rows", 10, 12, 1, {0, 1}}, {"cols", 7, 8, 3, {2}}}};
}

static Program oddProgram() {
  Program program;
  program.name = "odd";
  program.mesh = {{"a", 2}, {"b", 2}, {"c", 2}};
  program.parameters = {{"odd.w", oddTensor(0), {Initializer::Normal, 1, 2}, ""}, {"odd.b", {ElementType::F32, 192, {{"rows", 10, 10, 1}}}, {Initializer::Uniform, -3, 5}, ""}};
  program.states = {{"odd.w", "m", oddTensor(256), 0.5}};
  program.arenaBytes = 4096;
  return program;
}

TEST(Layout, Counts) {
  Program program = oddProgram();
  EXPECT_EQ(globalCount(oddTensor(0)), 210);
  EXPECT_EQ(localCount(program.mesh, oddTensor(0)), 3 * 3 * 4);
  EXPECT_EQ(globalShape(oddTensor(0)), (std::vector<int64_t>{3, 10, 7}));
  verifyLayout(program);
}

TEST(Layout, RunsCoverEachElementOncePerHolder) {
  Program program = oddProgram();
  for (const Tensor &tensor : {oddTensor(0), program.parameters[1].value}) {
    std::vector<int> visits(globalCount(tensor));
    int64_t padding = 0;
    for (int rank = 0; rank < 8; ++rank) {
      std::vector<int> local(localCount(program.mesh, tensor));
      int64_t last = -1;
      forEachRun(program.mesh, tensor, rank, [&](const meshrt::Run &run) {
        EXPECT_GT(run.global, last);
        last = run.global + run.count - 1;
        for (int64_t i = 0; i < run.count; ++i) {
          ++visits[run.global + i];
          ++local.at(run.local + i * run.stride);
        }
      });
      for (int count : local) {
        EXPECT_LE(count, 1);
        padding += count == 0;
      }
    }
    int holders = tensor.dims.size() == 1 ? 8 : 1;
    for (int count : visits)
      EXPECT_EQ(count, holders);
    EXPECT_EQ(padding, 8 * localCount(program.mesh, tensor) - holders * globalCount(tensor));
  }
}

TEST(Layout, ScatterPutsElementsWhereTheHeaderSays) {
  Program program = oddProgram();
  auto device = createDevice(program, {.threadsPerRank = 1});
  Tensor tensor = oddTensor(64);
  std::vector<float> global(210);
  std::iota(global.begin(), global.end(), 1.0f);
  scatterTensor(*device, program.mesh, tensor, global.data());
  for (int rank = 0; rank < 8; ++rank) {
    float local[36];
    device->copyOut(rank, 64, local, sizeof(local));
    int64_t rowShard = rank / 2, colShard = rank % 2; // axes a, b split rows
    for (int64_t l = 0; l < 3; ++l)
      for (int64_t r = 0; r < 3; ++r)
        for (int64_t c = 0; c < 4; ++c) {
          int64_t row = rowShard * 3 + r, col = colShard * 4 + c;
          float expected = row < 10 && col < 7 ? global[(l * 10 + row) * 7 + col] : 0.0f;
          EXPECT_EQ(local[l * 12 + c * 3 + r], expected) << rank << " " << l << " " << r << " " << c;
        }
  }
  std::vector<float> back(210);
  gatherTensor(*device, program.mesh, tensor, back.data());
  EXPECT_EQ(back, global);

  // One row of one layer, and one column.
  std::vector<float> row(7), column(3 * 10);
  gatherSlice(*device, program.mesh, tensor, {2, 8, -1}, row.data());
  for (int64_t c = 0; c < 7; ++c)
    EXPECT_EQ(row[c], global[(2 * 10 + 8) * 7 + c]);
  gatherSlice(*device, program.mesh, tensor, {-1, -1, 5}, column.data());
  for (int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(column[i], global[i * 7 + 5]);
}

TEST(Layout, BadProgramsAreInternalErrors) {
  auto message = [](auto change) {
    Program program = oddProgram();
    change(program.parameters[0].value);
    try {
      verifyLayout(program);
    } catch (const Error &error) {
      EXPECT_EQ(error.exitCode, Error::kInternal);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message([](Tensor &t) { t.dims[1].padded = 10; }), "program 'odd': layout of 'odd.w': 'rows' of size 10 padded to 10 over 4 parts");
  EXPECT_EQ(message([](Tensor &t) { t.dims[1].axes = {3}; }), "program 'odd': layout of 'odd.w': 'rows' is split over mesh axis 3 of 3");
  EXPECT_EQ(message([](Tensor &t) { t.dims[0].stride = 13; }), "program 'odd': layout of 'odd.w': 'layers' has stride 13, expected 12");
  EXPECT_EQ(message([](Tensor &t) { t.offset = 4000; }), "program 'odd': layout of 'odd.w': bytes [4000, 4144) of an arena of 4096");
}

TEST(Layout, InitialValuesDoNotDependOnTheLayout) {
  Program cut = oddProgram(), whole = oddProgram();
  whole.mesh = {};
  for (Tensor *tensor : {&whole.parameters[0].value, &whole.states[0].value}) {
    int64_t stride = 1;
    for (size_t i = tensor->dims.size(); i-- > 0; stride *= tensor->dims[i].size)
      tensor->dims[i] = {tensor->dims[i].name, tensor->dims[i].size, tensor->dims[i].size, stride, {}};
  }
  whole.parameters[1].value.offset = 2048;
  whole.states[0].value.offset = 1024;
  auto values = [](const Program &program, uint32_t seed) {
    auto device = createDevice(program, {.threadsPerRank = 1});
    initializeParameters(*device, program, seed);
    initializeStates(*device, program);
    std::vector<float> all;
    for (const Tensor *tensor : {&program.parameters[0].value, &program.parameters[1].value, &program.states[0].value}) {
      std::vector<float> global(globalCount(*tensor));
      gatherTensor(*device, program.mesh, *tensor, global.data());
      all.insert(all.end(), global.begin(), global.end());
    }
    return all;
  };
  std::vector<float> expected = values(whole, 5);
  EXPECT_EQ(values(cut, 5), expected);
  EXPECT_NE(values(cut, 6), expected);
  // And they are what the header says.
  PhiloxStream normal{5, hash32("odd.w"), kInitStep, 0}, uniform{5, hash32("odd.b"), kInitStep, 0};
  EXPECT_FLOAT_EQ(expected[17], 1 + 2 * normal.normal(17));
  EXPECT_FLOAT_EQ(expected[210 + 4], -3 + 8 * uniform.uniform(4));
  EXPECT_EQ(expected[220], 0.5f);
}

// Saved under one mesh, loaded under another: the same bits.
TEST(Layout, CheckpointsDoNotDependOnTheLayout) {
  Program cut = oddProgram(), other = oddProgram();
  other.mesh = {{"x", 1}, {"y", 5}};
  for (Tensor *tensor : {&other.parameters[0].value, &other.states[0].value})
    tensor->dims = {{"layers", 3, 3, 1}, {"rows", 10, 10, 3, {1}}, {"cols", 7, 7, 6, {0}}};
  other.parameters[1].value.offset = 1024;
  other.states[0].value.offset = 2048;
  std::string path = testing::TempDir() + "layout.safetensors";

  auto first = createDevice(cut, {.threadsPerRank = 1});
  initializeParameters(*first, cut, 9);
  initializeStates(*first, cut);
  saveCheckpoint(*first, cut, path, {.step = 12, .seed = 9, .characters = "\n a\xc3\xa9"}, true);

  auto second = createDevice(other, {.threadsPerRank = 1});
  TrainingState state = loadCheckpoint(*second, other, path, true);
  EXPECT_EQ(state.step, 12);
  EXPECT_EQ(state.seed, 9);
  EXPECT_EQ(state.characters, "\n a\xc3\xa9");
  EXPECT_TRUE(state.hasStates);
  for (size_t i = 0; i < 2; ++i) {
    int64_t count = globalCount(cut.parameters[i].value);
    std::vector<float> a(count), b(count);
    gatherTensor(*first, cut.mesh, cut.parameters[i].value, a.data());
    gatherTensor(*second, other.mesh, other.parameters[i].value, b.data());
    EXPECT_EQ(a, b);
  }

  // Weights alone: the states start afresh.
  saveCheckpoint(*first, cut, path, {}, false);
  EXPECT_FALSE(loadCheckpoint(*second, other, path, true).hasStates);
}

TEST(Layout, CheckpointErrorsNameBothSides) {
  Program program = oddProgram();
  auto device = createDevice(program, {.threadsPerRank = 1});
  std::string path = testing::TempDir() + "errors.safetensors";
  saveCheckpoint(*device, program, path, {}, true);
  auto message = [&](auto change) {
    Program other = oddProgram();
    change(other);
    try {
      loadCheckpoint(*device, other, path, true);
    } catch (const Error &error) {
      EXPECT_EQ(error.exitCode, Error::kUser);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message([](Program &p) { p.parameters[1].path = "odd.c"; }), "'" + path + "' has no tensor 'odd.c'; did you mean 'odd.b'?");
  EXPECT_EQ(message([](Program &p) { p.parameters[1].value.dims[0].size = 9; }), "'odd.b' is F32 [10] in '" + path + "' but F32 [9] in this program");
  EXPECT_EQ(message([](Program &p) { p.parameters[1].value.type = ElementType::I32; }), "'odd.b' is F32 [10] in '" + path + "' but I32 [10] in this program");
}
