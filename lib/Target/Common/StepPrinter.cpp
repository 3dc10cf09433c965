//===- StepPrinter.cpp - a step: buffers, loops, kernel calls -----------------------------===//
#include "meshc/Target/StepPrinter.h"
#include "meshc/Target/Description.h"
#include "meshc/Target/ScalarOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

mlir::LogicalResult StepPrinter::print(rt::StepOp step) {
  p.open("void " + stepName(step) + "(Rank &rank)");
  mlir::LogicalResult result = block(step.getBody().front());
  p.close();
  return result;
}

mlir::LogicalResult StepPrinter::block(mlir::Block &body) {
  for (mlir::Operation &op : body) {
    declareGlobals(&op);
    if (mlir::failed(print(&op)))
      return mlir::failure();
  }
  return mlir::success();
}

mlir::LogicalResult StepPrinter::print(mlir::Operation *op) {
  using Result = mlir::LogicalResult;
  auto done = [](auto &&) { return mlir::success(); };
  return llvm::TypeSwitch<mlir::Operation *, Result>(op)
      .Case([&](rt::GetGlobalOp) { return mlir::success(); })
      .Case([&](rt::AllocOp alloc) {
        Expr address = Expr::call(("rank.at<" + cppType(alloc.getType().getElementType()) + ">").str(),
                                  {Expr(static_cast<int64_t>(alloc.getOffset().value_or(0)))});
        declare(alloc, address);
        return mlir::success();
      })
      .Case([&](rt::SliceOp slice) { return this->slice(slice), mlir::success(); })
      .Case([&](rt::ViewOp view) { return this->view(view), mlir::success(); })
      .Case([&](rt::LoopOp loop) { return this->loop(loop); })
      .Case([&](rt::ShardIndexOp shard) {
        values[shard] = Expr::call("rank.shard", {vocabulary.axes(shard.getAxes())});
        return mlir::success();
      })
      .Case([&](rt::KernelOp kernel) { return this->kernel(kernel), mlir::success(); })
      .Case([&](rt::GemmOp gemm) { return this->gemm(gemm), mlir::success(); })
      .Case([&](rt::AttendOp attend) {
        return this->attend(attend, "attendForward", {attend.getQ(), attend.getK(), attend.getV(), attend.getO(), attend.getLse()});
      })
      .Case([&](rt::AttendGradOp attend) {
        return this->attend(attend, "attendBackward",
                            {attend.getQ(), attend.getK(), attend.getV(), attend.getO(), attend.getLse(), attend.getOGrad(),
                             attend.getQGrad(), attend.getKGrad(), attend.getVGrad()});
      })
      .Case([&](rt::ScatterAddOp scatter) { return scatterAdd(scatter); })
      .Case([&](rt::TopKOp top) { return topK(top); })
      .Case([&](rt::CumSumOp sum) { return cumSum(sum); })
      .Case([&](rt::AllReduceOp reduce) { return allReduce(reduce); })
      .Case([&](rt::AllGatherOp gather) { return allGather(gather), mlir::success(); })
      .Case([&](rt::ReduceScatterOp scatter) { return reduceScatter(scatter), mlir::success(); })
      .Case([&](rt::AllToAllOp all) { return allToAll(all), mlir::success(); })
      .Case([&](rt::ExchangeOp exchange) { return this->exchange(exchange), mlir::success(); })
      .Default([&](mlir::Operation *other) -> Result {
        llvm::SmallVector<Expr> operands;
        for (mlir::Value operand : other->getOperands())
          operands.push_back(text(operand));
        if (std::optional<Expr> value = scalarExpr(other, operands)) {
          values[other->getResult(0)] = *value;
          return mlir::success();
        }
        return other->emitError() << "'" << other->getName() << "' has no C++ form";
      });
  (void)done;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Whether a buffer is written through this value or a view of it.
static bool isWritten(mlir::Value value) {
  return llvm::any_of(value.getUsers(), [&](mlir::Operation *user) {
    if (llvm::isa<rt::SliceOp, rt::ViewOp>(user))
      return isWritten(user->getResult(0));
    auto effects = llvm::dyn_cast<mlir::MemoryEffectOpInterface>(user);
    if (!effects)
      return true;
    if (auto kernel = llvm::dyn_cast<rt::KernelOp>(user))
      return llvm::is_contained(kernel.getOuts(), value);
    return effects.getEffectOnValue<mlir::MemoryEffects::Write>(value).has_value();
  });
}

/// Uses of a buffer, those of views at its start counted for it. Slices of globals start from the address.
static unsigned countUses(mlir::Value value) {
  unsigned count = 0;
  bool isGlobal = value.getDefiningOp<rt::GetGlobalOp>() != nullptr;
  for (mlir::Operation *user : value.getUsers()) {
    if (isGlobal && llvm::isa<rt::SliceOp>(user))
      continue;
    auto view = llvm::dyn_cast<rt::ViewOp>(user);
    count += view && view.getStart() == 0 ? countUses(view) : 1;
  }
  return count;
}

/// The user's name. A buffer that loops cut into slices goes by what a slice is, in the plural; an unnamed product by its second
/// factor.
static std::string wantedName(mlir::Value value, Vocabulary &vocabulary) {
  StringRef own = nameOf(value, vocabulary);
  if (value.getDefiningOp<rt::AllocOp>()) {
    for (mlir::Operation *user : value.getUsers()) {
      StringRef slice = llvm::isa<rt::SliceOp>(user) ? nameOf(user->getLoc()) : StringRef();
      if (!slice.empty() && slice != own)
        return slice.str() + "s";
    }
    if (own.empty())
      for (mlir::Operation *user : value.getUsers())
        if (auto gemm = llvm::dyn_cast<rt::GemmOp>(user); gemm && gemm.getC() == value)
          if (StringRef factor = nameOf(gemm.getB(), vocabulary); !factor.empty())
            return "dot_" + factor.str();
  }
  return own.empty() ? "buffer" : own.str();
}

/// `const float *x = address;  // x[batch=4, embed=768]`. Used once, the address stands where it is used.
void StepPrinter::declare(mlir::Value value, const Expr &address, bool described) {
  unsigned uses = countUses(value);
  if (uses == 0)
    return;
  rt::BufferType type = rt::bufferType(value);
  if (uses == 1 && !described) {
    values[value] = address;
    return;
  }
  std::string name = scope->add(wantedName(value, vocabulary));
  std::string element = cppType(type.getElementType()).str();
  p.remarked((isWritten(value) ? "" : "const ") + element + " *" + name + " = " + address.str() + ";",
             described && !type.isScalar() ? name + shapeText(type) : "");
  values[value] = Expr::name(name);
}

/// Whether the uses of a global in `op` and below it are slices.
static bool onlySlicedIn(rt::GetGlobalOp get, mlir::Operation *op) {
  return llvm::all_of(get->getUsers(), [&](mlir::Operation *user) {
    return llvm::isa<rt::SliceOp>(user) || !op->isAncestor(user);
  });
}

/// Globals get their variable right before the first op that uses them, at the level of the block they are named in.
void StepPrinter::declareGlobals(mlir::Operation *op) {
  llvm::SmallSetVector<rt::GetGlobalOp, 8> used;
  auto collect = [&](mlir::Operation *user) {
    for (mlir::Value operand : user->getOperands())
      if (auto get = operand.getDefiningOp<rt::GetGlobalOp>(); get && !values.contains(operand))
        used.insert(get);
  };
  if (llvm::isa<rt::LoopOp>(op))
    op->walk(collect);
  else
    collect(op);
  for (rt::GetGlobalOp get : used) {
    rt::GlobalOp global = vocabulary.lookup(get);
    Expr address = Expr::call(("rank.at<" + cppType(get.getType().getElementType()) + ">").str(), {vocabulary.offset(global)});
    addresses[get] = address;
    if (!values.contains(get) && !llvm::isa<rt::SliceOp>(op) && !onlySlicedIn(get, op))
      declare(get, address, /*described=*/false);
  }
}

void StepPrinter::slice(rt::SliceOp op) {
  rt::BufferType source = rt::bufferType(op.getSource()), result = op.getType();
  int position = source.position(op.getDimAttr());
  Expr step = vocabulary.stride(source, position);
  if (result.hasDim(op.getDimAttr()))
    step = vocabulary.size(result.getDims()[result.position(op.getDimAttr())]) * step;
  Expr index = text(op.getIndex());
  if (op.getCyclic())
    index = index % op.numBlocks();
  Expr base = addresses.contains(op.getSource()) ? addresses.lookup(op.getSource()) : text(op.getSource());
  declare(op, base + index * step);
}

void StepPrinter::view(rt::ViewOp op) {
  Expr source = text(op.getSource());
  if (op.getStart() == 0)
    values[op] = source;
  else
    declare(op, source + Expr(static_cast<int64_t>(op.getStart())));
}

mlir::LogicalResult StepPrinter::loop(rt::LoopOp op) {
  p.gap();
  if (std::string line = sourceLine(op.getLoc()); !line.empty())
    p.comment(line);
  auto dim = rt::DimAttr::get(op.getDimAttr(), op.getCount());
  std::string function, waited;
  if (op.runsAhead()) {
    function = scope->add("gatherAhead");
    if (startsCollectives())
      waited = pending = scope->add("gathered");
    mlir::LogicalResult result = ahead(op, function);
    pending.clear();
    if (mlir::failed(result))
      return result;
    p.line(function + "(" + (op.getReverse() ? vocabulary.size(dim) - 1 : Expr(0)).str() + ");");
  }
  Names inner(scope), *outer = scope;
  scope = &inner;
  Expr index = Expr::name(scope->add(singular(op.getDim())));
  values[op.index()] = index;
  if (op.getReverse())
    p.open("for (int64_t " + index.str() + " = " + (vocabulary.size(dim) - 1).str() + "; " + index.str() + " >= 0; --" + index.str() + ")");
  else
    p.open("for (int64_t " + index.str() + " = 0; " + index.str() + " < " + vocabulary.size(dim).str() + "; ++" + index.str() + ")");
  if (!waited.empty())
    p.line("wait(rank, " + waited + ");");
  if (op.runsAhead() && op.getReverse())
    p.line("if (" + index.str() + " > 0) " + function + "(" + index.str() + " - 1);");
  else if (op.runsAhead())
    p.line("if (" + index.str() + " + 1 < " + vocabulary.size(dim).str() + ") " + function + "(" + index.str() + " + 1);");
  lastLine.clear();
  mlir::LogicalResult result = block(op.getBody().front());
  p.close();
  lastLine.clear();
  scope = outer;
  return result;
}

/// A function object that prepares one iteration. Collectives are done in order, so waiting for the last is waiting for all.
mlir::LogicalResult StepPrinter::ahead(rt::LoopOp op, StringRef function) {
  if (!pending.empty())
    p.line("Pending " + pending + ";");
  Names inner(scope), *outer = scope;
  scope = &inner;
  Expr index = Expr::name(scope->add(singular(op.getDim())));
  values[op.aheadIndex()] = index;
  p.open("const auto " + function.str() + " = [&](int64_t " + index.str() + ")");
  lastLine.clear();
  mlir::LogicalResult result = block(op.getAhead().front());
  p.close(";");
  scope = outer;
  return result;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void StepPrinter::remark(mlir::Operation *op, StringRef what) {
  std::string line = sourceLine(op->getLoc());
  bool isNew = !line.empty() && line != lastLine;
  if (isNew)
    lastLine = line;
  if (!what.empty())
    p.comment(isNew ? what + Twine("   ") + line : Twine(what));
  else if (isNew)
    p.comment(line);
}

void StepPrinter::call(mlir::Operation *op, StringRef function, llvm::SmallVector<std::string> arguments, StringRef what) {
  remark(op, what);
  p.call(function, arguments);
}

std::string StepPrinter::site(mlir::Operation *op, StringRef what) {
  return "{\"" + what.str() + "\", \"" + sourceLine(op->getLoc()) + "\"}";
}

std::string StepPrinter::nameOrText(mlir::Value value) {
  StringRef name = nameOf(value, vocabulary);
  return name.empty() ? text(value).str() : name.str();
}

Expr StepPrinter::size(rt::BufferType type, mlir::ArrayAttr names) {
  Expr result = 1;
  for (auto name : names.getAsRange<mlir::StringAttr>())
    result = result * vocabulary.size(type.getDims()[type.position(name)]);
  return result;
}

Expr StepPrinter::stride(rt::BufferType type, mlir::ArrayAttr names, int64_t value) {
  // `reverse` does not keep a temporary alive.
  llvm::SmallVector<mlir::StringAttr> inOrder = llvm::to_vector(names.getAsRange<mlir::StringAttr>());
  for (mlir::StringAttr name : llvm::reverse(inOrder)) {
    int position = type.position(name);
    if (position >= 0 && type.getDims()[position].getSize() != 1)
      return type.getStrides()[position] == value ? vocabulary.stride(type, position) : Expr(value);
  }
  return value;
}
