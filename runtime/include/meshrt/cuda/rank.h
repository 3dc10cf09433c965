//===- rank.h - One rank of a CUDA program --------------------------------===//
//
// A CUDA rank is a process with one GPU. It owns an arena (one cudaMalloc), a
// compute stream, a communication stream, a cuBLASLt handle with a fixed
// workspace, and one NCCL communicator per set of mesh axes it has used.
//
// Kernels and products are enqueued on `stream()`. A collective waits for the
// compute stream where it is called, runs on `commStream()`, and the compute
// stream waits for it at the end (or at `wait`, see collectives.h). Nothing in
// a step waits for the GPU on the host.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_RANK_H
#define MESHRT_CUDA_RANK_H

#include "meshrt/program.h"
#include "meshrt/types.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace meshrt {

struct RankImpl;

/// Memory for one reduction over a whole grid; see Grid in teams.h. Reductions
/// of one stream follow one another and share it.
struct Reduction {
  static constexpr int kBlocks = 512; ///< of the grid, at most
  static constexpr int kValues = 8;   ///< reduced at once, at most
  static constexpr size_t kBytes = 64 + kBlocks * kValues * 8;

  int *tickets;         ///< blocks that are through; 0 between reductions
  unsigned char *parts; ///< one value per block and reduced value
};

class Rank {
public:
  /// `world` spans all ranks and is owned by the rank from here on.
  Rank(const Program &program, int id, ncclComm_t world, bool allowTf32);
  ~Rank();
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  int id() const { return id_; }

  /// Position on mesh axis `axis`, in [0, size of the axis).
  int coordinate(int axis) const { return coordinates_[axis]; }

  /// Which shard of a dim split over `axes` this rank holds; also its member
  /// number in the group of a collective over `axes`.
  int shard(const Axes &axes) const;

  /// Ranks in the group of a collective over `axes`.
  int groupSize(const Axes &axes) const;

  /// "data, model": the names of the axes.
  std::string axisNames(const Axes &axes) const;

  /// "rank 3 of 8 (data=1, model=1)".
  std::string describe() const;

  /// The arena value at byte `offset`. The arena is 256-byte aligned; every
  /// offset a compiler plans is a multiple of 64.
  template <typename T> T *at(int64_t offset) const {
    return reinterpret_cast<T *>(arena_ + offset);
  }

  cudaStream_t stream() const { return stream_; }
  cudaStream_t commStream() const { return commStream_; }
  int multiprocessors() const { return multiprocessors_; }

  /// Device memory of at least `bytes`, 256-byte aligned, for one library call:
  /// partial sums and the packing of collectives. Calls on one stream may reuse
  /// it in order; the two streams have one block each. Grows at first use, so
  /// later steps allocate nothing.
  void *scratch(cudaStream_t stream, size_t bytes);

  /// The memory for a grid's reduction on `stream()`.
  Reduction reduction() const;

  /// The communicator of this rank's group over `axes`. Made at first use by
  /// ncclCommSplit, which all ranks of the world reach in the same order
  /// because they run the same steps.
  ncclComm_t communicator(const Axes &axes);

  RankImpl &impl() const { return *impl_; }

private:
  int id_;
  std::vector<MeshAxis> mesh_;
  std::vector<int> coordinates_;
  std::byte *arena_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaStream_t commStream_ = nullptr;
  int multiprocessors_ = 1;
  std::unique_ptr<RankImpl> impl_;
};

} // namespace meshrt

#endif // MESHRT_CUDA_RANK_H
