#include "common/Safetensors.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace meshrt;

static std::string writeFile(const std::string &name, const std::string &content) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

static std::string withHeader(const std::string &json, const std::string &data) {
  uint64_t length = json.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + json + data;
}

TEST(Safetensors, RoundTrip) {
  SafetensorsHeader header;
  header.entries = {{"a.b", {"F32", {2, 3}}}, {"c", {"I64", {}}}, {"empty", {"BF16", {0, 4}}}};
  header.metadata = {{"step", "7"}, {"characters", "\n\"\\\xc3\xa9"}};
  std::string text = header.serialize();
  EXPECT_EQ(text.size() % 8, 0u);
  float values[6] = {1, 2, 3, 4, 5, 6};
  int64_t number = -5;
  std::string path = writeFile("roundtrip.safetensors", text + std::string(reinterpret_cast<char *>(values), 24) + std::string(reinterpret_cast<char *>(&number), 8));
  SafetensorsReader reader(path);
  ASSERT_EQ(reader.entries().size(), 3u);
  const SafetensorsEntry &a = reader.entries().at("a.b");
  EXPECT_EQ(a.type, "F32");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(reader.bytes(a), values, 24), 0);
  EXPECT_EQ(std::memcmp(reader.bytes(reader.entries().at("c")), &number, 8), 0);
  EXPECT_EQ(reader.metadata().at("characters"), "\n\"\\\xc3\xa9");
}

// Written by the format's description, not by our writer.
TEST(Safetensors, ReadsForeignFiles) {
  float values[2] = {1.5f, -2};
  std::string path = writeFile("foreign.safetensors", withHeader(R"({"w":{"shape":[2],"dtype":"F32","data_offsets":[0,8]}} )", std::string(reinterpret_cast<char *>(values), 8)));
  SafetensorsReader reader(path);
  EXPECT_EQ(std::memcmp(reader.bytes(reader.entries().at("w")), values, 8), 0);
}

TEST(Safetensors, RefusesDamagedFiles) {
  auto message = [](const std::string &content) {
    std::string path = writeFile("damaged.safetensors", content);
    std::string prefix = "'" + path + "' is not a usable safetensors file: ";
    try {
      SafetensorsReader reader(path);
    } catch (const Error &error) {
      std::string text = error.what();
      EXPECT_EQ(text.substr(0, prefix.size()), prefix);
      return text.substr(prefix.size());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("abc"), "3 bytes, expected at least 8");
  EXPECT_EQ(message(withHeader("{}", "").substr(0, 9)), "its header should have 2 bytes, 1 are there");
  EXPECT_EQ(message(std::string(100, '\xff')), "its header should have 18446744073709551615 bytes, 92 are there");
  EXPECT_EQ(message(withHeader("[1, 2]", "")), "its header is not a JSON object");
  EXPECT_EQ(message(withHeader("{\"w\":", "")), "its header is not a JSON object");
  EXPECT_EQ(message(withHeader(R"({"w":{"dtype":"F32"}})", "")), "the entry of 'w' lacks dtype, shape or data_offsets");
  EXPECT_EQ(message(withHeader(R"({"w":{"dtype":"Q3","shape":[1],"data_offsets":[0,4]}})", "1234")), "'w' has the unknown type 'Q3'");
  EXPECT_EQ(message(withHeader(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234")), "'w' F32 [2] needs 8 bytes, its offsets say 4");
  EXPECT_EQ(message(withHeader(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "1234")), "'w' ends at byte 8, the file has 4");
  EXPECT_EQ(message(withHeader(R"({"w":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", "")), "'w' has shape [4611686018427387904]");
}
