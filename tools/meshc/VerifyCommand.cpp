//===- VerifyCommand.cpp - meshc verify FILE ----------------------------------------===//
#include "Commands.h"
#include "meshc/Verify/Verify.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshc;

ExitCode meshc::verify(Session &session) {
  VerifyOptions options;
  // IR has the sizes it has.
  options.keepSizes = !llvm::StringRef(session.options.input).ends_with(".mesh");
  auto elaborate = [&](const std::vector<std::string> &sizes) { return loadModule(session, sizes); };
  return succeeded(verifyProgram(elaborate, options, llvm::outs())) ? kOk : kUserError;
}
