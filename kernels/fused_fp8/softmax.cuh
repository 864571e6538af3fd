// What a consumer warpgroup of the fp8 kernel does with the scores in its registers: mask, online softmax, rounding of
// P.
#pragma once

#include "fused_fp8/shape.cuh"

namespace tilescope::kernels::fused_fp8 {

template <class Shape>
struct Softmax {
  using Mma = typename Shape::Mma;
  static constexpr bool fp8_values = Shape::fp8_values, integers = Shape::integers;
  static constexpr int head_dim = Shape::head_dim, p_steps = Shape::p_steps;
  static constexpr float p_shift = Shape::p_shift;

  struct Rows {  // of rows g and g + 8: largest scaled score less p_shift, and sum; replicated in a quad's 4 lanes
    float max[2], sum[2];
  };

  // Scores of keys outside [low, high] of the row become -inf; bounds relative to this thread's first key.
  template <int count>
  static __device__ __forceinline__ void mask(float (&s)[count], const ForwardParams& p, int row, int first_key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int diagonal = row + half * 8 + p.kv_len - p.q_len;
      const int high = (p.causal ? min(p.kv_len - 1, diagonal) : p.kv_len - 1) - first_key;
#pragma unroll
      for (int j = 0; j < count / 4; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (j * 8 + e > high) s[j * 4 + half * 2 + e] = -INFINITY;
    }
  }

  // The largest scores of this thread's two rows, over the quad's four lanes. While wgmma runs, a comparison takes
  // twice its usual time (README), so the number of comparisons matters. Integer comparisons take two scores per
  // instruction (VIMNMX3). Their order is that of floats unless all scores of a row are negative; a warp with such a
  // row compares again as floats.
  template <int count>
  static __device__ __forceinline__ void largest(const float (&s)[count], float (&result)[2]) {
    if constexpr (integers) {
      int bits[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int max = __float_as_int(s[half * 2]);
#pragma unroll
        for (int j = 0; j < count / 4 - 1; ++j)
          max = __vimax3_s32(max, __float_as_int(s[j * 4 + half * 2 + 1]), __float_as_int(s[j * 4 + half * 2 + 4]));
        max = ::max(max, __float_as_int(s[count - 3 + half * 2]));
        max = ::max(max, __shfl_xor_sync(0xffffffffu, max, 1));
        bits[half] = ::max(max, __shfl_xor_sync(0xffffffffu, max, 2));
        result[half] = __int_as_float(bits[half]);
      }
      if (!__any_sync(0xffffffffu, (bits[0] | bits[1]) < 0)) return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = fmaxf(s[half * 2], s[half * 2 + 1]);
#pragma unroll
      for (int j = 1; j < count / 4; ++j) max = fmaxf(max, fmaxf(s[j * 4 + half * 2], s[j * 4 + half * 2 + 1]));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
      result[half] = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
    }
  }

  // One online-softmax step: S becomes exp2(S * scale_log2 - max), maxima and sums are updated, and `correction` is the
  // factor by which earlier sums were multiplied and O must still be.
  template <int count>
  static __device__ __forceinline__ void softmax(float (&s)[count], Rows& rows, float (&correction)[2],
                                                 float scale_log2) {
    float row_max[2], negative_max[2];
    largest(s, row_max);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float max = fmaxf(rows.max[half], __fmaf_rn(row_max[half], scale_log2, -p_shift));
      // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
      negative_max[half] = max == -INFINITY ? 0.0f : -max;
      correction[half] = exp2_fast(__fadd_rn(rows.max[half], negative_max[half]));
      rows.max[half] = max;
      rows.sum[half] = __fmul_rn(rows.sum[half], correction[half]);
    }
#pragma unroll
    for (int j = 0; j < count / 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[j * 4 + i] = exp2_fast(__fmaf_rn(s[j * 4 + i], scale_log2, negative_max[i / 2]));
#pragma unroll
    for (int j = 0; j < count / 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) rows.sum[i / 2] = __fadd_rn(rows.sum[i / 2], s[j * 4 + i]);
  }

  static __device__ __forceinline__ std::uint32_t pack_e4m3(float a, float b, float c, float d) {
    std::uint32_t packed;
    asm("{\n .reg .b16 low, high;\n cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        " cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n mov.b32 %0, {low, high};\n}\n"
        : "=r"(packed)
        : "f"(a), "f"(b), "f"(c), "f"(d));
    return packed;
  }

  // The rounded probabilities as A operands; zeros for the tile's keys beyond those in s.
  template <int count>
  static __device__ __forceinline__ void round_scores(const float (&s)[count], std::uint32_t (&p)[p_steps][4]) {
    constexpr int scores_a_step = fp8_values ? 16 : 8;
#pragma unroll
    for (int step = 0; step < p_steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // register i: rows i % 2, keys 16 (i / 2) (2-byte elements: 8) and on
        if (step * scores_a_step >= count) {
          p[step][i] = 0;
        } else if constexpr (fp8_values) {
          const float* x = s + step * 16 + i / 2 * 8 + i % 2 * 2;
          p[step][i] = pack_e4m3(x[0], x[1], x[4], x[5]);
        } else {
          p[step][i] = Mma::pack(s[step * 8 + i * 2], s[step * 8 + i * 2 + 1]);
        }
      }
  }

  static __device__ __forceinline__ void rescale(float (&o)[head_dim / 2], const float (&correction)[2]) {
#pragma unroll
    for (int i = 0; i < head_dim / 2; ++i) o[i] = __fmul_rn(o[i], correction[i / 2 & 1]);
  }
};

}  // namespace tilescope::kernels::fused_fp8
