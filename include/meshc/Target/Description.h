//===- Description.h - the Program that the trainer is given --------------------------===//
#ifndef MESHC_TARGET_DESCRIPTION_H
#define MESHC_TARGET_DESCRIPTION_H

#include "meshc/Target/Vocabulary.h"

namespace meshc::target {

/// The C++ name of a step: `train_step` is `trainStep`.
std::string stepName(rt::StepOp step);

/// Prints `Program program()` (runtime/include/meshrt/program.h): mesh, parameters, states, data, steps, metrics.
mlir::LogicalResult printDescription(Vocabulary &vocabulary, Printer &p);

} // namespace meshc::target

#endif
