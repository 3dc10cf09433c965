#include "Data.h"
#include "Layout.h"
#include "Safetensors.h"
#include "meshrt/philox.h"

#include <algorithm>
#include <bit>
#include <limits>

using namespace meshrt;

int64_t meshrt::rowCount(const DataInput &input, const DataSource &source) {
  int64_t rows = 1;
  for (const Dim &dim : input.value.dims)
    if (dim.name == source.batchDim ||
        (!source.microDim.empty() && dim.name == source.microDim))
      rows *= dim.size;
  return rows;
}

static uint32_t drawWord(uint32_t seed, int64_t epoch, uint32_t use,
                         uint64_t counter) {
  PhiloxStream stream{seed, hash32("data"), static_cast<uint32_t>(epoch), use};
  return stream.words(counter).w0;
}

/// The image of `index` under the epoch's permutation of [0, count): a Feistel
/// network of four rounds on the least even number of bits that holds `count`,
/// applied again while its result is not below `count`.
static uint64_t permute(uint32_t seed, int64_t epoch, uint64_t index,
                        uint64_t count) {
  unsigned half = (std::bit_width(count - 1) + 1) / 2;
  uint64_t mask = (uint64_t(1) << half) - 1;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (uint32_t round = 0; round < 4; ++round) {
      uint64_t mixed = left ^ (drawWord(seed, epoch, round, right) & mask);
      left = right;
      right = mixed;
    }
    index = left << half | right;
  } while (index >= count);
  return index;
}

/// Where the `drawn`-th row of the training begins among `starts` positions.
/// An epoch cuts them into floor(starts / length) windows side by side, at a
/// random offset, and visits each once, in random order.
static int64_t drawPosition(uint32_t seed, int64_t drawn, int64_t starts,
                            int64_t length) {
  int64_t windows = std::max<int64_t>(starts / length, 1);
  int64_t epoch = drawn / windows;
  int64_t offsets = starts - (windows - 1) * length;
  int64_t offset =
      static_cast<uint64_t>(drawWord(seed, epoch, 4, 0)) * offsets >> 32;
  return offset + permute(seed, epoch, drawn % windows, windows) * length;
}

/// Train and validation parts of `total` items: a separate file or the last
/// tenth.
struct Part {
  int64_t begin, end;
};
static Part partOf(Split split, int64_t total, bool separateValidation) {
  int64_t cut = separateValidation ? total : total * 9 / 10;
  return split == Split::Train ? Part{0, cut} : Part{cut, total};
}

namespace {

//===----------------------------------------------------------------------===//
// Text and tokens: every row is a window of one long sequence
//===----------------------------------------------------------------------===//

class TokenData : public DataSet {
public:
  TokenData(const DataSource &source, Tokens tokens,
            std::optional<Tokens> validation, Vocabulary vocabulary)
      : source_(source), tokens_(std::move(tokens)),
        validation_(std::move(validation)), vocabulary_(std::move(vocabulary)) {
  }

  const Vocabulary *vocabulary() const override { return &vocabulary_; }

  /// Both parts must hold one window at least.
  void check(const Step &step, Split split) const {
    int64_t need = window(step), have = part(split).end - part(split).begin;
    if (have >= need)
      return;
    const Tokens &tokens = tokensOf(split);
    throw userError(
        "'{}' is too short: {} tokens for {}, one sequence needs {}{}",
        tokens.path(), have,
        split == Split::Train ? "training" : "validation", need,
        split == Split::Validation && !validation_
            ? fmt::format(" (the last tenth of {} tokens; --val FILE names a "
                          "separate file)",
                          tokens.size())
            : "");
  }

  int64_t evalRows(const Step &step) const override {
    check(step, Split::Validation);
    Part p = part(Split::Validation);
    // Sequences side by side; the last target may lie one beyond the window.
    int64_t length = sequenceLength(step);
    return (p.end - p.begin - (window(step) - length)) / length;
  }

