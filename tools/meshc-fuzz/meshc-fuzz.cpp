//===- meshc-fuzz.cpp - random programs through the compiler's levels ------===//
//
//   meshc-fuzz --first=1 --count=100      the programs of seeds 1 to 100
//   meshc-fuzz --fresh --count=300        of seeds that nobody has tried, which are printed
//   meshc-fuzz program.mlir               one program from a file
//   meshc-fuzz --tamper [program.mlir]    wrong edits of partitioned programs, which spmd-verify must refuse (Tamper.h)
//
// For each: a random program (Generator.h), the same canonicalized, and its verification (Verify.h): gradients against finite differences,
// the sharded and the partitioned program against the global one, and the training step in buffers against the partitioned one. The first
// program that fails is made as small as possible (Shrink.h) and printed; put it into test/Interpreter/Fuzz. `--log` writes what was covered.
//
//===----------------------------------------------------------------------===//
#include "Mtf/IR/Mtf.h"
#include "RandomProgram.h"
#include "Shrink.h"
#include "Spmd/IR/Spmd.h"
#include "Tamper.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include "meshc/Interpreter/RtInterpreter.h"
#include "meshc/Pipelines/Pipelines.h"
#include "meshc/Verify/Verify.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/ToolOutputFile.h"
#include <chrono>
#include <cmath>
#include <map>
#include <random>

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

static llvm::cl::opt<uint64_t> first("first", llvm::cl::desc("seed of the first program"), llvm::cl::init(1));
static llvm::cl::opt<uint64_t> count("count", llvm::cl::desc("number of programs"), llvm::cl::init(100));
static llvm::cl::opt<std::string> inputFile(llvm::cl::Positional, llvm::cl::desc("[program.mlir]"));
static llvm::cl::opt<bool> fresh("fresh", llvm::cl::desc("start at a random seed"));
static llvm::cl::opt<std::string> logFile("log", llvm::cl::desc("file for a table of what was covered"), llvm::cl::value_desc("file"));
static llvm::cl::opt<bool> keepGoing("keep-going", llvm::cl::desc("report every program that fails, not the first only"));
static llvm::cl::opt<bool> print("print", llvm::cl::desc("print the first program and stop"));

static llvm::cl::opt<bool> tamperWith("tamper", llvm::cl::desc("edit partitioned programs wrongly; spmd-verify must refuse"));
static llvm::cl::opt<uint64_t> edits("edits", llvm::cl::desc("with --tamper: edits per program, 0 for all"), llvm::cl::init(100));

/// Canonicalization and common subexpression elimination must not change any value.
static LogicalResult checkSimplified(ModuleOp program, uint64_t seed) {
  OwningOpRef<ModuleOp> simplified = program.clone();
  PassManager passes(program.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(*simplified)))
    return failure();
  auto loss = program.lookupSymbol<func::FuncOp>("loss");
  std::vector<Tensor> arguments = randomArguments(loss, seed);
  Interpreter before(program), after(*simplified);
  if (failed(before.call(loss, arguments)) || failed(after.call("loss", arguments)))
    return failure();
  for (const auto &[name, tap] : before.taps()) {
    // Nothing differs from a NaN, so it would hide whatever follows.
    if (!llvm::all_of(tap.value.values(), [](double x) { return std::isfinite(x); }))
      return emitError(tap.loc) << "value '" << name << "' is not finite";
    auto it = after.taps().find(name);
    if (it == after.taps().end())
      continue; // Nothing used it.
    if (auto difference = firstDifference(tap.value, it->second.value, 1e-10))
      return emitError(tap.loc) << "canonicalization changes value '" << name << "' at " << describe(*difference, tap.value);
  }
  return success();
}

/// The training step as buffers and kernels, on one rank and partitioned.
static LogicalResult checkBuffers(ModuleOp program, uint64_t seed) {
  for (Level level : {Level::Grad, Level::Spmd}) {
    OwningOpRef<ModuleOp> lowered = program.clone();
    PassManager passes(program.getContext());
    addPasses(passes, Level::Mtf, level);
    if (failed(passes.run(*lowered)))
      return failure();
    if (failed(compareWithRt(*lowered, seed, 1e-10)))
      return failure();
  }
  return success();
}

/// One program through all checks.
static LogicalResult check(ModuleOp program, uint64_t seed) {
  VerifyOptions options;
  options.seed = seed;
  // Rules have constants rounded to f32 (2 / sqrt(pi)), and in a random program large terms may cancel.
  options.gradientTolerance = 1e-5;
  options.samples = 3;
  options.directions = 1;
  options.keepSizes = true;
  auto elaborate = [&](const std::vector<std::string> &) { return OwningOpRef<ModuleOp>(program.clone()); };
  return success(succeeded(mlir::verify(program)) && succeeded(checkSimplified(program, seed)) &&
                 succeeded(verifyProgram(elaborate, options, llvm::nulls())) && succeeded(checkBuffers(program, seed)));
}

/// What kind of failure an error tells of: its text without names and numbers.
static std::string kindOf(StringRef errors) {
  StringRef error = errors.split('\n').first;
  if (error.contains("differs at"))
    return "differs";
  std::string kind;
  bool quoted = false;
  for (char c : error) {
    quoted ^= c == '\'';
    if (!quoted && !llvm::isDigit(c))
      kind.push_back(c);
  }
  return kind;
}

