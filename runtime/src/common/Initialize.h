//===- Initialize.h - Initial parameters and optimizer states -------------===//
#ifndef MESHRT_SRC_COMMON_INITIALIZE_H
#define MESHRT_SRC_COMMON_INITIALIZE_H

#include "meshrt/device.h"

namespace meshrt {

/// Elements [first, first + count) of a parameter's initial value, as f32.
void initialValues(const Initializer &init, uint32_t seed, const char *path,
                   int64_t first, int64_t count, float *out);

/// Writes every parameter and optimizer state of the ranks this process owns.
void initializeParameters(Device &device, const Program &program,
                          uint32_t seed);
void initializeStates(Device &device, const Program &program);

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_INITIALIZE_H
