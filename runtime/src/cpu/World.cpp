#include "World.h"
#include "Futex.h"

#include <chrono>
#include <fmt/format.h>

using namespace meshrt;

std::vector<int> meshrt::meshCoordinates(const std::vector<MeshAxis> &mesh,
                                         int rank) {
  std::vector<int> coordinates(mesh.size());
  for (size_t i = mesh.size(); i-- > 0; rank /= mesh[i].size)
    coordinates[i] = rank % mesh[i].size;
  return coordinates;
}

static int meshSize(const std::vector<MeshAxis> &mesh) {
  int size = 1;
  for (const MeshAxis &axis : mesh)
    size *= axis.size;
  return size;
}

World::World(std::vector<MeshAxis> mesh, bool spin, double timeoutSeconds)
    : mesh_(std::move(mesh)), size_(meshSize(mesh_)), spin_(spin),
      timeout_(timeoutSeconds), inStep_(size_) {
  for (auto &flag : inStep_)
    flag = true; // outside Device::run, tests call collectives directly
}

std::string World::describeRank(int rank) const {
  std::string text = fmt::format("rank {} of {}", rank, size_);
  std::vector<int> coordinates = meshCoordinates(mesh_, rank);
  for (size_t i = 0; i < mesh_.size(); ++i)
    text += fmt::format("{}{}={}", i ? ", " : " (", mesh_[i].name,
                        coordinates[i]);
  return mesh_.empty() ? text : text + ")";
}

std::string World::describeAxes(const Axes &axes) const {
  std::string text;
  for (int axis : axes)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", mesh_[axis].name);
  return text;
}

Group &World::group(int rank, const Axes &axes) {
  std::vector<int> base = meshCoordinates(mesh_, rank);
  int size = 1;
  for (int axis : axes) {
    base[axis] = 0;
    size *= mesh_[axis].size;
  }
  std::vector<int> key = base;
  key.insert(key.end(), axes.begin(), axes.end());

  std::lock_guard lock(mutex_);
  std::unique_ptr<Group> &group = groups_[key];
  if (group)
    return *group;
  group = std::make_unique<Group>(size);
  for (int member = 0; member < size; ++member) {
    std::vector<int> coordinates = base;
    int rest = member;
    for (int i = axes.count; i-- > 0; rest /= mesh_[axes.axis[i]].size)
      coordinates[axes.axis[i]] = rest % mesh_[axes.axis[i]].size;
    int id = 0;
    for (size_t i = 0; i < mesh_.size(); ++i)
      id = id * mesh_[i].size + coordinates[i];
    group->ranks.push_back(id);
  }
  return *group;
}

void World::barrier(Group &group, int member, const char *collective,
                    const Axes &axes, const Site &site) {
  uint32_t generation = group.generation.load(std::memory_order_acquire);
  group.entered[member].store(generation + 1, std::memory_order_relaxed);
  uint32_t size = static_cast<uint32_t>(group.ranks.size());
  if (group.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
    group.arrived.store(0, std::memory_order_relaxed);
    group.generation.fetch_add(1, std::memory_order_release);
    wakeAll(group.generation);
    return;
  }

  auto start = std::chrono::steady_clock::now();
  while (!waitChange(group.generation, generation, spin_)) {
    if (failed())
      throw Stopped{};
    std::chrono::duration<double> waited =
        std::chrono::steady_clock::now() - start;
    for (size_t other = 0; other < size; ++other) {
      if (group.entered[other].load() == generation + 1)
        continue;
      int id = group.ranks[other];
      bool gone = !inStep_[id].load();
      if (!gone && waited.count() < timeout_)
        continue;
      // The member may have come while we looked.
      if (group.generation.load(std::memory_order_acquire) != generation)
        return;
      throw Error(
          fmt::format("{}: {} of {} over {} at {}: {} {}",
                      describeRank(group.ranks[member]), collective, site.what,
                      describeAxes(axes), site.where, describeRank(id),
                      gone ? "has finished the step without it"
                           : fmt::format("did not come within {} s", timeout_)),
          Error::kInternal);
    }
  }
}

void World::fail(const std::string &message, int exitCode) {
  std::lock_guard lock(mutex_);
  if (failed_)
    return;
  message_ = message;
  exitCode_ = exitCode;
  failed_ = true;
}

void World::throwFailure() const { throw Error(message_, exitCode_); }
