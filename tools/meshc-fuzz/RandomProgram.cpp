//===- RandomProgram.cpp - well-formed random programs ---------------------===//
#include "RandomProgram.h"
#include "Generator.h"
#include "Mtf/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

Generator::Generator(MLIRContext &context, uint64_t seed)
    : random(seed), b(UnknownLoc::get(&context), &context), f32(b.getF32Type()), i32(b.getI32Type()), batch(b.getStringAttr("a")) {
  batched = chance(30);
}

/// Five names; each has a second name of the same size, as `mem` is to `seq`.
void Generator::chooseDims() {
  for (const char *text : {"a", "b", "c", "d", "e"}) {
    int64_t size = chance(10) ? 1 : 2 + below(6);
    for (StringAttr dim : {name(text), name(Twine(text) + "2")}) {
      names.push_back(dim);
      sizes[dim] = size;
    }
  }
}

/// One to three axes of sizes 1 to 4, from 2 to 16 ranks.
void Generator::chooseMesh(ModuleOp module) {
  Names axes;
  SmallVector<int64_t> axisSizes;
  int64_t ranks = 1;
  for (const char *text : {"data", "model", "ctx"})
    if (axes.size() < 2 || chance(50)) {
      axes.push_back(name(text));
      axisSizes.push_back(1 + below(std::min<int64_t>(4, 16 / ranks)));
      ranks *= axisSizes.back();
    }
  if (ranks == 1)
    axisSizes[below(axes.size())] = 2 + below(3);
  module->setAttr(kMesh, MeshAttr::get(b.getContext(), name("pod"), axes, axisSizes));
}

/// Rules for dims by name, narrowed to kinds and paths, for states, and pins of single values.
void Generator::chooseLayout(ModuleOp module, func::FuncOp loss) {
  MLIRContext *context = b.getContext();
  ArrayRef<StringAttr> axes = MeshAttr::of(module).getAxisNames();
  SmallVector<std::pair<std::string, NamedTensorType>> tensors;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    if (auto param = loss.getArgAttrOfType<FlatSymbolRefAttr>(i, kParam))
      tensors.push_back({param.getValue().str(), tensorType(loss.getArgument(i))});
  loss.walk([&](TapOp tap) { tensors.push_back({tap.getName().str(), tap.getResult().getType()}); });
  Names dimsToSplit = names;
  for (const char *text : {"flat", "outer", "best", "pair", "tap"})
    dimsToSplit.push_back(name(text));

  SmallVector<RuleAttr> rules;
  auto add = [&](ArrayRef<StringAttr> dims, ArrayRef<StringAttr> over, RuleScope scope, StringRef path) {
    rules.push_back(RuleAttr::get(context, dims, over, scope, name(path), b.getUnknownLoc()));
  };
  for (int64_t i = 0, n = 1 + below(6); i < n; ++i) {
    Names over = {pick(axes)};
    if (StringAttr second = pick(axes); chance(20) && second != over[0])
      over.push_back(second);
    if (chance(12)) {
      add({}, over, RuleScope::StateOptimizer, "");
      continue;
    }
    if (const auto &[path, type] = pick(tensors); chance(15) && !type.isScalar()) {
      StringAttr pinned = pick(type.getDims()).getName();
      // A loop's dim is whole.
      if (!pinned.getValue().contains("layers"))
        add({pinned}, chance(25) ? ArrayRef<StringAttr>() : ArrayRef(over).take_front(1), RuleScope::Pin, path);
      continue;
    }
    Names dims = {pick(dimsToSplit)};
    if (StringAttr second = pick(dimsToSplit); chance(40) && second != dims[0])
      dims.push_back(second);
    add(dims, over, chance(60) ? RuleScope::All : chance(50) ? RuleScope::Values : RuleScope::Params,
        chance(15) ? StringRef(pick(ArrayRef<const char *>{"p*", "t1*", "*[02468]", "p0"})) : StringRef());
  }
  module->setAttr(kLayout, LayoutAttr::get(context, rules));
  SmallVector<Attribute> order(names.begin(), names.end());
  module->setAttr(kDimOrder, b.getArrayAttr(order));
  module->setAttr(kPrecision, name(chance(15) ? "bf16" : "f32"));
  if (chance(50))
    module->setAttr(kClip, b.getF64FloatAttr(0.5));
}

