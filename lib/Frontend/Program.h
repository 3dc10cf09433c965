//===- Program.h - the files of a program -----------------------------------===//
#ifndef MESHC_LIB_FRONTEND_PROGRAM_H
#define MESHC_LIB_FRONTEND_PROGRAM_H

#include "Diagnostics.h"
#include "Value.h"
#include "meshc/Frontend/Frontend.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/SourceMgr.h"
#include <deque>
#include <optional>

namespace meshc {

/// A dim or a constant of one module. Evaluated on demand, so that the order of declarations does not matter.
struct Setting {
  ast::Loc loc;
  const ast::Expr *expr = nullptr;
  /// Evaluates `expr` instead of the module itself: the importer's, for `import … (embed = 1024)`.
  ProgramModule *scope = nullptr;
  /// From --set; wins over `expr`.
  std::optional<Value> override;
  enum class State { Waiting, Running, Done };
  /// Twice: for the whole batch and for one microbatch.
  State states[2] = {State::Waiting, State::Waiting};
  Value values[2];
};

/// One file under one choice of settings. Names of dims are global, their sizes belong to a module.
struct ProgramModule {
  const ast::File *file = nullptr;
  /// In order of declaration, which is the order of dims in files.
  llvm::MapVector<llvm::StringRef, Setting> dims, constants;
  llvm::StringMap<const ast::FnDecl *> functions;
  struct Import {
    ast::Loc loc;
    ProgramModule *module;
  };
  llvm::StringMap<Import> imports;
  // Blocks of the root module.
  const ast::MeshDecl *mesh = nullptr;
  const ast::LayoutDecl *layout = nullptr;
  const ast::DataDecl *data = nullptr;
  const ast::TrainDecl *train = nullptr;
  const ast::EvalDecl *eval = nullptr;
};

/// Reads the root file and all that it imports.
class Program {
public:
  Program(llvm::SourceMgr &sources, const FrontendOptions &options, Diagnostics &diagnostics)
      : sources(sources), options(options), diagnostics(diagnostics) {}

  /// Parses the main buffer of the source manager and its imports, and applies --set and --layout. Null after errors.
  ProgramModule *load();
  /// The library `name` of the search path as a module, for names that need no import (optimizers, schedules). Null if there is none.
  ProgramModule *library(llvm::StringRef name);
  /// Parses the main buffer alone.
  ast::File *parseRoot();

  const std::deque<ProgramModule> &allModules() const { return modules; }

private:
  struct Source {
    std::string path;
    ast::File *file;
  };
  ProgramModule *build(const ast::File *file, llvm::StringRef path);
  void declare(ProgramModule &module, const ast::Decl &decl, llvm::StringMap<ast::Loc> &declared);
  bool claim(llvm::StringMap<ast::Loc> &declared, ast::Ident name);
  ProgramModule *import(ProgramModule &importer, const ast::ImportDecl &decl, llvm::StringRef importerPath);
  ast::File *parsePath(llvm::StringRef path);
  std::string findLibrary(llvm::StringRef name) const;
  void applySets(ProgramModule &root);
  void replaceLayout(ProgramModule &root);

  llvm::SourceMgr &sources;
  const FrontendOptions &options;
  Diagnostics &diagnostics;
  ast::AstArena arena;
  std::deque<ProgramModule> modules;
  llvm::StringMap<ast::File *> files;
  llvm::StringMap<ProgramModule *> plainModules;
  /// Imports being read, outermost first: a file among them that is imported again is a cycle.
  std::vector<std::pair<std::string, ast::Loc>> open;
};

} // namespace meshc

#endif
