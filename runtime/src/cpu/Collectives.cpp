#include "meshrt/cpu/collectives.h"
#include "World.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>

using namespace meshrt;

namespace {

/// What a member contributes, for counting the bytes a ring would send.
enum class Volume { WholeTwice, Whole, Part, Once };

int64_t ringBytes(Volume volume, int64_t bytes, int n) {
  switch (volume) {
  case Volume::WholeTwice: return 2 * bytes * (n - 1) / n;
  case Volume::Whole: return bytes * (n - 1) / n;
  case Volume::Part: return bytes * (n - 1);
  case Volume::Once: return bytes;
  }
  return 0;
}

/// One rank's visit to one collective. The constructor counts the bytes, tells
/// the others this rank's buffers and waits for theirs; `leave` waits until all
/// have done their part, after which buffers may be reused.
class Visit {
public:
  Visit(Rank &rank, const Axes &axes, const char *collective, const Site &site,
        const void *source, void *target, int64_t bytes, Volume volume)
      : rank_(rank), axes_(axes), collective_(collective), site_(site) {
    RankImpl &impl = rank.impl();
    World &world = rank.world();
    auto cached = std::find_if(
        impl.groups.begin(), impl.groups.end(), [&](const auto &entry) {
          return std::equal(axes.begin(), axes.end(), entry.axes.begin(),
                            entry.axes.end());
        });
    if (cached == impl.groups.end()) {
      impl.groups.push_back(
          {axes, &world.group(rank.id(), axes), rank.shard(axes)});
      cached = impl.groups.end() - 1;
    }
    group_ = cached->group;
    member_ = cached->member;
    int n = size();
    countTraffic(ringBytes(volume, bytes, n));
    group_->arrivals[member_] = {source, target, collective, site, bytes};
    wait();
    checkAgreement(bytes);
  }

  void leave() { wait(); }

  int size() const { return static_cast<int>(group_->ranks.size()); }
  int member() const { return member_; }
  template <typename T> const T *source(int member) const {
    return static_cast<const T *>(group_->arrivals[member].source);
  }
  template <typename T> T *target(int member) const {
    return static_cast<T *>(group_->arrivals[member].target);
  }

private:
  void wait() {
    rank_.world().barrier(*group_, member_, collective_, axes_, site_);
  }

  void countTraffic(int64_t sent) {
    auto &traffic = rank_.impl().traffic;
    auto entry =
        std::find_if(traffic.begin(), traffic.end(), [&](const auto &t) {
          return t.collective == collective_ && t.site.what == site_.what &&
                 t.site.where == site_.where;
        });
    if (entry == traffic.end()) {
      traffic.push_back(
          {collective_, site_, rank_.world().describeAxes(axes_), 0, 0});
      entry = traffic.end() - 1;
    }
    entry->calls += 1;
    entry->bytesSent += sent;
  }

  /// Every member must have come to the same collective with as many bytes.
  void checkAgreement(int64_t bytes) {
    for (int m = 0; m < size(); ++m) {
      const Arrival &other = group_->arrivals[m];
      if (std::strcmp(other.collective, collective_) == 0 &&
          std::strcmp(other.site.what, site_.what) == 0 &&
          other.bytes == bytes)
        continue;
      const World &world = rank_.world();
      throw Error(
          fmt::format("{}: {} of {} ({} bytes) at {} met {} of {} ({} bytes) "
                      "at {} on {}",
                      world.describeRank(rank_.id()), collective_, site_.what,
                      bytes, site_.where, other.collective, other.site.what,
                      other.bytes, other.site.where,
                      world.describeRank(group_->ranks[m])),
          Error::kInternal);
    }
  }

