// Whole runs of the specimen (runtime/specimen), a small GPT on several meshes.
#include "meshrt/types.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using nlohmann::json;

namespace {

struct Outcome {
  int exitCode;
  std::string output; // both streams
};

/// "specimen_2_1": data=2, model=1.
std::string specimen(int data, int model) {
  return std::string(SPECIMEN_FOLDER "/specimen_") + std::to_string(data) + "_" + std::to_string(model);
}

Outcome run(const std::string &command) {
  std::FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  Outcome outcome;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
    outcome.output.append(buffer, n);
  int status = pclose(pipe);
  outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

std::vector<json> readLog(const std::string &path) {
  std::ifstream file(path);
  std::vector<json> entries;
  for (std::string line; std::getline(file, line);)
    entries.push_back(json::parse(line));
  return entries;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Trainer : public testing::Test {
protected:
  /// A text of 26 letters and more with some structure to learn.
  void SetUp() override {
    folder = testing::TempDir() + "trainer_" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    std::ofstream text(folder + "/text.txt");
    for (int i = 0; i < 3000; ++i)
      text << "the " << char('a' + i * 7 % 26) << " of " << char('a' + i * i % 26) << (i % 5 ? " " : ".\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string train(const std::string &program, const std::string &flags) {
    std::string command = program + " train --data " + folder + "/text.txt " + flags;
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.exitCode, 0) << command << "\n" << outcome.output;
    return outcome.output;
  }
  std::string at(const std::string &name) { return folder + "/" + name; }

  std::string folder;
};

} // namespace

TEST_F(Trainer, EveryMeshTrainsAlike) {
  std::vector<json> expected;
  for (auto [data, model] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}}) {
    std::string log = at("log_" + std::to_string(data) + std::to_string(model));
    train(specimen(data, model), "--steps 30 --log " + log);
    std::vector<json> entries = readLog(log);
    ASSERT_EQ(entries.size(), 31u);
    if (expected.empty())
      expected = entries;
    for (size_t i = 0; i < 30; ++i) {
      double loss = expected[i]["loss"], norm = expected[i]["grad_norm"];
      EXPECT_NEAR(entries[i]["loss"].get<double>(), loss, 1e-5 * loss) << data << " x " << model << ", step " << i;
      EXPECT_NEAR(entries[i]["grad_norm"].get<double>(), norm, 1e-5 * norm) << data << " x " << model << ", step " << i;
    }
    EXPECT_NEAR(entries[30]["val_loss"].get<double>(), expected[30]["val_loss"].get<double>(), 1e-5);
    EXPECT_NEAR(entries[30]["val_perplexity"].get<double>(), std::exp(entries[30]["val_loss"].get<double>()), 1e-9);
  }
  // ln 61 = 4.11 at the start.
  EXPECT_NEAR(expected[0]["loss"].get<double>(), 4.11, 0.1);
  EXPECT_LT(expected[29]["loss"].get<double>(), expected[0]["loss"].get<double>() - 0.1);
}

TEST_F(Trainer, ResumesWithTheSameBits) {
  train(specimen(2, 2), "--steps 12 --save " + at("whole") + " --log " + at("whole.log"));
  train(specimen(2, 2), "--steps 5 --save " + at("half"));
  train(specimen(2, 2), "--steps 12 --load " + at("half") + " --save " + at("resumed") + " --log " + at("resumed.log"));
  EXPECT_EQ(readFile(at("whole")), readFile(at("resumed")));
  std::vector<json> whole = readLog(at("whole.log")), resumed = readLog(at("resumed.log"));
  ASSERT_EQ(resumed.size(), 8u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(resumed[i]["step"], whole[5 + i]["step"]);
    EXPECT_EQ(resumed[i]["loss"], whole[5 + i]["loss"]);
  }
}

TEST_F(Trainer, TwoRunsHaveTheSameBits) {
  for (const char *name : {"a", "b"})
    train(specimen(2, 2), "--steps 8 --save " + at(name));
  EXPECT_EQ(readFile(at("a")), readFile(at("b")));
  train(specimen(2, 2), "--steps 8 --seed 1 --save " + at("c"));
  EXPECT_NE(readFile(at("a")), readFile(at("c")));
}

TEST_F(Trainer, GoesOnUnderAnotherMesh) {
  train(specimen(1, 1), "--steps 12 --log " + at("whole.log"));
  train(specimen(1, 4), "--steps 5 --save " + at("half"));
  train(specimen(4, 1), "--steps 12 --load " + at("half") + " --log " + at("resumed.log"));
  double expected = readLog(at("whole.log"))[11]["loss"], loss = readLog(at("resumed.log"))[6]["loss"];
  EXPECT_NEAR(loss, expected, 1e-5 * expected);
}

TEST_F(Trainer, EvaluatesASavedModel) {
  train(specimen(2, 1), "--steps 10 --save " + at("model") + " --log " + at("log"));
  Outcome eval = run(specimen(1, 2) + " eval --data " + at("text.txt") + " --load " + at("model") + " --log " + at("eval.log"));
  EXPECT_EQ(eval.exitCode, 0);
  EXPECT_EQ(eval.output.rfind("validation loss ", 0), 0u) << eval.output;
  EXPECT_NEAR(readLog(at("eval.log"))[0]["val_loss"].get<double>(), readLog(at("log"))[10]["val_loss"].get<double>(), 1e-5);
}

