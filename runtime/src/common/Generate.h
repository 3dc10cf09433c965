//===- Generate.h - Sampling from a language model ------------------------===//
#ifndef MESHRT_SRC_COMMON_GENERATE_H
#define MESHRT_SRC_COMMON_GENERATE_H

#include "Session.h"

namespace meshrt {

/// Prints `line.tokens` tokens that continue `line.prompt`. The forward step
/// sees the last tokens in row 0 of the batch, as many as its time dim has.
void generateText(Session &session, const Program &program,
                  const CommandLine &line);

/// The token that a random number u in [0, 1) picks from softmax(logits /
/// temperature); temperature 0 picks the largest, the lowest index among equals.
int32_t sampleToken(const std::vector<float> &logits, double temperature,
                    double u);

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_GENERATE_H
