//===- Safetensors.h - The safetensors file format ------------------------===//
//
// u64 header length (little endian), a JSON header
//   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//    "__metadata__": {"key": "text"}}
// and the tensors' bytes, row-major, little endian.
// https://github.com/huggingface/safetensors
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_COMMON_SAFETENSORS_H
#define MESHRT_SRC_COMMON_SAFETENSORS_H

#include "Support.h"

#include <map>
#include <string>
#include <vector>

namespace meshrt {

struct SafetensorsEntry {
  std::string type; ///< "F32", "BF16", "F64", "I32", "I64", "BOOL", ...
  std::vector<int64_t> shape;
  int64_t begin = 0, end = 0; ///< bytes after the header
};

/// "F32" of F32 and so on.
const char *safetensorsType(ElementType type);

class SafetensorsReader {
public:
  /// Maps the file and checks the header against the file's size. Throws Error.
  explicit SafetensorsReader(const std::string &path);

  const std::string &path() const { return file_.path(); }
  const std::map<std::string, SafetensorsEntry> &entries() const {
    return entries_;
  }
  const std::map<std::string, std::string> &metadata() const {
    return metadata_;
  }
  const uint8_t *bytes(const SafetensorsEntry &entry) const {
    return data_ + entry.begin;
  }

private:
  MappedFile file_;
  const uint8_t *data_ = nullptr;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// What a file will hold; `entries` need type and shape, in file order.
struct SafetensorsHeader {
  std::vector<std::pair<std::string, SafetensorsEntry>> entries;
  std::map<std::string, std::string> metadata;

  /// Sets the entries' offsets and returns the file's first bytes.
  std::string serialize();
};

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_SAFETENSORS_H
