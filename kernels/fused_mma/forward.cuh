// FlashAttention-2 forward with mma.sync. One thread block owns tile_q query rows of one head and streams the keys and
// values in tiles of tile_kv; each warp owns tile_q / warps whole rows. Scores and probabilities never leave registers.
#pragma once

#include "common/attention_tile.cuh"
#include "fused_mma/forward.h"

namespace tilescope::kernels::fused_mma {

using device::Fragment4;

__device__ __forceinline__ int last_visible_key(const ForwardParams& p, int row) {
  return p.causal ? min(p.kv_len - 1, row + p.kv_len - p.q_len) : p.kv_len - 1;
}

// min_blocks: least number of resident blocks per SM; together with the block size it caps the registers. pace: see
// after_sums. Grid: x = query tiles (fastest), y = query heads, z = batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q, int min_blocks, bool pace>
__global__ void __launch_bounds__(warps * 32, min_blocks) forward(const ForwardParams p) {
  using F = device::AttentionTile<T, head_dim, tile_q, tile_kv, warps, hold_q>;
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
  const int steps = (last_visible_key(p, last_row) + tile_kv) / tile_kv;

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
    __syncthreads();  // tile j has arrived, and all warps are done with tile j - 1
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
    if ((j + 1) * tile_kv - 1 > last_visible_key(p, first_row))
      F::mask_after(s, p, first_row + warp * F::row_blocks * 16 + lane / 4, j * tile_kv + (lane & 3) * 2);
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
  F::finish(o, rows, p.q_len, q_tile, first_row, static_cast<T*>(p.o) + head * p.q_len * head_dim,
            p.l + head * p.q_len);
}

}  // namespace tilescope::kernels::fused_mma
