//===- Layout.h - Global tensors and their parts in the arenas ------------===//
//
// The only place that knows how a `Tensor` is cut over ranks. Initial values,
// checkpoints, data and results all go through `forEachRun`.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_COMMON_LAYOUT_H
#define MESHRT_SRC_COMMON_LAYOUT_H

#include "meshrt/device.h"

#include <functional>
#include <vector>

namespace meshrt {

/// Unpadded global sizes in file order, and their product.
std::vector<int64_t> globalShape(const Tensor &tensor);
int64_t globalCount(const Tensor &tensor);

/// Elements of a rank's part, padding included; equal on all ranks.
int64_t localCount(const std::vector<MeshAxis> &mesh, const Tensor &tensor);

/// Throws Error(kInternal) unless every tensor of the program is cut evenly,
/// fills its local block without gaps and lies inside the arena.
void verifyLayout(const Program &program);

/// Which part of `tensor` a rank holds; ranks with equal numbers hold equal
/// parts. In [0, number of parts).
int64_t partIndex(const std::vector<MeshAxis> &mesh, const Tensor &tensor,
                  int rank);

/// `count` elements: global linear indices global, global + 1, ... lie at local
/// indices local, local + stride, ...
struct Run {
  int64_t global, local, stride, count;
};

/// Calls fn for runs that cover the unpadded elements of a rank's part once, in
/// increasing global order.
void forEachRun(const std::vector<MeshAxis> &mesh, const Tensor &tensor,
                int rank, const std::function<void(const Run &)> &fn);

/// Fills a tensor in all arenas this process owns. `fill` writes the elements
/// of one run to `local + run.local` etc.; padding is zero. Each distinct part
/// is computed once.
void fillTensor(Device &device, const std::vector<MeshAxis> &mesh,
                const Tensor &tensor,
                const std::function<void(std::byte *local, const Run &)> &fill);

/// Copies global elements, row-major in file order, into the arenas.
void scatterTensor(Device &device, const std::vector<MeshAxis> &mesh,
                   const Tensor &tensor, const void *global);

/// Collects the global elements on the root process. Every process calls it.
void gatherTensor(Device &device, const std::vector<MeshAxis> &mesh,
                  const Tensor &tensor, void *global);

/// The same for the elements whose index along dim i is at[i], or any if at[i]
/// is -1; moves no more than what lies between the first and the last of them.
void gatherSlice(Device &device, const std::vector<MeshAxis> &mesh,
                 const Tensor &tensor, const std::vector<int64_t> &at,
                 void *global);

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_LAYOUT_H
