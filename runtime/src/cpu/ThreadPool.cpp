#include "ThreadPool.h"
#include "Futex.h"

#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace meshrt;

void meshrt::flushDenormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040); // FTZ, DAZ
#elif defined(__aarch64__)
  uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  asm volatile("msr fpcr, %0" ::"r"(fpcr | (1u << 24)));
#endif
}

static thread_local int currentWorker = 0;

int ThreadPool::worker() { return currentWorker; }

ThreadPool::ThreadPool(int threads, bool spin)
    : threads_(threads), spin_(spin) {
  for (int i = 1; i < threads; ++i)
    workers_.emplace_back([this, i] { workerMain(i); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  ++generation_;
  wakeAll(generation_);
  for (std::thread &worker : workers_)
    worker.join();
}

void ThreadPool::run(int64_t n, int64_t chunks, RangeFn fn,
                     const void *context) {
  fn_ = fn;
  context_ = context;
  n_ = n;
  chunks_ = chunks < n ? chunks : n;
  nextChunk_ = 0;
  running_.store(static_cast<uint32_t>(threads_ - 1));
  generation_.fetch_add(1, std::memory_order_release);
  wakeAll(generation_);
  work(0);
  for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;)
    waitChange(running_, left, spin_);
  if (error_)
    std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::workerMain(int index) {
  flushDenormals();
  currentWorker = index;
  for (uint32_t seen = 0;;) {
    while (!waitChange(generation_, seen, spin_)) {
    }
    // The next loop cannot start before this thread has left this one.
    seen = generation_.load(std::memory_order_acquire);
    if (stop_)
      return;
    work(index);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      wakeAll(running_);
  }
}

void ThreadPool::work(int index) {
  try {
    if (chunks_ <= threads_) {
      if (index < chunks_)
        callChunk(index);
      return;
    }
    for (int64_t chunk; (chunk = nextChunk_.fetch_add(1)) < chunks_;)
      callChunk(chunk);
  } catch (...) {
    std::lock_guard lock(errorMutex_);
    if (!error_)
      error_ = std::current_exception();
  }
}

void ThreadPool::callChunk(int64_t chunk) {
  int64_t begin = n_ * chunk / chunks_;
  int64_t end = n_ * (chunk + 1) / chunks_;
  if (begin < end)
    fn_(context_, begin, end);
}
