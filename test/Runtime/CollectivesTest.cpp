#include "RunRanks.h"

#include <gtest/gtest.h>
#include <mutex>

using namespace meshrt;
using namespace meshrt::test;

static const Site kSite{"x", "m.mesh:3"};

/// Values a member contributes; small integers, so sums are exact even in bf16.
template <typename T> static std::vector<T> contribution(int member, int64_t n) {
  std::vector<T> values(n);
  for (int64_t i = 0; i < n; ++i)
    values[i] = static_cast<T>(static_cast<float>((i * 7 + member * 3) % 11 - 5));
  return values;
}

template <typename T> class CollectivesOf : public testing::Test {};
using Types = testing::Types<float, bf16, double, int32_t>;
TYPED_TEST_SUITE(CollectivesOf, Types);

TYPED_TEST(CollectivesOf, AllReduce) {
  using T = TypeParam;
  for (int n = 1; n <= 8; ++n)
    for (int64_t count : {0, 1, 63, 64, 65, 1000, 5003})
      runRanks({{"x", n}}, n == 3 ? 2 : 1, [=](Rank &rank) {
        for (Reduce kind : {Reduce::Sum, Reduce::Max, Reduce::Min}) {
          std::vector<T> data = contribution<T>(rank.id(), count);
          allReduce(rank, {0}, kind, data.data(), count, kSite);
          for (int64_t i = 0; i < count; ++i) {
            float expected = contribution<T>(0, i + 1)[i];
            for (int m = 1; m < n; ++m) {
              float x = (i * 7 + m * 3) % 11 - 5;
              expected = kind == Reduce::Sum   ? expected + x
                         : kind == Reduce::Max ? std::max(expected, x)
                                               : std::min(expected, x);
            }
            ASSERT_EQ(static_cast<float>(data[i]), expected) << n << " ranks, element " << i << " of " << count;
          }
        }
      });
}

TYPED_TEST(CollectivesOf, AllGather) {
  using T = TypeParam;
  for (int n = 1; n <= 5; ++n)
    runRanks({{"x", n}}, 1, [=](Rank &rank) {
      const int64_t outer = 3, chunk = 37;
      std::vector<T> part = contribution<T>(rank.id(), outer * chunk), all(outer * n * chunk);
      allGather(rank, {0}, all.data(), part.data(), outer, chunk, kSite);
      for (int m = 0; m < n; ++m) {
        std::vector<T> other = contribution<T>(m, outer * chunk);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t i = 0; i < chunk; ++i)
            ASSERT_EQ(float(all[(o * n + m) * chunk + i]), float(other[o * chunk + i]));
      }
    });
}

TYPED_TEST(CollectivesOf, ReduceScatter) {
  using T = TypeParam;
  for (int n = 1; n <= 5; ++n)
    runRanks({{"x", n}}, 1, [=](Rank &rank) {
      const int64_t outer = 3, chunk = 37;
      std::vector<T> data = contribution<T>(rank.id(), outer * n * chunk), part(outer * chunk);
      reduceScatter(rank, {0}, part.data(), data.data(), outer, chunk, kSite);
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < chunk; ++i) {
          float expected = 0;
          for (int m = 0; m < n; ++m)
            expected += contribution<T>(m, outer * n * chunk)[(o * n + rank.id()) * chunk + i];
          ASSERT_EQ(float(part[o * chunk + i]), expected);
        }
    });
}

// A global array g[o][s][m][c][i] whose elements are their own index: split on
// s before, on c after (or the other way round).
TYPED_TEST(CollectivesOf, AllToAll) {
  using T = TypeParam;
  if constexpr (std::is_same_v<T, bf16>)
    return; // indices would not be exact
  else
    for (int n = 1; n <= 4; ++n)
      for (bool splitFirst : {true, false})
        runRanks({{"x", n}}, 1, [=](Rank &rank) {
          const int64_t outer = 2, mid = 3, inner = 5, a = 2, b = 3;
          // Global sizes of the two dims are n * a and n * b.
          auto global = [&](int64_t o, int64_t x, int64_t m, int64_t y, int64_t i) {
            return T((((o * n * a + x) * mid + m) * n * b + y) * inner + i);
          };
          const int me = rank.id();
          // Cut along the second dim (y) before and the first (x) after, if
          // the first is the one to split.
          auto local = [&](bool cutFirst) {
            std::vector<T> part;
            for (int64_t o = 0; o < outer; ++o)
              for (int64_t x = cutFirst ? me * a : 0; x < (cutFirst ? (me + 1) * a : n * a); ++x)
                for (int64_t m = 0; m < mid; ++m)
                  for (int64_t y = cutFirst ? 0 : me * b; y < (cutFirst ? n * b : (me + 1) * b); ++y)
                    for (int64_t i = 0; i < inner; ++i)
                      part.push_back(global(o, x, m, y, i));
            return part;
          };
          std::vector<T> before = local(!splitFirst), after(outer * n * a * mid * b * inner);
          AllToAll shape{.outer = outer, .mid = mid, .inner = inner, .splitFirst = splitFirst};
          shape.split = splitFirst ? a : b;
          shape.concat = splitFirst ? b : a;
          allToAll(rank, {0}, shape, after.data(), before.data(), kSite);
          ASSERT_EQ(after, local(splitFirst));
        });
}

