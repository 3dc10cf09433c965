//===- Session.h - A device with a program's values on it -----------------===//
#ifndef MESHRT_SRC_COMMON_SESSION_H
#define MESHRT_SRC_COMMON_SESSION_H

#include "Checkpoint.h"
#include "CommandLine.h"
#include "Data.h"

#include <map>
#include <memory>

namespace meshrt {

/// Mean loss over evaluated batches, and the program's metrics of it.
struct Evaluation {
  double loss = 0;
  std::map<std::string, double> metrics;
};

/// What every command needs: the device, its parameters, the data.
class Session {
public:
  /// Starts the device and fills the parameters, from `line.load` or afresh.
  Session(const Program &program, const CommandLine &line);

  Device &device() { return *device_; }
  DataSet *data() { return data_.get(); }
  TrainingState &state() { return state_; }

  /// Fills a step's inputs for training step (or evaluation batch) `index` and
  /// runs it on all ranks.
  void run(const Step &step, Split split, int64_t index, int64_t totalSteps);

  /// Runs a step whose data were already written.
  void runWithData(const Step &step, int64_t index, int64_t totalSteps);

  /// A scalar output on the root process; `fallback` if the step has none of
  /// that name.
  double scalar(const Step &step, const std::string &name, double fallback);

  /// At most `batches` batches spread evenly over the validation part.
  Evaluation evaluate(int64_t batches);

  void save(const std::string &path, bool withStates);

private:
  const Program &program_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DataSet> data_;
  TrainingState state_;
};

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_SESSION_H
