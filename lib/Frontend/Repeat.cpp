//===- Repeat.cpp - loops ----------------------------------------------------===//
//
// The body is executed once, into a region of its own; which parameters it slices is known only afterwards, so the loop is created then
// and the body moved into it.
//
//===----------------------------------------------------------------------===//
#include "Elaborator.h"

using namespace meshc;
using namespace meshc::ast;
using llvm::StringRef;
using mlir::StringAttr;

/// Evaluates `x = e`, or `x` in its short form, to a tensor.
static mlir::Value evaluateBinding(Elaborator &elaborator, const Binding &binding) {
  if (binding.value)
    return elaborator.evaluateTensor(*binding.value);
  NameExpr name;
  name.name = binding.name.text;
  name.loc = binding.name.loc;
  return elaborator.evaluateTensor(name);
}

Value Elaborator::evaluateRepeat(const RepeatExpr &expr) {
  if (!canBuild(expr.loc))
    return {};
  std::optional<Dims> dims = lookupDims(expr.dim.text);
  if (!dims || dims->size() != 1) {
    llvm::SmallVector<StringRef> known(llvm::make_first_range(frame().module->dims));
    return error(expr.dim.loc) << "'repeat' needs a dimension with a size, '" << expr.dim.text << "' is none"
                               << didYouMean(expr.dim.text, known);
  }
  auto owned = std::make_unique<Loop>();
  Loop &loop = *owned;
  loop.dim = dims->front();
  loop.frame = &frame();
  for (const std::unique_ptr<Loop> &outer : function->loops)
    if (outer->dim.getName() == loop.dim.getName())
      return error(expr.dim.loc) << "'repeat " << expr.dim.text << "' inside another one; declare a second dim";

  llvm::SmallVector<mlir::Value> inits;
  for (const Binding &carry : expr.carries) {
    mlir::Value init = evaluateBinding(*this, carry);
    if (!init)
      return {};
    inits.push_back(init);
  }
  for (const Binding &slice : expr.slices) {
    mlir::Value input = evaluateBinding(*this, slice);
    if (!input)
      return {};
    mtf::DimAttr own = mtf::tensorType(input).findDim(loop.dim.getName());
    if (!own || own.getSize() != loop.dim.getSize())
      return error(slice.name.loc) << "'" << slice.name.text << "' cannot be sliced over '" << expr.dim.text << "' (size " << loop.dim.getSize()
                                   << "): it is " << spell(mtf::tensorType(input));
    loop.scanned.push_back(input);
  }

  // The body.
  mlir::Block &body = loop.region.emplaceBlock();
  loop.index = body.addArgument(scalarType(i32), location(expr.loc));
  frame().scopes.emplace_back();
  auto bind = [&](const Binding &binding, mlir::Type type) {
    mlir::Location loc = mlir::NameLoc::get(attr(binding.name.text), location(binding.name.loc));
    mlir::BlockArgument argument = body.addArgument(type, loc);
    define(binding.name, Value::ofTensor(argument));
    return argument;
  };
  for (auto [carry, init] : llvm::zip(expr.carries, inits))
    bind(carry, init.getType());
  for (auto [slice, input] : llvm::zip(expr.slices, loop.scanned))
    loop.slices.push_back(bind(slice, mtf::tensorType(input).without({loop.dim.getName()})));
  function->loops.push_back(std::move(owned));
  bool valid;
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&body);
    valid = execute(*expr.body);
    if (valid && !loop.nextStmt) {
      error(expr.loc) << "the body of 'repeat " << expr.dim.text << "' ends without 'next'";
      valid = false;
    }
    valid = valid && checkCarries(loop, expr, inits);
  }
  frame().scopes.pop_back();
  owned = function->loops.pop_back_val();
  return valid ? finishLoop(loop, expr, inits) : Value();
}

/// The innermost loop of this frame's body.
Loop *Elaborator::currentLoop() {
  Loop *loop = function && !function->loops.empty() ? function->loops.back().get() : nullptr;
  return loop && loop->frame == &frame() ? loop : nullptr;
}

