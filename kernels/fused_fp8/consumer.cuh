// The consumer warpgroups of the fp8 kernel: Q K^T, softmax and P V of 64 query rows each.
#pragma once

#include "fused_fp8/shape.cuh"
#include "fused_fp8/softmax.cuh"

namespace tilescope::kernels::fused_fp8 {

template <class Shape>
struct Consumer : Softmax<Shape> {
  using typename Softmax<Shape>::Rows;
  using Softmax<Shape>::mask, Softmax<Shape>::softmax, Softmax<Shape>::round_scores, Softmax<Shape>::rescale;
  using Out = typename Shape::Out;
  using Mma = typename Shape::Mma;
  using Codes = typename Shape::Codes;
  using Barriers = typename Shape::Barriers;
  using Shared = typename Shape::Shared;
  template <int keys>
  using FirstKeys = typename Shape::template FirstKeys<keys>;
  static constexpr bool fp8_values = Shape::fp8_values, narrow = Shape::narrow;
  static constexpr bool turns = Shape::turns, overlap = Shape::overlap, late = Shape::late;
  static constexpr int head_dim = Shape::head_dim, warpgroups = Shape::warpgroups, stages = Shape::stages;
  static constexpr int tile_q = Shape::tile_q, tile_kv = Shape::tile_kv, panel = Shape::panel, p_steps = Shape::p_steps;
  static constexpr int group_bytes = Shape::group_bytes, k_bytes = Shape::k_bytes, v_bytes = Shape::v_bytes;

  // S = Q K^T of one KV tile, unscaled; of its first 2 * count keys.
  template <int count>
  static __device__ __forceinline__ void scores(float (&s)[count], std::uint32_t q, std::uint32_t k) {
    constexpr int steps_a_panel = Codes::row / 32;
#pragma unroll
    for (int step = 0; step < head_dim / 32; ++step) {
      const std::uint64_t a = Codes::k_major(q + step / steps_a_panel * (64 * Codes::row));
      const std::uint64_t b = Codes::k_major(k + step / steps_a_panel * (tile_kv * Codes::row));
      Wgmma<2 * count>::template ss<E4m3>(s, step_descriptor(a, step % steps_a_panel * 32),
                                          step_descriptor(b, step % steps_a_panel * 32), step > 0);
    }
  }

  // O += P V of one KV tile.
  static __device__ __forceinline__ void accumulate(float (&o)[head_dim / 2], const std::uint32_t (&p)[p_steps][4],
                                                    std::uint32_t v) {
#pragma unroll
    for (int step = 0; step < p_steps; ++step) {
      if constexpr (fp8_values) {
        constexpr int steps_a_panel = panel / 32;
        const std::uint64_t b = Panels<panel>::k_major(v + step / steps_a_panel * (head_dim * panel));
        Wgmma<head_dim>::template rs<E4m3>(o, p[step], step_descriptor(b, step % steps_a_panel * 32), 1);
      } else {
        const std::uint64_t b = mn_major(v, tile_kv * 128);
        Wgmma<head_dim>::template rs<Out, Major::mn>(o, p[step], step_descriptor(b, step * 16 * 128), 1);
      }
    }
  }

  // Divides by the row sums and stores O, a quad 32 bytes at once (2-byte V: twice 16); L by one lane a row.
  static __device__ __forceinline__ void finish(float (&o)[head_dim / 2], const Rows& rows, const ForwardParams& p,
                                                const Work& work, int group) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    const int first_row = work.row + group * 64 + static_cast<int>(threadIdx.x) / 32 % 4 * 16;  // of the warp
    const std::int64_t first = static_cast<std::int64_t>(work.head) * p.q_len + first_row;
    float l[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows.sum[half];
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
      const float inverse = sum > 0.0f ? __fmul_rn(reciprocal_fast(sum), p.v_descale) : 0.0f;
      const float log2_sum = __fadd_rn(rows.max[half], log2_fast(sum));
      l[half] = sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
      const int row = lane / 4 + half * 8;
      Out* out = static_cast<Out*>(p.o) + (first + row) * head_dim;
      const bool inside = first_row + row < p.q_len;
#pragma unroll
      for (int j = 0; j < head_dim / 8; j += 2) {
        float x[4];  // columns 8 j + 4 (lane % 4) and on, or for 2-byte V those of two 8-column blocks
#pragma unroll
        for (int i = 0; i < 4; ++i)
          x[i] = __fmul_rn(fp8_values ? o[(j + i % 2) * 4 + half * 2 + i / 2] : o[(j + i / 2) * 4 + half * 2 + i % 2],
                           inverse);
        const std::uint32_t low = Mma::pack(x[0], x[1]), high = Mma::pack(x[2], x[3]);
        if (inside) {
          if constexpr (fp8_values) {
            asm volatile("st.global.v2.b32 [%0], {%1,%2};\n" ::"l"(out + j * 8 + (lane & 3) * 4), "r"(low), "r"(high)
                         : "memory");
          } else {
            asm volatile("st.global.b32 [%0], %1;\n" ::"l"(out + j * 8 + (lane & 3) * 2), "r"(low) : "memory");
            asm volatile("st.global.b32 [%0], %1;\n" ::"l"(out + j * 8 + 8 + (lane & 3) * 2), "r"(high) : "memory");
          }
        }
      }
    }
    const float low = __shfl_sync(0xffffffffu, l[0], (lane & 7) * 4);
    const float high = __shfl_sync(0xffffffffu, l[1], (lane & 7) * 4);
    if (lane < 16 && first_row + lane < p.q_len) p.l[first + lane] = lane < 8 ? low : high;
  }

