//===- Progress.h - The line a person watches, and the JSONL log ----------===//
#ifndef MESHRT_SRC_COMMON_PROGRESS_H
#define MESHRT_SRC_COMMON_PROGRESS_H

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace meshrt {

/// One JSON object per line, flushed at once. Does nothing without a path.
class JsonLog {
public:
  explicit JsonLog(const std::string &path);
  ~JsonLog();
  JsonLog(const JsonLog &) = delete;
  JsonLog &operator=(const JsonLog &) = delete;
  void write(const nlohmann::ordered_json &entry);

private:
  std::FILE *file_ = nullptr;
};

/// "step 120/2000  loss 2.4312  norm 0.53  84,213 tokens/s  0:32 left": one
/// line that is rewritten on a terminal, else a line now and then.
class Progress {
public:
  Progress(int64_t firstStep, int64_t steps, int64_t itemsPerStep,
           const std::string &itemName, bool show);

  /// After step `step` (counted from 1).
  void update(int64_t step, double loss, double norm);
  /// Prints a line of its own between updates.
  void note(const std::string &text);
  void finish();

  double itemsPerSecond() const { return rate_; }

private:
  using Clock = std::chrono::steady_clock;
  int64_t firstStep_, steps_, itemsPerStep_;
  std::string itemName_;
  bool show_, terminal_;
  Clock::time_point last_, lastPrinted_;
  double secondsPerStep_ = 0, rate_ = 0;
  size_t width_ = 0; ///< of the line that stands on the terminal
};

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_PROGRESS_H
