//===- Trainer.cpp - The main of every emitted program --------------------===//
#include "Generate.h"
#include "Progress.h"
#include "Session.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>

using namespace meshrt;

static volatile std::sig_atomic_t stopSignal = 0;

static void requestStop(int signal) {
  stopSignal = signal;
  // A second signal ends the process the usual way.
  std::signal(signal, SIG_DFL);
}

static std::string describeEvaluation(const Evaluation &evaluation) {
  std::string text = fmt::format("validation loss {:.4f}", evaluation.loss);
  for (const auto &[name, value] : evaluation.metrics)
    text += fmt::format("  {} {:.4f}", name, value);
  return text;
}

static nlohmann::ordered_json evaluationEntry(int64_t step,
                                              const Evaluation &evaluation) {
  nlohmann::ordered_json entry{{"step", step}, {"val_loss", evaluation.loss}};
  for (const auto &[name, value] : evaluation.metrics)
    entry["val_" + name] = value;
  return entry;
}

/// One line per call site: "all-reduce of grad(wte) over 'data' (gpt.mesh:31):
/// 1 call, 154,389,504 bytes".
static void printTraffic(const std::vector<CollectiveTraffic> &traffic,
                         int64_t steps) {
  int64_t total = 0;
  fmt::print("sent by one rank per step, as in a ring:\n");
  for (const CollectiveTraffic &entry : traffic) {
    total += entry.bytesSent;
    fmt::print("  {} of {} over {} ({}): {} call{}, {} bytes\n",
               entry.collective, entry.site.what, entry.axes, entry.site.where,
               entry.calls / steps, entry.calls / steps == 1 ? "" : "s",
               groupDigits(entry.bytesSent / steps));
  }
  fmt::print("  in all {} bytes\n", groupDigits(total / steps));
}

static void train(const Program &program, const CommandLine &line) {
  const Step &step = program.trainStep;
  if (!step.run)
    throw userError("model '{}' has no train block: nothing to train",
                    program.name);
  Session session(program, line);
  TrainingState &state = session.state();
  bool root = session.device().isRoot();
  if (state.step >= line.steps)
    throw userError("'{}' is at step {} already; give a larger --steps than {}",
                    line.load, state.step, line.steps);
  JsonLog log(root ? line.log : "");
  if (root)
    fmt::print("{}: {}, arena {} MiB per rank\n", program.name,
               session.device().describe(), program.arenaBytes >> 20);
  std::fflush(stdout);
  bool isText = program.data.kind == DataSource::Text ||
                program.data.kind == DataSource::Tokens;
  Progress progress(state.step, line.steps, program.itemsPerStep,
                    isText ? "tokens" : "items", root);
  std::signal(SIGTERM, requestStop);
  std::signal(SIGINT, requestStop);

  int64_t evaluatedAt = -1;
  auto evaluate = [&](int64_t batches) {
    Evaluation evaluation = session.evaluate(batches);
    progress.note(describeEvaluation(evaluation));
    log.write(evaluationEntry(state.step, evaluation));
    evaluatedAt = state.step;
  };

  int64_t firstStep = state.step, stop = 0;
  while (state.step < line.steps &&
         !(stop = session.device().agree(stopSignal))) {
    auto start = std::chrono::steady_clock::now();
    session.run(step, Split::Train, state.step, line.steps);
    std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    state.step += 1;
    const double none = std::numeric_limits<double>::quiet_NaN();
    double loss = session.scalar(step, "loss", none);
    double norm = session.scalar(step, "grad_norm", none);
    progress.update(state.step, loss, norm);
    nlohmann::ordered_json entry{{"step", state.step}, {"loss", loss}};
    for (const Output &output : step.outputs)
      if (output.name != "loss" && output.value.dims.empty())
        entry[output.name] = session.scalar(step, output.name, none);
    entry["milliseconds"] = std::round(elapsed.count() * 10) / 10;
    entry["tokens_per_second"] = std::round(progress.itemsPerSecond());
    log.write(entry);
    if (session.device().agree(!std::isfinite(loss))) {
      progress.finish();
      throw userError("the loss is {} at step {}; a smaller learning rate or "
                      "clipping may help",
                      loss, state.step);
    }
    if (line.saveEvery && state.step % line.saveEvery == 0 &&
        state.step < line.steps && !line.save.empty())
      session.save(line.save, true);
    if (line.evalEvery && state.step % line.evalEvery == 0 &&
        state.step < line.steps && program.evalStep.run)
      evaluate(line.evalBatches ? line.evalBatches : 20);
  }
  progress.finish();
  if (!line.save.empty())
    session.save(line.save, true);
  if (stop) {
    if (root)
      fmt::print("stopped by signal {} after step {}{}\n", stop, state.step,
                 line.save.empty() ? "" : fmt::format(", saved to '{}'", line.save));
    return;
  }
  if (line.traffic && root)
    printTraffic(session.device().traffic(), state.step - firstStep);
  if (program.evalStep.run && evaluatedAt != state.step)
    evaluate(line.evalBatches ? line.evalBatches : 500);
}

static void eval(const Program &program, const CommandLine &line) {
  if (!program.evalStep.run)
    throw userError("model '{}' has no loss to evaluate", program.name);
  Session session(program, line);
  bool root = session.device().isRoot();
  Evaluation evaluation =
      session.evaluate(line.evalBatches ? line.evalBatches : 500);
  if (root)
    fmt::print("{}\n", describeEvaluation(evaluation));
  JsonLog(root ? line.log : "")
      .write(evaluationEntry(session.state().step, evaluation));
}

static void exportWeights(const Program &program, const CommandLine &line) {
  if (line.save.empty())
    throw userError("export needs --save FILE");
  Session session(program, line);
  session.save(line.save, false);
}

static int runCommand(int argc, char **argv, const Program &program) {
  CommandLine line = parseCommandLine(argc, argv, program);
  switch (line.command) {
  case CommandLine::Help:
    fmt::print("{}", line.help);
    return 0;
  case CommandLine::Train:
    train(program, line);
    return 0;
  case CommandLine::Eval:
    eval(program, line);
    return 0;
  case CommandLine::Generate: {
    Session session(program, line);
    generateText(session, program, line);
    return 0;
  }
  case CommandLine::Export:
    exportWeights(program, line);
    return 0;
  }
  return Error::kInternal;
}

int meshrt::trainerMain(int argc, char **argv, const Program &program) {
  try {
    return runCommand(argc, argv, program);
  } catch (const Error &error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exitCode;
  } catch (const std::exception &error) {
    fmt::print(stderr, "internal error: {}\n", error.what());
    return Error::kInternal;
  }
}
