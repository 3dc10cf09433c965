//===- MtfOps.td - ops on named-dimension tensors -*- tablegen -*-===//
#ifndef MTF_OPS_TD
#define MTF_OPS_TD

include "Mtf/IR/MtfAttrs.td"
include "Mtf/IR/MtfInterfaces.td"
include "Mtf/IR/MtfTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Mtf_Op<string mnemonic, list<Trait> traits = []> : Op<Mtf_Dialect, mnemonic, traits>;

/// An op on tensors whose dims are described by factors. Pure, verified against them.
class Mtf_TensorOp<string mnemonic, list<Trait> traits = []>
    : Mtf_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<FactorOpInterface, ["getLinearity"]>], traits)>;

/// For ops with a derivative: `buildGradient` is in one of the MtfGradients*.cpp.
defvar Mtf_HasGradient = DeclareOpInterfaceMethods<GradientOpInterface>;

/// The same with a verifier of its own besides the factors' one.
class Mtf_CheckedTensorOp<string mnemonic, list<Trait> traits = []> : Mtf_TensorOp<mnemonic, traits> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise: dims of the operands are subsets of the result's; missing dims broadcast.
//===----------------------------------------------------------------------===//

def Mtf_ElementwiseTrait : NativeOpTrait<"Elementwise"> { let cppNamespace = "::meshc::mtf"; }

class Mtf_Elementwise<string mnemonic, dag ins, Type resultType, list<Trait> traits = []>
    : Mtf_TensorOp<mnemonic, !listconcat([Mtf_ElementwiseTrait], traits)> {
  let arguments = ins;
  let results = (outs resultType:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

class Mtf_Unary<string mnemonic, Type type = Mtf_FloatTensor, list<Trait> traits = [Mtf_HasGradient]>
    : Mtf_Elementwise<mnemonic, (ins type:$input), type, traits> {
  let builders = [OpBuilder<(ins "::mlir::Value":$input), [{
    build($_builder, $_state, ::meshc::mtf::elementwiseType({input}), input);
  }]>];
}

class Mtf_Binary<string mnemonic, Type type = Mtf_NumberTensor, list<Trait> traits = [Mtf_HasGradient]>
    : Mtf_Elementwise<mnemonic, (ins type:$lhs, type:$rhs), type, traits> {
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, ::meshc::mtf::elementwiseType({lhs, rhs}), lhs, rhs);
  }]>];
}

def Mtf_NegOp : Mtf_Unary<"neg", Mtf_NumberTensor> { let summary = "-x"; }
def Mtf_AbsOp : Mtf_Unary<"abs", Mtf_NumberTensor> { let summary = "|x|"; }
def Mtf_SignOp : Mtf_Unary<"sign", Mtf_NumberTensor> { let summary = "-1, 0 or 1"; }
def Mtf_ExpOp : Mtf_Unary<"exp"> { let summary = "e^x"; }
def Mtf_LogOp : Mtf_Unary<"log"> { let summary = "natural logarithm"; }
def Mtf_SqrtOp : Mtf_Unary<"sqrt"> { let summary = "square root"; }
def Mtf_RsqrtOp : Mtf_Unary<"rsqrt"> { let summary = "1 / sqrt(x)"; }
def Mtf_TanhOp : Mtf_Unary<"tanh"> { let summary = "hyperbolic tangent"; }
def Mtf_ErfOp : Mtf_Unary<"erf"> { let summary = "error function"; }
def Mtf_SinOp : Mtf_Unary<"sin"> { let summary = "sine of radians"; }
def Mtf_CosOp : Mtf_Unary<"cos"> { let summary = "cosine of radians"; }
def Mtf_SigmoidOp : Mtf_Unary<"sigmoid"> { let summary = "1 / (1 + e^-x)"; }
def Mtf_FloorOp : Mtf_Unary<"floor"> { let summary = "largest integer not above x"; }
def Mtf_CeilOp : Mtf_Unary<"ceil"> { let summary = "smallest integer not below x"; }
def Mtf_NotOp : Mtf_Unary<"not", Mtf_BoolTensor, []> { let summary = "logical not"; }

