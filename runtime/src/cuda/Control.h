//===- Control.h - The host side connection between processes -------------===//
//
// A star of TCP connections from every process to rank 0's. It carries NCCL's
// unique id at the start and, afterwards, one message per process at most: why
// it failed. So a rank that fails stops the others with its message instead of
// leaving them in a collective.
//
// Rank 0 listens on a port that is free: forked processes inherit its number,
// others derive a short list of candidates from the job's name and try them in
// turn, recognizing each other by a greeting. MESHRT_RENDEZVOUS replaces this:
//
//   MESHRT_RENDEZVOUS=host:port       rank 0 listens there
//   MESHRT_RENDEZVOUS=file:/a/path    rank 0 writes its host and port there
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_CUDA_CONTROL_H
#define MESHRT_SRC_CUDA_CONTROL_H

#include "Launcher.h"

#include <string>
#include <vector>

namespace meshrt::cuda {

class Control {
public:
  /// Connects all processes; throws an Error after `timeout` seconds.
  Control(const Launch &launch, const Environment &environment, double timeout);
  ~Control();
  Control(const Control &) = delete;
  Control &operator=(const Control &) = delete;

  /// Rank 0's bytes, on every process.
  void broadcast(void *data, size_t bytes);

  /// Tells the others, through rank 0, that this process fails.
  void reportFailure(const std::string &message);

  /// Another process's failure, or "rank 3 ended" if it left without a word;
  /// empty while all is well. Does not wait.
  std::string failure();

private:
  int listenAsRoot(const Launch &launch, const Environment &environment);
  void acceptAll(int listener, double deadline);
  void connectToRoot(const Launch &launch, const Environment &environment,
                     double deadline);
  void send(int socket, const std::string &message);

  int rank_, size_;
  uint64_t job_;              ///< hash, part of the greeting
  std::vector<int> sockets_;  ///< rank 0: by rank, -1 for itself; else: {root}
  std::string pending_;       ///< a message read in part
};

} // namespace meshrt::cuda

#endif // MESHRT_SRC_CUDA_CONTROL_H
