//===- Taps.cpp - taps on the values that the user named -------------------===//
#include "Taps.h"
#include "Mtf/IR/Mtf.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace meshc;

/// The user's name of a value, from the location that the front end gave it.
static StringRef nameOf(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name ? name.getName().getValue() : StringRef();
}

void meshc::tapNamedValues(func::FuncOp function) {
  SmallVector<Value> named;
  function.walk([&](Operation *op) {
    if (isa<mtf::TapOp, mtf::ConstantOp>(op) || nameOf(op->getLoc()).empty())
      return;
    for (Value result : op->getResults())
      if (isa<mtf::NamedTensorType>(result.getType()) && !result.use_empty())
        named.push_back(result);
  });
  llvm::StringMap<unsigned> seen;
  for (Value value : named) {
    std::string name = nameOf(value.getLoc()).str();
    if (unsigned count = seen[name]++)
      name += "#" + std::to_string(count + 1);
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    auto tap = mtf::TapOp::create(builder, value.getLoc(), value.getType(), builder.getStringAttr(name), value);
    value.replaceAllUsesExcept(tap.getResult(), tap);
  }
}
