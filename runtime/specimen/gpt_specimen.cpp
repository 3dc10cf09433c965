//===- gpt_specimen.cpp - What an emitted CPU program should look like ----===//
//
// Written by hand, as the emitter should print it: the steps of a GPT on a mesh
// of `data` x `model` ranks. It fixes the style (short kernels named after the
// user's values, shapes in comments, source lines, one loop over layers) and
// serves as the yardstick of the runtime's speed.
//
// Only two things differ from emitted text. Sizes can be set on the command
// line (-DBATCH=4 ...), and offsets are sums where the compiler prints the
// number.
//
//===----------------------------------------------------------------------===//
#include "meshrt/cpu.h"

using namespace meshrt;
static_assert(kProgramVersion == 1);

namespace {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

#ifndef DATA
#define DATA 1
#endif
#ifndef MODEL
#define MODEL 1
#endif
#ifndef BATCH
#define BATCH 4
#define SEQ 256
#define VOCAB 50257
#define EMBED 768
#define HEADS 12
#define LAYERS 12
#define WARMUP 700
#endif

// mesh pod[data, model]                                          gpt.mesh:9
constexpr Axes kDataAxis{0}, kModelAxis{1};

// Global sizes.
constexpr int64_t kBatch = BATCH, kSeq = SEQ, kVocab = VOCAB, kEmbed = EMBED,
                  kHeads = HEADS, kHead = kEmbed / kHeads, kFf = 4 * kEmbed,
                  kLayers = LAYERS, kWarmup = WARMUP;
constexpr int64_t kVocabPadded = (kVocab + MODEL - 1) / MODEL * MODEL;

// Local sizes.
constexpr int64_t kLocalBatch = kBatch / DATA;
constexpr int64_t kLocalHeads = kHeads / MODEL;
constexpr int64_t kLocalFf = kFf / MODEL;
constexpr int64_t kLocalVocab = kVocabPadded / MODEL;
constexpr int64_t kRows = kLocalBatch * kSeq;          // batch, seq
constexpr int64_t kHeadCols = kLocalHeads * kHead;     // heads, head

//===----------------------------------------------------------------------===//
// Arena: byte offsets
//===----------------------------------------------------------------------===//

constexpr int64_t f32s(int64_t count) { return (count * 4 + 63) / 64 * 64; }

// Parameters, split over `model`:
constexpr int64_t kWte = 0;                                                 // gpt.wte [vocab, embed]
constexpr int64_t kWq = kWte + f32s(kLocalVocab * kEmbed);                  // gpt.block.attn.wq [layers, embed, heads, head]
constexpr int64_t kWk = kWq + f32s(kLayers * kEmbed * kHeadCols);           // gpt.block.attn.wk
constexpr int64_t kWv = kWk + f32s(kLayers * kEmbed * kHeadCols);           // gpt.block.attn.wv
constexpr int64_t kWo = kWv + f32s(kLayers * kEmbed * kHeadCols);           // gpt.block.attn.wo [layers, heads, head, embed]
constexpr int64_t kW1 = kWo + f32s(kLayers * kEmbed * kHeadCols);           // gpt.block.mlp.w1 [layers, embed, ff]
constexpr int64_t kB1 = kW1 + f32s(kLayers * kEmbed * kLocalFf);            // gpt.block.mlp.b1 [layers, ff]
constexpr int64_t kW2 = kB1 + f32s(kLayers * kLocalFf);                     // gpt.block.mlp.w2 [layers, ff, embed]
// and replicated:
constexpr int64_t kB2 = kW2 + f32s(kLayers * kLocalFf * kEmbed);            // gpt.block.mlp.b2 [layers, embed]
constexpr int64_t kWpe = kB2 + f32s(kLayers * kEmbed);                      // gpt.wpe [seq, embed]
constexpr int64_t kLn1Gain = kWpe + f32s(kSeq * kEmbed);                    // gpt.block.ln1.gain [layers, embed]
constexpr int64_t kLn1Bias = kLn1Gain + f32s(kLayers * kEmbed);
constexpr int64_t kLn2Gain = kLn1Bias + f32s(kLayers * kEmbed);
constexpr int64_t kLn2Bias = kLn2Gain + f32s(kLayers * kEmbed);
constexpr int64_t kLnFGain = kLn2Bias + f32s(kLayers * kEmbed);             // gpt.ln_f.gain [embed]
constexpr int64_t kLnFBias = kLnFGain + f32s(kEmbed);
constexpr int64_t kParamsEnd = kLnFBias + f32s(kEmbed);
// Gradients and AdamW's moments lie as the parameters do.
constexpr int64_t kGrad = kParamsEnd, kM = 2 * kParamsEnd, kV = 3 * kParamsEnd;

// Scalars and data.
constexpr int64_t kStep = 4 * kParamsEnd;                                   // i32
constexpr int64_t kTotalSteps = kStep + 64;                                 // i32
constexpr int64_t kLoss = kStep + 128;                                      // f32
constexpr int64_t kGradNorm = kStep + 192;                                  // f32
constexpr int64_t kNumerator = kStep + 256, kDenominator = kStep + 320;     // f32
constexpr int64_t kTokens = kStep + 384;                                    // tokens [batch, seq] i32
constexpr int64_t kTargets = kTokens + f32s(kRows);                         // targets [batch, seq] i32

// Residuals of the forward pass, kept per layer.
constexpr int64_t kX = kTargets + f32s(kRows);                              // x [layers + 1, batch, seq, embed]
constexpr int64_t kLn1 = kX + f32s((kLayers + 1) * kRows * kEmbed);         // ln1 [layers, batch, seq, embed]
constexpr int64_t kLn1Stat = kLn1 + f32s(kLayers * kRows * kEmbed);         // mean, rstd [layers, batch, seq, 2]
constexpr int64_t kQ = kLn1Stat + f32s(kLayers * kRows * 2);                // q [layers, batch, seq, heads, head]
constexpr int64_t kK = kQ + f32s(kLayers * kRows * kHeadCols);
constexpr int64_t kVal = kK + f32s(kLayers * kRows * kHeadCols);
constexpr int64_t kO = kVal + f32s(kLayers * kRows * kHeadCols);
constexpr int64_t kLse = kO + f32s(kLayers * kRows * kHeadCols);            // lse [layers, batch, heads, seq]
constexpr int64_t kY = kLse + f32s(kLayers * kRows * kLocalHeads);          // y [layers, batch, seq, embed]
constexpr int64_t kLn2 = kY + f32s(kLayers * kRows * kEmbed);
constexpr int64_t kLn2Stat = kLn2 + f32s(kLayers * kRows * kEmbed);
constexpr int64_t kH = kLn2Stat + f32s(kLayers * kRows * 2);                // h [layers, batch, seq, ff] before gelu
constexpr int64_t kG = kH + f32s(kLayers * kRows * kLocalFf);               // gelu(h)
constexpr int64_t kLnF = kG + f32s(kLayers * kRows * kLocalFf);             // ln_f [batch, seq, embed]
constexpr int64_t kLnFStat = kLnF + f32s(kRows * kEmbed);
constexpr int64_t kLogits = kLnFStat + f32s(kRows * 2);                     // logits [batch, seq, vocab], then their gradient
// Temporaries.
constexpr int64_t kRowLoss = kLogits + f32s(kRows * kLocalVocab);           // [batch, seq]
constexpr int64_t kRowMax = kRowLoss + f32s(kRows);
constexpr int64_t kRowSums = kRowMax + f32s(kRows);
constexpr int64_t kDx = kRowSums + f32s(2 * kRows);                         // grad(x) [batch, seq, embed]
constexpr int64_t kDn = kDx + f32s(kRows * kEmbed);                         // grad(ln) [batch, seq, embed]
constexpr int64_t kDh = kDn + f32s(kRows * kEmbed);                         // grad(h) [batch, seq, ff]
constexpr int64_t kDo = kDh + f32s(kRows * kLocalFf);                       // grad(o) [batch, seq, heads, head]
constexpr int64_t kDq = kDo + f32s(kRows * kHeadCols);
constexpr int64_t kDk = kDq + f32s(kRows * kHeadCols);
constexpr int64_t kDv = kDk + f32s(kRows * kHeadCols);
constexpr int64_t kArenaBytes = kDv + f32s(kRows * kHeadCols);

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

// x = wte[vocab = tokens] + wpe                                 gpt.mesh:36
// x [batch, seq, embed], wpe [seq, embed]
void addPositions(Rank &rank, float *x, const float *wpe) {
  rank.parallelFor(kRows, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float *xRow = x + i * kEmbed;
      const float *wpeRow = wpe + i % kSeq * kEmbed;
#pragma omp simd
      for (int64_t e = 0; e < kEmbed; ++e)
        xRow[e] += wpeRow[e];
    }
  });
}

