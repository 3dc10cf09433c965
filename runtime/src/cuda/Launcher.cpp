//===- Launcher.cpp - torchrun, mpirun, srun, or fork ---------------------===//
#include "Launcher.h"

#include "meshrt/types.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshrt;
using namespace meshrt::cuda;

namespace {

/// The variables one launcher sets.
struct Names {
  Launch::Kind kind;
  const char *rank, *size, *localRank, *job;
};

constexpr Names kLaunchers[] = {
    {Launch::Torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"},
    {Launch::OpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"},
    {Launch::Slurm, "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
     "SLURM_JOB_ID"},
};

int readInt(const Environment &environment, const char *name) {
  const char *text = environment(name);
  if (!text)
    throw Error(std::string("environment variable ") + name +
                " is missing; the launcher sets it for every process");
  char *end;
  long value = std::strtol(text, &end, 10);
  if (end == text || *end || value < 0 || value > 1 << 24)
    throw Error(std::string("environment variable ") + name + " is '" + text +
                "', not a rank or a count");
  return static_cast<int>(value);
}

std::string text(const Environment &environment, const char *name) {
  const char *value = environment(name);
  return value ? value : "";
}

} // namespace

const char *cuda::kindName(Launch::Kind kind) {
  switch (kind) {
  case Launch::Alone: return "one process";
  case Launch::Torchrun: return "started by torchrun";
  case Launch::OpenMpi: return "started by mpirun";
  case Launch::Slurm: return "started by srun";
  case Launch::Forked: return "forked";
  }
  return "?";
}

std::string cuda::firstHost(const std::string &list) {
  std::string host;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      host += list[i];
      continue;
    }
    // The first number of the bracket, then what follows the bracket.
    for (++i; i < list.size() && list[i] >= '0' && list[i] <= '9'; ++i)
      host += list[i];
    while (i < list.size() && list[i] != ']')
      ++i;
  }
  return host;
}

Launch cuda::readLaunch(const Environment &environment) {
  for (const Names &names : kLaunchers) {
    // Inside an allocation but without srun, Slurm sets only the job's
    // variables; SLURM_STEP_ID tells the two apart.
    if (!environment(names.rank) || !environment(names.size) ||
        (names.kind == Launch::Slurm && !environment("SLURM_STEP_ID")))
      continue;
    Launch launch;
    launch.kind = names.kind;
    launch.rank = readInt(environment, names.rank);
    launch.size = readInt(environment, names.size);
    launch.localRank = readInt(environment, names.localRank);
    if (launch.rank >= launch.size)
      throw Error(std::string(names.rank) + " is " +
                  std::to_string(launch.rank) + " but " + names.size + " is " +
                  std::to_string(launch.size));
    launch.rootHost = text(environment, "MASTER_ADDR");
    if (launch.rootHost.empty() && names.kind == Launch::Slurm)
      launch.rootHost = firstHost(text(environment, "SLURM_STEP_NODELIST"));
    // All on one host: no need to be told where rank 0 is.
    bool oneHost = false;
    for (const char *name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"})
      if (const char *local = environment(name))
        oneHost |= std::atoi(local) == launch.size;
    if (launch.rootHost.empty() && (oneHost || launch.size == 1))
      launch.rootHost = "127.0.0.1";
    launch.job = text(environment, names.job) + "/" +
                 text(environment, "SLURM_STEP_ID") + "/" +
                 text(environment, "MASTER_PORT");
    return launch;
  }
  return {};
}

int cuda::countDevices(std::string &why) {
  int channel[2];
  if (pipe(channel) != 0) {
    why = std::string("pipe: ") + std::strerror(errno);
    return 0;
  }
  struct {
    int count;
    int status;
  } result = {0, 0};
  pid_t child = fork();
  if (child == 0) {
    result.status = static_cast<int>(cudaGetDeviceCount(&result.count));
    if (write(channel[1], &result, sizeof(result)) < 0)
      _exit(1);
    _exit(0); // no destructors: they belong to the parent
  }
  close(channel[1]);
  bool ok = child > 0 &&
            read(channel[0], &result, sizeof(result)) == sizeof(result);
  close(channel[0]);
  if (child > 0)
    waitpid(child, nullptr, 0);
  if (!ok) {
    why = "could not ask the driver";
    return 0;
  }
  if (result.status != cudaSuccess) {
    auto status = static_cast<cudaError_t>(result.status);
    why = status == cudaErrorInsufficientDriver
              ? "no NVIDIA driver, or one older than the CUDA toolkit that "
                "built this program"
              : cudaGetErrorString(status);
    return 0;
  }
  if (result.count == 0)
    why = "the driver sees none (CUDA_VISIBLE_DEVICES may hide them)";
  return result.count;
}

Launch cuda::forkRanks(int size) {
  Launch launch;
  launch.kind = Launch::Forked;
  launch.size = size;
  launch.rootHost = "127.0.0.1";
  launch.job = "fork/" + std::to_string(getpid());

  // The kernel picks a free port; the children inherit its number.
  launch.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  if (launch.listener < 0 || bind(launch.listener, generic, length) != 0 ||
      listen(launch.listener, size) != 0 ||
      getsockname(launch.listener, generic, &length) != 0)
    throw Error(std::string("cannot listen on 127.0.0.1: ") +
                    std::strerror(errno),
                Error::kInternal);
  launch.port = ntohs(address.sin_port);

  std::fflush(nullptr); // or children would print the parent's buffers again
  pid_t parent = getpid();
  for (int rank = 1; rank < size; ++rank) {
    pid_t child = fork();
    if (child < 0)
      throw Error(std::string("cannot fork rank ") + std::to_string(rank) +
                      ": " + std::strerror(errno),
                  Error::kInternal);
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (getppid() != parent) // it ended before the call above
        _exit(Error::kInternal);
      close(launch.listener);
      launch.listener = -1;
      launch.children.clear();
      launch.rank = launch.localRank = rank;
      return launch;
    }
    launch.children.push_back(child);
  }
  return launch;
}
