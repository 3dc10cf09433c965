//===- MtfAttrs.td - attributes of the mtf dialect -*- tablegen -*-===//
#ifndef MTF_ATTRS_TD
#define MTF_ATTRS_TD

include "Mtf/IR/MtfDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Mtf_Attr<string name, string attrMnemonic> : AttrDef<Mtf_Dialect, name> {
  let mnemonic = attrMnemonic;
}

class Mtf_I32Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::meshc::mtf";
  let genSpecializedAttr = 0;
}

def Mtf_ReductionKind : Mtf_I32Enum<"ReductionKind", "how values are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">, I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"Prod", 3, "prod">]>;
def Mtf_ReductionKindAttr : EnumAttr<Mtf_Dialect, Mtf_ReductionKind, "reduction">;

def Mtf_Padding : Mtf_I32Enum<"Padding", "what the padding of a tensor holds", [
  I32EnumAttrCase<"Undefined", 0, "undefined">, I32EnumAttrCase<"Zero", 1, "zero">,
  I32EnumAttrCase<"NegInf", 2, "neg_inf">, I32EnumAttrCase<"PosInf", 3, "pos_inf">, I32EnumAttrCase<"One", 4, "one">]>;

def Mtf_Predicate : Mtf_I32Enum<"Predicate", "comparison", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Gt", 4, "gt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
def Mtf_PredicateAttr : EnumAttr<Mtf_Dialect, Mtf_Predicate, "predicate">;

def Mtf_Distribution : Mtf_I32Enum<"Distribution", "random distribution", [
  I32EnumAttrCase<"Uniform", 0, "uniform">, I32EnumAttrCase<"Normal", 1, "normal">,
  I32EnumAttrCase<"Bernoulli", 2, "bernoulli">]>;
def Mtf_DistributionAttr : EnumAttr<Mtf_Dialect, Mtf_Distribution, "distribution">;

def Mtf_InitKind : Mtf_I32Enum<"InitKind", "initializer of a parameter", [
  I32EnumAttrCase<"Constant", 0, "constant">, I32EnumAttrCase<"Normal", 1, "normal">,
  I32EnumAttrCase<"Uniform", 2, "uniform">]>;

def Mtf_RuleScope : Mtf_I32Enum<"RuleScope", "which tensors a layout rule speaks of", [
  I32EnumAttrCase<"All", 0, "all">, I32EnumAttrCase<"Values", 1, "values">, I32EnumAttrCase<"Params", 2, "params">,
  I32EnumAttrCase<"StateOptimizer", 3, "state_optimizer">, I32EnumAttrCase<"StateGradients", 4, "state_gradients">,
  I32EnumAttrCase<"StateParams", 5, "state_params">, I32EnumAttrCase<"Pin", 6, "pin">]>;

def Mtf_DimAttr : Mtf_Attr<"Dim", "dim"> {
  let summary = "a dimension of a tensor: name, global size, padded size, mesh axes that split it";
  let description = [{
    `padded` is the global size after padding at the tail to a multiple of the program's shard counts of this name;
    it equals `size` where nothing pads. `axes` are the mesh axes that split the dimension, the most significant
    first: over `(data, model)` rank (d, m) holds block `d * |model| + m`.

    Printed `name=size`, then ` pad P` if padded, then ` (axis, ...)` if split.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, "int64_t":$padded,
                        ArrayRefParameter<"::mlir::StringAttr">:$axes);
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$name, "int64_t":$size), [{
      return $_get(name.getContext(), name, size, size, ::llvm::ArrayRef<::mlir::StringAttr>());
    }]>,
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$name, "int64_t":$size, "int64_t":$padded,
                                        "::llvm::ArrayRef<::mlir::StringAttr>":$axes), [{
      return $_get(name.getContext(), name, size, padded, axes);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isSplit() const { return !getAxes().empty(); }
    bool isPadded() const { return getPadded() != getSize(); }
    /// The same dimension without axes and padding.
    DimAttr global() const { return get(getName(), getSize()); }
    DimAttr withAxes(::llvm::ArrayRef<::mlir::StringAttr> axes) const {
      return get(getName(), getSize(), getPadded(), axes);
    }
    DimAttr withName(::mlir::StringAttr name) const { return get(name, getSize(), getPadded(), getAxes()); }
    /// Parses and prints without the `#mtf.dim<...>` around it.
    static DimAttr parseBare(::mlir::AsmParser &parser);
    void printBare(::mlir::AsmPrinter &printer) const;
  }];
}

def Mtf_MeshAttr : Mtf_Attr<"Mesh", "mesh"> {
  let summary = "a device mesh: named axes with sizes, the last varying fastest over ranks";
  let description = "`#mtf.mesh<\"pod\", [\"data\"=2, \"model\"=2]>`";
  let parameters = (ins "::mlir::StringAttr":$name, ArrayRefParameter<"::mlir::StringAttr">:$axisNames,
                        ArrayRefParameter<"int64_t">:$axisSizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The size of an axis; 0 if the mesh has no such axis.
    int64_t axisSize(::mlir::StringAttr axis) const;
    bool hasAxis(::mlir::StringAttr axis) const { return axisSize(axis) != 0; }
    /// Product of the sizes of `axes`.
    int64_t shardCount(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    int64_t numRanks() const;
    /// The coordinate of `rank` along `axis`.
    int64_t coordinate(int64_t rank, ::mlir::StringAttr axis) const;
    /// The block of a dimension split over `axes` that `rank` holds.
    int64_t shardIndex(int64_t rank, ::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    /// Size of one rank's part of `dim`, padding included.
    int64_t localSize(DimAttr dim) const;
    /// The mesh of the module around `op`, or a mesh of one rank without axes.
    static MeshAttr of(::mlir::Operation *op);
  }];
}

def Mtf_RuleAttr : Mtf_Attr<"Rule", "rule"> {
  let summary = "one rule of a layout: dimensions -> axis, possibly narrowed";
  let description = [{
    `dims` each go to the axes `axes` (empty: not split, from `seq -> none`). `scope` narrows the rule to a kind of tensor;
    `path` (a glob over parameter paths or value names, empty: all) to some of them. A rule of scope `pin` fixes the
    whole dimension of the tensors that `path` names. `state(...)` rules have no dims. `loc` is where the user wrote it.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$dims, OptionalArrayRefParameter<"::mlir::StringAttr">:$axes,
                        EnumParameter<Mtf_RuleScope>:$scope, "::mlir::StringAttr":$path, "::mlir::LocationAttr":$loc);
  let assemblyFormat = "`<` `[` (`]`) : ($dims^ `]`)? `->` `[` (`]`) : ($axes^ `]`)? $scope $path $loc `>`";
}

def Mtf_LayoutAttr : Mtf_Attr<"Layout", "layout"> {
  let summary = "the rules of a layout, in order";
  let parameters = (ins OptionalArrayRefParameter<"::meshc::mtf::RuleAttr">:$rules);
  let assemblyFormat = "`<` `[` (`]`) : ($rules^ `]`)? `>`";
}

def Mtf_InitAttr : Mtf_Attr<"Init", "init"> {
  let summary = "initializer: constant value, normal with standard deviation, uniform in [-bound, bound]";
  let parameters = (ins EnumParameter<Mtf_InitKind>:$kind, "::mlir::FloatAttr":$value);
  let assemblyFormat = "`<` $kind $value `>`";
}

#endif