// y = x + delta + bias (bias may be absent); ln = layer_norm(y over embed)
//                                                               gpt.mesh:19
// x, delta, y, ln [batch, seq, embed]; stat [batch, seq, 2]; gain, bias [embed]
void residualLayerNorm(Rank &rank, const float *x, const float *delta,
                       const float *deltaBias, float *y, const float *gain,
                       const float *bias, float *ln, float *stat) {
  rank.parallelFor(kRows, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *xRow = x + i * kEmbed;
      float *yRow = y + i * kEmbed, *lnRow = ln + i * kEmbed;
      float sum = 0;
      if (delta) {
        const float *deltaRow = delta + i * kEmbed;
#pragma omp simd reduction(+ : sum)
        for (int64_t e = 0; e < kEmbed; ++e) {
          yRow[e] = xRow[e] + deltaRow[e] + (deltaBias ? deltaBias[e] : 0.0f);
          sum += yRow[e];
        }
      } else {
#pragma omp simd reduction(+ : sum)
        for (int64_t e = 0; e < kEmbed; ++e)
          sum += yRow[e];
      }
      float mean = sum / kEmbed, square = 0;
#pragma omp simd reduction(+ : square)
      for (int64_t e = 0; e < kEmbed; ++e)
        square += (yRow[e] - mean) * (yRow[e] - mean);
      float rstd = 1.0f / std::sqrt(square / kEmbed + 1e-5f);
#pragma omp simd
      for (int64_t e = 0; e < kEmbed; ++e)
        lnRow[e] = (yRow[e] - mean) * rstd * gain[e] + bias[e];
      stat[2 * i] = mean;
      stat[2 * i + 1] = rstd;
    }
  });
}

