//===- RtOps.td - buffers, kernels, library calls, loops, collectives -*- tablegen -*-===//
#ifndef RT_OPS_TD
#define RT_OPS_TD

include "Mtf/IR/MtfAttrs.td"
include "Rt/IR/RtTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

def Rt_In : Arg<Rt_Buffer, "", [MemRead]>;
def Rt_Out : Arg<Rt_Buffer, "", [MemWrite]>;
def Rt_InOut : Arg<Rt_Buffer, "", [MemRead, MemWrite]>;

def Rt_Operands : Arg<Variadic<AnyTypeOf<[Rt_Buffer, I32]>>, "", [MemRead]>;

def Rt_Dims : TypedArrayAttrBase<Rt_DimAttr, "array of dims">;
def Rt_Element : AnyTypeOf<[F32, BF16, F64, I32, I64, I1]>;

//===----------------------------------------------------------------------===//
// Program and buffers
//===----------------------------------------------------------------------===//

def Rt_GlobalOp : Rt_Op<"global", [Symbol]> {
  let summary = "a buffer that outlives a step: parameter, optimizer state, data, scalar input or result";
  let description = [{
    `role` says what the trainer does with it; `step` is the step a data input, scalar or result belongs to; `name` is the user's
    name ("tokens", "seed", "loss", "m"); `param` the `mtf.param` of parameters and states. `tensor` is the global value it holds a part of
    and `order` the order of its dims in files. `offset` is its byte offset in the arena.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Rt_Buffer>:$type, Rt_RoleAttr:$role, StrAttr:$name,
                       OptionalAttr<FlatSymbolRefAttr>:$step, OptionalAttr<FlatSymbolRefAttr>:$param, TypeAttr:$tensor,
                       StrArrayAttr:$order, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let extraClassDeclaration = [{ BufferType bufferType() { return ::llvm::cast<BufferType>(getType()); } }];
}

def Rt_StepOp : Rt_Op<"step", [Symbol, NoTerminator, SingleBlock, NoRegionArguments, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "one entry point of a rank's program: its ops in order";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Rt_GetGlobalOp : Rt_Op<"get_global", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the buffer of a global";
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs Rt_Buffer:$result);
  let assemblyFormat = "$global attr-dict `:` type($result)";
}

def Rt_AllocOp : Rt_Op<"alloc"> {
  let summary = "a buffer of the arena, with undefined content, distinct from every other while it is in use";
  let description = "`offset` is the byte offset in the arena, set by `rt-plan-memory`. An alloc in a loop is one buffer for all iterations.";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Res<Rt_Buffer, "", [MemAlloc]>:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::meshc::rt::BufferType":$type), [{ build($_builder, $_state, type, ::mlir::IntegerAttr()); }]>];
}

def Rt_SliceOp : Rt_Op<"slice", [Pure]> {
  let summary = "block number `index` of a buffer along a dim, as a view";
  let description = [{
    ```
    %w = rt.slice %ws "layers" [%i] : !rt.buffer<[layers=12, embed=768], f32> to !rt.buffer<[embed=768], f32>
    %v = rt.slice %x "vocab" [%r] : !rt.buffer<[vocab=8, embed=4], f32> to !rt.buffer<[vocab=2, embed=4], f32>
    ```
    Without the dim in the result a block is one index; with it, a block is as long as the result's size. The base moves by
    index * block * stride(dim); the other dims keep order, size and stride. `cyclic`: the index counts modulo the number of blocks.
  }];
  let arguments = (ins Rt_Buffer:$source, StrAttr:$dim, I32:$index, UnitAttr:$cyclic);
  let results = (outs Rt_Buffer:$result);
  let assemblyFormat = "$source $dim `[` $index `]` (`cyclic` $cyclic^)? attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Elements between block 0 and block 1.
    int64_t blockStride();
    int64_t numBlocks();
  }];
}

def Rt_ViewOp : Rt_Op<"view", [Pure]> {
  let summary = "the same memory from element `start` on, with other dims: renamed, split, merged, cut, broadcast, reordered";
  let arguments = (ins Rt_Buffer:$source, DefaultValuedAttr<I64Attr, "0">:$start);
  let results = (outs Rt_Buffer:$result);
  let assemblyFormat = "$source (`from` $start^)? attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Rt_CopyOp : Rt_Op<"copy"> {
  let summary = "target = source, dims matched by name, whatever their order; of one element type; no aliasing";
  let arguments = (ins Rt_In:$source, Rt_Out:$target);
  let assemblyFormat = "$source `to` $target attr-dict `:` type($source) `to` type($target)";
  let hasVerifier = 1;
}

