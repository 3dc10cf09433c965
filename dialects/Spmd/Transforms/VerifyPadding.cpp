//===- VerifyPadding.cpp - no padding in sums ------------------------------===//
//
//   %l = mtf.logsumexp %x over ["vocab"] : (!mtf.tensor<[vocab=5 pad 6 (model)], f32>) -> ...
//   error: needs padding that is neg_inf in operand 0
//
//===----------------------------------------------------------------------===//
#include "Checks.h"
#include "Mtf/Transforms/PaddingState.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

static void readStates(Block &block, PaddingStates &states) {
  auto read = [&](Value value) {
    if (auto type = dyn_cast<NamedTensorType>(value.getType()))
      states.set(value, type.getPadding());
  };
  for (BlockArgument argument : block.getArguments())
    read(argument);
  for (Operation &op : block) {
    for (Value result : op.getResults())
      read(result);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        readStates(inner, states);
  }
}

static LogicalResult verifyOp(Operation *op, const PaddingStates &states) {
  for (OpOperand &use : op->getOpOperands()) {
    if (!isa<NamedTensorType>(use.get().getType()))
      continue;
    std::optional<Padding> needed = states.requirement(use);
    if (needed && isPadded(tensorType(use.get())) && states.of(use.get()) != *needed)
      return op->emitError() << "needs padding that is " << stringifyPadding(*needed) << " in operand " << use.getOperandNumber() << ": "
                             << use.get().getType();
  }
  if (isa<RepeatOp>(op))
    return success(); // Its verifier ties results to carries, and these are required above.
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (states.of(result) != Padding::Undefined)
      if (Padding actual = states.transferResult(op, result); actual != states.of(result))
        return op->emitError() << "result " << i << " claims padding that is " << stringifyPadding(states.of(result)) << ", but it is "
                               << stringifyPadding(actual) << ": " << result.getType();
  return success();
}

LogicalResult spmd::verifyPadding(func::FuncOp function) {
  PaddingStates states;
  readStates(function.getBody().front(), states);
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    if (states.of(argument) != Padding::Undefined && states.of(argument) != Padding::Zero)
      return function.emitError() << "argument " << i << " claims padding that is " << stringifyPadding(states.of(argument))
                                  << ", but arguments come with zeros: " << argument.getType();
  bool sound = true;
  function.walk([&](Operation *op) { sound &= op == function || succeeded(verifyOp(op, states)); });
  return success(sound);
}
