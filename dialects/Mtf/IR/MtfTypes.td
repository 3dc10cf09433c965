//===- MtfTypes.td - the named-dimension tensor type -*- tablegen -*-===//
#ifndef MTF_TYPES_TD
#define MTF_TYPES_TD

include "Mtf/IR/MtfAttrs.td"

def Mtf_TensorType : TypeDef<Mtf_Dialect, "NamedTensor"> {
  let mnemonic = "tensor";
  let summary = "a tensor over a set of named dimensions, with its sharding";
  let description = [{
    ```
    !mtf.tensor<[batch=8 (data), vocab=50257 pad 50258 (model)], f32, partial(sum: ctx), padding(zero)>
    ```
    The dimensions are a set: `get` sorts them by name, so that two types with the same dimensions are one type. Sizes are
    global; what one rank holds follows from the mesh. Per mesh axis a value is *sharded* (the axis is in one dimension's
    list), *partial* (the true value is the sum, maximum or minimum over the axis) or *replicated* (neither).
    `padding` says what the elements past the global sizes hold.

    Laws the verifier keeps: names are unique; sizes are at least 1; an axis occurs once in the whole type;
    `padded >= size`.
  }];
  let parameters = (ins ArrayRefParameter<"::meshc::mtf::DimAttr">:$dims, "::mlir::Type":$elementType,
                        ArrayRefParameter<"::mlir::StringAttr">:$partialAxes,
                        "::meshc::mtf::ReductionKind":$partialKind, "::meshc::mtf::Padding":$padding);
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::meshc::mtf::DimAttr>":$dims, "::mlir::Type":$elementType,
      CArg<"::llvm::ArrayRef<::mlir::StringAttr>", "{}">:$partialAxes,
      CArg<"::meshc::mtf::ReductionKind", "::meshc::mtf::ReductionKind::Sum">:$partialKind,
      CArg<"::meshc::mtf::Padding", "::meshc::mtf::Padding::Undefined">:$padding)>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isScalar() const { return getDims().empty(); }
    bool isPartial() const { return !getPartialAxes().empty(); }
    /// The dimension called `name`, or null.
    DimAttr findDim(::mlir::StringAttr name) const;
    DimAttr findDim(::llvm::StringRef name) const;
    bool hasDim(::mlir::StringAttr name) const { return static_cast<bool>(findDim(name)); }
    /// Global size of dimension `name`, which must exist.
    int64_t dimSize(::mlir::StringAttr name) const;
    /// Product of the global sizes.
    int64_t numElements() const;
    /// True if no dimension is split or padded and no axis is partial.
    bool isGlobal() const;

    NamedTensorType withDims(::llvm::ArrayRef<DimAttr> dims) const;
    NamedTensorType withElementType(::mlir::Type type) const;
    NamedTensorType withPartial(::llvm::ArrayRef<::mlir::StringAttr> axes, ReductionKind kind = ReductionKind::Sum) const;
    NamedTensorType withPadding(Padding padding) const;
    /// The dims without the ones named; sharding of the rest kept.
    NamedTensorType without(::llvm::ArrayRef<::mlir::StringAttr> names) const;
    /// This type with `dim` added, or replaced where a dimension of its name exists.
    NamedTensorType with(DimAttr dim) const;
    /// The same tensor without any sharding, padding and partial axes.
    NamedTensorType global() const;
    /// Axes that split a dimension, in dimension order.
    ::llvm::SmallVector<::mlir::StringAttr> splitAxes() const;
  }];
}

class Mtf_TensorOf<list<string> elements, string summary> : Type<
  CPred<"::llvm::isa<::meshc::mtf::NamedTensorType>($_self) && (" #
    !interleave(!foreach(e, elements, "::llvm::cast<::meshc::mtf::NamedTensorType>($_self).getElementType()." # e), " || ") # ")">,
  summary, "::meshc::mtf::NamedTensorType">;

def Mtf_Tensor : Type<CPred<"::llvm::isa<::meshc::mtf::NamedTensorType>($_self)">, "named-dimension tensor", "::meshc::mtf::NamedTensorType">;
def Mtf_FloatTensor : Mtf_TensorOf<["isF32()", "isBF16()", "isF64()"], "named-dimension tensor of floats">;
def Mtf_IntTensor : Mtf_TensorOf<["isInteger(32)"], "named-dimension tensor of i32">;
def Mtf_BoolTensor : Mtf_TensorOf<["isInteger(1)"], "named-dimension tensor of i1">;
def Mtf_NumberTensor : Mtf_TensorOf<["isF32()", "isBF16()", "isF64()", "isInteger(32)"], "named-dimension tensor of numbers">;

#endif
