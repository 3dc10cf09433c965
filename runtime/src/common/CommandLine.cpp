#include "CommandLine.h"
#include "Support.h"

#include <CLI/CLI.hpp>
#include <charconv>

using namespace meshrt;

template <typename T>
static T parseNumber(const std::string &flag, const std::string &text, T least,
                     const char *kind) {
  T value{};
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end)
    throw userError("{} takes {}, got '{}'", flag, kind, text);
  if (!(value >= least))
    throw userError("{} must be at least {}, got {}", flag, least, text);
  return value;
}

static int64_t parseInteger(const std::string &flag, const std::string &text,
                            int64_t least) {
  return parseNumber<int64_t>(flag, text, least, "a whole number");
}

namespace {

/// Declares flags on a subcommand. Numbers are parsed here rather than by
/// CLI11, for messages that name the flag, the bound and the value.
class Flags {
public:
  explicit Flags(CLI::App *app) : app_(app) {}

  void text(const char *flag, std::string &target, const char *placeholder,
            const std::string &help) {
    app_->add_option(flag, target, help)->option_text(placeholder);
  }
  template <typename T>
  void integer(const char *flag, T &target, int64_t least,
               const std::string &help) {
    call(flag, "N", help, [flag, &target, least](const std::string &value) {
      target = static_cast<T>(parseInteger(flag, value, least));
    });
  }
  void number(const char *flag, double &target, double least,
              const std::string &help) {
    call(flag, "X", help, [flag, &target, least](const std::string &value) {
      target = parseNumber<double>(flag, value, least, "a number");
    });
  }
  void call(const char *flag, const char *placeholder, const std::string &help,
            std::function<void(const std::string &)> fn) {
    app_->add_option_function<std::string>(flag, std::move(fn), help)
        ->option_text(placeholder);
  }

private:
  CLI::App *app_;
};

} // namespace

/// --set NAME=VALUE. What shapes the program was settled when it was compiled.
static void setValue(CommandLine &line, const Program &program,
                     const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw userError("--set takes NAME=VALUE, got '{}'", text);
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (name == "steps") {
    line.steps = parseInteger("--set steps", value, 1);
    return;
  }
  if (name == "seed") {
    line.seed = parseInteger("--set seed", value, 0);
    return;
  }
  std::vector<std::string> names{"steps", "seed"};
  for (const CompiledConstant &constant : program.constants) {
    if (constant.name == name)
      throw userError("'{}' was fixed to {} when the program was compiled; "
                      "compile again: meshc {} --set {}={}",
                      name, constant.value, program.source, name, value);
    names.push_back(constant.name);
  }
  throw userError("nothing is called '{}' in model '{}'{}", name, program.name,
                  didYouMean(name, names));
}

/// Long flag names of a command, for suggestions.
static std::vector<std::string> flagNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

CommandLine meshrt::parseCommandLine(int argc, char **argv,
                                     const Program &program) {
  CommandLine line;
  line.steps = program.steps;
  CLI::App app(fmt::format("{}: a training program compiled by meshc from {}",
                           program.name, program.source));
  app.get_formatter()->column_width(32);
  app.footer("Exit codes: 0 success, 1 user error, 2 no device, 3 internal "
             "error.");
  std::vector<std::string> commands{"train", "eval", "generate", "export"};
  CLI::App *train = app.add_subcommand("train", "train the model");
  CLI::App *eval =
      app.add_subcommand("eval", "print the loss on the validation part");
  CLI::App *generate =
      app.add_subcommand("generate", "sample from a trained model");
  CLI::App *exportCommand = app.add_subcommand(
      "export", "write the weights of a checkpoint, without optimizer "
                "states; of no --load, the initial weights");

  for (CLI::App *command : {train, eval, generate, exportCommand}) {
    command->allow_extras();
    Flags flags(command);
    auto setSeed = [&line](const std::string &value) {
      line.seed = parseInteger("--seed", value, 0);
    };
    flags.call("--seed", "N", fmt::format("seed of everything random (default {})", program.seed), setSeed);
    flags.text("--load", line.load, "FILE", "start from this checkpoint (safetensors)");
    flags.integer("--threads", line.device.threadsPerRank, 1, "threads per rank (default: cores / ranks)");
    command->add_flag("--tf32", line.device.allowTf32, "CUDA: round the inputs of f32 products to TF32, for the tensor cores");
    flags.number("--timeout", line.device.collectiveTimeout, 0.1, "seconds until a collective counts as hung (default 600)");
    if (command != exportCommand)
      flags.text("--data", line.data, "FILE", program.data.file.empty() ? "data file" : fmt::format("data file (default {})", program.data.file));
    if (command == train || command == eval) {
      flags.text("--val", line.validation, "FILE", "validation data (default: the last tenth of --data)");
      flags.text("--log", line.log, "FILE", "append metrics as JSON lines");
      flags.integer("--eval-batches", line.evalBatches, 1, "batches per evaluation (default: the whole validation part, at most 500; 20 during training)");
    }
    if (command == train || command == exportCommand)
      flags.text("--save", line.save, "FILE", "write a checkpoint here");
  }
  Flags flags(train);
  flags.integer("--steps", line.steps, 1, fmt::format("step to train up to (default {})", program.steps));
  flags.integer("--save-every", line.saveEvery, 1, "also save after every N steps");
  flags.integer("--eval-every", line.evalEvery, 1, "evaluate after every N steps (default: at the end)");
  train->add_flag("--traffic", line.traffic, "print at the end what one rank sent per step in each collective");
  train->add_option_function<std::vector<std::string>>("--set", [&](const std::vector<std::string> &values) {
    for (const std::string &value : values)
      setValue(line, program, value);
  }, "set a value that was not fixed by the compiler (steps, seed)")->option_text("NAME=VALUE")->expected(1, -1);
  Flags sampling(generate);
  sampling.text("--prompt", line.prompt, "TEXT", "text to continue (token ids if the model has no text)");
  sampling.integer("--tokens", line.tokens, 1, "tokens to generate (default 200)");
  sampling.number("--temperature", line.temperature, 0, "0: always the most likely token (default 0.8)");

  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    CLI::App *asked = &app;
    for (CLI::App *command : app.get_subcommands())
      asked = command;
    line.help = asked->help();
    return line;
  } catch (const CLI::ArgumentMismatch &error) {
    // "--steps: 1 required TEXT missing"
    std::string text = error.what();
    throw userError("{} needs a value", text.substr(0, text.find(':')));
  } catch (const CLI::ParseError &error) {
    throw userError("{}", error.what());
  }

  CLI::App *command = nullptr;
  for (CLI::App *candidate : app.get_subcommands())
    command = candidate;
  for (const std::string &extra : app.remaining()) {
    if (!command && extra[0] != '-')
      throw userError("unknown command '{}'{}", extra,
                      didYouMean(extra, commands));
    throw userError("unknown flag '{}'{}", extra,
                    didYouMean(extra.substr(0, extra.find('=')),
                               flagNames(command ? *command : *train)));
  }
  if (!command)
    throw userError("a command is needed: train, eval, generate or export");
  for (const std::string &extra : command->remaining()) {
    if (extra[0] != '-')
      throw userError("unexpected argument '{}'", extra);
    throw userError("unknown flag '{}'{}", extra,
                    didYouMean(extra.substr(0, extra.find('=')),
                               flagNames(*command)));
  }
  line.command = command == train      ? CommandLine::Train
                 : command == eval     ? CommandLine::Eval
                 : command == generate ? CommandLine::Generate
                                       : CommandLine::Export;
  return line;
}