/// Two or three microbatches of `a` where the loss allows it.
void Generator::chooseMicrobatches(ModuleOp module, func::FuncOp loss) {
  module->setAttr(kMicrobatches, b.getI64IntegerAttr(1));
  if (!batched)
    return;
  OwningOpRef<ModuleOp> trial = module.clone();
  auto set = [&](ModuleOp module, int64_t count) {
    module->setAttr(kBatchDim, batch);
    module->setAttr(kMicrobatches, b.getI64IntegerAttr(count));
    module.walk([&](RandomOp op) {
      SmallVector<int64_t> extents(op.getExtents());
      for (auto [extent, name] : llvm::zip(extents, op.getOrder().getAsRange<StringAttr>()))
        extent *= name == batch ? count : 1;
      op.setExtents(extents);
    });
  };
  int64_t count = 2 + below(2);
  set(*trial, count);
  ScopedDiagnosticHandler silence(b.getContext(), [](Diagnostic &) { return success(); });
  PassManager passes(b.getContext());
  passes.addPass(createDifferentiate());
  passes.addPass(createBuildTrainStep());
  if (succeeded(passes.run(*trial)))
    set(module, count);
}

NamedTensorType Generator::randomType(Type element, int64_t maxDims) {
  SmallVector<DimAttr> dims;
  for (int64_t i = 0, n = below(maxDims + 1); i < n; ++i)
    if (DimAttr candidate = dim(pick(names)); !llvm::is_contained(dims, candidate) && !(batched && candidate.getName() == batch))
      dims.push_back(candidate);
  return NamedTensorType::get(dims, element);
}

/// The denominator: positive, from the data alone.
void Generator::makeWeight(func::FuncOp loss) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types;
  SmallVector<Attribute> data;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i)
    if (Attribute name = loss.getArgAttr(i, kData)) {
      types.push_back(loss.getArgumentTypes()[i]);
      data.push_back(name);
    }
  auto scalar = NamedTensorType::get({}, f32);
  auto weight = func::FuncOp::create(b, "weight", b.getFunctionType(types, {scalar}));
  for (auto [i, name] : llvm::enumerate(data))
    weight.setArgAttr(i, kData, name);
  b.setInsertionPointToStart(weight.addEntryBlock());
  Value x = SigmoidOp::create(b, weight.getArgument(0));
  Names all;
  for (DimAttr dim : tensorType(x).getDims())
    all.push_back(dim.getName());
  func::ReturnOp::create(b, all.empty() ? x : ReduceOp::create(b, ReductionKind::Sum, x, all).getResult());
}

/// Gradient descent with momentum.
void Generator::makeUpdate(StringRef path, NamedTensorType type) {
  OpBuilder::InsertionGuard guard(b);
  auto i32 = NamedTensorType::get({}, b.getI32Type());
  auto update = func::FuncOp::create(b, ("update." + path).str(), b.getFunctionType({type, type, type, i32, i32}, {type, type}));
  b.setInsertionPointToStart(update.addEntryBlock());
  Value momentum = AddOp::create(b, MulOp::create(b, update.getArgument(2), constant(0.9)), update.getArgument(1));
  Value value = SubOp::create(b, update.getArgument(0), MulOp::create(b, momentum, constant(0.1)));
  func::ReturnOp::create(b, ValueRange{value, momentum});
}

