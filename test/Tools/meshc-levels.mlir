// Prints a level from IR; a level already passed is an error.
// RUN: meshc %s --emit=mtf | FileCheck %s
// RUN: meshc %s --emit=mtf -o %t && FileCheck %s < %t
// RUN: not meshc %s --emit=mtf -o %t.absent/x 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: cannot write '{{.*}}.absent/x': No such file or directory

// CHECK: func.func @double(%x: !mtf.tensor<[batch=4], f32>)
// CHECK: %y = mtf.add %x, %x
func.func @double(%x: !mtf.tensor<[batch=4], f32> loc("x")) -> !mtf.tensor<[batch=4], f32> {
  %0 = mtf.add %x, %x : (!mtf.tensor<[batch=4], f32>, !mtf.tensor<[batch=4], f32>) -> !mtf.tensor<[batch=4], f32> loc("y")
  return %0 : !mtf.tensor<[batch=4], f32>
}