bool Elaborator::executeNext(const NextStmt &stmt) {
  Loop *loop = currentLoop();
  if (!loop) {
    error(stmt.loc) << "'next' outside of 'repeat'";
    return false;
  }
  bool valid = true;
  loop->nextStmt = &stmt;
  for (auto [exprs, values] : {std::pair(stmt.carries, &loop->carries), std::pair(stmt.stacked, &loop->stacked)})
    for (const Expr *expr : exprs) {
      values->push_back(evaluate(*expr));
      valid &= static_cast<bool>(values->back());
    }
  // `next f(x)` of a function that returns a tuple gives all carries.
  if (valid && loop->carries.size() == 1 && loop->carries.front().getKind() == Value::Kind::Tuple)
    loop->carries = std::vector<Value>(loop->carries.front().asTuple());
  return valid;
}

/// A carry has the same type before and after an iteration.
bool Elaborator::checkCarries(Loop &loop, const RepeatExpr &expr, llvm::ArrayRef<mlir::Value> inits) {
  if (loop.carries.size() != inits.size()) {
    Error message = error(loop.nextStmt->loc);
    message << "'next' gives " << loop.carries.size() << (loop.carries.size() == 1 ? " carry" : " carries") << ", 'repeat' has " << inits.size();
    message.note(expr.loc) << "'repeat' is here";
    return false;
  }
  for (auto [value, init, carry] : llvm::zip(loop.carries, inits, expr.carries)) {
    mtf::NamedTensorType type = mtf::tensorType(init);
    mlir::Value tensor = materialize(loop.nextStmt->loc, value, type.getElementType());
    if (!tensor)
      return false;
    if (tensor.getType() != type) {
      Error message = error(loop.nextStmt->loc);
      message << "'" << carry.name.text << "' is " << spell(type) << " before an iteration but " << spell(mtf::tensorType(tensor)) << " after it";
      message.note(carry.name.loc) << "'" << carry.name.text << "' is carried here";
      return false;
    }
    value = Value::ofTensor(tensor);
  }
  for (Value &value : loop.stacked) {
    mlir::Value tensor = materialize(loop.nextStmt->loc, value);
    if (!tensor)
      return false;
    if (mtf::tensorType(tensor).hasDim(loop.dim.getName())) {
      error(loop.nextStmt->loc) << "a stacked value has the dimension '" << loop.dim.getName().getValue() << "' already: it is "
                                << spell(mtf::tensorType(tensor));
      return false;
    }
    value = Value::ofTensor(tensor);
  }
  return true;
}

Value Elaborator::finishLoop(Loop &loop, const RepeatExpr &expr, llvm::ArrayRef<mlir::Value> inits) {
  llvm::SmallVector<mlir::Type> stackedTypes;
  for (const Value &value : loop.stacked) {
    Dims dims(llvm::to_vector(value.type().getDims()));
    dims.push_back(loop.dim);
    std::optional<mtf::NamedTensorType> type = makeType(expr.loc, dims, value.type().getElementType());
    if (!type)
      return {};
    stackedTypes.push_back(*type);
  }
  auto op = mtf::RepeatOp::create(builder, location(expr.loc), loop.dim.getName(), loop.dim.getSize(), inits, loop.scanned, stackedTypes);
  mlir::Block *body = op.bodyBlock();
  mlir::Block &executed = loop.region.front();
  // Its arguments are the index, the carries, and the slices in the order they were asked for: the operation's order.
  body->getOperations().splice(body->end(), executed.getOperations());
  for (auto [from, to] : llvm::zip(executed.getArguments(), body->getArguments())) {
    to.setLoc(from.getLoc());
    from.replaceAllUsesWith(to);
  }
  llvm::SmallVector<mlir::Value> carries, stacked;
  auto tensors = [&](const std::vector<Value> &values, llvm::SmallVector<mlir::Value> &into) {
    for (const Value &value : values) {
      mlir::Value tensor = value.asTensor();
      auto argument = llvm::dyn_cast<mlir::BlockArgument>(tensor);
      into.push_back(argument && argument.getOwner() == &executed ? body->getArgument(argument.getArgNumber()) : tensor);
    }
  };
  tensors(loop.carries, carries);
  tensors(loop.stacked, stacked);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(body);
  mtf::NextOp::create(builder, location(loop.nextStmt->loc), carries, stacked);
  if (op.getNumResults() == 1)
    return Value::ofTensor(op.getResult(0));
  std::vector<Value> results;
  for (mlir::Value result : op.getResults())
    results.push_back(Value::ofTensor(result));
  return Value::ofTuple(std::move(results));
}
