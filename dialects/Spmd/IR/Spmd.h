//===- Spmd.h - the spmd dialect: collectives over named mesh axes ---------===//
#ifndef SPMD_IR_SPMD_H
#define SPMD_IR_SPMD_H

#include "Mtf/IR/Mtf.h"

#include "Spmd/IR/SpmdDialect.h.inc"
#include "Spmd/IR/SpmdInterfaces.h.inc"
#define GET_OP_CLASSES
#include "Spmd/IR/SpmdOps.h.inc"

namespace meshc::spmd {

/// Bytes of one element as stored.
int64_t elementBytes(mlir::Type type);
/// Bytes of the part of a value of `type` that one rank holds, padding included.
int64_t localBytes(mtf::NamedTensorType type, mtf::MeshAttr mesh);

} // namespace meshc::spmd

#endif
