//===- RtKernels.cpp - executes the scalar ops of kernels and masks ---------===//
#include "RtKernels.h"
#include "../Interpreter/Philox.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace meshc;
using namespace meshc::rt;
using namespace meshc::interp;

void KernelRun::bind(Value argument, Value operand) {
  if (isa<BufferType>(operand.getType()))
    bases[argument] = rank.values.lookup(operand);
  else
    values[argument] = rank.values.lookup(operand);
}

int64_t KernelRun::elementOf(BufferType type, ArrayAttr at, ValueRange indices, bool &outside) const {
  int64_t element = 0;
  for (auto [dim, stride] : llvm::zip(type.getDims(), type.getStrides())) {
    auto it = llvm::find(at, dim.getName());
    int64_t index = it == at.end() ? position.lookup(dim.getName()) : static_cast<int64_t>(values.lookup(indices[it - at.begin()]));
    outside |= index < 0 || index >= dim.getSize();
    element += index * stride;
  }
  return element;
}

static double compare(arith::CmpIPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq: return a == b;
  case arith::CmpIPredicate::ne: return a != b;
  case arith::CmpIPredicate::slt: return a < b;
  case arith::CmpIPredicate::sle: return a <= b;
  case arith::CmpIPredicate::sgt: return a > b;
  case arith::CmpIPredicate::sge: return a >= b;
  default: llvm::report_fatal_error("unsigned comparison in a kernel");
  }
}

static double compare(arith::CmpFPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ: return a == b;
  case arith::CmpFPredicate::UNE: return a != b;
  case arith::CmpFPredicate::OLT: return a < b;
  case arith::CmpFPredicate::OLE: return a <= b;
  case arith::CmpFPredicate::OGT: return a > b;
  case arith::CmpFPredicate::OGE: return a >= b;
  default: llvm::report_fatal_error("unexpected comparison in a kernel");
  }
}

static double random(RandomOp op, llvm::function_ref<double(Value)> valueOf) {
  uint32_t repeats = 0;
  for (Value index : op.getRepeats())
    repeats = mixRepeat(repeats, static_cast<uint32_t>(valueOf(index)));
  auto linear = static_cast<uint64_t>(valueOf(op.getIndex()));
  auto words = philox({static_cast<uint32_t>(static_cast<int64_t>(valueOf(op.getSeed()))), hashPath(op.getPath())},
                      {static_cast<uint32_t>(linear), static_cast<uint32_t>(linear >> 32), static_cast<uint32_t>(static_cast<int64_t>(valueOf(op.getStep()))), repeats});
  switch (op.getDistribution()) {
  case mtf::Distribution::Uniform: return uniformOf(words[0]);
  case mtf::Distribution::Normal: return normalOf(words);
  case mtf::Distribution::Bernoulli: return keepOf(words[0], op.getParameter().convertToDouble());
  }
  llvm_unreachable("all distributions");
}

double KernelRun::evaluate(Operation *op) {
  auto in = [&](unsigned i) { return values.lookup(op->getOperand(i)); };
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto value = dyn_cast<FloatAttr>(constant.getValue()))
      return value.getValueAsDouble();
    auto value = cast<IntegerAttr>(constant.getValue());
    return value.getType().isInteger(1) ? static_cast<double>(value.getValue().getZExtValue()) : static_cast<double>(value.getInt());
  }
  if (auto index = dyn_cast<IndexOp>(op))
    return position.lookup(index.getDimAttr());
  if (auto shard = dyn_cast<ShardIndexOp>(op))
    return program.shardIndex(number, shard.getAxes());
  if (auto randomOp = dyn_cast<RandomOp>(op))
    return random(randomOp, [&](Value value) { return values.lookup(value); });
  if (auto load = dyn_cast<LoadOp>(op)) {
    bool outside = false;
    RtInterpreter::Buffer buffer{&rank, load.getBuffer().getType(), bases.lookup(load.getBuffer())};
    int64_t element = elementOf(buffer.type, load.getAt(), load.getIndices(), outside);
    if (outside && load.getInBounds())
      llvm::report_fatal_error("a load that says in_bounds is not");
    return outside ? 0 : buffer.read(element);
  }
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return compare(cmp.getPredicate(), in(0), in(1));
  if (auto cmp = dyn_cast<arith::CmpFOp>(op))
    return compare(cmp.getPredicate(), in(0), in(1));
  StringRef name = op->getName().getStringRef();
  using Unary = double (*)(double);
  using Binary = double (*)(double, double);
  auto unary = llvm::StringSwitch<Unary>(name)
                   .Cases({"arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.uitofp", "arith.sitofp"}, +[](double a) { return a; })
                   .Case("arith.fptosi", +[](double a) { return std::trunc(a); })
                   .Case("arith.negf", +[](double a) { return -a; })
                   .Case("math.exp", +[](double a) { return std::exp(a); })
                   .Case("math.log", +[](double a) { return std::log(a); })
                   .Case("math.sqrt", +[](double a) { return std::sqrt(a); })
                   .Case("math.rsqrt", +[](double a) { return 1 / std::sqrt(a); })
                   .Case("math.tanh", +[](double a) { return std::tanh(a); })
                   .Case("math.erf", +[](double a) { return std::erf(a); })
                   .Case("math.sin", +[](double a) { return std::sin(a); })
                   .Case("math.cos", +[](double a) { return std::cos(a); })
                   .Case("math.floor", +[](double a) { return std::floor(a); })
                   .Case("math.ceil", +[](double a) { return std::ceil(a); })
                   .Cases({"math.absf", "math.absi"}, +[](double a) { return std::fabs(a); })
                   .Default(nullptr);
  if (unary)
    return unary(in(0));
  auto binary = llvm::StringSwitch<Binary>(name)
                    .Cases({"arith.addf", "arith.addi"}, +[](double a, double b) { return a + b; })
                    .Cases({"arith.subf", "arith.subi"}, +[](double a, double b) { return a - b; })
                    .Cases({"arith.mulf", "arith.muli"}, +[](double a, double b) { return a * b; })
                    .Case("arith.divf", +[](double a, double b) { return a / b; })
                    .Case("arith.divsi", +[](double a, double b) { return std::trunc(a / b); })
                    .Case("arith.floordivsi", +[](double a, double b) { return std::floor(a / b); })
                    .Case("arith.remsi", +[](double a, double b) { return std::fmod(a, b); })
                    .Cases({"arith.maximumf", "arith.maxsi"}, +[](double a, double b) { return a > b ? a : b; })
                    .Cases({"arith.minimumf", "arith.minsi"}, +[](double a, double b) { return a < b ? a : b; })
                    .Cases({"math.powf", "math.ipowi"}, +[](double a, double b) { return std::pow(a, b); })
                    .Case("arith.andi", +[](double a, double b) { return static_cast<double>(a != 0 && b != 0); })
                    .Case("arith.ori", +[](double a, double b) { return static_cast<double>(a != 0 || b != 0); })
                    .Case("arith.xori", +[](double a, double b) { return static_cast<double>((a != 0) != (b != 0)); })
                    .Default(nullptr);
  if (binary)
    return binary(in(0), in(1));
  if (isa<arith::SelectOp>(op))
    return in(0) != 0 ? in(1) : in(2);
  llvm::report_fatal_error("no meaning of " + name);
}

