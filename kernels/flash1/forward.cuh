// Forward attention in FlashAttention-1's loop order, with mma.sync. One thread block owns a head: K and V tiles are
// the outer loop, Q tiles the inner one, and O and the row statistics are read from global memory, joined with the
// tile's own result and written back at every step.
#pragma once

#include "common/attention_tile.cuh"
#include "flash1/forward.h"

namespace tilescope::kernels::flash1 {

__device__ __forceinline__ int last_visible_key(const ForwardParams& p, int row) {
  return p.causal ? min(p.kv_len - 1, row + p.kv_len - p.q_len) : p.kv_len - 1;
}

// First row that sees the key.
__device__ __forceinline__ int first_seeing_row(const ForwardParams& p, int key) {
  return p.causal ? max(0, key + p.q_len - p.kv_len) : 0;
}

template <class T, int head_dim, int tile_q, int tile_kv, int warps>
struct Step : device::AttentionTile<T, head_dim, tile_q, tile_kv, warps, false> {
  using F = device::AttentionTile<T, head_dim, tile_q, tile_kv, warps, false>;
  using F::out_blocks;
  using F::row_blocks;
  using typename F::Mma;
  using typename F::Rows;
  using typename F::Tile;

  // Reads the state of this thread's rows from global memory. Rows from valid_rows on have no state; at the first visit
  // (valid_rows = 0) no row has one. The loads bypass L1, which may hold an older value.
  static __device__ __forceinline__ void load_rows(Rows& rows, const float* m, const float* l, int row,
                                                   int valid_rows) {
#pragma unroll
    for (int i = 0; i < row_blocks; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const bool valid = row + i * 16 + half * 8 < valid_rows;
        rows.max[i][half] = valid ? __ldcg(m + row + i * 16 + half * 8) : -INFINITY;
        rows.sum[i][half] = valid ? __ldcg(l + row + i * 16 + half * 8) : 0.0f;
      }
  }

  // Merges the tile's own result (`values`: unnormalised, relative to the tile's maxima) with the state. The staged
  // tile of O (none at the first visit) is replaced by the weighted, normalised and rounded sum. The statistics are
  // stored to global memory, eight rows per store.
  static __device__ __forceinline__ void merge(const float (&values)[row_blocks][out_blocks][4], Rows& tile, Rows& old,
                                               std::uint32_t o_tile, bool first_visit, float* m_out, float* l_out,
                                               int row, int valid_rows) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
    for (int i = 0; i < row_blocks; ++i) {
      float weight_old[2], weight_tile[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = tile.sum[i][half];
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
        sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
        const float max = fmaxf(old.max[i][half], tile.max[i][half]);
        // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
        const float negative = max == -INFINITY ? 0.0f : -max;
        const float decay = device::exp2_fast(__fadd_rn(old.max[i][half], negative));
        const float entry = device::exp2_fast(__fadd_rn(tile.max[i][half], negative));
        const float kept = __fmul_rn(old.sum[i][half], decay), total = __fmaf_rn(sum, entry, kept);
        const float inverse = total > 0.0f ? device::reciprocal_fast(total) : 0.0f;
        weight_old[half] = __fmul_rn(kept, inverse), weight_tile[half] = __fmul_rn(entry, inverse);
        const int at = row + i * 16 + half * 8;
        if ((lane & 3) < 2 && at < valid_rows) ((lane & 3) == 0 ? m_out : l_out)[at] = (lane & 3) == 0 ? max : total;
      }
#pragma unroll
      for (int n = 0; n < out_blocks; n += 2) {
        const int warp_row = static_cast<int>(threadIdx.x) / 32 * row_blocks * 16 + i * 16;
        device::Fragment4 o{};
        if (!first_visit)
          o = device::load_matrices(Tile::step(Tile::a_lane(o_tile + warp_row * Tile::pitch, lane), 0, n / 2));
        __syncwarp();
#pragma unroll
        for (int r = 0; r < 4; ++r) {  // register r of the fragment: rows r % 2, columns 8 (r / 2)
          const float(&value)[4] = values[i][n + r / 2];
          const float2 was = Mma::unpack(o.r[r]);
          const int half = r % 2;
          Tile::put(o_tile, warp_row + half * 8 + lane / 4, n + r / 2, lane,
                    Mma::pack(__fmaf_rn(was.x, weight_old[half], __fmul_rn(value[half * 2], weight_tile[half])),
                              __fmaf_rn(was.y, weight_old[half], __fmul_rn(value[half * 2 + 1], weight_tile[half]))));
        }
      }
    }
  }
};

// Writes O = 0, m = -inf, l = 0 to the first `rows` rows, which belong to query tiles that no step visits.
template <class T, int head_dim, int threads>
__device__ __forceinline__ void write_unseen(T* o, float* m, float* l, int rows) {
  constexpr int chunks = head_dim / 8;
  for (int row = static_cast<int>(threadIdx.x) / chunks; row < rows; row += threads / chunks)
    device::store_16(o + static_cast<std::int64_t>(row) * head_dim + threadIdx.x % chunks * 8, uint4{});
  for (int row = static_cast<int>(threadIdx.x); row < rows; row += threads) m[row] = -INFINITY, l[row] = 0.0f;
}

