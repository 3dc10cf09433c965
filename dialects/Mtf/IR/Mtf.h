//===- Mtf.h - the mtf dialect: types, attributes, ops ---------------------===//
#ifndef MTF_IR_MTF_H
#define MTF_IR_MTF_H

#include "Mtf/IR/MtfEnums.h"
#include "Mtf/IR/MtfFactors.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Mtf/IR/MtfDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Mtf/IR/MtfAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "Mtf/IR/MtfTypes.h.inc"

namespace meshc::mtf {

class FactorOpInterface;

/// Checks that operand and result types of `op` agree along every factor: same size and same axes, Whole factors in one
/// piece, the axes of Reduced factors partial in the results that lack the factor. Part of every op's verification.
mlir::LogicalResult verifyFactorShardings(FactorOpInterface op);
mlir::LogicalResult verifyElementwise(mlir::Operation *op);

/// Result type of an elementwise op: the union of the operands' dims, the element type of the first, no partial axes.
NamedTensorType elementwiseType(llvm::ArrayRef<mlir::Value> operands);

/// The ops that compute each element from the elements of the operands at the same place.
template <typename ConcreteType>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyElementwise(op); }
};

} // namespace meshc::mtf

#include "Mtf/IR/MtfInterfaces.h.inc"
#define GET_OP_CLASSES
#include "Mtf/IR/MtfOps.h.inc"

namespace meshc::mtf {

/// Names of the dialect's attributes on modules, arguments and results.
inline constexpr llvm::StringLiteral kMesh = "mtf.mesh", kDimOrder = "mtf.dim_order", kLayout = "mtf.layout",
                                     kMicrobatches = "mtf.microbatches", kPrecision = "mtf.precision",
                                     kClip = "mtf.clip", kSteps = "mtf.steps", kBatchDim = "mtf.batch_dim",
                                     kParam = "mtf.param", kState = "mtf.state", kData = "mtf.data",
                                     kInput = "mtf.input", kResult = "mtf.result", kPinnedType = "mtf.pinned_type",
                                     kSharding = "mtf.sharding", kWhy = "mtf.why", kStored = "mtf.stored";

/// What the backward pass may compute again: `none`, `selective`, `full`, a memory budget (with its place in `kRecomputeLoc`), or a float, the
/// operations worth repeating to keep one byte less. An op that is computed again has the reason as `kRecomputed`.
inline constexpr llvm::StringLiteral kRecompute = "mtf.recompute", kRecomputeLoc = "mtf.recompute_loc", kRecomputed = "mtf.recomputed";

/// "20 GiB", "1.5e6 KB": bytes of a rank. "60 %": a share of what a rank takes without recomputation.
struct MemoryBudget {
  double amount;
  bool isShare; ///< `amount` is a part of 1, not bytes.
};
std::optional<MemoryBudget> parseMemoryBudget(llvm::StringRef text);

/// The dimension of the loop over microbatches.
inline constexpr llvm::StringLiteral kMicroDim = "micro";

/// Names of the module's attributes that only the trainer of the emitted program reads.
inline constexpr llvm::StringLiteral kName = "mtf.name", kSource = "mtf.source", kDataSources = "mtf.data_sources",
                                     kConstants = "mtf.constants";
/// A function `metric.NAME` (evaluation loss, a scalar) -> scalar is the metric NAME of the `eval` block.
inline constexpr llvm::StringLiteral kMetricPrefix = "metric.";

/// Elements that the windows over one part of a dimension need from before the part and from behind it.
struct Halo {
  int64_t low, high;
};
Halo haloOf(WindowOp op);
Halo haloOf(FoldOp op);

/// The type of a value as a NamedTensorType; it must be one.
inline NamedTensorType tensorType(mlir::Value value) { return llvm::cast<NamedTensorType>(value.getType()); }

} // namespace meshc::mtf

#endif