def Rt_FillOp : Rt_Op<"fill"> {
  let summary = "every element = value";
  let arguments = (ins Rt_Out:$target, TypedAttrInterface:$value);
  let assemblyFormat = "$target `with` $value attr-dict `:` type($target)";
}

def Rt_LoopOp : Rt_Op<"loop", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "its body `count` times, with the index from 0 up, or from count - 1 down (`reverse`)";
  let description = [{
    ```
    rt.loop "layers" %i : 12 {
      ... uses rt.slice %w "turn" [%i] cyclic
    } ahead %j {
      rt.all_gather ... into (rt.slice %w "turn" [%j] cyclic)
    }
    ```
    The one argument of the body is the index, i32. `dim` is the user's name of the loop.

    `ahead` prepares an iteration: it runs for the first index before the loop, and for each other one at any time during the body of the iteration
    before. The body sees what was prepared for its own index. Neither may touch what the other writes meanwhile: what is prepared lies in two places
    by turns. Only kernels, copies and collectives run ahead; their buffers are allocated around the loop.
  }];
  let arguments = (ins StrAttr:$dim, I64Attr:$count, UnitAttr:$reverse);
  let regions = (region SizedRegion<1>:$body, AnyRegion:$ahead);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$dim, "int64_t":$count, "bool":$reverse)>];
  let extraClassDeclaration = [{
    ::mlir::BlockArgument index() { return getBody().front().getArgument(0); }
    bool runsAhead() { return !getAhead().empty(); }
    ::mlir::BlockArgument aheadIndex() { return getAhead().front().getArgument(0); }
    int64_t first() { return getReverse() ? static_cast<int64_t>(getCount()) - 1 : 0; }
  }];
}

def Rt_ShardIndexOp : Rt_Op<"shard_index", [Pure]> {
  let summary = "which block of a dim split over `axes` this rank holds (first axis most significant)";
  let arguments = (ins StrArrayAttr:$axes);
  let results = (outs I32:$result);
  let assemblyFormat = "$axes attr-dict";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Rt_KernelOp : Rt_Op<"kernel", [NoTerminator, SingleBlock, AttrSizedOperandSegments, IsolatedFromAbove]> {
  let summary = "a fused loop nest: independent `outer` indices, each with loops over `row`";
  let description = [{
    ```
    rt.kernel outer [batch=4, seq=256] row [embed=768] ins(%x, %g : X, G) outs(%y : X) {
    ^bb0(%xs: X, %gs: G, %ys: X):
      %sum = rt.row -> f32 {                       // for each embed
        %0 = rt.load %xs : X                        // x[batch, seq, embed]
        rt.yield sum(%0) : f32
      }
      %n = arith.constant 768.0 : f32
      %mean = arith.divf %sum, %n : f32            // once per (batch, seq)
      rt.row {
        %0 = rt.load %xs : X
        %1 = arith.subf %0, %mean : f32
        %2 = rt.load %gs : G                        // g[embed]
        %3 = arith.mulf %1, %2 : f32
        rt.store %3, %ys : f32 to X
        rt.yield
      }
    }
    ```
    Semantics: for every index of the `outer` dims, in any order and in parallel, the body once. In the body an `rt.row` runs its region for
    every index of the `row` dims; the `rt.row`s follow one another. The ops of a body are `rt.load`, `rt.store`, `rt.index`, `rt.random`,
    `rt.shard_index`, `arith` and `math` ops on scalars (f32, bf16, f64, i32, i64, i1); i32 operands of the kernel (loop indices) stand
    for themselves. Dims are listed outermost first, as memory wants the loops.

    A load or store without `at` takes its indices by name from the iteration; dims that the buffer lacks broadcast. A store must name every dim of the
    iteration at its place (outer dims outside `rt.row`, outer and row dims inside), so that every element is written once.

    What the forms mean to a printer:
    - no row dims, no `rt.row`: a map kernel; all dims are parallel, the innermost one is usually contiguous.
    - outer and row dims: a row kernel (softmax, norms, losses): one worker per outer index.
    - `columns`: the innermost dim in memory is an outer one, every `rt.row` reduces (bias and gain gradients). Same semantics; run the row
      loop outside the innermost outer dims with a vector of accumulators.
    - no outer dims: a full reduction to scalars; reduce in blocks of a fixed size, so that the result does not depend on threads.
    Sums are taken in the operand's type, in an order that depends on sizes alone.

    In place: a buffer may be both in `ins` and `outs` if it has every dim of the place of its store, every load of it comes before the store (in the
    same `rt.row`, or earlier in the body), and loads `at` computed indices of row dims alone come before the `rt.row` that stores.
  }];
  let arguments = (ins Rt_Dims:$outer, Rt_Dims:$row, UnitAttr:$columns, Rt_Operands:$ins,
                       Arg<Variadic<Rt_Buffer>, "", [MemWrite]>:$outs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `outer` custom<Dims>($outer) `row` custom<Dims>($row) (`columns` $columns^)? `ins` `(` ($ins^ `:` type($ins))? `)`
    `outs` `(` $outs `:` type($outs) `)` $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument inArg(unsigned i) { return getBody().front().getArgument(i); }
    ::mlir::BlockArgument outArg(unsigned i) { return getBody().front().getArgument(getIns().size() + i); }
    /// The operand that a block argument stands for.
    ::mlir::OpOperand &operandOf(::mlir::BlockArgument argument) { return getOperation()->getOpOperand(argument.getArgNumber()); }
    /// Outer dims, then row dims.
    ::llvm::SmallVector<DimAttr> iterationDims();
    /// A load through `in` that would read new values if `in` and `out` were one buffer, or null.
    ::mlir::Operation *findLoadAfterStore(::mlir::BlockArgument in, ::mlir::BlockArgument out);
  }];
}

