//===- RtTypes.td - buffers, iteration dims -*- tablegen -*-===//
#ifndef RT_TYPES_TD
#define RT_TYPES_TD

include "Rt/IR/RtDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Rt_I32Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::meshc::rt";
  let genSpecializedAttr = 0;
}

def Rt_Role : Rt_I32Enum<"Role", "what a global is to the trainer", [
  I32EnumAttrCase<"Param", 0, "param">, I32EnumAttrCase<"State", 1, "state">, I32EnumAttrCase<"Data", 2, "data">,
  I32EnumAttrCase<"Scalar", 3, "scalar">, I32EnumAttrCase<"Result", 4, "result">]>;
def Rt_RoleAttr : EnumAttr<Rt_Dialect, Rt_Role, "role"> { let assemblyFormat = "`<` $value `>`"; }

def Rt_DimAttr : AttrDef<Rt_Dialect, "Dim"> {
  let mnemonic = "dim";
  let summary = "a dimension of a buffer or of a kernel's iteration space: name and local size";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size);
  let builders = [AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$name, "int64_t":$size), [{
    return $_get(name.getContext(), name, size);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// `name=size`, without the `#rt.dim<...>` around it.
    static DimAttr parseBare(::mlir::AsmParser &parser);
    void printBare(::mlir::AsmPrinter &printer) const;
  }];
}

def Rt_BufferType : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "elements in memory: named dimensions in memory order with local sizes and strides";
  let description = [{
    ```
    !rt.buffer<[batch=4, seq=256, embed=768], f32>                       row-major: strides 196608, 768, 1
    !rt.buffer<[heads=12, head=64], f32, strides [64, 768]>              any other strides are written out
    !rt.buffer<[], i32>                                                  a scalar
    ```
    The element at indices i lies at base + sum of i[d] * stride[d] elements. Sizes are one rank's, padding included.
    Strides are at least 0 and two indices never share an element, except along dims of stride 0 (a broadcast, read only).
    An `i1` element is a byte, 0 or 1.
  }];
  let parameters = (ins ArrayRefParameter<"::meshc::rt::DimAttr">:$dims, "::mlir::Type":$elementType,
                        ArrayRefParameter<"int64_t">:$strides);
  let builders = [
    // Row-major.
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::meshc::rt::DimAttr>":$dims, "::mlir::Type":$elementType)>,
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<::meshc::rt::DimAttr>":$dims, "::mlir::Type":$elementType,
                                        "::llvm::ArrayRef<int64_t>":$strides), [{
      return $_get(elementType.getContext(), dims, elementType, strides);
    }]>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isScalar() const { return getDims().empty(); }
    /// Position of the dimension called `name`, or -1.
    int position(::mlir::StringAttr name) const;
    bool hasDim(::mlir::StringAttr name) const { return position(name) >= 0; }
    int64_t size(::mlir::StringAttr name) const { return getDims()[position(name)].getSize(); }
    int64_t stride(::mlir::StringAttr name) const { return getStrides()[position(name)]; }
    int64_t numElements() const;
    /// Whether the strides are those of a row-major array.
    bool isContiguous() const;
    /// Elements from the first to one past the last.
    int64_t extent() const;
    int64_t elementBytes() const;
    int64_t bytes() const { return extent() * elementBytes(); }
  }];
}

def Rt_Buffer : Type<CPred<"::llvm::isa<::meshc::rt::BufferType>($_self)">, "buffer", "::meshc::rt::BufferType">;

#endif
