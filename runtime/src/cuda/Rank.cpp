//===- Rank.cpp - Arena, streams, handles and communicators of a rank -----===//
#include "RankImpl.h"

using namespace meshrt;

Rank::Rank(const Program &program, int id, ncclComm_t world, bool allowTf32)
    : id_(id), mesh_(program.mesh), coordinates_(program.mesh.size()),
      impl_(std::make_unique<RankImpl>()) {
  // The last mesh axis varies fastest over rank ids.
  for (int axis = static_cast<int>(mesh_.size()) - 1, rest = id; axis >= 0;
       --axis) {
    coordinates_[axis] = rest % mesh_[axis].size;
    rest /= mesh_[axis].size;
  }
  int device;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors_,
                                    cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaMalloc(&arena_, program.arenaBytes));
  // Padding of parameters must be zero, and reproducible errors beat garbage.
  CUDA_CHECK(cudaMemset(arena_, 0, program.arenaBytes));
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  CUDA_CHECK(cudaStreamCreateWithFlags(&commStream_, cudaStreamNonBlocking));
  impl_->allowTf32 = allowTf32;
  impl_->world = world;
  CUDA_CHECK(cudaEventCreateWithFlags(&impl_->computeReached,
                                      cudaEventDisableTiming));
  CUDA_CHECK(cudaMalloc(&impl_->reduction, Reduction::kBytes));
  CUDA_CHECK(cudaMemset(impl_->reduction, 0, Reduction::kBytes));
  CUBLAS_CHECK(cublasLtCreate(&impl_->blas));
  CUDA_CHECK(cudaMalloc(&impl_->blasWorkspace, RankImpl::kBlasWorkspace));
  // The streams do not wait for the default stream, where the memsets ran.
  CUDA_CHECK(cudaDeviceSynchronize());
}

Rank::~Rank() {
  // Errors are of no use any more: the process is about to leave.
  cudaDeviceSynchronize();
  for (auto &[axes, communicator] : impl_->communicators)
    if (communicator != impl_->world)
      ncclCommDestroy(communicator);
  if (impl_->world)
    ncclCommDestroy(impl_->world);
  for (cudaEvent_t event : impl_->events)
    cudaEventDestroy(event);
  cudaEventDestroy(impl_->computeReached);
  cublasLtDestroy(impl_->blas);
  cudaFree(impl_->reduction);
  cudaFree(impl_->blasWorkspace);
  cudaFree(impl_->computeScratch.data);
  cudaFree(impl_->commScratch.data);
  cudaFree(arena_);
  cudaStreamDestroy(commStream_);
  cudaStreamDestroy(stream_);
}

int Rank::shard(const Axes &axes) const {
  int index = 0;
  for (int axis : axes)
    index = index * mesh_[axis].size + coordinates_[axis];
  return index;
}

int Rank::groupSize(const Axes &axes) const {
  int size = 1;
  for (int axis : axes)
    size *= mesh_[axis].size;
  return size;
}

std::string Rank::axisNames(const Axes &axes) const {
  std::string names;
  for (int axis : axes)
    names += (names.empty() ? "" : ", ") + mesh_[axis].name;
  return names;
}

std::string Rank::describe() const {
  int ranks = 1;
  std::string position;
  for (size_t axis = 0; axis < mesh_.size(); ++axis) {
    ranks *= mesh_[axis].size;
    position += (axis ? ", " : "") + mesh_[axis].name + "=" +
                std::to_string(coordinates_[axis]);
  }
  return "rank " + std::to_string(id_) + " of " + std::to_string(ranks) +
         (position.empty() ? "" : " (" + position + ")");
}

void *Rank::scratch(cudaStream_t stream, size_t bytes) {
  ScratchBlock &block =
      stream == commStream_ ? impl_->commScratch : impl_->computeScratch;
  if (block.bytes < bytes) {
    CUDA_CHECK(cudaStreamSynchronize(stream)); // may still read the old block
    CUDA_CHECK(cudaFree(block.data));
    block = {};
    CUDA_CHECK(cudaMalloc(&block.data, bytes));
    block.bytes = bytes;
  }
  return block.data;
}

Reduction Rank::reduction() const {
  return {reinterpret_cast<int *>(impl_->reduction),
          reinterpret_cast<unsigned char *>(impl_->reduction + 64)};
}

ncclComm_t Rank::communicator(const Axes &axes) {
  std::vector<int> key(axes.begin(), axes.end());
  auto found = impl_->communicators.find(key);
  if (found != impl_->communicators.end())
    return found->second;

  // Color: the coordinates on the other axes. Key: the member number.
  int color = 0;
  for (size_t axis = 0; axis < mesh_.size(); ++axis) {
    bool inGroup = false;
    for (int a : axes)
      inGroup |= a == static_cast<int>(axis);
    if (!inGroup)
      color = color * mesh_[axis].size + coordinates_[axis];
  }
  ncclComm_t communicator;
  NCCL_CHECK(ncclCommSplit(impl_->world, color, shard(axes), &communicator,
                           /*config=*/nullptr));
  impl_->communicators.emplace(std::move(key), communicator);
  return communicator;
}

cudaEvent_t RankImpl::nextEvent() {
  if (log.size() == events.size()) {
    cudaEvent_t event;
    CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    events.push_back(event);
  }
  return events[log.size()];
}

std::string RankImpl::unfinished() const {
  for (const LoggedCollective &entry : log) {
    if (cudaEventQuery(entry.done) != cudaErrorNotReady)
      continue;
    const CollectiveTraffic &call = traffic[entry.traffic];
    return call.collective + " of " + call.site.what + " over '" + call.axes +
           "' (" + call.site.where + ")";
  }
  return "";
}
