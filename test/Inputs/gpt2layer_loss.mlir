// A GPT of two layers: level 1, as the front end would write it for examples/gpt with small sizes. Dropout, tied embedding, learned
// positions, gelu (tanh), AdamW under a cosine schedule. Two microbatches of 4 sequences; the vocabulary (13) does not divide by the
// model axis.

!embed_vocab = !mtf.tensor<[embed=12, vocab=13], f32>
!embed_seq = !mtf.tensor<[embed=12, seq=8], f32>
!embed_layers = !mtf.tensor<[embed=12, layers=2], f32>
!embed_head_heads_layers = !mtf.tensor<[embed=12, head=6, heads=2, layers=2], f32>
!embed_ff_layers = !mtf.tensor<[embed=12, ff=24, layers=2], f32>
!ff_layers = !mtf.tensor<[ff=24, layers=2], f32>
!embed = !mtf.tensor<[embed=12], f32>
!batch_embed_seq = !mtf.tensor<[batch=4, embed=12, seq=8], f32>
!batch_seq_i32 = !mtf.tensor<[batch=4, seq=8], i32>
!scalar_i32 = !mtf.tensor<[], i32>
!scalar = !mtf.tensor<[], f32>
!embed_head_heads = !mtf.tensor<[embed=12, head=6, heads=2], f32>
!embed_ff = !mtf.tensor<[embed=12, ff=24], f32>
!ff = !mtf.tensor<[ff=24], f32>
!batch_seq = !mtf.tensor<[batch=4, seq=8], f32>
!batch_head_heads_seq = !mtf.tensor<[batch=4, head=6, heads=2, seq=8], f32>
!batch_head_heads_mem = !mtf.tensor<[batch=4, head=6, heads=2, mem=8], f32>
!seq_i32 = !mtf.tensor<[seq=8], i32>
!mem_i32 = !mtf.tensor<[mem=8], i32>
!mem_seq_i1 = !mtf.tensor<[mem=8, seq=8], i1>
!batch_heads_seq = !mtf.tensor<[batch=4, heads=2, seq=8], f32>
!batch_ff_seq = !mtf.tensor<[batch=4, ff=24, seq=8], f32>
!batch_seq_vocab = !mtf.tensor<[batch=4, seq=8, vocab=13], f32>