func::FuncOp Generator::makeLoss() {
  MLIRContext *context = b.getContext();
  auto scalar = NamedTensorType::get({}, f32), scalarInt = NamedTensorType::get({}, b.getI32Type());
  SmallVector<Type> types;
  SmallVector<NamedAttribute> attrs;
  int64_t params = 2 + below(4), floats = 1 + below(2), places = 1 + below(2);
  for (int64_t i = 0; i < params; ++i) {
    NamedTensorType type = randomType(f32, 3);
    types.push_back(type);
    std::string path = "p" + std::to_string(i);
    SmallVector<Attribute> order;
    for (DimAttr dim : type.getDims())
      order.push_back(dim.getName());
    attrs.push_back(b.getNamedAttr(kParam, FlatSymbolRefAttr::get(context, path)));
    ParamOp::create(b, path, type, b.getArrayAttr(order), InitAttr::get(context, InitKind::Normal, b.getF64FloatAttr(0.02)),
                    b.getArrayAttr({}), b.getArrayAttr({}), true, "default", FlatSymbolRefAttr::get(context, "update." + path),
                    b.getArrayAttr({name("m")}));
    makeUpdate(path, type);
  }
  for (int64_t i = 0; i < floats + places; ++i) {
    NamedTensorType type = randomType(i < floats ? f32 : i32, i < floats ? 3 : 2);
    types.push_back(batched && (i == 0 || chance(50)) ? type.with(dim(batch)) : type);
    attrs.push_back(b.getNamedAttr(kData, name("x" + Twine(i))));
  }
  for (const char *input : {"seed", "step"}) {
    types.push_back(scalarInt);
    attrs.push_back(b.getNamedAttr(kInput, name(input)));
  }
  auto function = func::FuncOp::create(b, "loss", b.getFunctionType(types, {scalar}));
  for (auto [i, attr] : llvm::enumerate(attrs))
    function.setArgAttr(i, attr.getName(), attr.getValue());
  function.setResultAttr(0, kResult, name("loss"));
  b.setInsertionPointToStart(function.addEntryBlock());
  for (BlockArgument argument : function.getArguments().drop_back(2))
    (tensorType(argument).getElementType().isInteger(32) ? ints : pool).push_back(argument);
  for (BlockArgument argument : function.getArguments())
    steady[argument] = !function.getArgAttr(argument.getArgNumber(), kParam);
  seed = function.getArguments().drop_back().back();
  step_ = function.getArguments().back();

  for (int64_t i = 0, n = 5 + below(24); i < n; ++i)
    step(/*depth=*/0);

  // The loss depends on the last values and, so that each has a gradient, on every parameter.
  SmallVector<Value> ends(function.getArguments().take_front(params));
  llvm::append_range(ends, ArrayRef(pool).take_back(4));
  Value loss = constant(0);
  // The first data, a weight of each element of the batch.
  Names others;
  for (DimAttr dim : tensorType(function.getArgument(params)).getDims())
    if (dim.getName() != batch)
      others.push_back(dim.getName());
  for (Value end : ends) {
    Value term = SinOp::create(b, end);
    if (batched) {
      Value weight = function.getArgument(params);
      if (DimAttr own = tensorType(end).findDim(batch); own && own.getSize() != sizes.lookup(batch))
        continue;
      term = MulOp::create(b, term, others.empty() ? weight : ReduceOp::create(b, ReductionKind::Max, weight, others));
      if (tensorType(term).numElements() > 4000)
        continue;
    }
    Names all;
    for (DimAttr dim : tensorType(term).getDims())
      all.push_back(dim.getName());
    loss = AddOp::create(b, loss, all.empty() ? term : ReduceOp::create(b, ReductionKind::Sum, term, all));
  }
  func::ReturnOp::create(b, loss);
  b.setInsertionPointAfter(function);
  makeWeight(function);
  return function;
}

OwningOpRef<ModuleOp> Generator::module() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  chooseDims();
  chooseMesh(*module);
  func::FuncOp loss = makeLoss();
  chooseLayout(*module, loss);
  chooseMicrobatches(*module, loss);
  return module;
}

OwningOpRef<ModuleOp> meshc::randomProgram(MLIRContext &context, uint64_t seed) { return Generator(context, seed).module(); }
