//===- program.h - What an emitted program tells the trainer --------------===//
//
// An emitted program is a C++ or CUDA file that holds the steps of one model
// under one mesh and layout, and one `Program` that describes them. The trainer
// (`trainerMain`) does everything else: flags, data, initial weights,
// checkpoints, metrics, generation. It knows the target only through
// `device.h`, so the same `Program` serves CPU ranks and GPUs.
//
//   int main(int argc, char **argv) {
//     return meshrt::trainerMain(argc, argv, program());
//   }
//
// Everything that crosses the border is a value in the rank's *arena*: one
// allocation per rank, at byte offsets that the compiler chose.
//
// A `Tensor` says how a global value lies in the arenas. Example: `wte[vocab,
// embed]` of size 50257 x 768 with `vocab` split over mesh axis 1 (size 2),
// stored with `embed` contiguous:
//
//   {.type = F32, .offset = 4096,
//    .dims = {{"vocab", 50257, 50258, 768, {1}}, {"embed", 768, 768, 1}}}
//
// `dims` stand in *file order* (the order of checkpoints and of random
// numbers; a repeat's dim comes first); the memory order is in the strides.
// Rank r holds the indices [s * L, (s + 1) * L) of a dim, where L = padded /
// product of axis sizes and s is r's position along the dim's axes. Padding is
// the global tail; the trainer writes zeros there and never reads it.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_PROGRAM_H
#define MESHRT_PROGRAM_H

#include "meshrt/types.h"

#include <string>
#include <vector>

namespace meshrt {

/// Increased whenever a field changes meaning. Emitted programs carry
/// `static_assert(meshrt::kProgramVersion == N)`.
inline constexpr int kProgramVersion = 1;

class Rank;

struct MeshAxis {
  std::string name = {};
  int size = 1;
};

struct Dim {
  std::string name = {};
  int64_t size = 1;   ///< global, unpadded
  int64_t padded = 1; ///< global, a multiple of the product of the axes' sizes
  int64_t stride = 1; ///< of the local part, in elements
  Axes axes = {};     ///< mesh axes that split this dim, most significant first
};

struct Tensor {
  ElementType type = ElementType::F32;
  int64_t offset = -1; ///< byte offset in the arena; -1: the step has no such value
  std::vector<Dim> dims = {}; ///< file order; none: a scalar, equal on every rank
};

/// How the runtime makes the initial value. The element with linear index i
/// over the unpadded sizes in file order draws counter i of the Philox stream
/// (seed, path, kInitStep); see philox.h. So it is the same under every layout.
struct Initializer {
  enum Kind : uint8_t { Constant, Normal, Uniform } kind = Constant;
  double a = 0; ///< the constant, the mean, or the lower end
  double b = 0; ///< the standard deviation, or the upper end
};

/// A trainable parameter. `path` keys its random numbers and its checkpoint
/// entry.
struct Parameter {
  std::string path = {};    ///< "gpt.block.attn.wq"
  Tensor value = {};        ///< the master copy
  Initializer init = {};
  std::string group = {};   ///< optimizer group, for listings
};

/// A tensor the optimizer keeps for a parameter; saved as "path/name".
struct OptimizerState {
  std::string path = {}; ///< of the parameter
  std::string name = {}; ///< "m", "v"
  Tensor value = {};
  double init = 0;
};

/// An array the trainer fills before each run of a step. Its dims are
/// [microDim?] [batchDim] [the rest]. Global row: micro * (batch / micros) + b.
struct DataInput {
  std::string name = {}; ///< name in the `data` block, e.g. "targets"
  Tensor value = {};
  int shift = 0;    ///< text and token sources: element t holds token t + shift
};

/// A scalar the trainer fills before each run of a step: i32.
struct ScalarInput {
  enum Kind : uint8_t { Seed, Step, TotalSteps } kind;
  int64_t offset;
};

/// A value the trainer reads after a step. Names with a meaning to the trainer:
/// trainStep: "loss" (mean over the global batch), "grad_norm" (before
/// clipping); evalStep: "numerator" and "denominator" of the loss; forward:
/// the first output is the model's result. All others are metrics, logged by
/// name.
struct Output {
  std::string name = {};
  Tensor value = {};
};

/// One entry point. `run` executes one rank's part and is called on all ranks
/// at once.
struct Step {
  void (*run)(Rank &) = nullptr;
  std::vector<DataInput> data = {};
  std::vector<ScalarInput> scalars = {};
  std::vector<Output> outputs = {};
};

/// Where training data come from, as the `data` block says. `--data` replaces
/// the file; docs/data.md has the formats.
struct DataSource {
  enum Kind : uint8_t {
    None,    ///< the model draws or computes its own data
    Text,    ///< a text file; tokens are bytes, or characters if vocab < 256
    Tokens,  ///< a llm.c or nanoGPT .bin file of token ids
    Tensors, ///< a safetensors file: one tensor per input, rows along batchDim
  } kind = None;
  std::string file = {};
  std::string batchDim = "batch";
  std::string microDim = {};  ///< name of the leading microbatch dim, if any
  std::string timeDim = {};   ///< text and tokens: the dim along a sequence ("seq")
  int64_t vocab = 0;     ///< token ids must be below it; 0: unknown
};

/// `metric perplexity = exp(loss)`: derived from the mean evaluation loss.
struct EvalMetric {
  std::string name = {};
  double (*compute)(double loss);
};

/// A `dim` or constant fixed when the program was compiled. Listed so that
/// `--set` can say so.
struct CompiledConstant {
  std::string name = {};
  std::string value = {};
};

struct Program {
  std::string name = {};   ///< the model's name, "gpt"
  std::string source = {}; ///< "examples/gpt/gpt.mesh"
  std::vector<MeshAxis> mesh = {}; ///< the last axis varies fastest over rank ids
  int64_t arenaBytes = 0;     ///< per rank, everything included

  std::vector<Parameter> parameters = {};
  std::vector<OptimizerState> states = {};
  DataSource data = {};

  /// Runs once after parameters were initialized or loaded, before any step:
  /// makes what is derived from them (bf16 copies). May be null.
  void (*prepare)(Rank &) = nullptr;
  Step trainStep = {};
  Step evalStep = {};  ///< run == null: no `eval`
  Step forward = {};   ///< run == null: nothing to generate from

  int64_t steps = 1000;  ///< default of --steps
  int64_t seed = 0;      ///< default of --seed
  int64_t itemsPerStep = 0; ///< tokens (or samples) per step, for "tokens/s"
  std::vector<EvalMetric> metrics = {};
  std::vector<CompiledConstant> constants = {};

  int rankCount() const {
    int count = 1;
    for (const MeshAxis &axis : mesh)
      count *= axis.size;
    return count;
  }
};

/// The program's whole main: `train | eval | generate | export`. Returns the
/// exit code: 0, or one of Error's.
int trainerMain(int argc, char **argv, const Program &program);

} // namespace meshrt

#endif // MESHRT_PROGRAM_H
