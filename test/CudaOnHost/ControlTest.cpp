//===- ControlTest.cpp - The host side connection between processes -------===//
#include "Control.h"
#include "meshrt/types.h"

#include <gtest/gtest.h>

#include <functional>

#include <sys/wait.h>
#include <unistd.h>

using namespace meshrt;
using namespace meshrt::cuda;

namespace {

Launch rankOf(int rank, int size, const std::string &job) {
  Launch launch;
  launch.kind = Launch::Torchrun;
  launch.rank = rank;
  launch.size = size;
  launch.rootHost = "127.0.0.1";
  launch.job = job + std::to_string(getppid()); // one name for all processes
  return launch;
}

const char *noVariables(const char *) { return nullptr; }

/// Runs body(rank) in a process per rank; the exit codes, each 0 if it held.
std::vector<int> inProcesses(int size, const std::function<bool(int)> &body) {
  std::vector<pid_t> processes;
  for (int rank = 0; rank < size; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      bool ok = false;
      try {
        ok = body(rank);
      } catch (const std::exception &error) {
        fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      _exit(ok ? 0 : 1);
    }
    processes.push_back(child);
  }
  std::vector<int> codes;
  for (pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

/// Polls for at most ten seconds.
std::string waitForFailure(Control &control) {
  for (int i = 0; i < 1000; ++i) {
    std::string failure = control.failure();
    if (!failure.empty())
      return failure;
    usleep(10000);
  }
  return "";
}

TEST(Control, RanksFindEachOtherByTheJobsName) {
  // No port is agreed on; the greeting tells this job's processes from others.
  auto body = [](int rank) {
    Control control(rankOf(rank, 3, "find"), noVariables, 20);
    int number = rank == 0 ? 42 : 0;
    control.broadcast(&number, sizeof(number));
    return number == 42;
  };
  EXPECT_EQ(inProcesses(3, body), (std::vector<int>{0, 0, 0}));
}

TEST(Control, AFailureReachesEveryRankByTheRoot) {
  auto body = [](int rank) {
    Control control(rankOf(rank, 3, "fail"), noVariables, 20);
    if (rank == 2) {
      control.reportFailure("rank 2 of 3: the loss is nan");
      return waitForFailure(control) != ""; // what the root passes on
    }
    std::string failure = waitForFailure(control);
    if (rank == 0)
      control.reportFailure(failure);
    sleep(1); // do not leave before the others have read
    return failure == "rank 2 of 3: the loss is nan";
  };
  EXPECT_EQ(inProcesses(3, body), (std::vector<int>{0, 0, 0}));
}

TEST(Control, ARankThatLeavesIsNoticed) {
  auto body = [](int rank) {
    Control control(rankOf(rank, 2, "leave"), noVariables, 20);
    return rank == 1 || waitForFailure(control) == "rank 1 ended before the others";
  };
  EXPECT_EQ(inProcesses(2, body), (std::vector<int>{0, 0}));
}

TEST(Control, MissingRanksAreCounted) {
  auto body = [](int) {
    try {
      Control control(rankOf(0, 3, "missing"), noVariables, 0.3);
    } catch (const Error &error) {
      return std::string(error.what()) == "2 of 3 ranks did not connect to rank 0 in time";
    }
    return false;
  };
  EXPECT_EQ(inProcesses(1, body), (std::vector<int>{0}));
}

TEST(Control, UnknownRootSaysWhatToSet) {
  Launch launch = rankOf(1, 2, "where");
  launch.rootHost = "";
  try {
    Control control(launch, noVariables, 1);
    ADD_FAILURE() << "connected to nowhere";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "do not know where rank 0 runs; set MASTER_ADDR, or "
                               "MESHRT_RENDEZVOUS=file:/path on a shared file system");
  }
}

TEST(Control, BadRendezvousIsRefused) {
  auto variables = [](const char *) -> const char * { return "nonsense"; };
  try {
    Control control(rankOf(1, 2, "bad"), variables, 1);
    ADD_FAILURE() << "took 'nonsense' for an address";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "MESHRT_RENDEZVOUS is 'nonsense'; expected host:port or file:path");
  }
}

} // namespace
