#include "Tokens.h"

#include <algorithm>
#include <set>

using namespace meshrt;

/// Bytes that are not UTF-8 count as code points of their own, in the private
/// use area, so that any file can be read and its table still stored as UTF-8.
constexpr char32_t kRawByte = 0xf700;

/// The code point at text[i]; i moves past it.
static char32_t nextCodePoint(const uint8_t *text, int64_t bytes, int64_t &i) {
  uint8_t lead = text[i++];
  if (lead < 0x80)
    return lead;
  int extra = lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc2 ? 1 : 0;
  if (lead >= 0xf5 || extra == 0 || i + extra > bytes)
    return kRawByte + lead;
  char32_t code = lead & (0x3f >> extra);
  for (int k = 0; k < extra; ++k) {
    if ((text[i + k] & 0xc0) != 0x80)
      return kRawByte + lead;
    code = code << 6 | (text[i + k] & 0x3f);
  }
  i += extra;
  return code;
}

static std::string toUtf8(char32_t code) {
  std::string text;
  if (code < 0x80)
    text += static_cast<char>(code);
  else if (code < 0x800)
    text += {static_cast<char>(0xc0 | code >> 6),
             static_cast<char>(0x80 | (code & 0x3f))};
  else if (code < 0x10000)
    text += {static_cast<char>(0xe0 | code >> 12),
             static_cast<char>(0x80 | (code >> 6 & 0x3f)),
             static_cast<char>(0x80 | (code & 0x3f))};
  else
    text += {static_cast<char>(0xf0 | code >> 18),
             static_cast<char>(0x80 | (code >> 12 & 0x3f)),
             static_cast<char>(0x80 | (code >> 6 & 0x3f)),
             static_cast<char>(0x80 | (code & 0x3f))};
  return text;
}

Vocabulary Vocabulary::fromCharacters(const std::string &characters) {
  Vocabulary result(Characters);
  const auto *text = reinterpret_cast<const uint8_t *>(characters.data());
  int64_t bytes = static_cast<int64_t>(characters.size());
  for (int64_t i = 0; i < bytes;) {
    char32_t code = nextCodePoint(text, bytes, i);
    result.ids_[code] = static_cast<int32_t>(result.characters_.size());
    result.characters_.push_back(code);
  }
  return result;
}

Vocabulary Vocabulary::ofText(const MappedFile &text) {
  std::set<char32_t> distinct;
  char32_t previous = 0xffffffff;
  for (int64_t i = 0; i < text.size();) {
    char32_t code = nextCodePoint(text.data(), text.size(), i);
    if (code != previous)
      distinct.insert(previous = code);
  }
  std::string characters;
  for (char32_t code : distinct)
    characters += toUtf8(code);
  return fromCharacters(characters);
}

int64_t Vocabulary::size() const {
  switch (kind_) {
  case Bytes: return 256;
  case Characters: return static_cast<int64_t>(characters_.size());
  case Ids: return 0;
  }
  return 0;
}

std::string Vocabulary::characters() const {
  std::string text;
  for (char32_t code : characters_)
    text += toUtf8(code);
  return text;
}

std::vector<int32_t> Vocabulary::encode(const uint8_t *text, int64_t bytes,
                                        const std::string &where) const {
  if (kind_ == Bytes)
    return std::vector<int32_t>(text, text + bytes);
  std::vector<int32_t> result;
  result.reserve(bytes);
  for (int64_t i = 0; i < bytes;) {
    int64_t at = i;
    char32_t code = nextCodePoint(text, bytes, i);
    auto id = ids_.find(code);
    if (id == ids_.end())
      throw userError("{}: byte {} is {} (U+{:04X}), which the training text "
                      "does not contain",
                      where, at,
                      code >= 0x20
                          ? fmt::format("'{}'", toUtf8(code))
                          : std::string("a control character"),
                      static_cast<uint32_t>(code));
    result.push_back(id->second);
  }
  return result;
}

std::string Vocabulary::decode(int32_t token) const {
  switch (kind_) {
  case Bytes: return std::string(1, static_cast<char>(token));
  case Characters:
    if (token >= size())
      return "";
    if (char32_t code = characters_[token]; (code & ~char32_t(0xff)) == kRawByte)
      return std::string(1, static_cast<char>(code & 0xff));
    return toUtf8(characters_[token]);
  case Ids: return fmt::format("{} ", token);
  }
  return "";
}

Tokens Tokens::fromText(std::unique_ptr<MappedFile> text,
                        const Vocabulary &vocabulary) {
  Tokens tokens;
  tokens.path_ = text->path();
  if (vocabulary.kind() == Vocabulary::Bytes) {
    tokens.bytes_ = text->data();
    tokens.size_ = text->size();
    tokens.file_ = std::move(text);
    return tokens;
  }
  tokens.decoded_ = vocabulary.encode(text->data(), text->size(),
                                      fmt::format("'{}'", text->path()));
  tokens.bytes_ = reinterpret_cast<const uint8_t *>(tokens.decoded_.data());
  tokens.width_ = 4;
  tokens.size_ = static_cast<int64_t>(tokens.decoded_.size());
  return tokens;
}

Tokens Tokens::fromBin(std::unique_ptr<MappedFile> file) {
  // llm.c: 256 int32 of header {magic, version, count, 0...}, then the tokens.
  constexpr int32_t kGpt2Magic = 20240520, kLlama3Magic = 20240801;
  constexpr int64_t kHeaderBytes = 1024;
  Tokens tokens;
  tokens.path_ = file->path();
  int32_t header[3] = {};
  if (file->size() >= 12)
    std::memcpy(header, file->data(), 12);
  bool gpt2 = header[0] == kGpt2Magic, llama3 = header[0] == kLlama3Magic;
  if (gpt2 || llama3) {
    int32_t version = gpt2 ? 1 : 7;
    if (header[1] != version)
      throw userError("'{}': llm.c token file of version {}, expected {}",
                      file->path(), header[1], version);
    tokens.width_ = gpt2 ? 2 : 4;
    tokens.size_ = header[2];
    int64_t expected = kHeaderBytes + tokens.size_ * tokens.width_;
    if (tokens.size_ < 0 || file->size() != expected)
      throw userError("'{}' is truncated or damaged: {} bytes, but its header "
                      "says {} tokens, that is {} bytes",
                      file->path(), file->size(), tokens.size_, expected);
    tokens.bytes_ = file->data() + kHeaderBytes;
  } else {
    // nanoGPT: uint16 tokens, nothing else.
    if (file->size() % 2 != 0)
      throw userError("'{}' is not a token file: {} bytes, which is neither "
                      "llm.c's header nor a whole number of 2-byte tokens",
                      file->path(), file->size());
    tokens.width_ = 2;
    tokens.size_ = file->size() / 2;
    tokens.bytes_ = file->data();
  }
  tokens.file_ = std::move(file);
  return tokens;
}
