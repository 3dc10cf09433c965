//===- Options.cpp - the command line of meshc ------------------------------===//
#include "Options.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshc;
using llvm::StringRef;

static const char *const kHelp = R"(meshc: compiles models with named dimensions, a mesh and a layout to training programs

usage: meshc FILE [options]          compile FILE to a program, or what --emit says
       meshc params FILE [options]   list the parameters: path, shape, one rank's part, type, initializer, optimizer group
       meshc verify FILE [options]   compare the partitioned program with the global one, and gradients with differences

  -o PATH                where the result goes; default: the model's name, and standard output for text
  --emit=WHAT            ast | mtf | grad | sharded | spmd | rt | source | project   (default: an executable)
  --target=cpu|cuda      CPU ranks as threads (default), or one process per GPU
  --set NAME=VALUE       override a dim or a constant; may be repeated
  --mesh AXIS=N,...      override sizes of mesh axes, '*' takes what the world size leaves
  --ranks N              the world size, for an axis of size '*'
  --layout FILE          replace the layout
  -I FOLDER              search imports here first
  --cxx PATH             host compiler; default: $CXX, else c++
  --runtime FOLDER       sources of the runtime; default: found beside meshc, or $MESHC_RUNTIME
  --print-ir-after-all   print the IR after every pass
  --timing               print the time of every pass
  --help  --version

exit codes: 0 success, 1 an error in the program or the command line, 3 a bug in meshc
)";

/// Flags that take a value, and those that take none.
static constexpr StringRef kValued[] = {"-o", "--emit", "--target", "--set", "--mesh", "--ranks", "--layout", "-I", "--cxx", "--runtime"};
static constexpr StringRef kPlain[] = {"--print-ir-after-all", "--timing", "--help", "-h", "--version"};
/// Words that may stand before FILE. Without one, FILE is compiled.
static constexpr std::pair<StringRef, Command> kCommands[] = {
    {"compile", Command::Compile}, {"params", Command::Params}, {"verify", Command::Verify}};
static constexpr StringRef kLevels[] = {"ast", "mtf", "grad", "sharded", "spmd", "rt", "source", "project"};
static constexpr StringRef kTargets[] = {"cpu", "cuda"};

/// `; did you mean 'x'?` for the nearest of `choices`, or nothing if none is near.
static std::string didYouMean(StringRef word, llvm::ArrayRef<StringRef> choices) {
  StringRef best;
  unsigned bestDistance = word.size() / 3 + 2;
  for (StringRef choice : choices)
    if (unsigned distance = word.edit_distance(choice); distance < bestDistance) {
      best = choice;
      bestDistance = distance;
    }
  return best.empty() ? "" : "; did you mean '" + best.str() + "'?";
}

namespace {
class Parser {
public:
  Parser(int argc, char **argv) : arguments(argv + 1, argv + argc) {}

  /// True if the command line is a command to run; else `exitCode` holds.
  bool parse();

  Options options;
  int exitCode = kOk;

private:
  bool fail(const llvm::Twine &message) {
    llvm::errs() << "error: " << message << "\n";
    exitCode = kUserError;
    return false;
  }
  bool flag(StringRef name, std::optional<StringRef> value);
  bool valued(StringRef name, StringRef value);
  bool positional(StringRef word);

  llvm::SmallVector<StringRef> arguments;
  size_t next = 0;
  unsigned positionals = 0;
};
} // namespace