TYPED_TEST(CollectivesOf, ExchangeMovesWholeParts) {
  using T = TypeParam;
  runRanks({{"x", 4}}, 1, [](Rank &rank) {
    std::vector<T> data = contribution<T>(rank.id(), 129), shifted(129, T(7)), turned(129);
    // To the next member; the first has zeros. Then two members read the same.
    exchange(rank, {0}, {-1, 0, 1, 2}, shifted.data(), data.data(), 129, kSite);
    exchange(rank, {0}, {3, 3, 0, 1}, turned.data(), data.data(), 129, kSite);
    const int from[] = {3, 3, 0, 1};
    std::vector<T> before = contribution<T>(rank.id() - 1, 129), other = contribution<T>(from[rank.id()], 129);
    for (int i = 0; i < 129; ++i) {
      ASSERT_EQ(float(shifted[i]), rank.id() ? float(before[i]) : 0);
      ASSERT_EQ(float(turned[i]), float(other[i]));
    }
  });
}

TYPED_TEST(CollectivesOf, Broadcast) {
  using T = TypeParam;
  runRanks({{"x", 5}}, 1, [](Rank &rank) {
    std::vector<T> data = contribution<T>(rank.id(), 129), root = contribution<T>(3, 129);
    broadcast(rank, {0}, 3, data.data(), 129, kSite);
    for (int i = 0; i < 129; ++i)
      ASSERT_EQ(float(data[i]), float(root[i]));
  });
}

// Members are numbered with the first axis most significant, whatever the order
// of the axes in the mesh.
TEST(Collectives, GroupsOverSubsetsOfAxes) {
  runRanks({{"a", 2}, {"b", 3}, {"c", 2}}, 1, [](Rank &rank) {
    int a = rank.coordinate(0), b = rank.coordinate(1), c = rank.coordinate(2);
    ASSERT_EQ(rank.id(), (a * 3 + b) * 2 + c);
    int32_t mine = rank.id(), all[6];
    allGather(rank, {2, 0}, all, &mine, 1, 1, kSite);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(all[i], ((i % 2) * 3 + b) * 2 + i / 2);
    EXPECT_EQ(all[rank.shard({2, 0})], rank.id());
    allGather(rank, {1}, all, &mine, 1, 1, kSite);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(all[i], (a * 3 + i) * 2 + c);
  });
}

// Sums of values that do not add exactly: the same bits on every member, on
// every run, in member order.
TEST(Collectives, SumsHaveOneOrder) {
  const int64_t count = 4099;
  std::mutex mutex;
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 1})
    runRanks({{"x", 4}}, threads, [&](Rank &rank) {
      std::string name = "rank" + std::to_string(rank.id());
      std::vector<float> data = randomValues(count, name.c_str());
      allReduce(rank, {0}, Reduce::Sum, data.data(), count, kSite);
      std::lock_guard lock(mutex);
      results.push_back(data);
    });
  std::vector<float> expected(count);
  for (int m = 0; m < 4; ++m) {
    std::vector<float> part = randomValues(count, ("rank" + std::to_string(m)).c_str());
    for (int64_t i = 0; i < count; ++i)
      expected[i] = m == 0 ? part[i] : expected[i] + part[i];
  }
  ASSERT_EQ(results.size(), 12u);
  for (const auto &result : results)
    EXPECT_EQ(result, expected);
}

static std::string failureOf(std::vector<MeshAxis> mesh, std::function<void(Rank &)> body, double timeout = 60) {
  try {
    runRanks(std::move(mesh), 1, std::move(body), timeout);
  } catch (const Error &error) {
    return error.what();
  }
  return "no failure";
}

TEST(Collectives, AFailingRankStopsTheOthers) {
  std::string message = failureOf({{"data", 2}, {"model", 2}}, [](Rank &rank) {
    if (rank.id() == 3)
      throw std::runtime_error("boom");
    float x = 1;
    for (;;)
      allReduce(rank, {0, 1}, Reduce::Sum, &x, 1, kSite);
  });
  EXPECT_EQ(message, "rank 3 of 4 (data=1, model=1): boom");
}

