//===- Nccl.cpp - Collectives between processes in shared memory ----------===//
//
// Collectives work chunk by chunk: every member copies a chunk of its data to
// its slot, all meet, every member reads what it needs, all meet. Sends and
// receives go through one mailbox per pair of ranks.
//
//===----------------------------------------------------------------------===//
#include "nccl.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {
constexpr size_t kSlot = 256 << 10, kMail = 32 << 10;
constexpr int kTimeoutSeconds = 120;

/// Zero bytes are its initial state.
struct Mailbox {
  std::atomic<uint32_t> full;
  uint32_t bytes;
  unsigned char data[kMail];
};
struct Meeting {
  std::atomic<uint32_t> arrived, generation;
};
} // namespace

struct NcclOnHost {
  std::string name;
  int rank, size;
  int splits = 0;
  unsigned char *memory;
  size_t bytes;

  Meeting &meeting() { return *reinterpret_cast<Meeting *>(memory); }
  unsigned char *slot(int r) { return memory + 64 + size_t(r) * kSlot; }
  Mailbox &mail(int from, int to) {
    return *reinterpret_cast<Mailbox *>(
        memory + 64 + size_t(size) * kSlot +
        size_t(from * size + to) * sizeof(Mailbox));
  }
};

namespace {

thread_local std::string lastError;
struct Transfer {
  NcclOnHost *communicator;
  int peer;
  unsigned char *data;
  size_t left;
  bool sending;
};
thread_local std::vector<Transfer> group;
thread_local int groupDepth = 0;

size_t bytesOf(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8: return 1;
  case ncclBfloat16: return 2;
  case ncclInt32:
  case ncclFloat32: return 4;
  case ncclInt64:
  case ncclFloat64: return 8;
  }
  return 0;
}

ncclResult_t error(ncclResult_t result, const char *message) {
  lastError = message;
  return result;
}

template <typename Ready> bool waitUntil(const Ready &ready) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; !ready(); ++i) {
    sched_yield();
    if (i > 1000)
      usleep(20);
    if (i % 1000 == 0 && std::chrono::steady_clock::now() - start >
                             std::chrono::seconds(kTimeoutSeconds))
      return false;
  }
  return true;
}

bool meet(NcclOnHost &c) {
  Meeting &m = c.meeting();
  uint32_t mine = m.generation.load();
  if (m.arrived.fetch_add(1) + 1 == uint32_t(c.size)) {
    m.arrived = 0;
    ++m.generation;
    return true;
  }
  return waitUntil([&] { return m.generation.load() != mine; });
}

/// For chunks of each member's `bytes` bytes: publish, meet, use, meet.
template <typename Use>
ncclResult_t inChunks(NcclOnHost &c, const void *from, size_t bytes,
                      const Use &use) {
  auto *data = static_cast<const unsigned char *>(from);
  for (size_t at = 0; at < bytes; at += kSlot) {
    size_t part = std::min(kSlot, bytes - at);
    std::memcpy(c.slot(c.rank), data + at, part);
    if (!meet(c))
      return error(ncclRemoteError, "a rank did not reach the collective");
    use(at, part);
    if (!meet(c))
      return error(ncclRemoteError, "a rank left the collective");
  }
  return ncclSuccess;
}

float fromBf16(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}
uint16_t toBf16(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  if (value == value)
    word += 0x7fffu + (word >> 16 & 1);
  return uint16_t(word >> 16);
}

template <typename T> T combine(ncclRedOp_t op, T a, T b) {
  switch (op) {
  case ncclSum: return a + b;
  case ncclProd: return a * b;
  case ncclMax: return std::max(a, b);
  case ncclMin: return std::min(a, b);
  }
  return a;
}

template <typename T>
void reduceAs(NcclOnHost &c, size_t at, void *to, size_t bytes, ncclRedOp_t op) {
  auto *out = static_cast<T *>(to);
  for (size_t i = 0; i < bytes / sizeof(T); ++i) {
    T value = reinterpret_cast<T *>(c.slot(0) + at)[i];
    for (int r = 1; r < c.size; ++r)
      value = combine(op, value, reinterpret_cast<T *>(c.slot(r) + at)[i]);
    out[i] = value;
  }
}

/// to = reduction of the members' slots from byte `at` on.
void reduce(NcclOnHost &c, size_t at, void *to, size_t bytes,
            ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
  case ncclInt8: return reduceAs<int8_t>(c, at, to, bytes, op);
  case ncclUint8: return reduceAs<uint8_t>(c, at, to, bytes, op);
  case ncclInt32: return reduceAs<int32_t>(c, at, to, bytes, op);
  case ncclInt64: return reduceAs<int64_t>(c, at, to, bytes, op);
  case ncclFloat32: return reduceAs<float>(c, at, to, bytes, op);
  case ncclFloat64: return reduceAs<double>(c, at, to, bytes, op);
  case ncclBfloat16:
    for (size_t i = 0; i < bytes / 2; ++i) {
      auto member = [&](int r) {
        return fromBf16(reinterpret_cast<uint16_t *>(c.slot(r) + at)[i]);
      };
      float value = member(0);
      for (int r = 1; r < c.size; ++r)
        value = combine(op, value, member(r));
      static_cast<uint16_t *>(to)[i] = toBf16(value);
    }
  }
}

