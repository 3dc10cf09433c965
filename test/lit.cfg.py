# Configuration of the lit suites: tools on PATH, features from what the machine has.
import os
import shutil
import sys

import lit.formats

config.name = "meshc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".mesh", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.meshc_build, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.meshc_build, "bin"), config.llvm_tools, config.environment["PATH"]])
for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "CCACHE_DIR", "HOME"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# `%S/../../examples` and the like are spelled once.
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%root", config.meshc_source))
config.substitutions.append(("%examples", os.path.join(config.meshc_source, "examples")))
config.substitutions.append(("%inputs", os.path.join(config.meshc_source, "test", "Inputs")))

# Emitted C++ must pass the host's compiler without a warning.
config.substitutions.append(("%check-cpu-source", "c++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -fopenmp-simd -I" +
                             os.path.join(config.meshc_source, "runtime", "include")))

# Emitted CUDA must compile without a warning where there is no CUDA: against the headers that execute it on the host.
config.substitutions.append(("%check-cuda-source", "c++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -Wno-unknown-pragmas -DMESHRT_CUDA_ON_HOST -x c++ " +
                             " ".join("-I" + os.path.join(config.meshc_source, folder)
                                      for folder in ("runtime/include", "test/CudaOnHost/include"))))

cuda_on_host = os.path.join(config.meshc_build, "test", "CudaOnHost")
config.substitutions.append(("%build-cuda-on-host", os.path.join(config.test_source_root, "CudaOnHost", "build.sh") + " " +
                             config.meshc_source + " " + cuda_on_host))

if shutil.which("nvcc"):
    config.available_features.add("nvcc")
if config.sanitized:
    config.available_features.add("sanitized")
    config.environment["CXX"] = config.cxx  # programs link to a runtime that this compiler has instrumented
