//===- LauncherTest.cpp - Who started the process -------------------------===//
#include "Launcher.h"
#include "meshrt/types.h"

#include <gtest/gtest.h>

#include <map>

using namespace meshrt;
using namespace meshrt::cuda;

namespace {

Launch launchOf(const std::map<std::string, std::string> &variables) {
  return readLaunch([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string errorOf(const std::map<std::string, std::string> &variables) {
  try {
    launchOf(variables);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Launcher, AloneWithoutVariables) {
  Launch launch = launchOf({});
  EXPECT_EQ(launch.kind, Launch::Alone);
  EXPECT_EQ(launch.size, 1);
}

TEST(Launcher, Torchrun) {
  Launch launch = launchOf({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"},
                            {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"},
                            {"LOCAL_WORLD_SIZE", "4"}, {"TORCHELASTIC_RUN_ID", "none"}});
  EXPECT_EQ(launch.kind, Launch::Torchrun);
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.rootHost, "node7");
  EXPECT_EQ(launch.job, "none//29500");
}

TEST(Launcher, OpenMpiOnOneHostNeedsNoAddress) {
  Launch launch = launchOf({{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "job.17"}});
  EXPECT_EQ(launch.kind, Launch::OpenMpi);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.rootHost, "127.0.0.1");
  EXPECT_EQ(launch.job, "job.17//");
}

TEST(Launcher, SlurmStepNamesTheFirstHost) {
  std::map<std::string, std::string> step = {
      {"SLURM_PROCID", "9"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "1"},
      {"SLURM_JOB_ID", "123"}, {"SLURM_STEP_ID", "0"},
      {"SLURM_STEP_NODELIST", "gpu[03-04]"}};
  Launch launch = launchOf(step);
  EXPECT_EQ(launch.kind, Launch::Slurm);
  EXPECT_EQ(launch.rank, 9);
  EXPECT_EQ(launch.localRank, 1);
  EXPECT_EQ(launch.rootHost, "gpu03");
  // An allocation without srun is one process.
  step.erase("SLURM_STEP_ID");
  EXPECT_EQ(launchOf(step).kind, Launch::Alone);
}

TEST(Launcher, TorchrunInsideSlurmIsTorchrun) {
  EXPECT_EQ(launchOf({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"},
                      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"},
                      {"SLURM_LOCALID", "0"}, {"SLURM_STEP_ID", "0"}})
                .kind,
            Launch::Torchrun);
}

TEST(Launcher, ContradictionsAreErrors) {
  EXPECT_EQ(errorOf({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}),
            "RANK is 2 but WORLD_SIZE is 2");
  EXPECT_EQ(errorOf({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}}),
            "environment variable RANK is 'x', not a rank or a count");
  EXPECT_EQ(errorOf({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "environment variable LOCAL_RANK is missing; the launcher sets it "
            "for every process");
}

TEST(Launcher, FirstHost) {
  EXPECT_EQ(firstHost("a"), "a");
  EXPECT_EQ(firstHost("a,b"), "a");
  EXPECT_EQ(firstHost("node[3-5,9],x"), "node3");
  EXPECT_EQ(firstHost("rack2-[001,007]-gpu"), "rack2-001-gpu");
}

TEST(Launcher, DevicesAreCountedInAChild) {
  std::string why;
  setenv("CUDA_ON_HOST_DEVICES", "3", 1);
  EXPECT_EQ(countDevices(why), 3);
  setenv("CUDA_ON_HOST_DEVICES", "0", 1);
  EXPECT_EQ(countDevices(why), 0);
  EXPECT_EQ(why, "no CUDA-capable device is detected");
  unsetenv("CUDA_ON_HOST_DEVICES");
}

} // namespace
