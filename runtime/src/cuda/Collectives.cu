//===- Collectives.cu - NCCL over the groups of named axes ----------------===//
#include "meshrt/cuda/collectives.h"

#include "RankImpl.h"
#include "meshrt/cuda/launch.h"
#include "meshrt/cuda/types.h"

using namespace meshrt;

namespace {

/// out (A, B, C) from in (B, A, C): moves a member's parts together (packing)
/// or between other members' (unpacking). One thread moves one V.
template <typename V>
__global__ void swap_outer_kernel(V *out, const V *in, int64_t A, int64_t B,
                                  int64_t C) {
  int64_t count = A * B * C;
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    int64_t c = i % C, b = i / C % B, a = i / (C * B);
    out[i] = in[(b * A + a) * C + c];
  }
}

template <typename V>
void swapOuterAs(Rank &rank, void *out, const void *in, int64_t A, int64_t B,
                 int64_t bytes) {
  int64_t C = bytes / static_cast<int64_t>(sizeof(V));
  launchOn(rank.commStream(), {blocksFor(A * B * C, 256), 256},
           swap_outer_kernel<V>, static_cast<V *>(out),
           static_cast<const V *>(in), A, B, C);
}

/// out (A, B, bytes) from in (B, A, bytes), by the widest words that fit.
void swapOuter(Rank &rank, void *out, const void *in, int64_t A, int64_t B,
               int64_t bytes) {
  uintptr_t bits = reinterpret_cast<uintptr_t>(out) |
                   reinterpret_cast<uintptr_t>(in) |
                   static_cast<uintptr_t>(bytes);
  if (bits % 16 == 0)
    swapOuterAs<uint4>(rank, out, in, A, B, bytes);
  else if (bits % 4 == 0)
    swapOuterAs<uint32_t>(rank, out, in, A, B, bytes);
  else if (bits % 2 == 0)
    swapOuterAs<uint16_t>(rank, out, in, A, B, bytes);
  else
    swapOuterAs<uint8_t>(rank, out, in, A, B, bytes);
}

size_t trafficEntry(Rank &rank, const char *name, const Axes &axes,
                    const Site &site) {
  // A call site is one Site literal and one operation.
  std::vector<CollectiveTraffic> &all = rank.impl().traffic;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].site.what == site.what && all[i].site.where == site.where &&
        all[i].collective == name)
      return i;
  all.push_back({name, site, rank.axisNames(axes), 0, 0});
  return all.size() - 1;
}

/// Runs `call` on the communication stream between the two streams' events.
/// `bytesSent`: by this rank, as a ring would send.
template <typename Call>
Pending enqueue(Rank &rank, const char *name, const Axes &axes,
                int64_t bytesSent, const Site &site, const Call &call) {
  RankImpl &impl = rank.impl();
  size_t entry = trafficEntry(rank, name, axes, site);
  impl.traffic[entry].calls += 1;
  impl.traffic[entry].bytesSent += bytesSent;
  try {
    CUDA_CHECK(cudaEventRecord(impl.computeReached, rank.stream()));
    CUDA_CHECK(cudaStreamWaitEvent(rank.commStream(), impl.computeReached));
    call(rank.communicator(axes), rank.commStream());
    cudaEvent_t done = impl.nextEvent();
    CUDA_CHECK(cudaEventRecord(done, rank.commStream()));
    impl.log.push_back({entry, done});
    return {done};
  } catch (const Error &error) {
    throw Error(rank.describe() + ": " + name + " of " + site.what +
                    " over '" + rank.axisNames(axes) + "' (" + site.where +
                    ") failed: " + error.what(),
                error.exitCode);
  }
}

template <typename T> constexpr ncclDataType_t nccl() {
  return cuda::ncclType(cuda::kElementType<T>);
}

/// Every member's part p of `from` to member p; parts arrive by sender.
template <typename T>
void exchangeParts(T *to, const T *from, int64_t part, int members,
              ncclComm_t communicator, cudaStream_t stream) {
  NCCL_CHECK(ncclGroupStart());
  for (int p = 0; p < members; ++p) {
    NCCL_CHECK(ncclSend(from + p * part, part, nccl<T>(), p, communicator, stream));
    NCCL_CHECK(ncclRecv(to + p * part, part, nccl<T>(), p, communicator, stream));
  }
  NCCL_CHECK(ncclGroupEnd());
}

} // namespace

void meshrt::wait(Rank &rank, Pending pending) {
  if (pending.done)
    CUDA_CHECK(cudaStreamWaitEvent(rank.stream(), pending.done));
}

template <typename T>
Pending meshrt::allReduceStart(Rank &rank, const Axes &axes, Reduce kind,
                               T *data, int64_t count, const Site &site) {
  int n = rank.groupSize(axes);
  if (n == 1)
    return {};
  int64_t bytes = count * sizeof(T);
  return enqueue(rank, "all-reduce", axes, 2 * (n - 1) * bytes / n, site,
                 [&](ncclComm_t communicator, cudaStream_t stream) {
                   NCCL_CHECK(ncclAllReduce(data, data, count, nccl<T>(),
                                            cuda::ncclReduction(kind),
                                            communicator, stream));
                 });
}

template <typename T>
Pending meshrt::allGatherStart(Rank &rank, const Axes &axes, T *result,
                               const T *part, int64_t outer, int64_t chunk,
                               const Site &site) {
  int n = rank.groupSize(axes);
  int64_t count = outer * chunk, bytes = count * sizeof(T);
  if (n == 1) {
    CUDA_CHECK(cudaMemcpyAsync(result, part, bytes, cudaMemcpyDeviceToDevice,
                               rank.stream()));
    return {};
  }
  return enqueue(
      rank, "all-gather", axes, (n - 1) * bytes, site,
      [&](ncclComm_t communicator, cudaStream_t stream) {
        if (outer == 1) {
          NCCL_CHECK(ncclAllGather(part, result, count, nccl<T>(), communicator,
                                   stream));
          return;
        }
        void *staging = rank.scratch(stream, n * bytes); // (n, outer, chunk)
        NCCL_CHECK(ncclAllGather(part, staging, count, nccl<T>(), communicator,
                                 stream));
        swapOuter(rank, result, staging, outer, n, chunk * sizeof(T));
      });
}