def Mtf_AddOp : Mtf_Binary<"add"> { let summary = "x + y"; }
def Mtf_SubOp : Mtf_Binary<"sub"> { let summary = "x - y"; }
def Mtf_MulOp : Mtf_Binary<"mul"> { let summary = "x y"; }
def Mtf_DivOp : Mtf_Binary<"div"> { let summary = "x / y; on integers rounded toward minus infinity"; }
def Mtf_RemOp : Mtf_Binary<"rem"> { let summary = "x - y floor(x / y)"; }
def Mtf_MaxOp : Mtf_Binary<"max"> { let summary = "the larger; the gradient of a tie goes to x"; }
def Mtf_MinOp : Mtf_Binary<"min"> { let summary = "the smaller; the gradient of a tie goes to x"; }
def Mtf_PowOp : Mtf_Binary<"pow"> { let summary = "x to the power y"; }
def Mtf_AndOp : Mtf_Binary<"and", Mtf_BoolTensor, []> { let summary = "logical and"; }
def Mtf_OrOp : Mtf_Binary<"or", Mtf_BoolTensor, []> { let summary = "logical or"; }

def Mtf_CompareOp : Mtf_TensorOp<"compare", [Mtf_ElementwiseTrait]> {
  let summary = "elementwise comparison; false where a NaN is compared, except `ne`";
  let arguments = (ins Mtf_PredicateAttr:$predicate, Mtf_Tensor:$lhs, Mtf_Tensor:$rhs);
  let results = (outs Mtf_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::meshc::mtf::Predicate":$predicate, "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, ::meshc::mtf::elementwiseType({lhs, rhs}).withElementType($_builder.getI1Type()),
          predicate, lhs, rhs);
  }]>];
}

def Mtf_SelectOp : Mtf_Elementwise<"select", (ins Mtf_BoolTensor:$condition, Mtf_Tensor:$onTrue, Mtf_Tensor:$onFalse), Mtf_Tensor, [Mtf_HasGradient]> {
  let summary = "onTrue where the condition holds, onFalse elsewhere";
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$onTrue, "::mlir::Value":$onFalse), [{
    build($_builder, $_state, ::meshc::mtf::elementwiseType({onTrue, onFalse, condition}), condition, onTrue, onFalse);
  }]>];
}

def Mtf_CastOp : Mtf_Elementwise<"cast", (ins Mtf_Tensor:$input), Mtf_Tensor, [Mtf_HasGradient]> {
  let summary = "conversion to another element type; floats to i32 toward zero, to bf16 to nearest even";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType), [{
    build($_builder, $_state, ::meshc::mtf::elementwiseType({input}).withElementType(elementType), input);
  }]>];
  let hasFolder = 1;
}

def Mtf_StopGradientOp : Mtf_Unary<"stop_gradient", Mtf_Tensor> { let summary = "x, of which the derivative is zero"; }

def Mtf_BroadcastOp : Mtf_Elementwise<"broadcast", (ins Mtf_Tensor:$input), Mtf_Tensor, [Mtf_HasGradient]> {
  let summary = "x repeated along the dims that it lacks";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Values from nothing
//===----------------------------------------------------------------------===//

def Mtf_ConstantOp : Mtf_Op<"constant", [Pure]> {
  let summary = "a scalar constant";
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "double":$value, "::mlir::Type":$elementType)>,
  ];
  let extraClassDeclaration = [{
    /// The value as a double, whatever the element type.
    double asDouble();
  }];
}