  Batch batch(const Step &step, const DataInput &input, Split split,
              uint32_t seed, int64_t index) const override {
    check(step, split);
    const Tokens &tokens = tokensOf(split);
    Part p = part(split);
    int64_t rows = rowCount(input, source_), length = lengthOf(input);
    int64_t need = window(step);
    Batch batch(rows * length * sizeof(int32_t));
    auto *out = reinterpret_cast<int32_t *>(batch.data());
    for (int64_t row = 0; row < rows; ++row) {
      int64_t start =
          split == Split::Train
              ? drawPosition(seed, index * rows + row,
                             p.end - p.begin - need + 1, sequenceLength(step))
              : (index * rows + row) % evalRows(step) * sequenceLength(step);
      for (int64_t t = 0; t < length; ++t) {
        int64_t at = p.begin + start + t + input.shift;
        int32_t token = tokens[at];
        if (source_.vocab > 0 && (token < 0 || token >= source_.vocab))
          throw userError("'{}': token {} has id {}, but the model's "
                          "vocabulary has {}",
                          tokens.path(), at, token, source_.vocab);
        out[row * length + t] = token;
      }
    }
    return batch;
  }

private:
  const Tokens &tokensOf(Split split) const {
    return split == Split::Validation && validation_ ? *validation_ : tokens_;
  }
  Part part(Split split) const {
    if (split == Split::Validation && validation_)
      return {0, validation_->size()};
    return partOf(split, tokens_.size(), validation_.has_value());
  }
  int64_t lengthOf(const DataInput &input) const {
    return globalCount(input.value) / rowCount(input, source_);
  }
  int64_t sequenceLength(const Step &step) const {
    int64_t length = 1;
    for (const DataInput &input : step.data)
      length = std::max(length, lengthOf(input));
    return length;
  }
  /// Tokens that one row reaches, from its first to its last shifted one.
  int64_t window(const Step &step) const {
    int64_t need = 1;
    for (const DataInput &input : step.data)
      need = std::max(need, lengthOf(input) + input.shift);
    return need;
  }

  DataSource source_;
  Tokens tokens_;
  std::optional<Tokens> validation_;
  Vocabulary vocabulary_;
};

//===----------------------------------------------------------------------===//
// Tensors: row r of every input is row r of the file's tensor of its name
//===----------------------------------------------------------------------===//

class TensorData : public DataSet {
public:
  TensorData(const DataSource &source, const std::string &file,
             const std::string &validationFile)
      : source_(source), file_(file) {
    if (!validationFile.empty())
      validation_.emplace(validationFile);
  }

  void check(const Step &step) const {
    for (const DataInput &input : step.data) {
      entry(file_, input);
      if (validation_)
        entry(*validation_, input);
    }
    if (step.data.empty())
      return;
    for (Split split : {Split::Train, Split::Validation})
      if (part(split, step.data[0]).end <= part(split, step.data[0]).begin)
        throw userError("'{}' has no rows for {}", reader(split).path(),
                        split == Split::Train ? "training" : "validation");
  }

  int64_t evalRows(const Step &step) const override {
    if (step.data.empty())
      return 1;
    Part p = part(Split::Validation, step.data[0]);
    return p.end - p.begin;
  }

  Batch batch(const Step &step, const DataInput &input, Split split,
              uint32_t seed, int64_t index) const override {
    (void)step;
    const SafetensorsReader &file = reader(split);
    const SafetensorsEntry &source = entry(file, input);
    Part p = part(split, input);
    int64_t rows = rowCount(input, source_);
    int64_t width = globalCount(input.value) / rows;
    bool narrow = source.type == "I64"; // NumPy's default integer
    int64_t size = narrow ? 8 : elementBytes(input.value.type);
    Batch batch(rows * width * elementBytes(input.value.type));
    for (int64_t row = 0; row < rows; ++row) {
      int64_t from = split == Split::Train
                         ? drawPosition(seed, index * rows + row,
                                        p.end - p.begin, 1)
                         : (index * rows + row) % (p.end - p.begin);
      const uint8_t *bytes =
          file.bytes(source) + (p.begin + from) * width * size;
      if (narrow)
        narrowRow(file, input, bytes, width,
                  reinterpret_cast<int32_t *>(batch.data()) + row * width);
      else
        std::memcpy(batch.data() + row * width * size, bytes, width * size);
    }
    return batch;
  }

private:
  const SafetensorsReader &reader(Split split) const {
    return split == Split::Validation && validation_ ? *validation_ : file_;
  }

  Part part(Split split, const DataInput &input) const {
    const SafetensorsReader &file = reader(split);
    int64_t rows = entry(file, input).shape[0];
    if (split == Split::Validation && validation_)
      return {0, rows};
    return partOf(split, rows, validation_.has_value());
  }

