//===- Parser.h - from text to AST ------------------------------------------===//
#ifndef MESHC_LIB_FRONTEND_PARSER_H
#define MESHC_LIB_FRONTEND_PARSER_H

#include "Diagnostics.h"
#include "meshc/Frontend/AST.h"

namespace meshc {

/// Parses `text`, the contents of the file that `diagnostics` knows as `file`. On errors, all of them reported, returns null.
/// Time and stack are bounded whatever the text: see the limits in Parser.cpp.
ast::File *parseFile(llvm::StringRef text, llvm::StringRef name, uint32_t file, ast::AstArena &arena, Diagnostics &diagnostics);

} // namespace meshc

#endif
