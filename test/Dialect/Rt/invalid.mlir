// RUN: meshc-opt %s -split-input-file -verify-diagnostics

!X = !rt.buffer<[a=4, b=4], f32>
rt.step @product_ahead {
  %x = rt.alloc : !X
  %y = rt.alloc : !rt.buffer<[a=4, c=4], f32>
  %z = rt.alloc : !rt.buffer<[b=4, c=4], f32>
  // expected-error @+1 {{cannot run 'rt.gemm' ahead}}
  rt.loop "layers" %i : 3 {
  } ahead %j {
    // expected-note @+1 {{it is here}}
    rt.gemm %x, %z into %y batch [] m ["a"] n ["c"] k ["b"] : !X, !rt.buffer<[b=4, c=4], f32>, !rt.buffer<[a=4, c=4], f32>
  }
}

// -----
rt.step @no_iterations {
  // expected-error @+1 {{count must be at least 1, got: 0}}
  rt.loop "layers" %i : 0 {
  }
}
