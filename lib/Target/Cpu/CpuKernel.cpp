//===- CpuKernel.cpp - a kernel as a C++ function --------------------------------------===//
//
// The forms, by which loops a kernel has:
//
//   nothing          plain statements: a learning rate, a clip factor
//   outer            map: threads share the rows (all outer loops but the last), the last loop is `omp simd`
//   outer, row       row kernel: threads share the rows, each `rt.row` is an `omp simd` loop
//   outer, columns   threads share blocks of columns, the row loops run outside of a vector of accumulators
//   row              reduction to scalars in blocks of a fixed size, by the runtime's sumBlocks and the like
//
//===----------------------------------------------------------------------===//
#include "CpuKernel.h"
#include "meshc/Target/BodyPrinter.h"
#include "meshc/Target/LoopNest.h"
#include "meshc/Target/ScalarOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

/// Columns that a thread reduces at a time, and indices in one block of a full reduction. Fixed, so that the order of sums does
/// not depend on the number of threads.
static constexpr int64_t kColumnBlock = 128, kReduceBlock = 4096;

namespace {
class CpuKernel : public BodyPrinter {
public:
  CpuKernel(rt::KernelOp kernel, const KernelSignature &signature, Vocabulary &vocabulary, Numbers &numbers, Printer &p)
      : BodyPrinter(p, vocabulary, numbers), kernel(kernel), signature(signature), nest(kernel), functionNames(&vocabulary.names) {
    setNames(&functionNames);
  }

  mlir::LogicalResult print(StringRef name);

private:
  //===--- places of elements ---===//
  Expr element(mlir::Operation *access) override;
  Expr index(mlir::StringAttr dim) override;
  Expr shard(mlir::ArrayAttr axes) override { return shards.lookup(axes); }
  Expr stride(mlir::Operation *access, const Loop &loop);
  Expr loopSize(const Loop &loop) {
    return numbers.get(loop.size(), [&] { return vocabulary.product(loop.dims); });
  }
  Expr product(ArrayRef<Loop> loops);
  /// Where the access is, as far as `loops` say, each with its index.
  Expr offset(mlir::Operation *access, ArrayRef<Loop> loops);

  //===--- forms ---===//
  void plain();
  void map();
  void rows();
  void columns();
  void fullReduction();

  //===--- pieces ---===//
  void head(StringRef name);
  void parallelFor(const Expr &count, llvm::function_ref<void()> body);
  /// `for (row = begin; row < end; ++row)` over `loops` flattened.
  void forRows(ArrayRef<Loop> loops, llvm::function_ref<void()> body);
  /// Variables for the index of each loop that something needs, from the flattened one.
  void decode(ArrayRef<Loop> loops, const Expr &flat, bool all = false);
  bool indexIsNeeded(const Loop &loop, ArrayRef<Loop> loops);
  /// Pointers to the row's part of the buffers that `block` moves through, and values of those it does not.
  void rowPointers(mlir::Block &block, ArrayRef<Loop> outside, ArrayRef<Loop> inside);
  void hoist(mlir::Block &block, ArrayRef<Loop> inside);
  /// The loops over elements, the last one vectorized, from `begin` to `end` where they are given for a single loop.
  void elements(ArrayRef<Loop> loops, StringRef clause, llvm::function_ref<void()> body, bool range = false);
  void body(mlir::Block &block);
  void rowLoop(rt::RowOp row, ArrayRef<Loop> loops);
  void accumulate(rt::RowOp row, ArrayRef<std::string> accumulators);
  SmallVector<std::string> accumulatorNames(rt::RowOp row);
  std::string reductionClause(rt::RowOp row, ArrayRef<std::string> accumulators);

  std::string indexName(const Loop &loop, StringRef several);
  const KernelSignature::Parameter &parameterOf(mlir::Value buffer) { return signature.of(buffer); }

  rt::KernelOp kernel;
  const KernelSignature &signature;
  LoopNest nest;
  Names functionNames;
  bool isMap = false; ///< The last outer loop is the vectorized one.
  bool failed = false;

