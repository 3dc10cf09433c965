//===- CudaKernel.cpp - a kernel as a __global__ function ---------------------------===//
//
// The forms, by which loops a kernel has (the skeletons are in runtime/include/meshrt/cuda/teams.h):
//
//   nothing          one thread: a learning rate, a clip factor
//   outer            map: a thread per element, over all outer loops flattened
//   outer, row       a team of threads, warp or block, per outer index; each `rt.row` is a loop of the team
//   outer, columns   a team of threads per column, 32 columns side by side in a block
//   row              the whole grid reduces; the block that finishes last does what follows the reductions
//
//   // gpt.mesh:19: x[batch=4, seq=256, embed=768] -> mean[batch=4, seq=256]
//   __global__ void computeMean(const float *x, float *mean) {
//     Row<32> team;
//     for (int64_t row = team.first(); row < kBatch * kSeq; row += team.step()) {
//       const float sum = team.sum(kEmbed, [&](int64_t embed) { return x[row * kEmbed + embed]; });
//       if (team.leads())
//         mean[row] = sum / 768.0f;
//     }
//   }
//
//===----------------------------------------------------------------------===//
#include "CudaKernel.h"
#include "CudaForm.h"
#include "meshc/Target/BodyPrinter.h"
#include "meshc/Target/ScalarOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;

namespace {
class CudaKernel : public BodyPrinter {
public:
  CudaKernel(rt::KernelOp kernel, const KernelSignature &signature, Vocabulary &vocabulary, Numbers &numbers, Printer &p)
      : BodyPrinter(p, vocabulary, numbers), kernel(kernel), signature(signature), nest(kernel), form(formOf(kernel, nest)),
        functionNames(&vocabulary.names) {
    setNames(&functionNames);
  }

  mlir::LogicalResult print(StringRef name);

private:
  //===--- places of elements ---===//
  Expr element(mlir::Operation *access) override;
  Expr index(mlir::StringAttr dim) override;
  Expr shard(mlir::ArrayAttr axes) override { return shards.lookup(axes); }
  void storeElement(rt::StoreOp op, const Expr &target, const Expr &value) override;
  Expr stride(mlir::Operation *access, const Loop &loop);
  Expr loopSize(const Loop &loop);
  Expr product(ArrayRef<Loop> loops);
  Expr offset(mlir::Operation *access, ArrayRef<Loop> loops);

  //===--- forms ---===//
  void map();
  void rows();
  void columns();
  void grid();

  //===--- pieces ---===//
  void head(StringRef name);
  void statements(llvm::function_ref<bool(mlir::Operation &)> wanted);
  void body(mlir::Block &block);
  void inlineRow(rt::RowOp row);
  void rowLoop(rt::RowOp row);
  void reduceInOneExpression(rt::RowOp row);
  /// Declares the accumulators of a row loop and runs it; the team has not combined them yet.
  void accumulate(rt::RowOp row);
  void hoist(mlir::Block &block);
  /// Gives the loops their indices, from one that counts all of them.
  void decode(ArrayRef<Loop> loops, const Expr &flat);
  void forget(ArrayRef<Loop> loops);
  bool indexIsNeeded(const Loop &loop, ArrayRef<Loop> loops);
  std::string indexName(ArrayRef<Loop> loops, StringRef several);
  const KernelSignature::Parameter &parameterOf(mlir::Value buffer) { return signature.of(buffer); }
  bool isLoaded(mlir::Value buffer);

  rt::KernelOp kernel;
  const KernelSignature &signature;
  LoopNest nest;
  Form form;
  Names functionNames;
  std::string team; ///< The variable of the threads that work together.
  bool inRow = false, failed = false;

  llvm::DenseMap<mlir::Attribute, Expr> shards;
  /// Indices of the loops around the current place, by the loop's inner dim.
  llvm::DenseMap<mlir::StringAttr, Expr> indices;
  /// Index over all outer, all row loops.
  std::optional<Expr> flatOuter, flatRow;
  SmallVector<std::pair<mtf::ReductionKind, std::string>> accumulators;
};
} // namespace

//===----------------------------------------------------------------------===//
// Places of elements
//===----------------------------------------------------------------------===//

bool CudaKernel::isLoaded(mlir::Value buffer) {
  return llvm::any_of(parameterOf(buffer).arguments, [](mlir::BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [](mlir::Operation *user) { return llvm::isa<rt::LoadOp>(user); });
  });
}

