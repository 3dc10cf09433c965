//===- RtDialect.cpp - registration ----------------------------------------===//
#include "Rt/IR/Rt.h"

using namespace mlir;
using namespace meshc::rt;

#include "Rt/IR/RtDialect.cpp.inc"

void RtDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}
