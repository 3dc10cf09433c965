#include "Session.h"
#include "Initialize.h"
#include "Layout.h"

#include <algorithm>
#include <limits>

using namespace meshrt;

Session::Session(const Program &program, const CommandLine &line)
    : program_(program) {
  verifyLayout(program);
  bool training = line.command == CommandLine::Train;
  // Data come first: their mistakes are the user's most frequent ones and
  // should not cost the time of an initialization.
  bool textNeeded = training || line.command == CommandLine::Eval ||
                    (line.command == CommandLine::Generate && !line.data.empty());
  if (textNeeded && line.load.empty())
    data_ = openData(program, line.data, line.validation, "");

  device_ = createDevice(program, line.device);
  if (line.load.empty()) {
    state_.seed = line.seed.value_or(program.seed);
    initializeParameters(*device_, program, static_cast<uint32_t>(state_.seed));
    if (training)
      initializeStates(*device_, program);
  } else {
    state_ = loadCheckpoint(*device_, program, line.load, training);
    state_.seed = line.seed.value_or(state_.seed);
    if (textNeeded)
      data_ = openData(program, line.data, line.validation, state_.characters);
  }
  if (data_ && data_->vocabulary())
    state_.characters = data_->vocabulary()->characters();
  if (program.prepare)
    device_->run(program.prepare);
}

void Session::runWithData(const Step &step, int64_t index, int64_t totalSteps) {
  for (const ScalarInput &input : step.scalars) {
    int64_t value = input.kind == ScalarInput::Seed   ? state_.seed
                    : input.kind == ScalarInput::Step ? index
                                                      : totalSteps;
    auto word = static_cast<int32_t>(static_cast<uint32_t>(value));
    for (int rank = 0; rank < program_.rankCount(); ++rank)
      device_->copyIn(rank, input.offset, &word, sizeof(word));
  }
  device_->run(step.run);
}

void Session::run(const Step &step, Split split, int64_t index,
                  int64_t totalSteps) {
  for (const DataInput &input : step.data) {
    if (!data_)
      throw Error(fmt::format("input '{}' has no data source", input.name),
                  Error::kInternal);
    Batch batch = data_->batch(step, input, split,
                               static_cast<uint32_t>(state_.seed), index);
    scatterTensor(*device_, program_.mesh, input.value, batch.data());
  }
  runWithData(step, index, totalSteps);
}

double Session::scalar(const Step &step, const std::string &name,
                       double fallback) {
  for (const Output &output : step.outputs) {
    if (output.name != name || !output.value.dims.empty())
      continue;
    std::byte bytes[8] = {};
    device_->copyOut(0, output.value.offset, bytes,
                     elementBytes(output.value.type));
    auto as = [&](auto value) {
      std::memcpy(&value, bytes, sizeof(value));
      return static_cast<double>(value);
    };
    switch (output.value.type) {
    case ElementType::F32: return as(float());
    case ElementType::F64: return as(double());
    case ElementType::I32: return as(int32_t());
    case ElementType::I1: return as(uint8_t());
    case ElementType::BF16: {
      bf16 value;
      std::memcpy(&value, bytes, 2);
      return static_cast<float>(value);
    }
    }
  }
  return fallback;
}

Evaluation Session::evaluate(int64_t batches) {
  const Step &step = program_.evalStep;
  int64_t rows = 1, available = 1;
  if (data_ && !step.data.empty()) {
    rows = rowCount(step.data[0], program_.data);
    available = data_->evalRows(step);
  }
  int64_t whole = std::max<int64_t>(1, available / rows);
  batches = std::min(batches, whole);
  double numerator = 0, denominator = 0;
  for (int64_t i = 0; i < batches; ++i) {
    run(step, Split::Validation, i * whole / batches, 1);
    numerator += scalar(step, "numerator", 0);
    denominator += scalar(step, "denominator", 1);
  }
  Evaluation result;
  result.loss = numerator / denominator;
  for (const EvalMetric &metric : program_.metrics)
    result.metrics[metric.name] = metric.compute(result.loss);
  return result;
}

void Session::save(const std::string &path, bool withStates) {
  saveCheckpoint(*device_, program_, path, state_, withStates);
}
