#include "common/Support.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace meshrt;

TEST(Support, Suggestions) {
  EXPECT_EQ(didYouMean("--stpes", {"--steps", "--seed"}), "; did you mean '--steps'?");
  EXPECT_EQ(didYouMean("modle", {"data", "model"}), "; did you mean 'model'?");
  EXPECT_EQ(didYouMean("xyz", {"data", "model"}), "");
  EXPECT_EQ(didYouMean("", {}), "");
}

TEST(Support, Formats) {
  EXPECT_EQ(groupDigits(0), "0");
  EXPECT_EQ(groupDigits(999), "999");
  EXPECT_EQ(groupDigits(1000), "1,000");
  EXPECT_EQ(groupDigits(-1234567), "-1,234,567");
  EXPECT_EQ(groupDigits(-123), "-123");
  EXPECT_EQ(formatDuration(0.4), "0:00");
  EXPECT_EQ(formatDuration(125), "2:05");
  EXPECT_EQ(formatDuration(3723), "1:02:03");
  EXPECT_EQ(formatShape({50257, 768}), "[50257, 768]");
  EXPECT_EQ(formatShape({}), "[]");
}

TEST(Support, AtomicFileReplacesOnlyOnCommit) {
  std::string folder = testing::TempDir() + "atomic";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::string path = folder + "/file";
  std::ofstream(path) << "old";
  {
    AtomicFile file(path);
    file.write("new", 3);
  }
  EXPECT_EQ(MappedFile(path).size(), 3);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(MappedFile(path).data()), 3), "old");
  {
    AtomicFile file(path);
    file.write("newer", 5);
    file.commit();
  }
  MappedFile mapped(path);
  EXPECT_EQ(std::string(reinterpret_cast<const char *>(mapped.data()), mapped.size()), "newer");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "a temporary file was left";
  EXPECT_THROW(AtomicFile(folder + "/no/such/folder"), Error);
}

TEST(Support, MappedFileErrors) {
  EXPECT_THROW(MappedFile("/no/such/file"), Error);
  EXPECT_THROW(MappedFile("/tmp"), Error);
}
