//===- MtfEnums.h - enumerations of the mtf dialect ------------------------===//
#ifndef MTF_IR_MTFENUMS_H
#define MTF_IR_MTFENUMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"

#include "Mtf/IR/MtfEnums.h.inc"

#endif
