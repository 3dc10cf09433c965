#include "Support.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace meshrt;

/// Insertions, deletions, substitutions and swaps of neighbours.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1,
                                     std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1,
                          d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string meshrt::didYouMean(std::string_view name,
                               const std::vector<std::string> &candidates) {
  const std::string *best = nullptr;
  size_t bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(name, candidate);
    if (distance < bestDistance) {
      best = &candidate;
      bestDistance = distance;
    }
  }
  return best ? fmt::format("; did you mean '{}'?", *best) : "";
}

std::string meshrt::groupDigits(int64_t value) {
  std::string digits = std::to_string(value);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (value < 0);
       i -= 3)
    digits.insert(i, ",");
  return digits;
}

std::string meshrt::formatDuration(double seconds) {
  int64_t s = static_cast<int64_t>(seconds + 0.5);
  if (s >= 3600)
    return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string meshrt::formatShape(const std::vector<int64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

MappedFile::MappedFile(const std::string &path) : path_(path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw userError("cannot open '{}': {}", path, std::strerror(errno));
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    throw userError("'{}' is not a regular file", path);
  }
  size_ = info.st_size;
  if (size_ > 0) {
    void *memory =
        mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory == MAP_FAILED) {
      int code = errno;
      close(descriptor);
      throw userError("cannot map '{}': {}", path, std::strerror(code));
    }
    data_ = static_cast<const uint8_t *>(memory);
  }
  close(descriptor);
}

MappedFile::~MappedFile() {
  if (data_)
    munmap(const_cast<uint8_t *>(data_), size_);
}

AtomicFile::AtomicFile(const std::string &path)
    : path_(path), temporary_(fmt::format("{}.tmp{}", path, getpid())) {
  descriptor_ = open(temporary_.c_str(),
                     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    fail("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    close(descriptor_);
    unlink(temporary_.c_str());
  }
}

void AtomicFile::fail(const char *action) {
  int code = errno;
  if (descriptor_ >= 0) {
    close(descriptor_);
    unlink(temporary_.c_str());
    descriptor_ = -1;
  }
  throw userError("cannot {} '{}': {}", action, path_, std::strerror(code));
}

void AtomicFile::write(const void *data, int64_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::write(descriptor_, next, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("write");
    next += written;
    bytes -= written;
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0 || close(descriptor_) != 0)
    fail("write");
  descriptor_ = -1;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    int code = errno;
    unlink(temporary_.c_str());
    throw userError("cannot replace '{}': {}", path_, std::strerror(code));
  }
}
