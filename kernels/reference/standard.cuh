// Standard attention in separate kernels on tensor cores: qk writes S, row_softmax (common/) turns S into P, pv reads
// P. Each warp owns tile_q / warps whole rows. Every element of S and P is written once and read once; masked scores
// are computed and written too (as -inf), so the bytes do not depend on the mask.
#pragma once

#include "common/row_softmax.cuh"
#include "common/shared_tile.cuh"
#include "reference/standard.h"

namespace tilescope::kernels::reference {

using device::Element;
using device::Fragment4;
using device::SharedTile;

// S = scale * Q K^T of one tile_q x tile_kv tile. Grid: x = kv tiles (fastest) times q tiles, y = query heads, z =
// batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warps>
__global__ void __launch_bounds__(warps * 32) qk(const ProductParams p) {
  constexpr int row_blocks = tile_q / warps / 16, key_blocks = tile_kv / 8, threads = warps * 32;
  static_assert(tile_q * tile_kv <= head_dim * (tile_q + tile_kv), "S is staged over Q and K");
  using Tile = SharedTile<head_dim>;
  using ScoreTile = SharedTile<tile_kv>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared), k_tile = q_tile + tile_q * head_dim * 2;
  const int lane = static_cast<int>(threadIdx.x) & 31, warp_row = static_cast<int>(threadIdx.x) / 32 * row_blocks * 16;
  const std::uint32_t q_index = divide(blockIdx.x, p.kv_tiles);
  const int first_key = static_cast<int>(blockIdx.x - q_index * p.kv_tiles.value) * tile_kv;
  const int first_row = static_cast<int>(q_index) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);

  Tile::template copy_from<tile_q, threads>(
      q_tile, static_cast<const T*>(p.a) + (head * p.q_len + first_row) * head_dim, head_dim, p.q_len - first_row);
  Tile::template copy_from<tile_kv, threads>(
      k_tile, static_cast<const T*>(p.b) + (kv_head * p.kv_len + first_key) * head_dim, head_dim, p.kv_len - first_key);
  device::commit_copies();
  device::wait_copies<0>();
  __syncthreads();

  float s[row_blocks][key_blocks][4] = {};
  const std::uint32_t q_lane = Tile::a_lane(q_tile + warp_row * Tile::pitch, lane), k_lane = Tile::b_lane(k_tile, lane);
#pragma unroll
  for (int step = 0; step < head_dim / 16; ++step) {
    Fragment4 q[row_blocks];
#pragma unroll
    for (int m = 0; m < row_blocks; ++m) q[m] = device::load_matrices(Tile::step(q_lane, m * 16, step));
#pragma unroll
    for (int n = 0; n < key_blocks; n += 2) {
      const Fragment4 k = device::load_matrices(Tile::step(k_lane, n * 8, step));
#pragma unroll
      for (int m = 0; m < row_blocks; ++m) {
        Element<T>::mma(s[m][n], q[m].r, k.r[0], k.r[1]);
        Element<T>::mma(s[m][n + 1], q[m].r, k.r[2], k.r[3]);
      }
    }
  }
  __syncthreads();  // all warps are done with Q and K: S reuses their shared memory
#pragma unroll
  for (int m = 0; m < row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + m * 16 + half * 8 + lane / 4;
      const int limit = p.causal ? min(p.kv_len - 1, first_row + row + p.kv_len - p.q_len) : p.kv_len - 1;
      const int last = limit - first_key - (lane & 3) * 2;  // last visible column, counted from this lane's first
#pragma unroll
      for (int n = 0; n < key_blocks; ++n) {
        const float low = device::multiply_always(s[m][n][half * 2], p.scale);
        const float high = device::multiply_always(s[m][n][half * 2 + 1], p.scale);
        ScoreTile::put(q_tile, row, n, lane,
                       Element<T>::pack(n * 8 > last ? -INFINITY : low, n * 8 + 1 > last ? -INFINITY : high));
      }
    }
  __syncthreads();
  ScoreTile::template copy_to<tile_q, threads>(
      q_tile, 0, threadIdx.x, static_cast<T*>(p.c) + (head * p.q_len + first_row) * p.pitch + first_key, p.pitch,
      p.q_len - first_row, (p.pitch - first_key) / 8);
}

