//===- Reference.h - values from another framework --------------*- C++ -*-===//
//
// A JSON file of arguments and the results that they should give, by the names that the program uses:
//
//   {"arguments": {"gpt.wte": {"dims": ["vocab", "embed"], "shape": [13, 12], "data": [...]}, "tokens": ...},
//    "results":   {"loss": {"dims": [], "shape": [], "data": [88.2]}, "gpt.wte": ...}}
//
// `data` is row-major in the order of `dims`.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_INTERPRETER_REFERENCE_H
#define MESHC_INTERPRETER_REFERENCE_H

#include "meshc/Interpreter/Tensor.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"

namespace meshc::interp {

struct Reference {
  llvm::StringMap<Tensor> arguments, results;
};

/// Reads `text`; on a mistake sets `error` to what and where it is.
mlir::FailureOr<Reference> readReference(llvm::StringRef text, mlir::MLIRContext &context, std::string &error);

} // namespace meshc::interp

#endif
