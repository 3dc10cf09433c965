//===- cpu.h - Everything an emitted CPU program includes -----------------===//
#ifndef MESHRT_CPU_H
#define MESHRT_CPU_H

#include "meshrt/cpu/attention.h"
#include "meshrt/cpu/collectives.h"
#include "meshrt/cpu/gemm.h"
#include "meshrt/cpu/kernels.h"
#include "meshrt/cpu/rank.h"
#include "meshrt/cpu/reduce.h"
#include "meshrt/math.h"
#include "meshrt/philox.h"
#include "meshrt/program.h"

#include <algorithm>
#include <cmath>

#endif // MESHRT_CPU_H
