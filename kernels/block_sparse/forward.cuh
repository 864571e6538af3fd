// Forward attention over a list of live KV tiles, with mma.sync: fused_mma's loop, but the tiles come from
// live_tiles.cuh. A block owns tile_q query rows of one head.
#pragma once

#include "block_sparse/live_tiles.cuh"
#include "common/attention_tile.cuh"

namespace tilescope::kernels::block_sparse {

using device::Fragment4;

// min_blocks: least number of resident blocks per SM; together with the block size it caps the registers. pace: see
// AttentionTile::after_sums. Grid: x = query tiles (fastest), y = query heads, z = batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warps, bool hold_q, int min_blocks, bool pace>
__global__ void __launch_bounds__(warps * 32, min_blocks) forward(const ForwardParams p) {
  using F = device::AttentionTile<T, head_dim, tile_q, tile_kv, warps, hold_q>;
  using Tile = typename F::Tile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared);
  const std::uint32_t k_tiles = q_tile + F::q_bytes, v_tiles = k_tiles + stages * F::kv_bytes;
  const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) / 32;

  const int first_row = static_cast<int>(blockIdx.x) * tile_q, last_row = min(first_row + tile_q, p.q_len) - 1;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);
  const T* q = static_cast<const T*>(p.q) + (head * p.q_len + first_row) * head_dim;
  const T* k = static_cast<const T*>(p.k) + kv_head * p.kv_len * head_dim;
  const T* v = static_cast<const T*>(p.v) + kv_head * p.kv_len * head_dim;
  auto copy_kv = [&](int j, int stage) {
    const std::int64_t offset = static_cast<std::int64_t>(j) * tile_kv * head_dim;
    Tile::template copy_from<tile_kv, F::threads>(k_tiles + stage * F::kv_bytes, k + offset, head_dim,
                                                  p.kv_len - j * tile_kv);
    Tile::template copy_from<tile_kv, F::threads>(v_tiles + stage * F::kv_bytes, v + offset, head_dim,
                                                  p.kv_len - j * tile_kv);
  };

  list_live_tiles<tile_kv, warps>(p, shared + F::q_bytes + 2 * stages * F::kv_bytes, first_row, last_row,
                                  divide(blockIdx.x, p.q_tiles));
  __syncthreads();

  float o[F::row_blocks][F::out_blocks][4] = {};
  typename F::Rows rows;
#pragma unroll
  for (int m = 0; m < F::row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) rows.max[m][half] = -INFINITY, rows.sum[m][half] = 0.0f;

  const std::uint32_t q_lane = Tile::a_lane(q_tile + warp * F::row_blocks * 16 * Tile::pitch, lane);
  Fragment4 held_q[hold_q ? head_dim / 16 * F::row_blocks : 1];

  const std::uint32_t list = v_tiles + stages * F::kv_bytes;
  const int end = end_of_tiles<tile_kv>(p, last_row);
  int j = next_live_tile(list, 0), stage = 0;
  if (j < end) {
    Tile::template copy_from<tile_q, F::threads>(q_tile, q, head_dim, p.q_len - first_row);
    copy_kv(j, 0);
    device::commit_copies();
    if constexpr (hold_q) {
      device::wait_copies<0>();
      __syncthreads();
#pragma unroll
      for (int i = 0; i < head_dim / 16 * F::row_blocks; ++i)
        held_q[i] = device::load_matrices(Tile::step(q_lane, i % F::row_blocks * 16, i / F::row_blocks));
    }
  }
  while (j < end) {
    device::wait_copies<0>();
    __syncthreads();  // this tile has arrived, and all warps are done with the previous one
    if (const int next = next_live_tile(list, j + 1); next < end) copy_kv(next, stage ^ 1);
    device::commit_copies();
    float s[F::row_blocks][F::key_blocks][4] = {};
    F::scores(s, held_q, q_lane, Tile::b_lane(k_tiles + stage * F::kv_bytes, lane));
    const int row = first_row + warp * F::row_blocks * 16 + lane / 4, key = j * tile_kv + (lane & 3) * 2;
    if ((j + 1) * tile_kv - 1 > last_visible_key(p, first_row) || j * tile_kv < first_visible_key(p, last_row))
      F::mask_outside(s, p, row, key);
    float negative_max[F::row_blocks][2];
    F::rescale(s, o, rows, negative_max, p.scale_log2);
    const std::uint32_t v_lane = Tile::bt_lane(v_tiles + stage * F::kv_bytes, lane);
#pragma unroll
    for (int step = 0; step < tile_kv / 16; ++step) {
      std::uint32_t probabilities[F::row_blocks][4];
      const std::uint32_t v_now = pace && step > 0 ? v_lane + F::after_sums(rows, p.zero) : v_lane;
      F::exponentials(s, step, probabilities, rows, negative_max, p.scale_log2);
      F::accumulate(o, probabilities, v_now, step);
    }
    j = next_live_tile(list, j + 1), stage ^= 1;
  }
  F::finish(o, rows, p.q_len, q_tile, first_row, static_cast<T*>(p.o) + head * p.q_len * head_dim,
            p.l + head * p.q_len);
}

}  // namespace tilescope::kernels::block_sparse
