//===- StepMask.cpp - an attention mask as a function object ------------------------------------===//
//
//   const int32_t shard = rank.shard(kModelAxis);
//   const auto mask = [=](int64_t query, int64_t key, int64_t, int64_t head) {
//     return query - key < window[head + shard * 4];
//   };
//
//===----------------------------------------------------------------------===//
#include "meshc/Target/BodyPrinter.h"
#include "meshc/Target/StepPrinter.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using namespace meshc::target;
using llvm::StringRef;

namespace {
/// The body of a mask: loads name every index themselves, shard indices were defined outside.
class MaskBody : public BodyPrinter {
public:
  using BodyPrinter::BodyPrinter;

  Expr element(mlir::Operation *access) override {
    auto load = llvm::cast<rt::LoadOp>(access);
    rt::BufferType type = rt::bufferType(load.getBuffer());
    Expr at = 0;
    for (auto [name, value] : llvm::zip(load.getAt().getAsRange<mlir::StringAttr>(), load.getIndices()))
      at = at + use(value) * vocabulary.stride(type, type.position(name));
    Expr buffer = use(load.getBuffer());
    return at.isZero() ? Expr::unary("*", buffer) : buffer.index(at);
  }
  Expr index(mlir::StringAttr) override { return 0; }
  Expr shard(mlir::ArrayAttr) override { return 0; }
};
} // namespace

mlir::FailureOr<std::string> StepPrinter::mask(mlir::Region &region, mlir::ValueRange operands) {
  mlir::Block &block = region.front();
  std::string name = scope->add("mask");
  // The mask may run where there is no rank to ask.
  llvm::DenseMap<mlir::Value, Expr> shards;
  for (auto op : block.getOps<rt::ShardIndexOp>()) {
    Expr shard = Expr::name(scope->add("shard"));
    p.assign("const int32_t " + shard.str(), "rank.shard(" + vocabulary.axes(op.getAxes()).str() + ")");
    shards[op] = shard;
  }
  Names names(scope);
  Numbers numbers;
  numbers.resolve({{}}, names);
  MaskBody body(p, vocabulary, numbers);
  body.setNames(&names);
  for (auto &[value, shard] : shards)
    body.define(value, shard);
  llvm::SmallVector<std::string> parameters;
  static constexpr StringRef words[] = {"query", "key", "batch", "head"};
  for (auto [number, argument] : llvm::enumerate(block.getArguments())) {
    if (number >= 4) {
      body.define(argument, text(operands[number - 4]));
      continue;
    }
    std::string word = argument.use_empty() ? "" : names.add(words[number]);
    parameters.push_back(word.empty() ? "int64_t" : "int64_t " + word);
    body.define(argument, Expr::name(word));
  }
  p.open("const auto " + name + " = " + maskHead(llvm::join(parameters, ", ")));
  for (mlir::Operation &op : block.without_terminator())
    if (!op.use_empty() && !body.isDefined(op.getResult(0)) && !body.print(&op))
      return mlir::failure();
  p.line("return " + body.use(block.getTerminator()->getOperand(0)).str() + ";");
  p.close(";");
  return name;
}
