#include "common/Data.h"
#include "common/Safetensors.h"

#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace meshrt;

static std::string writeFile(const std::string &name, const std::string &content) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

template <typename T> static std::string asBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

/// A llm.c file of 2-byte tokens.
static std::string llmc(const std::vector<uint16_t> &tokens, int32_t version = 1) {
  std::vector<int32_t> header(256);
  header[0] = 20240520;
  header[1] = version;
  header[2] = static_cast<int32_t>(tokens.size());
  return asBytes(header) + asBytes(tokens);
}

static Program textProgram(DataSource::Kind kind, int64_t vocab, int64_t micros = 1) {
  Program program;
  program.name = "m";
  program.data = {kind, "", "batch", micros > 1 ? "micro" : "", "seq", vocab};
  std::vector<Dim> dims;
  if (micros > 1)
    dims.push_back({"micro", micros, micros, 32 / micros});
  dims.push_back({"batch", 4 / micros, 4 / micros, 8});
  dims.push_back({"seq", 8, 8, 1});
  program.trainStep.data = {{"tokens", {ElementType::I32, 0, dims}, 0}, {"targets", {ElementType::I32, 256, dims}, 1}};
  program.evalStep = program.trainStep;
  return program;
}

static std::vector<int32_t> rowsOf(const DataSet &data, const Program &program, size_t input, Split split, uint32_t seed, int64_t index) {
  Batch batch = data.batch(program.trainStep, program.trainStep.data[input], split, seed, index);
  std::vector<int32_t> values(batch.size() / 4);
  std::memcpy(values.data(), batch.data(), batch.size());
  return values;
}

template <typename F> static std::string messageOf(F function) {
  try {
    function();
  } catch (const Error &error) {
    EXPECT_EQ(error.exitCode, Error::kUser);
    return error.what();
  }
  return "accepted";
}

