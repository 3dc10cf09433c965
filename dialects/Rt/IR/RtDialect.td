//===- RtDialect.td - the dialect of one rank's program -*- tablegen -*-===//
#ifndef RT_DIALECT_TD
#define RT_DIALECT_TD

include "mlir/IR/OpBase.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::meshc::rt";
  let summary = "one rank's program: buffers at planned offsets, kernels, library calls, loops, collectives";
  let description = [{
    The last level before text. Every value is a *buffer*: local sizes in a chosen memory order, at a fixed byte offset of the
    rank's arena once `rt-plan-memory` has run. Ops execute in program order; each reads and writes whole buffers, as its operands say.

    ```
    rt.global @param.w : !rt.buffer<[embed=16, ff=64], f32> {role = #rt.role<param>, ...}
    rt.step @train_step {
      %w = rt.get_global @param.w : !rt.buffer<[embed=16, ff=64], f32>
      %x = rt.alloc : !rt.buffer<[batch=8, ff=64], f32>
      rt.gemm ...
      rt.kernel ...
    }
    ```

    Two buffers alias only if one is a view of the other (`rt.slice`, `rt.view`) or both are views of one; `rt.alloc`s and globals are
    distinct (the planner may give allocs whose lives do not overlap the same bytes). An op may have one buffer both as input and
    as output where its description allows it (*in place*).

    Names: the location of an `rt.alloc`, a loop or a kernel is a `NameLoc` with the user's name where there is one.

    Attributes of the module: `rt.arena_bytes` (set by `rt-plan-memory`), and those of `mtf` (mesh, steps, ...).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::meshc::mtf::MtfDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
    void registerOps();
  }];
}

#endif
