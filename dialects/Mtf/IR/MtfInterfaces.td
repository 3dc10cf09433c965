//===- MtfInterfaces.td - what an op does to dimensions -*- tablegen -*-===//
#ifndef MTF_INTERFACES_TD
#define MTF_INTERFACES_TD

include "mlir/IR/OpBase.td"

def FactorOpInterface : OpInterface<"FactorOpInterface"> {
  let cppNamespace = "::meshc::mtf";
  let description = [{
    What an op does to each of its dimensions, as a list of *factors* (the term is Shardy's). A factor ties together the
    dimensions of operands and results along which the op can be cut into independent parts. Sharding propagation, the
    generic verifier of shardings and partitioning read nothing else about an op.
  }];
  let methods = [
    InterfaceMethod<"The factors; every dimension of every operand and result occurs in exactly one of them.",
      "::llvm::SmallVector<::meshc::mtf::Factor>", "getFactors">,
    InterfaceMethod<"How the results depend on an operand, which decides whether a partial operand may pass.",
      "::meshc::mtf::Linearity", "getLinearity", (ins "unsigned":$operand), "", [{ return ::meshc::mtf::Linearity::None; }]>,
  ];
  let verify = [{ return ::meshc::mtf::verifyFactorShardings(::llvm::cast<::meshc::mtf::FactorOpInterface>($_op)); }];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::meshc::mtf";
  let description = [{
    The reverse-mode derivative of an op. An op without this interface whose result needs a gradient is an error at the op.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds, at the builder's place, the cotangents of the operands from those of the results. `cotangents` has one entry
      per result, null where the result has no influence. `needed[i]` says whether operand i wants one; the i-th entry of
      `grads` is set to a value of operand i's type, or left null if the derivative is zero.
    }],
      "::mlir::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::mlir::Value>":$cotangents,
           "::llvm::ArrayRef<bool>":$needed, "::llvm::SmallVectorImpl<::mlir::Value> &":$grads)>,
  ];
}

#endif
