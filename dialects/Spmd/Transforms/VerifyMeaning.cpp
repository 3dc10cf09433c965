//===- VerifyMeaning.cpp - a partitioned function computes what it did -----===//
#include "Checks.h"
#include "Spmd/IR/Meaning.h"

using namespace mlir;
using namespace meshc;
using namespace meshc::mtf;

/// What the result is called.
static std::string nameOf(func::FuncOp function, unsigned i) {
  for (StringRef key : {StringRef(kParam), StringRef(kState), StringRef(kResult)})
    if (Attribute name = function.getResultAttr(i, key)) {
      if (auto text = dyn_cast<StringAttr>(name))
        return ("'" + text.getValue() + "'").str();
      if (auto path = dyn_cast<FlatSymbolRefAttr>(name))
        return ("'" + path.getValue() + "'").str();
    }
  return std::to_string(i);
}

LogicalResult spmd::verifyMeaning(func::FuncOp function) {
  Attribute attribute = function->getAttr(kMeaning);
  if (!attribute)
    return success();
  auto expected = dyn_cast<DenseI32ArrayAttr>(attribute);
  SmallVector<int32_t> actual = meaningOf(function);
  if (!expected || expected.size() != static_cast<int64_t>(actual.size()))
    return function.emitError() << "'" << kMeaning << "' should have one number for each of " << actual.size() << " results, got: " << attribute;
  Operation *terminator = function.getBody().front().getTerminator();
  for (unsigned i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i])
      continue;
    Value result = terminator->getOperand(i);
    return emitError(result.getLoc()) << "result " << nameOf(function, i) << " of '" << function.getName()
                                      << "' is no longer what it was before partitioning: an op, a factor or an operand that it depends on has changed";
  }
  return success();
}
