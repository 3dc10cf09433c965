//===- Collectives.h - the spmd dialect on virtual ranks --------*- C++ -*-===//
#ifndef MESHC_LIB_INTERPRETER_COLLECTIVES_H
#define MESHC_LIB_INTERPRETER_COLLECTIVES_H

#include "meshc/Interpreter/Placement.h"

namespace meshc::interp {

/// The parts that the ranks hold after collective `op`. Each op is done as its name says, group by group, not by way of the
/// global value, so that types which do not fit what is sent show as wrong values.
mlir::FailureOr<Shards> runCollective(mlir::Operation *op, mtf::MeshAttr mesh, const Shards &input);

} // namespace meshc::interp

#endif
