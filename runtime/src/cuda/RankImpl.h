//===- RankImpl.h - What a CUDA rank keeps for the library calls ----------===//
#ifndef MESHRT_SRC_CUDA_RANKIMPL_H
#define MESHRT_SRC_CUDA_RANKIMPL_H

#include "meshrt/cuda/check.h"
#include "meshrt/cuda/rank.h"
#include "meshrt/device.h"

#include <map>
#include <string>
#include <vector>

namespace meshrt {

struct GemmCache;

/// Memory that grows and is never read across calls.
struct ScratchBlock {
  void *data = nullptr;
  size_t bytes = 0;
};

/// One collective of the current step. Its event tells whether it finished, so
/// that a hang can be given a name.
struct LoggedCollective {
  size_t traffic; ///< index into RankImpl::traffic
  cudaEvent_t done;
};

struct RankImpl {
  static constexpr size_t kBlasWorkspace = 32u << 20;

  bool allowTf32 = false;
  cublasLtHandle_t blas = nullptr;
  void *blasWorkspace = nullptr;
  std::shared_ptr<GemmCache> gemms;

  ncclComm_t world = nullptr;
  std::map<std::vector<int>, ncclComm_t> communicators; ///< by axes
  cudaEvent_t computeReached = nullptr;

  std::byte *reduction = nullptr; ///< tickets, then parts
  ScratchBlock computeScratch, commScratch;

  std::vector<LoggedCollective> log;    ///< of the current step, in order
  std::vector<cudaEvent_t> events;      ///< all ever made; log uses the first
  std::vector<CollectiveTraffic> traffic; ///< one per call site

  /// Starts a new step: events are free again.
  void beginStep() { log.clear(); }
  cudaEvent_t nextEvent();

  /// The first collective that the GPU has not finished, "all-reduce of
  /// grad(gpt.wte) over 'model' (gpt.mesh:31)"; empty if none.
  std::string unfinished() const;
};

} // namespace meshrt

#endif // MESHRT_SRC_CUDA_RANKIMPL_H
