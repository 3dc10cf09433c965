//===- Meaning.cpp - what a program computes, whatever its sharding --------===//
#include "Spmd/IR/Meaning.h"
#include "Spmd/IR/Spmd.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

namespace {
/// Values as numbers: equal for equal expressions.
class Numbering {
public:
  void number(Block &block, int depth, StringRef role);
  uint64_t of(Value value) const { return numbers.lookup(value); }

private:
  void number(Operation &op, int depth);

  llvm::DenseMap<Value, uint64_t> numbers;
};
} // namespace

static uint64_t hash(StringRef text) { return llvm::xxh3_64bits(text); }

static void append(std::string &text, uint64_t number) { text += " " + llvm::utohexstr(number); }

/// A type without its sharding.
static void append(raw_ostream &os, Type type) {
  if (auto tensor = dyn_cast<NamedTensorType>(type))
    os << tensor.global();
  else
    os << type;
}

/// The global computation of an op besides its operands: name, attributes, types.
static std::string describe(Operation &op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // A shift is the same between neighbours and on one rank.
  if (auto shift = dyn_cast<spmd::ShiftOp>(op)) {
    os << mtf::ShiftOp::getOperationName() << " amount " << shift.getAmountAttr() << " dim " << shift.getDimAttr();
  } else {
    os << op.getName();
    for (NamedAttribute attribute : op.getAttrDictionary())
      if (attribute.getName() != kSharding && attribute.getName() != kWhy)
        os << " " << attribute.getName().getValue() << " " << attribute.getValue();
  }
  for (Type type : op.getResultTypes())
    append(os << " ", type);
  return text;
}

void Numbering::number(Block &block, int depth, StringRef role) {
  for (BlockArgument argument : block.getArguments()) {
    std::string text = (role + Twine(depth) + " " + Twine(argument.getArgNumber())).str();
    llvm::raw_string_ostream os(text);
    append(os << " ", argument.getType());
    numbers[argument] = hash(text);
  }
  for (Operation &op : block)
    number(op, depth);
}

void Numbering::number(Operation &op, int depth) {
  bool transparent = isa<ReshardOp, FillPaddingOp, TapOp>(op) || (isa<spmd::CollectiveOpInterface>(op) && !isa<spmd::ShiftOp>(op));
  if (transparent) {
    numbers[op.getResult(0)] = of(op.getOperand(0));
    return;
  }
  std::string text = describe(op);
  for (Value operand : op.getOperands())
    append(text, of(operand));
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      number(block, depth + 1, "loop");
      for (Value operand : block.getTerminator()->getOperands())
        append(text, of(operand));
    }
  for (OpResult result : op.getResults())
    numbers[result] = hash(text + " " + std::to_string(result.getResultNumber()));
}

/// What an argument or result is to the caller.
static std::string roleOf(DictionaryAttr attributes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (StringRef key : {StringRef(kParam), StringRef(kState), StringRef(kData), StringRef(kInput), StringRef(kResult)})
    if (Attribute name = attributes ? attributes.get(key) : Attribute())
      os << key << " " << name;
  return text;
}

SmallVector<int32_t> spmd::meaningOf(func::FuncOp function) {
  Numbering numbering;
  std::string arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments += roleOf(function.getArgAttrDict(i)) + ";";
  numbering.number(function.getBody().front(), 0, "argument");
  SmallVector<int32_t> meaning;
  for (auto [i, operand] : llvm::enumerate(function.getBody().front().getTerminator()->getOperands())) {
    std::string text = arguments + roleOf(function.getResultAttrDict(i));
    append(text, numbering.of(operand));
    meaning.push_back(static_cast<int32_t>(hash(text)));
  }
  return meaning;
}

void spmd::recordMeaning(func::FuncOp function) {
  function->setAttr(kMeaning, DenseI32ArrayAttr::get(function.getContext(), meaningOf(function)));
}
