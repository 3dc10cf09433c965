#include "common/CommandLine.h"

#include <gtest/gtest.h>

using namespace meshrt;

static CommandLine parse(std::vector<std::string> arguments) {
  Program program;
  program.name = "gpt";
  program.source = "gpt.mesh";
  program.steps = 500;
  program.constants = {{"batch", "12"}, {"embed", "128"}};
  arguments.insert(arguments.begin(), "gpt");
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  return parseCommandLine(static_cast<int>(argv.size()), argv.data(), program);
}

static std::string messageOf(std::vector<std::string> arguments) {
  try {
    parse(std::move(arguments));
  } catch (const Error &error) {
    EXPECT_EQ(error.exitCode, Error::kUser);
    return error.what();
  }
  return "accepted";
}

TEST(CommandLine, Train) {
  CommandLine line = parse({"train", "--steps", "7", "--seed=3", "--data", "a.txt", "--val", "b.txt", "--log", "l", "--save", "s", "--load", "c", "--threads", "2", "--save-every", "5", "--eval-every", "6", "--eval-batches", "4"});
  EXPECT_EQ(line.command, CommandLine::Train);
  EXPECT_EQ(line.steps, 7);
  EXPECT_EQ(line.seed, 3);
  EXPECT_EQ(line.data, "a.txt");
  EXPECT_EQ(line.validation, "b.txt");
  EXPECT_EQ(line.log, "l");
  EXPECT_EQ(line.save, "s");
  EXPECT_EQ(line.load, "c");
  EXPECT_EQ(line.device.threadsPerRank, 2);
  EXPECT_EQ(line.saveEvery, 5);
  EXPECT_EQ(line.evalEvery, 6);
  EXPECT_EQ(line.evalBatches, 4);
}

TEST(CommandLine, Defaults) {
  CommandLine line = parse({"train"});
  EXPECT_EQ(line.steps, 500);
  EXPECT_FALSE(line.seed.has_value());
  EXPECT_EQ(line.device.threadsPerRank, 0);
  EXPECT_EQ(parse({"eval"}).command, CommandLine::Eval);
  EXPECT_EQ(parse({"export", "--load", "a", "--save", "b"}).command, CommandLine::Export);
}

TEST(CommandLine, Generate) {
  CommandLine line = parse({"generate", "--prompt", "-- To be", "--tokens", "9", "--temperature", "0.5"});
  EXPECT_EQ(line.command, CommandLine::Generate);
  EXPECT_EQ(line.prompt, "-- To be");
  EXPECT_EQ(line.tokens, 9);
  EXPECT_EQ(line.temperature, 0.5);
}

TEST(CommandLine, Set) {
  CommandLine line = parse({"train", "--set", "steps=9", "--set", "seed=4"});
  EXPECT_EQ(line.steps, 9);
  EXPECT_EQ(line.seed, 4);
  EXPECT_EQ(messageOf({"train", "--set", "embed=64"}), "'embed' was fixed to 128 when the program was compiled; compile again: meshc gpt.mesh --set embed=64");
  EXPECT_EQ(messageOf({"train", "--set", "embd=64"}), "nothing is called 'embd' in model 'gpt'; did you mean 'embed'?");
  EXPECT_EQ(messageOf({"train", "--set", "steps"}), "--set takes NAME=VALUE, got 'steps'");
  EXPECT_EQ(messageOf({"train", "--set", "steps=x"}), "--set steps takes a whole number, got 'x'");
}

TEST(CommandLine, Help) {
  EXPECT_EQ(parse({"--help"}).command, CommandLine::Help);
  EXPECT_NE(parse({"--help"}).help.find("generate"), std::string::npos);
  EXPECT_NE(parse({"train", "--help"}).help.find("--save-every"), std::string::npos);
}

TEST(CommandLine, Errors) {
  EXPECT_EQ(messageOf({}), "a command is needed: train, eval, generate or export");
  EXPECT_EQ(messageOf({"trian"}), "unknown command 'trian'; did you mean 'train'?");
  EXPECT_EQ(messageOf({"train", "--stpes", "3"}), "unknown flag '--stpes'; did you mean '--steps'?");
  EXPECT_EQ(messageOf({"train", "--seeed=3"}), "unknown flag '--seeed=3'; did you mean '--seed'?");
  EXPECT_EQ(messageOf({"--steps", "3", "train"}), "unknown flag '--steps'; did you mean '--steps'?");
  EXPECT_EQ(messageOf({"generate", "--steps", "3"}), "unknown flag '--steps'");
  EXPECT_EQ(messageOf({"train", "corpus.txt"}), "unexpected argument 'corpus.txt'");
  EXPECT_EQ(messageOf({"train", "--steps"}), "--steps needs a value");
  EXPECT_EQ(messageOf({"train", "--steps", "many"}), "--steps takes a whole number, got 'many'");
  EXPECT_EQ(messageOf({"train", "--steps", "0"}), "--steps must be at least 1, got 0");
  EXPECT_EQ(messageOf({"train", "--steps", "99999999999999999999"}), "--steps takes a whole number, got '99999999999999999999'");
  EXPECT_EQ(messageOf({"train", "--threads", "-1"}), "--threads must be at least 1, got -1");
  EXPECT_EQ(messageOf({"generate", "--temperature", "nan"}), "--temperature must be at least 0, got nan");
}
