//===- Interpreter.cpp - executes mtf and spmd programs in float64 ---------===//
#include "meshc/Interpreter/Interpreter.h"
#include "Collectives.h"
#include "Evaluator.h"
#include "Spmd/IR/Spmd.h"
#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;
using mtf::MeshAttr;
using mtf::NamedTensorType;

Interpreter::Interpreter(ModuleOp module, Mode mode) : module(module) {
  MLIRContext *context = module.getContext();
  rankMesh = mode == Mode::VirtualRanks ? MeshAttr::of(module) : MeshAttr::get(context, StringAttr::get(context, "one"), {}, {});
}

Mode Interpreter::modeOf(func::FuncOp function) {
  auto sharded = [](Type type) {
    auto tensor = dyn_cast<NamedTensorType>(type);
    return tensor && !tensor.isGlobal();
  };
  bool found = llvm::any_of(function.getArgumentTypes(), sharded);
  function.walk([&](Operation *op) {
    found |= llvm::any_of(op->getResultTypes(), sharded) || op->getName().getDialectNamespace() == "spmd";
  });
  return found ? Mode::VirtualRanks : Mode::Global;
}

FailureOr<std::vector<Tensor>> Interpreter::call(StringRef name, ArrayRef<Tensor> arguments) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function)
    return module.emitError() << "no function '" << name << "'";
  return call(function, arguments);
}

FailureOr<std::vector<Tensor>> Interpreter::call(func::FuncOp function, ArrayRef<Tensor> arguments) {
  if (failed(checkAxes(function)))
    return failure();
  if (arguments.size() != function.getNumArguments())
    return function.emitError() << "takes " << function.getNumArguments() << " arguments, got: " << arguments.size();
  std::vector<Shards> parts, results;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = cast<NamedTensorType>(type);
    if (arguments[i].dims() != ArrayRef<Dim>(globalDims(tensor)))
      return function.emitError() << "argument " << i << " should be over " << tensor.global();
    parts.push_back(scatter(arguments[i], tensor, rankMesh));
  }
  if (failed(runFunction(function, std::move(parts), results)))
    return failure();
  std::vector<Tensor> globals;
  for (auto [value, type] : llvm::zip(results, function.getResultTypes()))
    globals.push_back(assemble(value, cast<NamedTensorType>(type), rankMesh));
  return globals;
}

