//===- SpmdOps.td - collectives over named mesh axes -*- tablegen -*-===//
#ifndef SPMD_OPS_TD
#define SPMD_OPS_TD

include "Mtf/IR/MtfAttrs.td"
include "Mtf/IR/MtfTypes.td"
include "Spmd/IR/SpmdDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::meshc::spmd";
  let description = "What cost models, reports and lowering ask of every op of the dialect.";
  let methods = [
    InterfaceMethod<"The mesh axes of the groups, the most significant first.", "::mlir::ArrayAttr", "getOver">,
    InterfaceMethod<"The value before.", "::mlir::TypedValue<::meshc::mtf::NamedTensorType>", "getInput">,
    InterfaceMethod<"The value after.", "::mlir::TypedValue<::meshc::mtf::NamedTensorType>", "getResult">,
    InterfaceMethod<"Why it is here, for readers.", "::llvm::StringRef", "getReason">,
    InterfaceMethod<"True if ranks exchange data.", "bool", "communicates", (ins), "", "return true;">,
    InterfaceMethod<"Of an op that moves whole parts: for each member of a group the member whose part it gets, -1 for zeros. Else empty.",
      "::llvm::SmallVector<int64_t>", "sources", (ins), "", "return {};">,
    InterfaceMethod<"Bytes that each rank receives in one execution by the usual ring or pairwise algorithm.",
      "int64_t", "bytesPerRank">,
  ];
}

/// Pure: every rank runs the same program in the same order, so equal collectives may be merged and unused ones dropped.
class Spmd_Op<string mnemonic, dag extra, string format, list<Trait> traits = []>
    : Op<Spmd_Dialect, mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<CollectiveOpInterface>], traits)> {
  let arguments = !con((ins Mtf_Tensor:$input, StrArrayAttr:$over), extra, (ins DefaultValuedAttr<StrAttr, "\"\"">:$reason));
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = format # " `over` $over (`because` $reason^)? attr-dict `:` qualified(type($input)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

/// An op without communication.
class Spmd_LocalOp<string mnemonic, dag extra, string format> : Spmd_Op<mnemonic, extra, format> {
  let extraClassDeclaration = "bool communicates() { return false; }";
}

def Spmd_AllReduceOp : Spmd_Op<"all_reduce", (ins Mtf_ReductionKindAttr:$kind), "$kind $input"> {
  let summary = "combines the parts of a partial value; every rank of a group gets the result";
}

def Spmd_ReduceScatterOp : Spmd_Op<"reduce_scatter", (ins Mtf_ReductionKindAttr:$kind, StrAttr:$dim), "$kind $input `to` $dim"> {
  let summary = "combines the parts of a partial value; each rank gets its block of `dim`";
}

def Spmd_AllGatherOp : Spmd_Op<"all_gather", (ins StrAttr:$dim), "$input `from` $dim"> {
  let summary = "puts the blocks of `dim` together on every rank of a group";
}

def Spmd_AllToAllOp : Spmd_Op<"all_to_all", (ins StrAttr:$from, StrAttr:$to), "$input `from` $from `to` $to"> {
  let summary = "moves a split from one dimension to another";
}

def Spmd_PermuteOp : Spmd_Op<"permute", (ins), "$input"> {
  let summary = "each rank sends its part to the one that holds it under the result's sharding";
  let description = "The local shapes are equal; only which rank holds which block differs.";
  let extraClassDeclaration = "::llvm::SmallVector<int64_t> sources();";
}

def Spmd_ShiftOp : Spmd_Op<"shift", (ins StrAttr:$dim, I64Attr:$amount), "$input $dim `by` $amount"> {
  let summary = "`mtf.shift` along a dim of which every rank has one element: each sends its part to the rank `amount` further";
  let extraClassDeclaration = "::llvm::SmallVector<int64_t> sources();";
}

def Spmd_SliceOp : Spmd_LocalOp<"slice", (ins StrAttr:$dim), "$input `to` $dim"> {
  let summary = "each rank keeps its block of `dim`";
}

def Spmd_UnreduceOp : Spmd_LocalOp<"unreduce", (ins), "$input"> {
  let summary = "the value on the first rank of a group and zero on the others: a sum that waits";
}

#endif
