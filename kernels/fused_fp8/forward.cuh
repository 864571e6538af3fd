// FlashAttention-3 forward with e4m3 operands: the structure of fused_wgmma, with Q K^T in e4m3 and P V in e4m3 (V of
// 1-byte elements) or in V's own 2-byte format.
//
// 8-bit wgmma requires both operands k-major, but V is stored with its keys as rows. Either the producer warpgroup
// transposes each V tile in shared memory (producer.cuh), or a previous launch has transposed V (transpose.cuh). The
// sum over keys may run in any order, and so may the product's columns in registers. Both orders are chosen so that no
// extra instruction is needed:
//   - keys: of each 16, thread q = t % 4 of a quad has the scores of keys 2q, 2q + 1, 8 + 2q and 9 + 2q in the
//     accumulator of Q K^T, and gives bytes 4q ... 4q + 3 of the A operand of P V. So byte 4q + b of V^T is the b-th
//     of these keys.
//   - columns: of each 16 columns of V, row r < 8 of V^T is column 2r and row 8 + r is column 2r + 1. So a thread's
//     four columns of the accumulator of P V are 4q ... 4q + 3 of O.
#pragma once

#include "fused_fp8/consumer.cuh"
#include "fused_fp8/producer.cuh"

namespace tilescope::kernels::fused_fp8 {

// Grid: x = persistent blocks, at most as many as can be resident at once.
template <class Out, Values values, int head_dim, int warpgroups, int tile_kv, int stages, bool turns, bool overlap,
          bool late, bool integers>
__global__ void __launch_bounds__(128 * (warpgroups + 1), 1) forward(const __grid_constant__ ForwardParams p) {
  using F = Shape<Out, values, head_dim, warpgroups, tile_kv, stages, turns, overlap, late, integers>;
  extern __shared__ __align__(1024) unsigned char shared[];
  typename F::Shared tiles;
  tiles.q = shared_address(shared);
  tiles.k = tiles.q + F::q_bytes;
  tiles.v = tiles.k + stages * F::k_bytes;
  tiles.raw = tiles.v + stages * F::v_bytes;
  const typename F::Barriers bar{tiles.q + F::smem - barrier_bytes};
  if (threadIdx.x == 0) F::init(bar);
  __syncthreads();
  if (threadIdx.x < 128) {
    give_up_registers<F::producer_registers>();
    if (threadIdx.x == 0) Producer<F>::load(p, bar, tiles);
    if (F::transposes && threadIdx.x >= 32)
      Producer<F>::transpose_all(p, bar, tiles, static_cast<int>(threadIdx.x) / 32 - 1);
  } else {
    take_registers<F::consumer_registers>();
    Consumer<F>::consume(p, bar, tiles);
  }
}

}  // namespace tilescope::kernels::fused_fp8
