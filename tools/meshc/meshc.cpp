//===- meshc.cpp - the compiler's command line --------------------------------===//
//
// One file per command; this one dispatches.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"

using namespace meshc;

int main(int argc, char **argv) {
  int exitCode = kOk;
  std::optional<Options> options = parseOptions(argc, argv, exitCode);
  if (!options)
    return exitCode;
  Session session(argc, argv, *options);
  switch (options->command) {
  case Command::Compile:
    return compile(session);
  case Command::Verify:
    return verify(session);
  case Command::Params:
    return printParams(session);
  }
  return kInternalError;
}
