#include "Layout.h"
#include "Support.h"

#include <algorithm>
#include <map>
#include <set>

using namespace meshrt;

static int64_t ways(const std::vector<MeshAxis> &mesh, const Axes &axes) {
  int64_t product = 1;
  for (int axis : axes)
    product *= mesh[axis].size;
  return product;
}

static std::vector<int> coordinatesOf(const std::vector<MeshAxis> &mesh,
                                      int rank) {
  std::vector<int> coordinates(mesh.size());
  for (size_t i = mesh.size(); i-- > 0; rank /= mesh[i].size)
    coordinates[i] = rank % mesh[i].size;
  return coordinates;
}

std::vector<int64_t> meshrt::globalShape(const Tensor &tensor) {
  std::vector<int64_t> shape;
  for (const Dim &dim : tensor.dims)
    shape.push_back(dim.size);
  return shape;
}

int64_t meshrt::globalCount(const Tensor &tensor) {
  int64_t count = 1;
  for (const Dim &dim : tensor.dims)
    count *= dim.size;
  return count;
}

int64_t meshrt::localCount(const std::vector<MeshAxis> &mesh,
                           const Tensor &tensor) {
  int64_t count = 1;
  for (const Dim &dim : tensor.dims)
    count *= dim.padded / ways(mesh, dim.axes);
  return count;
}

static void verifyTensor(const Program &program, const std::string &name,
                         const Tensor &tensor) {
  auto bad = [&](const std::string &why) {
    throw Error(fmt::format("program '{}': layout of '{}': {}", program.name,
                            name, why),
                Error::kInternal);
  };
  for (const Dim &dim : tensor.dims) {
    for (int axis : dim.axes)
      if (axis < 0 || axis >= static_cast<int>(program.mesh.size()))
        bad(fmt::format("'{}' is split over mesh axis {} of {}", dim.name, axis,
                        program.mesh.size()));
    if (dim.size < 1 || dim.padded < dim.size ||
        dim.padded % ways(program.mesh, dim.axes) != 0)
      bad(fmt::format("'{}' of size {} padded to {} over {} parts", dim.name,
                      dim.size, dim.padded, ways(program.mesh, dim.axes)));
  }
  // Sorted by stride, each dim must start where the one before it ends.
  std::vector<Dim> dims = tensor.dims;
  std::sort(dims.begin(), dims.end(), [](const Dim &a, const Dim &b) {
    return a.stride < b.stride;
  });
  int64_t expected = 1;
  for (const Dim &dim : dims) {
    int64_t local = dim.padded / ways(program.mesh, dim.axes);
    if (local > 1 && dim.stride != expected)
      bad(fmt::format("'{}' has stride {}, expected {}", dim.name, dim.stride,
                      expected));
    expected *= local;
  }
  int64_t bytes = localCount(program.mesh, tensor) * elementBytes(tensor.type);
  if (tensor.offset < 0 || tensor.offset + bytes > program.arenaBytes)
    bad(fmt::format("bytes [{}, {}) of an arena of {}", tensor.offset,
                    tensor.offset + bytes, program.arenaBytes));
}

void meshrt::verifyLayout(const Program &program) {
  for (const Parameter &parameter : program.parameters)
    verifyTensor(program, parameter.path, parameter.value);
  for (const OptimizerState &state : program.states)
    verifyTensor(program, state.path + "/" + state.name, state.value);
  for (const Step *step :
       {&program.trainStep, &program.evalStep, &program.forward}) {
    for (const DataInput &input : step->data)
      verifyTensor(program, input.name, input.value);
    for (const Output &output : step->outputs)
      verifyTensor(program, output.name, output.value);
  }
}

int64_t meshrt::partIndex(const std::vector<MeshAxis> &mesh,
                          const Tensor &tensor, int rank) {
  std::vector<int> coordinates = coordinatesOf(mesh, rank);
  int64_t part = 0;
  for (const Dim &dim : tensor.dims)
    for (int axis : dim.axes)
      part = part * mesh[axis].size + coordinates[axis];
  return part;
}

void meshrt::forEachRun(const std::vector<MeshAxis> &mesh, const Tensor &tensor,
                        int rank, const std::function<void(const Run &)> &fn) {
  std::vector<int> coordinates = coordinatesOf(mesh, rank);
  struct Extent {
    int64_t count, globalStride, localStride;
  };
  std::vector<Extent> extents(tensor.dims.size());
  int64_t globalBase = 0, globalStride = 1;
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    const Dim &dim = tensor.dims[i];
    int64_t shard = 0;
    for (int axis : dim.axes)
      shard = shard * mesh[axis].size + coordinates[axis];
    int64_t local = dim.padded / ways(mesh, dim.axes);
    int64_t first = shard * local;
    int64_t count = std::min(local, dim.size - first);
    if (count <= 0)
      return; // nothing but padding
    globalBase += first * globalStride;
    extents[i] = {count, globalStride, dim.stride};
    globalStride *= dim.size;
  }

  // Dims that continue each other on both sides become one, so that runs are
  // as long as they can be.
  std::vector<Extent> merged;
  for (const Extent &extent : extents) {
    if (!merged.empty() &&
        merged.back().globalStride == extent.count * extent.globalStride &&
        merged.back().localStride == extent.count * extent.localStride)
      merged.back() = {merged.back().count * extent.count, extent.globalStride,
                       extent.localStride};
    else
      merged.push_back(extent);
  }
  if (merged.empty())
    merged.push_back({1, 1, 1});

  std::vector<int64_t> index(merged.size(), 0);
  for (;;) {
    Run run{globalBase, 0, merged.back().localStride, merged.back().count};
    for (size_t i = 0; i + 1 < merged.size(); ++i) {
      run.global += index[i] * merged[i].globalStride;
      run.local += index[i] * merged[i].localStride;
    }
    fn(run);
    size_t i = merged.size() - 1;
    while (i > 0 && ++index[i - 1] == merged[i - 1].count)
      index[--i] = 0;
    if (i == 0)
      return;
  }
}

