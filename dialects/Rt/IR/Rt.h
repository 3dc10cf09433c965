//===- Rt.h - the rt dialect: buffers, kernels, library calls --------------===//
#ifndef RT_IR_RT_H
#define RT_IR_RT_H

#include "Mtf/IR/Mtf.h"
#include "Rt/IR/RtShapes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Rt/IR/RtDialect.h.inc"

#include "Rt/IR/RtEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "Rt/IR/RtAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "Rt/IR/RtTypes.h.inc"

#define GET_OP_CLASSES
#include "Rt/IR/RtOps.h.inc"

namespace meshc::rt {

/// The attribute of the module that `rt-plan-memory` sets: bytes of one rank's arena.
inline constexpr llvm::StringLiteral kArenaBytes = "rt.arena_bytes";

inline BufferType bufferType(mlir::Value value) { return llvm::cast<BufferType>(value.getType()); }

/// Name and size of the buffer that `value` is a view of: follows rt.slice and rt.view to the rt.alloc, rt.get_global or argument.
mlir::Value rootOf(mlir::Value value);

/// How `names` (outermost first) of `type` make one index: its size and stride. Fails where they are not adjacent.
std::optional<Index> mergedIndex(BufferType type, mlir::ArrayAttr names);

/// What lies outside and inside a dimension of a contiguous buffer: dims before it, and it with all after it.
struct Cut {
  int64_t outer = 1, chunk = 1;
};
Cut cutAt(BufferType type, mlir::StringAttr dim);

} // namespace meshc::rt

#endif
