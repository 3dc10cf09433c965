//===- World.h - The ranks of one CPU process -----------------------------===//
//
// Meeting points of the collectives and the state of a failure. A `Group` is
// one set of ranks that meet in collectives over the same axes; groups are
// made on first use.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_CPU_WORLD_H
#define MESHRT_SRC_CPU_WORLD_H

#include "meshrt/cpu/rank.h"
#include "meshrt/device.h"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace meshrt {

/// Thrown on ranks that are stopped because another one failed.
struct Stopped {};

/// What a member tells the others on entering a collective.
struct Arrival {
  const void *source = nullptr;
  void *target = nullptr;
  const char *collective = "";
  Site site;
  int64_t bytes = 0;
};

struct Group {
  std::vector<int> ranks; ///< by member index
  std::vector<Arrival> arrivals;
  std::vector<std::atomic<uint32_t>> entered; ///< barriers each member reached
  std::atomic<uint32_t> arrived{0};
  std::atomic<uint32_t> generation{0};

  explicit Group(size_t size) : arrivals(size), entered(size) {}
};

class World {
public:
  World(std::vector<MeshAxis> mesh, bool spin, double timeoutSeconds);

  const std::vector<MeshAxis> &mesh() const { return mesh_; }
  int size() const { return size_; }
  bool spin() const { return spin_; }

  /// "rank 3 of 4 (data=1, model=1)".
  std::string describeRank(int rank) const;
  /// "'data', 'model'".
  std::string describeAxes(const Axes &axes) const;

  /// The group of `rank` over `axes`, made on first use.
  Group &group(int rank, const Axes &axes);

  /// Waits until every member has called it. Throws Stopped if the world
  /// failed, Error if another member cannot come any more or is overdue.
  void barrier(Group &group, int member, const char *collective,
               const Axes &axes, const Site &site);

  /// Records the first failure and makes all waits end.
  void fail(const std::string &message, int exitCode);
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  void throwFailure() const;

  /// Around each step, on each rank.
  void enterStep(int rank) { inStep_[rank] = true; }
  void leaveStep(int rank) { inStep_[rank] = false; }

private:
  std::vector<MeshAxis> mesh_;
  int size_;
  bool spin_;
  double timeout_;
  std::mutex mutex_;
  std::map<std::vector<int>, std::unique_ptr<Group>> groups_;
  std::vector<std::atomic<bool>> inStep_;
  std::atomic<bool> failed_{false};
  std::string message_;
  int exitCode_ = 0;
};

/// Coordinates of a rank id; the last axis varies fastest.
std::vector<int> meshCoordinates(const std::vector<MeshAxis> &mesh, int rank);

/// Per-rank state behind Rank.
struct RankImpl {
  struct CachedGroup {
    Axes axes;
    Group *group;
    int member;
  };
  std::vector<CachedGroup> groups;
  std::vector<CollectiveTraffic> traffic;
  std::vector<std::vector<std::byte>> scratch; ///< per worker
};

} // namespace meshrt

#endif // MESHRT_SRC_CPU_WORLD_H
