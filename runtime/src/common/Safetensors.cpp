#include "Safetensors.h"

#include <nlohmann/json.hpp>

using namespace meshrt;
using Json = nlohmann::ordered_json;

const char *meshrt::safetensorsType(ElementType type) {
  switch (type) {
  case ElementType::F32: return "F32";
  case ElementType::BF16: return "BF16";
  case ElementType::F64: return "F64";
  case ElementType::I32: return "I32";
  case ElementType::I1: return "BOOL";
  }
  return "?";
}

static int64_t typeBytes(const std::string &type) {
  if (type == "F64" || type == "I64" || type == "U64")
    return 8;
  if (type == "F32" || type == "I32" || type == "U32")
    return 4;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16")
    return 2;
  if (type == "BOOL" || type == "I8" || type == "U8")
    return 1;
  return 0;
}

SafetensorsReader::SafetensorsReader(const std::string &path) : file_(path) {
  auto refuse = [&](const std::string &why) {
    return userError("'{}' is not a usable safetensors file: {}", path, why);
  };
  if (file_.size() < 8)
    throw refuse(fmt::format("{} bytes, expected at least 8", file_.size()));
  uint64_t headerBytes;
  std::memcpy(&headerBytes, file_.data(), 8);
  if (headerBytes > static_cast<uint64_t>(file_.size() - 8))
    throw refuse(fmt::format("its header should have {} bytes, {} are there",
                             headerBytes, file_.size() - 8));
  const char *text = reinterpret_cast<const char *>(file_.data()) + 8;
  Json header = Json::parse(text, text + headerBytes, nullptr, false);
  if (!header.is_object())
    throw refuse("its header is not a JSON object");
  data_ = file_.data() + 8 + headerBytes;
  int64_t available = file_.size() - 8 - static_cast<int64_t>(headerBytes);

  for (auto &[name, value] : header.items()) {
    if (name == "__metadata__") {
      if (value.is_object())
        for (auto &[key, entry] : value.items())
          if (entry.is_string())
            metadata_[key] = entry.get<std::string>();
      continue;
    }
    SafetensorsEntry entry;
    try {
      entry.type = value.at("dtype").get<std::string>();
      entry.shape = value.at("shape").get<std::vector<int64_t>>();
      entry.begin = value.at("data_offsets").at(0).get<int64_t>();
      entry.end = value.at("data_offsets").at(1).get<int64_t>();
    } catch (const Json::exception &) {
      throw refuse(fmt::format("the entry of '{}' lacks dtype, shape or "
                               "data_offsets",
                               name));
    }
    int64_t expected = typeBytes(entry.type);
    if (expected == 0)
      throw refuse(fmt::format("'{}' has the unknown type '{}'", name,
                               entry.type));
    for (int64_t size : entry.shape)
      if (size < 0 || __builtin_mul_overflow(expected, size, &expected))
        throw refuse(fmt::format("'{}' has shape {}", name,
                                 formatShape(entry.shape)));
    if (entry.begin < 0 || entry.end - entry.begin != expected)
      throw refuse(fmt::format("'{}' {} {} needs {} bytes, its offsets say {}",
                               name, entry.type, formatShape(entry.shape),
                               expected, entry.end - entry.begin));
    if (entry.end > available)
      throw refuse(fmt::format("'{}' ends at byte {}, the file has {}", name,
                               entry.end, available));
    entries_[name] = std::move(entry);
  }
}

std::string SafetensorsHeader::serialize() {
  Json header = Json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (auto &[name, entry] : entries) {
    int64_t bytes = typeBytes(entry.type);
    for (int64_t size : entry.shape)
      bytes *= size;
    entry.begin = offset;
    entry.end = offset += bytes;
    header[name] = {{"dtype", entry.type},
                    {"shape", entry.shape},
                    {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string json = header.dump();
  json.resize((json.size() + 7) / 8 * 8, ' '); // tensors start aligned
  uint64_t length = json.size();
  std::string result(8, '\0');
  std::memcpy(result.data(), &length, 8);
  return result + json;
}
