//===- CudaDevice.cpp - One process per GPU -------------------------------===//
#include "Control.h"
#include "Launcher.h"
#include "RankImpl.h"
#include "meshrt/cuda/collectives.h"
#include "meshrt/cuda/types.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshrt;
using namespace meshrt::cuda;

namespace {

/// Root's side of copyOut receives at most this many bytes at once.
constexpr int64_t kCopyChunk = 64 << 20;
/// A process that left is a failure only if our own GPU does not finish soon:
/// at the very end, ranks leave one after the other.
constexpr double kGraceSeconds = 10;

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

class CudaDevice : public Device {
public:
  CudaDevice(const Program &program, const DeviceOptions &options,
             Launch launch)
      : launch_(std::move(launch)), timeout_(options.collectiveTimeout),
        control_(launch_, std::getenv, std::min(timeout_, 300.0)) {
    CUDA_CHECK(cudaSetDevice(launch_.localRank));
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, launch_.localRank));
    name_ = properties.name;

    ncclUniqueId id = {};
    if (launch_.rank == 0)
      NCCL_CHECK(ncclGetUniqueId(&id));
    control_.broadcast(&id, sizeof(id));
    ncclComm_t world;
    NCCL_CHECK(ncclCommInitRank(&world, launch_.size, id, launch_.rank));
    rank_ = std::make_unique<Rank>(program, launch_.rank, world,
                                   options.allowTf32);
    for (size_t axis = 0; axis < program.mesh.size(); ++axis)
      mesh_ += (axis ? ", " : "") + program.mesh[axis].name + "=" +
               std::to_string(program.mesh[axis].size);
  }

  ~CudaDevice() override {
    rank_.reset();
    for (int child : launch_.children) {
      if (failed_) // it may be waiting for us
        kill(child, SIGTERM);
      waitpid(child, nullptr, 0);
    }
  }

  std::string describe() const override {
    return std::to_string(launch_.size) + " CUDA rank" +
           (launch_.size == 1 ? "" : "s") +
           (mesh_.empty() ? "" : " (" + mesh_ + ")") + " on " + name_ + ", " +
           kindName(launch_.kind);
  }

  bool owns(int rank) const override { return rank == launch_.rank; }
  bool isRoot() const override { return launch_.rank == 0; }

  void copyIn(int rank, int64_t offset, const void *host,
              int64_t bytes) override {
    if (owns(rank)) {
      CUDA_CHECK(cudaMemcpyAsync(rank_->at<char>(offset), host, bytes,
                                 cudaMemcpyHostToDevice, rank_->stream()));
      CUDA_CHECK(cudaStreamSynchronize(rank_->stream()));
    }
  }

  void copyOut(int rank, int64_t offset, void *host, int64_t bytes) override {
    if (rank == 0) {
      if (isRoot())
        fromDevice(host, rank_->at<char>(offset), bytes, rank_->stream());
      return;
    }
    if (!isRoot() && !owns(rank))
      return;
    cudaStream_t stream = rank_->commStream();
    for (int64_t done = 0; done < bytes; done += kCopyChunk) {
      int64_t part = std::min(kCopyChunk, bytes - done);
      if (owns(rank)) {
        NCCL_CHECK(ncclSend(rank_->at<char>(offset + done), part, ncclInt8, 0,
                            rank_->impl().world, stream));
        finish(stream);
      } else {
        void *staging = rank_->scratch(stream, part);
        NCCL_CHECK(ncclRecv(staging, part, ncclInt8, rank, rank_->impl().world,
                            stream));
        fromDevice(static_cast<char *>(host) + done, staging, part, stream);
      }
    }
  }

  void run(void (*step)(Rank &)) override {
    rank_->impl().beginStep();
    try {
      step(*rank_);
      finish(rank_->stream());
    } catch (const Error &error) {
      failed_ = true;
      control_.reportFailure(error.what());
      throw;
    }
  }

  int64_t agree(int64_t rootValue) override {
    if (launch_.size == 1)
      return rootValue;
    cudaStream_t stream = rank_->commStream();
    auto *value = static_cast<int64_t *>(rank_->scratch(stream, sizeof(int64_t)));
    CUDA_CHECK(cudaMemcpyAsync(value, &rootValue, sizeof(rootValue),
                               cudaMemcpyHostToDevice, stream));
    NCCL_CHECK(ncclBroadcast(value, value, 1, ncclInt64, 0, rank_->impl().world,
                             stream));
    fromDevice(&rootValue, value, sizeof(rootValue), stream);
    return rootValue;
  }

  std::vector<CollectiveTraffic> traffic() const override {
    return rank_->impl().traffic;
  }