def Rt_RowOp : Rt_Op<"row", [SingleBlock, HasParent<"::meshc::rt::KernelOp">, RecursiveMemoryEffects]> {
  let summary = "a loop over the kernel's row dims, with stores and reductions; the results are the reduced values";
  let results = (outs Variadic<Rt_Element>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($results)^)? $body attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ YieldOp yield(); }];
}

def Rt_YieldOp : Rt_Op<"yield", [Pure, Terminator, HasParent<"::meshc::rt::RowOp">]> {
  let summary = "what a row loop reduces, and how: sum, max, min, prod";
  let arguments = (ins TypedArrayAttrBase<Mtf_ReductionKindAttr, "array of reductions">:$kinds, Variadic<Rt_Element>:$values);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Rt_LoadOp : Rt_Op<"load"> {
  let summary = "the element at the iteration's indices, with those of the dims `at` replaced";
  let description = [{
    `rt.load %wte at ["vocab"](%t) : W` reads wte[vocab = t, embed = the kernel's embed]. Indices are local, i32. If any of them is outside its dim the result
    is zero, unless the op says `in_bounds`.
  }];
  let arguments = (ins Rt_In:$buffer, StrArrayAttr:$at, Variadic<I32>:$indices, UnitAttr:$in_bounds);
  let results = (outs Rt_Element:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$buffer)>,
                  OpBuilder<(ins "::mlir::Value":$buffer, "::llvm::ArrayRef<::mlir::StringAttr>":$at, "::mlir::ValueRange":$indices, "bool":$inBounds)>];
}

def Rt_StoreOp : Rt_Op<"store"> {
  let summary = "writes the element at the iteration's indices";
  let arguments = (ins Rt_Element:$value, Rt_Out:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `to` type($buffer)";
  let hasVerifier = 1;
}

def Rt_IndexOp : Rt_Op<"index", [Pure]> {
  let summary = "the iteration's position along a dim, local, i32";
  let arguments = (ins StrAttr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
}

def Rt_RandomOp : Rt_Op<"random", [Pure]> {
  let summary = "a counter-based random number (runtime/include/meshrt/philox.h)";
  let description = [{
    Key (seed, hash32(path)), counter (index, step, mix of repeats): `uniform` in (0, 1), `normal` standard, `bernoulli` 1.0 with probability
    `parameter`, else 0.0.
  }];
  let arguments = (ins Mtf_DistributionAttr:$distribution, F64Attr:$parameter, StrAttr:$path, I32:$seed, I32:$step, I64:$index, Variadic<I32>:$repeats);
  let results = (outs F32:$result);
  let assemblyFormat = [{
    $distribution $parameter $path `key` `(` $seed `,` $step `)` `repeats` `(` ($repeats^)? `)` `at` $index attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

def Rt_GemmOp : Rt_Op<"gemm"> {
  let summary = "a batched matrix product: c[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n], added to c if `accumulate`";
  let description = [{
    ```
    // logits[batch, seq, vocab] = dot(h, wte over embed)
    rt.gemm %h, %wte into %logits batch [] m ["batch", "seq"] n ["vocab"] k ["embed"] : ...
    // scores[batch, heads, seq, mem]
    rt.gemm %q, %k into %s batch ["batch", "heads"] m ["seq"] n ["mem"] k ["head"] : ...
    ```
    `m`, `n`, `k` each list the dims, outermost first, that make one matrix index; in both operands that have them they are adjacent (each stride is
    the next one's times its size), so that `shape()` can give one size and one stride. Every batch dim is a loop; b may lack batch dims of a
    and the reverse (stride 0), c has them all. Of each operand's row and column stride one is 1. a and b are of one type (f32, bf16, f64); c is of that type or f32.
    Sums are f32 (f64 for f64). c does not alias a or b.
  }];
  let arguments = (ins Rt_In:$a, Rt_In:$b, Rt_InOut:$c, StrArrayAttr:$batch, StrArrayAttr:$m, StrArrayAttr:$n, StrArrayAttr:$k, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $a `,` $b (`accumulate` $accumulate^)? `into` $c `batch` $batch `m` $m `n` $n `k` $k attr-dict `:` type($a) `,` type($b) `,` type($c)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ GemmShape shape(); }];
}

def Rt_AttendOp : Rt_Op<"attend"> {
  let summary = "fused attention: output and log-sum-exp (runtime/include/meshrt/cpu/attention.h has the formulas)";
  let description = [{
    `batch`, `heads`, `groups`, `query` name dims of q: `batch` and `heads` are also k's and v's, `groups` are q's alone (queries that share keys), `query` the
    query positions. `mem` is k's and v's position, `head` the contracted dims, `value` v's own. Names in one list are adjacent in memory,
    outermost first; so are heads followed by groups in q and o. `shape()` gives sizes and strides.

    Mask: `causal` (global key index <= global query index), or a region over the global indices (query, key) and the linear local
    indices (batch, heads * groups), i32, and `maskIns`, that ends in `rt.visible`; an empty region and no `causal`: no mask.
    `queryAxes` and `keyAxes` are the mesh axes that split the query and key dims.
  }];
  let arguments = (ins Rt_In:$q, Rt_In:$k, Rt_In:$v, Rt_Out:$o, Rt_Out:$lse, Rt_Operands:$maskIns,
                       StrArrayAttr:$batch, StrArrayAttr:$heads, StrArrayAttr:$groups, StrArrayAttr:$query, StrArrayAttr:$mem, StrArrayAttr:$head,
                       StrArrayAttr:$value, F64Attr:$scale, UnitAttr:$causal, StrArrayAttr:$queryAxes, StrArrayAttr:$keyAxes);
  let regions = (region AnyRegion:$mask);
  let assemblyFormat = [{
    $q `,` $k `,` $v `into` $o `,` $lse (`masked` `by` `(` $maskIns^ `:` type($maskIns) `)`)? attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($o) `,` type($lse) $mask
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ AttendShape shape(); }];
}

def Rt_AttendGradOp : Rt_Op<"attend_grad"> {
  let summary = "gradients of attend; qGrad, kGrad and vGrad are laid out as q, k and v, oGrad as o";
  let arguments = (ins Rt_In:$q, Rt_In:$k, Rt_In:$v, Rt_In:$o, Rt_In:$lse, Rt_In:$oGrad, Rt_Out:$qGrad, Rt_Out:$kGrad, Rt_Out:$vGrad,
                       Rt_Operands:$maskIns,
                       StrArrayAttr:$batch, StrArrayAttr:$heads, StrArrayAttr:$groups, StrArrayAttr:$query, StrArrayAttr:$mem, StrArrayAttr:$head,
                       StrArrayAttr:$value, F64Attr:$scale, UnitAttr:$causal, StrArrayAttr:$queryAxes, StrArrayAttr:$keyAxes);
  let regions = (region AnyRegion:$mask);
  let assemblyFormat = [{
    $q `,` $k `,` $v `output` $o `,` $lse `,` $oGrad `into` $qGrad `,` $kGrad `,` $vGrad (`masked` `by` `(` $maskIns^ `:` type($maskIns) `)`)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($o) `,` type($lse) `,` type($oGrad) `into` type($qGrad) `,` type($kGrad) `,` type($vGrad) $mask
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ AttendShape shape(); }];
}

def Rt_VisibleOp : Rt_Op<"visible", [Pure, Terminator, ParentOneOf<["::meshc::rt::AttendOp", "::meshc::rt::AttendGradOp"]>]> {
  let summary = "ends a mask: whether the query sees the key";
  let arguments = (ins I1:$value);
  let assemblyFormat = "$value attr-dict";
}

def Rt_ScatterAddOp : Rt_Op<"scatter_add"> {
  let summary = "target[along = indices - first] += updates, in the order of the updates; first = shard index over `axes` * local size";
  let description = [{
    Indices are global, over dims that the updates have too; those outside the target's part are skipped. Dims of the updates that the target lacks are
    summed. Contributions to one element are added in row-major order of the updates' indices.
  }];
  let arguments = (ins Rt_In:$updates, Rt_In:$indices, Rt_InOut:$target, StrAttr:$along, StrArrayAttr:$axes);
  let assemblyFormat = "$updates `at` $indices `onto` $target `along` $along $axes attr-dict `:` type($updates) `,` type($indices) `,` type($target)";
  let hasVerifier = 1;
}

def Rt_TopKOp : Rt_Op<"top_k"> {
  let summary = "the k largest along `over` in falling order, and their indices (i32); of equal ones the lowest index first";
  let description = "k is the size of `into` in the results; with k the whole size this is a sort. The other dims are independent.";
  let arguments = (ins Rt_In:$input, Rt_Out:$values, Rt_Out:$indices, StrAttr:$over, StrAttr:$into);
  let assemblyFormat = "$input `into` $values `,` $indices `over` $over `,` $into attr-dict `:` type($input) `,` type($values) `,` type($indices)";
}

def Rt_CumSumOp : Rt_Op<"cumsum"> {
  let summary = "running sums along a dim (`exclusive`: of what comes before; `reverse`: from the end); may be in place";
  let arguments = (ins Rt_In:$input, Rt_Out:$output, StrAttr:$over, UnitAttr:$exclusive, UnitAttr:$reverse);
  let assemblyFormat = "$input `into` $output `over` $over (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($input) `,` type($output)";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

// `axes`: ranks that differ only on these mesh axes form a group, the first axis most significant. `what` names the value for
// messages; the location is the source line.

def Rt_AllReduceOp : Rt_Op<"all_reduce"> {
  let summary = "buffer = reduction over the group, in place; the buffer is contiguous in some order of its dims";
  let arguments = (ins Rt_InOut:$buffer, StrArrayAttr:$axes, Mtf_ReductionKindAttr:$kind, StrAttr:$what);
  let assemblyFormat = "$kind $buffer `over` $axes `for` $what attr-dict `:` type($buffer)";
}

def Rt_AllGatherOp : Rt_Op<"all_gather"> {
  let summary = "result = the group's parts one after the other along `dim`";
  let description = "Both have the same dim order and are contiguous; result size of `dim` = members * part size.";
  let arguments = (ins Rt_In:$part, Rt_Out:$result, StrArrayAttr:$axes, StrAttr:$dim, StrAttr:$what);
  let assemblyFormat = "$part `into` $result `along` $dim `over` $axes `for` $what attr-dict `:` type($part) `,` type($result)";
  let hasVerifier = 1;
}

def Rt_ReduceScatterOp : Rt_Op<"reduce_scatter"> {
  let summary = "part = this rank's block along `dim` of the sum over the group";
  let arguments = (ins Rt_In:$input, Rt_Out:$part, StrArrayAttr:$axes, StrAttr:$dim, StrAttr:$what);
  let assemblyFormat = "$input `into` $part `along` $dim `over` $axes `for` $what attr-dict `:` type($input) `,` type($part)";
  let hasVerifier = 1;
}

def Rt_AllToAllOp : Rt_Op<"all_to_all"> {
  let summary = "moves a split from dim `concat` to dim `split`: result has split / members and concat * members";
  let arguments = (ins Rt_In:$input, Rt_Out:$result, StrArrayAttr:$axes, StrAttr:$split, StrAttr:$concat, StrAttr:$what);
  let assemblyFormat = "$input `into` $result `split` $split `concat` $concat `over` $axes `for` $what attr-dict `:` type($input) `,` type($result)";
}

def Rt_ExchangeOp : Rt_Op<"exchange"> {
  let summary = "result = the input of member sources[i] of the group on member i; zeros where that is -1";
  let arguments = (ins Rt_In:$input, Rt_Out:$result, StrArrayAttr:$axes, DenseI64ArrayAttr:$sources, StrAttr:$what);
  let assemblyFormat = "$input `into` $result `from` $sources `over` $axes `for` $what attr-dict `:` type($input) `,` type($result)";
  let hasVerifier = 1;
}

#endif
