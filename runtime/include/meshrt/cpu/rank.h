//===- rank.h - One rank of a CPU program ---------------------------------===//
//
// A CPU rank is a thread of the process. It owns an arena and a pool of worker
// threads for the loops inside its kernels, and meets the other ranks in the
// collectives of collectives.h.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CPU_RANK_H
#define MESHRT_CPU_RANK_H

#include "meshrt/types.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace meshrt {

class World;
class ThreadPool;
struct RankImpl;

class Rank {
public:
  Rank(World &world, int id, int64_t arenaBytes, int threads);
  ~Rank();
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  int id() const { return id_; }

  /// Position on mesh axis `axis`, in [0, size of the axis).
  int coordinate(int axis) const { return coordinates_[axis]; }

  /// Which shard of a dim split over `axes` this rank holds.
  int shard(const Axes &axes) const;

  /// The arena value at byte `offset`. Arenas are 64-byte aligned; so is every
  /// offset a compiler plans.
  template <typename T> T *at(int64_t offset) const {
    return reinterpret_cast<T *>(arena_ + offset);
  }

  /// Worker threads, this one included.
  int threads() const { return threads_; }

  /// Calls body(begin, end) on disjoint ranges that cover [0, n), one per
  /// thread, and returns when all are done. The split depends on n and
  /// threads() alone. Do not nest.
  template <typename Body> void parallelFor(int64_t n, const Body &body) {
    // With one thread too: a body that is inlined into its caller vectorizes
    // less reliably than one that is a function of its own.
    runParallel(
        n, threads_,
        [](const void *context, int64_t begin, int64_t end) {
          (*static_cast<const Body *>(context))(begin, end);
        },
        &body);
  }

  /// As parallelFor, but hands out single indices to whichever thread is free:
  /// for few items of uneven cost. Calls body(i).
  template <typename Body> void parallelForEach(int64_t n, const Body &body) {
    runParallel(
        n, n,
        [](const void *context, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            (*static_cast<const Body *>(context))(i);
        },
        &body);
  }

  /// Scratch memory of at least `bytes`, 64-byte aligned, one block per worker
  /// thread; valid until the next call with the same `worker`. Only library
  /// kernels with bounded workspaces use it.
  void *scratch(int worker, size_t bytes);

  /// Index of the calling worker inside a parallel loop, in [0, threads()).
  static int worker();

  World &world() const { return world_; }
  RankImpl &impl() const { return *impl_; }

private:
  using RangeFn = void (*)(const void *context, int64_t begin, int64_t end);
  void runParallel(int64_t n, int64_t chunks, RangeFn fn, const void *context);

  World &world_;
  int id_;
  int threads_;
  std::vector<int> coordinates_;
  std::byte *arena_ = nullptr;
  size_t arenaBytes_ = 0;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<RankImpl> impl_;
};

} // namespace meshrt

#endif // MESHRT_CPU_RANK_H