  Rank &rank_;
  const Axes &axes_;
  const char *collective_;
  const Site &site_;
  Group *group_;
  int member_;
};

/// The member's share [begin, end) of n items; multiples of a cache line, so
/// that no line is written by two members.
struct Share {
  int64_t begin, end;
  Share(int64_t n, int member, int members) {
    int64_t part = (n + members - 1) / members;
    part = (part + 63) / 64 * 64;
    begin = std::min(n, part * member);
    end = std::min(n, begin + part);
  }
};

/// Sums of bf16 are kept in f32.
template <typename T>
using Accumulator = std::conditional_t<std::is_same_v<T, bf16>, float, T>;

template <typename A> A combine(Reduce kind, A a, A b) {
  switch (kind) {
  case Reduce::Sum: return a + b;
  case Reduce::Max: return a > b ? a : b;
  case Reduce::Min: return a < b ? a : b;
  }
  return a;
}

/// acc[i] = source[0][i] op source[1][i] op ... for a block of elements.
template <Reduce kind, typename T>
void reduceBlock(Accumulator<T> *acc, const Visit &visit, int64_t offset,
                 int64_t count) {
  using A = Accumulator<T>;
  const T *first = visit.source<T>(0) + offset;
  for (int64_t i = 0; i < count; ++i)
    acc[i] = static_cast<A>(first[i]);
  for (int m = 1; m < visit.size(); ++m) {
    const T *source = visit.source<T>(m) + offset;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      acc[i] = combine(kind, acc[i], static_cast<A>(source[i]));
  }
}

template <typename T>
void reduceBlock(Reduce kind, Accumulator<T> *acc, const Visit &visit,
                 int64_t offset, int64_t count) {
  switch (kind) {
  case Reduce::Sum:
    return reduceBlock<Reduce::Sum, T>(acc, visit, offset, count);
  case Reduce::Max:
    return reduceBlock<Reduce::Max, T>(acc, visit, offset, count);
  case Reduce::Min:
    return reduceBlock<Reduce::Min, T>(acc, visit, offset, count);
  }
}

constexpr int64_t kBlock = 2048;

} // namespace

template <typename T>
void meshrt::allReduce(Rank &rank, const Axes &axes, Reduce kind, T *data,
                       int64_t count, const Site &site) {
  Visit visit(rank, axes, "all-reduce", site, data, data, count * sizeof(T),
              Volume::WholeTwice);
  // Each member reduces its share and writes it to everyone.
  Share share(count, visit.member(), visit.size());
  rank.parallelFor((share.end - share.begin + kBlock - 1) / kBlock,
                   [&](int64_t firstBlock, int64_t lastBlock) {
    Accumulator<T> acc[kBlock];
    for (int64_t block = firstBlock; block < lastBlock; ++block) {
      int64_t begin = share.begin + block * kBlock;
      int64_t n = std::min(kBlock, share.end - begin);
      reduceBlock<T>(kind, acc, visit, begin, n);
      for (int m = 0; m < visit.size(); ++m) {
        T *target = visit.target<T>(m) + begin;
        for (int64_t i = 0; i < n; ++i)
          target[i] = acc[i];
      }
    }
  });
  visit.leave();
}

template <typename T>
void meshrt::allGather(Rank &rank, const Axes &axes, T *result, const T *part,
                       int64_t outer, int64_t chunk, const Site &site) {
  Visit visit(rank, axes, "all-gather", site, part, nullptr,
              outer * chunk * sizeof(T), Volume::Part);
  int64_t n = visit.size();
  rank.parallelFor(outer * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(result + i * chunk,
                  visit.source<T>(static_cast<int>(i % n)) + i / n * chunk,
                  chunk * sizeof(T));
  });
  visit.leave();
}

