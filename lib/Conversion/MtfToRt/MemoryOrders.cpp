//===- MemoryOrders.cpp - the order of every value's dims in memory ----------===//
#include "MemoryOrders.h"
#include "Spmd/IR/Spmd.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

/// The parameter an argument or result belongs to, itself or as its optimizer state.
static ParamOp paramOf(Operation *from, DictionaryAttr attrs) {
  if (!attrs)
    return {};
  FlatSymbolRefAttr symbol = attrs.getAs<FlatSymbolRefAttr>(kParam);
  if (auto state = attrs.getAs<ArrayAttr>(kState))
    symbol = dyn_cast<FlatSymbolRefAttr>(state[0]);
  return symbol ? SymbolTable::lookupNearestSymbolFrom<ParamOp>(from, symbol) : ParamOp();
}

ConstantOp meshc::splatOf(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  return value.getDefiningOp<ConstantOp>();
}

MemoryOrders::MemoryOrders(func::FuncOp function) : mesh(MeshAttr::of(function)) {
  unsigned next = 0;
  auto add = [&](StringAttr name) {
    if (ranks.try_emplace(name, next).second)
      ++next;
  };
  function.walk<WalkOrder::PreOrder>([&](RepeatOp loop) { add(loop.getDimAttr()); });
  if (auto batch = function->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>(kBatchDim))
    add(batch);
  if (auto declared = function->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>(kDimOrder))
    for (auto name : declared.getAsRange<StringAttr>())
      add(name);

  collect(function.getBody().front());
  auto returned = function.getBody().front().getTerminator()->getOperands();
  auto prefer = [&](Value value, DictionaryAttr attrs) {
    if (ParamOp param = paramOf(function, attrs))
      preferred.try_emplace(classes.getOrInsertLeaderValue(value.getAsOpaquePointer()), param.getOrder());
  };
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    prefer(argument, function.getArgAttrDict(i));
  for (auto [i, value] : llvm::enumerate(returned))
    prefer(value, function.getResultAttrDict(i));
}

void MemoryOrders::join(Value a, Value b) { classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer()); }

void MemoryOrders::collect(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<RepeatOp>(op)) {
      for (unsigned i = 0; i < loop.numCarries(); ++i) {
        // A constant may start the carries of many classes.
        if (!splatOf(loop.getInits()[i]))
          join(loop.getInits()[i], loop.carryArg(i));
        join(loop.getResult(i), loop.carryArg(i));
        join(loop.next().getCarries()[i], loop.carryArg(i));
      }
      for (auto [i, input] : llvm::enumerate(loop.getScanned()))
        join(input, loop.sliceArg(i));
      for (auto [value, result] : llvm::zip(loop.next().getStacked(), loop.stackedResults()))
        join(value, result);
      collect(*loop.bodyBlock());
    } else if (auto grad = dyn_cast<AttendGradOp>(op)) {
      join(grad.getQ(), grad.getQGrad());
      join(grad.getK(), grad.getKGrad());
      join(grad.getV(), grad.getVGrad());
      join(grad.getOutput(), grad.getOutputGrad());
    } else if (op.hasTrait<Elementwise>() || isa<spmd::CollectiveOpInterface, FillPaddingOp, CumSumOp>(op)) {
      auto names = [](Value v) { return llvm::map_to_vector(tensorType(v).getDims(), [](DimAttr d) { return d.getName(); }); };
      for (Value operand : op.getOperands())
        if (names(operand) == names(op.getResult(0)))
          join(operand, op.getResult(0));
    }
  }
}

unsigned MemoryOrders::rank(StringAttr name) const {
  auto it = ranks.find(name);
  return it == ranks.end() ? ~0u : it->second;
}

void MemoryOrders::sort(SmallVectorImpl<StringAttr> &names) const {
  llvm::sort(names, [&](StringAttr a, StringAttr b) {
    return std::pair(rank(a), a.getValue()) < std::pair(rank(b), b.getValue());
  });
}

SmallVector<DimAttr> MemoryOrders::order(Value value) const {
  NamedTensorType type = tensorType(value);
  SmallVector<StringAttr> names = llvm::map_to_vector(type.getDims(), [](DimAttr d) { return d.getName(); });
  sort(names);
  auto leader = classes.findLeader(value.getAsOpaquePointer());
  ArrayAttr order = leader == classes.member_end() ? ArrayAttr() : preferred.lookup(*leader);
  if (order)
    llvm::stable_sort(names, [&](StringAttr a, StringAttr b) {
      auto at = [&](StringAttr name) { return llvm::find(order, name) - order.begin(); };
      // A dim that the parameter lacks (a loop's) goes first.
      auto key = [&](StringAttr name) { return at(name) == static_cast<ptrdiff_t>(order.size()) ? -1 : at(name); };
      return key(a) < key(b);
    });
  return llvm::map_to_vector(names, [&](StringAttr name) { return type.findDim(name); });
}

rt::BufferType MemoryOrders::bufferType(Value value) const {
  SmallVector<rt::DimAttr> dims;
  for (DimAttr dim : order(value))
    dims.push_back(rt::DimAttr::get(dim.getName(), mesh.localSize(dim)));
  return rt::BufferType::get(dims, tensorType(value).getElementType());
}