def Mtf_IndexOp : Mtf_CheckedTensorOp<"index"> {
  let summary = "the global index along a dimension, i32, plus an optional scalar offset";
  let description = [{
    The offset is the first index that this value covers where a loop cuts a dimension into parts (microbatches). On a sharded
    dimension each rank holds the global indices of its part. Indices in the padding are those past the size.
  }];
  let arguments = (ins StrAttr:$dim, Optional<Mtf_IntTensor>:$offset);
  let results = (outs Mtf_IntTensor:$result);
  let assemblyFormat = "$dim (`offset` $offset^ `:` type($offset))? attr-dict `:` type($result)";
}

def Mtf_RandomOp : Mtf_CheckedTensorOp<"random", [AttrSizedOperandSegments]> {
  let summary = "counter-based random numbers (Philox4x32-10)";
  let description = [{
    The number at an element depends on `seed`, `path`, `step`, the enclosing loops' `indices` and the element's linear index
    over `order` with the unpadded global sizes `extents`, and on nothing else. `offsets` (scalars, one per name in
    `offsetDims`) are added to the global index of those dims: the part of a dimension a loop is at.
    `uniform` is in (0, 1), `normal` standard, `bernoulli` 1 with probability `parameter`, else 0.
  }];
  let arguments = (ins Mtf_DistributionAttr:$distribution, F64Attr:$parameter, StrAttr:$path, StrArrayAttr:$order,
                       DenseI64ArrayAttr:$extents, StrArrayAttr:$offsetDims,
                       Mtf_IntTensor:$seed, Mtf_IntTensor:$step, Variadic<Mtf_IntTensor>:$indices,
                       Variadic<Mtf_IntTensor>:$offsets);
  let results = (outs Mtf_FloatTensor:$result);
  let assemblyFormat = [{
    $distribution $parameter $path `order` $order $extents `key` `(` $seed `,` $step (`,` $indices^)? `)`
    `offsets` $offsetDims `(` ($offsets^)? `)` attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Contraction and reduction
//===----------------------------------------------------------------------===//

def Mtf_DotOp : Mtf_CheckedTensorOp<"dot", [Mtf_HasGradient]> {
  let summary = "contraction over named dims; other shared dims are batched, the rest kept";
  let description = [{
    ```
    %y = mtf.dot %x, %w over ["embed"] : (!mtf.tensor<[batch=8, embed=16], f32>, !mtf.tensor<[embed=16, ff=64], f32>) -> !mtf.tensor<[batch=8, ff=64], f32>
    ```
    The result may be f32 where the operands are bf16: sums are taken in f32.
  }];
  let arguments = (ins Mtf_FloatTensor:$lhs, Mtf_FloatTensor:$rhs, StrArrayAttr:$over);
  let results = (outs Mtf_FloatTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `over` $over attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<::mlir::StringAttr>":$over)>];
}

class Mtf_DimReduction<string mnemonic, Type type> : Mtf_CheckedTensorOp<mnemonic, [Mtf_HasGradient]> {
  let arguments = (ins type:$input, StrArrayAttr:$over);
  let results = (outs type:$result);
  let assemblyFormat = "$input `over` $over attr-dict `:` functional-type(operands, results)";
}

def Mtf_ReduceOp : Mtf_CheckedTensorOp<"reduce", [Mtf_HasGradient]> {
  let summary = "sum, maximum, minimum or product over named dims";
  let description = "The gradient of a maximum or minimum is shared evenly by the elements that attain it.";
  let arguments = (ins Mtf_ReductionKindAttr:$kind, Mtf_NumberTensor:$input, StrArrayAttr:$over);
  let results = (outs Mtf_NumberTensor:$result);
  let assemblyFormat = "$kind $input `over` $over attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::meshc::mtf::ReductionKind":$kind, "::mlir::Value":$input,
                                 "::llvm::ArrayRef<::mlir::StringAttr>":$over)>];
}

def Mtf_LogSumExpOp : Mtf_DimReduction<"logsumexp", Mtf_FloatTensor> {
  let summary = "log of the sum of exponentials over named dims, by the maximum subtracted first";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mlir::StringAttr>":$over)>];
}

def Mtf_SoftmaxOp : Mtf_DimReduction<"softmax", Mtf_FloatTensor> {
  let summary = "exponentials normalized to sum 1 over named dims; keeps the dims";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mlir::StringAttr>":$over)>];
}

def Mtf_ArgMaxOp : Mtf_CheckedTensorOp<"argmax"> {
  let summary = "index of the largest element along a dim; of equal ones the lowest";
  let arguments = (ins Mtf_NumberTensor:$input, StrAttr:$over);
  let results = (outs Mtf_IntTensor:$result);
  let assemblyFormat = "$input `over` $over attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$over)>];
}

def Mtf_TopKOp : Mtf_CheckedTensorOp<"top_k", [Mtf_HasGradient]> {
  let summary = "the k largest elements along `over`, in falling order, and their indices; of equal ones the lowest index first";
  let description = "The dim `over` becomes `into` of size k. With k the whole size this is a sort.";
  let arguments = (ins Mtf_NumberTensor:$input, StrAttr:$over, StrAttr:$into);
  let results = (outs Mtf_NumberTensor:$values, Mtf_IntTensor:$indices);
  let assemblyFormat = "$input `over` $over `into` $into attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$over, "::mlir::StringAttr":$into, "int64_t":$k)>];
}

def Mtf_CumSumOp : Mtf_CheckedTensorOp<"cumsum", [Mtf_HasGradient]> {
  let summary = "sums of the elements up to each position along a dim (`exclusive`: before it; `reverse`: from the end)";
  let arguments = (ins Mtf_NumberTensor:$input, StrAttr:$over, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Mtf_NumberTensor:$result);
  let assemblyFormat = "$input `over` $over (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$over, "bool":$exclusive, "bool":$reverse)>];
}

//===----------------------------------------------------------------------===//
// Dimensions renamed, split, merged, cut
//===----------------------------------------------------------------------===//

def Mtf_RenameOp : Mtf_CheckedTensorOp<"rename", [Mtf_HasGradient]> {
  let summary = "the same tensor with dims under other names; several at once, so names may be exchanged";
  let arguments = (ins Mtf_Tensor:$input, StrArrayAttr:$from, StrArrayAttr:$to);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input $from `to` $to attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mlir::StringAttr>":$from,
                                 "::llvm::ArrayRef<::mlir::StringAttr>":$to)>];
  let hasFolder = 1;
}

