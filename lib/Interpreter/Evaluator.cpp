//===- Evaluator.cpp - the table of evaluators -----------------------------===//
#include "Evaluator.h"

using namespace meshc::interp;

const EvaluatorTable &EvaluatorTable::get() {
  static const EvaluatorTable table = [] {
    EvaluatorTable table;
    addElementwise(table);
    addSources(table);
    addReductions(table);
    addShapes(table);
    addIndexing(table);
    addAttention(table);
    return table;
  }();
  return table;
}