TEST(Collectives, ARankThatLeavesIsNamed) {
  std::string message = failureOf({{"data", 2}, {"model", 2}}, [](Rank &rank) {
    float x = 1;
    if (rank.id() != 1)
      allReduce(rank, {1}, Reduce::Sum, &x, 1, {"grad(w1)", "m.mesh:7"});
  });
  EXPECT_EQ(message, "rank 0 of 4 (data=0, model=0): all-reduce of grad(w1) over 'model' at m.mesh:7: "
                     "rank 1 of 4 (data=0, model=1) has finished the step without it");
}

TEST(Collectives, AHangEndsAtTheTimeout) {
  std::string message = failureOf({{"data", 2}}, [](Rank &rank) {
    float x = 1;
    // Rank 1 waits in another group's collective, that is, not in this one.
    if (rank.id() == 0)
      allReduce(rank, {0}, Reduce::Sum, &x, 1, kSite);
    else
      std::this_thread::sleep_for(std::chrono::seconds(1));
  }, 0.3);
  EXPECT_EQ(message, "rank 0 of 2 (data=0): all-reduce of x over 'data' at m.mesh:3: "
                     "rank 1 of 2 (data=1) did not come within 0.3 s");
}

TEST(Collectives, DifferentCallsAreNamed) {
  std::string message = failureOf({{"data", 2}}, [](Rank &rank) {
    float x[2] = {1, 2};
    allReduce(rank, {0}, Reduce::Sum, x, rank.id() + 1, kSite);
  });
  EXPECT_TRUE(message == "rank 0 of 2 (data=0): all-reduce of x (4 bytes) at m.mesh:3 met all-reduce of x (8 bytes) at "
                         "m.mesh:3 on rank 1 of 2 (data=1)" ||
              message == "rank 1 of 2 (data=1): all-reduce of x (8 bytes) at m.mesh:3 met all-reduce of x (4 bytes) at "
                         "m.mesh:3 on rank 0 of 2 (data=0)")
      << message;
}

// Ring volumes: all-reduce 2 (n-1)/n, all-gather and reduce-scatter (n-1)/n of
// the whole.
TEST(Collectives, TrafficIsCounted) {
  Program program;
  program.mesh = {{"x", 4}};
  auto device = createDevice(program, {.threadsPerRank = 1});
  device->run([](Rank &rank) {
    std::vector<float> whole(400), part(100);
    allReduce(rank, {0}, Reduce::Sum, whole.data(), 400, {"a", "m.mesh:1"});
    allReduce(rank, {0}, Reduce::Sum, whole.data(), 400, {"a", "m.mesh:1"});
    allGather(rank, {0}, whole.data(), part.data(), 1, 100, {"b", "m.mesh:2"});
    reduceScatter(rank, {0}, part.data(), whole.data(), 1, 100, {"c", "m.mesh:3"});
  });
  auto traffic = device->traffic();
  ASSERT_EQ(traffic.size(), 3u);
  EXPECT_EQ(traffic[0].calls, 2);
  EXPECT_EQ(traffic[0].bytesSent, 2 * 2 * 1600 * 3 / 4);
  EXPECT_EQ(traffic[1].bytesSent, 1600 * 3 / 4);
  EXPECT_EQ(traffic[2].bytesSent, 1600 * 3 / 4);
  EXPECT_EQ(traffic[2].collective, "reduce-scatter");
  EXPECT_STREQ(traffic[2].site.what, "c");
  EXPECT_EQ(traffic[2].axes, "'x'");
}

TEST(Rank, ParallelLoopsCoverTheirRangeOnce) {
  for (int threads : {1, 2, 3, 8})
    runOne(threads, [=](Rank &rank) {
      for (int64_t n : {0, 1, 2, 7, 8, 1000}) {
        std::vector<std::atomic<int>> visits(n);
        rank.parallelFor(n, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++visits[i];
        });
        rank.parallelForEach(n, [&](int64_t i) { ++visits[i]; });
        for (auto &count : visits)
          ASSERT_EQ(count, 2);
      }
    });
}

TEST(Rank, AnExceptionInALoopReachesItsRank) {
  EXPECT_THROW(runOne(4, [](Rank &rank) {
    rank.parallelForEach(100, [](int64_t i) {
      if (i == 57)
        throw Error("item 57");
    });
  }), Error);
}

// Denormals are zero on every thread that computes.
TEST(Rank, DenormalsAreFlushed) {
  runOne(3, [](Rank &rank) {
    rank.parallelForEach(64, [](int64_t) {
      volatile float tiny = 1e-38f;
      EXPECT_EQ(tiny * 0.01f, 0.0f);
    });
  });
}
