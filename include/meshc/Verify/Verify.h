//===- Verify.h - meshc verify: is the partitioned program the program? -----===//
//
// The oracle of the compiler, in float64 and independent of every target:
//
//  1. sizes are shrunk until everything runs in seconds, remainders modulo the mesh kept, so that what was padded still is;
//  2. the gradient of every parameter is compared with finite differences of the loss;
//  3. every tapped value, every gradient and one whole training step are compared between the global program and the sharded and
//     partitioned ones on virtual ranks.
//
// The first difference is an error at the source line of the value.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_VERIFY_VERIFY_H
#define MESHC_VERIFY_VERIFY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace meshc {

/// Reads the program again as level 1 with sizes changed, `name=value` each, after the user's own changes. Null after errors.
using Elaborate = llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>(const std::vector<std::string> &sizes)>;

struct VerifyOptions {
  uint64_t seed = 1;
  /// Largest difference between levels, relative to the largest element of the value.
  double tolerance = 1e-10;
  /// Largest difference between a gradient and finite differences, relative to the parameter's largest gradient.
  double gradientTolerance = 1e-6;
  /// Elements and directions of each parameter that are compared with finite differences.
  int64_t samples = 12, directions = 2;
  /// Keep the program's sizes.
  bool keepSizes = false;
};

/// The size of a dimension in the program and in the verification.
struct ShrunkDim {
  std::string name;
  int64_t size, used;
};

/// Smaller sizes for the dims that the program lets us set. Sizes keep their remainders modulo the parts that the layout
/// cuts them into, that of the batch also divides into the microbatches. Returns the settings for `elaborate`; `dims` has every dimension of the program.
std::vector<std::string> shrinkSizes(mlir::ModuleOp program, Elaborate elaborate, std::vector<ShrunkDim> &dims);

/// Writes what agreed to `os`. Errors go to the context's diagnostics.
mlir::LogicalResult verifyProgram(Elaborate elaborate, const VerifyOptions &options, llvm::raw_ostream &os);

} // namespace meshc

#endif
