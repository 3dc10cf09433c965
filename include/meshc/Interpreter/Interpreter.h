//===- Interpreter.h - executes mtf and spmd programs in float64 -*- C++ -*-===//
//
// The meaning of levels 1 to 3, written for clarity and independently of every target.
//
//   Interpreter interpreter(module);                       // level 1: one rank holds everything
//   Interpreter ranks(partitioned, Mode::VirtualRanks);    // levels 2 and 3: as many ranks as the mesh has
//   FailureOr<std::vector<Tensor>> results = ranks.call("loss", arguments);
//
// Arguments and results are global values at every level: arguments are scattered as the function's types say, results
// assembled. All ranks run in step, op by op. After each op on virtual ranks
//  - parts on ranks that differ along replicated axes only must agree to the bit,
//  - padding must hold what the result's type claims, and is poisoned with NaN where it claims nothing.
// A violation is an error at the op.
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_INTERPRETER_INTERPRETER_H
#define MESHC_INTERPRETER_INTERPRETER_H

#include "meshc/Interpreter/Placement.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <string>

namespace meshc::interp {

enum class Mode { Global, VirtualRanks };

/// A value named by `mtf.tap`, as a global tensor.
struct Tap {
  Tensor value;
  mlir::Location loc;
};
/// By name, in the order of first execution.
using Taps = llvm::MapVector<std::string, Tap, std::map<std::string, unsigned>>;

class Interpreter {
public:
  explicit Interpreter(mlir::ModuleOp module, Mode mode = Mode::Global);

  /// The level of `function`: VirtualRanks if any type in it is sharded or any op is a collective.
  static Mode modeOf(mlir::func::FuncOp function);

  mlir::FailureOr<std::vector<Tensor>> call(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments);
  mlir::FailureOr<std::vector<Tensor>> call(llvm::StringRef function, llvm::ArrayRef<Tensor> arguments);

  /// The taps of all calls so far. Inside a loop the name has the index appended, `h[layers=2]`; the last value counts.
  const Taps &taps() const { return tapped; }
  void clearTaps() { tapped.clear(); }

  mtf::MeshAttr mesh() const { return rankMesh; }

private:
  using Environment = llvm::DenseMap<mlir::Value, Shards>;

  mlir::LogicalResult runBlock(mlir::Block &block, Environment &values);
  mlir::LogicalResult runOp(mlir::Operation &op, Environment &values);
  mlir::LogicalResult runRanks(mlir::Operation &op, Environment &values);
  mlir::LogicalResult runRepeat(mtf::RepeatOp op, Environment &values);
  mlir::LogicalResult runCall(mlir::func::CallOp op, Environment &values);
  mlir::LogicalResult runFunction(mlir::func::FuncOp function, std::vector<Shards> arguments, std::vector<Shards> &results);
  void recordTap(mtf::TapOp op, const Shards &value);
  /// Checks and poisons a fresh value of `op`.
  mlir::LogicalResult settle(mlir::Operation &op, mlir::Value result, Shards &value);
  mlir::LogicalResult checkAxes(mlir::func::FuncOp function);

  mlir::ModuleOp module;
  mtf::MeshAttr rankMesh;
  llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>> loops;
  Taps tapped;
  int depth = 0;
};

} // namespace meshc::interp

#endif
