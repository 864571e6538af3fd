// The constants of one built fp8 kernel: tile sizes, shared memory, registers, barriers.
#pragma once

#include "fused_fp8/forward.h"
#include "fused_fp8/panels.cuh"
#include "fused_wgmma/work.cuh"

namespace tilescope::kernels::fused_fp8 {

using fused_wgmma::Work;
using fused_wgmma::work_at;

// Output: the format of O, and of P and V where V has 2-byte elements. turns: the warpgroups alternate in issuing their
// products. overlap: softmax runs while P V of the previous step executes (README of fused_wgmma), not after it. late:
// O is rescaled while the next Q K^T executes, not before it. integers: maxima by integer comparisons (softmax.cuh).
template <class Output, Values value_format, int head_dims, int consumers, int keys_a_tile, int buffers, bool turns_,
          bool overlap_, bool late_, bool integers_>
struct Shape {
  using Out = Output;
  static constexpr Values values = value_format;
  static constexpr int head_dim = head_dims, warpgroups = consumers, tile_kv = keys_a_tile, stages = buffers;
  static constexpr bool turns = turns_, overlap = overlap_, late = late_, integers = integers_;
  static constexpr int tile_q = 64 * warpgroups, threads = 128 * (warpgroups + 1);
  static constexpr bool fp8_values = values != Values::wide, transposes = values == Values::rows;
  using Codes = Panels<head_dim>;                    // Q, K, and V as it arrives, of 1-byte elements
  static constexpr int group_bytes = 64 * head_dim;  // Q of one warpgroup
  static constexpr int q_bytes = group_bytes * warpgroups, k_bytes = tile_kv * head_dim;
  static constexpr int panel = transposes ? 128 : value_panel(tile_kv);   // keys in a panel of V^T
  static constexpr int v_bytes = value_bytes(head_dim, tile_kv, values);  // as the product reads it
  static constexpr int raw_bytes = transposes ? tile_kv * head_dim : 0;   // as it arrives, where that differs
  static constexpr int smem = smem_bytes(head_dim, tile_q, tile_kv, stages, values);
  // Registers per thread: the producer releases registers that the consumers then allocate.
  static constexpr bool tight = head_dim == 256 && tile_kv > 96;
  static constexpr bool few = tight || values == Values::columns;
  static constexpr int producer_registers = warpgroups == 3 ? 32 : few ? 24 : 40;
  static constexpr int consumer_registers = warpgroups == 3 ? 160 : few ? 240 : 232;
  // A tile's first step has the last keys. There a warpgroup computes scores of the smallest multiple of 64 keys that
  // includes every key its rows see.
  static constexpr bool narrow = values == Values::columns;
  template <int keys>
  using FirstKeys = std::integral_constant<int, (narrow && (keys < tile_kv)) ? keys : tile_kv>;
  // P is held as exp2(S - max + 8), up to 256 of e4m3's 448: small probabilities are normal numbers down to 2^-14.
  static constexpr float p_shift = 8.0f;
  static constexpr int p_steps = fp8_values ? tile_kv / 32 : tile_kv / 16;  // wgmma instructions of P V
  using Mma = Element<Out>;

  struct Barriers {
    std::uint32_t base;
    __device__ __forceinline__ std::uint32_t q_full() const { return base; }
    __device__ __forceinline__ std::uint32_t q_empty() const { return base + 8; }
    __device__ __forceinline__ std::uint32_t index_full() const { return base + 16; }
    __device__ __forceinline__ std::uint32_t index_empty() const { return base + 24; }
    __device__ __forceinline__ std::uint32_t index() const { return base + 32; }
    __device__ __forceinline__ std::uint32_t k_full(int stage) const { return base + 48 + stage * 48; }
    __device__ __forceinline__ std::uint32_t k_empty(int stage) const { return base + 56 + stage * 48; }
    __device__ __forceinline__ std::uint32_t v_full(int stage) const { return base + 64 + stage * 48; }
    __device__ __forceinline__ std::uint32_t v_empty(int stage) const { return base + 72 + stage * 48; }
    __device__ __forceinline__ std::uint32_t raw_full(int stage) const { return base + 80 + stage * 48; }
    __device__ __forceinline__ std::uint32_t raw_empty(int stage) const { return base + 88 + stage * 48; }
  };
  static_assert(48 + stages * 48 <= barrier_bytes);

  struct Shared {  // addresses of the tiles
    std::uint32_t q, k, v, raw;
  };

  static __device__ __forceinline__ void init(const Barriers& bar) {
    init_barrier(bar.q_full(), 1);
    init_barrier(bar.q_empty(), warpgroups * 4);  // one arrival a warp
    init_barrier(bar.index_full(), 1);
    init_barrier(bar.index_empty(), warpgroups * 4 + (transposes ? 3 : 0));
    for (int i = 0; i < stages; ++i) {
      init_barrier(bar.k_full(i), 1);
      init_barrier(bar.k_empty(i), warpgroups * 4);
      init_barrier(bar.v_full(i), transposes ? 3 : 1);
      init_barrier(bar.v_empty(i), warpgroups * 4);
      init_barrier(bar.raw_full(i), 1);
      init_barrier(bar.raw_empty(i), 3);
    }
    fence_barrier_init();
  }
};

// The index of the block's next tile, which the loading thread has put into shared memory; all other warps read it.
template <class Barriers>
__device__ __forceinline__ int next_index(const Barriers& bar, int& parity) {
  int index;
  wait_barrier(bar.index_full(), parity);
  parity ^= 1;
  asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(index) : "r"(bar.index()) : "memory");
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(bar.index_empty());
  return index;
}

}  // namespace tilescope::kernels::fused_fp8