static std::string counting(int64_t bytes) {
  std::string text(bytes, '\0');
  for (int64_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>(i % 251);
  return text;
}

TEST(Data, TargetsAreTokensShiftedByOne) {
  Program program = textProgram(DataSource::Text, 256);
  auto data = openData(program, writeFile("count.txt", counting(1000)), "", "");
  for (int64_t step = 0; step < 50; ++step) {
    std::vector<int32_t> tokens = rowsOf(*data, program, 0, Split::Train, 1, step), targets = rowsOf(*data, program, 1, Split::Train, 1, step);
    for (size_t i = 0; i < 32; ++i)
      EXPECT_EQ(targets[i], (tokens[i] + 1) % 251);
    for (size_t i = 0; i < 32; ++i)
      if (i % 8) {
        EXPECT_EQ(tokens[i], (tokens[i - 1] + 1) % 251);
      }
  }
}

// Every position of the training part where a sequence fits is drawn, none of
// the validation part.
TEST(Data, DrawsCoverTheTrainingPartOnly) {
  Program program = textProgram(DataSource::Tokens, 0);
  std::vector<uint16_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  auto data = openData(program, writeFile("hundred.bin", asBytes(tokens)), "", "");
  std::set<int32_t> starts;
  for (int64_t step = 0; step < 1000; ++step)
    for (size_t row = 0; row < 4; ++row)
      starts.insert(rowsOf(*data, program, 0, Split::Train, 3, step)[row * 8]);
  EXPECT_EQ(*starts.begin(), 0);
  EXPECT_EQ(*starts.rbegin(), 81); // 81 .. 88 and the last target 89
  EXPECT_EQ(starts.size(), 82u);
  // Validation: 90 .. 99, one sequence of 8 and its last target.
  EXPECT_EQ(data->evalRows(program.evalStep), 1);
  EXPECT_EQ(rowsOf(*data, program, 0, Split::Validation, 3, 5)[0], 90);
}

// 82 positions make ten windows of 8 an epoch; an epoch may end in the middle of
// a batch.
TEST(Data, EpochsVisitEveryWindowOnce) {
  Program program = textProgram(DataSource::Tokens, 0);
  std::vector<uint16_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  auto data = openData(program, writeFile("hundred.bin", asBytes(tokens)), "", "");
  std::vector<int32_t> starts;
  for (int64_t step = 0; step < 50; ++step)
    for (size_t row = 0; row < 4; ++row)
      starts.push_back(rowsOf(*data, program, 0, Split::Train, 3, step)[row * 8]);
  std::set<std::vector<int32_t>> orders;
  for (size_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<int32_t> order(starts.begin() + epoch * 10, starts.begin() + epoch * 10 + 10);
    std::set<int32_t> windows(order.begin(), order.end());
    EXPECT_EQ(windows.size(), 10u) << "epoch " << epoch;
    EXPECT_EQ(*windows.rbegin() - *windows.begin(), 72) << "epoch " << epoch;
    for (int32_t start : windows)
      EXPECT_EQ((start - *windows.begin()) % 8, 0);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 20u);
}

TEST(Data, DrawsDependOnSeedAndStep) {
  Program program = textProgram(DataSource::Text, 256);
  auto data = openData(program, writeFile("count.txt", counting(100000)), "", "");
  std::vector<int32_t> first = rowsOf(*data, program, 0, Split::Train, 1, 0);
  EXPECT_EQ(rowsOf(*data, program, 0, Split::Train, 1, 0), first);
  EXPECT_NE(rowsOf(*data, program, 0, Split::Train, 2, 0), first);
  EXPECT_NE(rowsOf(*data, program, 0, Split::Train, 1, 1), first);
}

TEST(Data, MicrobatchesSeeTheSameRows) {
  Program whole = textProgram(DataSource::Text, 256), cut = textProgram(DataSource::Text, 256, 2);
  std::string path = writeFile("count.txt", counting(100000));
  auto a = openData(whole, path, "", ""), b = openData(cut, path, "", "");
  EXPECT_EQ(rowsOf(*a, whole, 0, Split::Train, 1, 7), rowsOf(*b, cut, 0, Split::Train, 1, 7));
}

TEST(Data, ValidationWalksInOrder) {
  Program program = textProgram(DataSource::Tokens, 0);
  std::vector<uint16_t> tokens(1000), validation(50);
  std::iota(validation.begin(), validation.end(), 100);
  auto data = openData(program, writeFile("train.bin", asBytes(tokens)), writeFile("val.bin", asBytes(validation)), "");
  EXPECT_EQ(data->evalRows(program.evalStep), 6); // (50 - 1) / 8
  std::vector<int32_t> first = rowsOf(*data, program, 0, Split::Validation, 0, 0), second = rowsOf(*data, program, 0, Split::Validation, 0, 1);
  EXPECT_EQ(first[0], 100);
  EXPECT_EQ(first[8], 108);
  EXPECT_EQ(second[0], 132);
  EXPECT_EQ(second[16], 100); // row 6 wraps around
}

TEST(Data, CharactersAreRanksOfCodePoints) {
  Program program = textProgram(DataSource::Text, 65);
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "b\xc3\xa9" "a\n";
  auto data = openData(program, writeFile("chars.txt", text), "", "");
  const Vocabulary &vocabulary = *data->vocabulary();
  EXPECT_EQ(vocabulary.size(), 4);
  EXPECT_EQ(vocabulary.characters(), "\nab\xc3\xa9");
  EXPECT_EQ(vocabulary.decode(3), "\xc3\xa9");
  std::vector<int32_t> tokens = rowsOf(*data, program, 0, Split::Validation, 0, 0);
  EXPECT_EQ((std::vector<int32_t>(tokens.begin(), tokens.begin() + 4)), (std::vector<int32_t>{2, 3, 1, 0}));
}

TEST(Data, AnyBytesAreCharactersAndComeBack) {
  std::string text = "ok\xff\x80\xc3(\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x82";
  MappedFile file(writeFile("raw.txt", text));
  Vocabulary vocabulary = Vocabulary::fromCharacters(Vocabulary::ofText(file).characters());
  std::string back;
  for (int32_t token : vocabulary.encode(file.data(), file.size(), "x"))
    back += vocabulary.decode(token);
  EXPECT_EQ(back, text);
}

TEST(Data, TokenFiles) {
  std::vector<uint16_t> tokens(500);
  std::iota(tokens.begin(), tokens.end(), 0);
  Program program = textProgram(DataSource::Tokens, 50257);
  for (const std::string &content : {llmc(tokens), asBytes(tokens)}) {
    auto data = openData(program, writeFile("tokens.bin", content), "", "");
    EXPECT_EQ(rowsOf(*data, program, 0, Split::Validation, 0, 0)[0], 450);
  }
  std::vector<int32_t> wide(256), ids(500, 100000);
  wide[0] = 20240801;
  wide[1] = 7;
  wide[2] = 500;
  program = textProgram(DataSource::Tokens, 128256);
  auto data = openData(program, writeFile("llama.bin", asBytes(wide) + asBytes(ids)), "", "");
  EXPECT_EQ(rowsOf(*data, program, 0, Split::Train, 0, 0)[0], 100000);
}

TEST(Data, RefusesTokenFiles) {
  Program program = textProgram(DataSource::Tokens, 300);
  std::string path = testing::TempDir() + "bad.bin";
  auto message = [&](const std::string &content) {
    writeFile("bad.bin", content);
    return messageOf([&] {
      auto data = openData(program, path, "", "");
      for (int64_t step = 0; step < 200; ++step)
        rowsOf(*data, program, 0, Split::Train, 0, step);
    });
  };
  std::vector<uint16_t> tokens(100, 5);
  std::string good = llmc(tokens);
  EXPECT_EQ(message(good.substr(0, good.size() - 3)), "'" + path + "' is truncated or damaged: 1221 bytes, but its header says 100 tokens, that is 1224 bytes");
  EXPECT_EQ(message(llmc(tokens, 2)), "'" + path + "': llm.c token file of version 2, expected 1");
  EXPECT_EQ(message("odd"), "'" + path + "' is not a token file: 3 bytes, which is neither llm.c's header nor a whole number of 2-byte tokens");
  EXPECT_EQ(message(llmc({1, 2, 3})), "'" + path + "' is too short: 2 tokens for training, one sequence needs 9");
  EXPECT_EQ(message(""), "'" + path + "' is too short: 0 tokens for training, one sequence needs 9");
  std::vector<uint16_t> foreign(20, 5);
  foreign[3] = 61234;
  EXPECT_EQ(message(asBytes(foreign)), "'" + path + "': token 3 has id 61234, but the model's vocabulary has 300");
}

TEST(Data, RefusesTexts) {
  Program program = textProgram(DataSource::Text, 4);
  std::string path = writeFile("wide.txt", "abcdefg");
  EXPECT_EQ(messageOf([&] { openData(program, path, "", ""); }),
            "'" + path + "' has 7 distinct characters, but the model's vocabulary has 4; compile the model with a larger one (256 or more: bytes)");
  std::string val = writeFile("val.txt", "abz");
  program.data.vocab = 10;
  EXPECT_EQ(messageOf([&] { openData(program, path, val, ""); }), "'" + val + "': byte 2 is 'z' (U+007A), which the training text does not contain");
  EXPECT_EQ(messageOf([&] { openData(program, "/no/such.txt", "", ""); }), "cannot open '/no/such.txt': No such file or directory");
  EXPECT_EQ(messageOf([&] { openData(program, "", "", ""); }), "model 'm' names no data file; give --data FILE");
  // 60 tokens: enough to train, but the last tenth holds no sequence.
  std::string little = writeFile("little.txt", std::string(60, 'a'));
  auto data = openData(program, little, "", "");
  EXPECT_EQ(messageOf([&] { data->evalRows(program.evalStep); }),
            "'" + little + "' is too short: 6 tokens for validation, one sequence needs 9 (the last tenth of 60 tokens; --val FILE names a separate file)");
}

TEST(Data, ModelsWithoutData) {
  Program program;
  program.name = "toy";
  EXPECT_EQ(openData(program, "", "", ""), nullptr);
  EXPECT_EQ(messageOf([&] { openData(program, "x.txt", "", ""); }), "model 'toy' takes no data, but --data is given");
}

static std::string tensorFile(const char *name, const std::vector<int64_t> &xShape, const std::string &labelType) {
  SafetensorsHeader header;
  header.entries = {{"label", {labelType, {20}}}, {"x", {"F32", xShape}}};
  std::string content = header.serialize();
  if (labelType == "I64") {
    std::vector<int64_t> labels(20);
    std::iota(labels.begin(), labels.end(), 0);
    content += asBytes(labels);
  } else {
    content += asBytes(std::vector<int32_t>(20, 1));
  }
  int64_t count = 1;
  for (int64_t size : xShape)
    count *= size;
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 0.0f);
  return writeFile(name, content + asBytes(x));
}

