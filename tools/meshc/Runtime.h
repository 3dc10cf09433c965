//===- Runtime.h - where the runtime's files are --------------------------------===//
//
// The runtime's *home* is a folder with `include/meshrt`, `src` and `CMakeLists.txt`. It is the first of: `--runtime`,
// `$MESHC_RUNTIME`, `PREFIX/share/meshc/runtime`, where PREFIX is the folder above the one meshc lies in (the build tree has a
// link there). Its compiled form is `libmeshrt.a` with `meshrt.flags` beside it, in `HOME/lib` or `PREFIX/lib`.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_RUNTIME_H
#define MESHC_TOOLS_RUNTIME_H

#include "Session.h"

namespace meshc {

/// The runtime's home, or nullopt after an error that says where it was looked for.
std::optional<std::string> findRuntime(const Session &session);

/// Writes DIR: the emitted text, the runtime's sources that the target needs, and a CMakeLists.txt that builds them.
ExitCode writeProject(Session &session, llvm::StringRef name, llvm::StringRef text);

/// Compiles the emitted text with the host's C++ compiler and links it to the compiled runtime.
ExitCode buildExecutable(Session &session, llvm::StringRef name, llvm::StringRef text);

/// Writes `text` to `path` by way of a temporary file, so that a failure leaves no half-written one.
ExitCode writeFile(const Session &session, llvm::StringRef path, llvm::StringRef text);

} // namespace meshc

#endif
