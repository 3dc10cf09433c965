//===- MtfToRt.cpp - one rank's program as buffers and kernels -----------------===//
//
//   func.func @train_step(%w {mtf.param = @w}, %x {mtf.data = "x"}) -> (%w' {mtf.param = @w}, %loss {mtf.result = "loss"})
//
// becomes
//
//   rt.global @param.w {role = param}   rt.global @train_step.x {role = data}   rt.global @train_step.loss {role = result}
//   rt.step @train_step { %w = rt.get_global @param.w ... rt.kernel ... rt.copy %w' to %w ... }
//
//===----------------------------------------------------------------------===//
#include "Lowering.h"
#include "Prepare.h"
#include "meshc/Conversion/Passes.h"

namespace meshc {
#define GEN_PASS_DEF_MTFTORT
#include "meshc/Conversion/Passes.h.inc"
} // namespace meshc

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
/// Makes and finds the globals of a module.
class Globals {
public:
  explicit Globals(ModuleOp module) : module(module), builder(module.getContext()) {}

  /// The global behind an argument or result of a function with the attributes `attrs`; `fallback` names one that has none.
  rt::GlobalOp get(func::FuncOp function, Value value, DictionaryAttr attrs, bool isResult, const std::string &fallback,
                   const MemoryOrders &orders) {
    rt::Role role = isResult ? rt::Role::Result : rt::Role::Data;
    FlatSymbolRefAttr param;
    std::string name = fallback;
    auto lookup = [&](StringRef key) { return attrs ? attrs.get(key) : Attribute(); };
    std::string symbol;
    if (auto attr = dyn_cast_or_null<FlatSymbolRefAttr>(lookup(kParam))) {
      role = rt::Role::Param;
      param = attr;
      name = attr.getValue().str();
      symbol = "param." + name;
    } else if (auto attr = dyn_cast_or_null<ArrayAttr>(lookup(kState))) {
      role = rt::Role::State;
      param = cast<FlatSymbolRefAttr>(attr[0]);
      name = cast<StringAttr>(attr[1]).getValue().str();
      symbol = "state." + param.getValue().str() + "." + name;
    } else {
      if (auto attr = dyn_cast_or_null<StringAttr>(lookup(kData)))
        name = attr.getValue().str();
      if (auto attr = dyn_cast_or_null<StringAttr>(lookup(kInput))) {
        role = rt::Role::Scalar;
        name = attr.getValue().str();
      }
      if (auto attr = dyn_cast_or_null<StringAttr>(lookup(kResult)))
        name = attr.getValue().str();
      symbol = (function.getSymName() + (isResult ? ".out." : ".") + name).str();
    }
    if (auto existing = module.lookupSymbol<rt::GlobalOp>(symbol))
      return existing;
    SmallVector<Attribute> order;
    if (auto op = param ? module.lookupSymbol<ParamOp>(param.getAttr()) : ParamOp())
      order.assign(op.getOrder().begin(), op.getOrder().end());
    else
      for (mtf::DimAttr dim : orders.order(value))
        order.push_back(dim.getName());
    auto step = param ? FlatSymbolRefAttr() : FlatSymbolRefAttr::get(function.getSymNameAttr());
    // At the start of the module, in order of first use.
    if (last)
      builder.setInsertionPointAfter(last);
    else
      builder.setInsertionPointToStart(module.getBody());
    return last = rt::GlobalOp::create(builder, value.getLoc(), symbol, orders.bufferType(value), role, name, step, param, value.getType(),
                                builder.getArrayAttr(order), IntegerAttr());
  }

private:
  ModuleOp module;
  OpBuilder builder;
  rt::GlobalOp last;
};

struct MtfToRtPass : meshc::impl::MtfToRtBase<MtfToRtPass> {
  using MtfToRtBase::MtfToRtBase;

  LogicalResult lowerFunction(func::FuncOp function, Globals &globals) {
    prepareForBuffers(function);
    MemoryOrders orders(function);
    Fusion fusion(function, orders);

    OpBuilder builder(function);
    auto step = rt::StepOp::create(builder, function.getLoc(), function.getSymName());
    builder.setInsertionPointToStart(&step.getBody().emplaceBlock());
    Lowering lowering(builder, function, orders, fusion);
    auto bufferOf = [&](rt::GlobalOp global) {
      return rt::GetGlobalOp::create(builder, global.getLoc(), global.bufferType(), global.getSymName());
    };
    llvm::StringMap<Value> known;
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      auto global = globals.get(function, argument, function.getArgAttrDict(i), false, "arg" + std::to_string(i), orders);
      Value buffer = known[global.getSymName()] = bufferOf(global);
      lowering.setBuffer(argument, buffer);
    }
    SmallVector<Value> targets;
    auto returned = function.getBody().front().getTerminator()->getOperands();
    for (auto [i, value] : llvm::enumerate(returned)) {
      auto global = globals.get(function, value, function.getResultAttrDict(i), true, "result" + std::to_string(i), orders);
      Value &buffer = known[global.getSymName()];
      if (!buffer)
        buffer = bufferOf(global);
      targets.push_back(buffer);
    }
    if (failed(lowering.lowerBlock(function.getBody().front())))
      return failure();
    // What another result overwrites is saved first.
    SmallVector<Value> sources;
    for (auto [value, target] : llvm::zip(returned, targets)) {
      Value source = lowering.bufferOf(value);
      if (rt::rootOf(source) != target && llvm::is_contained(targets, rt::rootOf(source))) {
        Value saved = lowering.allocate(rt::bufferType(source), value.getLoc());
        rt::CopyOp::create(builder, value.getLoc(), source, saved);
        source = saved;
      }
      sources.push_back(source);
    }
    for (auto [source, target] : llvm::zip(sources, targets))
      if (source != target)
        rt::CopyOp::create(builder, source.getLoc(), source, target);
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Globals globals(module);
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      // Metrics are arithmetic on the host: the emitter prints them from level 1.
      if (function.getName().starts_with(kMetricPrefix))
        continue;
      if (function.isPublic() && !function.isDeclaration() && failed(lowerFunction(function, globals)))
        return signalPassFailure();
      function.erase();
    }
  }
};
} // namespace
