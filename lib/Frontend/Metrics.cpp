//===- Metrics.cpp - the eval block -----------------------------------------------===//
//
// `metric perplexity = exp(loss)` becomes @metric.perplexity(loss) -> f32: the trainer computes the mean loss of the evaluation and hands it in.
//
//===----------------------------------------------------------------------===//
#include "Elaborator.h"

using namespace meshc;
using namespace meshc::ast;

void Elaborator::buildMetrics() {
  llvm::StringSet<> seen;
  for (const NamedArg &metric : root.eval->metrics) {
    if (!seen.insert(metric.name.text).second) {
      error(metric.name.loc) << "the metric '" << metric.name.text << "' is given twice";
      continue;
    }
    Frame scope;
    scope.module = &root;
    FrameScope enter(*this, scope);
    beginFunction(FunctionState::Kind::Metric, "metric." + metric.name.text.str());
    for (const LetStmt *let : root.eval->lets)
      for (const Binder &binder : let->binders)
        scope.lazyLets[binder.name.text] = let;
    mlir::Location loc = mlir::NameLoc::get(attr("loss"), location(metric.name.loc));
    define({"loss", metric.name.loc}, Value::ofTensor(addArgument(scalarType(f32), mtf::kInput, attr("loss"), loc)));
    mlir::Value value = evaluateTensor(*metric.value, f32);
    if (value && value.getType() != scalarType(f32))
      error(metric.value->loc) << "a metric is one f32 number, not " << spell(mtf::tensorType(value));
    else if (value)
      finishFunction({value}, {metric.name.text});
    function.reset();
  }
}
