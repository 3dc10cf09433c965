//===- Passes.cpp - anchor of the pass library -----------------------------===//
#include "Mtf/Transforms/Passes.h"