/// Errors that a random layout may rightly earn: one name has one padded size, and two merges may ask for different ones; two pins of a
/// value may use one axis.
static bool isRefusal(StringRef errors) {
  return errors.contains("choose sizes that the mesh axes divide") || (errors.contains("pin '") && errors.contains("cannot hold"));
}

namespace {
/// What the programs had in them.
struct Coverage {
  std::map<std::string, uint64_t> ops;
  std::map<int64_t, uint64_t> ranks;
  std::map<std::string, uint64_t> scopes;
  uint64_t microbatches = 0;

  void add(ModuleOp program) {
    program.lookupSymbol<func::FuncOp>("loss").walk([&](Operation *op) {
      if (op->getName().getDialectNamespace() == "mtf")
        ++ops[op->getName().stripDialect().str()];
    });
    ++ranks[mtf::MeshAttr::of(program).numRanks()];
    if (auto layout = program->getAttrOfType<mtf::LayoutAttr>(mtf::kLayout))
      for (mtf::RuleAttr rule : layout.getRules())
        ++scopes[(mtf::stringifyRuleScope(rule.getScope()) + (rule.getPath().empty() || rule.getScope() == mtf::RuleScope::Pin ? "" : " by path")).str()];
    auto count = program->getAttrOfType<IntegerAttr>(mtf::kMicrobatches);
    microbatches += count && count.getInt() > 1;
  }

  void print(raw_ostream &os) const {
    auto list = [&](const auto &counts) {
      llvm::interleaveComma(counts, os, [&](const auto &entry) { os << entry.first << " " << entry.second; });
      os << "\n";
    };
    os << "ops (" << ops.size() << "): ";
    list(ops);
    os << "ranks: ";
    list(ranks);
    os << "rules: ";
    list(scopes);
    os << "programs with microbatches: " << microbatches << "\n";
  }
};
} // namespace

static OwningOpRef<ModuleOp> partitioned(OwningOpRef<ModuleOp> program) {
  PassManager passes(program->getContext());
  addPasses(passes, levelOf(*program), Level::Spmd);
  return succeeded(passes.run(*program)) ? std::move(program) : OwningOpRef<ModuleOp>();
}

/// Edits the program in the file, or random ones; 1 if an edit survives.
static int tamperAll(MLIRContext &context) {
  TamperCounts counts;
  if (!inputFile.empty()) {
    OwningOpRef<ModuleOp> program = parseSourceFile<ModuleOp>(inputFile, &context);
    if (program)
      program = partitioned(std::move(program));
    if (!program) {
      llvm::errs() << inputFile << " cannot be partitioned\n";
      return 1;
    }
    counts = tamper(*program, first, edits, llvm::errs());
  } else {
    llvm::outs() << "// seeds from " << first << "\n";
    llvm::outs().flush();
    for (uint64_t seed = first; seed < first + count; ++seed)
      if (OwningOpRef<ModuleOp> program = partitioned(randomProgram(context, seed)))
        counts += tamper(*program, seed, edits, llvm::errs());
  }
  counts.print(llvm::outs());
  return counts.survived() != 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "random programs through the compiler's levels\n");
  DialectRegistry registry;
  registry.insert<func::FuncDialect, mtf::MtfDialect, spmd::SpmdDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::string errors;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      llvm::raw_string_ostream(errors) << diagnostic << "\n";
    return success();
  });
  if (fresh)
    first = std::random_device()();
  if (tamperWith)
    return tamperAll(context);
  if (!inputFile.empty()) {
    OwningOpRef<ModuleOp> program = parseSourceFile<ModuleOp>(inputFile, &context);
    if (!program || failed(check(*program, first))) {
      llvm::errs() << inputFile << " fails: " << errors;
      return 1;
    }
    llvm::outs() << "1 program agrees\n";
    return 0;
  }
  llvm::outs() << "// seeds from " << first << "\n";
  llvm::outs().flush();
  Coverage coverage;
  uint64_t failures = 0, refusals = 0;
  auto start = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    // Printed if the compiler crashes.
    llvm::PrettyStackTraceFormat note("program of seed %llu", static_cast<unsigned long long>(seed));
    OwningOpRef<ModuleOp> program = randomProgram(context, seed);
    if (print) {
      program->print(llvm::outs());
      return 0;
    }
    errors.clear();
    if (succeeded(check(*program, seed))) {
      coverage.add(*program);
      continue;
    }
    if (isRefusal(errors)) {
      ++refusals;
      continue;
    }
    ++failures;
    llvm::errs() << "program of seed " << seed << " fails: " << errors;
    if (!keepGoing) {
      std::string kind = kindOf(errors);
      OwningOpRef<ModuleOp> smallest = shrinkProgram(*program, [&](ModuleOp candidate) {
        errors.clear();
        return failed(check(candidate, seed)) && kindOf(errors) == kind;
      });
      smallest->print(llvm::outs());
      break;
    }
  }
  if (!logFile.empty()) {
    std::error_code error;
    llvm::ToolOutputFile log(logFile, error, llvm::sys::fs::OF_Text);
    if (error) {
      llvm::errs() << logFile << ": " << error.message() << "\n";
      return 1;
    }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    log.os() << "seeds " << first << " to " << first + count - 1 << ": " << count - refusals - failures << " programs agree, " << failures << " fail, "
             << refusals << " layouts are refused, " << llvm::format("%.0f", seconds.count()) << " s\n";
    coverage.print(log.os());
    log.keep();
  }
  if (failures != 0)
    return 1;
  llvm::outs() << count - refusals << " programs agree, " << refusals << " layouts are refused\n";
}