// grad(x) += gradient of layer_norm                             gpt.mesh:19
// x, dLn, dx [batch, seq, embed]; stat [batch, seq, 2]; gain [embed]
void layerNormGrad(Rank &rank, const float *x, const float *stat,
                   const float *gain, const float *dLn, float *dx,
                   bool accumulate) {
  rank.parallelFor(kRows, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *xRow = x + i * kEmbed, *dLnRow = dLn + i * kEmbed;
      float *dxRow = dx + i * kEmbed;
      float mean = stat[2 * i], rstd = stat[2 * i + 1];
      float sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
      for (int64_t e = 0; e < kEmbed; ++e) {
        float g = dLnRow[e] * gain[e];
        sum += g;
        dot += g * (xRow[e] - mean) * rstd;
      }
      sum /= kEmbed;
      dot /= kEmbed;
      float keep = accumulate ? 1.0f : 0.0f;
#pragma omp simd
      for (int64_t e = 0; e < kEmbed; ++e) {
        float normal = (xRow[e] - mean) * rstd;
        float g = (dLnRow[e] * gain[e] - sum - normal * dot) * rstd;
        dxRow[e] = (accumulate ? dxRow[e] * keep : 0.0f) + g;
      }
    }
  });
}

// grad(gain), grad(bias) of layer_norm: sums over batch, seq    gpt.mesh:19
// Threads own columns, so the order of each sum is fixed.
void layerNormParamGrad(Rank &rank, const float *x, const float *stat,
                        const float *dLn, float *dGain, float *dBias) {
  rank.parallelFor(kEmbed, [=](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e)
      dGain[e] = dBias[e] = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      const float *xRow = x + i * kEmbed, *dLnRow = dLn + i * kEmbed;
      float mean = stat[2 * i], rstd = stat[2 * i + 1];
#pragma omp simd
      for (int64_t e = begin; e < end; ++e) {
        dGain[e] += dLnRow[e] * (xRow[e] - mean) * rstd;
        dBias[e] += dLnRow[e];
      }
    }
  });
}

// g = gelu(h + b1)                                              gpt.mesh:20
// h, g [batch, seq, ff]; b1 [ff]; h keeps the biased value
void biasGelu(Rank &rank, float *h, const float *b1, float *g) {
  rank.parallelFor(kRows, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float *hRow = h + i * kLocalFf, *gRow = g + i * kLocalFf;
#pragma omp simd
      for (int64_t f = 0; f < kLocalFf; ++f) {
        float u = hRow[f] + b1[f];
        hRow[f] = u;
        float t = math::tanh(0.79788456f * (u + 0.044715f * u * u * u));
        gRow[f] = 0.5f * u * (1.0f + t);
      }
    }
  });
}

// grad(h) = grad(g) * gelu'(h), in place                        gpt.mesh:20
// h, dh [batch, seq, ff]
void geluGrad(Rank &rank, const float *h, float *dh) {
  rank.parallelFor(kRows, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *hRow = h + i * kLocalFf;
      float *dhRow = dh + i * kLocalFf;
#pragma omp simd
      for (int64_t f = 0; f < kLocalFf; ++f) {
        float u = hRow[f];
        float t = math::tanh(0.79788456f * (u + 0.044715f * u * u * u));
        float inner = 0.79788456f * (1.0f + 0.134145f * u * u);
        dhRow[f] *= 0.5f * (1.0f + t) + 0.5f * u * (1.0f - t * t) * inner;
      }
    }
  });
}

// db[cols] = sum over batch, seq of dy[batch, seq, cols]
void columnSum(Rank &rank, const float *dy, float *db, int64_t cols) {
  rank.parallelFor(cols, [=](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      db[c] = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      const float *row = dy + i * cols;
#pragma omp simd
      for (int64_t c = begin; c < end; ++c)
        db[c] += row[c];
    }
  });
}

// grad(wpe) = sum over batch of grad(x)                         gpt.mesh:36
void positionGrad(Rank &rank, const float *dx, float *dWpe) {
  rank.parallelFor(kSeq * kEmbed, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t j = begin; j < end; ++j) {
      float sum = 0;
      for (int64_t b = 0; b < kLocalBatch; ++b)
        sum += dx[b * kSeq * kEmbed + j];
      dWpe[j] = sum;
    }
  });
}

// loss = sum over batch, seq of cross_entropy                   gpt.mesh:44
float sumRows(const float *rowLoss) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < kRows; ++i)
    sum += rowLoss[i];
  return sum;
}

