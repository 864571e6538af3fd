// FlashAttention-2 forward with mma.sync. One thread block owns tile_q query rows of one head and streams the keys and
// values in tiles of tile_kv; each warp owns tile_q / warps whole rows. Scores and probabilities never leave registers.
#pragma once

#include "common/shared_tile.cuh"
#include "fused_mma/forward.h"

namespace tilescope::kernels::fused_mma {

using device::Element;
using device::Fragment4;
using device::SharedTile;

template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q>
struct Forward {
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
        q[m] = hold_q ? held_q[step * row_blocks + m] : device::load_matrices(Tile::step(q_lane, m * 16, step));
#pragma unroll
      for (int n = 0; n < key_blocks; n += 2) {
        const Fragment4 k = device::load_matrices(Tile::step(k_lane, n * 8, step));
#pragma unroll
        for (int m = 0; m < row_blocks; ++m) {
          Mma::mma(s[m][n], q[m].r, k.r[0], k.r[1]);
          Mma::mma(s[m][n + 1], q[m].r, k.r[2], k.r[3]);
        }
      }
    }
  }

  // Scores of keys past the row's last visible one become -inf. `first_row`, `first_key`: of this thread's fragment.
  static __device__ __forceinline__ void mask(float (&s)[row_blocks][key_blocks][4], const ForwardParams& p,
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

  static __device__ __forceinline__ int last_visible_key(const ForwardParams& p, int row) {
    return p.causal ? min(p.kv_len - 1, row + p.kv_len - p.q_len) : p.kv_len - 1;
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
        float max = fmaxf(s[m][0][half * 2], s[m][0][half * 2 + 1]);
#pragma unroll
        for (int n = 1; n < key_blocks; ++n) max = fmaxf(max, fmaxf(s[m][n][half * 2], s[m][n][half * 2 + 1]));
        max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
        max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
        max = fmaxf(rows.max[m][half], __fmul_rn(max, scale_log2));
        // A row that has seen no key yet keeps max = -inf; 0 stands in for it so that no inf - inf arises.
        negative_max[m][half] = max == -INFINITY ? 0.0f : -max;
        correction[half] = device::exp2_fast(__fadd_rn(rows.max[m][half], negative_max[m][half]));
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
        const float low = device::exp2_fast(__fmaf_rn(pair[i % 2 * 2], scale_log2, negative_max[m][i % 2]));
        const float high = device::exp2_fast(__fmaf_rn(pair[i % 2 * 2 + 1], scale_log2, negative_max[m][i % 2]));
        rows.sum[m][i % 2] = __fadd_rn(rows.sum[m][i % 2], low);
        rows.sum[m][i % 2] = __fadd_rn(rows.sum[m][i % 2], high);
        p[m][i] = Mma::pack(low, high);
      }
  }

  // All bits that appear in the row sums, and `zero`, which is 0: an address offset of 0 that is known only when the
  // sums are. Left alone, the compiler puts off the additions to the end of the KV step, to put the matrix products
  // first, and keeps every exponential in a register until then. That is faster where registers suffice; where they
  // do not (`pace`), V of 16 keys is loaded through this offset, after the exponentials before it have been added up.
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
      const Fragment4 v = device::load_matrices_transposed(Tile::step(v_lane, step * 16, n / 2));
#pragma unroll
      for (int m = 0; m < row_blocks; ++m) {
        Mma::mma(o[m][n], p[m], v.r[0], v.r[1]);
        Mma::mma(o[m][n + 1], p[m], v.r[2], v.r[3]);
      }
    }
  }

  // Divides by the row sums, stages O through the warp's own rows of the Q tile and stores 16 bytes a lane; L by one
  // lane a row, consecutive lanes for consecutive rows.
  static __device__ __forceinline__ void finish(float (&o)[row_blocks][out_blocks][4], Rows& rows,
                                                const ForwardParams& p, std::uint32_t q_tile, int first_row, T* out,
                                                float* l_out) {
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
        const float inverse = sum > 0.0f ? device::reciprocal_fast(sum) : 0.0f;
        const float log2_sum = __fadd_rn(rows.max[m][half], device::log2_fast(sum));
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
      if (lane < 16 && row < p.q_len) l_out[row] = lane < 8 ? low : high;
    }
    __syncwarp();
    Tile::template copy_to<row_blocks * 16, 32>(q_tile, warp_row, static_cast<unsigned>(lane),
                                                out + static_cast<std::int64_t>(first_row) * head_dim, head_dim,
                                                p.q_len - first_row);
  }
};

