//===- cuda.h - Everything an emitted CUDA program includes ---------------===//
#ifndef MESHRT_CUDA_H
#define MESHRT_CUDA_H

#include "meshrt/cuda/attention.h"
#include "meshrt/cuda/collectives.h"
#include "meshrt/cuda/gemm.h"
#include "meshrt/cuda/kernels.h"
#include "meshrt/cuda/launch.h"
#include "meshrt/cuda/rank.h"
#include "meshrt/cuda/teams.h"
#include "meshrt/math.h"
#include "meshrt/philox.h"
#include "meshrt/program.h"

#endif // MESHRT_CUDA_H
