//===- CpuDevice.cpp - All ranks as threads of this process ---------------===//
#include "Futex.h"
#include "ThreadPool.h"
#include "World.h"

#include <algorithm>
#include <fmt/format.h>
#include <sched.h>
#include <thread>

using namespace meshrt;

namespace {

/// Cores this process may use, not those the machine has.
int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

class CpuDevice : public Device {
public:
  CpuDevice(const Program &program, const DeviceOptions &options, int threads)
      : threads_(threads),
        world_(program.mesh,
               availableCores() >= program.rankCount() * threads,
               options.collectiveTimeout) {
    for (int id = 0; id < world_.size(); ++id)
      ranks_.push_back(
          std::make_unique<Rank>(world_, id, program.arenaBytes, threads));
    for (auto &rank : ranks_)
      rankThreads_.emplace_back([this, &rank] { rankMain(*rank); });
  }

  ~CpuDevice() override {
    step_ = nullptr;
    ++generation_;
    wakeAll(generation_);
    for (std::thread &thread : rankThreads_)
      thread.join();
  }

  std::string describe() const override {
    std::string mesh;
    for (const MeshAxis &axis : world_.mesh())
      mesh += fmt::format("{}{}={}", mesh.empty() ? " (" : ", ", axis.name,
                          axis.size);
    return fmt::format("{} CPU rank{}{}, {} thread{} each", world_.size(),
                       world_.size() == 1 ? "" : "s",
                       mesh.empty() ? "" : mesh + ")", threads_,
                       threads_ == 1 ? "" : "s");
  }

  bool owns(int) const override { return true; }
  bool isRoot() const override { return true; }

  void copyIn(int rank, int64_t offset, const void *host,
              int64_t bytes) override {
    std::memcpy(ranks_[rank]->at<char>(offset), host, bytes);
  }
  void copyOut(int rank, int64_t offset, void *host, int64_t bytes) override {
    std::memcpy(host, ranks_[rank]->at<char>(offset), bytes);
  }

  void run(void (*step)(Rank &)) override {
    for (int id = 0; id < world_.size(); ++id)
      world_.enterStep(id);
    step_ = step;
    running_ = static_cast<uint32_t>(world_.size());
    generation_.fetch_add(1, std::memory_order_release);
    wakeAll(generation_);
    // The main thread has no core of its own: it sleeps.
    for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;)
      waitChange(running_, left, false);
    if (world_.failed())
      world_.throwFailure();
  }

  int64_t agree(int64_t rootValue) override { return rootValue; }

  std::vector<CollectiveTraffic> traffic() const override {
    return ranks_[0]->impl().traffic;
  }

private:
  void rankMain(Rank &rank) {
    flushDenormals();
    for (uint32_t seen = 0;;) {
      while (!waitChange(generation_, seen, false)) {
      }
      seen = generation_.load(std::memory_order_acquire);
      if (!step_)
        return;
      runStep(rank);
      world_.leaveStep(rank.id());
      if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        wakeAll(running_);
    }
  }

  void runStep(Rank &rank) {
    try {
      step_(rank);
    } catch (const Stopped &) {
      // Another rank has already said why.
    } catch (const Error &error) {
      world_.fail(error.what(), error.exitCode);
    } catch (const std::exception &error) {
      world_.fail(fmt::format("{}: {}", world_.describeRank(rank.id()),
                              error.what()),
                  Error::kInternal);
    }
  }

  int threads_;
  World world_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::thread> rankThreads_;
  void (*step_)(Rank &) = nullptr;
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> running_{0};
};

} // namespace

std::unique_ptr<Device> meshrt::createDevice(const Program &program,
                                             const DeviceOptions &options) {
  int threads = options.threadsPerRank;
  if (threads <= 0)
    threads = std::max(1, availableCores() / program.rankCount());
  return std::make_unique<CpuDevice>(program, options, threads);
}
