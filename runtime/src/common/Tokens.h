//===- Tokens.h - Token sequences from text and .bin files ----------------===//
//
// Formats: docs/data.md. Files stay mapped; only text read as characters is
// decoded into memory.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_COMMON_TOKENS_H
#define MESHRT_SRC_COMMON_TOKENS_H

#include "Support.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace meshrt {

/// A bijection between token ids and text. Bytes: id = byte. Characters: id =
/// rank of the code point among those of the training text. Ids: none; tokens
/// print as numbers.
class Vocabulary {
public:
  enum Kind { Bytes, Characters, Ids };

  static Vocabulary bytes() { return Vocabulary(Bytes); }
  static Vocabulary ids() { return Vocabulary(Ids); }
  /// `characters`: distinct code points in increasing order, as UTF-8.
  static Vocabulary fromCharacters(const std::string &characters);
  /// The distinct code points of a text.
  static Vocabulary ofText(const MappedFile &text);

  Kind kind() const { return kind_; }
  int64_t size() const;
  /// UTF-8 of all characters in order; empty unless Characters.
  std::string characters() const;

  /// Throws Error for a character outside the vocabulary, naming `where`.
  std::vector<int32_t> encode(const uint8_t *text, int64_t bytes,
                              const std::string &where) const;
  std::string decode(int32_t token) const;

private:
  explicit Vocabulary(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::vector<char32_t> characters_;
  std::unordered_map<char32_t, int32_t> ids_;
};

/// A sequence of tokens with random access.
class Tokens {
public:
  /// A text under `vocabulary`.
  static Tokens fromText(std::unique_ptr<MappedFile> text,
                         const Vocabulary &vocabulary);
  /// A llm.c or nanoGPT file of token ids. Throws Error if it is truncated or
  /// of another format.
  static Tokens fromBin(std::unique_ptr<MappedFile> file);

  int64_t size() const { return size_; }
  const std::string &path() const { return path_; }
  int32_t operator[](int64_t i) const {
    switch (width_) {
    case 1: return bytes_[i];
    case 2: return load<uint16_t>(i);
    default: return load<int32_t>(i);
    }
  }

private:
  template <typename T> T load(int64_t i) const {
    T value;
    std::memcpy(&value, bytes_ + i * sizeof(T), sizeof(T));
    return value;
  }

  std::string path_;
  std::unique_ptr<MappedFile> file_;
  std::vector<int32_t> decoded_;
  const uint8_t *bytes_ = nullptr;
  int width_ = 1;
  int64_t size_ = 0;
};

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_TOKENS_H
