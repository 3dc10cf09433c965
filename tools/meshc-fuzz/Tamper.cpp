//===- Tamper.cpp - does the verifier see what is wrong? -------------------===//
#include "Tamper.h"
#include "Edits.h"
#include "Spmd/Transforms/Passes.h"
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Compare.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include <map>
#include <random>

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

TamperCounts &TamperCounts::operator+=(const TamperCounts &other) {
  for (const auto &[name, kind] : other.kinds) {
    Kind &mine = kinds[name];
    mine.refused += kind.refused;
    mine.equal += kind.equal;
    mine.survived += kind.survived;
  }
  return *this;
}

uint64_t TamperCounts::survived() const {
  uint64_t sum = 0;
  for (const auto &[name, kind] : kinds)
    sum += kind.survived;
  return sum;
}

void TamperCounts::print(raw_ostream &os) const {
  Kind all;
  for (const auto &[name, kind] : kinds) {
    os << name << ": " << kind.refused << " refused, " << kind.equal << " compute the same, " << kind.survived << " survive\n";
    all.refused += kind.refused;
    all.equal += kind.equal;
    all.survived += kind.survived;
  }
  os << all.refused + all.equal + all.survived << " edits: " << all.refused << " refused, " << all.equal << " compute the same, " << all.survived
     << " survive\n";
}

/// The results of the public functions on random arguments; none if the interpreter finds a violation of its own.
static std::optional<std::vector<Tensor>> evaluate(ModuleOp module, uint64_t seed) {
  std::vector<Tensor> all;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isExternal())
      continue;
    Interpreter interpreter(module, Mode::VirtualRanks);
    auto results = interpreter.call(function, randomArguments(function, seed));
    if (failed(results))
      return std::nullopt;
    llvm::append_range(all, *results);
  }
  return all;
}

TamperCounts meshc::tamper(ModuleOp program, uint64_t seed, uint64_t limit, raw_ostream &os) {
  TamperCounts counts;
  std::optional<std::vector<Tensor>> expected = evaluate(program, seed);
  if (!expected) {
    ++counts.kinds["none"].survived;
    os << "the program fails before any edit\n";
    return counts;
  }
  std::vector<Edit> edits = editsOf(program);
  std::mt19937_64 random(seed);
  if (limit != 0 && edits.size() > limit) {
    std::shuffle(edits.begin(), edits.end(), random);
    // One of each kind, then another of each: most edits are of types.
    std::map<std::string, size_t> seen;
    std::vector<std::pair<size_t, size_t>> order;
    for (size_t i = 0; i < edits.size(); ++i)
      order.push_back({seen[edits[i].kind]++, i});
    llvm::sort(order);
    std::vector<Edit> drawn;
    for (auto [round, i] : ArrayRef(order).take_front(limit))
      drawn.push_back(edits[i]);
    edits = std::move(drawn);
  }
  for (const Edit &edit : edits) {
    OwningOpRef<ModuleOp> mutant(program.clone());
    SmallVector<Operation *> ops;
    mutant->walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    if (!edit.apply(ops[edit.op]))
      continue;
    TamperCounts::Kind &kind = counts.kinds[edit.kind];
    PassManager passes(program.getContext());
    passes.addPass(spmd::createVerifySpmd());
    if (failed(mlir::verify(*mutant)) || failed(passes.run(*mutant))) {
      ++kind.refused;
      continue;
    }
    std::optional<std::vector<Tensor>> actual = evaluate(*mutant, seed);
    bool equal = actual && actual->size() == expected->size();
    for (size_t i = 0; equal && i < expected->size(); ++i)
      equal = !firstDifference((*expected)[i], (*actual)[i], 1e-9);
    if (equal) {
      ++kind.equal;
      continue;
    }
    ++kind.survived;
    os << "survives: " << edit.kind << ", " << edit.detail << ": ";
    SmallVector<Operation *> before;
    program.walk<WalkOrder::PreOrder>([&](Operation *op) { before.push_back(op); });
    before[edit.op]->print(os, OpPrintingFlags().skipRegions());
    os << "\n";
  }
  return counts;
}
