//===- Description.cpp - the Program that the trainer is given ---------------------------===//
#include "meshc/Target/Description.h"
#include "meshc/Target/ScalarOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;
using llvm::Twine;

static std::string quoted(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

static std::string number(double value) { return Expr::floating(value, /*isDouble=*/true).str(); }

std::string meshc::target::stepName(rt::StepOp step) {
  std::string result;
  bool upper = false;
  for (char c : identifier(step.getSymName())) {
    if (c == '_') {
      upper = true;
      continue;
    }
    result += upper ? llvm::toUpper(c) : c;
    upper = false;
  }
  return result;
}

namespace {
class DescriptionPrinter {
public:
  DescriptionPrinter(Vocabulary &vocabulary, Printer &p) : vocabulary(vocabulary), module(vocabulary.module), p(p) {}

  mlir::LogicalResult print();

private:
  std::string tensor(rt::GlobalOp global);
  std::string parameter(rt::GlobalOp global);
  std::string dataInput(rt::GlobalOp global);
  /// `head` followed by the items in braces: on one line if they fit, else one a line.
  void list(const Twine &head, llvm::ArrayRef<std::string> items);
  void step(StringRef field, StringRef symbol);
  mlir::LogicalResult data();
  std::pair<mlir::DictionaryAttr, int64_t> sourceOf(StringRef input);
  void run();
  mlir::LogicalResult metrics();

  llvm::SmallVector<rt::GlobalOp> globalsWith(rt::Role role, StringRef step = "") {
    llvm::SmallVector<rt::GlobalOp> result;
    for (auto global : module.getOps<rt::GlobalOp>())
      if (global.getRole() == role && (step.empty() || global.getStep() == step))
        result.push_back(global);
    return result;
  }

  Vocabulary &vocabulary;
  mlir::ModuleOp module;
  Printer &p;
};
} // namespace

/// `{ElementType::F32, kWte, {{"vocab", 50257, 50258, kEmbed, kModelAxis}, {"embed", 768, 768, 1}}}`
std::string DescriptionPrinter::tensor(rt::GlobalOp global) {
  auto type = llvm::cast<mtf::NamedTensorType>(global.getTensor());
  rt::BufferType buffer = global.bufferType();
  llvm::SmallVector<std::string> dims;
  for (auto name : global.getOrder().getAsRange<mlir::StringAttr>()) {
    mtf::DimAttr dim = type.findDim(name);
    // A dim of size 1 has no place in memory if the buffer left it out.
    int position = buffer.position(name);
    std::string text = "{" + quoted(name.getValue()) + ", " + std::to_string(dim.getSize()) + ", " + std::to_string(dim.getPadded()) +
                       ", " + (position < 0 ? "0" : vocabulary.stride(buffer, position).str());
    if (dim.isSplit()) {
      llvm::SmallVector<mlir::Attribute> axes(dim.getAxes().begin(), dim.getAxes().end());
      text += ", " + vocabulary.axes(mlir::ArrayAttr::get(module.getContext(), axes)).str();
    }
    dims.push_back(text + "}");
  }
  return ("{ElementType::" + elementTypeName(buffer.getElementType()) + ", " + vocabulary.offset(global).str() + ", {" +
          llvm::join(dims, ", ") + "}}")
      .str();
}

std::string DescriptionPrinter::parameter(rt::GlobalOp global) {
  auto param = module.lookupSymbol<mtf::ParamOp>(*global.getParam());
  mtf::InitAttr init = param ? param.getInit() : nullptr;
  std::string initializer = "{Initializer::Constant, 0, 0}";
  if (init) {
    double value = init.getValue().getValueAsDouble();
    switch (init.getKind()) {
    case mtf::InitKind::Constant: initializer = "{Initializer::Constant, " + number(value) + ", 0}"; break;
    case mtf::InitKind::Normal: initializer = "{Initializer::Normal, 0, " + number(value) + "}"; break;
    case mtf::InitKind::Uniform: initializer = "{Initializer::Uniform, " + number(-value) + ", " + number(value) + "}"; break;
    }
  }
  return "{" + quoted(*global.getParam()) + ", " + tensor(global) + ", " + initializer + ", " +
         quoted(param ? param.getGroup() : StringRef("")) + "}";
}

/// The source of a data input, and its place among the inputs that the source fills.
std::pair<mlir::DictionaryAttr, int64_t> DescriptionPrinter::sourceOf(StringRef input) {
  if (auto sources = module->getAttrOfType<mlir::ArrayAttr>(mtf::kDataSources))
    for (auto source : sources.getAsRange<mlir::DictionaryAttr>())
      for (auto [place, name] : llvm::enumerate(source.getAs<mlir::ArrayAttr>("names").getAsRange<mlir::StringAttr>()))
        if (name.getValue() == input)
          return {source, place};
  return {nullptr, 0};
}

static bool isTokens(mlir::DictionaryAttr source) {
  StringRef kind = source ? source.getAs<mlir::StringAttr>("kind").getValue() : StringRef();
  return kind == "text" || kind == "tokens";
}

/// `tokens, targets from text(...)`: each input starts one token later than the one before.
std::string DescriptionPrinter::dataInput(rt::GlobalOp global) {
  auto [source, place] = sourceOf(global.getName());
  return "{" + quoted(global.getName()) + ", " + tensor(global) + ", " + std::to_string(isTokens(source) ? place : 0) + "}";
}

void DescriptionPrinter::list(const Twine &head, llvm::ArrayRef<std::string> items) {
  std::string flat = (head + "{" + llvm::join(items, ", ") + "};").str();
  if (flat.size() <= 96) {
    p.line(flat);
    return;
  }
  p.line(head + "{");
  p.indent();
  for (const std::string &item : items)
    p.line(item + ",");
  p.dedent();
  p.line("};");
}

void DescriptionPrinter::step(StringRef field, StringRef symbol) {
  auto op = module.lookupSymbol<rt::StepOp>(symbol);
  if (!op)
    return;
  p.gap();
  p.line("p." + field + ".run = " + stepName(op) + ";");
  llvm::SmallVector<std::string> items;
  for (rt::GlobalOp global : globalsWith(rt::Role::Data, symbol))
    items.push_back(dataInput(global));
  if (!items.empty())
    list("p." + field + ".data = ", items);
  items.clear();
  for (rt::GlobalOp global : globalsWith(rt::Role::Scalar, symbol)) {
    StringRef kind = global.getName() == "seed" ? "Seed" : global.getName() == "step" ? "Step" : "TotalSteps";
    items.push_back(("{ScalarInput::" + kind + ", " + vocabulary.offset(global).str() + "}").str());
  }
  if (!items.empty())
    list("p." + field + ".scalars = ", items);
  items.clear();
  for (rt::GlobalOp global : globalsWith(rt::Role::Result, symbol))
    items.push_back("{" + quoted(global.getName()) + ", " + tensor(global) + "}");
  if (!items.empty())
    list("p." + field + ".outputs = ", items);
}

mlir::LogicalResult DescriptionPrinter::data() {
  auto sources = module->getAttrOfType<mlir::ArrayAttr>(mtf::kDataSources);
  if (!sources || sources.empty())
    return mlir::success();
  if (sources.size() > 1)
    return module.emitError() << "the data block has " << sources.size() << " sources; the trainer reads one";
  auto source = llvm::cast<mlir::DictionaryAttr>(sources[0]);
  auto arguments = source.getAs<mlir::ArrayAttr>("arguments");
  auto options = source.getAs<mlir::DictionaryAttr>("options");
  auto file = arguments && arguments.size() == 1 ? llvm::dyn_cast<mlir::StringAttr>(arguments[0]) : nullptr;
  StringRef kind = source.getAs<mlir::StringAttr>("kind").getValue();
  StringRef kindName = kind == "text" ? "Text" : kind == "tokens" ? "Tokens" : kind == "tensors" ? "Tensors" : "";
  if (kindName.empty() || !file)
    return module.emitError() << "data come from text(\"FILE\"), tokens(\"FILE\") or tensors(\"FILE\"), not from '" << kind << "'";
  p.gap();
  p.line("p.data.kind = DataSource::" + kindName + ";");
  p.line("p.data.file = " + quoted(file.getValue()) + ";");
  StringRef batch, time;
  if (auto attr = module->getAttrOfType<mlir::StringAttr>(mtf::kBatchDim))
    batch = attr.getValue();
  if (!batch.empty())
    p.line("p.data.batchDim = " + quoted(batch) + ";");
  // The microbatch loop's dim leads the data of the training step.
  auto micro = module->getAttrOfType<mlir::IntegerAttr>(mtf::kMicrobatches);
  bool hasMicro = micro && micro.getInt() > 1;
  if (hasMicro)
    p.line("p.data.microDim = \"micro\";");
  int64_t items = 1;
  for (rt::GlobalOp global : globalsWith(rt::Role::Data, "train_step")) {
    if (sourceOf(global.getName()).first != source)
      continue;
    auto type = llvm::cast<mtf::NamedTensorType>(global.getTensor());
    items = 1;
    for (mtf::DimAttr dim : type.getDims()) {
      StringRef name = dim.getName().getValue();
      bool isBatch = name == batch || (hasMicro && name == "micro");
      if (!isBatch && isTokens(source))
        time = name;
      if (isBatch || isTokens(source))
        items *= dim.getSize();
    }
    break;
  }
  if (!time.empty())
    p.line("p.data.timeDim = " + quoted(time) + ";");
  if (auto vocab = options ? options.getAs<mlir::IntegerAttr>("vocab") : nullptr)
    p.line("p.data.vocab = " + Twine(vocab.getInt()) + ";");
  p.line("p.itemsPerStep = " + Twine(items) + ";");
  return mlir::success();
}

void DescriptionPrinter::run() {
  p.gap();
  if (auto steps = module->getAttrOfType<mlir::IntegerAttr>(mtf::kSteps))
    p.line("p.steps = " + Twine(steps.getInt()) + ";");
  if (auto constants = module->getAttrOfType<mlir::DictionaryAttr>(mtf::kConstants)) {
    llvm::SmallVector<std::string> items;
    for (mlir::NamedAttribute constant : constants)
      items.push_back("{" + quoted(constant.getName()) + ", " + quoted(llvm::cast<mlir::StringAttr>(constant.getValue())) + "}");
    list("p.constants = ", items);
  }
}

/// An op on scalars as an expression on doubles, or nullopt.
static std::optional<Expr> scalarDouble(mlir::Operation *op, llvm::ArrayRef<Expr> x) {
  using Result = std::optional<Expr>;
  auto call = [&](StringRef function) { return Result(Expr::call(function, x)); };
  return llvm::TypeSwitch<mlir::Operation *, Result>(op)
      .Case([&](mtf::ConstantOp constant) { return Expr::floating(constant.asDouble(), /*isDouble=*/true); })
      .Case([&](mtf::AddOp) { return Expr::binary("+", Precedence::Additive, x[0], x[1]); })
      .Case([&](mtf::SubOp) { return Expr::binary("-", Precedence::Additive, x[0], x[1]); })
      .Case([&](mtf::MulOp) { return Expr::binary("*", Precedence::Multiplicative, x[0], x[1]); })
      .Case([&](mtf::DivOp) { return Expr::binary("/", Precedence::Multiplicative, x[0], x[1]); })
      .Case([&](mtf::NegOp) { return Expr::unary("-", x[0]); })
      .Case<mtf::CastOp, mtf::TapOp, mtf::StopGradientOp>([&](auto) { return x[0]; })
      .Case([&](mtf::ExpOp) { return call("std::exp"); })
      .Case([&](mtf::LogOp) { return call("std::log"); })
      .Case([&](mtf::SqrtOp) { return call("std::sqrt"); })
      .Case([&](mtf::TanhOp) { return call("std::tanh"); })
      .Case([&](mtf::AbsOp) { return call("std::abs"); })
      .Case([&](mtf::PowOp) { return call("std::pow"); })
      .Case([&](mtf::MaxOp) { return call("std::max"); })
      .Case([&](mtf::MinOp) { return call("std::min"); })
      .Default([](mlir::Operation *) { return Result(); });
}

/// `metric perplexity = exp(loss)`: a lambda per function `metric.NAME`.
mlir::LogicalResult DescriptionPrinter::metrics() {
  llvm::SmallVector<std::string> items;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    StringRef name = function.getName();
    if (!name.consume_front(mtf::kMetricPrefix) || function.isExternal())
      continue;
    llvm::DenseMap<mlir::Value, Expr> values;
    for (mlir::BlockArgument argument : function.getArguments())
      values[argument] = Expr::name("loss");
    std::string result;
    for (mlir::Operation &op : function.front()) {
      llvm::SmallVector<Expr> operands;
      for (mlir::Value operand : op.getOperands())
        operands.push_back(values[operand]);
      if (llvm::isa<mlir::func::ReturnOp>(op)) {
        result = operands.front().str();
        continue;
      }
      std::optional<Expr> value = scalarDouble(&op, operands);
      if (!value)
        return op.emitError() << "metric '" << name << "' must be arithmetic on 'loss' and numbers";
      values[op.getResult(0)] = *value;
    }
    items.push_back("{" + quoted(name) + ", [](double loss) { return " + result + "; }}");
  }
  if (!items.empty())
    list("p.metrics = ", items);
  return mlir::success();
}

