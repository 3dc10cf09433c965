//===- HostCompiler.cpp - from emitted text to an executable ----------------------===//
#include "Runtime.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshc;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

/// The first of --cxx, $CXX, `c++` as a path; empty after an error.
static std::string findHostCompiler(const Session &session) {
  std::string wanted = session.options.hostCompiler;
  if (wanted.empty())
    wanted = llvm::sys::Process::GetEnv("CXX").value_or("");
  if (wanted.empty())
    wanted = "c++";
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(wanted))
    return *found;
  session.userError("no C++ compiler: '" + wanted +
                    "' is not on PATH; install g++ or clang, or name one with --cxx (--emit=source needs none)");
  return "";
}

/// `libmeshrt.a` and the flags it was built with, a word per line.
static std::optional<std::pair<std::string, std::vector<std::string>>> findLibrary(const Session &session, StringRef home) {
  for (std::string folder : {home.str() + "/lib", session.prefix() + "/lib"}) {
    auto flags = llvm::MemoryBuffer::getFile(folder + "/meshrt.flags");
    if (!flags || !fs::exists(folder + "/libmeshrt.a"))
      continue;
    llvm::SmallVector<StringRef> lines;
    (*flags)->getBuffer().split(lines, '\n', -1, false);
    return std::pair(folder + "/libmeshrt.a", std::vector<std::string>(lines.begin(), lines.end()));
  }
  session.userError("no compiled runtime: neither '" + home + "/lib' nor '" + session.prefix() +
                    "/lib' has libmeshrt.a and meshrt.flags; --emit=project needs none");
  return std::nullopt;
}

ExitCode meshc::buildExecutable(Session &session, StringRef name, StringRef text) {
  std::optional<std::string> home = findRuntime(session);
  std::string compiler = home ? findHostCompiler(session) : "";
  if (compiler.empty())
    return kUserError;
  auto library = findLibrary(session, *home);
  if (!library)
    return kUserError;

  llvm::SmallString<128> folder;
  if (std::error_code error = fs::createUniqueDirectory("meshc", folder))
    return session.userError("cannot create a temporary folder: " + error.message());
  bool keep = false;
  llvm::scope_exit cleanUp([&] {
    if (!keep)
      fs::remove_directories(folder);
  });
  std::string source = (folder + "/" + name + ".cpp").str(), log = (folder + "/log").str();
  if (ExitCode code = writeFile(session, source, text))
    return code;

  std::string output = session.options.output.empty() ? name.str() : session.options.output;
  std::string include = "-I" + *home + "/include";
  std::vector<StringRef> command = {compiler, "-std=c++20", "-Wno-pass-failed", include, source, library->first};
  command.insert(command.end(), library->second.begin(), library->second.end());
  command.insert(command.end(), {"-o", output});
  std::string message;
  int status = llvm::sys::ExecuteAndWait(compiler, command, std::nullopt, {std::nullopt, std::nullopt, StringRef(log)}, 0, 0, &message);
  auto said = llvm::MemoryBuffer::getFile(log);
  if (said)
    llvm::errs() << (*said)->getBuffer();
  if (status == 0)
    return kOk;
  keep = true;
  if (status < 0)
    return session.userError("cannot run '" + compiler + "': " + message);
  return session.internalError("the host compiler rejected the emitted text, kept in " + source);
}