def Mtf_SplitOp : Mtf_CheckedTensorOp<"split", [Mtf_HasGradient]> {
  let summary = "one dim as several, the first varying slowest";
  let arguments = (ins Mtf_Tensor:$input, StrAttr:$dim, StrArrayAttr:$into);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input $dim `into` $into attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$dim, "::llvm::ArrayRef<::meshc::mtf::DimAttr>":$into)>];
}

def Mtf_MergeOp : Mtf_CheckedTensorOp<"merge", [Mtf_HasGradient]> {
  let summary = "several dims as one, the first varying slowest; the inverse of split";
  let arguments = (ins Mtf_Tensor:$input, StrArrayAttr:$dims, StrAttr:$into);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input $dims `into` $into attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<::mlir::StringAttr>":$dims, "::mlir::StringAttr":$into)>];
}

def Mtf_SliceOp : Mtf_CheckedTensorOp<"slice", [Mtf_HasGradient]> {
  let summary = "elements start, start + stride, ... below limit along a dim; result[i] = input[start + i stride]";
  let arguments = (ins Mtf_Tensor:$input, StrAttr:$dim, I64Attr:$start, I64Attr:$limit, I64Attr:$stride);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input $dim `[` $start `:` $limit `:` $stride `]` attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$dim, "int64_t":$start, "int64_t":$limit,
                                 CArg<"int64_t", "1">:$stride)>];
}

