//===- Edits.h - wrong turns of a partitioned program -----------*- C++ -*-===//
#ifndef MESHC_TOOLS_EDITS_H
#define MESHC_TOOLS_EDITS_H

#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <string>
#include <vector>

namespace meshc {

struct Edit {
  std::string kind, detail;
  /// Number of the op in a pre-order walk of the module.
  size_t op;
  /// Edits the op of a clone; false if that is not possible.
  std::function<bool(mlir::Operation *)> apply;
};

std::vector<Edit> editsOf(mlir::ModuleOp program);

} // namespace meshc

#endif
