//===- types.h - Element types, mesh axes, call sites ---------------------===//
//
// The few plain types that the host trainer, the CPU runtime and the CUDA
// runtime share. No dependency beyond the standard library.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_TYPES_H
#define MESHRT_TYPES_H

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>

/// Small functions of vectorized loops: a call that is not inlined would keep
/// the loop scalar.
#if defined(__CUDACC__)
#define MESHRT_ALWAYS_INLINE __host__ __device__ __forceinline__
#else
#define MESHRT_ALWAYS_INLINE inline __attribute__((always_inline))
#endif

#if defined(__CUDACC__)
#define MESHRT_HOST_DEVICE __host__ __device__
#else
#define MESHRT_HOST_DEVICE
#endif

namespace meshrt {

/// Element types of values in the arena. `I1` is stored as one byte, 0 or 1.
enum class ElementType : uint8_t { F32, BF16, F64, I32, I1 };

constexpr int64_t elementBytes(ElementType type) {
  switch (type) {
  case ElementType::F32: return 4;
  case ElementType::BF16: return 2;
  case ElementType::F64: return 8;
  case ElementType::I32: return 4;
  case ElementType::I1: return 1;
  }
  return 0;
}

constexpr const char *elementName(ElementType type) {
  switch (type) {
  case ElementType::F32: return "f32";
  case ElementType::BF16: return "bf16";
  case ElementType::F64: return "f64";
  case ElementType::I32: return "i32";
  case ElementType::I1: return "i1";
  }
  return "?";
}

/// A bfloat16: the upper half of an f32. Conversion to bf16 rounds to nearest
/// even and keeps NaN a NaN; it is branch-free, so loops over it vectorize, and
/// one instruction on a GPU.
struct bf16 {
  uint16_t bits;

  bf16() = default;
  MESHRT_ALWAYS_INLINE explicit bf16(float value) : bits(round(value)) {}
  /// In loops, store with this rather than through a temporary bf16, which
  /// keeps GCC from vectorizing: `out[i] = x` for a float x.
  MESHRT_ALWAYS_INLINE bf16 &operator=(float value) {
    bits = round(value);
    return *this;
  }
  MESHRT_ALWAYS_INLINE operator float() const {
    uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    memcpy(&value, &word, 4);
    return value;
  }

private:
  static MESHRT_ALWAYS_INLINE uint16_t round(float value) {
#if defined(__CUDA_ARCH__)
    uint16_t result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
    return result;
#else
    uint32_t word;
    memcpy(&word, &value, 4);
    uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    uint32_t quiet = (word >> 16) | 0x40u;
    return static_cast<uint16_t>(
        (word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
#endif
  }
};

/// An ordered list of mesh axes by position in the mesh: the ranks of a
/// collective's group, or the split of one dimension. The first axis is the
/// most significant: member (or shard) i of axes {a, b} has coordinate
/// i / size(b) on a and i % size(b) on b.
struct Axes {
  static constexpr int kMax = 6;
  int8_t axis[kMax] = {};
  int8_t count = 0;

  constexpr Axes() = default;
  constexpr Axes(std::initializer_list<int> axes) {
    for (int a : axes)
      axis[count++] = static_cast<int8_t>(a);
  }
  constexpr bool empty() const { return count == 0; }
  constexpr const int8_t *begin() const { return axis; }
  constexpr const int8_t *end() const { return axis + count; }
};

/// Where a collective or a check stands in the user's program; both strings
/// are literals of the emitted text. Printed when something goes wrong:
/// `rank 3 of 4 (data=1, model=1): all-reduce of grad(gpt.wte) failed ...`.
struct Site {
  const char *what = "";  ///< the value, in the user's names: "grad(gpt.wte)"
  const char *where = ""; ///< "gpt.mesh:31"
};

/// Every failure the user can cause or mend. The message is one line, lower
/// case, with values and no final full stop; the exit code is the process's.
struct Error : std::runtime_error {
  static constexpr int kUser = 1;     ///< bad flag, bad file, diverged input
  static constexpr int kNoDevice = 2; ///< no usable device for this target
  static constexpr int kInternal = 3; ///< a bug, ours or a library's
  explicit Error(const std::string &message, int exitCode = kUser)
      : std::runtime_error(message), exitCode(exitCode) {}
  int exitCode;
};

} // namespace meshrt

#endif // MESHRT_TYPES_H
