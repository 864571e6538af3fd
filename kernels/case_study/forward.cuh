// FlashAttention-2 forward with wgmma and TMA, and nothing else of Hopper: no producer warps, no multistage ring. One
// block owns tile_q query rows of one head; each of its warpgroups owns tile_q / warpgroups rows and does loads,
// products and softmax in turn. V_j arrives during Q K_j^T, K_{j+1} during softmax and P V_j.
#pragma once

#include "case_study/forward.h"
#include "common/tma.cuh"
#include "common/wgmma.cuh"

namespace tilescope::kernels::case_study {

using namespace device;

// A block's warpgroup holds `blocks` row blocks of 64 rows, whose accumulators all live at once: the registers a
// thread needs are blocks * (tile_kv / 2 of S + head_dim / 2 of O + tile_kv / 4 of P).
template <class T, int head_dim, int tile_q, int tile_kv, int warpgroups>
struct Tiles {
  static constexpr int threads = warpgroups * 128;
  static constexpr int blocks = tile_q / warpgroups / 64;
  static constexpr int q_bytes = tile_q * head_dim * 2, kv_bytes = tile_kv * head_dim * 2;
  static_assert(blocks == 1 || blocks == 2, "a warpgroup owns 64 or 128 rows");

  struct Rows {  // running softmax state of rows g and g + 8 (common/wgmma.cuh), replicated in a quad's 4 lanes
    float max[blocks][2], sum[blocks][2];
  };

  // S = Q K^T, unscaled. Complete on return.
  static __device__ __forceinline__ void scores(float (&s)[blocks][tile_kv / 2], std::uint32_t q, std::uint32_t k) {
#pragma unroll
    for (int m = 0; m < blocks; ++m) pin(s[m]);
    fence_operands();
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      const int panel = step / 4, inside = step % 4 * 32;
#pragma unroll
      for (int m = 0; m < blocks; ++m)
        Wgmma<tile_kv>::template ss<T>(s[m], k_major(q + panel * tile_q * 128 + m * 64 * 128 + inside),
                                       k_major(k + panel * tile_kv * 128 + inside), step > 0);
    }
    commit_products();
    wait_products<0>();
#pragma unroll
    for (int m = 0; m < blocks; ++m) pin(s[m]);
  }

  // Scores of keys past the last visible one become -inf. `first_row`, `first_key`: of this thread's fragment.
  static __device__ __forceinline__ void mask(float (&s)[blocks][tile_kv / 2], const ForwardParams& p, int first_row,
                                              int first_key) {
#pragma unroll
    for (int m = 0; m < blocks; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + m * 64 + half * 8;
        const int last = (p.causal ? min(p.kv_len - 1, row + p.kv_len - p.q_len) : p.kv_len - 1) - first_key;
#pragma unroll
        for (int n = 0; n < tile_kv / 8; ++n) {
          if (n * 8 > last) s[m][n * 4 + half * 2] = -INFINITY;
          if (n * 8 + 1 > last) s[m][n * 4 + half * 2 + 1] = -INFINITY;
        }
      }
  }

  // New maxima, O and sums rescaled to them, and P = exp2(S * scale_log2 - max) rounded and packed.
  static __device__ __forceinline__ void softmax(float (&s)[blocks][tile_kv / 2], float (&o)[blocks][head_dim / 2],
                                                 std::uint32_t (&probabilities)[blocks][tile_kv / 16][4], Rows& rows,
                                                 float scale_log2) {
#pragma unroll
    for (int m = 0; m < blocks; ++m) {
      float negative_max[2], correction[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float max = s[m][half * 2];
#pragma unroll
        for (int n = 0; n < tile_kv / 8; ++n)
          max = fmaxf(max, fmaxf(s[m][n * 4 + half * 2], s[m][n * 4 + half * 2 + 1]));
        max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
        max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
        max = fmaxf(rows.max[m][half], __fmul_rn(max, scale_log2));
        // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
        negative_max[half] = max == -INFINITY ? 0.0f : -max;
        correction[half] = exp2_fast(__fadd_rn(rows.max[m][half], negative_max[half]));
        rows.max[m][half] = max;
        rows.sum[m][half] = __fmul_rn(rows.sum[m][half], correction[half]);
      }
#pragma unroll
      for (int i = 0; i < head_dim / 2; ++i) o[m][i] = __fmul_rn(o[m][i], correction[i / 2 % 2]);
#pragma unroll
      for (int step = 0; step < tile_kv / 16; ++step)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float* pair = &s[m][step * 8 + i * 2];
          const float low = exp2_fast(__fmaf_rn(pair[0], scale_log2, negative_max[i % 2]));
          const float high = exp2_fast(__fmaf_rn(pair[1], scale_log2, negative_max[i % 2]));
          rows.sum[m][i % 2] = __fadd_rn(rows.sum[m][i % 2], low);
          rows.sum[m][i % 2] = __fadd_rn(rows.sum[m][i % 2], high);
          probabilities[m][step][i] = Element<T>::pack(low, high);
        }
    }
  }

  // O += P V. Complete on return.
  static __device__ __forceinline__ void values(float (&o)[blocks][head_dim / 2],
                                                const std::uint32_t (&probabilities)[blocks][tile_kv / 16][4],
                                                std::uint32_t v) {
#pragma unroll
    for (int m = 0; m < blocks; ++m) pin(o[m]);
    fence_operands();
#pragma unroll
    for (int step = 0; step < tile_kv / 16; ++step)
#pragma unroll
      for (int m = 0; m < blocks; ++m)
        Wgmma<head_dim>::template rs<T, Major::mn>(o[m], probabilities[m][step],
                                                   mn_major(v + step * 16 * 128, tile_kv * 128), 1);
    commit_products();
    wait_products<0>();
#pragma unroll
    for (int m = 0; m < blocks; ++m) pin(o[m]);
  }

  // Divides by the row sums and stages O in the Q tile, in the layout of TMA; L by one lane a row. `row`: the warp's
  // first row in the tile.
  static __device__ __forceinline__ void finish(float (&o)[blocks][head_dim / 2], Rows& rows, std::uint32_t tile,
                                                int row, float* l_out, int rows_left) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
    for (int m = 0; m < blocks; ++m) {
      float l[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = rows.sum[m][half];
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
        const float inverse = sum > 0.0f ? reciprocal_fast(sum) : 0.0f;
        const float log2_sum = __fadd_rn(rows.max[m][half], log2_fast(sum));
        l[half] = sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
        const int r = row + m * 64 + half * 8 + lane / 4;
#pragma unroll
        for (int n = 0; n < head_dim / 8; ++n) {
          const std::uint32_t address = tile + static_cast<std::uint32_t>(n / 8 * tile_q * 128 + r * 128 +
                                                                          ((n % 8) ^ (r & 7)) * 16 + (lane & 3) * 4);
          const std::uint32_t packed = Element<T>::pack(__fmul_rn(o[m][n * 4 + half * 2], inverse),
                                                        __fmul_rn(o[m][n * 4 + half * 2 + 1], inverse));
          asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(address), "r"(packed) : "memory");
        }
      }
      const float low = __shfl_sync(0xffffffffu, l[0], (lane & 7) * 4);
      const float high = __shfl_sync(0xffffffffu, l[1], (lane & 7) * 4);
      if (lane < 16 && row + m * 64 + lane < rows_left) l_out[row + m * 64 + lane] = lane < 8 ? low : high;
    }
  }
};