private:
  void fromDevice(void *host, const void *device, int64_t bytes,
                  cudaStream_t stream) {
    finish(stream); // with a watch on the other ranks, unlike the copy
    CUDA_CHECK(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost,
                               stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  /// Waits for the stream, watching the other processes and the clock.
  void finish(cudaStream_t stream) {
    double start = now(), left = 0;
    std::string loss;
    for (int polls = 0;; ++polls) {
      cudaError_t status = cudaStreamQuery(stream);
      if (status == cudaSuccess)
        return;
      if (status != cudaErrorNotReady)
        CUDA_CHECK(status);
      if (polls < 1000) // short waits spin
        continue;
      usleep(50);
      if (polls % 20 == 0 && launch_.size > 1) {
        if (loss.empty() && !(loss = control_.failure()).empty())
          left = now();
        ncclResult_t async = ncclSuccess;
        ncclCommGetAsyncError(rank_->impl().world, &async);
        if (async != ncclSuccess && async != ncclInProgress)
          abandon(ncclGetErrorString(async));
      }
      if (!loss.empty() && now() - left > (loss.starts_with("rank") &&
                                           loss.ends_with("others")
                                               ? kGraceSeconds
                                               : 0))
        abandon(loss);
      if (now() - start > timeout_)
        abandon("not finished after " +
                std::to_string(static_cast<int>(timeout_)) + " s");
    }
  }

  /// Says which collective waits, frees the GPU from it and throws.
  [[noreturn]] void abandon(const std::string &why) {
    std::string collective = rank_->impl().unfinished();
    for (auto &[axes, communicator] : rank_->impl().communicators)
      ncclCommAbort(communicator);
    ncclCommAbort(rank_->impl().world);
    rank_->impl().communicators.clear();
    rank_->impl().world = nullptr;
    throw Error(rank_->describe() + ": " +
                    (collective.empty() ? "step" : collective) + ": " + why,
                Error::kInternal);
  }

  Launch launch_;
  double timeout_;
  bool failed_ = false;
  Control control_;
  std::string name_, mesh_;
  std::unique_ptr<Rank> rank_;
};

std::string ranksAndMesh(const Program &program) {
  std::string mesh;
  for (const MeshAxis &axis : program.mesh)
    mesh += (mesh.empty() ? "" : ", ") + axis.name + "=" +
            std::to_string(axis.size);
  return std::to_string(program.rankCount()) + " ranks (" + mesh + ")";
}

} // namespace

std::unique_ptr<Device> meshrt::createDevice(const Program &program,
                                             const DeviceOptions &options) {
  Launch launch = readLaunch(std::getenv);
  std::string why;
  int devices = countDevices(why);
  if (devices == 0)
    throw Error("no CUDA device: " + why, Error::kNoDevice);
  int ranks = program.rankCount();
  if (launch.kind == Launch::Alone) {
    if (devices < ranks)
      throw Error("the program was compiled for " + ranksAndMesh(program) +
                      " but " + std::to_string(devices) +
                      " CUDA devices are visible; start it with torchrun, "
                      "mpirun or srun on more hosts, or compile it for a "
                      "smaller mesh (meshc --mesh)",
                  Error::kNoDevice);
    if (ranks > 1)
      launch = forkRanks(ranks);
  } else if (launch.size != ranks) {
    throw Error("the program was compiled for " + ranksAndMesh(program) +
                " but " + std::to_string(launch.size) + " processes were " +
                kindName(launch.kind) + "; the two must be equal");
  }
  // One visible device: the launcher has already chosen it for this process.
  if (devices == 1 && launch.kind != Launch::Alone &&
      launch.kind != Launch::Forked)
    launch.localRank = 0;
  if (launch.localRank >= devices)
    throw Error("local rank " + std::to_string(launch.localRank) +
                    " has no GPU of its own: " + std::to_string(devices) +
                    " visible",
                Error::kNoDevice);
  return std::make_unique<CudaDevice>(program, options, std::move(launch));
}
