//===- meshc-fuzz-parser.cpp - libFuzzer target of the front end --------------===//
//
// Any bytes: parse, print the tree, and elaborate what parses. Errors are fine; crashes, leaks and sanitizer reports are not.
//
//   ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0 \
//   meshc-fuzz-parser -dict=tools/meshc-fuzz-parser/mesh.dict -max_total_time=600 CORPUS library examples/gpt
//
// The options are for LLVM's libraries, which are not built with the sanitizer: allocators in its headers poison what they do not unpoison.
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "meshc/Frontend/Frontend.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace meshc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Slow inputs hide quick bugs; the limits of Parser.cpp have their own tests.
  if (size > 16384)
    return 0;
  // A context of its own: types of one input must not pile up for the next.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mtf::MtfDialect, mlir::func::FuncDialect>();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "fuzz.mesh"), llvm::SMLoc());
  llvm::raw_null_ostream nowhere;
  if (mlir::failed(printAst(sources, context, nowhere)))
    return 0;
  FrontendOptions options;
  options.libraries = {MESHC_SOURCE_LIBRARY};
  parseAndElaborate(sources, context, options);
  return 0;
}