// schedule = cosine(6e-4, warmup = 700, floor = 6e-5)           gpt.mesh:46
float schedule(int32_t step, int32_t totalSteps) {
  if (step < kWarmup)
    return 6e-4f * (step + 1) / kWarmup;
  float progress = float(step - kWarmup) / float(std::max<int64_t>(1, totalSteps - kWarmup));
  return 6e-5f + 0.5f * (6e-4f - 6e-5f) *
                     (1.0f + math::cos(3.14159265f * std::min(1.0f, progress)));
}

// adamw(lr, betas = (0.9, 0.95), weight_decay)                  gpt.mesh:45
// One pass over a parameter, its gradient and its moments; all [count].
void adamw(Rank &rank, int64_t offset, int64_t count, float weightDecay,
           float clip, float lr, int32_t step) {
  float *w = rank.at<float>(offset), *m = rank.at<float>(kM + offset),
        *v = rank.at<float>(kV + offset);
  const float *g = rank.at<float>(kGrad + offset);
  float mScale = 1.0f / (1.0f - std::pow(0.9f, float(step + 1)));
  float vScale = 1.0f / (1.0f - std::pow(0.95f, float(step + 1)));
  rank.parallelFor(count, [=](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      float grad = g[i] * clip;
      float mNew = 0.9f * m[i] + 0.1f * grad;
      float vNew = 0.95f * v[i] + 0.05f * grad * grad;
      m[i] = mNew;
      v[i] = vNew;
      w[i] -= lr * (mNew * mScale / (std::sqrt(vNew * vScale) + 1e-8f) +
                    weightDecay * w[i]);
    }
  });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

// q, k, v, o of one layer; lse [batch, heads, seq].            gpt.mesh:30
constexpr HeadStrides kHeadsOf{kSeq * kHeadCols, kHead, kHeadCols};
constexpr Attend kAttend{.batch = kLocalBatch, .heads = kLocalHeads, .kvHeads = kLocalHeads,
                         .queries = kSeq, .keys = kSeq, .dim = kHead, .valueDim = kHead,
                         .scale = kHead == 64 ? 0.125f : 0.35355339f, // 1 / sqrt(head)
                         .q = kHeadsOf, .k = kHeadsOf, .v = kHeadsOf, .o = kHeadsOf,
                         .lse = {kLocalHeads * kSeq, kSeq, 1}};

