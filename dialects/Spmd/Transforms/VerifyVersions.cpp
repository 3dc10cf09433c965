//===- VerifyVersions.cpp - the same collectives in the same order ---------===//
//
// All ranks run one function, whose loops have constant counts, so they issue the same collectives in the same order. Where ranks have versions
// of their own, this must be seen to:
//
//   func.func @step.0(...) attributes {spmd.program = "step", spmd.ranks = array<i64: 0>} { all_reduce a; all_gather b }
//   func.func @step.1(...) attributes {spmd.program = "step", spmd.ranks = array<i64: 1>} { all_gather b; all_reduce a }
//   error: rank 1 (data=1) issues 'spmd.all_gather' ..., where rank 0 (data=0) issues 'spmd.all_reduce' ...
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "Spmd/IR/Spmd.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
/// A collective, or where a loop begins or ends.
struct Event {
  std::string text;
  Operation *op;
};
} // namespace

static void listEvents(Block &block, std::vector<Event> &events) {
  for (Operation &op : block) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      os << "a loop of " << repeat.getCount() << " iterations";
      size_t begin = events.size();
      events.push_back({text, &op});
      listEvents(*repeat.bodyBlock(), events);
      // Loops without collectives are each rank's own business.
      if (events.size() == begin + 1)
        events.pop_back();
      else
        events.push_back({"the end of " + text, &op});
    } else if (auto collective = dyn_cast<spmd::CollectiveOpInterface>(op); collective && collective.communicates()) {
      os << "'" << op.getName() << "'";
      for (NamedAttribute attribute : op.getAttrDictionary())
        if (attribute.getName() != "reason")
          os << " " << attribute.getName().getValue() << " " << attribute.getValue();
      os << " of " << collective.getInput().getType() << " to " << collective.getResult().getType();
      events.push_back({text, &op});
    }
  }
}

static std::string describeRank(int64_t rank, MeshAttr mesh) {
  std::string text = "rank " + std::to_string(rank) + " (";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(mesh.getAxisNames(), os, [&](StringAttr axis) { os << axis.getValue() << "=" << mesh.coordinate(rank, axis); });
  os << ")";
  return text;
}

/// Compares with the version of rank 0 or, if that is missing, the first one.
static LogicalResult compareVersions(func::FuncOp first, func::FuncOp other, MeshAttr mesh) {
  std::vector<Event> expected, actual;
  listEvents(first.getBody().front(), expected);
  listEvents(other.getBody().front(), actual);
  std::string firstRank = describeRank(first->getAttrOfType<DenseI64ArrayAttr>(spmd::kRanks)[0], mesh),
              otherRank = describeRank(other->getAttrOfType<DenseI64ArrayAttr>(spmd::kRanks)[0], mesh);
  for (size_t i = 0; i < std::max(expected.size(), actual.size()); ++i) {
    Event end{"nothing more", nullptr};
    Event &a = i < expected.size() ? expected[i] : end, &b = i < actual.size() ? actual[i] : end;
    if (a.text == b.text)
      continue;
    InFlightDiagnostic error = emitError(b.op ? b.op->getLoc() : other.getLoc())
                               << otherRank << " issues " << b.text << ", where " << firstRank << " issues " << a.text;
    error.attachNote(a.op ? a.op->getLoc() : first.getLoc()) << "the other version is here: ranks of a group must issue the same collectives in the same order";
    return error;
  }
  return success();
}

LogicalResult spmd::verifyVersions(ModuleOp module) {
  MeshAttr mesh = MeshAttr::of(module);
  llvm::MapVector<StringAttr, SmallVector<func::FuncOp>> programs;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto program = function->getAttrOfType<StringAttr>(kProgram);
    auto ranks = function->getAttrOfType<DenseI64ArrayAttr>(kRanks);
    if (!program && !ranks)
      continue;
    if (!program || !ranks || ranks.empty() || function.isExternal())
      return function.emitError() << "a version for some ranks needs '" << kProgram << "', at least one rank in '" << kRanks << "', and a body";
    programs[program].push_back(function);
  }
  bool sound = true;
  for (auto &[program, versions] : programs) {
    llvm::SmallDenseMap<int64_t, func::FuncOp> ranks;
    for (func::FuncOp version : versions)
      for (int64_t rank : version->getAttrOfType<DenseI64ArrayAttr>(kRanks).asArrayRef()) {
        if (rank < 0 || rank >= mesh.numRanks())
          return version.emitError() << "rank must be from 0 to " << mesh.numRanks() - 1 << ", got: " << rank;
        if (!ranks.try_emplace(rank, version).second)
          return version.emitError() << describeRank(rank, mesh) << " has two versions of '" << program.getValue() << "'";
      }
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
      if (!ranks.count(rank))
        return versions.front().emitError() << describeRank(rank, mesh) << " has no version of '" << program.getValue() << "'";
    for (func::FuncOp version : ArrayRef(versions).drop_front())
      sound &= succeeded(compareVersions(versions.front(), version, mesh));
  }
  return success(sound);
}
