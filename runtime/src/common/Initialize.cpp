#include "Initialize.h"
#include "Layout.h"
#include "meshrt/philox.h"

#include <algorithm>

using namespace meshrt;

void meshrt::initialValues(const Initializer &init, uint32_t seed,
                           const char *path, int64_t first, int64_t count,
                           float *out) {
  PhiloxStream stream{seed, hash32(path), kInitStep, 0};
  float a = static_cast<float>(init.a), b = static_cast<float>(init.b);
  switch (init.kind) {
  case Initializer::Constant:
    std::fill(out, out + count, a);
    return;
  case Initializer::Normal:
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      out[i] = math::detail::fma(stream.normal(first + i), b, a);
    return;
  case Initializer::Uniform: {
    float width = static_cast<float>(init.b - init.a);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      out[i] = math::detail::fma(stream.uniform(first + i), width, a);
    return;
  }
  }
}

/// Writes f32 values as elements of `type`, `stride` elements apart.
static void store(ElementType type, std::byte *local, int64_t at,
                  int64_t stride, const float *values, int64_t count) {
  auto convert = [&](auto zero) {
    using T = decltype(zero);
    T *out = reinterpret_cast<T *>(local) + at;
    for (int64_t i = 0; i < count; ++i)
      out[i * stride] = static_cast<T>(values[i]);
  };
  switch (type) {
  case ElementType::F32: return convert(float());
  case ElementType::BF16: return convert(bf16());
  case ElementType::F64: return convert(double());
  case ElementType::I32: return convert(int32_t());
  case ElementType::I1: return convert(bool());
  }
}

void meshrt::initializeParameters(Device &device, const Program &program,
                                  uint32_t seed) {
  constexpr int64_t kBlock = 4096;
  for (const Parameter &parameter : program.parameters)
    fillTensor(
        device, program.mesh, parameter.value,
        [&](std::byte *local, const Run &run) {
          float values[kBlock];
          for (int64_t done = 0; done < run.count; done += kBlock) {
            int64_t count = std::min(kBlock, run.count - done);
            initialValues(parameter.init, seed, parameter.path.c_str(),
                          run.global + done, count, values);
            store(parameter.value.type, local, run.local + done * run.stride,
                  run.stride, values, count);
          }
        });
}

void meshrt::initializeStates(Device &device, const Program &program) {
  for (const OptimizerState &state : program.states) {
    float value = static_cast<float>(state.init);
    fillTensor(device, program.mesh, state.value,
               [&](std::byte *local, const Run &run) {
                 for (int64_t i = 0; i < run.count; ++i)
                   store(state.value.type, local, run.local + i * run.stride, 1,
                         &value, 1);
               });
  }
}
