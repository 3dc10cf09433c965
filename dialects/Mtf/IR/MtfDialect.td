//===- MtfDialect.td - the dialect of named-dimension tensors -*- tablegen -*-===//
#ifndef MTF_DIALECT_TD
#define MTF_DIALECT_TD

include "mlir/IR/OpBase.td"

def Mtf_Dialect : Dialect {
  let name = "mtf";
  let cppNamespace = "::meshc::mtf";
  let summary = "computations on tensors with named dimensions";
  let description = [{
    A tensor's shape is a set of named dimensions; an op says by name which of them it keeps, contracts or creates.
    The same ops and the one tensor type serve three levels: the whole computation (no sharding in the types), the
    sharded one (every type carries its sharding, every difference is an `mtf.reshard`) and, with the collectives of
    the `spmd` dialect, the program of one rank.

    Attributes of the module:

    | attribute | meaning |
    |---|---|
    | `mtf.mesh` | the device mesh, `#mtf.mesh` |
    | `mtf.dim_order` | names of dimensions in the order of their declaration |
    | `mtf.layout` | the layout's rules in order, `#mtf.layout` |
    | `mtf.microbatches` | microbatches per optimizer step |
    | `mtf.precision` | `"f32"` or `"bf16"` |
    | `mtf.clip` | bound on the global gradient norm |
    | `mtf.steps` | optimizer steps of a whole run |
    | `mtf.name`, `mtf.source` | the model's name, the program's file |
    | `mtf.data_sources` | where data come from, a dictionary per source: `{kind = "text"|"tokens"|"tensors", names = ["tokens", "targets"], arguments = ["corpus.txt"], options = {vocab = 256}}` |
    | `mtf.constants` | `{batch = "64", ...}`: dims and constants fixed by this compilation |

    Attributes of function arguments and results: `mtf.param` (symbol of an `mtf.param`), `mtf.state` ([symbol, name]),
    `mtf.data` (name of a data input), `mtf.input` (`seed`, `step`, `total_steps`, `cotangent`), `mtf.result` (name of a result).

    `mtf.pinned_type` on an op, an argument or an `mtf.param` says that the user wrote the element type: no pass changes it.
  }];
  let hasCanonicalizer = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    void registerOps();
  }];
}

#endif
