// The two row passes around the main kernel.
#pragma once

#include "backward/backward.h"
#include "backward/sums.cuh"
#include "common/shared_tile.cuh"

namespace tilescope::kernels::backward {

// D = rowsum(dO * O), and zeros for dQ's accumulator. Grid: x = query tiles, y = query heads, z = batch.
template <class T, int head_dim, int tile_q>
__global__ void __launch_bounds__(pass_threads) preprocess(const RowParams p) {
  using namespace device;
  constexpr int lanes = 8;  // that share a row
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  if (p.d_q != nullptr) {
    float* sums = p.d_q + (head * gridDim.x + blockIdx.x) * (tile_q * head_dim);
    const int thread = static_cast<int>(threadIdx.x);
    const int row = first_row + sum_row<tile_q>(0, thread % 128) + thread / 128 * 8;
#pragma unroll
    for (int i = 0; i < 8; ++i)  // runs 2 i % 8 and + 1 of part i / 4
      if (row + (tile_q == 128 ? i / 4 * 64 : 0) < p.q_len)
        store_16(sums + (i * pass_threads + thread) * 4, uint4{0, 0, 0, 0});
  }
  // A warp owns consecutive rows, so that one store holds all its sums.
  constexpr int rows = tile_q / (pass_threads / 32), rows_a_pass = 32 / lanes;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int warp_row = first_row + static_cast<int>(threadIdx.x) / 32 * rows;
  float own = 0.0f;
#pragma unroll
  for (int pass = 0; pass < rows / rows_a_pass; ++pass) {
    const int row = warp_row + pass * rows_a_pass + lane / lanes;
    float sum = 0.0f;
#pragma unroll
    for (int chunk = 0; chunk < head_dim / 8; chunk += lanes) {  // of 16 bytes
      uint4 a{}, b{};                                            // rows past the end are processed like the others
      if (row < p.q_len) {
        const std::int64_t at = (head * p.q_len + row) * (head_dim / 8) + chunk + lane % lanes;
        a = reinterpret_cast<const uint4*>(p.o)[at], b = reinterpret_cast<const uint4*>(p.d_o)[at];
      }
      const std::uint32_t x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 u = Element<T>::unpack(x[i]), w = Element<T>::unpack(y[i]);
        sum = __fmaf_rn(u.x, w.x, sum);
        sum = __fmaf_rn(u.y, w.y, sum);
      }
    }
#pragma unroll
    for (int step = 1; step < lanes; step *= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, step));
    sum = __shfl_sync(0xffffffffu, sum, lane % rows_a_pass * lanes);
    if (lane / rows_a_pass == pass) own = sum;
  }
  if (lane < rows && warp_row + lane < p.q_len) p.d[head * p.q_len + warp_row + lane] = own;
}

// dQ from the fp32 sums, which lie in the order of the main kernel's fragments. Same grid.
template <class T, int head_dim, int tile_q>
__global__ void __launch_bounds__(pass_threads) convert(const ConvertParams p) {
  using namespace device;
  using Tile = SharedTile<head_dim>;
  __shared__ __align__(1024) unsigned char shared[tile_q * head_dim * 2];
  const std::uint32_t tile = shared_address(shared);
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * gridDim.y + blockIdx.y;
  const int first_row = static_cast<int>(blockIdx.x) * tile_q;
  const int group = static_cast<int>(threadIdx.x) / 128, thread = static_cast<int>(threadIdx.x) % 128;
  const int lane = thread % 32;
  const float4* sums =
      reinterpret_cast<const float4*>(p.d_q_sum + (head * gridDim.x + blockIdx.x) * (tile_q * head_dim)) +
      group * 1024 + thread;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = sum_row<tile_q>(group, thread) + i % 2 * 8;
    float4 x{};
    if (first_row + row < p.q_len) x = sums[i * 128];
    const int chunk = i / 2 * 2 + (head_dim == 128 ? group * 8 : 0);
    Tile::put(tile, row, chunk, lane, Element<T>::pack(__fmul_rn(x.x, p.scale), __fmul_rn(x.y, p.scale)));
    Tile::put(tile, row, chunk + 1, lane, Element<T>::pack(__fmul_rn(x.z, p.scale), __fmul_rn(x.w, p.scale)));
  }
  __syncthreads();
  Tile::template copy_to<tile_q, pass_threads>(tile, 0, threadIdx.x,
                                               static_cast<T*>(p.d_q) + (head * p.q_len + first_row) * head_dim,
                                               head_dim, p.q_len - first_row);
}

}  // namespace tilescope::kernels::backward
