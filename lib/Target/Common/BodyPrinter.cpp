//===- BodyPrinter.cpp - a kernel's scalar ops as statements -------------------------===//
#include "meshc/Target/BodyPrinter.h"
#include "meshc/Target/ScalarOps.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;

/// Expressions longer than this become a variable.
static constexpr size_t kLongExpression = 72;

std::string BodyPrinter::newName(StringRef wanted) { return names->add(numbers.isKey() ? "v" : wanted); }

Expr BodyPrinter::use(mlir::Value value) {
  if (!values.contains(value)) {
    if (mlir::Operation *op = value.getDefiningOp())
      print(op);
    if (!values.contains(value))
      return Expr::name("/* undefined */");
  }
  pending.erase(value);
  return values.lookup(value);
}

Expr BodyPrinter::materialize(mlir::Value value) {
  Expr text = use(value);
  if (text.getPrecedence() != Precedence::Primary) {
    assignVariable(value, text);
    text = values.lookup(value);
  }
  return text;
}

/// Whether a later op of the block came from the same place, so that the name there belongs to its result.
static bool isLastOfItsLocation(mlir::Operation *op) {
  for (mlir::Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (next->getLoc() == op->getLoc() && next->getNumResults() == 1 && !llvm::isa<rt::LoadOp>(next))
      return false;
  return true;
}

bool BodyPrinter::wantsVariable(mlir::Operation *op, const Expr &text) const {
  if (text.getPrecedence() == Precedence::Primary || op->hasTrait<mlir::OpTrait::ConstantLike>())
    return false;
  mlir::Value value = op->getResult(0);
  if (!value.hasOneUse() || value.getUsers().begin()->getBlock() != op->getBlock())
    return true;
  // A statement of its own takes any length.
  if (llvm::isa<rt::StoreOp, rt::YieldOp>(*value.getUsers().begin()))
    return false;
  if (text.str().size() > kLongExpression)
    return true;
  // Unary minus and conversions read well inside an expression even if they have the user's name.
  return !llvm::isa<rt::LoadOp>(op) && text.getPrecedence() < Precedence::Unary && !meshc::target::nameOf(op->getLoc()).empty() &&
         isLastOfItsLocation(op);
}

void BodyPrinter::assignVariable(mlir::Value value, const Expr &text) {
  mlir::Operation *op = value.getDefiningOp();
  std::string wanted = "t";
  if (auto load = llvm::dyn_cast<rt::LoadOp>(op)) {
    // One element of x is called x_i; of a buffer with a one-letter name, xi.
    StringRef buffer = text.str();
    if (size_t choice = buffer.find(" ? "); choice != StringRef::npos)
      buffer = buffer.drop_front(choice + 3);
    buffer = buffer.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    buffer.consume_back("Row");
    wanted = buffer.empty() ? "t" : buffer.size() == 1 ? (buffer + "i").str() : (buffer + "_i").str();
  } else if (isLastOfItsLocation(op)) {
    if (StringRef name = meshc::target::nameOf(op->getLoc()); !name.empty())
      wanted = name.str();
  }
  std::string name = newName(wanted);
  p.assign("const " + cppType(value.getType()) + " " + name, text.str());
  values[value] = Expr::name(name);
  pending.erase(value);
}

bool BodyPrinter::print(mlir::Operation *op) {
  if (auto storeOp = llvm::dyn_cast<rt::StoreOp>(op)) {
    store(storeOp);
    return true;
  }
  llvm::SmallSetVector<mlir::Value, 4> reads;
  for (mlir::Value operand : op->getOperands()) {
    if (llvm::isa<rt::BufferType>(operand.getType()))
      reads.insert(operand);
    if (auto it = pending.find(operand); it != pending.end())
      reads.insert(it->second.begin(), it->second.end());
  }
  std::optional<Expr> text = expression(op);
  if (!text) {
    op->emitError() << "'" << op->getName() << "' has no C++ form inside a kernel";
    return false;
  }
  mlir::Value value = op->getResult(0);
  if (wantsVariable(op, *text)) {
    assignVariable(value, *text);
    return true;
  }
  values[value] = *text;
  if (!reads.empty())
    pending[value] = reads;
  return true;
}

std::optional<Expr> BodyPrinter::expression(mlir::Operation *op) {
  if (auto loadOp = llvm::dyn_cast<rt::LoadOp>(op))
    return load(loadOp);
  if (auto randomOp = llvm::dyn_cast<rt::RandomOp>(op))
    return random(randomOp);
  if (auto indexOp = llvm::dyn_cast<rt::IndexOp>(op))
    return index(indexOp.getDimAttr());
  if (auto shardOp = llvm::dyn_cast<rt::ShardIndexOp>(op))
    return shard(shardOp.getAxes());
  llvm::SmallVector<Expr> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(use(operand));
  return scalarExpr(op, operands);
}

std::optional<Expr> BodyPrinter::load(rt::LoadOp op) {
  if (op.getIndices().empty() || op.getInBounds())
    return element(op);
  // Outside the buffer there are zeros.
  rt::BufferType type = rt::bufferType(op.getBuffer());
  std::optional<Expr> inside;
  for (auto [name, value] : llvm::zip(op.getAt().getAsRange<mlir::StringAttr>(), op.getIndices())) {
    Expr position = materialize(value);
    rt::DimAttr dim = type.getDims()[type.position(name)];
    Expr size = numbers.get(dim.getSize(), [&] { return vocabulary.size(dim); });
    Expr bounds = Expr::binary("&&", Precedence::And, Expr::binary(">=", Precedence::Relational, position, 0),
                               Expr::binary("<", Precedence::Relational, position, size));
    inside = inside ? Expr::binary("&&", Precedence::And, *inside, bounds) : bounds;
  }
  mlir::Type elementType = type.getElementType();
  Expr zero = elementType.isInteger(1) ? Expr::name("false")
              : elementType.isIntOrIndex() ? Expr(0)
                                           : Expr::floating(0, elementType.isF64());
  if (elementType.isBF16())
    zero = Expr::call("bf16", {zero});
  return Expr::conditional(*inside, element(op), zero);
}

std::optional<Expr> BodyPrinter::random(rt::RandomOp op) {
  Expr repeats = Expr::name("0u");
  for (mlir::Value index : op.getRepeats())
    repeats = Expr::call("mixRepeat", {repeats, Expr::call("uint32_t", {use(index)})});
  std::string stream = "PhiloxStream{uint32_t(" + use(op.getSeed()).str() + "), hash32(\"" + op.getPath().str() + "\"), uint32_t(" +
                       use(op.getStep()).str() + "), " + repeats.str() + "}";
  Expr index = Expr::call("uint64_t", {use(op.getIndex())});
  auto call = [&](StringRef method, llvm::ArrayRef<Expr> arguments) { return Expr::call(stream + "." + method.str(), arguments); };
  switch (op.getDistribution()) {
  case mtf::Distribution::Uniform: return call("uniform", {index});
  case mtf::Distribution::Normal: return call("normal", {index});
  case mtf::Distribution::Bernoulli: {
    Expr threshold = Expr::call("keepThreshold", {Expr::floating(op.getParameter().convertToDouble(), /*isDouble=*/true)});
    return Expr::conditional(call("keep", {index, threshold}), Expr::floating(1), Expr::floating(0));
  }
  }
  return std::nullopt;
}

bool BodyPrinter::aliases(mlir::Value a, mlir::Value b) const {
  auto operand = [](mlir::Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    auto kernel = argument ? llvm::dyn_cast<rt::KernelOp>(argument.getOwner()->getParentOp()) : nullptr;
    return kernel ? kernel.operandOf(argument).get() : value;
  };
  return operand(a) == operand(b);
}

void BodyPrinter::settleBefore(mlir::Block &block) {
  for (auto op : block.getOps<rt::StoreOp>())
    readBefore(op);
}

void BodyPrinter::readBefore(rt::StoreOp op) {
  llvm::SmallVector<mlir::Value> early;
  for (auto &[waiting, reads] : pending)
    if (llvm::any_of(reads, [&](mlir::Value buffer) { return aliases(buffer, op.getBuffer()); }))
      early.push_back(waiting);
  for (mlir::Value waiting : early)
    materialize(waiting);
}

void BodyPrinter::store(rt::StoreOp op) {
  Expr value = use(op.getValue());
  readBefore(op);
  storeElement(op, element(op), value);
}
