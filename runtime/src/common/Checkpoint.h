//===- Checkpoint.h - Saving and loading training state -------------------===//
//
// A checkpoint is a safetensors file of global, unpadded tensors in file order:
// each parameter under its path, each optimizer state under "path/name". It
// does not depend on mesh or layout. Metadata: "step" (steps done), "seed",
// "program", and "characters" (the character table of a text model).
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_COMMON_CHECKPOINT_H
#define MESHRT_SRC_COMMON_CHECKPOINT_H

#include "meshrt/device.h"

#include <string>

namespace meshrt {

struct TrainingState {
  int64_t step = 0; ///< steps done
  int64_t seed = 0;
  std::string characters; ///< UTF-8; empty: bytes or token ids
  bool hasStates = false; ///< load: the file held the optimizer states
};

/// Writes atomically on the root process; every process calls it.
void saveCheckpoint(Device &device, const Program &program,
                    const std::string &path, const TrainingState &state,
                    bool withStates);

/// Fills the parameters, and the optimizer states if the file has them (zero
/// otherwise). Throws Error on a missing tensor or another shape or type.
TrainingState loadCheckpoint(Device &device, const Program &program,
                             const std::string &path, bool withStates);

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_CHECKPOINT_H
