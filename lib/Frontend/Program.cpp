//===- Program.cpp - reads files, resolves imports, applies --set and --layout ===//
#include "Program.h"
#include "Parser.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;

File *Program::parseRoot() {
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
  StringRef name = buffer->getBufferIdentifier();
  return parseFile(buffer->getBuffer(), name, diagnostics.addFile(name), arena, diagnostics);
}

ProgramModule *Program::load() {
  File *file = parseRoot();
  if (!file)
    return nullptr;
  open.push_back({file->name.str(), {}});
  ProgramModule *root = build(file, file->name);
  open.pop_back();
  replaceLayout(*root);
  applySets(*root);
  return diagnostics.numErrors() ? nullptr : root;
}

/// Parses a file once, whatever the number of imports.
File *Program::parsePath(StringRef path) {
  auto [entry, isNew] = files.try_emplace(path, nullptr);
  if (!isNew)
    return entry->second;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return nullptr;
  StringRef text = (*buffer)->getBuffer();
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  File *file = parseFile(text, path, diagnostics.addFile(path), arena, diagnostics);
  return files[path] = file;
}

std::string Program::findLibrary(StringRef name) const {
  for (const std::string &folder : options.libraries) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name + ".mesh");
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return {};
}

ProgramModule *Program::library(StringRef name) {
  std::string path = findLibrary(name);
  if (path.empty())
    return nullptr;
  ProgramModule *&module = plainModules[path];
  if (!module)
    if (File *file = parsePath(path)) {
      open.push_back({path, {}});
      module = build(file, path);
      open.pop_back();
    }
  return module;
}

bool Program::claim(llvm::StringMap<Loc> &declared, Ident name) {
  auto [entry, isNew] = declared.try_emplace(name.text, name.loc);
  if (isNew)
    return true;
  mlir::InFlightDiagnostic error = diagnostics.error(name.loc) << "'" << name.text << "' is declared twice";
  error.attachNote(diagnostics.location(entry->second)) << "the other '" << name.text << "' is here";
  return false;
}

ProgramModule *Program::build(const File *file, StringRef path) {
  ProgramModule &module = modules.emplace_back();
  module.file = file;
  llvm::StringMap<Loc> declared;
  for (const Decl *decl : file->decls) {
    if (const auto *import = llvm::dyn_cast<ImportDecl>(decl)) {
      if (!claim(declared, import->alias))
        continue;
      if (ProgramModule *imported = this->import(module, *import, path))
        module.imports[import->alias.text] = {import->loc, imported};
    } else {
      declare(module, *decl, declared);
    }
  }
  return &module;
}

void Program::declare(ProgramModule &module, const Decl &decl, llvm::StringMap<Loc> &declared) {
  auto block = [&](auto *&slot, auto *d, StringRef what) {
    if (slot)
      diagnostics.error(d->loc) << "a program has one '" << what << "' block, this is the second";
    else
      slot = d;
  };
  llvm::TypeSwitch<const Decl *>(&decl)
      .Case([&](const DimDecl *d) {
        if (claim(declared, d->name)) {
          Setting &setting = module.dims[d->name.text];
          setting.loc = d->name.loc;
          setting.expr = d->size;
        }
      })
      .Case([&](const ConstDecl *d) {
        if (claim(declared, d->name)) {
          Setting &setting = module.constants[d->name.text];
          setting.loc = d->name.loc;
          setting.expr = d->value;
        }
      })
      .Case([&](const FnDecl *d) {
        if (claim(declared, d->name))
          module.functions[d->name.text] = d;
      })
      .Case([&](const MeshDecl *d) { block(module.mesh, d, "mesh"); })
      .Case([&](const LayoutDecl *d) { block(module.layout, d, "layout"); })
      .Case([&](const DataDecl *d) { block(module.data, d, "data"); })
      .Case([&](const TrainDecl *d) { block(module.train, d, "train"); })
      .Case([&](const EvalDecl *d) { block(module.eval, d, "eval"); });
}

