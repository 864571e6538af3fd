// The work of an attention kernel on one tile of queries and one tile of keys with mma.sync. Each warp owns
// tile_q / warps whole rows; scores, probabilities and the output accumulator stay in its registers.
#pragma once

#include "common/shared_tile.cuh"

namespace tilescope::kernels::device {

template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q>
struct AttentionTile {
  static constexpr int threads = warps * 32;
  static constexpr int row_blocks = tile_q / warps / 16;  // 16-row blocks a warp owns
  static constexpr int key_blocks = tile_kv / 8;          // 8-column blocks of S
  static constexpr int out_blocks = head_dim / 8;         // 8-column blocks of O
  static constexpr int q_bytes = tile_q * head_dim * 2, kv_bytes = tile_kv * head_dim * 2;
  static_assert(row_blocks == 1 || row_blocks == 2, "a warp owns 16 or 32 rows");
  using Tile = SharedTile<head_dim>;
  using Mma = Element<T>;

  struct Rows {  // running softmax state of the rows g and g + 8 of each 16-row block, replicated in a quad's 4 lanes
    float max[row_blocks][2], sum[row_blocks][2];
  };

  // S = Q K^T, unscaled, of one KV tile.
  static __device__ __forceinline__ void scores(float (&s)[row_blocks][key_blocks][4], const Fragment4* held_q,
                                                std::uint32_t q_lane, std::uint32_t k_lane) {
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      Fragment4 q[row_blocks];
#pragma unroll
      for (int m = 0; m < row_blocks; ++m)
        q[m] = hold_q ? held_q[step * row_blocks + m] : load_matrices(Tile::step(q_lane, m * 16, step));
#pragma unroll
      for (int n = 0; n < key_blocks; n += 2) {
        const Fragment4 k = load_matrices(Tile::step(k_lane, n * 8, step));
#pragma unroll
        for (int m = 0; m < row_blocks; ++m) {
          Mma::mma(s[m][n], q[m].r, k.r[0], k.r[1]);
          Mma::mma(s[m][n + 1], q[m].r, k.r[2], k.r[3]);
        }
      }
    }
  }

  // Scores of keys past last_visible_key(p, row), which the kernel defines, become -inf. `first_row`, `first_key`: of
  // this thread's fragment. (A lambda in place of `p` costs instructions.)
  template <class Params>
  static __device__ __forceinline__ void mask_after(float (&s)[row_blocks][key_blocks][4], const Params& p,
                                                    int first_row, int first_key) {
#pragma unroll
    for (int m = 0; m < row_blocks; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int last = last_visible_key(p, first_row + m * 16 + half * 8) - first_key;
#pragma unroll
        for (int n = 0; n < key_blocks; ++n) {
          if (n * 8 > last) s[m][n][half * 2] = -INFINITY;
          if (n * 8 + 1 > last) s[m][n][half * 2 + 1] = -INFINITY;
        }
      }
  }

  // Likewise also scores of keys before first_visible_key(p, row).
  template <class Params>
  static __device__ __forceinline__ void mask_outside(float (&s)[row_blocks][key_blocks][4], const Params& p,
                                                      int first_row, int first_key) {
#pragma unroll
    for (int m = 0; m < row_blocks; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + m * 16 + half * 8;
        const int first = first_visible_key(p, row) - first_key, last = last_visible_key(p, row) - first_key;
#pragma unroll
        for (int n = 0; n < key_blocks; ++n) {
          if (n * 8 < first || n * 8 > last) s[m][n][half * 2] = -INFINITY;
          if (n * 8 + 1 < first || n * 8 + 1 > last) s[m][n][half * 2 + 1] = -INFINITY;
        }
      }
  }

  // Largest score of row g (half 0) or g + 8 (half 1) of a 16-row block, in the row's four lanes.
  static __device__ __forceinline__ float row_max(const float (&s)[key_blocks][4], int half) {
    float max = fmaxf(s[0][half * 2], s[0][half * 2 + 1]);
#pragma unroll
    for (int n = 1; n < key_blocks; ++n) max = fmaxf(max, fmaxf(s[n][half * 2], s[n][half * 2 + 1]));
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
    return fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
  }

  // The row part of an online-softmax step: new maxima, and O and the sums rescaled to them. The maxima are those of
  // S * scale_log2, so that the exponentials below are exp2 of one FFMA.
  static __device__ __forceinline__ void rescale(const float (&s)[row_blocks][key_blocks][4],
                                                 float (&o)[row_blocks][out_blocks][4], Rows& rows,
                                                 float (&negative_max)[row_blocks][2], float scale_log2) {
#pragma unroll
    for (int m = 0; m < row_blocks; ++m) {
      float correction[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float max = fmaxf(rows.max[m][half], __fmul_rn(row_max(s[m], half), scale_log2));
        // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
        negative_max[m][half] = max == -INFINITY ? 0.0f : -max;
        correction[half] = exp2_fast(__fadd_rn(rows.max[m][half], negative_max[m][half]));
        rows.max[m][half] = max;
        rows.sum[m][half] = __fmul_rn(rows.sum[m][half], correction[half]);
      }
#pragma unroll
      for (int n = 0; n < out_blocks; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) o[m][n][i] = __fmul_rn(o[m][n][i], correction[i / 2]);
    }
  }

