//===- Launcher.h - Who started this process, and as which rank -----------===//
//
// One process per GPU. They are started by torchrun, srun or mpirun, which say
// so in the environment, or by the first process itself, which forks one child
// per further rank.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_CUDA_LAUNCHER_H
#define MESHRT_SRC_CUDA_LAUNCHER_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace meshrt::cuda {

struct Launch {
  enum Kind : uint8_t { Alone, Torchrun, OpenMpi, Slurm, Forked } kind = Alone;
  int rank = 0, size = 1;
  int localRank = 0;
  std::string rootHost;     ///< where rank 0 runs; empty: unknown
  std::string job;          ///< equal on all ranks of a job, unlike other jobs'
  std::vector<int> children; ///< process ids, in the first of forked processes
  int listener = -1;        ///< rank 0 of forked processes: a listening socket
  int port = 0;             ///< forked: its port
};

/// An environment: name -> value or null. Tests pass their own.
using Environment = std::function<const char *(const char *)>;

/// Reads torchrun's (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR), Open MPI's
/// (OMPI_COMM_WORLD_*) and Slurm's (SLURM_PROCID, ...) variables, in this
/// order; kind is Alone if there are none. Throws an Error for values that
/// contradict each other.
Launch readLaunch(const Environment &environment);

/// "node[03-05,9],x" -> "node03": the first host of a Slurm node list.
std::string firstHost(const std::string &nodeList);

/// "started by torchrun".
const char *kindName(Launch::Kind kind);

/// Number of visible GPUs, found by a child process, because a process that
/// has touched CUDA must not fork. On failure returns 0 and says why.
int countDevices(std::string &why);

/// Makes `size` processes out of this one. Must be called before any thread or
/// CUDA call. Children end when the first process does.
Launch forkRanks(int size);

} // namespace meshrt::cuda

#endif // MESHRT_SRC_CUDA_LAUNCHER_H
