//===- Microbatches.h - a step in microbatches and the whole step -*- C++ -*-===//
#ifndef MESHC_LIB_VERIFY_MICROBATCHES_H
#define MESHC_LIB_VERIFY_MICROBATCHES_H

#include "meshc/Verify/Verify.h"

namespace meshc {

/// The number of microbatches of a step.
int64_t microbatchesOf(mlir::ModuleOp program);

/// The program with the same batch as one microbatch: read again with a batch so large that one of its microbatches is as large as
/// the whole batch of `program`. Null where the program does not allow that.
mlir::OwningOpRef<mlir::ModuleOp> withWholeBatch(mlir::ModuleOp program, Elaborate elaborate, std::vector<std::string> settings);

} // namespace meshc

#endif