// min_blocks: blocks a multiprocessor should hold at least; with the threads it caps the registers. pace: see
// after_sums. Grid: x = query tiles (fastest), y = query heads, z = batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q, int min_blocks, bool pace>
__global__ void __launch_bounds__(warps * 32, min_blocks) forward(const ForwardParams p) {
  using F = Forward<T, head_dim, tile_q, tile_kv, warps, hold_q>;
  using Tile = typename F::Tile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared);
  const std::uint32_t k_tiles = q_tile + F::q_bytes, v_tiles = k_tiles + stages * F::kv_bytes;
  const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) / 32;

  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);
  const T* q = static_cast<const T*>(p.q) + (head * p.q_len + first_row) * head_dim;
  const T* k = static_cast<const T*>(p.k) + kv_head * p.kv_len * head_dim;
  const T* v = static_cast<const T*>(p.v) + kv_head * p.kv_len * head_dim;

  // Tiles past the last key visible to the tile's last real row are skipped; none at all for a fully masked tile.
  const int last_row = min(first_row + tile_q, p.q_len) - 1;
  const int steps = (F::last_visible_key(p, last_row) + tile_kv) / tile_kv;

  auto copy_k = [&](int j) {
    Tile::template copy_from<tile_kv, F::threads>(k_tiles + (j % stages) * F::kv_bytes,
                                                  k + static_cast<std::int64_t>(j) * tile_kv * head_dim, head_dim,
                                                  p.kv_len - j * tile_kv);
  };
  auto copy_v = [&](int j) {
    Tile::template copy_from<tile_kv, F::threads>(v_tiles + (j % stages) * F::kv_bytes,
                                                  v + static_cast<std::int64_t>(j) * tile_kv * head_dim, head_dim,
                                                  p.kv_len - j * tile_kv);
  };

  float o[F::row_blocks][F::out_blocks][4] = {};
  typename F::Rows rows;
#pragma unroll
  for (int m = 0; m < F::row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) rows.max[m][half] = -INFINITY, rows.sum[m][half] = 0.0f;

  const std::uint32_t q_lane = Tile::a_lane(q_tile + warp * F::row_blocks * 16 * Tile::pitch, lane);
  Fragment4 held_q[hold_q ? head_dim / 16 * F::row_blocks : 1];

  if (steps > 0) {
    Tile::template copy_from<tile_q, F::threads>(q_tile, q, head_dim, p.q_len - first_row);
    copy_k(0);
    copy_v(0);
    device::commit_copies();
  }
  for (int j = 0; j < steps; ++j) {
    device::wait_copies<0>();
    __syncthreads();  // tile j has landed for all, and nobody reads tile j - 1 any more
    if (j + 1 < steps) copy_k(j + 1), copy_v(j + 1);
    device::commit_copies();
    if constexpr (hold_q) {
      if (j == 0) {
#pragma unroll
        for (int i = 0; i < head_dim / 16 * F::row_blocks; ++i)
          held_q[i] = device::load_matrices(Tile::step(q_lane, i % F::row_blocks * 16, i / F::row_blocks));
      }
    }
    float s[F::row_blocks][F::key_blocks][4] = {};
    F::scores(s, held_q, q_lane, Tile::b_lane(k_tiles + (j % stages) * F::kv_bytes, lane));
    if ((j + 1) * tile_kv - 1 > F::last_visible_key(p, first_row))
      F::mask(s, p, first_row + warp * F::row_blocks * 16 + lane / 4, j * tile_kv + (lane & 3) * 2);
    float negative_max[F::row_blocks][2];
    F::rescale(s, o, rows, negative_max, p.scale_log2);
    const std::uint32_t v_lane = Tile::bt_lane(v_tiles + (j % stages) * F::kv_bytes, lane);
#pragma unroll
    for (int step = 0; step < tile_kv / 16; ++step) {
      std::uint32_t probabilities[F::row_blocks][4];
      const std::uint32_t v_now = pace && step > 0 ? v_lane + F::after_sums(rows, p.zero) : v_lane;
      F::exponentials(s, step, probabilities, rows, negative_max, p.scale_log2);
      F::accumulate(o, probabilities, v_now, step);
    }
  }
  F::finish(o, rows, p, q_tile, first_row, static_cast<T*>(p.o) + head * p.q_len * head_dim, p.l + head * p.q_len);
}

}  // namespace tilescope::kernels::fused_mma