TEST_F(Trainer, GeneratesTheSameUnderEveryMesh) {
  train(specimen(1, 1), "--steps 60 --save " + at("model"));
  std::string flags = " generate --load " + at("model") + " --prompt 'the ' --tokens 20";
  Outcome one = run(specimen(1, 1) + flags), four = run(specimen(2, 2) + flags);
  EXPECT_EQ(one.exitCode, 0) << one.output;
  EXPECT_EQ(one.output.rfind("the ", 0), 0u) << one.output;
  EXPECT_EQ(one.output.size(), 4u + 20 + 1) << one.output;
  EXPECT_EQ(one.output, four.output);
  EXPECT_NE(run(specimen(1, 1) + flags + " --seed 5").output, one.output);

  Outcome bad = run(specimen(1, 1) + " generate --load " + at("model") + " --prompt 'a#b'");
  EXPECT_EQ(bad.exitCode, 1);
  EXPECT_EQ(bad.output, "error: --prompt: byte 1 is '#' (U+0023), which the training text does not contain\n");
}

// Megatron's pattern: two all-reduces over `model` per layer and direction, one
// over `data` for all gradients. 8 x 16 x 32 activations over 2 data ranks.
TEST_F(Trainer, PrintsTraffic) {
  std::string output = train(specimen(2, 2), "--steps 3 --traffic");
  EXPECT_NE(output.find("  all-reduce of dot(o, wo) over 'model' (gpt.mesh:31): 2 calls, 16,384 bytes\n"), std::string::npos) << output;
  EXPECT_NE(output.find("  all-reduce of grad(ln1) over 'model' (gpt.mesh:25): 2 calls, 16,384 bytes\n"), std::string::npos) << output;
  EXPECT_NE(output.find("  all-reduce of gradients over 'data' (gpt.mesh:47): 1 call, "), std::string::npos) << output;
}

TEST_F(Trainer, ExportsWeightsAlone) {
  train(specimen(1, 2), "--steps 3 --save " + at("model"));
  Outcome outcome = run(specimen(2, 2) + " export --load " + at("model") + " --save " + at("weights"));
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
  uint64_t headerBytes;
  std::string file = readFile(at("weights"));
  std::memcpy(&headerBytes, file.data(), 8);
  json header = json::parse(file.substr(8, headerBytes));
  EXPECT_EQ(header.size(), 16u + 1); // parameters and the metadata
  EXPECT_EQ(header["gpt.block.attn.wq"]["shape"], (json{2, 32, 4, 8}));
  EXPECT_EQ(header["gpt.wte"]["shape"], (json{61, 32})); // without padding
  EXPECT_FALSE(header.contains("gpt.wte/m"));
}

TEST_F(Trainer, SigtermSavesAndStops) {
  std::string program = specimen(2, 2), text = at("text.txt"), model = at("model"), log = at("log");
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)!freopen(at("out").c_str(), "w", stdout);
    execl(program.c_str(), program.c_str(), "train", "--data", text.c_str(), "--steps", "10000000", "--save", model.c_str(),
          "--log", log.c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 600 && readFile(log).size() < 200; ++i)
    usleep(50000);
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::vector<json> entries = readLog(log);
  std::string last = std::to_string(entries.back()["step"].get<int64_t>());
  EXPECT_NE(readFile(at("out")).find("stopped by signal 15 after step " + last + ", saved to '" + model + "'"), std::string::npos)
      << readFile(at("out"));
  EXPECT_NE(readFile(model).find("\"step\":\"" + last + "\""), std::string::npos);
}

TEST_F(Trainer, ErrorsAreOneLine) {
  auto check = [&](const std::string &flags, const std::string &message) {
    Outcome outcome = run(specimen(2, 2) + " " + flags);
    EXPECT_EQ(outcome.exitCode, 1);
    EXPECT_EQ(outcome.output, "error: " + message + "\n");
  };
  check("train --data /no/such.txt", "cannot open '/no/such.txt': No such file or directory");
  check("train --data " + at("text.txt") + " --log /no/such/log", "cannot open '/no/such/log': No such file or directory");
  check("generate", "generate needs trained weights: give --load FILE");
  check("export --load x", "export needs --save FILE");
  check("eval --load " + at("text.txt"), "'" + at("text.txt") + "' is not a usable safetensors file: its header should have " +
        std::to_string([&] { uint64_t n; std::memcpy(&n, readFile(at("text.txt")).data(), 8); return n; }()) + " bytes, " +
        std::to_string(std::filesystem::file_size(at("text.txt")) - 8) + " are there");
  train(specimen(1, 1), "--steps 3 --save " + at("model"));
  check("train --data " + at("text.txt") + " --steps 3 --load " + at("model"),
        "'" + at("model") + "' is at step 3 already; give a larger --steps than 3");
}
