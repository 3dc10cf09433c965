#!/bin/sh
# build.sh SOURCE_FOLDER LIBRARY_FOLDER PROGRAM.cu -o PROGRAM: compiles an emitted CUDA program as C++ against the headers that
# execute it on the host.
set -e
source=$1 libraries=$2 program=$3 output=$5
${CXX:-c++} -std=c++20 -O2 -Wall -Wextra -Wno-unknown-pragmas -DMESHRT_CUDA_ON_HOST \
  -I"$source/runtime/include" -I"$source/test/CudaOnHost/include" -x c++ "$program" -x none \
  "$libraries/libmeshrt_cuda_on_host.a" "$libraries/libcuda_on_host.a" -lfmt -lrt -pthread -o "$output"
