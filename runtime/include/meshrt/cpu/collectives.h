//===- collectives.h - Collectives over named mesh axes, CPU --------------===//
//
// Every rank of a group calls the same collective with the same shapes, in the
// same order. A group is all ranks that differ only in their coordinates on
// `axes`; its members are numbered with the first axis most significant.
//
// Sums are formed in member order 0, 1, ..., by one member per element, and
// copied to the others: the same bits on all members, on every run. bf16 sums
// are accumulated in f32 and rounded once.
//
// All buffers lie in the ranks' arenas and must not overlap. If a rank fails or
// leaves the step while others wait, all stop with an Error that names it.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_CPU_COLLECTIVES_H
#define MESHRT_CPU_COLLECTIVES_H

#include "meshrt/cpu/rank.h"
#include "meshrt/shapes.h"

#include <initializer_list>

namespace meshrt {

/// data[i] = reduction over members of their data[i], in place.
/// T: float, bf16, double, int32_t.
template <typename T>
void allReduce(Rank &rank, const Axes &axes, Reduce kind, T *data,
               int64_t count, const Site &site);

/// Concatenates the members' parts along one dim. `chunk` is the contiguous
/// extent of the dim's local part and everything inside it, `outer` what lies
/// outside: result[outer][member][chunk] = part of member [outer][chunk].
template <typename T>
void allGather(Rank &rank, const Axes &axes, T *result, const T *part,
               int64_t outer, int64_t chunk, const Site &site);

/// The inverse of allGather on sums: part[outer][chunk] = sum over members m of
/// their data[outer][my index][chunk].
template <typename T>
void reduceScatter(Rank &rank, const Axes &axes, T *part, const T *data,
                   int64_t outer, int64_t chunk, const Site &site);

/// Moves a split from one dim to another; see AllToAll.
template <typename T>
void allToAll(Rank &rank, const Axes &axes, const AllToAll &shape, T *result,
              const T *data, const Site &site);

/// result = data of member sources[i] on member i, zeros where that is -1.
template <typename T>
void exchange(Rank &rank, const Axes &axes, std::initializer_list<int> sources,
              T *result, const T *data, int64_t count, const Site &site);

/// data of member `root` to all members, in place.
template <typename T>
void broadcast(Rank &rank, const Axes &axes, int root, T *data, int64_t count,
               const Site &site);

} // namespace meshrt

#endif // MESHRT_CPU_COLLECTIVES_H