def Mtf_PadOp : Mtf_CheckedTensorOp<"pad", [Mtf_HasGradient]> {
  let summary = "`low` elements before and `high` after along a dim, and `interior` between neighbours, of the scalar `value`";
  let arguments = (ins Mtf_Tensor:$input, Mtf_Tensor:$value, StrAttr:$dim, I64Attr:$low, I64Attr:$high, I64Attr:$interior);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input `with` $value $dim `[` $low `,` $high `,` $interior `]` attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$value, "::mlir::StringAttr":$dim, "int64_t":$low,
                                 "int64_t":$high, CArg<"int64_t", "0">:$interior)>];
}

def Mtf_ConcatOp : Mtf_CheckedTensorOp<"concat", [Mtf_HasGradient]> {
  let summary = "tensors one after another along a dim that all have";
  let arguments = (ins Variadic<Mtf_Tensor>:$inputs, StrAttr:$dim);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$inputs `along` $dim attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::StringAttr":$dim)>];
}

def Mtf_StackOp : Mtf_CheckedTensorOp<"stack", [Mtf_HasGradient]> {
  let summary = "tensors of the same dims put along a new dim";
  let arguments = (ins Variadic<Mtf_Tensor>:$inputs, StrAttr:$dim);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$inputs `along` $dim attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::StringAttr":$dim)>];
}

def Mtf_ShiftOp : Mtf_CheckedTensorOp<"shift", [Mtf_HasGradient]> {
  let summary = "result[i] = input[i - amount] along a dim, zero where that is outside";
  let arguments = (ins Mtf_Tensor:$input, StrAttr:$dim, I64Attr:$amount);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input $dim `by` $amount attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$dim, "int64_t":$amount)>];
}

def Mtf_WindowOp : Mtf_CheckedTensorOp<"window", [Mtf_HasGradient]> {
  let summary = "overlapping windows along a dim: result[i, j] = input[i stride + j dilation - low], zero outside";
  let description = [{
    The dim keeps its name with the number of windows as its size; the position inside a window is the new dim `window`.
    A convolution is a `dot` over window dims and channels, a pooling a `reduce`.
  }];
  let arguments = (ins Mtf_NumberTensor:$input, StrAttr:$dim, StrAttr:$window, I64Attr:$stride, I64Attr:$dilation, I64Attr:$low);
  let results = (outs Mtf_NumberTensor:$result);
  let assemblyFormat = "$input $dim `into` $window `stride` $stride `dilation` $dilation `low` $low attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::StringAttr":$dim, "::meshc::mtf::DimAttr":$window,
                                 "int64_t":$count, "int64_t":$stride, "int64_t":$dilation, "int64_t":$low)>];
}

def Mtf_FoldOp : Mtf_CheckedTensorOp<"fold", [Mtf_HasGradient]> {
  let summary = "the transpose of window: sums each window's elements back to where they came from";
  let arguments = (ins Mtf_NumberTensor:$input, StrAttr:$dim, StrAttr:$window, I64Attr:$stride, I64Attr:$dilation, I64Attr:$low);
  let results = (outs Mtf_NumberTensor:$result);
  let assemblyFormat = "$input $window `onto` $dim `stride` $stride `dilation` $dilation `low` $low attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Indexing by values
//===----------------------------------------------------------------------===//

def Mtf_GatherOp : Mtf_CheckedTensorOp<"gather", [Mtf_HasGradient]> {
  let summary = "result = table[over = indices]; dims that both have are batched";
  let description = [{
    `wte[vocab = tokens]`. An index outside [0, size) gives zero. Where `over` is split, each rank finds the indices of its part and
    zero for the others: the result is partial.
  }];
  let arguments = (ins Mtf_Tensor:$table, Mtf_IntTensor:$indices, StrAttr:$over);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$table `[` $over `=` $indices `]` attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$table, "::mlir::Value":$indices, "::mlir::StringAttr":$over)>];
}

