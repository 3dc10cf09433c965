#include "Checkpoint.h"
#include "Initialize.h"
#include "Layout.h"
#include "Safetensors.h"

#include <cstdlib>
#include <memory>

using namespace meshrt;

static std::string stateName(const OptimizerState &state) {
  return state.path + "/" + state.name;
}

void meshrt::saveCheckpoint(Device &device, const Program &program,
                            const std::string &path, const TrainingState &state,
                            bool withStates) {
  std::vector<const Tensor *> tensors;
  SafetensorsHeader header;
  auto add = [&](const std::string &name, const Tensor &tensor) {
    tensors.push_back(&tensor);
    header.entries.push_back(
        {name, {safetensorsType(tensor.type), globalShape(tensor)}});
  };
  for (const Parameter &parameter : program.parameters)
    add(parameter.path, parameter.value);
  if (withStates)
    for (const OptimizerState &s : program.states)
      add(stateName(s), s.value);
  header.metadata = {{"program", program.name},
                     {"step", std::to_string(state.step)},
                     {"seed", std::to_string(state.seed)}};
  if (!state.characters.empty())
    header.metadata["characters"] = state.characters;

  std::string text = header.serialize();
  std::unique_ptr<AtomicFile> file;
  if (device.isRoot()) {
    file = std::make_unique<AtomicFile>(path);
    file->write(text.data(), text.size());
  }
  std::vector<std::byte> global;
  for (const Tensor *tensor : tensors) {
    global.resize(globalCount(*tensor) * elementBytes(tensor->type));
    gatherTensor(device, program.mesh, *tensor, global.data());
    if (file)
      file->write(global.data(), global.size());
  }
  if (file)
    file->commit();
}

static void loadTensor(Device &device, const Program &program,
                       const SafetensorsReader &file, const std::string &name,
                       const Tensor &tensor) {
  auto found = file.entries().find(name);
  if (found == file.entries().end()) {
    std::vector<std::string> names;
    for (const auto &[other, entry] : file.entries())
      names.push_back(other);
    throw userError("'{}' has no tensor '{}'{}", file.path(), name,
                    didYouMean(name, names));
  }
  const SafetensorsEntry &entry = found->second;
  if (entry.shape != globalShape(tensor) ||
      entry.type != safetensorsType(tensor.type))
    throw userError("'{}' is {} {} in '{}' but {} {} in this program", name,
                    entry.type, formatShape(entry.shape), file.path(),
                    safetensorsType(tensor.type),
                    formatShape(globalShape(tensor)));
  scatterTensor(device, program.mesh, tensor, file.bytes(entry));
}

TrainingState meshrt::loadCheckpoint(Device &device, const Program &program,
                                     const std::string &path,
                                     bool withStates) {
  SafetensorsReader file(path);
  for (const Parameter &parameter : program.parameters)
    loadTensor(device, program, file, parameter.path, parameter.value);

  TrainingState state;
  // A file of weights alone starts the optimizer afresh; one with some of the
  // states is damaged.
  for (const OptimizerState &s : program.states)
    state.hasStates |= file.entries().count(stateName(s)) != 0;
  if (withStates) {
    if (state.hasStates)
      for (const OptimizerState &s : program.states)
        loadTensor(device, program, file, stateName(s), s.value);
    else
      initializeStates(device, program);
  }
  auto number = [&](const char *key) -> int64_t {
    auto found = file.metadata().find(key);
    return found == file.metadata().end()
               ? 0
               : std::strtoll(found->second.c_str(), nullptr, 10);
  };
  state.step = number("step");
  state.seed = number("seed");
  auto characters = file.metadata().find("characters");
  if (characters != file.metadata().end())
    state.characters = characters->second;
  return state;
}