Expr CudaKernel::stride(mlir::Operation *access, const Loop &loop) {
  rt::BufferType type = accessedType(access);
  return numbers.get(strideAlong(access, loop), [&] { return vocabulary.stride(type, type.position(loop.inner().getName())); });
}

Expr CudaKernel::loopSize(const Loop &loop) {
  return numbers.get(loop.size(), [&] { return vocabulary.product(loop.dims); });
}

Expr CudaKernel::product(ArrayRef<Loop> loops) {
  Expr result = 1;
  for (const Loop &loop : loops)
    result = result * loopSize(loop);
  return result;
}

Expr CudaKernel::offset(mlir::Operation *access, ArrayRef<Loop> loops) {
  if (loops.empty())
    return 0;
  const std::optional<Expr> &flat = loops.data() == nest.outer.data() ? flatOuter : flatRow;
  if (flat && isFlat(access, loops))
    return *flat * stride(access, loops.back());
  Expr result = 0;
  for (const Loop &loop : loops)
    if (strideAlong(access, loop) != 0)
      result = result + indices.lookup(loop.inner().getName()) * stride(access, loop);
  return result;
}

Expr CudaKernel::element(mlir::Operation *access) {
  Expr base = Expr::name(parameterOf(bufferOf(access)).name);
  Expr at = offset(access, nest.outer);
  if (inRow)
    at = at + offset(access, nest.row);
  if (auto load = llvm::dyn_cast<rt::LoadOp>(access)) {
    rt::BufferType type = accessedType(access);
    for (auto [name, value] : llvm::zip(load.getAt().getAsRange<mlir::StringAttr>(), load.getIndices())) {
      int position = type.position(name);
      Expr step = numbers.get(type.getStrides()[position], [&] { return vocabulary.stride(type, position); });
      Expr number = use(value);
      // Constants are 64 bits wide, plain numbers are not.
      if (step.constant() && *step.constant() > 1)
        number = Expr::call("int64_t", {number});
      at = number * step + at;
    }
  }
  return at.isZero() ? Expr::unary("*", base) : base.index(at);
}

Expr CudaKernel::index(mlir::StringAttr dim) {
  auto it = indices.find(dim);
  return it == indices.end() ? Expr(0) : Expr::call("int32_t", {it->second});
}

void CudaKernel::storeElement(rt::StoreOp op, const Expr &target, const Expr &value) {
  if (inRow || form == Form::Plain || form == Form::Map)
    return BodyPrinter::storeElement(op, target, value);
  // One element per team. Others of the team may still have to read it.
  if (isLoaded(op.getBuffer()) && form != Form::Grid)
    p.line(team + ".barrier();");
  p.line("if (" + team + ".leads())");
  p.indent();
  p.assign(target.str(), value.str());
  p.dedent();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

std::string CudaKernel::indexName(ArrayRef<Loop> loops, StringRef several) {
  bool one = loops.size() == 1 && loops.front().dims.size() == 1;
  return newName(one ? singular(loops.front().inner().getName().getValue()) : several.str());
}

bool CudaKernel::indexIsNeeded(const Loop &loop, ArrayRef<Loop> loops) {
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

void CudaKernel::decode(ArrayRef<Loop> loops, const Expr &flat) {
  (loops.data() == nest.outer.data() ? flatOuter : flatRow) = flat;
  if (loops.size() == 1) {
    indices[loops.front().inner().getName()] = flat;
    return;
  }
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!indexIsNeeded(loops[i], loops))
      continue;
    Expr text = flat / product(loops.drop_front(i + 1));
    if (i != 0)
      text = text % loopSize(loops[i]);
    std::string name = indexName(loops[i], "position");
    p.assign("const int64_t " + name, text.str());
    indices[loops[i].inner().getName()] = Expr::name(name);
  }
}

void CudaKernel::forget(ArrayRef<Loop> loops) {
  flatRow.reset();
  for (const Loop &loop : loops)
    indices.erase(loop.inner().getName());
}

/// Ops of the kernel's own block for which `wanted` holds.
void CudaKernel::statements(llvm::function_ref<bool(mlir::Operation &)> wanted) {
  for (mlir::Operation &op : kernel.getBody().front()) {
    if (!wanted(op))
      continue;
    if (auto row = llvm::dyn_cast<rt::RowOp>(op))
      nest.row.empty() ? inlineRow(row) : rowLoop(row);
    else if (!(op.getNumResults() == 1 && (op.use_empty() || isDefined(op.getResult(0)))) && !BodyPrinter::print(&op))
      failed = true;
  }
}

