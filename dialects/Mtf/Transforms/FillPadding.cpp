//===- FillPadding.cpp - what padding holds, and where it must be filled ---===//
//
// Dimensions that do not divide are padded at the tail (ShardingPadding.h). This pass finds what the padding of each value holds,
// writes it into the types, and fills it where an op would otherwise let it into a sum:
//
//   %l = mtf.logsumexp %x over ["vocab"]             // vocab=50257 pad 50258
//
//   %f = mtf.fill_padding %x : ... -> !mtf.tensor<[vocab=50257 pad 50258 (model)], f32, padding(neg_inf)>
//   %l = mtf.logsumexp %f over ["vocab"]
//
// Arguments of functions come with zeros in their padding and results are given so.
//
// An elementwise op maps padding to padding: if the operands hold known numbers there, the op applied to them is what the result
// holds, kept if a type can say it. Everything else is undefined until it is filled; kernels fuse the fill into what reads it.
//
//===----------------------------------------------------------------------===//
#include "Mtf/Transforms/Passes.h"
#include "PaddingState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::mtf {
#define GEN_PASS_DEF_FILLPADDING
#include "Mtf/Transforms/Passes.h.inc"
} // namespace meshc::mtf

using namespace mlir;
using namespace meshc::mtf;

namespace {
class Filler {
public:
  explicit Filler(func::FuncOp function) : function(function) {}
  void run();

private:
  /// Finds states of the values in `block`.
  void infer(Block &block);
  void infer(RepeatOp op);
  void rewrite(Block &block);
  Value filled(OpOperand &use, Padding padding);
  void maskMemory(Operation *op, StringAttr mem);

  func::FuncOp function;
  PaddingStates states;
  llvm::DenseMap<std::tuple<Value, Padding, Block *>, Value> fills;
};
} // namespace

void Filler::infer(RepeatOp op) {
  for (unsigned i = 0; i < op.numCarries(); ++i)
    states.set(op.carryArg(i), states.of(op.getInits()[i]));
  for (auto [i, input] : llvm::enumerate(op.getScanned()))
    states.set(op.sliceArg(i), states.of(input));
  NextOp next = op.next();
  // A carry holds in its padding what it starts with, unless an iteration changes that.
  for (bool changed = true; changed;) {
    infer(*op.bodyBlock());
    changed = false;
    for (unsigned i = 0; i < op.numCarries(); ++i)
      if (Padding before = states.of(op.carryArg(i)); before != Padding::Undefined && states.of(next.getCarries()[i]) != before) {
        states.set(op.carryArg(i), Padding::Undefined);
        changed = true;
      }
  }
  for (unsigned i = 0; i < op.numCarries(); ++i)
    states.set(op.carryResults()[i], states.of(op.carryArg(i)));
  // No iteration writes what lies past the loop's size.
  for (auto [value, result] : llvm::zip(next.getStacked(), op.stackedResults()))
    states.set(result, tensorType(result).findDim(op.getDimAttr()).isPadded() ? Padding::Undefined : states.of(value));
}

void Filler::infer(Block &block) {
  for (Operation &op : block) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      infer(repeat);
    else
      states.transfer(&op);
  }
}

/// A version of the operand that holds `padding`, made next to the use.
Value Filler::filled(OpOperand &use, Padding padding) {
  Value value = use.get();
  if (!isPadded(tensorType(value)) || states.of(value) == padding)
    return value;
  Operation *op = use.getOwner();
  Value &known = fills[{value, padding, op->getBlock()}];
  if (!known) {
    OpBuilder builder(op);
    known = FillPaddingOp::create(builder, value.getLoc(), tensorType(value).withPadding(padding), value);
    states.set(known, padding);
  }
  return known;
}

/// Padded positions of the memory must have no weight: the mask is false there.
void Filler::maskMemory(Operation *op, StringAttr mem) {
  auto k = tensorType(op->getOperand(1));
  DimAttr dim = k.findDim(mem);
  if (!dim.isPadded())
    return;
  OpBuilder builder(op);
  auto mask = [&]() -> Value { return isa<AttendOp>(op) ? cast<AttendOp>(op).getMask() : cast<AttendGradOp>(op).getMask(); }();
  if (!mask || !tensorType(mask).hasDim(mem)) {
    auto boolean = builder.getI1Type();
    Value yes = ConstantOp::create(builder, op->getLoc(), 1.0, boolean);
    auto type = NamedTensorType::get({dim}, boolean);
    Value valid = BroadcastOp::create(builder, op->getLoc(), type, yes);
    valid = FillPaddingOp::create(builder, op->getLoc(), type.withPadding(Padding::Zero), valid);
    states.set(valid, Padding::Zero);
    if (mask) {
      NamedTensorType both = tensorType(mask).with(dim);
      valid = AndOp::create(builder, op->getLoc(), both.withPadding(Padding::Undefined), mask, valid);
      states.set(valid, Padding::Undefined);
    }
    mask = valid;
    if (auto attend = dyn_cast<AttendOp>(op))
      attend.getMaskMutable().assign(mask);
    else
      cast<AttendGradOp>(op).getMaskMutable().assign(mask);
  }
}

void Filler::rewrite(Block &block) {
  for (Value argument : block.getArguments())
    states.write(argument);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto attend = dyn_cast<AttendOp>(op))
      maskMemory(&op, attend.getMemAttr());
    if (auto attend = dyn_cast<AttendGradOp>(op))
      maskMemory(&op, attend.getMemAttr());
    for (OpOperand &use : op.getOpOperands())
      if (isa<NamedTensorType>(use.get().getType()))
        if (std::optional<Padding> needed = states.requirement(use))
          use.set(filled(use, *needed));
    for (Value result : op.getResults())
      states.write(result);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        rewrite(inner);
  }
}

void Filler::run() {
  Block &body = function.getBody().front();
  for (Value argument : body.getArguments())
    states.set(argument, Padding::Zero);
  infer(body);
  // Fills for carries must agree with the type of the loop, so requirements of loops come from the states found.
  rewrite(body);
  function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
}

namespace {
struct FillPaddingPass : meshc::mtf::impl::FillPaddingBase<FillPaddingPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Filler(function).run();
  }
};
} // namespace