template <typename T>
void meshrt::reduceScatter(Rank &rank, const Axes &axes, T *part,
                           const T *data, int64_t outer, int64_t chunk,
                           const Site &site) {
  Visit visit(rank, axes, "reduce-scatter", site, data, nullptr,
              outer * chunk * sizeof(T), Volume::Part);
  int64_t n = visit.size();
  int64_t blocks = (chunk + kBlock - 1) / kBlock;
  rank.parallelFor(outer * blocks, [&](int64_t first, int64_t last) {
    Accumulator<T> acc[kBlock];
    for (int64_t i = first; i < last; ++i) {
      int64_t row = i / blocks, begin = i % blocks * kBlock;
      int64_t count = std::min(kBlock, chunk - begin);
      reduceBlock<T>(Reduce::Sum, acc, visit,
                     (row * n + visit.member()) * chunk + begin, count);
      for (int64_t j = 0; j < count; ++j)
        part[row * chunk + begin + j] = acc[j];
    }
  });
  visit.leave();
}

template <typename T>
void meshrt::allToAll(Rank &rank, const Axes &axes, const AllToAll &s,
                      T *result, const T *data, const Site &site) {
  Visit visit(rank, axes, "all-to-all", site, data, nullptr,
              s.outer * s.split * s.mid * s.concat * s.inner * sizeof(T), Volume::Whole);
  int64_t n = visit.size(), me = visit.member();
  // Runs that are contiguous on both sides: concat * inner or split * inner.
  rank.parallelFor(s.outer * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t o = i / n, from = i % n;
      const T *source = visit.source<T>(static_cast<int>(from));
      if (s.splitFirst) {
        int64_t run = s.concat * s.inner;
        for (int64_t a = 0; a < s.split; ++a)
          for (int64_t b = 0; b < s.mid; ++b)
            std::memcpy(
                result + (((o * s.split + a) * s.mid + b) * n + from) * run,
                source + (((o * n + me) * s.split + a) * s.mid + b) * run,
                run * sizeof(T));
      } else {
        int64_t run = s.split * s.inner;
        for (int64_t a = 0; a < s.concat; ++a)
          for (int64_t b = 0; b < s.mid; ++b)
            std::memcpy(
                result + (((o * n + from) * s.concat + a) * s.mid + b) * run,
                source + (((o * s.concat + a) * s.mid + b) * n + me) * run,
                run * sizeof(T));
      }
    }
  });
  visit.leave();
}

template <typename T>
void meshrt::exchange(Rank &rank, const Axes &axes,
                      std::initializer_list<int> sources, T *result,
                      const T *data, int64_t count, const Site &site) {
  Visit visit(rank, axes, "exchange", site, data, nullptr, count * sizeof(T),
              Volume::Once);
  int source = sources.begin()[visit.member()];
  if (source < 0)
    std::memset(result, 0, count * sizeof(T));
  else
    std::memcpy(result, visit.source<T>(source), count * sizeof(T));
  visit.leave();
}

template <typename T>
void meshrt::broadcast(Rank &rank, const Axes &axes, int root, T *data,
                       int64_t count, const Site &site) {
  Visit visit(rank, axes, "broadcast", site, data, nullptr, count * sizeof(T),
              Volume::Whole);
  if (visit.member() != root)
    std::memcpy(data, visit.source<T>(root), count * sizeof(T));
  visit.leave();
}

#define INSTANTIATE(T)                                                         \
  template void meshrt::allReduce<T>(Rank &, const Axes &, Reduce, T *,        \
                                     int64_t, const Site &);                   \
  template void meshrt::allGather<T>(Rank &, const Axes &, T *, const T *,     \
                                     int64_t, int64_t, const Site &);          \
  template void meshrt::reduceScatter<T>(Rank &, const Axes &, T *, const T *, \
                                         int64_t, int64_t, const Site &);      \
  template void meshrt::allToAll<T>(Rank &, const Axes &, const AllToAll &,    \
                                    T *, const T *, const Site &);             \
  template void meshrt::exchange<T>(Rank &, const Axes &,                      \
                                    std::initializer_list<int>, T *,           \
                                    const T *, int64_t, const Site &);         \
  template void meshrt::broadcast<T>(Rank &, const Axes &, int, T *, int64_t,  \
                                     const Site &);
INSTANTIATE(float)
INSTANTIATE(bf16)
INSTANTIATE(double)
INSTANTIATE(int32_t)
