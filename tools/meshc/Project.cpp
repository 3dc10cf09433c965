//===- Project.cpp - a folder that builds without meshc --------------------------===//
//
//   DIR/CMakeLists.txt     builds the program and the runtime
//   DIR/README.md          the commands
//   DIR/NAME.cpp | .cu     the emitted program
//   DIR/meshrt/            the runtime's sources, as far as the target needs them
//
//===----------------------------------------------------------------------===//
#include "Runtime.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshc;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static const char *const kCpuCMake = R"(cmake_minimum_required(VERSION 3.20)
project({0} LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)

add_subdirectory(meshrt)
add_executable({0} {0}.cpp)
target_compile_options({0} PRIVATE -Wall -Wextra -Wno-pass-failed ${MESHRT_KERNEL_FLAGS})
target_link_libraries({0} PRIVATE meshrt::cpu)
)";

static const char *const kCudaCMake = R"(cmake_minimum_required(VERSION 3.20)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
project({0} LANGUAGES CXX CUDA)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_STANDARD 20)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake before 3.26 does not know that nvcc has C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(MESHRT_CUDA ON)

add_subdirectory(meshrt)
add_executable({0} {0}.cu)
target_link_libraries({0} PRIVATE meshrt::cuda)
)";

static const char *const kReadme = R"(# {0}

Written by meshc. Build and train:

    cmake -B build && cmake --build build -j
    build/{0} train --help
)";

static std::string instantiated(StringRef pattern, StringRef name) {
  std::string result;
  while (true) {
    auto [before, after] = pattern.split("{0}");
    result += before;
    if (before.size() == pattern.size())
      return result;
    result += name;
    pattern = after;
  }
}

/// Copies the files below `from` to `to`; folders are made as needed.
static std::error_code copyTree(StringRef from, StringRef to) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(from, error), end; it != end && !error; it.increment(error)) {
    llvm::SmallString<128> target = to;
    path::append(target, StringRef(it->path()).drop_front(from.size()));
    if (fs::is_directory(it->path()))
      continue;
    if (std::error_code failed = fs::create_directories(path::parent_path(target)))
      return failed;
    if (std::error_code failed = fs::copy_file(it->path(), target))
      return failed;
  }
  return error;
}

ExitCode meshc::writeProject(Session &session, StringRef name, StringRef text) {
  std::optional<std::string> runtime = findRuntime(session);
  if (!runtime)
    return kUserError;
  bool cuda = session.options.target == Target::Cuda;
  std::string folder = session.options.output;
  if (std::error_code error = fs::create_directories(folder))
    return session.userError("cannot create '" + folder + "': " + error.message());
  auto inFolder = [&](const Twine &file) { return (folder + "/" + file).str(); };

  for (StringRef part : {StringRef("include"), StringRef("src/common"), cuda ? StringRef("src/cuda") : StringRef("src/cpu")})
    if (std::error_code error = copyTree(*runtime + "/" + part.str(), inFolder("meshrt/" + part)))
      return session.userError("cannot copy '" + *runtime + "/" + part + "' to '" + folder + "': " + error.message());
  if (std::error_code error = fs::copy_file(*runtime + "/CMakeLists.txt", inFolder("meshrt/CMakeLists.txt")))
    return session.userError("cannot copy '" + *runtime + "/CMakeLists.txt' to '" + folder + "': " + error.message());

  const std::pair<std::string, std::string> files[] = {
      {inFolder("CMakeLists.txt"), instantiated(cuda ? kCudaCMake : kCpuCMake, name)},
      {inFolder("README.md"), instantiated(kReadme, name)},
      {inFolder(name + (cuda ? ".cu" : ".cpp")), text.str()},
  };
  for (const auto &[file, content] : files)
    if (ExitCode code = writeFile(session, file, content))
      return code;
  return kOk;
}
