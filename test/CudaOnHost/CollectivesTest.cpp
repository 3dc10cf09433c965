//===- CollectivesTest.cpp - Processes, communicators, collectives --------===//
//
// Every test is a program of several processes: `onRanks` starts them under
// torchrun's variables, and each checks its own results.
//
//===----------------------------------------------------------------------===//
#include "meshrt/cuda/collectives.h"
#include "meshrt/device.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include <sys/wait.h>
#include <unistd.h>

using namespace meshrt;

namespace {

Program meshOf(int rows, int cols) {
  Program program;
  program.mesh = {{"data", rows}, {"model", cols}};
  program.arenaBytes = 1 << 16;
  return program;
}

/// The body of the process: returns whether all was well.
using Body = std::function<bool(Device &, int rank)>;

/// Runs `body` on every rank of a mesh, each in a process of its own.
::testing::AssertionResult onRanks(const Program &program, const Body &body) {
  std::string file = ::testing::TempDir() + "rendezvous." + std::to_string(getpid());
  unlink(file.c_str());
  std::vector<pid_t> processes;
  for (int rank = 0; rank < program.rankCount(); ++rank) {
    pid_t child = fork();
    if (child == 0) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      setenv("WORLD_SIZE", std::to_string(program.rankCount()).c_str(), 1);
      setenv("MESHRT_RENDEZVOUS", ("file:" + file).c_str(), 1);
      bool ok = false;
      try {
        ok = body(*createDevice(program, {.collectiveTimeout = 60}), rank);
      } catch (const std::exception &error) {
        fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      _exit(ok ? 0 : 1);
    }
    processes.push_back(child);
  }
  std::string failed;
  for (size_t rank = 0; rank < processes.size(); ++rank) {
    int status = 0;
    waitpid(processes[rank], &status, 0);
    if (status != 0)
      failed += " " + std::to_string(rank);
  }
  unlink(file.c_str());
  if (failed.empty())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "failed on ranks" << failed;
}

/// Writes 100 * rank + i into element i, runs `step`, reads `count` floats of
/// `offset` back. Ranks other than 0 read their part through the root.
std::vector<float> runStep(Device &device, int rank, void (*step)(Rank &),
                           int64_t resultOffset, int64_t count) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = static_cast<float>(100 * rank + i);
  device.copyIn(rank, 0, values.data(), 256);
  device.run(step);
  std::vector<float> result(count);
  // copyOut delivers to rank 0 alone; every rank takes part for every rank.
  for (int r = 3; r >= 0; --r)
    device.copyOut(r, resultOffset, result.data(), count * 4);
  return result;
}

const Site kSite{"x", "test.mesh:1"};

TEST(Collectives, AllReduceOverEachAxis) {
  EXPECT_TRUE(onRanks(meshOf(2, 2), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      auto *x = r.at<float>(0);
      allReduce(r, {0}, Reduce::Sum, x, 4, kSite);      // ranks 0 and 2
      allReduce(r, {1}, Reduce::Max, x + 4, 4, kSite);  // ranks 0 and 1
      allReduce(r, {0, 1}, Reduce::Min, x + 8, 4, kSite);
    }, 0, 12);
    return rank != 0 || x == std::vector<float>{200, 202, 204, 206, 104, 105, 106,
                                                107, 8, 9, 10, 11};
  }));
}

TEST(Collectives, AllGatherConcatenatesAlongAnInnerDim) {
  // part (outer = 2, chunk = 3) -> result (2, members = 2, 3)
  EXPECT_TRUE(onRanks(meshOf(2, 2), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      allGather(r, {1}, r.at<float>(1024), r.at<float>(0), 2, 3, kSite);
    }, 1024, 12);
    return rank != 0 || x == std::vector<float>{0, 1, 2, 100, 101, 102, 3, 4, 5,
                                                103, 104, 105};
  }));
}

TEST(Collectives, ReduceScatterIsTheInverse) {
  // data (outer = 2, members = 2, chunk = 2) -> part (2, 2)
  EXPECT_TRUE(onRanks(meshOf(2, 2), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      reduceScatter(r, {0}, r.at<float>(1024), r.at<float>(0), 2, 2, kSite);
    }, 1024, 4);
    return rank != 0 || x == std::vector<float>{200, 202, 208, 210};
  }));
}

TEST(Collectives, MemberOrderFollowsTheAxesGiven) {
  // Over {1, 0}, member i has coordinate i / 2 on model, i % 2 on data: the
  // parts come from ranks 0, 2, 1, 3.
  EXPECT_TRUE(onRanks(meshOf(2, 2), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      allGather(r, {1, 0}, r.at<float>(1024), r.at<float>(0), 1, 1, kSite);
    }, 1024, 4);
    return rank != 0 || x == std::vector<float>{0, 200, 100, 300};
  }));
}

