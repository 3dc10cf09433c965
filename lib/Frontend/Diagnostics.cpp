//===- Diagnostics.cpp - suggestions for names ------------------------------===//
#include "Diagnostics.h"

using namespace meshc;

llvm::StringRef meshc::closestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  unsigned best = std::max<size_t>(1, name.size() / 3) + 1;
  llvm::StringRef closest;
  for (llvm::StringRef candidate : known) {
    unsigned distance = name.edit_distance_insensitive(candidate, /*AllowReplacements=*/true, best);
    if (distance < best && candidate != name) {
      best = distance;
      closest = candidate;
    }
  }
  return closest;
}

std::string meshc::didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef closest = closestName(name, known);
  return closest.empty() ? std::string() : ("; did you mean '" + closest + "'?").str();
}
