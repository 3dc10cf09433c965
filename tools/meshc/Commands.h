//===- Commands.h - the commands of meshc --------------------------------------===//
#ifndef MESHC_TOOLS_COMMANDS_H
#define MESHC_TOOLS_COMMANDS_H

#include "Session.h"

namespace meshc {

/// `meshc FILE`: Compile.cpp.
ExitCode compile(Session &session);

/// `meshc params FILE`: Params.cpp.
ExitCode printParams(Session &session);

/// `meshc verify FILE`: VerifyCommand.cpp.
ExitCode verify(Session &session);

/// Reads the input file into the session's sources. False after an error, which has been reported.
bool readInput(Session &session);

/// Reads the input: a `.mesh` program to level 1, with `sets` (`name=value`) after those of the command line, or IR of any level. Null
/// after an error, which has been reported.
mlir::OwningOpRef<mlir::ModuleOp> loadModule(Session &session, llvm::ArrayRef<std::string> sets = {});

} // namespace meshc

#endif