TEST(Data, TensorRows) {
  Program program;
  program.name = "mlp";
  program.data = {DataSource::Tensors, "", "batch", "", "", 0};
  program.trainStep.data = {{"x", {ElementType::F32, 0, {{"batch", 6, 6, 3}, {"features", 3, 3, 1}}}, 0}, {"label", {ElementType::I32, 128, {{"batch", 6, 6, 1}}}, 0}};
  program.evalStep = program.trainStep;
  auto data = openData(program, tensorFile("rows.safetensors", {20, 3}, "I64"), "", "");
  for (int64_t step = 0; step < 20; ++step) {
    Batch x = data->batch(program.trainStep, program.trainStep.data[0], Split::Train, 0, step);
    std::vector<int32_t> labels = rowsOf(*data, program, 1, Split::Train, 0, step);
    for (size_t row = 0; row < 6; ++row) {
      float first;
      std::memcpy(&first, x.data() + row * 12, 4);
      EXPECT_EQ(first, 3.0f * labels[row]); // inputs stay together
      EXPECT_LT(labels[row], 18);           // the last tenth is for validation
    }
  }
  std::set<int32_t> epoch;
  for (int64_t step = 0; step < 3; ++step)
    for (int32_t label : rowsOf(*data, program, 1, Split::Train, 0, step))
      epoch.insert(label);
  EXPECT_EQ(epoch.size(), 18u); // three batches of six visit every row
  EXPECT_EQ(data->evalRows(program.evalStep), 2);
  EXPECT_EQ(rowsOf(*data, program, 1, Split::Validation, 0, 0)[0], 18);

  std::string wrong = tensorFile("wrong.safetensors", {20, 4}, "I64");
  EXPECT_EQ(messageOf([&] { openData(program, wrong, "", ""); }), "'x' is F32 [20, 4] in '" + wrong + "', expected F32 [rows, 3]");
  program.trainStep.data[1].name = "lable";
  std::string path = tensorFile("rows.safetensors", {20, 3}, "I64");
  EXPECT_EQ(messageOf([&] { openData(program, path, "", ""); }), "'" + path + "' has no tensor 'lable'; did you mean 'label'?");
}
