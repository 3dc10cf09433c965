//===- Numbers.cpp - the sizes and strides in a kernel's text -----------------------===//
#include "meshc/Target/Numbers.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshc::target;

Expr Numbers::get(int64_t value, llvm::function_ref<Expr()> text) {
  if (value == 0 || value == 1)
    return value;
  if (!resolved) {
    values.push_back(value);
    return Expr::name("#");
  }
  int parameter = parameterOf[next++];
  return parameter < 0 ? text() : Expr::name(parameterNames[parameter]);
}

void Numbers::resolve(llvm::ArrayRef<llvm::SmallVector<int64_t>> uses, Names &names) {
  resolved = true;
  for (size_t slot = 0; slot < uses.front().size(); ++slot) {
    llvm::SmallVector<int64_t> column;
    for (const auto &use : uses)
      column.push_back(use[slot]);
    if (llvm::all_equal(column)) {
      parameterOf.push_back(-1);
      continue;
    }
    auto known = llvm::find(columns, column);
    parameterOf.push_back(known - columns.begin());
    if (known == columns.end()) {
      columns.push_back(column);
      parameterNames.push_back(names.add("n"));
    }
  }
}