bool Parser::valued(StringRef name, StringRef value) {
  auto choose = [&](llvm::ArrayRef<StringRef> choices, llvm::function_ref<void(size_t)> set) {
    const StringRef *found = llvm::find(choices, value);
    if (found == choices.end())
      return fail("'" + name + "' cannot be '" + value + "'" + didYouMean(value, choices) + " (one of " +
                  llvm::join(choices, ", ") + ")");
    set(found - choices.begin());
    return true;
  };
  if (name == "--emit")
    return choose(kLevels, [&](size_t i) { options.emit = static_cast<Emit>(i); });
  if (name == "--target")
    return choose(kTargets, [&](size_t i) { options.target = static_cast<Target>(i); });
  if (value.empty())
    return fail("'" + name + "' needs a value");
  if (name == "--set" || name == "--mesh") {
    if (!value.contains('='))
      return fail("'" + name + " " + value + "' has no '='; write for example " +
                  (name == "--set" ? "--set batch=64" : "--mesh data=2,model=2"));
    (name == "--set" ? options.sets : options.meshes).push_back(value.str());
  } else if (name == "--ranks") {
    if (value.getAsInteger(10, options.ranks) || options.ranks < 1)
      return fail("'--ranks' needs a number from 1, not '" + value + "'");
  } else if (name == "-I") {
    options.includes.push_back(value.str());
  } else {
    std::string &target = name == "-o"         ? options.output
                          : name == "--layout" ? options.layout
                          : name == "--cxx"    ? options.hostCompiler
                                               : options.runtime;
    if (!target.empty())
      return fail("'" + name + "' is given twice: '" + target + "' and '" + value + "'");
    target = value.str();
  }
  return true;
}

bool Parser::flag(StringRef name, std::optional<StringRef> value) {
  if (llvm::is_contained(kValued, name)) {
    if (!value) {
      if (next == arguments.size())
        return fail("'" + name + "' needs a value");
      value = arguments[next++];
    }
    return valued(name, *value);
  }
  if (!llvm::is_contained(kPlain, name)) {
    llvm::SmallVector<StringRef> all(std::begin(kValued), std::end(kValued));
    all.append(std::begin(kPlain), std::end(kPlain));
    return fail("unknown flag '" + name + "'" + didYouMean(name, all) + " (meshc --help lists all)");
  }
  if (value)
    return fail("'" + name + "' takes no value");
  if (name == "--print-ir-after-all")
    return options.printAfterAll = true;
  if (name == "--timing")
    return options.timing = true;
  if (name == "--version")
    llvm::outs() << "meshc " << MESHC_VERSION << " (LLVM " << LLVM_VERSION_STRING << ")\n";
  else
    llvm::outs() << kHelp;
  return false;
}

bool Parser::positional(StringRef word) {
  if (positionals++ == 0)
    if (const auto *command = llvm::find_if(kCommands, [&](const auto &entry) { return entry.first == word; });
        command != std::end(kCommands)) {
      options.command = command->second;
      return true;
    }
  if (!options.input.empty())
    return fail("one file at a time: '" + llvm::StringRef(options.input) + "' and '" + word + "'");
  options.input = word.str();
  return true;
}

bool Parser::parse() {
  while (next < arguments.size()) {
    StringRef word = arguments[next++];
    bool isFlag = word.size() > 1 && word.front() == '-';
    if (!isFlag) {
      if (!positional(word))
        return false;
      continue;
    }
    // `-oX` and `-IX` are written together too.
    auto [name, rest] = word.starts_with("--") || word.size() == 2 ? word.split('=') : std::pair(word.take_front(2), word.drop_front(2));
    bool hasValue = name.size() != word.size();
    if (!flag(name, hasValue ? std::optional(rest) : std::nullopt))
      return false;
  }
  if (options.input.empty())
    return fail("no input file; usage: meshc FILE.mesh [options], or meshc --help");
  if (options.emit == Emit::Project && options.output.empty())
    return fail("--emit=project writes a folder: say where with -o FOLDER");
  if (options.command != Command::Compile && options.emit != Emit::Executable)
    return fail("--emit belongs to 'meshc FILE', not to other commands");
  return true;
}

std::optional<Options> meshc::parseOptions(int argc, char **argv, int &exitCode) {
  Parser parser(argc, argv);
  bool ok = parser.parse();
  exitCode = parser.exitCode;
  return ok ? std::optional(std::move(parser.options)) : std::nullopt;
}
