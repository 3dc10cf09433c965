//===- RunRanks.h - Runs a lambda on every rank of a small mesh -----------===//
#ifndef MESHC_TEST_RUNTIME_RUNRANKS_H
#define MESHC_TEST_RUNTIME_RUNRANKS_H

#include "meshrt/cpu.h"
#include "meshrt/device.h"

#include <functional>
#include <memory>

namespace meshrt::test {

inline std::function<void(Rank &)> currentBody;

/// Runs `body` once on each rank; rethrows the first failure as an Error.
inline void runRanks(std::vector<MeshAxis> mesh, int threads,
                     std::function<void(Rank &)> body, double timeout = 60) {
  Program program;
  program.mesh = std::move(mesh);
  program.arenaBytes = 4096;
  std::unique_ptr<Device> device = createDevice(
      program, {.threadsPerRank = threads, .collectiveTimeout = timeout});
  currentBody = std::move(body);
  device->run([](Rank &rank) { currentBody(rank); });
}

/// One rank.
inline void runOne(int threads, std::function<void(Rank &)> body) {
  runRanks({}, threads, std::move(body));
}

/// Reproducible values in [-1, 1).
inline std::vector<float> randomValues(int64_t count, const char *name) {
  PhiloxStream stream{7, hash32(name), 0, 0};
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = 2 * stream.uniform(i) - 1;
  return values;
}

} // namespace meshrt::test

#endif // MESHC_TEST_RUNTIME_RUNRANKS_H