// gpt(tokens) up to the logits                                  gpt.mesh:34
void gpt(Rank &rank) {
  const int32_t *tokens = rank.at<int32_t>(kTokens);
  const float *wte = rank.at<float>(kWte);
  float *x = rank.at<float>(kX), *delta = rank.at<float>(kDn);

  gatherRows(rank, x, wte, tokens, kRows, kEmbed, rank.shard(kModelAxis) * kLocalVocab, kLocalVocab);
  if (MODEL > 1)
    allReduce(rank, kModelAxis, Reduce::Sum, x, kRows * kEmbed, {"x", "gpt.mesh:36"});
  addPositions(rank, x, rank.at<float>(kWpe));

  for (int64_t layer = 0; layer < kLayers; ++layer) {
    const float *xIn = rank.at<float>(kX) + layer * kRows * kEmbed;
    float *ln1 = rank.at<float>(kLn1) + layer * kRows * kEmbed;
    float *ln1Stat = rank.at<float>(kLn1Stat) + layer * kRows * 2;
    float *q = rank.at<float>(kQ) + layer * kRows * kHeadCols;
    float *k = rank.at<float>(kK) + layer * kRows * kHeadCols;
    float *v = rank.at<float>(kVal) + layer * kRows * kHeadCols;
    float *o = rank.at<float>(kO) + layer * kRows * kHeadCols;
    float *lse = rank.at<float>(kLse) + layer * kRows * kLocalHeads;
    float *y = rank.at<float>(kY) + layer * kRows * kEmbed;
    float *ln2 = rank.at<float>(kLn2) + layer * kRows * kEmbed;
    float *ln2Stat = rank.at<float>(kLn2Stat) + layer * kRows * 2;
    float *h = rank.at<float>(kH) + layer * kRows * kLocalFf;
    float *g = rank.at<float>(kG) + layer * kRows * kLocalFf;
    float *xOut = rank.at<float>(kX) + (layer + 1) * kRows * kEmbed;
    const float *wq = rank.at<float>(kWq) + layer * kEmbed * kHeadCols;
    const float *wk = rank.at<float>(kWk) + layer * kEmbed * kHeadCols;
    const float *wv = rank.at<float>(kWv) + layer * kEmbed * kHeadCols;
    const float *wo = rank.at<float>(kWo) + layer * kEmbed * kHeadCols;
    const float *w1 = rank.at<float>(kW1) + layer * kEmbed * kLocalFf;
    const float *b1 = rank.at<float>(kB1) + layer * kLocalFf;
    const float *w2 = rank.at<float>(kW2) + layer * kLocalFf * kEmbed;

    if (layer == 0)
      residualLayerNorm(rank, xIn, nullptr, nullptr, rank.at<float>(kX), rank.at<float>(kLn1Gain), rank.at<float>(kLn1Bias), ln1, ln1Stat);
    // q = dot(ln1, wq over embed)                               gpt.mesh:27
    matmul(rank, {.m = kRows, .n = kHeadCols, .k = kEmbed}, ln1, {kEmbed, 1}, wq, {kHeadCols, 1}, q, {kHeadCols, 1});
    matmul(rank, {.m = kRows, .n = kHeadCols, .k = kEmbed}, ln1, {kEmbed, 1}, wk, {kHeadCols, 1}, k, {kHeadCols, 1});
    matmul(rank, {.m = kRows, .n = kHeadCols, .k = kEmbed}, ln1, {kEmbed, 1}, wv, {kHeadCols, 1}, v, {kHeadCols, 1});
    attendForward(rank, kAttend, q, k, v, o, lse, CausalMask{});
    // dot(o, wo over heads, head), partial over model           gpt.mesh:31
    matmul(rank, {.m = kRows, .n = kEmbed, .k = kHeadCols}, o, {kHeadCols, 1}, wo, {kEmbed, 1}, delta, {kEmbed, 1});
    if (MODEL > 1)
      allReduce(rank, kModelAxis, Reduce::Sum, delta, kRows * kEmbed, {"dot(o, wo)", "gpt.mesh:31"});
    residualLayerNorm(rank, xIn, delta, nullptr, y, rank.at<float>(kLn2Gain) + layer * kEmbed, rank.at<float>(kLn2Bias) + layer * kEmbed, ln2, ln2Stat);
    // mlp                                                       gpt.mesh:20
    matmul(rank, {.m = kRows, .n = kLocalFf, .k = kEmbed}, ln2, {kEmbed, 1}, w1, {kLocalFf, 1}, h, {kLocalFf, 1});
    biasGelu(rank, h, b1, g);
    matmul(rank, {.m = kRows, .n = kEmbed, .k = kLocalFf}, g, {kLocalFf, 1}, w2, {kEmbed, 1}, delta, {kEmbed, 1});
    if (MODEL > 1)
      allReduce(rank, kModelAxis, Reduce::Sum, delta, kRows * kEmbed, {"dot(g, w2)", "gpt.mesh:20"});
    // The next layer norm is this block's ln1 of layer + 1, or ln_f.
    bool last = layer == kLayers - 1;
    residualLayerNorm(rank, y, delta, rank.at<float>(kB2) + layer * kEmbed, xOut,
                      last ? rank.at<float>(kLnFGain) : rank.at<float>(kLn1Gain) + (layer + 1) * kEmbed,
                      last ? rank.at<float>(kLnFBias) : rank.at<float>(kLn1Bias) + (layer + 1) * kEmbed,
                      last ? rank.at<float>(kLnF) : ln1 + kRows * kEmbed,
                      last ? rank.at<float>(kLnFStat) : ln1Stat + kRows * 2);
  }
  // logits = dot(ln_f, wte over embed)                          gpt.mesh:38
  matmul(rank, {.m = kRows, .n = kLocalVocab, .k = kEmbed}, rank.at<float>(kLnF), {kEmbed, 1}, wte, {1, kEmbed}, rank.at<float>(kLogits), {kLocalVocab, 1});
}