ncclResult_t attach(ncclComm_t *result, const std::string &name, int rank,
                    int size) {
  size_t bytes = 64 + size_t(size) * kSlot + size_t(size) * size * sizeof(Mailbox);
  int fd = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    return error(ncclSystemError, "shm_open");
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED)
    return error(ncclSystemError, "mmap");
  *result = new NcclOnHost{name, rank, size, 0,
                           static_cast<unsigned char *>(memory), bytes};
  bool all = meet(**result);
  if (rank == 0)
    shm_unlink(name.c_str());
  return all ? ncclSuccess : error(ncclRemoteError, "a rank never came");
}

/// One step of a transfer, if the mailbox allows; whether anything moved.
bool advance(Transfer &t) {
  NcclOnHost &c = *t.communicator;
  Mailbox &box = t.sending ? c.mail(c.rank, t.peer) : c.mail(t.peer, c.rank);
  if (t.left == 0 || box.full.load() == (t.sending ? 1u : 0u))
    return false;
  size_t part = t.sending ? std::min(t.left, kMail) : box.bytes;
  if (t.sending) {
    std::memcpy(box.data, t.data, part);
    box.bytes = static_cast<uint32_t>(part);
  } else {
    std::memcpy(t.data, box.data, part);
  }
  box.full = t.sending;
  t.data += part;
  t.left -= part;
  return true;
}

ncclResult_t submit(const Transfer &transfer) {
  group.push_back(transfer);
  if (groupDepth > 0)
    return ncclSuccess;
  groupDepth = 1;
  return ncclGroupEnd();
}

} // namespace

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess: return "no error";
  case ncclRemoteError: return "remote process exited or there was a network error";
  case ncclInvalidArgument: return "invalid argument";
  default: return "NCCL error";
  }
}
const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  static int count = 0;
  *id = {};
  std::string name =
      "/nccl-on-host-" + std::to_string(getpid()) + "-" + std::to_string(count++);
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks,
                              ncclUniqueId id, int rank) {
  return attach(communicator, id.internal, rank, ranks);
}
ncclResult_t ncclCommSplit(ncclComm_t c, int color, int key, ncclComm_t *result,
                           ncclConfig_t *) {
  struct Entry {
    int color, key;
  } mine = {color, key};
  std::vector<Entry> all(c->size);
  ncclResult_t status = inChunks(*c, &mine, sizeof(mine), [&](size_t, size_t) {
    for (int r = 0; r < c->size; ++r)
      std::memcpy(&all[r], c->slot(r), sizeof(Entry));
  });
  if (status != ncclSuccess)
    return status;
  int rank = 0, size = 0;
  for (int r = 0; r < c->size; ++r) {
    if (all[r].color != color)
      continue;
    ++size;
    rank += all[r].key < key || (all[r].key == key && r < c->rank);
  }
  return attach(result,
                c->name + "." + std::to_string(c->splits++) + "." +
                    std::to_string(color),
                rank, size);
}
ncclResult_t ncclCommDestroy(ncclComm_t c) {
  munmap(c->memory, c->bytes);
  delete c;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t c) { return ncclCommDestroy(c); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *result) {
  *result = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++groupDepth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--groupDepth > 0)
    return ncclSuccess;
  bool done = waitUntil([] {
    bool left = false;
    for (Transfer &t : group) {
      while (advance(t)) {
      }
      left |= t.left > 0;
    }
    return !left;
  });
  group.clear();
  return done ? ncclSuccess : error(ncclRemoteError, "a peer never came");
}
ncclResult_t ncclSend(const void *data, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t c, cudaStream_t stream) {
  if (!stream || peer < 0 || peer >= c->size)
    return error(ncclInvalidArgument, "send");
  auto *bytes = static_cast<unsigned char *>(const_cast<void *>(data));
  return submit({c, peer, bytes, count * bytesOf(type), true});
}
ncclResult_t ncclRecv(void *data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t c, cudaStream_t stream) {
  if (!stream || peer < 0 || peer >= c->size)
    return error(ncclInvalidArgument, "receive");
  return submit({c, peer, static_cast<unsigned char *>(data),
                 count * bytesOf(type), false});
}
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                           cudaStream_t stream) {
  if (!stream)
    return error(ncclInvalidArgument, "all-reduce");
  return inChunks(*c, from, count * bytesOf(type), [&](size_t at, size_t part) {
    reduce(*c, 0, static_cast<char *>(to) + at, part, type, op);
  });
}
ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
                           ncclDataType_t type, ncclComm_t c,
                           cudaStream_t stream) {
  if (!stream)
    return error(ncclInvalidArgument, "all-gather");
  size_t bytes = count * bytesOf(type);
  return inChunks(*c, from, bytes, [&](size_t at, size_t part) {
    for (int r = 0; r < c->size; ++r)
      std::memcpy(static_cast<char *>(to) + r * bytes + at, c->slot(r), part);
  });
}
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                               cudaStream_t stream) {
  if (!stream)
    return error(ncclInvalidArgument, "reduce-scatter");
  size_t bytes = count * bytesOf(type), first = c->rank * bytes;
  return inChunks(*c, from, c->size * bytes, [&](size_t at, size_t part) {
    // The chunk's intersection with this rank's part.
    size_t begin = std::max(at, first), end = std::min(at + part, first + bytes);
    if (begin < end)
      reduce(*c, begin - at, static_cast<char *>(to) + (begin - first),
             end - begin, type, op);
  });
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count,
                           ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream) {
  if (!stream || root < 0 || root >= c->size)
    return error(ncclInvalidArgument, "broadcast");
  return inChunks(*c, from, count * bytesOf(type), [&](size_t at, size_t part) {
    std::memcpy(static_cast<char *>(to) + at, c->slot(root), part);
  });
}
