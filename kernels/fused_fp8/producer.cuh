// The producer warpgroup of the fp8 kernel: one thread loads tiles with TMA; three warps transpose V where the kernel
// transposes it in shared memory.
#pragma once

#include "common/tma.cuh"
#include "fused_fp8/shape.cuh"

namespace tilescope::kernels::fused_fp8 {

template <class Shape>
struct Producer {
  using Codes = typename Shape::Codes;
  using Barriers = typename Shape::Barriers;
  using Shared = typename Shape::Shared;
  static constexpr Values values = Shape::values;
  static constexpr bool transposes = Shape::transposes;
  static constexpr int head_dim = Shape::head_dim, warpgroups = Shape::warpgroups, stages = Shape::stages;
  static constexpr int tile_q = Shape::tile_q, tile_kv = Shape::tile_kv, panel = Shape::panel;
  static constexpr int group_bytes = Shape::group_bytes, q_bytes = Shape::q_bytes, k_bytes = Shape::k_bytes;
  static constexpr int v_bytes = Shape::v_bytes, raw_bytes = Shape::raw_bytes;

  // Transposes the share of warp `part` (of three) in a V tile, in blocks of 16 keys and 32 columns, `batch` blocks at
  // a time.
  static __device__ __forceinline__ void transpose(std::uint32_t from, std::uint32_t to, int part) {
    constexpr int column_blocks = head_dim / 32, batch = Shape::tight ? 2 : column_blocks < 4 ? column_blocks : 4;
    const int lane = thread_index_now() % 32;
    const std::uint32_t source = from + Codes::chunk(lane % 16, lane / 16), target = to + lane * 128;
#pragma unroll 1
    for (int keys = part; keys < tile_kv / 16; keys += 3) {
      const std::uint32_t source_row = source + keys * (16 * Codes::row);
      const std::uint32_t target_chunk = target + keys / 8 * (head_dim * 128) + ((keys % 8 ^ (lane & 7)) << 4);
#pragma unroll 1
      for (int first = 0; first < column_blocks; first += batch) {
        Fragment4 pairs[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i) {  // with the swizzle, a 32-byte step inside a panel is an XOR
          constexpr int blocks_a_panel = Codes::row / 32;
          const int panel = (first + i) / blocks_a_panel, inside = (first + i) % blocks_a_panel;
          pairs[i] = load_matrices_transposed((source_row ^ inside << 5) + panel * (tile_kv * Codes::row));
        }
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          store_regrouped(target_chunk + (first + i) * 4096, pairs[i]);
        }
      }
    }
  }

  // Waits for the previous launch to complete. This launch may run beside it until it needs V^T (LaunchShape::early).
  static __device__ __forceinline__ void wait_for_transposed() {
    if constexpr (values == Values::columns) asm volatile("griddepcontrol.wait;\n" ::: "memory");
  }

  // One thread loads. `step` counts the KV tiles; tile `step` of K and V lies in buffer step % stages.
  static __device__ __forceinline__ void load(const ForwardParams& p, const Barriers& bar, const Shared& tiles) {
    int step = 0, q_parity = 0, index_parity = 0;
    auto load_k = [&](int kv_head, int n, int number) {
      const int stage = number % stages;
      wait_barrier(bar.k_empty(stage), ~(number / stages) & 1);
      arrive_expect(bar.k_full(stage), k_bytes);
      load_tile(tiles.k + stage * k_bytes, &p.k, bar.k_full(stage), 0, n * tile_kv, 0, kv_head);
    };
    auto load_v = [&](int kv_head, int n, int number) {
      constexpr int bytes = transposes ? raw_bytes : v_bytes;
      const int stage = number % stages;
      const std::uint32_t full = transposes ? bar.raw_full(stage) : bar.v_full(stage);
      const std::uint32_t tile = (transposes ? tiles.raw : tiles.v) + stage * bytes;
      wait_barrier(transposes ? bar.raw_empty(stage) : bar.v_empty(stage), ~(number / stages) & 1);
      arrive_expect(full, bytes);
      if (values == Values::columns) {
        load_tile(tile, &p.v, full, 0, 0, n * (tile_kv / panel), kv_head);
      } else {
        load_tile(tile, &p.v, full, 0, n * tile_kv, 0, kv_head);
      }
    };
    for (int index = static_cast<int>(blockIdx.x); index < p.tiles;) {
      const Work work = work_at<tile_q, tile_kv>(p, index);
      if (work.last > 0) {
        load_k(work.kv_head, work.last - 1, step);
        wait_barrier(bar.q_empty(), q_parity ^ 1);
        q_parity ^= 1;
        arrive_expect(bar.q_full(), q_bytes);
#pragma unroll
        for (int i = 0; i < warpgroups; ++i)
          load_tile(tiles.q + i * group_bytes, &p.q, bar.q_full(), 0, work.row + i * 64, 0, work.head);
        wait_for_transposed();
#pragma unroll 1
        for (int n = work.last - 1; n >= 0; --n, ++step) {
          if (n > 0) load_k(work.kv_head, n - 1, step + 1);
          load_v(work.kv_head, n, step);
        }
      }
      index = claim(p);  // not earlier: an early claim would hold a tile here while other blocks have no tile left
      wait_barrier(bar.index_empty(), index_parity ^ 1);
      index_parity ^= 1;
      asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(bar.index()), "r"(index) : "memory");
      arrive(bar.index_full());
    }
    wait_for_transposed();  // needed if no tile had a visible key: a launch must not end before the previous one
  }

  // Three warps transpose.
  static __device__ __forceinline__ void transpose_all(const ForwardParams& p, const Barriers& bar, const Shared& tiles,
                                                       int part) {
    int step = 0, index_parity = 0;
    for (int index = static_cast<int>(blockIdx.x); index < p.tiles; index = next_index(bar, index_parity)) {
#pragma unroll 1
      for (int n = work_at<tile_q, tile_kv>(p, index).last; n > 0; --n, ++step) {
        const int stage = step % stages, parity = step / stages & 1;
        wait_barrier(bar.raw_full(stage), parity);
        wait_barrier(bar.v_empty(stage), parity ^ 1);
        transpose(tiles.raw + stage * raw_bytes, tiles.v + stage * v_bytes, part);
        fence_async_proxy();
        __syncwarp();
        if (threadIdx.x % 32 == 0) arrive(bar.v_full(stage)), arrive(bar.raw_empty(stage));
      }
    }
  }
};

}  // namespace tilescope::kernels::fused_fp8