void meshrt::fillTensor(
    Device &device, const std::vector<MeshAxis> &mesh, const Tensor &tensor,
    const std::function<void(std::byte *, const Run &)> &fill) {
  int ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  std::map<int64_t, std::vector<int>> ranksByPart;
  for (int rank = 0; rank < ranks; ++rank)
    if (device.owns(rank))
      ranksByPart[partIndex(mesh, tensor, rank)].push_back(rank);

  int64_t bytes = localCount(mesh, tensor) * elementBytes(tensor.type);
  std::vector<std::byte> local(bytes);
  for (const auto &[part, holders] : ranksByPart) {
    std::fill(local.begin(), local.end(), std::byte(0));
    forEachRun(mesh, tensor, holders.front(),
               [&](const Run &run) { fill(local.data(), run); });
    for (int rank : holders)
      device.copyIn(rank, tensor.offset, local.data(), bytes);
  }
}

/// Copies a run between a global and a local array of elements of `size` bytes.
template <bool toLocal>
static void copyRun(std::byte *global, std::byte *local, const Run &run,
                    int64_t size) {
  auto copy = [&](int64_t g, int64_t l, int64_t count) {
    if (toLocal)
      std::memcpy(local + l * size, global + g * size, count * size);
    else
      std::memcpy(global + g * size, local + l * size, count * size);
  };
  if (run.stride == 1)
    return copy(run.global, run.local, run.count);
  for (int64_t i = 0; i < run.count; ++i)
    copy(run.global + i, run.local + i * run.stride, 1);
}

void meshrt::scatterTensor(Device &device, const std::vector<MeshAxis> &mesh,
                           const Tensor &tensor, const void *global) {
  auto *bytes = static_cast<std::byte *>(const_cast<void *>(global));
  fillTensor(device, mesh, tensor, [&](std::byte *local, const Run &run) {
    copyRun<true>(bytes, local, run, elementBytes(tensor.type));
  });
}

void meshrt::gatherTensor(Device &device, const std::vector<MeshAxis> &mesh,
                          const Tensor &tensor, void *global) {
  gatherSlice(device, mesh, tensor,
              std::vector<int64_t>(tensor.dims.size(), -1), global);
}

/// The part of a slice that `rank` holds, as a tensor of the remaining dims.
/// False if it holds none.
static bool sliceOfRank(const std::vector<MeshAxis> &mesh, const Tensor &tensor,
                        const std::vector<int64_t> &at, int rank,
                        Tensor &slice) {
  std::vector<int> coordinates = coordinatesOf(mesh, rank);
  slice = {tensor.type, tensor.offset, {}};
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const Dim &dim = tensor.dims[i];
    if (at[i] < 0) {
      slice.dims.push_back(dim);
      continue;
    }
    int64_t shard = 0, local = dim.padded / ways(mesh, dim.axes);
    for (int axis : dim.axes)
      shard = shard * mesh[axis].size + coordinates[axis];
    int64_t index = at[i] - shard * local;
    if (index < 0 || index >= local)
      return false;
    slice.offset += index * dim.stride * elementBytes(tensor.type);
  }
  return true;
}

void meshrt::gatherSlice(Device &device, const std::vector<MeshAxis> &mesh,
                         const Tensor &tensor, const std::vector<int64_t> &at,
                         void *global) {
  int ranks = 1;
  for (const MeshAxis &axis : mesh)
    ranks *= axis.size;
  int64_t size = elementBytes(tensor.type);
  std::set<int64_t> seen;
  std::vector<std::byte> local;
  for (int rank = 0; rank < ranks; ++rank) {
    Tensor slice;
    if (!seen.insert(partIndex(mesh, tensor, rank)).second ||
        !sliceOfRank(mesh, tensor, at, rank, slice))
      continue;
    int64_t span = 1;
    for (const Dim &dim : slice.dims)
      span += (dim.padded / ways(mesh, dim.axes) - 1) * dim.stride;
    local.resize(span * size);
    device.copyOut(rank, slice.offset, local.data(), span * size);
    if (!device.isRoot())
      continue;
    forEachRun(mesh, slice, rank, [&](const Run &run) {
      copyRun<false>(static_cast<std::byte *>(global), local.data(), run, size);
    });
  }
}
