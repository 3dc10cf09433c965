//===- ThreadPool.h - Worker threads of one rank --------------------------===//
#ifndef MESHRT_SRC_CPU_THREADPOOL_H
#define MESHRT_SRC_CPU_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace meshrt {

/// Makes the calling thread treat denormals as zero, in and out.
void flushDenormals();

/// Runs loops on the calling thread and `threads - 1` workers. One loop at a
/// time, always from the same thread.
class ThreadPool {
public:
  ThreadPool(int threads, bool spin);
  ~ThreadPool();

  using RangeFn = void (*)(const void *context, int64_t begin, int64_t end);

  /// Splits [0, n) into `chunks` near-equal ranges and calls fn on each. With
  /// one chunk per thread, thread t gets range t; otherwise threads take the
  /// next range when free. The first exception is rethrown here.
  void run(int64_t n, int64_t chunks, RangeFn fn, const void *context);

  /// Index of the calling thread in its pool.
  static int worker();

private:
  void workerMain(int index);
  void work(int index);
  void callChunk(int64_t chunk);

  const int threads_;
  const bool spin_;
  std::vector<std::thread> workers_;

  // The current loop; written before generation_ is raised.
  RangeFn fn_ = nullptr;
  const void *context_ = nullptr;
  int64_t n_ = 0, chunks_ = 0;
  std::atomic<int64_t> nextChunk_{0};
  std::atomic<uint32_t> generation_{0};
  std::atomic<uint32_t> running_{0};
  std::atomic<bool> stop_{false};
  std::mutex errorMutex_;
  std::exception_ptr error_;
};

} // namespace meshrt

#endif // MESHRT_SRC_CPU_THREADPOOL_H
