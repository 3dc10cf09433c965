//===- Support.h - Files, suggestions, number formats ---------------------===//
#ifndef MESHRT_SRC_COMMON_SUPPORT_H
#define MESHRT_SRC_COMMON_SUPPORT_H

#include "meshrt/types.h"

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

namespace meshrt {

/// throw userError("'{}' is too short: {} bytes", file, size);
template <typename... Args>
Error userError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(fmt::format(format, std::forward<Args>(args)...));
}

/// "; did you mean 'steps'?" if a candidate is close to `name`, else "".
std::string didYouMean(std::string_view name,
                       const std::vector<std::string> &candidates);

/// "12,345,678".
std::string groupDigits(int64_t value);

/// "1:02:03", "2:05".
std::string formatDuration(double seconds);

/// "[50257, 768]".
std::string formatShape(const std::vector<int64_t> &shape);

/// A read-only file in memory. Throws Error if it cannot be opened.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return path_; }
  const uint8_t *data() const { return data_; }
  int64_t size() const { return size_; }

private:
  std::string path_;
  const uint8_t *data_ = nullptr;
  int64_t size_ = 0;
};

/// Writes a file under a temporary name beside `path` and renames it over
/// `path` in `commit`; without `commit`, `path` keeps its old content.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *data, int64_t bytes);
  void commit();

private:
  [[noreturn]] void fail(const char *action);

  std::string path_, temporary_;
  int descriptor_ = -1;
};

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_SUPPORT_H