void CudaKernel::body(mlir::Block &block) {
  for (mlir::Operation &op : block) {
    if (op.getNumResults() == 1 && (isDefined(op.getResult(0)) || op.use_empty()))
      continue;
    if (!llvm::isa<rt::YieldOp>(op) && !BodyPrinter::print(&op))
      failed = true;
  }
}

/// All row dims have size 1: what is reduced is the one value.
void CudaKernel::inlineRow(rt::RowOp row) {
  inRow = true;
  body(row.getBody().front());
  for (auto [result, value] : llvm::zip(row.getResults(), row.yield().getValues()))
    define(result, use(value));
  inRow = false;
}

/// Loads that do not move with the row loops, before them.
void CudaKernel::hoist(mlir::Block &block) {
  for (rt::LoadOp load : llvm::make_early_inc_range(block.getOps<rt::LoadOp>())) {
    bool moves = llvm::any_of(nest.row, [&](const Loop &loop) { return strideAlong(load, loop) != 0; });
    const KernelSignature::Parameter &parameter = parameterOf(load.getBuffer());
    if (moves || !load.getIndices().empty() || parameter.written || load.use_empty() || isDefined(load))
      continue;
    std::string name = newName(parameter.name.size() == 1 ? parameter.name + "i" : parameter.name + "_i");
    p.assign("const " + cppType(load.getType()) + " " + name, element(load).str());
    define(load, Expr::name(name));
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The runtime's function object, and the method of a team.
static StringRef operation(mtf::ReductionKind kind) {
  static constexpr StringRef names[] = {"Sum", "Max", "Min", "Prod"};
  return names[static_cast<int>(kind)];
}
static std::string method(mtf::ReductionKind kind) { return operation(kind).lower(); }

/// One value, no stores: `const float sum = team.sum(kEmbed, [&](int64_t embed) { return x[row * kEmbed + embed]; });`
void CudaKernel::reduceInOneExpression(rt::RowOp row) {
  mtf::ReductionKind kind = kindOf(row.yield(), 0);
  StringRef user = nameOf(row.getLoc());
  std::string name = newName(user.empty() ? accumulatorWord(kind) : user);
  {
    Scope scope(*this);
    std::string index = indexName(nest.row, "i");
    p.open("const " + cppType(row.getResult(0).getType()) + " " + name + " = " + team + "." + method(kind) + "(" + product(nest.row).str() +
           ", [&](int64_t " + index + ")");
    inRow = true;
    decode(nest.row, Expr::name(index));
    body(row.getBody().front());
    p.line("return " + use(row.yield().getValues()[0]).str() + ";");
    inRow = false;
    forget(nest.row);
    p.close(");");
  }
  define(row.getResult(0), Expr::name(name));
}

void CudaKernel::accumulate(rt::RowOp row) {
  mlir::Block &block = row.getBody().front();
  StringRef user = nameOf(row.getLoc());
  SmallVector<std::string> names;
  for (unsigned i = 0; i < row.getNumResults(); ++i) {
    mtf::ReductionKind kind = kindOf(row.yield(), i);
    std::string name = newName(user.empty() || row.getNumResults() > 1 ? accumulatorWord(kind) : user);
    std::string type = cppType(row.getResult(i).getType()).str();
    p.line(type + " " + name + " = " + operation(kind) + "::identity<" + type + ">();");
    names.push_back(name);
    accumulators.push_back({kind, name});
  }
  Scope scope(*this);
  std::string index = indexName(nest.row, "i");
  p.open(team + ".each(" + product(nest.row).str() + ", [&](int64_t " + index + ")");
  inRow = true;
  decode(nest.row, Expr::name(index));
  body(block);
  for (auto [i, value] : llvm::enumerate(row.yield().getValues())) {
    mtf::ReductionKind kind = kindOf(row.yield(), i);
    if (kind == mtf::ReductionKind::Sum)
      p.line(names[i] + " += " + use(value).str() + ";");
    else
      p.assign(names[i], (operation(kind) + "()(" + names[i] + ", " + use(value).str() + ")").str());
  }
  inRow = false;
  forget(nest.row);
  p.close(");");
}

void CudaKernel::rowLoop(rt::RowOp row) {
  mlir::Block &block = row.getBody().front();
  settleBefore(block);
  hoist(block);
  // Other threads of the team may still have to read the elements that this loop overwrites.
  if (!block.getOps<rt::StoreOp>().empty() && overwritesOthersElements(kernel))
    p.line(team + ".barrier();");
  if (form != Form::Grid && row.getNumResults() == 1 && block.getOps<rt::StoreOp>().empty())
    return reduceInOneExpression(row);
  size_t first = accumulators.size();
  accumulate(row);
  for (auto [result, accumulator] : llvm::zip(row.getResults(), ArrayRef(accumulators).drop_front(first))) {
    if (form != Form::Grid)
      p.line(accumulator.second + " = " + team + "." + method(accumulator.first) + "(" + accumulator.second + ");");
    define(result, Expr::name(accumulator.second));
  }
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static bool all(mlir::Operation &) { return true; }

void CudaKernel::map() {
  Scope scope(*this);
  std::string index = indexName(nest.outer, "i");
  p.open("for (int64_t " + index + " = gridThread(); " + index + " < " + product(nest.outer).str() + "; " + index + " += gridThreads())");
  decode(nest.outer, Expr::name(index));
  statements(all);
  p.close();
}

void CudaKernel::rows() {
  Scope scope(*this);
  team = newName("team");
  p.line("Row<" + Twine(teamSize(nest)) + "> " + team + ";");
  if (nest.outer.empty()) // One team: a later row loop needs an earlier one's result.
    return statements(all);
  std::string index = indexName(nest.outer, "row");
  p.open("for (int64_t " + index + " = " + team + ".first(); " + index + " < " + product(nest.outer).str() + "; " + index + " += " + team +
         ".step())");
  decode(nest.outer, Expr::name(index));
  statements(all);
  p.close();
}

void CudaKernel::columns() {
  Scope scope(*this);
  team = newName("team");
  p.line("Column " + team + "(" + product(nest.outer).str() + ");");
  std::string index = indexName(nest.outer, "column");
  p.line("const int64_t " + index + " = " + team + ".index();");
  decode(nest.outer, Expr::name(index));
  statements(all);
}

void CudaKernel::grid() {
  Scope scope(*this);
  team = newName("team");
  p.line("Grid " + team + ";");
  llvm::DenseSet<mlir::Value> reduced = reducedValues(kernel);
  auto isLate = [&](mlir::Operation &op) {
    return llvm::isa<rt::StoreOp>(op) || llvm::any_of(op.getOperands(), [&](mlir::Value v) { return reduced.contains(v); });
  };
  statements([&](mlir::Operation &op) { return !isLate(op); });
  if (accumulators.empty())
    return;
  SmallVector<std::string> parts = {"reduction"};
  for (auto &[kind, name] : accumulators)
    parts.push_back(("by<" + operation(kind) + ">(" + name + ")").str());
  p.call("if (!" + team + ".reduce", parts, ")");
  p.line("  return;");
  statements(isLate);
}

void CudaKernel::head(StringRef name) {
  SmallVector<std::string> parameters;
  for (const KernelSignature::Parameter &parameter : signature.parameters) {
    functionNames.reserve(parameter.name);
    if (parameter.isBuffer()) {
      parameters.push_back((Twine(parameter.written ? "" : "const ") + cppType(parameter.buffer().getElementType()) + " *" + parameter.name).str());
      continue;
    }
    parameters.push_back("int32_t " + parameter.name);
    for (mlir::BlockArgument argument : parameter.arguments)
      define(argument, Expr::name(parameter.name));
  }
  for (const std::string &number : numbers.parameters()) {
    functionNames.reserve(number);
    parameters.push_back("int64_t " + number);
  }
  for (mlir::ArrayAttr axes : shardAxes(kernel)) {
    std::string variable = newName("shard");
    shards[axes] = Expr::name(variable);
    parameters.push_back("int32_t " + variable);
  }
  if (form == Form::Grid) {
    functionNames.reserve("reduction");
    parameters.push_back("Reduction reduction");
  }
  p.call("__global__ void " + name, parameters, " {");
  p.indent();
}

mlir::LogicalResult CudaKernel::print(StringRef name) {
  head(name);
  switch (form) {
  case Form::Plain: statements(all); break;
  case Form::Map: map(); break;
  case Form::Rows: rows(); break;
  case Form::Columns: columns(); break;
  case Form::Grid: grid(); break;
  }
  p.close();
  return mlir::failure(failed);
}

mlir::LogicalResult meshc::target::printCudaKernel(rt::KernelOp kernel, const KernelSignature &signature, StringRef name,
                                                   Vocabulary &vocabulary, Numbers &numbers, Printer &p) {
  return CudaKernel(kernel, signature, vocabulary, numbers, p).print(name);
}
