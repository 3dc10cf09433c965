//===- SpmdDialect.cpp - registration and sizes ----------------------------===//
#include "Spmd/IR/Spmd.h"

using namespace mlir;
using namespace meshc;

#include "Spmd/IR/SpmdDialect.cpp.inc"

void spmd::SpmdDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Spmd/IR/SpmdOps.cpp.inc"
      >();
}

int64_t spmd::elementBytes(Type type) { return type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8; }

int64_t spmd::localBytes(mtf::NamedTensorType type, mtf::MeshAttr mesh) {
  int64_t bytes = elementBytes(type.getElementType());
  for (mtf::DimAttr dim : type.getDims())
    bytes *= mesh.localSize(dim);
  return bytes;
}