// min_blocks: least number of resident blocks per SM; together with the block size it caps the registers. pace: see
// AttentionTile::after_sums. Grid: x = query heads, y = batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warps, int min_blocks, bool pace>
__global__ void __launch_bounds__(warps * 32, min_blocks) forward(const ForwardParams p) {
  using F = Step<T, head_dim, tile_q, tile_kv, warps>;
  using Tile = typename F::Tile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t k_tile = device::shared_address(shared), v_tile = k_tile + F::kv_bytes;
  const std::uint32_t q_tiles = v_tile + F::kv_bytes, o_tile = q_tiles + q_stages * F::q_bytes;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * F::row_blocks * 16;

  // Row 0 of the head in Q and O; the arrays' own addresses come from the parameters each time, to spare registers.
  const std::int64_t head_row = (static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x) * p.q_len;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.y) * p.heads_kv + divide(blockIdx.x, p.group);
  const T* k = static_cast<const T*>(p.k) + kv_head * p.kv_len * head_dim;
  const T* v = static_cast<const T*>(p.v) + kv_head * p.kv_len * head_dim;
  auto out = [&](int row) { return static_cast<T*>(p.o) + (head_row + row) * head_dim; };
  auto copy_q = [&](int i, int stage) {
    Tile::template copy_from<tile_q, F::threads>(q_tiles + stage * F::q_bytes,
                                                 static_cast<const T*>(p.q) + (head_row + i * tile_q) * head_dim,
                                                 head_dim, p.q_len - i * tile_q);
  };

  write_unseen<T, head_dim, F::threads>(out(0), p.m + head_row, p.l + head_row,
                                        first_seeing_row(p, 0) / tile_q * tile_q);
  int stage = 0;
  for (int j = 0; j * tile_kv < p.kv_len; ++j) {
    int i = first_seeing_row(p, j * tile_kv) / tile_q;
    __syncthreads();  // all warps are done with the previous tiles
    const std::int64_t first_key = static_cast<std::int64_t>(j) * tile_kv * head_dim;
    Tile::template copy_from<tile_kv, F::threads>(k_tile, k + first_key, head_dim, p.kv_len - j * tile_kv);
    Tile::template copy_from<tile_kv, F::threads>(v_tile, v + first_key, head_dim, p.kv_len - j * tile_kv);
    copy_q(i, stage);
    device::commit_copies();
    for (; i * tile_q < p.q_len; ++i, stage ^= 1) {
      device::wait_copies<0>();
      __syncthreads();  // Q has arrived; all warps are done with the previous Q tile; O of the previous step is stored
      const int first_row = i * tile_q, left = p.q_len - first_row;
      if (j > 0)  // each warp loads its own rows of O while it computes
        Tile::template copy_part<F::row_blocks * 16, 32>(lane, o_tile + warp_row * Tile::pitch,
                                                         out(first_row + warp_row), head_dim, left - warp_row);
      device::commit_copies();
      if (first_row + tile_q < p.q_len) copy_q(i + 1, stage ^ 1);
      device::commit_copies();
      typename F::Rows old, tile;
      F::load_rows(old, p.m + head_row + first_row, p.l + head_row + first_row, warp_row + lane / 4, j > 0 ? left : 0);

      float s[F::row_blocks][F::key_blocks][4] = {};
      F::scores(s, nullptr, Tile::a_lane(q_tiles + stage * F::q_bytes + warp_row * Tile::pitch, lane),
                Tile::b_lane(k_tile, lane));
      if ((j + 1) * tile_kv - 1 > last_visible_key(p, first_row))
        F::mask_after(s, p, first_row + warp_row + lane / 4, j * tile_kv + (lane & 3) * 2);
      float negative_max[F::row_blocks][2];
#pragma unroll
      for (int b = 0; b < F::row_blocks; ++b)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          tile.max[b][half] = __fmul_rn(F::row_max(s[b], half), p.scale_log2), tile.sum[b][half] = 0.0f;
          negative_max[b][half] = tile.max[b][half] == -INFINITY ? 0.0f : -tile.max[b][half];
        }
      float values[F::row_blocks][F::out_blocks][4] = {};
      const std::uint32_t v_lane = Tile::bt_lane(v_tile, lane);
#pragma unroll
      for (int step = 0; step < tile_kv / 16; ++step) {
        std::uint32_t probabilities[F::row_blocks][4];
        const std::uint32_t v_now = pace && step > 0 ? v_lane + F::after_sums(tile, p.zero) : v_lane;
        F::exponentials(s, step, probabilities, tile, negative_max, p.scale_log2);
        F::accumulate(values, probabilities, v_now, step);
      }

      device::wait_copies<1>();
      __syncwarp();  // the warp's rows of O have landed
      F::merge(values, tile, old, o_tile, j == 0, p.m + head_row + first_row, p.l + head_row + first_row,
               warp_row + lane / 4, left);
      __syncwarp();
      Tile::template copy_to<F::row_blocks * 16, 32>(o_tile, warp_row, static_cast<unsigned>(lane), out(first_row),
                                                     head_dim, left);
    }
  }
}

}  // namespace tilescope::kernels::flash1
