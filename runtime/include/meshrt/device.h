//===- device.h - What the trainer asks of a target -----------------------===//
//
// The trainer is one program per process and every process runs the same
// calls in the same order. A CPU target has one process with all ranks as
// threads; the CUDA target one process per GPU.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_DEVICE_H
#define MESHRT_DEVICE_H

#include "meshrt/program.h"

#include <memory>
#include <string>
#include <vector>

namespace meshrt {

/// Bytes that one collective call site sent, summed over its calls.
struct CollectiveTraffic {
  std::string collective; ///< "all-reduce"
  Site site;
  std::string axes;       ///< "data, model"
  int64_t calls = 0;
  int64_t bytesSent = 0;  ///< by one rank, counted as a ring would send
};

struct DeviceOptions {
  int threadsPerRank = 0;         ///< 0: max(1, cores / ranks)
  double collectiveTimeout = 600; ///< seconds until a wait counts as a hang
  bool allowTf32 = false;         ///< CUDA: f32 products by tensor cores
};

class Device {
public:
  virtual ~Device() = default;

  /// One line for the start of training: "4 CPU ranks (data=2, model=2), 1
  /// thread each".
  virtual std::string describe() const = 0;

  /// Whether this process holds rank `rank`'s arena.
  virtual bool owns(int rank) const = 0;

  /// Whether this process prints and writes files.
  virtual bool isRoot() const = 0;

  /// Copies host bytes into a rank's arena; processes that do not own the rank
  /// ignore the call.
  virtual void copyIn(int rank, int64_t offset, const void *host,
                      int64_t bytes) = 0;

  /// Copies bytes of a rank's arena to the root process's `host`. Every
  /// process calls it; the content of `host` elsewhere is unspecified.
  virtual void copyOut(int rank, int64_t offset, void *host,
                       int64_t bytes) = 0;

  /// Runs `step` on every rank and returns when all have finished. The first
  /// rank that fails stops the others; its message is thrown as an Error.
  virtual void run(void (*step)(Rank &)) = 0;

  /// The root process's value, on every process (a decision to stop, ...).
  virtual int64_t agree(int64_t rootValue) = 0;

  /// Rank 0's collectives since the start, in order of first call.
  virtual std::vector<CollectiveTraffic> traffic() const = 0;
};

/// Each target's runtime library defines this one. Throws Error(kNoDevice)
/// where the program cannot run.
std::unique_ptr<Device> createDevice(const Program &program,
                                     const DeviceOptions &options);

} // namespace meshrt

#endif // MESHRT_DEVICE_H
