#include "Progress.h"
#include "Support.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <unistd.h>

using namespace meshrt;

JsonLog::JsonLog(const std::string &path) {
  if (path.empty())
    return;
  file_ = std::fopen(path.c_str(), "a");
  if (!file_)
    throw userError("cannot open '{}': {}", path, std::strerror(errno));
}

JsonLog::~JsonLog() {
  if (file_)
    std::fclose(file_);
}

void JsonLog::write(const nlohmann::ordered_json &entry) {
  if (!file_)
    return;
  std::fputs((entry.dump() + "\n").c_str(), file_);
  std::fflush(file_);
}

Progress::Progress(int64_t firstStep, int64_t steps, int64_t itemsPerStep,
                   const std::string &itemName, bool show)
    : firstStep_(firstStep), steps_(steps), itemsPerStep_(itemsPerStep),
      itemName_(itemName), show_(show), terminal_(isatty(STDOUT_FILENO)),
      last_(Clock::now()), lastPrinted_(last_ - std::chrono::hours(1)) {}

void Progress::update(int64_t step, double loss, double norm) {
  auto now = Clock::now();
  double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  // The first step pays for page faults and code generation: it is forgotten.
  // Then the mean of all steps so far, and of about the last twenty later on.
  int64_t counted = step - firstStep_ - 1;
  double weight = counted < 1 ? 1.0 : std::max(1.0 / counted, 0.05);
  secondsPerStep_ += weight * (seconds - secondsPerStep_);
  rate_ = itemsPerStep_ / std::max(secondsPerStep_, 1e-9);
  if (!show_)
    return;
  std::chrono::duration<double> sincePrinted = now - lastPrinted_;
  if (step != steps_ && sincePrinted.count() < (terminal_ ? 0.1 : 5.0))
    return;
  lastPrinted_ = now;
  std::string line = fmt::format("step {}/{}  loss {:.4f}", step, steps_, loss);
  if (std::isfinite(norm))
    line += fmt::format("  norm {:.3f}", norm);
  line += fmt::format("  {} {}/s  {} left",
                      groupDigits(static_cast<int64_t>(rate_)), itemName_,
                      formatDuration((steps_ - step) * secondsPerStep_));
  if (terminal_) {
    fmt::print("\r{:<{}}", line, width_);
    width_ = line.size();
  } else {
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

void Progress::note(const std::string &text) {
  if (!show_)
    return;
  finish();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void Progress::finish() {
  if (show_ && terminal_ && width_ > 0)
    fmt::print("\n");
  width_ = 0;
  std::fflush(stdout);
}
