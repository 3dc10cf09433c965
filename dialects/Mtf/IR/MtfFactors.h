//===- MtfFactors.h - the dimension algebra of an op -----------------------===//
//
// `dot(x[batch, seq, embed], w[embed, ff] over embed)` has four factors:
//
//   batch  Parallel    x.batch, result.batch
//   seq    Parallel    x.seq,   result.seq
//   ff     Parallel    w.ff,    result.ff
//   embed  Reduced     x.embed, w.embed              (sum)
//
// Laws
//  - Parallel: cutting every use of the factor the same way cuts the op into independent parts.
//  - Reduced: cutting every use leaves the results that lack the factor partial, with the factor's reduction kind.
//  - Expandable: the op can be cut after it is rewritten into smaller ops with collectives between them (softmax).
//  - Whole: the op needs the dimension in one piece.
// A mesh axis may occur in one factor of an op only.
//
//===----------------------------------------------------------------------===//
#ifndef MTF_IR_MTFFACTORS_H
#define MTF_IR_MTFFACTORS_H

#include "Mtf/IR/MtfEnums.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace meshc::mtf {

enum class FactorKind { Parallel, Reduced, Expandable, Whole };

/// One dimension of one value of an op. Values are numbered operands first, then results.
struct DimUse {
  unsigned value;
  mlir::StringAttr dim;
};

struct Factor {
  FactorKind kind;
  llvm::SmallVector<DimUse, 3> uses;
  ReductionKind reduction = ReductionKind::Sum;
  /// The uses have different sizes: the outermost part of a split or merged dimension. Cutting it is sound only if the number of
  /// shards divides every one of them.
  bool compound = false;
  /// Of an expandable factor that is cut without padding into parts of at least `reach` elements, which is how far an element's result lies:
  /// neighbours exchange their edges (window, shift). The uses may have different sizes.
  bool exact = false;
  int64_t reach = 0;
};

/// How a result depends on an operand.
///  None:     a partial operand must be reduced first.
///  Separate: linear in this operand with the others fixed; the others must be replicated on the partial axis (mul, dot).
///  Joint:    linear in all operands together; all of them must be partial on the axis, or made so (add).
enum class Linearity { None, Separate, Joint };

} // namespace meshc::mtf

#endif