// cross_entropy and, in place of the logits, its gradient times `scale`
//                                                               gpt.mesh:44
void crossEntropy(Rank &rank, float scale) {
  float *logits = rank.at<float>(kLogits), *rowLoss = rank.at<float>(kRowLoss);
  const int32_t *targets = rank.at<int32_t>(kTargets);
  if (MODEL == 1) {
    classifier(rank, logits, targets, rowLoss, kRows, kVocab, kLocalVocab, nullptr, scale);
    return;
  }
  float *rowMax = rank.at<float>(kRowMax), *rowSums = rank.at<float>(kRowSums);
  int64_t first = rank.shard(kModelAxis) * kLocalVocab;
  int64_t vocab = std::min(kLocalVocab, kVocab - first); // the rest is padding
  classifierMax(rank, logits, rowMax, kRows, vocab, kLocalVocab);
  allReduce(rank, kModelAxis, Reduce::Max, rowMax, kRows, {"max(logits)", "gpt.mesh:44"});
  classifierSums(rank, logits, targets, rowMax, rowSums, kRows, vocab, kLocalVocab, first);
  allReduce(rank, kModelAxis, Reduce::Sum, rowSums, 2 * kRows, {"sum(exp(logits))", "gpt.mesh:44"});
  classifierGrad(rank, logits, targets, rowMax, rowSums, rowLoss, kRows, vocab, kLocalVocab, first, nullptr, scale);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void gptGrad(Rank &rank) {
  const float *dLogits = rank.at<float>(kLogits), *wte = rank.at<float>(kWte);
  float *dWte = rank.at<float>(kGrad + kWte);
  float *dx = rank.at<float>(kDx), *dn = rank.at<float>(kDn);

  // logits = dot(ln_f, wte over embed)                          gpt.mesh:38
  matmul(rank, {.m = kLocalVocab, .n = kEmbed, .k = kRows}, dLogits, {1, kLocalVocab}, rank.at<float>(kLnF), {kEmbed, 1}, dWte, {kEmbed, 1});
  matmul(rank, {.m = kRows, .n = kEmbed, .k = kLocalVocab}, dLogits, {kLocalVocab, 1}, wte, {kEmbed, 1}, dn, {kEmbed, 1});
  if (MODEL > 1)
    allReduce(rank, kModelAxis, Reduce::Sum, dn, kRows * kEmbed, {"grad(ln_f)", "gpt.mesh:38"});
  const float *xLast = rank.at<float>(kX) + kLayers * kRows * kEmbed;
  layerNormParamGrad(rank, xLast, rank.at<float>(kLnFStat), dn, rank.at<float>(kGrad + kLnFGain), rank.at<float>(kGrad + kLnFBias));
  layerNormGrad(rank, xLast, rank.at<float>(kLnFStat), rank.at<float>(kLnFGain), dn, dx, false);

  for (int64_t layer = kLayers; layer-- > 0;) {
    const float *x = rank.at<float>(kX) + layer * kRows * kEmbed;
    const float *ln1 = rank.at<float>(kLn1) + layer * kRows * kEmbed;
    const float *ln1Stat = rank.at<float>(kLn1Stat) + layer * kRows * 2;
    const float *q = rank.at<float>(kQ) + layer * kRows * kHeadCols;
    const float *k = rank.at<float>(kK) + layer * kRows * kHeadCols;
    const float *v = rank.at<float>(kVal) + layer * kRows * kHeadCols;
    const float *o = rank.at<float>(kO) + layer * kRows * kHeadCols;
    const float *lse = rank.at<float>(kLse) + layer * kRows * kLocalHeads;
    const float *y = rank.at<float>(kY) + layer * kRows * kEmbed;
    const float *ln2 = rank.at<float>(kLn2) + layer * kRows * kEmbed;
    const float *ln2Stat = rank.at<float>(kLn2Stat) + layer * kRows * 2;
    const float *h = rank.at<float>(kH) + layer * kRows * kLocalFf;
    const float *g = rank.at<float>(kG) + layer * kRows * kLocalFf;
    const int64_t attn = layer * kEmbed * kHeadCols, mlp = layer * kEmbed * kLocalFf;
    float *dh = rank.at<float>(kDh), *dO = rank.at<float>(kDo);
    float *dq = rank.at<float>(kDq), *dk = rank.at<float>(kDk), *dv = rank.at<float>(kDv);

    // mlp                                                       gpt.mesh:20
    columnSum(rank, dx, rank.at<float>(kGrad + kB2) + layer * kEmbed, kEmbed);
    matmul(rank, {.m = kLocalFf, .n = kEmbed, .k = kRows}, g, {1, kLocalFf}, dx, {kEmbed, 1}, rank.at<float>(kGrad + kW2) + mlp, {kEmbed, 1});
    matmul(rank, {.m = kRows, .n = kLocalFf, .k = kEmbed}, dx, {kEmbed, 1}, rank.at<float>(kW2) + mlp, {1, kEmbed}, dh, {kLocalFf, 1});
    geluGrad(rank, h, dh);
    columnSum(rank, dh, rank.at<float>(kGrad + kB1) + layer * kLocalFf, kLocalFf);
    matmul(rank, {.m = kEmbed, .n = kLocalFf, .k = kRows}, ln2, {1, kEmbed}, dh, {kLocalFf, 1}, rank.at<float>(kGrad + kW1) + mlp, {kLocalFf, 1});
    matmul(rank, {.m = kRows, .n = kEmbed, .k = kLocalFf}, dh, {kLocalFf, 1}, rank.at<float>(kW1) + mlp, {1, kLocalFf}, dn, {kEmbed, 1});
    if (MODEL > 1)
      allReduce(rank, kModelAxis, Reduce::Sum, dn, kRows * kEmbed, {"grad(ln2)", "gpt.mesh:20"});
    layerNormParamGrad(rank, y, ln2Stat, dn, rank.at<float>(kGrad + kLn2Gain) + layer * kEmbed, rank.at<float>(kGrad + kLn2Bias) + layer * kEmbed);
    layerNormGrad(rank, y, ln2Stat, rank.at<float>(kLn2Gain) + layer * kEmbed, dn, dx, true);

    // self_attention                                            gpt.mesh:25
    matmul(rank, {.m = kHeadCols, .n = kEmbed, .k = kRows}, o, {1, kHeadCols}, dx, {kEmbed, 1}, rank.at<float>(kGrad + kWo) + attn, {kEmbed, 1});
    matmul(rank, {.m = kRows, .n = kHeadCols, .k = kEmbed}, dx, {kEmbed, 1}, rank.at<float>(kWo) + attn, {1, kEmbed}, dO, {kHeadCols, 1});
    attendBackward(rank, kAttend, q, k, v, o, lse, dO, dq, dk, dv, CausalMask{});
    matmul(rank, {.m = kEmbed, .n = kHeadCols, .k = kRows}, ln1, {1, kEmbed}, dq, {kHeadCols, 1}, rank.at<float>(kGrad + kWq) + attn, {kHeadCols, 1});
    matmul(rank, {.m = kEmbed, .n = kHeadCols, .k = kRows}, ln1, {1, kEmbed}, dk, {kHeadCols, 1}, rank.at<float>(kGrad + kWk) + attn, {kHeadCols, 1});
    matmul(rank, {.m = kEmbed, .n = kHeadCols, .k = kRows}, ln1, {1, kEmbed}, dv, {kHeadCols, 1}, rank.at<float>(kGrad + kWv) + attn, {kHeadCols, 1});
    matmul(rank, {.m = kRows, .n = kEmbed, .k = kHeadCols}, dq, {kHeadCols, 1}, rank.at<float>(kWq) + attn, {1, kHeadCols}, dn, {kEmbed, 1});
    matmul(rank, {.m = kRows, .n = kEmbed, .k = kHeadCols, .beta = 1}, dk, {kHeadCols, 1}, rank.at<float>(kWk) + attn, {1, kHeadCols}, dn, {kEmbed, 1});
    matmul(rank, {.m = kRows, .n = kEmbed, .k = kHeadCols, .beta = 1}, dv, {kHeadCols, 1}, rank.at<float>(kWv) + attn, {1, kHeadCols}, dn, {kEmbed, 1});
    if (MODEL > 1)
      allReduce(rank, kModelAxis, Reduce::Sum, dn, kRows * kEmbed, {"grad(ln1)", "gpt.mesh:25"});
    layerNormParamGrad(rank, x, ln1Stat, dn, rank.at<float>(kGrad + kLn1Gain) + layer * kEmbed, rank.at<float>(kGrad + kLn1Bias) + layer * kEmbed);
    layerNormGrad(rank, x, ln1Stat, rank.at<float>(kLn1Gain) + layer * kEmbed, dn, dx, true);
  }

  // x = wte[vocab = tokens] + wpe                               gpt.mesh:36
  positionGrad(rank, dx, rank.at<float>(kGrad + kWpe));
  scatterAddRows(rank, dWte, dx, rank.at<int32_t>(kTokens), kRows, kEmbed, rank.shard(kModelAxis) * kLocalVocab, kLocalVocab);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void trainStep(Rank &rank) {
  gpt(rank);
  crossEntropy(rank, 1.0f / (kBatch * kSeq));
  float *loss = rank.at<float>(kLoss);
  *loss = sumRows(rank.at<float>(kRowLoss)) / (kBatch * kSeq);
  if (DATA > 1)
    allReduce(rank, kDataAxis, Reduce::Sum, loss, 1, {"loss", "gpt.mesh:44"});
  gptGrad(rank);

  // All gradients lie side by side: one all-reduce.
  if (DATA > 1)
    allReduce(rank, kDataAxis, Reduce::Sum, rank.at<float>(kGrad), kParamsEnd / 4, {"gradients", "gpt.mesh:47"});

  // clip global_norm 1.0; values split over model are summed    gpt.mesh:47
  float *square = rank.at<float>(kGradNorm);
  *square = float(sumSquares(rank, rank.at<float>(kGrad), kB2 / 4));
  if (MODEL > 1)
    allReduce(rank, kModelAxis, Reduce::Sum, square, 1, {"grad_norm", "gpt.mesh:47"});
  *square += float(sumSquares(rank, rank.at<float>(kGrad + kB2), (kParamsEnd - kB2) / 4));
  float norm = *square = std::sqrt(*square);
  float clip = norm > 1.0f ? 1.0f / norm : 1.0f;

  int32_t step = *rank.at<int32_t>(kStep);
  float lr = schedule(step, *rank.at<int32_t>(kTotalSteps));
  adamw(rank, kWte, kLocalVocab * kEmbed, 0.1f, clip, lr, step);
  adamw(rank, kWq, (kB1 - kWq) / 4, 0.1f, clip, lr, step);          // wq, wk, wv, wo, w1
  adamw(rank, kB1, kLayers * kLocalFf, 0.0f, clip, lr, step);
  adamw(rank, kW2, kLayers * kLocalFf * kEmbed, 0.1f, clip, lr, step);
  adamw(rank, kB2, kLayers * kEmbed, 0.0f, clip, lr, step);
  adamw(rank, kWpe, kSeq * kEmbed, 0.1f, clip, lr, step);
  adamw(rank, kLn1Gain, (kParamsEnd - kLn1Gain) / 4, 0.0f, clip, lr, step);
}

void evalStep(Rank &rank) {
  gpt(rank);
  crossEntropy(rank, 0.0f);
  *rank.at<float>(kNumerator) = sumRows(rank.at<float>(kRowLoss));
  *rank.at<float>(kDenominator) = kBatch * kSeq;
  if (DATA > 1)
    allReduce(rank, kDataAxis, Reduce::Sum, rank.at<float>(kNumerator), 1, {"loss", "gpt.mesh:44"});
}

void forward(Rank &rank) { gpt(rank); }

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

const Dim layers(int64_t stride) { return {"layers", kLayers, kLayers, stride}; }
const Dim embed(int64_t stride) { return {"embed", kEmbed, kEmbed, stride}; }
const Dim ff(int64_t stride) { return {"ff", kFf, kFf, stride, kModelAxis}; }
const Dim heads(int64_t stride) { return {"heads", kHeads, kHeads, stride, kModelAxis}; }
const Dim head(int64_t stride) { return {"head", kHead, kHead, stride}; }
const Dim vocab(int64_t stride) { return {"vocab", kVocab, kVocabPadded, stride, kModelAxis}; }
const Dim seq(int64_t stride) { return {"seq", kSeq, kSeq, stride}; }
const Dim batch(int64_t stride) { return {"batch", kBatch, kBatch, stride, kDataAxis}; }

Program program() {
  auto f32 = [](int64_t offset, std::vector<Dim> dims) { return Tensor{ElementType::F32, offset, dims}; };
  auto i32 = [](int64_t offset, std::vector<Dim> dims) { return Tensor{ElementType::I32, offset, dims}; };
  const Initializer normal{Initializer::Normal, 0, 0.02}, zero{Initializer::Constant, 0}, one{Initializer::Constant, 1},
      scaled{Initializer::Normal, 0, 0.02 / std::sqrt(2.0 * kLayers)};
  const std::vector<Dim> wqkv{layers(kEmbed * kHeadCols), embed(kHeadCols), heads(kHead), head(1)};
  const std::vector<Dim> gain{layers(kEmbed), embed(1)};
  const std::vector<DataInput> data{{"tokens", i32(kTokens, {batch(kSeq), seq(1)}), 0},
                                    {"targets", i32(kTargets, {batch(kSeq), seq(1)}), 1}};

  Program p;
  p.name = "gpt";
  p.source = "gpt.mesh";
  p.mesh = {{"data", DATA}, {"model", MODEL}};
  p.arenaBytes = kArenaBytes;
  p.parameters = {
      {"gpt.wte", f32(kWte, {vocab(kEmbed), embed(1)}), normal, "default"},
      {"gpt.wpe", f32(kWpe, {seq(kEmbed), embed(1)}), normal, "default"},
      {"gpt.block.ln1.gain", f32(kLn1Gain, gain), one, "no_arrow"},
      {"gpt.block.ln1.bias", f32(kLn1Bias, gain), zero, "no_arrow"},
      {"gpt.block.attn.wq", f32(kWq, wqkv), normal, "default"},
      {"gpt.block.attn.wk", f32(kWk, wqkv), normal, "default"},
      {"gpt.block.attn.wv", f32(kWv, wqkv), normal, "default"},
      {"gpt.block.attn.wo", f32(kWo, {layers(kHeadCols * kEmbed), heads(kHead * kEmbed), head(kEmbed), embed(1)}), scaled, "default"},
      {"gpt.block.ln2.gain", f32(kLn2Gain, gain), one, "no_arrow"},
      {"gpt.block.ln2.bias", f32(kLn2Bias, gain), zero, "no_arrow"},
      {"gpt.block.mlp.w1", f32(kW1, {layers(kEmbed * kLocalFf), embed(kLocalFf), ff(1)}), normal, "default"},
      {"gpt.block.mlp.b1", f32(kB1, {layers(kLocalFf), ff(1)}), zero, "no_arrow"},
      {"gpt.block.mlp.w2", f32(kW2, {layers(kLocalFf * kEmbed), ff(kEmbed), embed(1)}), scaled, "default"},
      {"gpt.block.mlp.b2", f32(kB2, gain), zero, "no_arrow"},
      {"gpt.ln_f.gain", f32(kLnFGain, {embed(1)}), one, "no_arrow"},
      {"gpt.ln_f.bias", f32(kLnFBias, {embed(1)}), zero, "no_arrow"},
  };
  for (const Parameter &parameter : p.parameters) {
    OptimizerState m{parameter.path, "m", parameter.value}, v{parameter.path, "v", parameter.value};
    m.value.offset += kM;
    v.value.offset += kV;
    p.states.push_back(m);
    p.states.push_back(v);
  }
  p.data = {DataSource::Text, "corpus.txt", "batch", "", "seq", kVocab};
  p.trainStep = {trainStep, data, {{ScalarInput::Step, kStep}, {ScalarInput::TotalSteps, kTotalSteps}},
                 {{"loss", f32(kLoss, {})}, {"grad_norm", f32(kGradNorm, {})}}};
  p.evalStep = {evalStep, data, {}, {{"numerator", f32(kNumerator, {})}, {"denominator", f32(kDenominator, {})}}};
  p.forward = {forward, {data[0]}, {}, {{"logits", f32(kLogits, {batch(kSeq * kLocalVocab), seq(kLocalVocab), vocab(1)})}}};
  p.steps = 2000;
  p.itemsPerStep = kBatch * kSeq;
  p.metrics = {{"perplexity", [](double loss) { return std::exp(loss); }}};
  p.constants = {{"batch", std::to_string(kBatch)}, {"seq", std::to_string(kSeq)}, {"embed", std::to_string(kEmbed)}};
  return p;
}

} // namespace

int main(int argc, char **argv) { return trainerMain(argc, argv, program()); }