  llvm::DenseMap<mlir::Attribute, Expr> shards;
  /// Indices of the loops around the current place, by the loop's inner dim.
  llvm::DenseMap<mlir::StringAttr, Expr> indices;
  /// All outer loops flattened, where that has a name: `row`.
  std::optional<Expr> flatRow;
  /// Row pointers of buffers at the current place.
  llvm::DenseMap<mlir::Value, Expr> pointers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Places of elements
//===----------------------------------------------------------------------===//

static bool hasIndices(mlir::Operation *access) {
  auto load = llvm::dyn_cast<rt::LoadOp>(access);
  return load && !load.getIndices().empty();
}

Expr CpuKernel::stride(mlir::Operation *access, const Loop &loop) {
  rt::BufferType type = accessedType(access);
  return numbers.get(strideAlong(access, loop), [&] { return vocabulary.stride(type, type.position(loop.inner().getName())); });
}

Expr CpuKernel::product(ArrayRef<Loop> loops) {
  Expr result = 1;
  for (const Loop &loop : loops)
    result = result * loopSize(loop);
  return result;
}

Expr CpuKernel::offset(mlir::Operation *access, ArrayRef<Loop> loops) {
  Expr result = 0;
  bool flat = flatRow && loops.size() > 1 && isFlat(access, loops);
  if (flat)
    return *flatRow * stride(access, loops.back());
  for (const Loop &loop : loops)
    if (strideAlong(access, loop) != 0)
      result = result + indices.lookup(loop.inner().getName()) * stride(access, loop);
  return result;
}

Expr CpuKernel::element(mlir::Operation *access) {
  const KernelSignature::Parameter &parameter = parameterOf(bufferOf(access));
  if (parameter.isInputScalar())
    return Expr::name(parameter.name);
  Expr at = 0;
  Expr base = Expr::name(parameter.name);
  if (auto it = pointers.find(bufferOf(access)); it != pointers.end() && !hasIndices(access)) {
    base = it->second;
    for (const Loop &loop : nest.row)
      at = at + offset(access, {loop});
    if (isMap)
      at = offset(access, {nest.outer.back()});
  } else {
    // Parts of the outer loops that have an index here; a map's last loop has its own.
    ArrayRef<Loop> outer = nest.outer;
    if (kernel.getColumns())
      for (const Loop &loop : nest.row)
        if (indices.contains(loop.inner().getName()))
          at = at + offset(access, {loop});
    if (isMap)
      at = offset(access, outer.drop_back()) + offset(access, {outer.back()});
    else if (!outer.empty())
      at = at + offset(access, outer);
    if (outer.empty() && !nest.row.empty() && indices.contains(nest.row.back().inner().getName())) {
      // A reduction of everything: all loops but the last are one.
      ArrayRef<Loop> row = nest.row;
      at = offset(access, row.drop_back()) + offset(access, {row.back()});
    } else {
      for (const Loop &loop : nest.row)
        if (!kernel.getColumns() && indices.contains(loop.inner().getName()))
          at = at + offset(access, {loop});
    }
  }
  if (auto load = llvm::dyn_cast<rt::LoadOp>(access)) {
    rt::BufferType type = accessedType(access);
    for (auto [name, value] : llvm::zip(load.getAt().getAsRange<mlir::StringAttr>(), load.getIndices())) {
      int position = type.position(name);
      Expr step = numbers.get(type.getStrides()[position], [&] { return vocabulary.stride(type, position); });
      Expr number = use(value);
      // Constants are 64 bits wide, plain numbers are not.
      if (step.constant() && *step.constant() > 1)
        number = Expr::call("int64_t", {number});
      at = step.constant() == 1 ? at + number : number * step + at; // The index that moves least comes last.
    }
  }
  return at.isZero() ? Expr::unary("*", base) : base.index(at);
}

Expr CpuKernel::index(mlir::StringAttr dim) {
  auto it = indices.find(dim);
  return it == indices.end() ? Expr(0) : Expr::call("int32_t", {it->second});
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

std::string CpuKernel::indexName(const Loop &loop, StringRef several) {
  return newName(loop.dims.size() == 1 ? singular(loop.inner().getName().getValue()) : several.str());
}

void CpuKernel::parallelFor(const Expr &count, llvm::function_ref<void()> body) {
  Scope scope(*this);
  p.open("rank.parallelFor(" + count.str() + ", [=](int64_t begin, int64_t end)");
  body();
  p.close(");");
}

/// Whether anything needs the loop's own index: an access that does not move through `loops` as through one array, or an
/// `rt.index`.
bool CpuKernel::indexIsNeeded(const Loop &loop, ArrayRef<Loop> loops) {
  auto result = kernel.walk([&](mlir::Operation *op) {
    if (auto index = llvm::dyn_cast<rt::IndexOp>(op))
      if (loop.has(index.getDimAttr()))
        return mlir::WalkResult::interrupt();
    if (llvm::isa<rt::LoadOp, rt::StoreOp>(op) && strideAlong(op, loop) != 0 && !isFlat(op, loops))
      return mlir::WalkResult::interrupt();
    return mlir::WalkResult::advance();
  });
  return result.wasInterrupted();
}

void CpuKernel::decode(ArrayRef<Loop> loops, const Expr &flat, bool all) {
  if (loops.size() == 1) {
    indices[loops.front().inner().getName()] = flat;
    return;
  }
  if (!all)
    flatRow = flat;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!all && !indexIsNeeded(loops[i], loops))
      continue;
    Expr text = flat / product(loops.drop_front(i + 1));
    if (i != 0)
      text = text % loopSize(loops[i]);
    std::string name = indexName(loops[i], "position");
    p.assign("const int64_t " + name, text.str());
    indices[loops[i].inner().getName()] = Expr::name(name);
  }
}

void CpuKernel::forRows(ArrayRef<Loop> loops, llvm::function_ref<void()> body) {
  Scope scope(*this);
  std::string row = loops.size() == 1 ? indexName(loops.front(), "row") : newName("row");
  p.open("for (int64_t " + row + " = begin; " + row + " < end; ++" + row + ")");
  decode(loops, Expr::name(row));
  body();
  p.close();
}

void CpuKernel::hoist(mlir::Block &block, ArrayRef<Loop> inside) {
  llvm::DenseSet<mlir::Value> invariant;
  auto isInvariant = [&](mlir::Value value) {
    return value.getParentBlock() != &block || llvm::isa<mlir::BlockArgument>(value) || invariant.contains(value);
  };
  auto stays = [&](mlir::Operation *op) {
    if (!llvm::all_of(op->getOperands(), isInvariant))
      return false;
    if (auto index = llvm::dyn_cast<rt::IndexOp>(op))
      return llvm::none_of(inside, [&](const Loop &loop) { return loop.has(index.getDimAttr()); });
    if (auto load = llvm::dyn_cast<rt::LoadOp>(op))
      return !parameterOf(load.getBuffer()).written &&
             llvm::none_of(inside, [&](const Loop &loop) { return strideAlong(op, loop) != 0; });
    return op->getNumResults() == 1 && !llvm::isa<rt::RowOp, rt::RandomOp>(op);
  };
  for (mlir::Operation &op : block)
    if (op.getNumResults() == 1 && !op.use_empty() && stays(&op))
      invariant.insert(op.getResult(0));
  // What the loop itself needs of them gets its value before the loop.
  for (mlir::Operation &op : block) {
    if (op.getNumResults() != 1 || !invariant.contains(op.getResult(0)) || op.hasTrait<mlir::OpTrait::ConstantLike>())
      continue;
    bool needed = llvm::any_of(op.getUsers(), [&](mlir::Operation *user) {
      return user->getNumResults() != 1 || !invariant.contains(user->getResult(0));
    });
    if (needed)
      materialize(op.getResult(0));
  }
}

void CpuKernel::rowPointers(mlir::Block &block, ArrayRef<Loop> outside, ArrayRef<Loop> inside) {
  for (mlir::Operation &op : block) {
    if (!llvm::isa<rt::LoadOp, rt::StoreOp>(op) || hasIndices(&op))
      continue;
    const KernelSignature::Parameter &parameter = parameterOf(bufferOf(&op));
    bool moves = llvm::any_of(inside, [&](const Loop &loop) { return strideAlong(&op, loop) != 0; });
    if (!moves || pointers.contains(bufferOf(&op)) || outside.empty())
      continue;
    Expr start = offset(&op, outside);
    if (start.isZero())
      continue;
    std::string name = newName(parameter.name + "Row");
    p.assign((parameter.written ? "" : "const ") + cppType(parameter.buffer().getElementType()) + " *" + name,
             (Expr::name(parameter.name) + start).str());
    for (mlir::BlockArgument argument : parameter.arguments)
      pointers[argument] = Expr::name(name);
  }
}

void CpuKernel::elements(ArrayRef<Loop> loops, StringRef clause, llvm::function_ref<void()> body, bool range) {
  Scope scope(*this);
  for (auto [number, loop] : llvm::enumerate(loops)) {
    bool last = number + 1 == loops.size();
    std::string name = indexName(loop, "i");
    std::string from = range ? "begin" : "0", to = range ? "end" : loopSize(loop).str();
    if (last)
      p.directive("#pragma omp simd" + clause);
    p.open("for (int64_t " + name + " = " + from + "; " + name + " < " + to + "; ++" + name + ")");
    indices[loop.inner().getName()] = Expr::name(name);
  }
  body();
  for (size_t i = 0; i < loops.size(); ++i)
    p.close();
  for (const Loop &loop : loops)
    indices.erase(loop.inner().getName());
}

void CpuKernel::body(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    if (op.getNumResults() == 1 && (isDefined(op.getResult(0)) || op.use_empty()))
      continue;
    if (!llvm::isa<rt::YieldOp>(op) && !BodyPrinter::print(&op))
      failed = true;
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static std::string neutral(mtf::ReductionKind kind, mlir::Type type) {
  if (kind == mtf::ReductionKind::Sum || kind == mtf::ReductionKind::Prod)
    return type.isIntOrIndex() ? (kind == mtf::ReductionKind::Sum ? "0" : "1")
                               : Expr::floating(kind == mtf::ReductionKind::Sum ? 0 : 1, type.isF64()).str();
  bool largest = kind == mtf::ReductionKind::Max;
  if (type.isInteger(32))
    return largest ? "INT32_MIN" : "INT32_MAX";
  if (type.isInteger(1))
    return largest ? "false" : "true";
  return largest ? "-INFINITY" : "INFINITY";
}

SmallVector<std::string> CpuKernel::accumulatorNames(rt::RowOp row) {
  SmallVector<std::string> result;
  StringRef user = nameOf(row.getLoc());
  for (unsigned i = 0; i < row.getNumResults(); ++i)
    result.push_back(newName(user.empty() || row.getNumResults() > 1 ? accumulatorWord(kindOf(row.yield(), i)) : user));
  return result;
}

std::string CpuKernel::reductionClause(rt::RowOp row, ArrayRef<std::string> accumulators) {
  std::string result;
  for (mtf::ReductionKind kind :
       {mtf::ReductionKind::Sum, mtf::ReductionKind::Max, mtf::ReductionKind::Min, mtf::ReductionKind::Prod}) {
    SmallVector<StringRef> names;
    for (auto [i, name] : llvm::enumerate(accumulators))
      if (kindOf(row.yield(), i) == kind && !row.getResult(i).getType().isInteger(1))
        names.push_back(name);
    static constexpr StringRef operators[] = {"+", "max", "min", "*"};
    if (!names.empty())
      result += (" reduction(" + operators[static_cast<int>(kind)] + " : " + llvm::join(names, ", ") + ")").str();
  }
  return result;
}

void CpuKernel::accumulate(rt::RowOp row, ArrayRef<std::string> accumulators) {
  for (auto [i, value] : llvm::enumerate(row.yield().getValues())) {
    std::string text = use(value).str();
    switch (kindOf(row.yield(), i)) {
    case mtf::ReductionKind::Sum: p.line(accumulators[i] + " += " + text + ";"); break;
    case mtf::ReductionKind::Prod: p.line(accumulators[i] + " *= " + use(value).within(Precedence::Unary) + ";"); break;
    case mtf::ReductionKind::Max: p.assign(accumulators[i], "std::max(" + accumulators[i] + ", " + text + ")"); break;
    case mtf::ReductionKind::Min: p.assign(accumulators[i], "std::min(" + accumulators[i] + ", " + text + ")"); break;
    }
  }
}

void CpuKernel::rowLoop(rt::RowOp row, ArrayRef<Loop> loops) {
  mlir::Block &block = row.getBody().front();
  settleBefore(block);
  hoist(block, loops);
  SmallVector<std::string> accumulators = accumulatorNames(row);
  for (auto [i, name] : llvm::enumerate(accumulators)) {
    mlir::Type type = row.getResult(i).getType();
    p.line(cppType(type) + " " + name + " = " + neutral(kindOf(row.yield(), i), type) + ";");
  }
  elements(loops, reductionClause(row, accumulators), [&] {
    body(block);
    accumulate(row, accumulators);
  });
  for (auto [result, name] : llvm::zip(row.getResults(), accumulators))
    define(result, Expr::name(name));
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

void CpuKernel::plain() {
  for (mlir::Operation &op : kernel.getBody().front()) {
    if (auto row = llvm::dyn_cast<rt::RowOp>(op)) {
      // All row dims have size 1: what is reduced is the one value.
      body(row.getBody().front());
      for (auto [result, value] : llvm::zip(row.getResults(), row.yield().getValues()))
        define(result, use(value));
    } else if (!(op.getNumResults() == 1 && op.use_empty()) && !BodyPrinter::print(&op)) {
      failed = true;
    }
  }
}

void CpuKernel::map() {
  isMap = true;
  mlir::Block &block = kernel.getBody().front();
  ArrayRef<Loop> loops = nest.outer;
  if (loops.size() == 1)
    return parallelFor(loopSize(loops.front()), [&] {
      hoist(block, loops);
      elements(loops, "", [&] { body(block); }, /*range=*/true);
    });
  ArrayRef<Loop> outside = loops.drop_back(), inside = loops.take_back();
  parallelFor(product(outside), [&] {
    forRows(outside, [&] {
      rowPointers(block, outside, inside);
      hoist(block, inside);
      elements(inside, "", [&] { body(block); });
    });
  });
}

void CpuKernel::rows() {
  mlir::Block &block = kernel.getBody().front();
  parallelFor(product(nest.outer), [&] {
    forRows(nest.outer, [&] {
      for (rt::RowOp row : block.getOps<rt::RowOp>())
        rowPointers(row.getBody().front(), nest.outer, nest.row);
      for (mlir::Operation &op : block) {
        if (auto row = llvm::dyn_cast<rt::RowOp>(op))
          rowLoop(row, nest.row);
        else if (!(op.getNumResults() == 1 && op.use_empty()) && !BodyPrinter::print(&op))
          failed = true;
      }
    });
  });
}

void CpuKernel::columns() {
  mlir::Block &block = kernel.getBody().front();
  ArrayRef<Loop> outside = ArrayRef<Loop>(nest.outer).drop_back();
  const Loop &column = nest.outer.back();
  Expr columnCount = loopSize(column), width = kColumnBlock;
  std::string blocks = newName("blocks");
  p.assign("const int64_t " + blocks, ((columnCount + (kColumnBlock - 1)) / width).str());
  parallelFor(product(outside) * Expr::name(blocks), [&] {
    Scope scope(*this);
    std::string number = newName("block"), first = newName("first"), count = newName("count");
    p.open("for (int64_t " + number + " = begin; " + number + " < end; ++" + number + ")");
    Expr inRow = Expr::name(number);
    if (!outside.empty()) {
      inRow = inRow % Expr::name(blocks);
      Expr flat = Expr::name(number) / Expr::name(blocks);
      if (outside.size() > 1) {
        std::string row = newName("row");
        p.assign("const int64_t " + row, flat.str());
        flat = Expr::name(row);
      }
      decode(outside, flat, /*all=*/true);
    }
    p.assign("const int64_t " + first, (inRow * width).str());
    p.assign("const int64_t " + count, "std::min<int64_t>(" + width.str() + ", " + (columnCount - Expr::name(first)).str() + ")");

    auto forColumns = [&](llvm::function_ref<void(StringRef)> inner) {
      Scope columnScope(*this);
      std::string j = newName("j");
      p.directive("#pragma omp simd");
      p.open("for (int64_t " + j + " = 0; " + j + " < " + count + "; ++" + j + ")");
      indices[column.inner().getName()] = Expr::raw(first + " + " + j, Precedence::Additive);
      inner(j);
      p.close();
    };
    // Accumulators per column of each reduction.
    llvm::DenseMap<mlir::Value, std::string> arrays;
    for (rt::RowOp row : block.getOps<rt::RowOp>()) {
      SmallVector<std::string> accumulators = accumulatorNames(row);
      for (auto [i, name] : llvm::enumerate(accumulators)) {
        mlir::Type type = row.getResult(i).getType();
        mtf::ReductionKind kind = kindOf(row.yield(), i);
        arrays[row.getResult(i)] = name;
        p.line(cppType(type) + " " + name + "[" + width.str() + "]" + (kind == mtf::ReductionKind::Sum ? " = {};" : ";"));
        if (kind != mtf::ReductionKind::Sum)
          p.line("std::fill_n(" + name + ", " + width.str() + ", " + neutral(kind, type) + ");");
      }
      Scope rowScope(*this);
      for (const Loop &loop : nest.row) {
        std::string name = indexName(loop, "row");
        p.open("for (int64_t " + name + " = 0; " + name + " < " + loopSize(loop).str() + "; ++" + name + ")");
        indices[loop.inner().getName()] = Expr::name(name);
      }
      forColumns([&](StringRef j) {
        // Earlier reductions by their column; other values from outside are computed again.
        for (auto &[value, array] : arrays)
          define(value, Expr::name(array).index(Expr::name(j)));
        body(row.getBody().front());
        SmallVector<std::string> elements;
        for (const std::string &name : accumulators)
          elements.push_back(name + "[" + j.str() + "]");
        accumulate(row, elements);
      });
      for (const Loop &loop : nest.row) {
        p.close();
        indices.erase(loop.inner().getName());
      }
    }
    forColumns([&](StringRef j) {
      for (auto &[value, array] : arrays)
        define(value, Expr::name(array).index(Expr::name(j)));
      for (mlir::Operation &op : block)
        if (!llvm::isa<rt::RowOp>(op) && !(op.getNumResults() == 1 && (op.use_empty() || isDefined(op.getResult(0)))) &&
            !BodyPrinter::print(&op))
          failed = true;
    });
    p.close();
  });
}

void CpuKernel::fullReduction() {
  ArrayRef<Loop> loops = nest.row, outside = loops.drop_back(), inside = loops.take_back();
  // Rows of the flattened loops, or elements if there is one loop.
  Expr count = outside.empty() ? loopSize(loops.front()) : product(outside);
  int64_t grain = outside.empty() ? kReduceBlock : std::max<int64_t>(1, kReduceBlock / inside.front().size());
  for (mlir::Operation &op : kernel.getBody().front()) {
    auto row = llvm::dyn_cast<rt::RowOp>(op);
    if (!row) {
      if (!(op.getNumResults() == 1 && op.use_empty()) && !BodyPrinter::print(&op))
        failed = true;
      continue;
    }
    mlir::Block &block = row.getBody().front();
    bool whole = true; // Print the body's every op, stores among them; else what the result needs.
    auto loop = [&](StringRef clause, llvm::function_ref<void()> end) {
      auto statements = [&] {
        if (whole)
          body(block);
        end();
      };
      if (outside.empty())
        return elements(loops, clause, statements, /*range=*/true);
      forRows(outside, [&] { elements(inside, clause, statements); });
    };
    if (row.getNumResults() == 0) {
      parallelFor(count, [&] { loop("", [] {}); });
      continue;
    }
    SmallVector<std::string> accumulators = accumulatorNames(row);
    for (unsigned i = 0; i < row.getNumResults(); ++i) {
      mtf::ReductionKind kind = kindOf(row.yield(), i);
      mlir::Type type = row.getResult(i).getType();
      whole = i == 0 && !block.getOps<rt::StoreOp>().empty();
      static constexpr StringRef functions[] = {"sumBlocks", "maxBlocks", "minBlocks", "productBlocks"};
      Scope scope(*this);
      std::string part = newName("part");
      Expr blockSize = numbers.get(grain, [&] { return Expr(grain); });
      p.open("const " + cppType(type) + " " + accumulators[i] + " = " + functions[static_cast<int>(kind)] + "<" + cppType(type) +
             ">(rank, " + count.str() + ", " + blockSize.str() + ", [=](int64_t begin, int64_t end)");
      p.line(cppType(type) + " " + part + " = " + neutral(kind, type) + ";");
      SmallVector<std::string> names(row.getNumResults(), "");
      names[i] = part;
      static constexpr StringRef operators[] = {"+", "max", "min", "*"};
      std::string clause = (" reduction(" + operators[static_cast<int>(kind)] + " : " + part + ")").str();
      loop(clause, [&] {
        Expr value = use(row.yield().getValues()[i]);
        std::string text = value.str();
        if (kind == mtf::ReductionKind::Sum || kind == mtf::ReductionKind::Prod)
          p.line(part + (kind == mtf::ReductionKind::Sum ? " += " : " *= ") + text + ";");
        else
          p.assign(part, (kind == mtf::ReductionKind::Max ? "std::max(" : "std::min(") + part + ", " + text + ")");
      });
      p.line("return " + part + ";");
      p.close(");");
    }
    for (auto [result, name] : llvm::zip(row.getResults(), accumulators))
      define(result, Expr::name(name));
  }
}

void CpuKernel::head(StringRef name) {
  SmallVector<std::string> parameters;
  if (needsRank(kernel))
    parameters.push_back("Rank &rank");
  for (const KernelSignature::Parameter &parameter : signature.parameters) {
    functionNames.reserve(parameter.name);
    if (!parameter.isBuffer()) {
      parameters.push_back("int32_t " + parameter.name);
      for (mlir::BlockArgument argument : parameter.arguments)
        define(argument, Expr::name(parameter.name));
      continue;
    }
    std::string type = cppType(parameter.buffer().getElementType()).str();
    parameters.push_back(parameter.isInputScalar() ? type + " " + parameter.name
                                                   : (parameter.written ? "" : "const ") + type + " *" + parameter.name);
  }
  for (const std::string &number : numbers.parameters()) {
    functionNames.reserve(number);
    parameters.push_back("int64_t " + number);
  }
  p.call("void " + name, parameters, " {");
  p.indent();
  kernel.walk([&](rt::ShardIndexOp op) {
    if (shards.contains(op.getAxes()))
      return;
    std::string variable = newName("shard");
    p.assign("const int32_t " + variable, "rank.shard(" + vocabulary.axes(op.getAxes()).str() + ")");
    shards[op.getAxes()] = Expr::name(variable);
  });
}

mlir::LogicalResult CpuKernel::print(StringRef name) {
  head(name);
  for (StringRef word : {"begin", "end"})
    functionNames.reserve(word);
  if (nest.outer.empty() && nest.row.empty())
    plain();
  else if (nest.outer.empty())
    fullReduction();
  else if (kernel.getBody().front().getOps<rt::RowOp>().empty())
    map();
  else if (kernel.getColumns())
    columns();
  else
    rows();
  p.close();
  return mlir::failure(failed);
}

bool meshc::target::needsRank(rt::KernelOp kernel) {
  LoopNest nest(kernel);
  bool shards = kernel.walk([](rt::ShardIndexOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
  return shards || !nest.outer.empty() || !nest.row.empty();
}

mlir::LogicalResult meshc::target::printCpuKernel(rt::KernelOp kernel, const KernelSignature &signature, StringRef name,
                                                  Vocabulary &vocabulary, Numbers &numbers, Printer &p) {
  return CpuKernel(kernel, signature, vocabulary, numbers, p).print(name);
}
