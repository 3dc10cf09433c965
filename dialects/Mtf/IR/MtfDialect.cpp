//===- MtfDialect.cpp - registration ---------------------------------------===//
#include "Mtf/IR/Mtf.h"

using namespace mlir;
using namespace meshc::mtf;

#include "Mtf/IR/MtfDialect.cpp.inc"
#include "Mtf/IR/MtfInterfaces.cpp.inc"

void MtfDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}