ProgramModule *Program::import(ProgramModule &importer, const ImportDecl &decl, StringRef importerPath) {
  std::string path;
  if (decl.isFile) {
    llvm::SmallString<128> joined(llvm::sys::path::parent_path(importerPath));
    llvm::sys::path::append(joined, decl.path.text);
    llvm::sys::path::remove_dots(joined, /*remove_dot_dot=*/true);
    path = joined.str().str();
  } else {
    path = findLibrary(decl.path.text);
    if (path.empty()) {
      diagnostics.error(decl.path.loc) << "no library '" << decl.path.text << "' among "
                                       << (options.libraries.empty() ? std::string("no folders") : llvm::join(options.libraries, ", "))
                                       << "; a file is imported as import \"" << decl.path.text << ".mesh\"";
      return nullptr;
    }
  }
  for (auto [i, entry] : llvm::enumerate(open))
    if (entry.first == path) {
      mlir::InFlightDiagnostic error = diagnostics.error(decl.path.loc) << "'" << decl.path.text << "' imports itself";
      for (const auto &[opened, loc] : llvm::ArrayRef(open).drop_front(i + 1))
        error.attachNote(diagnostics.location(loc)) << "through '" << opened << "', imported here";
      return nullptr;
    }
  if (decl.settings.empty())
    if (ProgramModule *known = plainModules.lookup(path))
      return known;
  unsigned before = diagnostics.numErrors();
  File *file = parsePath(path);
  if (!file) {
    if (diagnostics.numErrors() == before)
      diagnostics.error(decl.path.loc) << "cannot read '" << path << "'";
    return nullptr;
  }
  open.push_back({path, decl.path.loc});
  ProgramModule *module = build(file, path);
  open.pop_back();
  if (decl.settings.empty())
    plainModules[path] = module;
  for (const NamedArg &setting : decl.settings) {
    auto dim = module->dims.find(setting.name.text);
    auto constant = module->constants.find(setting.name.text);
    if (dim == module->dims.end() && constant == module->constants.end()) {
      llvm::SmallVector<StringRef> known(llvm::make_first_range(module->dims));
      llvm::append_range(known, llvm::make_first_range(module->constants));
      diagnostics.error(setting.name.loc) << "'" << path << "' has no dim or constant '" << setting.name.text << "'"
                                          << didYouMean(setting.name.text, known);
      continue;
    }
    Setting &target = dim != module->dims.end() ? dim->second : constant->second;
    target.expr = setting.value;
    target.scope = &importer;
  }
  return module;
}

/// `--set name=value`.
void Program::applySets(ProgramModule &root) {
  Loc nowhere;
  for (StringRef set : options.sets) {
    auto [name, text] = set.split('=');
    name = name.trim();
    text = text.trim();
    auto dim = root.dims.find(name);
    auto constant = root.constants.find(name);
    if (dim == root.dims.end() && constant == root.constants.end()) {
      llvm::SmallVector<StringRef> known(llvm::make_first_range(root.dims));
      llvm::append_range(known, llvm::make_first_range(root.constants));
      diagnostics.error(nowhere) << "--set " << set << ": the program has no dim or constant '" << name << "'" << didYouMean(name, known);
      continue;
    }
    int64_t integer;
    double number;
    Value value;
    if (!text.getAsInteger(10, integer))
      value = Value::ofInt(integer);
    else if (!text.getAsDouble(number))
      value = Value::ofFloat(number);
    else if (text == "true" || text == "false")
      value = Value::ofBool(text == "true");
    bool isDim = dim != root.dims.end();
    if (!value || (isDim && (value.getKind() != Value::Kind::Int || integer < 1))) {
      diagnostics.error(nowhere) << "--set " << set << ": '" << text << "' is no " << (isDim ? "size (1, 2, …)" : "number, 'true' or 'false'");
      continue;
    }
    (isDim ? dim->second : constant->second).override = value;
  }
}

/// `--layout FILE`.
void Program::replaceLayout(ProgramModule &root) {
  if (options.layout.empty())
    return;
  unsigned before = diagnostics.numErrors();
  File *file = parsePath(options.layout);
  if (!file) {
    if (diagnostics.numErrors() == before)
      diagnostics.error({}) << "cannot read the layout '" << options.layout << "'";
    return;
  }
  root.layout = nullptr;
  for (const Decl *decl : file->decls) {
    if (const auto *layout = llvm::dyn_cast<LayoutDecl>(decl)) {
      root.layout = layout;
    } else {
      diagnostics.error(decl->loc) << "a layout file holds one 'layout' block and nothing else";
      return;
    }
  }
  if (!root.layout)
    diagnostics.error({file->index, 1, 1}) << "this file has no 'layout' block";
}
