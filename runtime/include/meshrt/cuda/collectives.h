//===- collectives.h - Collectives over named mesh axes, CUDA -------------===//
//
// Every rank of a group calls the same collective with the same shapes, in the
// same order. A group is all ranks that differ only in their coordinates on
// `axes`; its members are numbered with the first axis most significant.
//
// A collective starts on the communication stream when the compute stream has
// reached the call. The plain form makes the compute stream wait for it; the
// `start` form returns a token, and `wait` does so later, so that kernels in
// between overlap:
//
//   Pending grads = allReduceStart(rank, {0}, Reduce::Sum, dw, n, site);
//   ... kernels that do not touch dw ...
//   wait(rank, grads);
//
// NCCL sums in an order of its own, the same from run to run on one machine.
// A part that is not contiguous is packed into scratch memory. A group of one
// costs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CUDA_COLLECTIVES_H
#define MESHRT_CUDA_COLLECTIVES_H

#include "meshrt/cuda/rank.h"
#include "meshrt/shapes.h"

#include <initializer_list>

namespace meshrt {

/// A collective under way. Valid until the end of the step.
struct Pending {
  cudaEvent_t done = nullptr; ///< null: nothing to wait for
};

/// Kernels enqueued from here on see the collective's result.
void wait(Rank &rank, Pending pending);

/// data[i] = reduction over members of their data[i], in place.
/// T here and below: float, bf16, double, int32_t, uint8_t.
template <typename T>
Pending allReduceStart(Rank &rank, const Axes &axes, Reduce kind, T *data,
                       int64_t count, const Site &site);

/// Concatenates the members' parts along one dim. `chunk` is the contiguous
/// extent of the dim's local part and everything inside it, `outer` what lies
/// outside: result[outer][member][chunk] = part of member [outer][chunk].
template <typename T>
Pending allGatherStart(Rank &rank, const Axes &axes, T *result, const T *part,
                       int64_t outer, int64_t chunk, const Site &site);

/// The inverse of allGather on sums: part[outer][chunk] = sum over members m of
/// their data[outer][my index][chunk].
template <typename T>
Pending reduceScatterStart(Rank &rank, const Axes &axes, T *part, const T *data,
                           int64_t outer, int64_t chunk, const Site &site);

/// Moves a split from one dim to another; see AllToAll.
template <typename T>
Pending allToAllStart(Rank &rank, const Axes &axes, const AllToAll &shape,
                      T *result, const T *data, const Site &site);

/// result = data of member sources[i] on member i, zeros where that is -1.
template <typename T>
Pending exchangeStart(Rank &rank, const Axes &axes,
                      std::initializer_list<int> sources, T *result,
                      const T *data, int64_t count, const Site &site);

/// data of member `root` to all members, in place.
template <typename T>
Pending broadcastStart(Rank &rank, const Axes &axes, int root, T *data,
                       int64_t count, const Site &site);

template <typename T>
void allReduce(Rank &rank, const Axes &axes, Reduce kind, T *data,
               int64_t count, const Site &site) {
  wait(rank, allReduceStart(rank, axes, kind, data, count, site));
}
template <typename T>
void allGather(Rank &rank, const Axes &axes, T *result, const T *part,
               int64_t outer, int64_t chunk, const Site &site) {
  wait(rank, allGatherStart(rank, axes, result, part, outer, chunk, site));
}
template <typename T>
void reduceScatter(Rank &rank, const Axes &axes, T *part, const T *data,
                   int64_t outer, int64_t chunk, const Site &site) {
  wait(rank, reduceScatterStart(rank, axes, part, data, outer, chunk, site));
}
template <typename T>
void allToAll(Rank &rank, const Axes &axes, const AllToAll &shape, T *result,
              const T *data, const Site &site) {
  wait(rank, allToAllStart(rank, axes, shape, result, data, site));
}
template <typename T>
void exchange(Rank &rank, const Axes &axes, std::initializer_list<int> sources,
              T *result, const T *data, int64_t count, const Site &site) {
  wait(rank, exchangeStart(rank, axes, sources, result, data, count, site));
}
template <typename T>
void broadcast(Rank &rank, const Axes &axes, int root, T *data, int64_t count,
               const Site &site) {
  wait(rank, broadcastStart(rank, axes, root, data, count, site));
}

} // namespace meshrt

#endif // MESHRT_CUDA_COLLECTIVES_H
