//===- Grid.cpp - Fibers, barriers and shuffles ---------------------------===//
#include "CudaOnHost/Grid.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <ucontext.h>

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

using namespace cuda_on_host;

namespace {

constexpr size_t kStack = 64 << 10;
constexpr int kWarp = 32;

#if defined(__x86_64__)
/// Saves the callee-saved registers on the stack and its pointer in *from, and
/// continues at `to`. ucontext would do, with two system calls per switch.
extern "C" void cudaOnHostSwitch(void **from, void *to);
asm(R"(
.text
.globl cudaOnHostSwitch
.type cudaOnHostSwitch, @function
cudaOnHostSwitch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cudaOnHostSwitch, .-cudaOnHostSwitch
)");

struct Context {
  void *stack = nullptr;
  void start(char *memory, void (*entry)()) {
    auto top = reinterpret_cast<uintptr_t>(memory + kStack) & ~uintptr_t(15);
    auto **slot = reinterpret_cast<void **>(top);
    *--slot = nullptr;                         // entry's return address
    *--slot = reinterpret_cast<void *>(entry); // popped by ret: stack is aligned
    slot -= 6;
    std::memset(slot, 0, 6 * sizeof(void *));
    stack = slot;
  }
  void switchTo(Context &other) { cudaOnHostSwitch(&stack, other.stack); }
};
#else
struct Context {
  ucontext_t context;
  void start(char *memory, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = memory;
    context.uc_stack.ss_size = kStack;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
  void switchTo(Context &other) { swapcontext(&context, &other.context); }
};
#endif

struct Barrier {
  int expected = 0, arrived = 0;
  unsigned generation = 0;
};

struct Warp {
  Barrier barrier;
  alignas(16) unsigned char slots[2][kWarp][16];
};

struct Fiber {
  Context context;
  bool done = false;
  unsigned shuffles = 0;
  dim3 thread;
};

/// One block under way on this thread.
struct Block {
  Context scheduler;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier barrier;
  int current = 0;
  bool progress = false;
  std::vector<unsigned char> shared;
  void (*body)(const void *) = nullptr;
  const void *argument = nullptr;

  Fiber &fiber() { return fibers[current]; }
  Warp &warp() { return warps[current / kWarp]; }
  void yield() {
    fiber().context.switchTo(scheduler);
    threadIdx = fiber().thread;
  }
  void wait(Barrier &barrier) {
    unsigned mine = barrier.generation;
    progress = true;
    if (++barrier.arrived == barrier.expected) {
      barrier.arrived = 0;
      ++barrier.generation;
      return;
    }
    while (barrier.generation == mine)
      yield();
    progress = true;
  }
};

thread_local Block *running = nullptr;
/// Stacks outlive blocks: making them is the expensive part.
thread_local std::vector<std::unique_ptr<char[]>> stacks;

void fiberMain() {
  Block &block = *running;
  threadIdx = block.fiber().thread;
  block.body(block.argument);
  block.fiber().done = true;
  block.progress = true;
  block.fiber().context.switchTo(block.scheduler);
}

void runBlock(Block &block) {
  int threads = static_cast<int>(block.fibers.size());
  block.barrier = {threads, 0, 0};
  for (int w = 0; w < static_cast<int>(block.warps.size()); ++w)
    block.warps[w].barrier = {std::min(kWarp, threads - w * kWarp), 0, 0};
  // NaNs, so that a read of what nobody wrote shows.
  std::memset(block.shared.data(), 0xff, block.shared.size());
  for (int t = 0; t < threads; ++t) {
    Fiber &fiber = block.fibers[t];
    fiber.done = false;
    fiber.shuffles = 0;
    fiber.context.start(stacks[t].get(), fiberMain);
  }
  for (int left = threads; left > 0;) {
    block.progress = false;
    left = 0;
    for (block.current = 0; block.current < threads; ++block.current) {
      if (block.fiber().done)
        continue;
      block.scheduler.switchTo(block.fiber().context);
      left += !block.fiber().done;
    }
    if (left > 0 && !block.progress) {
      std::fprintf(stderr,
                   "cuda on host: %d of %d threads of block (%u, %u, %u) wait "
                   "at a barrier or shuffle that the others never reach\n",
                   left, threads, blockIdx.x, blockIdx.y, blockIdx.z);
      std::abort();
    }
  }
}

} // namespace

void cuda_on_host::runGrid(dim3 grid, dim3 blockShape, size_t sharedBytes,
                           void (*body)(const void *), const void *context) {
  unsigned threads = blockShape.x * blockShape.y * blockShape.z;
  while (stacks.size() < threads)
    stacks.emplace_back(new char[kStack]);
  Block block;
  block.body = body;
  block.argument = context;
  block.fibers.resize(threads);
  block.warps.resize((threads + kWarp - 1) / kWarp);
  // 16-byte alignment comes from the allocator.
  block.shared.resize(sharedBytes ? sharedBytes : 1);
  for (unsigned t = 0; t < threads; ++t)
    block.fibers[t].thread =
        dim3(t % blockShape.x, t / blockShape.x % blockShape.y,
             t / (blockShape.x * blockShape.y));
  Block *outer = running;
  running = &block;
  gridDim = grid;
  blockDim = blockShape;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = dim3(x, y, z);
        runBlock(block);
      }
  running = outer;
}

void cuda_on_host::blockBarrier() { running->wait(running->barrier); }
void cuda_on_host::warpBarrier() { running->wait(running->warp().barrier); }
void *cuda_on_host::sharedMemory() { return running->shared.data(); }

void cuda_on_host::exchange(void *result, const void *mine, size_t bytes,
                            int source) {
  // Two sets of slots in turn: a lane can be one shuffle ahead, not two.
  Warp &warp = running->warp();
  auto &slots = warp.slots[running->fiber().shuffles++ % 2];
  std::memcpy(slots[threadIdx.x % kWarp], mine, bytes);
  running->wait(warp.barrier);
  std::memcpy(result, slots[source], bytes);
}
