//===- KernelArithmetic.cpp - elementwise ops as scalar ops ---------------===//
#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

Value KernelBuilder::compare(Predicate predicate, Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType())) {
    static constexpr arith::CmpFPredicate kinds[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
                                                     arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return arith::CmpFOp::create(at(), loc, kinds[static_cast<unsigned>(predicate)], lhs, rhs);
  }
  static constexpr arith::CmpIPredicate kinds[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::slt,
                                                   arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  return arith::CmpIOp::create(at(), loc, kinds[static_cast<unsigned>(predicate)], lhs, rhs);
}

/// `from` and `to` are the tensors' element types; `value` is already widened.
Value KernelBuilder::cast(Value value, Type from, Type to) {
  OpBuilder &b = at();
  if (from == to)
    return value;
  if (to.isInteger(1))
    return compare(Predicate::Ne, value, constant(0, value.getType()));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (!fromFloat && !toFloat)
    return arith::ExtUIOp::create(b, loc, to, value); // i1 to i32
  if (!fromFloat) {
    Type target = to.isBF16() ? b.getF32Type() : to;
    value = from.isInteger(1) ? arith::UIToFPOp::create(b, loc, target, value).getResult() : arith::SIToFPOp::create(b, loc, target, value).getResult();
  } else if (!toFloat) {
    return arith::FPToSIOp::create(b, loc, to, value);
  }
  unsigned have = value.getType().getIntOrFloatBitWidth(), want = to.isBF16() ? 32 : to.getIntOrFloatBitWidth();
  if (have < want)
    value = arith::ExtFOp::create(b, loc, to, value);
  else if (have > want)
    value = arith::TruncFOp::create(b, loc, to.isBF16() ? b.getF32Type() : to, value);
  // Rounded where the program says so, although computed in f32.
  return to.isBF16() ? widen(arith::TruncFOp::create(b, loc, to, value)) : value;
}

Value KernelBuilder::arithmetic(Operation *op, ArrayRef<Value> in) {
  OpBuilder &b = at();
  bool isFloat = isa<FloatType>(in.back().getType());
  auto make = [&](auto tag, auto... operands) -> Value { return decltype(tag)::create(b, loc, operands...); };
  auto number = [&](double value) { return constant(value, in.back().getType()); };
#define EITHER(FLOAT, INT, ...) (isFloat ? make(FLOAT(), __VA_ARGS__) : make(INT(), __VA_ARGS__))
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AddOp>([&](auto) { return EITHER(arith::AddFOp, arith::AddIOp, in[0], in[1]); })
      .Case<SubOp>([&](auto) { return EITHER(arith::SubFOp, arith::SubIOp, in[0], in[1]); })
      .Case<MulOp>([&](auto) { return EITHER(arith::MulFOp, arith::MulIOp, in[0], in[1]); })
      .Case<DivOp>([&](auto) { return EITHER(arith::DivFOp, arith::FloorDivSIOp, in[0], in[1]); })
      .Case<MaxOp>([&](auto) { return EITHER(arith::MaximumFOp, arith::MaxSIOp, in[0], in[1]); })
      .Case<MinOp>([&](auto) { return EITHER(arith::MinimumFOp, arith::MinSIOp, in[0], in[1]); })
      .Case<PowOp>([&](auto) { return EITHER(math::PowFOp, math::IPowIOp, in[0], in[1]); })
      .Case<RemOp>([&](auto) {
        Value quotient = isFloat ? make(math::FloorOp(), make(arith::DivFOp(), in[0], in[1])) : make(arith::FloorDivSIOp(), in[0], in[1]);
        Value whole = EITHER(arith::MulFOp, arith::MulIOp, in[1], quotient);
        return EITHER(arith::SubFOp, arith::SubIOp, in[0], whole);
      })
      .Case<AndOp>([&](auto) { return make(arith::AndIOp(), in[0], in[1]); })
      .Case<OrOp>([&](auto) { return make(arith::OrIOp(), in[0], in[1]); })
      .Case<NotOp>([&](auto) { return make(arith::XOrIOp(), in[0], number(1)); })
      .Case<NegOp>([&](auto) { return isFloat ? make(arith::NegFOp(), in[0]) : make(arith::SubIOp(), number(0), in[0]); })
      .Case<AbsOp>([&](auto) { return EITHER(math::AbsFOp, math::AbsIOp, in[0]); })
      .Case<SignOp>([&](auto) {
        Value positive = make(arith::SelectOp(), compare(Predicate::Gt, in[0], number(0)), number(1), number(0));
        return make(arith::SelectOp(), compare(Predicate::Lt, in[0], number(0)), number(-1), positive);
      })
      .Case<ExpOp>([&](auto) { return make(math::ExpOp(), in[0]); })
      .Case<LogOp>([&](auto) { return make(math::LogOp(), in[0]); })
      .Case<SqrtOp>([&](auto) { return make(math::SqrtOp(), in[0]); })
      .Case<RsqrtOp>([&](auto) { return make(math::RsqrtOp(), in[0]); })
      .Case<TanhOp>([&](auto) { return make(math::TanhOp(), in[0]); })
      .Case<ErfOp>([&](auto) { return make(math::ErfOp(), in[0]); })
      .Case<SinOp>([&](auto) { return make(math::SinOp(), in[0]); })
      .Case<CosOp>([&](auto) { return make(math::CosOp(), in[0]); })
      .Case<FloorOp>([&](auto) { return make(math::FloorOp(), in[0]); })
      .Case<CeilOp>([&](auto) { return make(math::CeilOp(), in[0]); })
      .Case<SigmoidOp>([&](auto) {
        Value e = make(math::ExpOp(), make(arith::NegFOp(), in[0]));
        return make(arith::DivFOp(), number(1), make(arith::AddFOp(), number(1), e));
      })
      .Case<CompareOp>([&](CompareOp op) { return compare(op.getPredicate(), in[0], in[1]); })
      .Case<SelectOp>([&](auto) { return make(arith::SelectOp(), in[0], in[1], in[2]); })
      .Case<CastOp>([&](CastOp op) { return cast(in[0], op.getInput().getType().getElementType(), op.getType().getElementType()); })
      .Case<TapOp, StopGradientOp>([&](auto) { return in.back(); })
      .Default([](Operation *op) -> Value { llvm::report_fatal_error("no kernel form of " + op->getName().getStringRef()); });
#undef EITHER
}
