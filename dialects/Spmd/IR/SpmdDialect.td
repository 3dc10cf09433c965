//===- SpmdDialect.td - collectives over named mesh axes -*- tablegen -*-===//
#ifndef SPMD_DIALECT_TD
#define SPMD_DIALECT_TD

include "mlir/IR/OpBase.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::meshc::spmd";
  let summary = "collectives over named mesh axes";
  let description = [{
    What `mtf.reshard` becomes. Every op but `shift` has one tensor and gives the same global value under another sharding; the types of
    operand and result say which, and each op's verifier accepts exactly the difference that the op makes. Ranks that agree in
    all coordinates but those of `over` form one group; `over` lists axes the most significant first, as a dimension does.

    | op | operand | result |
    |---|---|---|
    | `all_reduce` | partial over A | replicated over A |
    | `reduce_scatter` | partial over A | dim split by A, appended |
    | `all_gather` | dim split by A, last | replicated over A |
    | `all_to_all` | dim `from` split by A, last | dim `to` split by A, appended |
    | `permute` | any shardings of the same local shape | the parts moved between ranks |
    | `shift` | dim split by A into blocks of one element | the elements `amount` ranks further, zeros where none came from |
    | `slice` | replicated over A | dim split by A, appended; nothing is sent |
    | `unreduce` | replicated over A | partial over A; nothing is sent |

    An axis is appended to a dimension as its minor-most split, and only the minor-most can be taken off: then what a
    rank holds stays one block of the dimension.
  }];
}

#endif