def Mtf_ScatterAddOp : Mtf_CheckedTensorOp<"scatter_add", [Mtf_HasGradient]> {
  let summary = "result[into = indices] += updates, from zero; the transpose of gather";
  let description = [{
    The result has the dim `into` and those dims of the updates that it names; dims of the updates that the result lacks are summed.
    The indices' dims are among the updates'. An index outside the result is dropped.
  }];
  let arguments = (ins Mtf_NumberTensor:$updates, Mtf_IntTensor:$indices, StrAttr:$into);
  let results = (outs Mtf_NumberTensor:$result);
  let assemblyFormat = "$updates `at` $indices `into` $into attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Mtf_AttendOp : Mtf_CheckedTensorOp<"attend", [Mtf_HasGradient]> {
  let summary = "scaled dot-product attention: softmax(scale q k over mem, where mask) v";
  let description = [{
    q[.., seq, head], k[.., mem, head], v[.., mem, value head]: `head` is contracted between q and k, `mem` between the weights and v.
    Dims of q that k lacks are broadcast over k and v (grouped queries). `mask` is i1 over any of the dims; where it is false the
    weight is zero; a row without any true has output zero and log-sum-exp minus infinity. Results: the output and the
    log-sum-exp (f32, for the derivative). The mask is a function of indices in all useful cases and is computed where it is used.
  }];
  let arguments = (ins Mtf_FloatTensor:$q, Mtf_FloatTensor:$k, Mtf_FloatTensor:$v, Optional<Mtf_BoolTensor>:$mask,
                       StrArrayAttr:$head, StrAttr:$mem, F64Attr:$scale);
  let results = (outs Mtf_FloatTensor:$output, Mtf_FloatTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`where` $mask^)? `over` $head `,` $mem `scale` $scale attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v, "::mlir::Value":$mask,
                                 "::llvm::ArrayRef<::mlir::StringAttr>":$head, "::mlir::StringAttr":$mem, "double":$scale)>];
}

def Mtf_AttendGradOp : Mtf_CheckedTensorOp<"attend_grad"> {
  let summary = "cotangents of q, k and v of `attend`, from its output and log-sum-exp (FlashAttention, Dao et al. 2022)";
  let arguments = (ins Mtf_FloatTensor:$q, Mtf_FloatTensor:$k, Mtf_FloatTensor:$v, Optional<Mtf_BoolTensor>:$mask,
                       Mtf_FloatTensor:$output, Mtf_FloatTensor:$lse, Mtf_FloatTensor:$outputGrad,
                       StrArrayAttr:$head, StrAttr:$mem, F64Attr:$scale);
  let results = (outs Mtf_FloatTensor:$qGrad, Mtf_FloatTensor:$kGrad, Mtf_FloatTensor:$vGrad);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`where` $mask^)? `output` $output `,` $lse `,` $outputGrad `over` $head `,` $mem `scale` $scale
    attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

