#include "meshrt/cpu/rank.h"
#include "ThreadPool.h"
#include "World.h"

#include <cerrno>
#include <fmt/format.h>
#include <sys/mman.h>

using namespace meshrt;

/// Anonymous memory is zero and 4 KiB aligned; huge pages need 2 MiB.
static constexpr size_t kHugePage = size_t(2) << 20;

Rank::Rank(World &world, int id, int64_t arenaBytes, int threads)
    : world_(world), id_(id), threads_(threads),
      coordinates_(meshCoordinates(world.mesh(), id)),
      impl_(std::make_unique<RankImpl>()) {
  arenaBytes_ = (static_cast<size_t>(arenaBytes) + kHugePage - 1) / kHugePage *
                kHugePage;
  if (arenaBytes_) {
    void *memory =
        mmap(nullptr, arenaBytes_, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      throw Error(fmt::format("{}: cannot allocate an arena of {} bytes: {}",
                              world.describeRank(id), arenaBytes,
                              std::strerror(errno)));
    madvise(memory, arenaBytes_, MADV_HUGEPAGE);
    arena_ = static_cast<std::byte *>(memory);
  }
  impl_->scratch.resize(threads);
  if (threads > 1)
    pool_ = std::make_unique<ThreadPool>(threads, world.spin());
}

Rank::~Rank() {
  pool_.reset();
  if (arena_)
    munmap(arena_, arenaBytes_);
}

int Rank::shard(const Axes &axes) const {
  int shard = 0;
  for (int axis : axes)
    shard = shard * world_.mesh()[axis].size + coordinates_[axis];
  return shard;
}

void *Rank::scratch(int worker, size_t bytes) {
  std::vector<std::byte> &block = impl_->scratch[worker];
  if (block.size() < bytes + 64)
    block = std::vector<std::byte>(bytes + 64);
  uintptr_t address = reinterpret_cast<uintptr_t>(block.data());
  return reinterpret_cast<void *>((address + 63) & ~uintptr_t(63));
}

int Rank::worker() { return ThreadPool::worker(); }

void Rank::runParallel(int64_t n, int64_t chunks, RangeFn fn,
                       const void *context) {
  if (threads_ > 1 && n > 1)
    pool_->run(n, chunks, fn, context);
  else if (n > 0)
    fn(context, 0, n);
}
