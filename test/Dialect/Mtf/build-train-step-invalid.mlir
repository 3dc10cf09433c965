// RUN: meshc-opt %s --mtf-differentiate --mtf-build-train-step --split-input-file --verify-diagnostics

// expected-error @below {{there is no function 'weight' to divide the loss by}}
module {
  func.func @loss(%x: !mtf.tensor<[batch=4], f32> {mtf.data = "x"}) -> !mtf.tensor<[], f32> {
    %0 = mtf.reduce sum %x over ["batch"] : (!mtf.tensor<[batch=4], f32>) -> !mtf.tensor<[], f32>
    return %0 : !mtf.tensor<[], f32>
  }
}

// -----

// A statistic over the whole batch in each example's loss.
!s = !mtf.tensor<[], f32>
!x = !mtf.tensor<[batch=4], f32>
module attributes {mtf.microbatches = 2 : i64} {
  mtf.param @w : !s init <constant 1.0 : f64> {order = [], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
  func.func @weight(%x: !x {mtf.data = "x"}) -> !s {
    %0 = mtf.reduce sum %x over ["batch"] : (!x) -> !s
    return %0 : !s
  }
  func.func @loss(%w: !s {mtf.param = @w}, %x: !x {mtf.data = "x"}) -> !s {
    %wx = mtf.mul %x, %w : (!x, !s) -> !x
    // expected-note @below {{this sum over 'batch' would have to be complete}}
    %sum = mtf.reduce sum %wx over ["batch"] : (!x) -> !s
    // expected-error @below {{op 'sub' is not linear in a sum over 'batch', so the batch cannot be computed in microbatches}}
    // expected-note @below {{set microbatches to 1, or make the loss a sum over 'batch' of each element's own loss}}
    %centered = mtf.sub %wx, %sum : (!x, !s) -> !x
    %0 = mtf.reduce sum %centered over ["batch"] : (!x) -> !s
    return %0 : !s
  }
}

// -----

// The batch under another name.
!s = !mtf.tensor<[], f32>
!x = !mtf.tensor<[batch=4], f32>
!y = !mtf.tensor<[other=4], f32>
module attributes {mtf.microbatches = 2 : i64} {
  mtf.param @w : !s init <constant 1.0 : f64> {order = [], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
  func.func @weight(%x: !x {mtf.data = "x"}) -> !s {
    %0 = mtf.reduce sum %x over ["batch"] : (!x) -> !s
    return %0 : !s
  }
  func.func @loss(%w: !s {mtf.param = @w}, %x: !x {mtf.data = "x"}) -> !s {
    %wx = mtf.mul %x, %w : (!x, !s) -> !x
    %y = mtf.rename %wx ["batch"] to ["other"] : (!x) -> !y
    // expected-error @below {{op 'softmax' mixes elements along 'other', so the batch cannot be computed in microbatches}}
    // expected-note @below {{'other' is made of 'batch'}}
    // expected-note @below {{set microbatches to 1, or keep examples apart}}
    %p = mtf.softmax %y over ["other"] : (!y) -> !y
    %0 = mtf.reduce sum %p over ["other"] : (!y) -> !s
    return %0 : !s
  }
}

// -----

// A term that every microbatch would add again.
!s = !mtf.tensor<[], f32>
!x = !mtf.tensor<[batch=4], f32>
module attributes {mtf.microbatches = 2 : i64} {
  mtf.param @w : !s init <constant 1.0 : f64> {order = [], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
  func.func @weight(%x: !x {mtf.data = "x"}) -> !s {
    %0 = mtf.reduce sum %x over ["batch"] : (!x) -> !s
    return %0 : !s
  }
  func.func @loss(%w: !s {mtf.param = @w}, %x: !x {mtf.data = "x"}) -> !s {
    // expected-error @below {{the loss does not depend on 'batch', so the sum over microbatches would count it once for each of them}}
    %0 = mtf.mul %w, %w : (!s, !s) -> !s
    return %0 : !s
  }
}

// -----

!s = !mtf.tensor<[], f32>
!x = !mtf.tensor<[batch=4], f32>
module attributes {mtf.microbatches = 2 : i64} {
  mtf.param @w : !x init <constant 1.0 : f64> {order = ["batch"], fan_in = [], fan_out = [], no_arrow, group = "default", states = []}
  func.func @weight(%x: !x {mtf.data = "x"}) -> !s {
    %0 = mtf.reduce sum %x over ["batch"] : (!x) -> !s
    return %0 : !s
  }
  // expected-error @below {{parameter 'w' has a value per element of 'batch', so the batch cannot be computed in microbatches}}
  func.func @loss(%w: !x {mtf.param = @w}, %x: !x {mtf.data = "x"}) -> !s {
    %wx = mtf.mul %x, %w : (!x, !x) -> !x
    %0 = mtf.reduce sum %wx over ["batch"] : (!x) -> !s
    return %0 : !s
  }
}