TEST(Collectives, AllToAllMovesASplitBothWays) {
  // Four ranks: data (split = 4 * 1, concat = 2) -> (1, 4 * 2), and back.
  EXPECT_TRUE(onRanks(meshOf(1, 4), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      AllToAll there{.split = 1, .mid = 3, .concat = 2, .splitFirst = true};
      allToAll(r, {1}, there, r.at<float>(1024), r.at<float>(0), kSite);
      // The result is (1, mid = 3, 4 * 2): split the last dim again.
      AllToAll back{.split = 2, .mid = 3, .concat = 1, .splitFirst = false};
      allToAll(r, {1}, back, r.at<float>(2048), r.at<float>(1024), kSite);
    }, 1024, 256 + 24);
    if (rank != 0)
      return true;
    for (int mid = 0; mid < 3; ++mid)
      for (int member = 0; member < 4; ++member)
        for (int c = 0; c < 2; ++c)
          if (x[(mid * 4 + member) * 2 + c] != 100.0f * member + mid * 2 + c)
            return false;
    for (int i = 0; i < 24; ++i)
      if (x[256 + i] != static_cast<float>(i))
        return false;
    return true;
  }));
}

TEST(Collectives, ExchangeMovesWholeParts) {
  // To the next member; the first gets zeros. Gathered, for rank 0 to see.
  EXPECT_TRUE(onRanks(meshOf(1, 4), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      exchange(r, {1}, {-1, 0, 1, 2}, r.at<float>(1024), r.at<float>(0), 3, kSite);
      allGather(r, {1}, r.at<float>(2048), r.at<float>(1024), 1, 3, kSite);
    }, 2048, 12);
    return rank != 0 || x == std::vector<float>{0, 0, 0, 0, 1, 2, 100, 101, 102,
                                                200, 201, 202};
  }));
}

TEST(Collectives, StartedEarlyWaitedLate) {
  EXPECT_TRUE(onRanks(meshOf(1, 4), [](Device &device, int rank) {
    std::vector<float> x = runStep(device, rank, [](Rank &r) {
      Pending sum = allReduceStart(r, {1}, Reduce::Sum, r.at<float>(0), 2, kSite);
      broadcast(r, {1}, 2, r.at<float>(16), 2, kSite);
      wait(r, sum);
    }, 0, 6);
    return rank != 0 || x == std::vector<float>{600, 604, 2, 3, 204, 205};
  }));
}

TEST(Collectives, TrafficIsCountedPerCallSite) {
  EXPECT_TRUE(onRanks(meshOf(1, 4), [](Device &device, int) {
    auto step = [](Rank &r) {
      allReduce(r, {1}, Reduce::Sum, r.at<float>(0), 8, kSite);
      allReduce(r, {0}, Reduce::Sum, r.at<float>(0), 8, kSite); // a group of one
    };
    device.run(step);
    device.run(step);
    std::vector<CollectiveTraffic> traffic = device.traffic();
    return traffic.size() == 1 && traffic[0].collective == "all-reduce" &&
           traffic[0].axes == "model" && traffic[0].calls == 2 &&
           traffic[0].bytesSent == 2 * (2 * 3 * 32 / 4);
  }));
}

TEST(Collectives, RootDecides) {
  EXPECT_TRUE(onRanks(meshOf(2, 1), [](Device &device, int rank) {
    return device.agree(41 + rank) == 41 && device.isRoot() == (rank == 0) &&
           device.owns(rank) && !device.owns(1 - rank);
  }));
}

TEST(Collectives, WrongNumberOfProcessesIsRefused) {
  Program program = meshOf(2, 2);
  setenv("RANK", "0", 1), setenv("LOCAL_RANK", "0", 1), setenv("WORLD_SIZE", "3", 1);
  try {
    createDevice(program, {});
    ADD_FAILURE() << "three processes ran a program for four ranks";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "the program was compiled for 4 ranks (data=2, model=2) but 3 "
                 "processes were started by torchrun; the two must be equal");
  }
  unsetenv("RANK"), unsetenv("LOCAL_RANK"), unsetenv("WORLD_SIZE");
}

TEST(Collectives, NoDeviceExitsWithTwo) {
  setenv("CUDA_ON_HOST_DEVICES", "0", 1);
  try {
    createDevice(meshOf(1, 1), {});
    ADD_FAILURE() << "a device without devices";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "no CUDA device: no CUDA-capable device is detected");
    EXPECT_EQ(error.exitCode, 2);
  }
  unsetenv("CUDA_ON_HOST_DEVICES");
}

} // namespace
