//===- CommandLine.h - The flags of an emitted program --------------------===//
#ifndef MESHRT_SRC_COMMON_COMMANDLINE_H
#define MESHRT_SRC_COMMON_COMMANDLINE_H

#include "meshrt/device.h"

#include <optional>
#include <string>

namespace meshrt {

struct CommandLine {
  enum Command { Train, Eval, Generate, Export, Help } command = Help;
  std::string help; ///< text to print for Help

  int64_t steps = 0;
  std::optional<int64_t> seed; ///< else the checkpoint's, else the program's
  std::string data, validation;
  std::string log;
  std::string load, save;
  int64_t saveEvery = 0;
  int64_t evalEvery = 0;   ///< 0: at the end only
  int64_t evalBatches = 0; ///< 0: the default of the command
  bool traffic = false;    ///< print what each collective sent
  double temperature = 0.8;
  int64_t tokens = 200;
  std::string prompt;
  DeviceOptions device;
};

/// Throws Error for anything that is not a flag of the command, with a
/// suggestion.
CommandLine parseCommandLine(int argc, char **argv, const Program &program);

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_COMMANDLINE_H