  // P of keys [16 step, 16 step + 16) as the A operand of P V, its row sums added to rows.sum.
  static __device__ __forceinline__ void exponentials(const float (&s)[row_blocks][key_blocks][4], int step,
                                                      std::uint32_t (&p)[row_blocks][4], Rows& rows,
                                                      const float (&negative_max)[row_blocks][2], float scale_log2) {
#pragma unroll
    for (int m = 0; m < row_blocks; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // register i of the fragment: rows i % 2, columns 8 (i / 2)
        const float(&pair)[4] = s[m][step * 2 + i / 2];
        const float low = exp2_fast(__fmaf_rn(pair[i % 2 * 2], scale_log2, negative_max[m][i % 2]));
        const float high = exp2_fast(__fmaf_rn(pair[i % 2 * 2 + 1], scale_log2, negative_max[m][i % 2]));
        rows.sum[m][i % 2] = __fadd_rn(rows.sum[m][i % 2], low);
        rows.sum[m][i % 2] = __fadd_rn(rows.sum[m][i % 2], high);
        p[m][i] = Mma::pack(low, high);
      }
  }

  // The bits of the row sums, ANDed with `zero`, which is 0: an address offset of 0 that depends on the sums. By
  // default the compiler delays the additions to the end of the KV step, in order to issue the matrix products first,
  // and keeps every exponential in a register until then. That is faster where registers suffice. Where they do not
  // (`pace`), V of 16 keys is loaded through this offset, which forces the preceding exponentials to be added first.
  static __device__ __forceinline__ std::uint32_t after_sums(const Rows& rows, std::uint32_t zero) {
    std::uint32_t bits = 0;
#pragma unroll
    for (int m = 0; m < row_blocks; ++m) bits |= __float_as_uint(rows.sum[m][0]) | __float_as_uint(rows.sum[m][1]);
    return bits & zero;
  }

  // O += P V of 16 keys.
  static __device__ __forceinline__ void accumulate(float (&o)[row_blocks][out_blocks][4],
                                                    const std::uint32_t (&p)[row_blocks][4], std::uint32_t v_lane,
                                                    int step) {
#pragma unroll
    for (int n = 0; n < out_blocks; n += 2) {
      const Fragment4 v = load_matrices_transposed(Tile::step(v_lane, step * 16, n / 2));
#pragma unroll
      for (int m = 0; m < row_blocks; ++m) {
        Mma::mma(o[m][n], p[m], v.r[0], v.r[1]);
        Mma::mma(o[m][n + 1], p[m], v.r[2], v.r[3]);
      }
    }
  }

  // Divides by the row sums, stages O through the warp's own rows of the Q tile and stores 16 bytes a lane; L by one
  // lane a row, consecutive lanes for consecutive rows.
  static __device__ __forceinline__ void finish(float (&o)[row_blocks][out_blocks][4], Rows& rows, int q_len,
                                                std::uint32_t q_tile, int first_row, T* out, float* l_out) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int warp_row = static_cast<int>(threadIdx.x) / 32 * row_blocks * 16;
    __syncwarp();
#pragma unroll
    for (int m = 0; m < row_blocks; ++m) {
      float l[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = rows.sum[m][half];
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
        const float inverse = sum > 0.0f ? reciprocal_fast(sum) : 0.0f;
        const float log2_sum = __fadd_rn(rows.max[m][half], log2_fast(sum));
        l[half] = sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
        const int row = warp_row + m * 16 + half * 8 + lane / 4;
#pragma unroll
        for (int n = 0; n < out_blocks; ++n)
          Tile::put(q_tile, row, n, lane,
                    Mma::pack(__fmul_rn(o[m][n][half * 2], inverse), __fmul_rn(o[m][n][half * 2 + 1], inverse)));
      }
      const float low = __shfl_sync(0xffffffffu, l[0], (lane & 7) * 4);
      const float high = __shfl_sync(0xffffffffu, l[1], (lane & 7) * 4);
      const int row = first_row + warp_row + m * 16 + lane;
      if (lane < 16 && row < q_len) l_out[row] = lane < 8 ? low : high;
    }
    __syncwarp();
    Tile::template copy_to<row_blocks * 16, 32>(q_tile, warp_row, static_cast<unsigned>(lane),
                                                out + static_cast<std::int64_t>(first_row) * head_dim, head_dim,
                                                q_len - first_row);
  }
};

}  // namespace tilescope::kernels::device