mlir::LogicalResult DescriptionPrinter::print() {
  p.open("Program program()");
  p.line("Program p;");
  p.line("p.name = " + quoted(vocabulary.programName()) + ";");
  if (auto source = module->getAttrOfType<mlir::StringAttr>(mtf::kSource))
    p.line("p.source = " + quoted(source.getValue()) + ";");
  llvm::SmallVector<std::string> items;
  for (auto [name, size] : llvm::zip(vocabulary.mesh.getAxisNames(), vocabulary.mesh.getAxisSizes()))
    items.push_back("{" + quoted(name.getValue()) + ", " + std::to_string(size) + "}");
  if (!items.empty())
    list("p.mesh = ", items);
  auto bytes = module->getAttrOfType<mlir::IntegerAttr>(rt::kArenaBytes);
  p.line("p.arenaBytes = " + Twine(bytes ? bytes.getInt() : 0) + ";");
  items.clear();
  for (rt::GlobalOp global : globalsWith(rt::Role::Param))
    items.push_back(parameter(global));
  list("p.parameters = ", items);
  items.clear();
  for (rt::GlobalOp global : globalsWith(rt::Role::State))
    items.push_back("{" + quoted(*global.getParam()) + ", " + quoted(global.getName()) + ", " + tensor(global) + ", 0}");
  if (!items.empty())
    list("p.states = ", items);
  if (mlir::failed(data()))
    return mlir::failure();
  if (auto prepare = module.lookupSymbol<rt::StepOp>("prepare"))
    p.line("p.prepare = " + stepName(prepare) + ";");
  step("trainStep", "train_step");
  step("evalStep", "eval_step");
  step("forward", "forward");
  run();
  if (mlir::failed(metrics()))
    return mlir::failure();
  p.line("return p;");
  p.close();
  return mlir::success();
}

mlir::LogicalResult meshc::target::printDescription(Vocabulary &vocabulary, Printer &p) {
  return DescriptionPrinter(vocabulary, p).print();
}