// O = P V, tile_q rows and all of head_dim a block, P and V streamed in tiles of tile_kv through two stages.
// Grid: x = q tiles (fastest), y = query heads, z = batch.
template <class T, int head_dim, int tile_q, int tile_kv, int warps>
__global__ void __launch_bounds__(warps * 32) pv(const ProductParams p) {
  constexpr int row_blocks = tile_q / warps / 16, out_blocks = head_dim / 8, threads = warps * 32;
  constexpr int p_bytes = tile_q * tile_kv * 2, stage_bytes = p_bytes + tile_kv * head_dim * 2;
  static_assert(tile_q * head_dim * 2 <= 2 * stage_bytes, "O is staged over P and V");
  using ValueTile = SharedTile<head_dim>;
  using WeightTile = SharedTile<tile_kv>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t base = device::shared_address(shared);
  const int lane = static_cast<int>(threadIdx.x) & 31, warp_row = static_cast<int>(threadIdx.x) / 32 * row_blocks * 16;
  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const std::int64_t kv_head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + divide(blockIdx.y, p.group);
  const T* weights = static_cast<const T*>(p.a) + (head * p.q_len + first_row) * p.pitch;
  const T* values = static_cast<const T*>(p.b) + kv_head * p.kv_len * head_dim;
  const int steps = (p.kv_len + tile_kv - 1) / tile_kv;

  auto copy = [&](int j) {
    const int key = j * tile_kv;
    const std::uint32_t stage = base + (j & 1) * stage_bytes;
    WeightTile::template copy_from<tile_q, threads, true>(stage, weights + key, p.pitch, p.q_len - first_row,
                                                          (p.pitch - key) / 8);
    ValueTile::template copy_from<tile_kv, threads>(stage + p_bytes, values + static_cast<std::int64_t>(key) * head_dim,
                                                    head_dim, p.kv_len - key);
    device::commit_copies();
  };

  float o[row_blocks][out_blocks][4] = {};
  copy(0);
  for (int j = 0; j < steps; ++j) {
    device::wait_copies<0>();
    __syncthreads();  // tile j has arrived, and all warps are done with tile j - 1
    if (j + 1 < steps) copy(j + 1);
    const std::uint32_t stage = base + (j & 1) * stage_bytes;
    const std::uint32_t w_lane = WeightTile::a_lane(stage + warp_row * WeightTile::pitch, lane);
    const std::uint32_t v_lane = ValueTile::bt_lane(stage + p_bytes, lane);
#pragma unroll
    for (int step = 0; step < tile_kv / 16; ++step) {
      Fragment4 w[row_blocks];
#pragma unroll
      for (int m = 0; m < row_blocks; ++m) w[m] = device::load_matrices(WeightTile::step(w_lane, m * 16, step));
#pragma unroll
      for (int n = 0; n < out_blocks; n += 2) {
        const Fragment4 v = device::load_matrices_transposed(ValueTile::step(v_lane, step * 16, n / 2));
#pragma unroll
        for (int m = 0; m < row_blocks; ++m) {
          Element<T>::mma(o[m][n], w[m].r, v.r[0], v.r[1]);
          Element<T>::mma(o[m][n + 1], w[m].r, v.r[2], v.r[3]);
        }
      }
    }
  }
  __syncthreads();  // all warps are done with the stages: O reuses their shared memory
#pragma unroll
  for (int m = 0; m < row_blocks; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int n = 0; n < out_blocks; ++n)
        ValueTile::put(base, warp_row + m * 16 + half * 8 + lane / 4, n, lane,
                       Element<T>::pack(o[m][n][half * 2], o[m][n][half * 2 + 1]));
  __syncthreads();
  ValueTile::template copy_to<tile_q, threads>(base, 0, threadIdx.x,
                                               static_cast<T*>(p.c) + (head * p.q_len + first_row) * head_dim, head_dim,
                                               p.q_len - first_row);
}

template <class T, int head_dim, int tile_q, int tile_kv, int warps>
Instance instance(Dtype dtype) {
  return {{"reference", dtype, head_dim, tile_q, tile_kv, warps},
          reinterpret_cast<const void*>(&qk<T, head_dim, tile_q, tile_kv, warps>),
          reinterpret_cast<const void*>(&pv<T, head_dim, tile_q, tile_kv, warps>),
          &device::row_softmax_for<T>,
          qk_smem_bytes(head_dim, tile_q, tile_kv),
          pv_smem_bytes(head_dim, tile_q, tile_kv)};
}

template <class T>
std::vector<Instance> instances(Dtype t) {
  return {instance<T, 64, 128, 128, 4>(t), instance<T, 128, 128, 128, 4>(t), instance<T, 256, 128, 64, 8>(t)};
}

}  // namespace tilescope::kernels::reference
