//===- Runtime.cpp - where the runtime's files are ------------------------------===//
#include "Runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static std::string joined(llvm::StringRef folder, llvm::StringRef rest) {
  llvm::SmallString<128> result = folder;
  path::append(result, rest);
  return std::string(result);
}

std::optional<std::string> meshc::findRuntime(const Session &session) {
  std::string chosen = session.options.runtime;
  if (chosen.empty())
    chosen = llvm::sys::Process::GetEnv("MESHC_RUNTIME").value_or("");
  if (chosen.empty())
    chosen = joined(session.prefix(), "share/meshc/runtime");
  if (fs::exists(joined(chosen, "include/meshrt/program.h")))
    return chosen;
  session.userError("no runtime in '" + chosen + "' (it has no include/meshrt/program.h); say where it is with --runtime FOLDER "
                    "or $MESHC_RUNTIME");
  return std::nullopt;
}

ExitCode meshc::writeFile(const Session &session, llvm::StringRef file, llvm::StringRef text) {
  std::string temporary = file.str() + ".tmp";
  {
    std::error_code error;
    llvm::raw_fd_ostream os(temporary, error);
    if (error)
      return session.userError("cannot write '" + file + "': " + error.message());
    os << text;
    os.close();
    if (os.has_error()) {
      std::string message = os.error().message();
      os.clear_error();
      fs::remove(temporary);
      return session.userError("cannot write '" + file + "': " + message);
    }
  }
  if (std::error_code error = fs::rename(temporary, file)) {
    fs::remove(temporary);
    return session.userError("cannot write '" + file + "': " + error.message());
  }
  return kOk;
}