def Mtf_RepeatOp : Mtf_Op<"repeat", [AttrSizedOperandSegments, RecursiveMemoryEffects,
                                     SingleBlockImplicitTerminator<"::meshc::mtf::NextOp">,
                                     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a loop over a dimension, with carried values, sliced inputs and stacked outputs";
  let description = [{
    ```
    %x, %ks = mtf.repeat "layers" 12 carries(%x0 : X) slices(%w : W) -> X, K {
    ^bb0(%i: !mtf.tensor<[], i32>, %x: X, %w: W without layers):
      ...
      mtf.next carries(%x1 : X) stacks(%k : K)
    }
    ```
    The body's arguments are the iteration's index, the carries and one slice of each sliced input (its type without the dim).
    Results: the carries after the last iteration, then the stacked values with the dim. `reverse` runs from the last
    index to the first; slices and stacks keep their index. The body may use values from around the loop.
    The dim of a loop is never split over ranks.
  }];
  let arguments = (ins StrAttr:$dim, I64Attr:$count, UnitAttr:$reverse, Variadic<Mtf_Tensor>:$inits, Variadic<Mtf_Tensor>:$scanned);
  let results = (outs Variadic<Mtf_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $dim $count (`reverse` $reverse^)? `carries` `(` ($inits^ `:` type($inits))? `)`
    `slices` `(` ($scanned^ `:` type($scanned))? `)` (`->` type($results)^)? $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [
    // An empty body with its arguments; result types of the stacks are given with the dim.
    OpBuilder<(ins "::mlir::StringAttr":$dim, "int64_t":$count, "::mlir::ValueRange":$inits, "::mlir::ValueRange":$scanned,
                   "::llvm::ArrayRef<::mlir::Type>":$stackedTypes, CArg<"bool", "false">:$reverse)>
  ];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    unsigned numCarries() { return getInits().size(); }
    unsigned numStacked() { return getNumResults() - numCarries(); }
    ::mlir::Block *bodyBlock() { return &getBody().front(); }
    ::mlir::BlockArgument indexArg() { return bodyBlock()->getArgument(0); }
    ::mlir::BlockArgument carryArg(unsigned i) { return bodyBlock()->getArgument(1 + i); }
    ::mlir::BlockArgument sliceArg(unsigned i) { return bodyBlock()->getArgument(1 + numCarries() + i); }
    ::mlir::ResultRange carryResults() { return getResults().take_front(numCarries()); }
    ::mlir::ResultRange stackedResults() { return getResults().drop_front(numCarries()); }
    NextOp next();
  }];
}

def Mtf_NextOp : Mtf_Op<"next", [Pure, Terminator, HasParent<"::meshc::mtf::RepeatOp">, AttrSizedOperandSegments]> {
  let summary = "ends an iteration of `repeat`: the next carries, and the values to stack";
  let arguments = (ins Variadic<Mtf_Tensor>:$carries, Variadic<Mtf_Tensor>:$stacked);
  let assemblyFormat = "`carries` `(` ($carries^ `:` type($carries))? `)` `stacks` `(` ($stacked^ `:` type($stacked))? `)` attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Mtf_TapOp : Mtf_CheckedTensorOp<"tap", [Mtf_HasGradient]> {
  let summary = "x, under a name that `verify` compares; transparent to sharding and differentiation";
  let arguments = (ins StrAttr:$name, Mtf_Tensor:$input);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$name $input attr-dict `:` functional-type(operands, results)";
}

def Mtf_ParamOp : Mtf_Op<"param", [Symbol]> {
  let summary = "a parameter of the model, identified by its call path";
  let description = [{
    `order` lists the dims as files store them: dims of enclosing repeats first, then as declared. `fan_out` are the names
    after the arrow; `no_arrow` says that there is none (a gain or a bias). `update` is the function of one optimizer step
    (w, g, states..., step, total_steps) -> (w, states...), absent for a module that does not train; `states` names its states.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Mtf_Tensor>:$type, StrArrayAttr:$order, Mtf_InitAttr:$init,
                       StrArrayAttr:$fan_in, StrArrayAttr:$fan_out, UnitAttr:$no_arrow, StrAttr:$group,
                       OptionalAttr<FlatSymbolRefAttr>:$update, StrArrayAttr:$states);
  let assemblyFormat = "$sym_name `:` $type `init` $init attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

def Mtf_ReshardOp : Mtf_Op<"reshard", [Pure]> {
  let summary = "the same global value under another sharding; partition turns it into collectives";
  let arguments = (ins Mtf_Tensor:$input);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mtf_FillPaddingOp : Mtf_Op<"fill_padding", [Pure]> {
  let summary = "the same value with its padding overwritten by what the result's type says";
  let arguments = (ins Mtf_Tensor:$input);
  let results = (outs Mtf_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif
