//===- Options.h - the command line of meshc --------------------------------===//
#ifndef MESHC_TOOLS_OPTIONS_H
#define MESHC_TOOLS_OPTIONS_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace meshc {

/// Exit codes of every command; docs/cli.md states them.
enum ExitCode { kOk = 0, kUserError = 1, kInternalError = 3 };

enum class Command { Compile, Params, Verify };

/// What `meshc FILE` writes: a level of the IR (docs/architecture.md), the emitted text, a folder, or a program.
enum class Emit { Ast, Mtf, Grad, Sharded, Spmd, Rt, Source, Project, Executable };

enum class Target { Cpu, Cuda };

struct Options {
  Command command = Command::Compile;
  std::string input; ///< `.mesh`, or `.mlir` to start from an already lowered module; "-": IR on standard input.
  std::string output;
  Emit emit = Emit::Executable;
  Target target = Target::Cpu;
  std::vector<std::string> sets;   ///< `dim=value`, in order.
  std::vector<std::string> meshes; ///< `axis=n,...`, in order.
  int64_t ranks = 0;               ///< World size, 0: not given.
  std::string layout;              ///< File that replaces the layout.
  std::vector<std::string> includes; ///< Folders that `import` searches before the standard library.
  std::string runtime;             ///< Folder of the runtime's sources; empty: found relative to meshc.
  std::string hostCompiler;        ///< Empty: $CXX, else c++.
  bool printAfterAll = false;      ///< IR after each pass, on standard error.
  bool timing = false;
};

/// Reads the command line. On a mistake, `--help` or `--version` prints what there is to say and returns the exit code instead.
std::optional<Options> parseOptions(int argc, char **argv, int &exitCode);

} // namespace meshc

#endif