// Grid: x = query tiles (fastest), y = query heads, z = batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warpgroups>
__global__ void __launch_bounds__(warpgroups * 128) forward(const __grid_constant__ ForwardParams p) {
  using F = Tiles<T, head_dim, tile_q, tile_kv, warpgroups>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = shared_address(shared), k_tile = q_tile + F::q_bytes, v_tile = k_tile + F::kv_bytes;
  const std::uint32_t q_full = v_tile + F::kv_bytes, k_full = q_full + 8, v_full = q_full + 16;

  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  const int head = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y);
  const int kv_head = static_cast<int>(blockIdx.z) * p.heads_kv + static_cast<int>(divide(blockIdx.y, p.group));
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) & 31;
  const int warp_row = warp / 4 * F::blocks * 64 + warp % 4 * 16;
  const bool issuer = threadIdx.x == 0;

  if (issuer) {
    init_barrier(q_full, 1), init_barrier(k_full, 1), init_barrier(v_full, 1);
    fence_barrier_init();
  }
  __syncthreads();

  // Tiles past the last key visible to the tile's last real row are skipped; none at all for a fully masked tile.
  const int last_row = min(first_row + tile_q, p.q_len) - 1;
  const int last_key = p.causal ? min(p.kv_len - 1, last_row + p.kv_len - p.q_len) : p.kv_len - 1;
  const int steps = (last_key + tile_kv) / tile_kv;
  // Keys up to here are visible to every row.
  const int full_keys = p.causal ? min(p.kv_len, first_row + p.kv_len - p.q_len + 1) : p.kv_len;

  auto load = [&](std::uint32_t tile, const CUtensorMap* map, std::uint32_t full, int bytes, int row, int outer) {
    arrive_expect(full, bytes);
    load_tile(tile, map, full, 0, row, 0, outer);
  };
  if (issuer && steps > 0) {
    load(q_tile, &p.q, q_full, F::q_bytes, first_row, head);
    load(k_tile, &p.k, k_full, F::kv_bytes, 0, kv_head);
  }

  float o[F::blocks][head_dim / 2] = {};
  typename F::Rows rows;
#pragma unroll
  for (int m = 0; m < F::blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) rows.max[m][half] = -INFINITY, rows.sum[m][half] = 0.0f;

  if (steps > 0) wait_barrier(q_full, 0);
#pragma unroll 1
  for (int j = 0; j < steps; ++j) {
    if (issuer) load(v_tile, &p.v, v_full, F::kv_bytes, j * tile_kv, kv_head);
    wait_barrier(k_full, j & 1);
    float s[F::blocks][tile_kv / 2];
    F::scores(s, q_tile + static_cast<std::uint32_t>(warp / 4 * F::blocks * 64 * 128), k_tile);
    __syncthreads();  // all warps are done with K_j
    if (issuer && j + 1 < steps) load(k_tile, &p.k, k_full, F::kv_bytes, (j + 1) * tile_kv, kv_head);
    if ((j + 1) * tile_kv > full_keys) F::mask(s, p, first_row + warp_row + lane / 4, j * tile_kv + (lane & 3) * 2);
    std::uint32_t probabilities[F::blocks][tile_kv / 16][4];
    F::softmax(s, o, probabilities, rows, p.scale_log2);
    wait_barrier(v_full, j & 1);
    F::values(o, probabilities, v_tile);
    __syncthreads();  // all warps are done with V_j
  }
  F::finish(o, rows, q_tile, warp_row, p.l + static_cast<std::int64_t>(head) * p.q_len + first_row,
            p.q_len - first_row);
  fence_async_proxy();
  __syncthreads();
  if (issuer) {
    store_tile(&p.o, q_tile, 0, first_row, 0, head);
    commit_stores();
    wait_stores_read();
  }
}

}  // namespace tilescope::kernels::case_study