  // Registers limit the tile size, so little is kept besides the accumulators: both rings share one step counter (K
  // runs one step ahead of V), and values that depend on the tile's index are recomputed.
  static __device__ __forceinline__ void consume(const ForwardParams& p, const Barriers& bar, const Shared& tiles) {
    // The shuffle tells the compiler that the value is uniform over the warp.
    const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0) - 1;
    const std::uint32_t q = tiles.q + group * group_bytes;
    int step = 0;  // number of V tiles that have been consumed
    int q_parity = 0, index_parity = 0;
    // Unsigned: division by `stages` is cheaper.
    auto stage_of = [](unsigned number) { return number % stages; };
    auto parity_of = [](unsigned number) { return number / stages & 1; };
    auto wait_k = [&](int number) { wait_barrier(bar.k_full(stage_of(number)), parity_of(number)); };
    auto wait_v = [&] { wait_barrier(bar.v_full(stage_of(step)), parity_of(step)); };
    auto release = [&](std::uint32_t barrier) {
      if (threadIdx.x % 32 == 0) arrive(barrier);
    };
    // Ping-pong: the warpgroups alternate in issuing their products, so that the softmax of one overlaps the products
    // of another.
    auto take_turn = [&] {
      if constexpr (turns && warpgroups > 1) sync_named(1 + group, 256);
    };
    auto pass_turn = [&] {
      if constexpr (turns && warpgroups > 1) arrive_named(1 + (group + 1) % warpgroups, 256);
    };
    if (group == warpgroups - 1) pass_turn();

    for (int index = static_cast<int>(blockIdx.x); index < p.tiles; index = next_index(bar, index_parity)) {
      float o[head_dim / 2];
      Rows rows{{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
#pragma unroll
      for (int i = 0; i < head_dim / 2; ++i) o[i] = 0.0f;
      const Work work = work_at<tile_q, tile_kv>(p, index);
      if (work.last > 0) {
        const int first_row = work.row + group * 64;
        // KV tiles before this one are fully visible to every row of this warpgroup.
        const int unmasked = (p.causal ? min(p.kv_len, first_row + p.kv_len - p.q_len + 1) : p.kv_len) / tile_kv;
        auto mask_tile = [&](auto& s, int n) {
          const int thread = static_cast<int>(threadIdx.x) & 127;
          if (n >= unmasked) mask(s, p, first_row + thread / 32 * 16 + thread % 32 / 4, n * tile_kv + thread % 4 * 2);
        };
        float s[tile_kv / 2], correction[2];
        std::uint32_t probabilities[p_steps][4];
        auto first_step = [&](auto keys) {  // over the first `keys` keys of the last tile
          float part[decltype(keys)::value / 2];
          pin(part);
          fence_operands();
          scores(part, q, tiles.k + stage_of(step) * k_bytes);
          commit_products();
          wait_products<0>();
          pin(part);
          release(bar.k_empty(stage_of(step)));
          mask_tile(part, work.last - 1);
          softmax(part, rows, correction, p.scale_log2);
          round_scores(part, probabilities);
        };
        wait_barrier(bar.q_full(), q_parity);
        q_parity ^= 1;
        wait_k(step);
        const int end = p.causal ? min(p.kv_len, first_row + 64 + p.kv_len - p.q_len) : p.kv_len;
        const int seen = narrow ? end - (work.last - 1) * tile_kv : tile_kv;
        if (tile_kv > 64 && seen <= 64) first_step(FirstKeys<64>());
        else if (tile_kv > 128 && seen <= 128) first_step(FirstKeys<128>());
        else if (tile_kv > 192 && seen <= 192) first_step(FirstKeys<192>());
        else first_step(FirstKeys<tile_kv>());
        if (overlap && work.last > 1) wait_k(step + 1);

#pragma unroll 1
        for (int n = work.last - 2; n >= 0; --n) {
          if constexpr (!overlap) wait_k(step + 1);
          take_turn();
          pin(s);
          pin(o);
          fence_operands();
          scores(s, q, tiles.k + stage_of(step + 1) * k_bytes);
          commit_products();
          if constexpr (late) {  // runs while the warpgroup waits for Q K^T; the branch keeps ptxas from moving it
                                 // earlier
            if (n < work.last - 2) rescale(o, correction);
            pin(o);
          }
          wait_v();
          fence_operands();
          accumulate(o, probabilities, tiles.v + stage_of(step) * v_bytes);
          commit_products();
          pass_turn();
          wait_products<1>();
          pin(s);
          release(bar.k_empty(stage_of(step + 1)));
          mask_tile(s, n);
          softmax(s, rows, correction, p.scale_log2);
          if constexpr (overlap) {
            pin(s);
            if (n > 0) wait_k(step + 2);
          }
          wait_products<0>();
          pin(o);
          release(bar.v_empty(stage_of(step)));
          ++step;
          round_scores(s, probabilities);
          if constexpr (!late) rescale(o, correction);
        }
        release(bar.q_empty());
        if (late && work.last > 1) rescale(o, correction);
        wait_v();
        pin(o);
        fence_operands();
        accumulate(o, probabilities, tiles.v + stage_of(step) * v_bytes);
        commit_products();
        wait_products<0>();
        pin(o);
        release(bar.v_empty(stage_of(step)));
        ++step;
      }
      finish(o, rows, p, work_at<tile_q, tile_kv>(p, index), group);
    }
  }
};

}  // namespace tilescope::kernels::fused_fp8
