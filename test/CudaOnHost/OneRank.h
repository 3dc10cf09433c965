//===- OneRank.h - A rank alone in its world, for tests of kernels --------===//
#ifndef MESHC_TEST_CUDAONHOST_ONERANK_H
#define MESHC_TEST_CUDAONHOST_ONERANK_H

#include "meshrt/cuda/rank.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

namespace meshrt {

/// Host memory is device memory here, so tests hand vectors to kernels.
class OneRank : public ::testing::Test {
protected:
  void SetUp() override {
    ncclUniqueId id;
    ncclComm_t world;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(ncclCommInitRank(&world, 1, id, 0), ncclSuccess);
    program.arenaBytes = 256;
    owner = std::make_unique<Rank>(program, 0, world, false);
  }
  Rank &rank() { return *owner; }

  std::vector<float> normal(int64_t count) {
    std::normal_distribution<float> draw;
    std::vector<float> values(count);
    for (float &value : values)
      value = draw(engine);
    return values;
  }

  Program program;
  std::unique_ptr<Rank> owner;
  std::mt19937 engine{7};
};

} // namespace meshrt

#endif // MESHC_TEST_CUDAONHOST_ONERANK_H
