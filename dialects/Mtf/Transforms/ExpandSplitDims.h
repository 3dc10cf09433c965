//===- ExpandSplitDims.h - ops along a split dimension ---------------------===//
#ifndef MTF_TRANSFORMS_EXPANDSPLITDIMS_H
#define MTF_TRANSFORMS_EXPANDSPLITDIMS_H

#include "mlir/IR/PatternMatch.h"

namespace meshc::mtf {

/// Windows, their transpose, shifts and running sums (ExpandNeighbours.cpp).
void populateNeighbourPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshc::mtf

#endif