module attributes {
  mtf.mesh = #mtf.mesh<"pod", ["data"=2, "model"=2]>,
  mtf.dim_order = ["batch", "seq", "mem", "vocab", "embed", "heads", "head", "ff", "layers"],
  mtf.layout = #mtf.layout<[#mtf.rule<["batch"] -> ["data"] all "" loc(unknown)>,
                            #mtf.rule<["heads", "ff", "vocab"] -> ["model"] all "" loc(unknown)>]>,
  mtf.microbatches = 2 : i64, mtf.precision = "f32", mtf.clip = 1.0 : f64, mtf.steps = 200 : i64, mtf.batch_dim = "batch"
} {
  mtf.param @gpt.wte : !embed_vocab init <normal 0.02 : f64>
    {order = ["vocab", "embed"], fan_in = ["vocab", "embed"], fan_out = [], group = "default", update = @update.gpt.wte, states = ["m", "v"]}
  mtf.param @gpt.wpe : !embed_seq init <normal 0.02 : f64>
    {order = ["seq", "embed"], fan_in = ["seq", "embed"], fan_out = [], group = "default", update = @update.gpt.wpe, states = ["m", "v"]}
  mtf.param @gpt.block.ln1.gain : !embed_layers init <constant 1.0 : f64>
    {order = ["layers", "embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.block.ln1.gain, states = ["m", "v"]}
  mtf.param @gpt.block.ln1.bias : !embed_layers init <constant 0.0 : f64>
    {order = ["layers", "embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.block.ln1.bias, states = ["m", "v"]}
  mtf.param @gpt.block.attn.wq : !embed_head_heads_layers init <normal 0.02 : f64>
    {order = ["layers", "embed", "heads", "head"], fan_in = ["embed"], fan_out = ["heads", "head"], group = "default", update = @update.gpt.block.attn.wq, states = ["m", "v"]}
  mtf.param @gpt.block.attn.wk : !embed_head_heads_layers init <normal 0.02 : f64>
    {order = ["layers", "embed", "heads", "head"], fan_in = ["embed"], fan_out = ["heads", "head"], group = "default", update = @update.gpt.block.attn.wk, states = ["m", "v"]}
  mtf.param @gpt.block.attn.wv : !embed_head_heads_layers init <normal 0.02 : f64>
    {order = ["layers", "embed", "heads", "head"], fan_in = ["embed"], fan_out = ["heads", "head"], group = "default", update = @update.gpt.block.attn.wv, states = ["m", "v"]}
  mtf.param @gpt.block.attn.wo : !embed_head_heads_layers init <normal 0.01 : f64>
    {order = ["layers", "heads", "head", "embed"], fan_in = ["heads", "head"], fan_out = ["embed"], group = "default", update = @update.gpt.block.attn.wo, states = ["m", "v"]}
  mtf.param @gpt.block.ln2.gain : !embed_layers init <constant 1.0 : f64>
    {order = ["layers", "embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.block.ln2.gain, states = ["m", "v"]}
  mtf.param @gpt.block.ln2.bias : !embed_layers init <constant 0.0 : f64>
    {order = ["layers", "embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.block.ln2.bias, states = ["m", "v"]}
  mtf.param @gpt.block.mlp.w1 : !embed_ff_layers init <normal 0.02 : f64>
    {order = ["layers", "embed", "ff"], fan_in = ["embed"], fan_out = ["ff"], group = "default", update = @update.gpt.block.mlp.w1, states = ["m", "v"]}
  mtf.param @gpt.block.mlp.b1 : !ff_layers init <constant 0.0 : f64>
    {order = ["layers", "ff"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.block.mlp.b1, states = ["m", "v"]}
  mtf.param @gpt.block.mlp.w2 : !embed_ff_layers init <normal 0.01 : f64>
    {order = ["layers", "ff", "embed"], fan_in = ["ff"], fan_out = ["embed"], group = "default", update = @update.gpt.block.mlp.w2, states = ["m", "v"]}
  mtf.param @gpt.block.mlp.b2 : !embed_layers init <constant 0.0 : f64>
    {order = ["layers", "embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.block.mlp.b2, states = ["m", "v"]}
  mtf.param @gpt.ln_f.gain : !embed init <constant 1.0 : f64>
    {order = ["embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.ln_f.gain, states = ["m", "v"]}
  mtf.param @gpt.ln_f.bias : !embed init <constant 0.0 : f64>
    {order = ["embed"], fan_in = [], fan_out = [], no_arrow, group = "no_arrow", update = @update.gpt.ln_f.bias, states = ["m", "v"]}

  func.func @loss(%wte: !embed_vocab {mtf.param = @gpt.wte}, %wpe: !embed_seq {mtf.param = @gpt.wpe},
                  %ln1_gain: !embed_layers {mtf.param = @gpt.block.ln1.gain}, %ln1_bias: !embed_layers {mtf.param = @gpt.block.ln1.bias},
                  %attn_wq: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wq}, %attn_wk: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wk},
                  %attn_wv: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wv}, %attn_wo: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wo},
                  %ln2_gain: !embed_layers {mtf.param = @gpt.block.ln2.gain}, %ln2_bias: !embed_layers {mtf.param = @gpt.block.ln2.bias},
                  %mlp_w1: !embed_ff_layers {mtf.param = @gpt.block.mlp.w1}, %mlp_b1: !ff_layers {mtf.param = @gpt.block.mlp.b1},
                  %mlp_w2: !embed_ff_layers {mtf.param = @gpt.block.mlp.w2}, %mlp_b2: !embed_layers {mtf.param = @gpt.block.mlp.b2},
                  %ln_f_gain: !embed {mtf.param = @gpt.ln_f.gain}, %ln_f_bias: !embed {mtf.param = @gpt.ln_f.bias},
                  %tokens: !batch_seq_i32 {mtf.data = "tokens"}, %targets: !batch_seq_i32 {mtf.data = "targets"},
                  %seed: !scalar_i32 {mtf.input = "seed"}, %step: !scalar_i32 {mtf.input = "step"}) -> (!scalar {mtf.result = "loss"}) {
    %tok = mtf.gather %wte["vocab" = %tokens] : (!embed_vocab, !batch_seq_i32) -> !batch_embed_seq
    %x0 = mtf.add %tok, %wpe : (!batch_embed_seq, !embed_seq) -> !batch_embed_seq
    %x1mask = mtf.random bernoulli 0.9 "gpt.drop" order ["batch", "seq", "embed"] [8, 8, 12] key (%seed, %step) offsets [] () : (!scalar_i32, !scalar_i32) -> !batch_embed_seq
    %x1keep = mtf.constant 0.9 : f32 : !scalar
    %x1inv = mtf.div %x1mask, %x1keep : (!batch_embed_seq, !scalar) -> !batch_embed_seq
    %x1 = mtf.mul %x0, %x1inv : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
    %h = mtf.repeat "layers" 2 carries(%x1 : !batch_embed_seq)
        slices(%ln1_gain, %ln1_bias, %attn_wq, %attn_wk, %attn_wv, %attn_wo, %ln2_gain, %ln2_bias, %mlp_w1, %mlp_b1, %mlp_w2, %mlp_b2 : !embed_layers, !embed_layers, !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers, !embed_layers, !embed_layers, !embed_ff_layers, !ff_layers, !embed_ff_layers, !embed_layers) -> !batch_embed_seq {
    ^bb0(%layer: !scalar_i32, %x: !batch_embed_seq, %ln1_gain_l: !embed, %ln1_bias_l: !embed,
         %attn_wq_l: !embed_head_heads, %attn_wk_l: !embed_head_heads, %attn_wv_l: !embed_head_heads, %attn_wo_l: !embed_head_heads, %ln2_gain_l: !embed,
         %ln2_bias_l: !embed, %mlp_w1_l: !embed_ff, %mlp_b1_l: !ff, %mlp_w2_l: !embed_ff, %mlp_b2_l: !embed):
      %ln1n = mtf.constant 12.0 : f32 : !scalar
      %ln1sum = mtf.reduce sum %x over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln1mean = mtf.div %ln1sum, %ln1n : (!batch_seq, !scalar) -> !batch_seq
      %ln1d = mtf.sub %x, %ln1mean : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln1sq = mtf.mul %ln1d, %ln1d : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %ln1ssq = mtf.reduce sum %ln1sq over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln1var = mtf.div %ln1ssq, %ln1n : (!batch_seq, !scalar) -> !batch_seq
      %ln1eps = mtf.constant 1.0e-5 : f32 : !scalar
      %ln1vareps = mtf.add %ln1var, %ln1eps : (!batch_seq, !scalar) -> !batch_seq
      %ln1rstd = mtf.rsqrt %ln1vareps : (!batch_seq) -> !batch_seq
      %ln1hat = mtf.mul %ln1d, %ln1rstd : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln1scaled = mtf.mul %ln1hat, %ln1_gain_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %ln1 = mtf.add %ln1scaled, %ln1_bias_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %q = mtf.dot %ln1, %attn_wq_l over ["embed"] : (!batch_embed_seq, !embed_head_heads) -> !batch_head_heads_seq
      %k0 = mtf.dot %ln1, %attn_wk_l over ["embed"] : (!batch_embed_seq, !embed_head_heads) -> !batch_head_heads_seq
      %v0 = mtf.dot %ln1, %attn_wv_l over ["embed"] : (!batch_embed_seq, !embed_head_heads) -> !batch_head_heads_seq
      %k = mtf.rename %k0 ["seq"] to ["mem"] : (!batch_head_heads_seq) -> !batch_head_heads_mem
      %v = mtf.rename %v0 ["seq"] to ["mem"] : (!batch_head_heads_seq) -> !batch_head_heads_mem
      %i = mtf.index "seq" : !seq_i32
      %j = mtf.index "mem" : !mem_i32
      %causal = mtf.compare le %j, %i : (!mem_i32, !seq_i32) -> !mem_seq_i1
      %o, %lse = mtf.attend %q, %k, %v where %causal over ["head"], "mem" scale 0.408248290463863
        : (!batch_head_heads_seq, !batch_head_heads_mem, !batch_head_heads_mem, !mem_seq_i1) -> (!batch_head_heads_seq, !batch_heads_seq)
      %proj = mtf.dot %o, %attn_wo_l over ["head", "heads"] : (!batch_head_heads_seq, !embed_head_heads) -> !batch_embed_seq
      %attnmask = mtf.random bernoulli 0.9 "gpt.block.attn.drop" order ["batch", "seq", "embed"] [8, 8, 12] key (%seed, %step, %layer) offsets [] () : (!scalar_i32, !scalar_i32, !scalar_i32) -> !batch_embed_seq
      %attnkeep = mtf.constant 0.9 : f32 : !scalar
      %attninv = mtf.div %attnmask, %attnkeep : (!batch_embed_seq, !scalar) -> !batch_embed_seq
      %attn = mtf.mul %proj, %attninv : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %y = mtf.add %x, %attn : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %ln2n = mtf.constant 12.0 : f32 : !scalar
      %ln2sum = mtf.reduce sum %y over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln2mean = mtf.div %ln2sum, %ln2n : (!batch_seq, !scalar) -> !batch_seq
      %ln2d = mtf.sub %y, %ln2mean : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln2sq = mtf.mul %ln2d, %ln2d : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %ln2ssq = mtf.reduce sum %ln2sq over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln2var = mtf.div %ln2ssq, %ln2n : (!batch_seq, !scalar) -> !batch_seq
      %ln2eps = mtf.constant 1.0e-5 : f32 : !scalar
      %ln2vareps = mtf.add %ln2var, %ln2eps : (!batch_seq, !scalar) -> !batch_seq
      %ln2rstd = mtf.rsqrt %ln2vareps : (!batch_seq) -> !batch_seq
      %ln2hat = mtf.mul %ln2d, %ln2rstd : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln2scaled = mtf.mul %ln2hat, %ln2_gain_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %ln2 = mtf.add %ln2scaled, %ln2_bias_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %up0 = mtf.dot %ln2, %mlp_w1_l over ["embed"] : (!batch_embed_seq, !embed_ff) -> !batch_ff_seq
      %up = mtf.add %up0, %mlp_b1_l : (!batch_ff_seq, !ff) -> !batch_ff_seq
      %up2 = mtf.mul %up, %up : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %up3 = mtf.mul %up2, %up : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %c1 = mtf.constant 0.044715 : f32 : !scalar
      %cub = mtf.mul %up3, %c1 : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %in0 = mtf.add %up, %cub : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %c2 = mtf.constant 0.7978845608028654 : f32 : !scalar
      %in1 = mtf.mul %in0, %c2 : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %th = mtf.tanh %in1 : (!batch_ff_seq) -> !batch_ff_seq
      %one = mtf.constant 1.0 : f32 : !scalar
      %onep = mtf.add %th, %one : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %half = mtf.constant 0.5 : f32 : !scalar
      %hu = mtf.mul %up, %half : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %gelu = mtf.mul %hu, %onep : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %down0 = mtf.dot %gelu, %mlp_w2_l over ["ff"] : (!batch_ff_seq, !embed_ff) -> !batch_embed_seq
      %down = mtf.add %down0, %mlp_b2_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %mlpmask = mtf.random bernoulli 0.9 "gpt.block.mlp.drop" order ["batch", "seq", "embed"] [8, 8, 12] key (%seed, %step, %layer) offsets [] () : (!scalar_i32, !scalar_i32, !scalar_i32) -> !batch_embed_seq
      %mlpkeep = mtf.constant 0.9 : f32 : !scalar
      %mlpinv = mtf.div %mlpmask, %mlpkeep : (!batch_embed_seq, !scalar) -> !batch_embed_seq
      %mlp = mtf.mul %down, %mlpinv : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %z = mtf.add %y, %mlp : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      mtf.next carries(%z : !batch_embed_seq) stacks()
    }
    %lnfn = mtf.constant 12.0 : f32 : !scalar
    %lnfsum = mtf.reduce sum %h over ["embed"] : (!batch_embed_seq) -> !batch_seq
    %lnfmean = mtf.div %lnfsum, %lnfn : (!batch_seq, !scalar) -> !batch_seq
    %lnfd = mtf.sub %h, %lnfmean : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
    %lnfsq = mtf.mul %lnfd, %lnfd : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
    %lnfssq = mtf.reduce sum %lnfsq over ["embed"] : (!batch_embed_seq) -> !batch_seq
    %lnfvar = mtf.div %lnfssq, %lnfn : (!batch_seq, !scalar) -> !batch_seq
    %lnfeps = mtf.constant 1.0e-5 : f32 : !scalar
    %lnfvareps = mtf.add %lnfvar, %lnfeps : (!batch_seq, !scalar) -> !batch_seq
    %lnfrstd = mtf.rsqrt %lnfvareps : (!batch_seq) -> !batch_seq
    %lnfhat = mtf.mul %lnfd, %lnfrstd : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
    %lnfscaled = mtf.mul %lnfhat, %ln_f_gain : (!batch_embed_seq, !embed) -> !batch_embed_seq
    %lnf = mtf.add %lnfscaled, %ln_f_bias : (!batch_embed_seq, !embed) -> !batch_embed_seq
    %logits = mtf.dot %lnf, %wte over ["embed"] : (!batch_embed_seq, !embed_vocab) -> !batch_seq_vocab
    %logz = mtf.logsumexp %logits over ["vocab"] : (!batch_seq_vocab) -> !batch_seq
    %picked = mtf.gather %logits["vocab" = %targets] : (!batch_seq_vocab, !batch_seq_i32) -> !batch_seq
    %nll = mtf.sub %logz, %picked : (!batch_seq, !batch_seq) -> !batch_seq
    %total = mtf.reduce sum %nll over ["batch", "seq"] : (!batch_seq) -> !scalar
    return %total : !scalar
  }

  func.func @weight(%tokens: !batch_seq_i32 {mtf.data = "tokens"}, %targets: !batch_seq_i32 {mtf.data = "targets"}) -> !scalar {
    %one = mtf.constant 1.0 : f32 : !scalar
    %ones = mtf.broadcast %one : (!scalar) -> !batch_seq
    %sum = mtf.reduce sum %ones over ["batch", "seq"] : (!batch_seq) -> !scalar
    return %sum : !scalar
  }

  func.func @eval(%wte: !embed_vocab {mtf.param = @gpt.wte}, %wpe: !embed_seq {mtf.param = @gpt.wpe},
                  %ln1_gain: !embed_layers {mtf.param = @gpt.block.ln1.gain}, %ln1_bias: !embed_layers {mtf.param = @gpt.block.ln1.bias},
                  %attn_wq: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wq}, %attn_wk: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wk},
                  %attn_wv: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wv}, %attn_wo: !embed_head_heads_layers {mtf.param = @gpt.block.attn.wo},
                  %ln2_gain: !embed_layers {mtf.param = @gpt.block.ln2.gain}, %ln2_bias: !embed_layers {mtf.param = @gpt.block.ln2.bias},
                  %mlp_w1: !embed_ff_layers {mtf.param = @gpt.block.mlp.w1}, %mlp_b1: !ff_layers {mtf.param = @gpt.block.mlp.b1},
                  %mlp_w2: !embed_ff_layers {mtf.param = @gpt.block.mlp.w2}, %mlp_b2: !embed_layers {mtf.param = @gpt.block.mlp.b2},
                  %ln_f_gain: !embed {mtf.param = @gpt.ln_f.gain}, %ln_f_bias: !embed {mtf.param = @gpt.ln_f.bias},
                  %tokens: !batch_seq_i32 {mtf.data = "tokens"}, %targets: !batch_seq_i32 {mtf.data = "targets"}) -> (!scalar {mtf.result = "loss"}) {
    %tok = mtf.gather %wte["vocab" = %tokens] : (!embed_vocab, !batch_seq_i32) -> !batch_embed_seq
    %x0 = mtf.add %tok, %wpe : (!batch_embed_seq, !embed_seq) -> !batch_embed_seq
    %h = mtf.repeat "layers" 2 carries(%x0 : !batch_embed_seq)
        slices(%ln1_gain, %ln1_bias, %attn_wq, %attn_wk, %attn_wv, %attn_wo, %ln2_gain, %ln2_bias, %mlp_w1, %mlp_b1, %mlp_w2, %mlp_b2 : !embed_layers, !embed_layers, !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers, !embed_layers, !embed_layers, !embed_ff_layers, !ff_layers, !embed_ff_layers, !embed_layers) -> !batch_embed_seq {
    ^bb0(%layer: !scalar_i32, %x: !batch_embed_seq, %ln1_gain_l: !embed, %ln1_bias_l: !embed,
         %attn_wq_l: !embed_head_heads, %attn_wk_l: !embed_head_heads, %attn_wv_l: !embed_head_heads, %attn_wo_l: !embed_head_heads, %ln2_gain_l: !embed,
         %ln2_bias_l: !embed, %mlp_w1_l: !embed_ff, %mlp_b1_l: !ff, %mlp_w2_l: !embed_ff, %mlp_b2_l: !embed):
      %ln1n = mtf.constant 12.0 : f32 : !scalar
      %ln1sum = mtf.reduce sum %x over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln1mean = mtf.div %ln1sum, %ln1n : (!batch_seq, !scalar) -> !batch_seq
      %ln1d = mtf.sub %x, %ln1mean : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln1sq = mtf.mul %ln1d, %ln1d : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %ln1ssq = mtf.reduce sum %ln1sq over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln1var = mtf.div %ln1ssq, %ln1n : (!batch_seq, !scalar) -> !batch_seq
      %ln1eps = mtf.constant 1.0e-5 : f32 : !scalar
      %ln1vareps = mtf.add %ln1var, %ln1eps : (!batch_seq, !scalar) -> !batch_seq
      %ln1rstd = mtf.rsqrt %ln1vareps : (!batch_seq) -> !batch_seq
      %ln1hat = mtf.mul %ln1d, %ln1rstd : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln1scaled = mtf.mul %ln1hat, %ln1_gain_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %ln1 = mtf.add %ln1scaled, %ln1_bias_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %q = mtf.dot %ln1, %attn_wq_l over ["embed"] : (!batch_embed_seq, !embed_head_heads) -> !batch_head_heads_seq
      %k0 = mtf.dot %ln1, %attn_wk_l over ["embed"] : (!batch_embed_seq, !embed_head_heads) -> !batch_head_heads_seq
      %v0 = mtf.dot %ln1, %attn_wv_l over ["embed"] : (!batch_embed_seq, !embed_head_heads) -> !batch_head_heads_seq
      %k = mtf.rename %k0 ["seq"] to ["mem"] : (!batch_head_heads_seq) -> !batch_head_heads_mem
      %v = mtf.rename %v0 ["seq"] to ["mem"] : (!batch_head_heads_seq) -> !batch_head_heads_mem
      %i = mtf.index "seq" : !seq_i32
      %j = mtf.index "mem" : !mem_i32
      %causal = mtf.compare le %j, %i : (!mem_i32, !seq_i32) -> !mem_seq_i1
      %o, %lse = mtf.attend %q, %k, %v where %causal over ["head"], "mem" scale 0.408248290463863
        : (!batch_head_heads_seq, !batch_head_heads_mem, !batch_head_heads_mem, !mem_seq_i1) -> (!batch_head_heads_seq, !batch_heads_seq)
      %proj = mtf.dot %o, %attn_wo_l over ["head", "heads"] : (!batch_head_heads_seq, !embed_head_heads) -> !batch_embed_seq
      %y = mtf.add %x, %proj : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %ln2n = mtf.constant 12.0 : f32 : !scalar
      %ln2sum = mtf.reduce sum %y over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln2mean = mtf.div %ln2sum, %ln2n : (!batch_seq, !scalar) -> !batch_seq
      %ln2d = mtf.sub %y, %ln2mean : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln2sq = mtf.mul %ln2d, %ln2d : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      %ln2ssq = mtf.reduce sum %ln2sq over ["embed"] : (!batch_embed_seq) -> !batch_seq
      %ln2var = mtf.div %ln2ssq, %ln2n : (!batch_seq, !scalar) -> !batch_seq
      %ln2eps = mtf.constant 1.0e-5 : f32 : !scalar
      %ln2vareps = mtf.add %ln2var, %ln2eps : (!batch_seq, !scalar) -> !batch_seq
      %ln2rstd = mtf.rsqrt %ln2vareps : (!batch_seq) -> !batch_seq
      %ln2hat = mtf.mul %ln2d, %ln2rstd : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
      %ln2scaled = mtf.mul %ln2hat, %ln2_gain_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %ln2 = mtf.add %ln2scaled, %ln2_bias_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %up0 = mtf.dot %ln2, %mlp_w1_l over ["embed"] : (!batch_embed_seq, !embed_ff) -> !batch_ff_seq
      %up = mtf.add %up0, %mlp_b1_l : (!batch_ff_seq, !ff) -> !batch_ff_seq
      %up2 = mtf.mul %up, %up : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %up3 = mtf.mul %up2, %up : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %c1 = mtf.constant 0.044715 : f32 : !scalar
      %cub = mtf.mul %up3, %c1 : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %in0 = mtf.add %up, %cub : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %c2 = mtf.constant 0.7978845608028654 : f32 : !scalar
      %in1 = mtf.mul %in0, %c2 : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %th = mtf.tanh %in1 : (!batch_ff_seq) -> !batch_ff_seq
      %one = mtf.constant 1.0 : f32 : !scalar
      %onep = mtf.add %th, %one : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %half = mtf.constant 0.5 : f32 : !scalar
      %hu = mtf.mul %up, %half : (!batch_ff_seq, !scalar) -> !batch_ff_seq
      %gelu = mtf.mul %hu, %onep : (!batch_ff_seq, !batch_ff_seq) -> !batch_ff_seq
      %down0 = mtf.dot %gelu, %mlp_w2_l over ["ff"] : (!batch_ff_seq, !embed_ff) -> !batch_embed_seq
      %down = mtf.add %down0, %mlp_b2_l : (!batch_embed_seq, !embed) -> !batch_embed_seq
      %z = mtf.add %y, %down : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
      mtf.next carries(%z : !batch_embed_seq) stacks()
    }
    %lnfn = mtf.constant 12.0 : f32 : !scalar
    %lnfsum = mtf.reduce sum %h over ["embed"] : (!batch_embed_seq) -> !batch_seq
    %lnfmean = mtf.div %lnfsum, %lnfn : (!batch_seq, !scalar) -> !batch_seq
    %lnfd = mtf.sub %h, %lnfmean : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
    %lnfsq = mtf.mul %lnfd, %lnfd : (!batch_embed_seq, !batch_embed_seq) -> !batch_embed_seq
    %lnfssq = mtf.reduce sum %lnfsq over ["embed"] : (!batch_embed_seq) -> !batch_seq
    %lnfvar = mtf.div %lnfssq, %lnfn : (!batch_seq, !scalar) -> !batch_seq
    %lnfeps = mtf.constant 1.0e-5 : f32 : !scalar
    %lnfvareps = mtf.add %lnfvar, %lnfeps : (!batch_seq, !scalar) -> !batch_seq
    %lnfrstd = mtf.rsqrt %lnfvareps : (!batch_seq) -> !batch_seq
    %lnfhat = mtf.mul %lnfd, %lnfrstd : (!batch_embed_seq, !batch_seq) -> !batch_embed_seq
    %lnfscaled = mtf.mul %lnfhat, %ln_f_gain : (!batch_embed_seq, !embed) -> !batch_embed_seq
    %lnf = mtf.add %lnfscaled, %ln_f_bias : (!batch_embed_seq, !embed) -> !batch_embed_seq
    %logits = mtf.dot %lnf, %wte over ["embed"] : (!batch_embed_seq, !embed_vocab) -> !batch_seq_vocab
    %logz = mtf.logsumexp %logits over ["vocab"] : (!batch_seq_vocab) -> !batch_seq
    %picked = mtf.gather %logits["vocab" = %targets] : (!batch_seq_vocab, !batch_seq_i32) -> !batch_seq
    %nll = mtf.sub %logz, %picked : (!batch_seq, !batch_seq) -> !batch_seq
    %total = mtf.reduce sum %nll over ["batch", "seq"] : (!batch_seq) -> !scalar
    return %total : !scalar
  }

  func.func @update.gpt.wte(%w: !embed_vocab, %g: !embed_vocab, %m: !embed_vocab, %v: !embed_vocab, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_vocab, !embed_vocab, !embed_vocab) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_vocab, !scalar) -> !embed_vocab
    %gm = mtf.mul %g, %c1 : (!embed_vocab, !scalar) -> !embed_vocab
    %m1 = mtf.add %bm, %gm : (!embed_vocab, !embed_vocab) -> !embed_vocab
    %gg = mtf.mul %g, %g : (!embed_vocab, !embed_vocab) -> !embed_vocab
    %bv = mtf.mul %v, %b2 : (!embed_vocab, !scalar) -> !embed_vocab
    %gv = mtf.mul %gg, %c2 : (!embed_vocab, !scalar) -> !embed_vocab
    %v1 = mtf.add %bv, %gv : (!embed_vocab, !embed_vocab) -> !embed_vocab
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_vocab, !scalar) -> !embed_vocab
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_vocab, !scalar) -> !embed_vocab
    %root = mtf.sqrt %vhat : (!embed_vocab) -> !embed_vocab
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_vocab, !scalar) -> !embed_vocab
    %dir = mtf.div %mhat, %den : (!embed_vocab, !embed_vocab) -> !embed_vocab
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_vocab, !scalar) -> !embed_vocab
    %dir2 = mtf.add %dir, %decay : (!embed_vocab, !embed_vocab) -> !embed_vocab
    %delta = mtf.mul %dir2, %lr : (!embed_vocab, !scalar) -> !embed_vocab
    %w1 = mtf.sub %w, %delta : (!embed_vocab, !embed_vocab) -> !embed_vocab
    return %w1, %m1, %v1 : !embed_vocab, !embed_vocab, !embed_vocab
  }

  func.func @update.gpt.wpe(%w: !embed_seq, %g: !embed_seq, %m: !embed_seq, %v: !embed_seq, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_seq, !embed_seq, !embed_seq) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_seq, !scalar) -> !embed_seq
    %gm = mtf.mul %g, %c1 : (!embed_seq, !scalar) -> !embed_seq
    %m1 = mtf.add %bm, %gm : (!embed_seq, !embed_seq) -> !embed_seq
    %gg = mtf.mul %g, %g : (!embed_seq, !embed_seq) -> !embed_seq
    %bv = mtf.mul %v, %b2 : (!embed_seq, !scalar) -> !embed_seq
    %gv = mtf.mul %gg, %c2 : (!embed_seq, !scalar) -> !embed_seq
    %v1 = mtf.add %bv, %gv : (!embed_seq, !embed_seq) -> !embed_seq
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_seq, !scalar) -> !embed_seq
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_seq, !scalar) -> !embed_seq
    %root = mtf.sqrt %vhat : (!embed_seq) -> !embed_seq
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_seq, !scalar) -> !embed_seq
    %dir = mtf.div %mhat, %den : (!embed_seq, !embed_seq) -> !embed_seq
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_seq, !scalar) -> !embed_seq
    %dir2 = mtf.add %dir, %decay : (!embed_seq, !embed_seq) -> !embed_seq
    %delta = mtf.mul %dir2, %lr : (!embed_seq, !scalar) -> !embed_seq
    %w1 = mtf.sub %w, %delta : (!embed_seq, !embed_seq) -> !embed_seq
    return %w1, %m1, %v1 : !embed_seq, !embed_seq, !embed_seq
  }

  func.func @update.gpt.block.ln1.gain(%w: !embed_layers, %g: !embed_layers, %m: !embed_layers, %v: !embed_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_layers, !embed_layers, !embed_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_layers, !scalar) -> !embed_layers
    %gm = mtf.mul %g, %c1 : (!embed_layers, !scalar) -> !embed_layers
    %m1 = mtf.add %bm, %gm : (!embed_layers, !embed_layers) -> !embed_layers
    %gg = mtf.mul %g, %g : (!embed_layers, !embed_layers) -> !embed_layers
    %bv = mtf.mul %v, %b2 : (!embed_layers, !scalar) -> !embed_layers
    %gv = mtf.mul %gg, %c2 : (!embed_layers, !scalar) -> !embed_layers
    %v1 = mtf.add %bv, %gv : (!embed_layers, !embed_layers) -> !embed_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_layers, !scalar) -> !embed_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_layers, !scalar) -> !embed_layers
    %root = mtf.sqrt %vhat : (!embed_layers) -> !embed_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_layers, !scalar) -> !embed_layers
    %dir = mtf.div %mhat, %den : (!embed_layers, !embed_layers) -> !embed_layers
    %delta = mtf.mul %dir, %lr : (!embed_layers, !scalar) -> !embed_layers
    %w1 = mtf.sub %w, %delta : (!embed_layers, !embed_layers) -> !embed_layers
    return %w1, %m1, %v1 : !embed_layers, !embed_layers, !embed_layers
  }

  func.func @update.gpt.block.ln1.bias(%w: !embed_layers, %g: !embed_layers, %m: !embed_layers, %v: !embed_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_layers, !embed_layers, !embed_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_layers, !scalar) -> !embed_layers
    %gm = mtf.mul %g, %c1 : (!embed_layers, !scalar) -> !embed_layers
    %m1 = mtf.add %bm, %gm : (!embed_layers, !embed_layers) -> !embed_layers
    %gg = mtf.mul %g, %g : (!embed_layers, !embed_layers) -> !embed_layers
    %bv = mtf.mul %v, %b2 : (!embed_layers, !scalar) -> !embed_layers
    %gv = mtf.mul %gg, %c2 : (!embed_layers, !scalar) -> !embed_layers
    %v1 = mtf.add %bv, %gv : (!embed_layers, !embed_layers) -> !embed_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_layers, !scalar) -> !embed_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_layers, !scalar) -> !embed_layers
    %root = mtf.sqrt %vhat : (!embed_layers) -> !embed_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_layers, !scalar) -> !embed_layers
    %dir = mtf.div %mhat, %den : (!embed_layers, !embed_layers) -> !embed_layers
    %delta = mtf.mul %dir, %lr : (!embed_layers, !scalar) -> !embed_layers
    %w1 = mtf.sub %w, %delta : (!embed_layers, !embed_layers) -> !embed_layers
    return %w1, %m1, %v1 : !embed_layers, !embed_layers, !embed_layers
  }

  func.func @update.gpt.block.attn.wq(%w: !embed_head_heads_layers, %g: !embed_head_heads_layers, %m: !embed_head_heads_layers, %v: !embed_head_heads_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gm = mtf.mul %g, %c1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %m1 = mtf.add %bm, %gm : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %gg = mtf.mul %g, %g : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %bv = mtf.mul %v, %b2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gv = mtf.mul %gg, %c2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %v1 = mtf.add %bv, %gv : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %root = mtf.sqrt %vhat : (!embed_head_heads_layers) -> !embed_head_heads_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir = mtf.div %mhat, %den : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir2 = mtf.add %dir, %decay : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %delta = mtf.mul %dir2, %lr : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %w1 = mtf.sub %w, %delta : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    return %w1, %m1, %v1 : !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers
  }

  func.func @update.gpt.block.attn.wk(%w: !embed_head_heads_layers, %g: !embed_head_heads_layers, %m: !embed_head_heads_layers, %v: !embed_head_heads_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gm = mtf.mul %g, %c1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %m1 = mtf.add %bm, %gm : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %gg = mtf.mul %g, %g : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %bv = mtf.mul %v, %b2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gv = mtf.mul %gg, %c2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %v1 = mtf.add %bv, %gv : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %root = mtf.sqrt %vhat : (!embed_head_heads_layers) -> !embed_head_heads_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir = mtf.div %mhat, %den : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir2 = mtf.add %dir, %decay : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %delta = mtf.mul %dir2, %lr : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %w1 = mtf.sub %w, %delta : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    return %w1, %m1, %v1 : !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers
  }

  func.func @update.gpt.block.attn.wv(%w: !embed_head_heads_layers, %g: !embed_head_heads_layers, %m: !embed_head_heads_layers, %v: !embed_head_heads_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gm = mtf.mul %g, %c1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %m1 = mtf.add %bm, %gm : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %gg = mtf.mul %g, %g : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %bv = mtf.mul %v, %b2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gv = mtf.mul %gg, %c2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %v1 = mtf.add %bv, %gv : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %root = mtf.sqrt %vhat : (!embed_head_heads_layers) -> !embed_head_heads_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir = mtf.div %mhat, %den : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir2 = mtf.add %dir, %decay : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %delta = mtf.mul %dir2, %lr : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %w1 = mtf.sub %w, %delta : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    return %w1, %m1, %v1 : !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers
  }

  func.func @update.gpt.block.attn.wo(%w: !embed_head_heads_layers, %g: !embed_head_heads_layers, %m: !embed_head_heads_layers, %v: !embed_head_heads_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gm = mtf.mul %g, %c1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %m1 = mtf.add %bm, %gm : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %gg = mtf.mul %g, %g : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %bv = mtf.mul %v, %b2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %gv = mtf.mul %gg, %c2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %v1 = mtf.add %bv, %gv : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %root = mtf.sqrt %vhat : (!embed_head_heads_layers) -> !embed_head_heads_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir = mtf.div %mhat, %den : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %dir2 = mtf.add %dir, %decay : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    %delta = mtf.mul %dir2, %lr : (!embed_head_heads_layers, !scalar) -> !embed_head_heads_layers
    %w1 = mtf.sub %w, %delta : (!embed_head_heads_layers, !embed_head_heads_layers) -> !embed_head_heads_layers
    return %w1, %m1, %v1 : !embed_head_heads_layers, !embed_head_heads_layers, !embed_head_heads_layers
  }

  func.func @update.gpt.block.ln2.gain(%w: !embed_layers, %g: !embed_layers, %m: !embed_layers, %v: !embed_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_layers, !embed_layers, !embed_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_layers, !scalar) -> !embed_layers
    %gm = mtf.mul %g, %c1 : (!embed_layers, !scalar) -> !embed_layers
    %m1 = mtf.add %bm, %gm : (!embed_layers, !embed_layers) -> !embed_layers
    %gg = mtf.mul %g, %g : (!embed_layers, !embed_layers) -> !embed_layers
    %bv = mtf.mul %v, %b2 : (!embed_layers, !scalar) -> !embed_layers
    %gv = mtf.mul %gg, %c2 : (!embed_layers, !scalar) -> !embed_layers
    %v1 = mtf.add %bv, %gv : (!embed_layers, !embed_layers) -> !embed_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_layers, !scalar) -> !embed_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_layers, !scalar) -> !embed_layers
    %root = mtf.sqrt %vhat : (!embed_layers) -> !embed_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_layers, !scalar) -> !embed_layers
    %dir = mtf.div %mhat, %den : (!embed_layers, !embed_layers) -> !embed_layers
    %delta = mtf.mul %dir, %lr : (!embed_layers, !scalar) -> !embed_layers
    %w1 = mtf.sub %w, %delta : (!embed_layers, !embed_layers) -> !embed_layers
    return %w1, %m1, %v1 : !embed_layers, !embed_layers, !embed_layers
  }

  func.func @update.gpt.block.ln2.bias(%w: !embed_layers, %g: !embed_layers, %m: !embed_layers, %v: !embed_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_layers, !embed_layers, !embed_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_layers, !scalar) -> !embed_layers
    %gm = mtf.mul %g, %c1 : (!embed_layers, !scalar) -> !embed_layers
    %m1 = mtf.add %bm, %gm : (!embed_layers, !embed_layers) -> !embed_layers
    %gg = mtf.mul %g, %g : (!embed_layers, !embed_layers) -> !embed_layers
    %bv = mtf.mul %v, %b2 : (!embed_layers, !scalar) -> !embed_layers
    %gv = mtf.mul %gg, %c2 : (!embed_layers, !scalar) -> !embed_layers
    %v1 = mtf.add %bv, %gv : (!embed_layers, !embed_layers) -> !embed_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_layers, !scalar) -> !embed_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_layers, !scalar) -> !embed_layers
    %root = mtf.sqrt %vhat : (!embed_layers) -> !embed_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_layers, !scalar) -> !embed_layers
    %dir = mtf.div %mhat, %den : (!embed_layers, !embed_layers) -> !embed_layers
    %delta = mtf.mul %dir, %lr : (!embed_layers, !scalar) -> !embed_layers
    %w1 = mtf.sub %w, %delta : (!embed_layers, !embed_layers) -> !embed_layers
    return %w1, %m1, %v1 : !embed_layers, !embed_layers, !embed_layers
  }

  func.func @update.gpt.block.mlp.w1(%w: !embed_ff_layers, %g: !embed_ff_layers, %m: !embed_ff_layers, %v: !embed_ff_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_ff_layers, !embed_ff_layers, !embed_ff_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %gm = mtf.mul %g, %c1 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %m1 = mtf.add %bm, %gm : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %gg = mtf.mul %g, %g : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %bv = mtf.mul %v, %b2 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %gv = mtf.mul %gg, %c2 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %v1 = mtf.add %bv, %gv : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %root = mtf.sqrt %vhat : (!embed_ff_layers) -> !embed_ff_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %dir = mtf.div %mhat, %den : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %dir2 = mtf.add %dir, %decay : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %delta = mtf.mul %dir2, %lr : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %w1 = mtf.sub %w, %delta : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    return %w1, %m1, %v1 : !embed_ff_layers, !embed_ff_layers, !embed_ff_layers
  }

  func.func @update.gpt.block.mlp.b1(%w: !ff_layers, %g: !ff_layers, %m: !ff_layers, %v: !ff_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!ff_layers, !ff_layers, !ff_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!ff_layers, !scalar) -> !ff_layers
    %gm = mtf.mul %g, %c1 : (!ff_layers, !scalar) -> !ff_layers
    %m1 = mtf.add %bm, %gm : (!ff_layers, !ff_layers) -> !ff_layers
    %gg = mtf.mul %g, %g : (!ff_layers, !ff_layers) -> !ff_layers
    %bv = mtf.mul %v, %b2 : (!ff_layers, !scalar) -> !ff_layers
    %gv = mtf.mul %gg, %c2 : (!ff_layers, !scalar) -> !ff_layers
    %v1 = mtf.add %bv, %gv : (!ff_layers, !ff_layers) -> !ff_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!ff_layers, !scalar) -> !ff_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!ff_layers, !scalar) -> !ff_layers
    %root = mtf.sqrt %vhat : (!ff_layers) -> !ff_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!ff_layers, !scalar) -> !ff_layers
    %dir = mtf.div %mhat, %den : (!ff_layers, !ff_layers) -> !ff_layers
    %delta = mtf.mul %dir, %lr : (!ff_layers, !scalar) -> !ff_layers
    %w1 = mtf.sub %w, %delta : (!ff_layers, !ff_layers) -> !ff_layers
    return %w1, %m1, %v1 : !ff_layers, !ff_layers, !ff_layers
  }

  func.func @update.gpt.block.mlp.w2(%w: !embed_ff_layers, %g: !embed_ff_layers, %m: !embed_ff_layers, %v: !embed_ff_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_ff_layers, !embed_ff_layers, !embed_ff_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %gm = mtf.mul %g, %c1 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %m1 = mtf.add %bm, %gm : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %gg = mtf.mul %g, %g : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %bv = mtf.mul %v, %b2 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %gv = mtf.mul %gg, %c2 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %v1 = mtf.add %bv, %gv : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %root = mtf.sqrt %vhat : (!embed_ff_layers) -> !embed_ff_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %dir = mtf.div %mhat, %den : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %wd = mtf.constant 0.1 : f32 : !scalar
    %decay = mtf.mul %w, %wd : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %dir2 = mtf.add %dir, %decay : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    %delta = mtf.mul %dir2, %lr : (!embed_ff_layers, !scalar) -> !embed_ff_layers
    %w1 = mtf.sub %w, %delta : (!embed_ff_layers, !embed_ff_layers) -> !embed_ff_layers
    return %w1, %m1, %v1 : !embed_ff_layers, !embed_ff_layers, !embed_ff_layers
  }

  func.func @update.gpt.block.mlp.b2(%w: !embed_layers, %g: !embed_layers, %m: !embed_layers, %v: !embed_layers, %step: !scalar_i32, %total: !scalar_i32) -> (!embed_layers, !embed_layers, !embed_layers) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed_layers, !scalar) -> !embed_layers
    %gm = mtf.mul %g, %c1 : (!embed_layers, !scalar) -> !embed_layers
    %m1 = mtf.add %bm, %gm : (!embed_layers, !embed_layers) -> !embed_layers
    %gg = mtf.mul %g, %g : (!embed_layers, !embed_layers) -> !embed_layers
    %bv = mtf.mul %v, %b2 : (!embed_layers, !scalar) -> !embed_layers
    %gv = mtf.mul %gg, %c2 : (!embed_layers, !scalar) -> !embed_layers
    %v1 = mtf.add %bv, %gv : (!embed_layers, !embed_layers) -> !embed_layers
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed_layers, !scalar) -> !embed_layers
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed_layers, !scalar) -> !embed_layers
    %root = mtf.sqrt %vhat : (!embed_layers) -> !embed_layers
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed_layers, !scalar) -> !embed_layers
    %dir = mtf.div %mhat, %den : (!embed_layers, !embed_layers) -> !embed_layers
    %delta = mtf.mul %dir, %lr : (!embed_layers, !scalar) -> !embed_layers
    %w1 = mtf.sub %w, %delta : (!embed_layers, !embed_layers) -> !embed_layers
    return %w1, %m1, %v1 : !embed_layers, !embed_layers, !embed_layers
  }

  func.func @update.gpt.ln_f.gain(%w: !embed, %g: !embed, %m: !embed, %v: !embed, %step: !scalar_i32, %total: !scalar_i32) -> (!embed, !embed, !embed) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed, !scalar) -> !embed
    %gm = mtf.mul %g, %c1 : (!embed, !scalar) -> !embed
    %m1 = mtf.add %bm, %gm : (!embed, !embed) -> !embed
    %gg = mtf.mul %g, %g : (!embed, !embed) -> !embed
    %bv = mtf.mul %v, %b2 : (!embed, !scalar) -> !embed
    %gv = mtf.mul %gg, %c2 : (!embed, !scalar) -> !embed
    %v1 = mtf.add %bv, %gv : (!embed, !embed) -> !embed
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed, !scalar) -> !embed
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed, !scalar) -> !embed
    %root = mtf.sqrt %vhat : (!embed) -> !embed
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed, !scalar) -> !embed
    %dir = mtf.div %mhat, %den : (!embed, !embed) -> !embed
    %delta = mtf.mul %dir, %lr : (!embed, !scalar) -> !embed
    %w1 = mtf.sub %w, %delta : (!embed, !embed) -> !embed
    return %w1, %m1, %v1 : !embed, !embed, !embed
  }

  func.func @update.gpt.ln_f.bias(%w: !embed, %g: !embed, %m: !embed, %v: !embed, %step: !scalar_i32, %total: !scalar_i32) -> (!embed, !embed, !embed) {
    %s = mtf.cast %step : (!scalar_i32) -> !scalar
    %n = mtf.cast %total : (!scalar_i32) -> !scalar
    %one = mtf.constant 1.0 : f32 : !scalar
    %b1 = mtf.constant 0.9 : f32 : !scalar
    %b2 = mtf.constant 0.95 : f32 : !scalar
    %c1 = mtf.constant 0.1 : f32 : !scalar
    %c2 = mtf.constant 0.05 : f32 : !scalar
    %t = mtf.add %s, %one : (!scalar, !scalar) -> !scalar
    %peak = mtf.constant 1.0e-3 : f32 : !scalar
    %pi = mtf.constant 3.141592653589793 : f32 : !scalar
    %frac = mtf.div %s, %n : (!scalar, !scalar) -> !scalar
    %angle = mtf.mul %frac, %pi : (!scalar, !scalar) -> !scalar
    %cos = mtf.cos %angle : (!scalar) -> !scalar
    %cos1 = mtf.add %cos, %one : (!scalar, !scalar) -> !scalar
    %half = mtf.constant 0.5 : f32 : !scalar
    %cosh = mtf.mul %cos1, %half : (!scalar, !scalar) -> !scalar
    %lr = mtf.mul %cosh, %peak : (!scalar, !scalar) -> !scalar
    %bm = mtf.mul %m, %b1 : (!embed, !scalar) -> !embed
    %gm = mtf.mul %g, %c1 : (!embed, !scalar) -> !embed
    %m1 = mtf.add %bm, %gm : (!embed, !embed) -> !embed
    %gg = mtf.mul %g, %g : (!embed, !embed) -> !embed
    %bv = mtf.mul %v, %b2 : (!embed, !scalar) -> !embed
    %gv = mtf.mul %gg, %c2 : (!embed, !scalar) -> !embed
    %v1 = mtf.add %bv, %gv : (!embed, !embed) -> !embed
    %p1 = mtf.pow %b1, %t : (!scalar, !scalar) -> !scalar
    %k1 = mtf.sub %one, %p1 : (!scalar, !scalar) -> !scalar
    %mhat = mtf.div %m1, %k1 : (!embed, !scalar) -> !embed
    %p2 = mtf.pow %b2, %t : (!scalar, !scalar) -> !scalar
    %k2 = mtf.sub %one, %p2 : (!scalar, !scalar) -> !scalar
    %vhat = mtf.div %v1, %k2 : (!embed, !scalar) -> !embed
    %root = mtf.sqrt %vhat : (!embed) -> !embed
    %eps = mtf.constant 1.0e-8 : f32 : !scalar
    %den = mtf.add %root, %eps : (!embed, !scalar) -> !embed
    %dir = mtf.div %mhat, %den : (!embed, !embed) -> !embed
    %delta = mtf.mul %dir, %lr : (!embed, !scalar) -> !embed
    %w1 = mtf.sub %w, %delta : (!embed, !embed) -> !embed
    return %w1, %m1, %v1 : !embed, !embed, !embed
  }
}
