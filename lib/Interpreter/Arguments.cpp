//===- Arguments.cpp - deterministic random arguments ----------------------===//
#include "meshc/Interpreter/Arguments.h"
#include "meshc/Interpreter/Placement.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>

using namespace mlir;
using namespace meshc;
using namespace meshc::interp;

double interp::hashedUniform(uint64_t seed, uint64_t counter) {
  uint64_t x = seed * 0x9E3779B97F4A7C15u + (counter + 1) * 0xD1B54A32D192ED03u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  return (static_cast<double>(x >> 11) + 0.5) * 0x1p-53;
}

/// Text of an attribute that names something: a string, a symbol, or a list of both.
static std::string nameOf(Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.str();
  if (auto symbol = dyn_cast<SymbolRefAttr>(attr))
    return symbol.getLeafReference().str();
  std::string name;
  if (auto list = dyn_cast<ArrayAttr>(attr))
    for (Attribute part : list)
      name += (name.empty() ? "" : ".") + nameOf(part);
  return name;
}

std::string interp::argumentName(func::FuncOp function, unsigned index) {
  for (StringRef attr : {mtf::kParam, mtf::kState, mtf::kData, mtf::kInput})
    if (Attribute name = function.getArgAttr(index, attr))
      return nameOf(name);
  return "arg" + std::to_string(index);
}

std::string interp::resultName(func::FuncOp function, unsigned index) {
  for (StringRef attr : {mtf::kResult, mtf::kParam, mtf::kState})
    if (Attribute name = function.getResultAttr(index, attr))
      return nameOf(name);
  return "result" + std::to_string(index);
}

int64_t interp::indexRange(Value value) {
  int64_t range = 0;
  auto limit = [&](int64_t size) { range = range == 0 ? size : std::min(range, size); };
  llvm::SmallPtrSet<Value, 8> seen;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (!seen.insert(current).second)
      continue;
    for (OpOperand &use : current.getUses()) {
      Operation *user = use.getOwner();
      if (auto gather = dyn_cast<mtf::GatherOp>(user); gather && gather.getIndices() == current)
        limit(gather.getTable().getType().dimSize(gather.getOverAttr()));
      if (auto scatter = dyn_cast<mtf::ScatterAddOp>(user); scatter && scatter.getIndices() == current)
        limit(scatter.getResult().getType().dimSize(scatter.getIntoAttr()));
      if (auto compare = dyn_cast<mtf::CompareOp>(user)) {
        Value other = compare.getLhs() == current ? compare.getRhs() : compare.getLhs();
        if (auto index = other.getDefiningOp<mtf::IndexOp>())
          limit(index.getResult().getType().getDims().front().getSize());
      }
      if (auto repeat = dyn_cast<mtf::RepeatOp>(user)) {
        unsigned i = use.getOperandNumber();
        worklist.push_back(i < repeat.numCarries() ? repeat.carryArg(i) : repeat.sliceArg(i - repeat.numCarries()));
      }
      // Anything else may pass indices on; arithmetic is followed too, which can only narrow the range.
      for (Value result : user->getResults())
        if (auto type = dyn_cast<mtf::NamedTensorType>(result.getType()); type && type.getElementType().isInteger(32))
          worklist.push_back(result);
    }
  }
  return range;
}

/// The place in the order of numbers of each element, so that cutting the batch into microbatches changes no number: (micro, batch)
/// counts as one dim of their product, micro slowest, in the place of the batch.
static std::vector<int64_t> numbering(const Tensor &tensor, func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  StringAttr micro = StringAttr::get(function.getContext(), "micro"), batch = module->getAttrOfType<StringAttr>(mtf::kBatchDim);
  if (!batch)
    batch = StringAttr::get(function.getContext(), "batch");
  Strides places(tensor.dims().size());
  int64_t stride = 1;
  for (int64_t i = tensor.dims().size() - 1; i >= 0; --i) {
    const Dim &dim = tensor.dims()[i];
    if (dim.name == micro && tensor.has(batch))
      continue;
    places[i] = stride;
    stride *= dim.size;
    if (dim.name != batch || !tensor.has(micro))
      continue;
    auto it = llvm::find_if(tensor.dims(), [&](const Dim &other) { return other.name == micro; });
    places[it - tensor.dims().begin()] = stride;
    stride *= it->size;
  }
  std::vector<int64_t> order(tensor.numElements());
  forEach<2>(tensor.dims(), std::array<Strides, 2>{tensor.strides(tensor.dims()), places}, [&](auto o) { order[o[0]] = o[1]; });
  return order;
}

std::vector<Tensor> interp::randomArguments(func::FuncOp function, uint64_t seed) {
  std::vector<Tensor> arguments;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = mtf::tensorType(argument);
    Tensor &tensor = arguments.emplace_back(globalDims(type));
    std::string name = argumentName(function, index);
    if (function.getArgAttr(index, mtf::kInput)) {
      tensor[0] = name == "seed" ? static_cast<double>(seed) : name == "step" ? 3 : name == "total_steps" ? 10 : 1;
      continue;
    }
    bool positive = function.getArgAttr(index, mtf::kState) || function.getArgAttr(index, mtf::kData);
    int64_t range = type.getElementType().isInteger(32) ? std::max<int64_t>(indexRange(argument), 0) : 0;
    uint64_t stream = llvm::xxh3_64bits(name) + seed;
    for (auto [i, number] : llvm::enumerate(numbering(tensor, function))) {
      double u = hashedUniform(stream, number);
      if (type.getElementType().isInteger(1))
        tensor[i] = u < 0.5;
      else if (type.getElementType().isInteger(32))
        tensor[i] = std::floor(u * (range ? range : 7));
      else
        tensor[i] = positive ? u : 2 * u - 1;
    }
  }
  return arguments;
}