template <typename T>
Pending meshrt::reduceScatterStart(Rank &rank, const Axes &axes, T *part,
                                   const T *data, int64_t outer, int64_t chunk,
                                   const Site &site) {
  int n = rank.groupSize(axes);
  int64_t count = outer * chunk, bytes = count * sizeof(T);
  if (n == 1) {
    CUDA_CHECK(cudaMemcpyAsync(part, data, bytes, cudaMemcpyDeviceToDevice,
                               rank.stream()));
    return {};
  }
  return enqueue(
      rank, "reduce-scatter", axes, (n - 1) * bytes, site,
      [&](ncclComm_t communicator, cudaStream_t stream) {
        const void *source = data;
        if (outer != 1) {
          void *staging = rank.scratch(stream, n * bytes); // (n, outer, chunk)
          swapOuter(rank, staging, data, n, outer, chunk * sizeof(T));
          source = staging;
        }
        NCCL_CHECK(ncclReduceScatter(source, part, count, nccl<T>(), ncclSum,
                                     communicator, stream));
      });
}

template <typename T>
Pending meshrt::allToAllStart(Rank &rank, const Axes &axes, const AllToAll &s,
                              T *result, const T *data, const Site &site) {
  int n = rank.groupSize(axes);
  int64_t total = n * s.outer * s.split * s.mid * s.concat * s.inner;
  int64_t part = total / n;
  if (n == 1) {
    CUDA_CHECK(cudaMemcpyAsync(result, data, total * sizeof(T),
                               cudaMemcpyDeviceToDevice, rank.stream()));
    return {};
  }
  // What lies outside the member dim before and after the exchange.
  int64_t before = s.splitFirst ? s.outer : s.outer * s.concat * s.mid;
  int64_t after = s.splitFirst ? s.outer * s.split * s.mid : s.outer;
  return enqueue(
      rank, "all-to-all", axes, (n - 1) * part * int64_t(sizeof(T)), site,
      [&](ncclComm_t communicator, cudaStream_t stream) {
        auto *sent = static_cast<T *>(rank.scratch(stream, 2 * total * sizeof(T)));
        T *received = sent + total;
        const T *source = data;
        if (before != 1) {
          swapOuter(rank, sent, data, n, before, part / before * sizeof(T));
          source = sent;
        }
        T *target = after == 1 ? result : received;
        exchangeParts(target, source, part, n, communicator, stream);
        if (after != 1)
          swapOuter(rank, result, received, after, n, part / after * sizeof(T));
      });
}

template <typename T>
Pending meshrt::exchangeStart(Rank &rank, const Axes &axes,
                              std::initializer_list<int> sources, T *result,
                              const T *data, int64_t count, const Site &site) {
  int n = rank.groupSize(axes), me = rank.shard(axes);
  int source = sources.begin()[me];
  return enqueue(
      rank, "exchange", axes, count * int64_t(sizeof(T)), site,
      [&](ncclComm_t communicator, cudaStream_t stream) {
        NCCL_CHECK(ncclGroupStart());
        for (int member = 0; member < n; ++member)
          if (sources.begin()[member] == me)
            NCCL_CHECK(ncclSend(data, count, nccl<T>(), member, communicator,
                                stream));
        if (source >= 0)
          NCCL_CHECK(ncclRecv(result, count, nccl<T>(), source, communicator,
                              stream));
        NCCL_CHECK(ncclGroupEnd());
        if (source < 0)
          CUDA_CHECK(cudaMemsetAsync(result, 0, count * sizeof(T), stream));
      });
}

template <typename T>
Pending meshrt::broadcastStart(Rank &rank, const Axes &axes, int root, T *data,
                               int64_t count, const Site &site) {
  if (rank.groupSize(axes) == 1)
    return {};
  return enqueue(rank, "broadcast", axes, count * int64_t(sizeof(T)), site,
                 [&](ncclComm_t communicator, cudaStream_t stream) {
                   NCCL_CHECK(ncclBroadcast(data, data, count, nccl<T>(), root,
                                            communicator, stream));
                 });
}

#define INSTANTIATE(T)                                                         \
  template Pending meshrt::allReduceStart<T>(Rank &, const Axes &, Reduce,     \
                                             T *, int64_t, const Site &);      \
  template Pending meshrt::allGatherStart<T>(Rank &, const Axes &, T *,        \
                                             const T *, int64_t, int64_t,      \
                                             const Site &);                    \
  template Pending meshrt::reduceScatterStart<T>(                              \
      Rank &, const Axes &, T *, const T *, int64_t, int64_t, const Site &);   \
  template Pending meshrt::allToAllStart<T>(                                   \
      Rank &, const Axes &, const AllToAll &, T *, const T *, const Site &);   \
  template Pending meshrt::exchangeStart<T>(                                   \
      Rank &, const Axes &, std::initializer_list<int>, T *, const T *,        \
      int64_t, const Site &);                                                  \
  template Pending meshrt::broadcastStart<T>(Rank &, const Axes &, int, T *,   \
                                             int64_t, const Site &);
INSTANTIATE(float)
INSTANTIATE(bf16)
INSTANTIATE(double)
INSTANTIATE(int32_t)
INSTANTIATE(uint8_t)