void KernelRun::runOps(Block &block) {
  for (Operation &op : block) {
    if (auto row = dyn_cast<RowOp>(op)) {
      runRow(row, op.getParentOfType<KernelOp>());
    } else if (auto store = dyn_cast<StoreOp>(op)) {
      bool outside = false;
      RtInterpreter::Buffer buffer{&rank, store.getBuffer().getType(), bases.lookup(store.getBuffer())};
      buffer.write(elementOf(buffer.type, ArrayAttr::get(op.getContext(), {}), {}, outside), values.lookup(store.getValue()));
    } else if (!op.hasTrait<OpTrait::IsTerminator>()) {
      values[op.getResult(0)] = evaluate(&op);
    }
  }
}

/// Every index of `dims`, from the last to the first.
static void forEachBackward(ArrayAttr dims, llvm::DenseMap<StringAttr, int64_t> &position, llvm::function_ref<void()> body) {
  int64_t count = 1;
  for (auto dim : dims.getAsRange<DimAttr>())
    count *= dim.getSize();
  for (int64_t linear = count; linear-- > 0;) {
    int64_t rest = linear;
    for (Attribute attr : llvm::reverse(dims)) {
      auto dim = cast<DimAttr>(attr);
      position[dim.getName()] = rest % dim.getSize();
      rest /= dim.getSize();
    }
    body();
  }
}

void KernelRun::runRow(RowOp row, KernelOp kernel) {
  YieldOp yield = row.yield();
  SmallVector<double> reduced;
  auto kinds = llvm::to_vector(yield.getKinds().getAsRange<mtf::ReductionKindAttr>());
  for (mtf::ReductionKindAttr kind : kinds)
    switch (kind.getValue()) {
    case mtf::ReductionKind::Sum: reduced.push_back(0); break;
    case mtf::ReductionKind::Prod: reduced.push_back(1); break;
    case mtf::ReductionKind::Max: reduced.push_back(-kInfinity); break;
    case mtf::ReductionKind::Min: reduced.push_back(kInfinity); break;
    }
  forEachBackward(kernel.getRow(), position, [&] {
    runOps(row.getBody().front());
    for (auto [i, value] : llvm::enumerate(yield.getValues())) {
      double element = values.lookup(value);
      switch (kinds[i].getValue()) {
      case mtf::ReductionKind::Sum: reduced[i] += element; break;
      case mtf::ReductionKind::Prod: reduced[i] *= element; break;
      case mtf::ReductionKind::Max: reduced[i] = element > reduced[i] || std::isnan(element) ? element : reduced[i]; break;
      case mtf::ReductionKind::Min: reduced[i] = element < reduced[i] || std::isnan(element) ? element : reduced[i]; break;
      }
    }
  });
  for (auto [result, value] : llvm::zip(row.getResults(), reduced))
    values[result] = value;
}

void KernelRun::runKernel(KernelOp kernel) {
  for (auto [argument, operand] : llvm::zip(kernel.getBody().front().getArguments(), kernel->getOperands()))
    bind(argument, operand);
  forEachBackward(kernel.getOuter(), position, [&] { runOps(kernel.getBody().front()); });
}

bool KernelRun::runMask(Block &body, ArrayRef<double> indices) {
  for (auto [i, index] : llvm::enumerate(indices))
    values[body.getArgument(i)] = index;
  runOps(body);
  return values.lookup(cast<VisibleOp>(body.getTerminator()).getValue()) != 0;
}

void RtInterpreter::runKernel(KernelOp op, int64_t rank) { KernelRun(*this, ranks[rank], rank).runKernel(op); }
