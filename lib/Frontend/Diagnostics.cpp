//===- Diagnostics.cpp - suggestions for names ------------------------------===//
#include "Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace meshc;
using llvm::StringRef;

/// Edits that turn `a` into `b`: insertions, deletions, replacements and exchanges of neighbours, without regard to case.
static unsigned editDistance(StringRef a, StringRef b) {
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  auto same = [&](size_t i, size_t j) { return llvm::toLower(a[i]) == llvm::toLower(b[j]); };
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same(i - 1, j - 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

StringRef meshc::closestName(StringRef name, llvm::ArrayRef<StringRef> known) {
  // Very long names are no typos of each other, and a name of two letters is close to everything.
  if (name.size() < 3 || name.size() > 64)
    return {};
  unsigned best = (name.size() < 5 ? 1 : name.size() < 9 ? 2 : 3) + 1;
  StringRef closest;
  for (StringRef candidate : known) {
    if (candidate == name || candidate.size() + best <= name.size() || name.size() + best <= candidate.size())
      continue;
    if (unsigned distance = editDistance(name, candidate); distance < best) {
      best = distance;
      closest = candidate;
    }
  }
  return closest;
}

std::string meshc::didYouMean(StringRef name, llvm::ArrayRef<StringRef> known) {
  StringRef closest = closestName(name, known);
  return closest.empty() ? std::string() : ("; did you mean '" + closest + "'?").str();
}
