//===- Tamper.h - does the verifier see what is wrong? ----------*- C++ -*-===//
//
// A partitioned program is edited, one edit at a time: reductions dropped or done twice, collectives exchanged or done over other axes,
// types that claim another sharding, other factors, other operands, and versions for single ranks that differ. `spmd-verify` or the ops' verifiers must
// refuse each; what they let pass must compute the same values on virtual ranks.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TOOLS_TAMPER_H
#define MESHC_TOOLS_TAMPER_H

#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace meshc {

struct TamperCounts {
  struct Kind {
    uint64_t refused = 0, equal = 0, survived = 0;
  };
  std::map<std::string, Kind> kinds;

  TamperCounts &operator+=(const TamperCounts &other);
  uint64_t survived() const;
  void print(mlir::raw_ostream &os) const;
};

/// Tries up to `limit` edits (0: all) of the public functions of `program` (level 3), drawn by `seed`. Those that survive are printed to `os`.
/// Diagnostics of the verifiers should be silenced by the caller.
TamperCounts tamper(mlir::ModuleOp program, uint64_t seed, uint64_t limit, mlir::raw_ostream &os);

} // namespace meshc

#endif
