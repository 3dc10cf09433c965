//===- Reference.cpp - values from another framework -----------------------===//
#include "meshc/Interpreter/Reference.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace meshc::interp;

namespace {
struct JsonTensor {
  std::vector<std::string> dims;
  std::vector<int64_t> shape;
  std::vector<double> data;
};

// Found by argument-dependent look-up.
bool fromJSON(const llvm::json::Value &value, JsonTensor &tensor, llvm::json::Path path) {
  llvm::json::ObjectMapper mapper(value, path);
  if (!mapper || !mapper.map("dims", tensor.dims) || !mapper.map("shape", tensor.shape) || !mapper.map("data", tensor.data))
    return false;
  int64_t count = 1;
  for (int64_t size : tensor.shape)
    count *= size;
  if (tensor.dims.size() != tensor.shape.size() || count != static_cast<int64_t>(tensor.data.size())) {
    path.report("dims, shape and data do not fit each other");
    return false;
  }
  return true;
}
} // namespace

/// From the file's order of dims to the tensor's, which is by name.
static Tensor toTensor(const JsonTensor &json, MLIRContext &context) {
  Dims order;
  for (auto [name, size] : llvm::zip_equal(json.dims, json.shape))
    order.push_back({StringAttr::get(&context, name), size});
  Dims sorted = order;
  llvm::sort(sorted, [](const Dim &a, const Dim &b) { return a.name.getValue() < b.name.getValue(); });
  Tensor tensor(sorted);
  int64_t next = 0;
  forEach<1>(order, {&tensor}, [&](auto o) { tensor[o[0]] = json.data[next++]; });
  return tensor;
}

FailureOr<Reference> meshc::interp::readReference(StringRef text, MLIRContext &context, std::string &error) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    error = llvm::toString(json.takeError());
    return failure();
  }
  llvm::json::Path::Root root("reference");
  llvm::json::ObjectMapper mapper(*json, root);
  std::map<std::string, JsonTensor> arguments, results;
  if (!mapper || !mapper.map("arguments", arguments) || !mapper.map("results", results)) {
    error = llvm::toString(root.getError());
    return failure();
  }
  Reference reference;
  for (const auto &[name, tensor] : arguments)
    reference.arguments[name] = toTensor(tensor, context);
  for (const auto &[name, tensor] : results)
    reference.results[name] = toTensor(tensor, context);
  return reference;
}