/// - every value is a tensor
/// - every axis of a type is an axis of the mesh we run on
LogicalResult Interpreter::checkAxes(func::FuncOp function) {
  auto check = [&](Operation *op, Value value) -> LogicalResult {
    auto type = dyn_cast<NamedTensorType>(value.getType());
    if (!type)
      return op->emitError() << "cannot interpret a value of type " << value.getType();
    SmallVector<StringAttr> axes = type.splitAxes();
    llvm::append_range(axes, type.getPartialAxes());
    for (StringAttr axis : axes)
      if (!rankMesh.hasAxis(axis))
        return op->emitError() << "type " << type << " uses axis '" << axis.getValue() << "', which mesh '"
                               << rankMesh.getName().getValue() << "' lacks";
    return success();
  };
  if (function.isExternal())
    return function.emitError() << "function '" << function.getName() << "' has no body";
  WalkResult result = function.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (failed(check(op, argument)))
            return WalkResult::interrupt();
    for (Value value : op->getResults())
      if (failed(check(op, value)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult Interpreter::runFunction(func::FuncOp function, std::vector<Shards> arguments, std::vector<Shards> &results) {
  Environment values;
  Block &body = function.getBody().front();
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    values[argument] = std::move(value);
  if (failed(runBlock(body, values)))
    return failure();
  for (Value operand : body.getTerminator()->getOperands())
    results.push_back(values.at(operand));
  return success();
}

LogicalResult Interpreter::runBlock(Block &block, Environment &values) {
  for (Operation &op : block.without_terminator())
    if (failed(runOp(op, values)))
      return failure();
  return success();
}

LogicalResult Interpreter::runOp(Operation &op, Environment &values) {
  if (auto repeat = dyn_cast<mtf::RepeatOp>(op))
    return runRepeat(repeat, values);
  if (auto call = dyn_cast<func::CallOp>(op))
    return runCall(call, values);
  if (isa<mtf::ReshardOp, mtf::FillPaddingOp>(op)) {
    // By definition: the same global value placed as the result's type says.
    Tensor global = assemble(values.at(op.getOperand(0)), mtf::tensorType(op.getOperand(0)), rankMesh);
    values[op.getResult(0)] = scatter(global, mtf::tensorType(op.getResult(0)), rankMesh);
    return success();
  }
  if (isa<spmd::CollectiveOpInterface>(op)) {
    FailureOr<Shards> result = runCollective(&op, rankMesh, values.at(op.getOperand(0)));
    if (failed(result))
      return failure();
    values[op.getResult(0)] = std::move(*result);
  } else if (failed(runRanks(op, values))) {
    return failure();
  }
  for (Value result : op.getResults())
    if (failed(settle(op, result, values.find(result)->second)))
      return failure();
  if (auto tap = dyn_cast<mtf::TapOp>(op))
    recordTap(tap, values.at(tap.getResult()));
  return success();
}

LogicalResult Interpreter::runRanks(Operation &op, Environment &values) {
  const RankEvaluator *evaluate = EvaluatorTable::get().find(op.getName().getStringRef());
  if (!evaluate)
    return op.emitError() << "the interpreter does not know '" << op.getName().getStringRef() << "'";
  std::vector<Shards> results(op.getNumResults());
  for (int64_t rank = 0, ranks = rankMesh.numRanks(); rank < ranks; ++rank) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.find(operand)->second[rank]);
    RankOp rankOp(&op, rankMesh, rank, operands);
    if (failed((*evaluate)(rankOp)))
      return failure();
    for (auto [all, one] : llvm::zip(results, rankOp.results))
      all.push_back(std::move(one));
  }
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    values[result] = std::move(value);
  return success();
}

/// Text for a rank: `rank 3 (data=1, model=1)`.
static std::string describeRank(MeshAttr mesh, int64_t rank) {
  std::string text = "rank " + std::to_string(rank) + " (";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(mesh.getAxisNames(), os,
                        [&](StringAttr axis) { os << axis.getValue() << "=" << mesh.coordinate(rank, axis); });
  return text + ")";
}

LogicalResult Interpreter::settle(Operation &op, Value result, Shards &value) {
  NamedTensorType type = mtf::tensorType(result);
  double claimed = paddingValue(type.getPadding());
  for (auto [rank, part] : llvm::enumerate(value)) {
    LogicalResult sound = success();
    forEachPadding(type, rankMesh, rank, [&](int64_t offset) {
      if (std::isnan(claimed))
        part[offset] = kPoison;
      else if (part[offset] != claimed && succeeded(sound))
        sound = op.emitError() << "the type claims padding(" << mtf::stringifyPadding(type.getPadding()) << "), but "
                               << describeRank(rankMesh, rank) << " holds " << formatNumber(part[offset]) << " there: " << type;
    });
    if (failed(sound))
      return failure();
  }
  for (auto [rank, part] : llvm::enumerate(value))
    if (int64_t root = replicaRoot(type, rankMesh, rank); !part.identical(value[root]))
      return op.emitError() << "the type says replicated, but " << describeRank(rankMesh, rank) << " and "
                            << describeRank(rankMesh, root) << " hold different values: " << type;
  return success();
}

LogicalResult Interpreter::runRepeat(mtf::RepeatOp op, Environment &values) {
  StringAttr dim = op.getDimAttr();
  int64_t count = op.getCount(), ranks = rankMesh.numRanks();
  SmallVector<Shards> carries, stacks;
  for (Value init : op.getInits())
    carries.push_back(values.at(init));
  for (Value result : op.stackedResults())
    stacks.push_back(Shards(ranks, Tensor(localDims(mtf::tensorType(result), rankMesh), kPoison)));

  loops.push_back({dim, 0});
  for (int64_t step = 0; step < count; ++step) {
    int64_t index = op.getReverse() ? count - 1 - step : step;
    loops.back().second = index;
    values[op.indexArg()] = Shards(ranks, Tensor::scalar(static_cast<double>(index)));
    for (auto [i, carry] : llvm::enumerate(carries))
      values[op.carryArg(i)] = std::move(carry);
    for (auto [i, input] : llvm::enumerate(op.getScanned())) {
      Shards slices;
      for (const Tensor &whole : values.at(input)) {
        Tensor &slice = slices.emplace_back(without(whole.dims(), {dim}));
        int64_t base = index * whole.stride(dim);
        forEach<2>(slice.dims(), {&slice, &whole}, [&](auto o) { slice[o[0]] = whole[o[1] + base]; });
      }
      values[op.sliceArg(i)] = std::move(slices);
    }
    if (failed(runBlock(*op.bodyBlock(), values)))
      return failure();
    mtf::NextOp next = op.next();
    for (auto [i, value] : llvm::enumerate(next.getCarries()))
      carries[i] = values.at(value);
    for (auto [stack, value] : llvm::zip(stacks, next.getStacked()))
      for (auto [whole, slice] : llvm::zip(stack, values.find(value)->second)) {
        int64_t base = index * whole.stride(dim);
        forEach<2>(slice.dims(), {&slice, &whole}, [&](auto o) { whole[o[1] + base] = slice[o[0]]; });
      }
  }
  loops.pop_back();
  for (auto [result, value] : llvm::zip(op.carryResults(), carries))
    values[result] = std::move(value);
  for (auto [result, value] : llvm::zip(op.stackedResults(), stacks))
    values[result] = std::move(value);
  return success();
}

LogicalResult Interpreter::runCall(func::CallOp op, Environment &values) {
  auto callee = module.lookupSymbol<func::FuncOp>(op.getCallee());
  if (!callee)
    return op.emitError() << "no function '" << op.getCallee() << "'";
  // Programs have no recursion; a bound turns a malformed one into an error.
  if (depth == 64)
    return op.emitError() << "calls are nested more than 64 deep";
  if (failed(checkAxes(callee)))
    return failure();
  std::vector<Shards> arguments, results;
  for (Value operand : op.getOperands())
    arguments.push_back(values.at(operand));
  ++depth;
  LogicalResult ran = runFunction(callee, std::move(arguments), results);
  --depth;
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    values[result] = std::move(value);
  return ran;
}

void Interpreter::recordTap(mtf::TapOp op, const Shards &value) {
  std::string name = op.getName().str();
  for (auto [dim, index] : loops)
    name += "[" + dim.str() + "=" + std::to_string(index) + "]";
  Tap tap{assemble(value, op.getResult().getType(), rankMesh), op.getLoc()};
  auto [it, isNew] = tapped.insert({name, tap});
  if (!isNew)
    it->second = tap;
}
