//===- Futex.h - Blocking on a 32-bit word --------------------------------===//
//
// A waiter spins for a moment only where a core is there for it, then sleeps in
// the kernel. Waits wake up every 100 ms so that their callers can look for
// failures elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_CPU_FUTEX_H
#define MESHRT_SRC_CPU_FUTEX_H

#include <atomic>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace meshrt {

/// Tells the core that this is a spin.
inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline void wakeAll(std::atomic<uint32_t> &word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE,
          0x7fffffff, nullptr, nullptr, 0);
}

/// About 10 us: longer than the gap between two loops of a step, short enough
/// not to hurt when another process has taken the core after all.
inline constexpr int kSpins = 1000;

/// Waits until word != old, or about 100 ms. Returns whether it changed.
inline bool waitChange(std::atomic<uint32_t> &word, uint32_t old, bool spin) {
  for (int i = 0; spin && i < kSpins; ++i) {
    if (word.load(std::memory_order_acquire) != old)
      return true;
    cpuRelax();
  }
  if (word.load(std::memory_order_acquire) != old)
    return true;
  timespec timeout{0, 100'000'000};
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE,
          old, &timeout, nullptr, 0);
  return word.load(std::memory_order_acquire) != old;
}

} // namespace meshrt

#endif // MESHRT_SRC_CPU_FUTEX_H