  /// The file's tensor for an input, its type and row shape checked.
  const SafetensorsEntry &entry(const SafetensorsReader &file,
                                const DataInput &input) const {
    std::vector<std::string> names;
    for (const auto &[name, e] : file.entries())
      names.push_back(name);
    auto found = file.entries().find(input.name);
    if (found == file.entries().end())
      throw userError("'{}' has no tensor '{}'{}", file.path(), input.name,
                      didYouMean(input.name, names));
    const SafetensorsEntry &entry = found->second;
    std::vector<int64_t> expected;
    for (const Dim &dim : input.value.dims)
      if (dim.name != source_.batchDim && dim.name != source_.microDim)
        expected.push_back(dim.size);
    bool typeFits = entry.type == safetensorsType(input.value.type) ||
                    (entry.type == "I64" &&
                     input.value.type == ElementType::I32);
    if (!typeFits || entry.shape.empty() ||
        !std::equal(expected.begin(), expected.end(), entry.shape.begin() + 1,
                    entry.shape.end())) {
      expected.insert(expected.begin(), 0);
      std::string shape = formatShape(expected);
      shape.replace(1, 1, "rows");
      throw userError("'{}' is {} {} in '{}', expected {} {}", input.name,
                      entry.type, formatShape(entry.shape), file.path(),
                      safetensorsType(input.value.type), shape);
    }
    return entry;
  }

  static void narrowRow(const SafetensorsReader &file, const DataInput &input,
                        const uint8_t *bytes, int64_t width, int32_t *out) {
    for (int64_t i = 0; i < width; ++i) {
      int64_t value;
      std::memcpy(&value, bytes + i * 8, 8);
      if (value < std::numeric_limits<int32_t>::min() ||
          value > std::numeric_limits<int32_t>::max())
        throw userError("'{}' in '{}' holds {}, which does not fit 32 bits",
                        input.name, file.path(), value);
      out[i] = static_cast<int32_t>(value);
    }
  }

  DataSource source_;
  SafetensorsReader file_;
  std::optional<SafetensorsReader> validation_;
};

} // namespace

static bool endsWith(const std::string &text, const std::string &suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

static std::unique_ptr<DataSet> openTokens(const DataSource &source,
                                           const std::string &file,
                                           const std::string &validationFile,
                                           const std::string &characters) {
  auto first = std::make_unique<MappedFile>(file);
  std::unique_ptr<MappedFile> second;
  if (!validationFile.empty())
    second = std::make_unique<MappedFile>(validationFile);

  if (endsWith(file, ".bin") || source.kind == DataSource::Tokens) {
    std::optional<Tokens> validation;
    if (second)
      validation = Tokens::fromBin(std::move(second));
    return std::make_unique<TokenData>(source, Tokens::fromBin(std::move(first)),
                                       std::move(validation),
                                       Vocabulary::ids());
  }

  Vocabulary vocabulary = Vocabulary::bytes();
  if (!characters.empty())
    vocabulary = Vocabulary::fromCharacters(characters);
  else if (source.vocab > 0 && source.vocab < 256)
    vocabulary = Vocabulary::ofText(*first);
  if (source.vocab > 0 && vocabulary.size() > source.vocab)
    throw userError("'{}' has {} distinct characters, but the model's "
                    "vocabulary has {}; compile the model with a larger one "
                    "(256 or more: bytes)",
                    file, vocabulary.size(), source.vocab);
  Tokens tokens = Tokens::fromText(std::move(first), vocabulary);
  std::optional<Tokens> validation;
  if (second)
    validation = Tokens::fromText(std::move(second), vocabulary);
  return std::make_unique<TokenData>(source, std::move(tokens),
                                     std::move(validation),
                                     std::move(vocabulary));
}

std::unique_ptr<DataSet> meshrt::openData(const Program &program,
                                          const std::string &file,
                                          const std::string &validationFile,
                                          const std::string &characters) {
  const DataSource &source = program.data;
  if (source.kind == DataSource::None) {
    if (!file.empty() || !validationFile.empty())
      throw userError("model '{}' takes no data, but {} is given", program.name,
                      file.empty() ? "--val" : "--data");
    return nullptr;
  }
  const std::string &path = file.empty() ? source.file : file;
  if (path.empty())
    throw userError("model '{}' names no data file; give --data FILE",
                    program.name);
  if (source.kind != DataSource::Tensors)
    return openTokens(source, path, validationFile, characters);
  auto data = std::make_unique<TensorData>(source, path, validationFile);
  data->check(program.trainStep);
  return data;
}
