// FlashAttention-3 forward for sm_90a: a producer warp loads tiles with TMA, two or three consumer warpgroups own 64
// query rows each and compute with wgmma. Scores and probabilities never leave registers.
#pragma once

#include "common/tma.cuh"
#include "common/wgmma.cuh"
#include "fused_wgmma/work.cuh"

namespace tilescope::kernels::fused_wgmma {

using device::Element;
using device::Major;
using device::Wgmma;

// Position in a ring of shared-memory buffers: the buffer, and the parity of the current round.
template <int stages>
struct Ring {
  int stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

template <class T, int head_dim, int warpgroups, int tile_kv, int stages, bool overlap>
struct Forward {
  static constexpr int tile_q = 64 * warpgroups, threads = 128 * (warpgroups + 1);
  static constexpr int group_bytes = 64 * head_dim * 2;  // Q of one warpgroup
  static constexpr int q_bytes = group_bytes * warpgroups, kv_bytes = tile_kv * head_dim * 2;
  static constexpr int smem = smem_bytes(head_dim, tile_q, tile_kv, stages);
  static constexpr int min_blocks = warpgroups == 1 && 2 * (smem + 1024) <= 228 * 1024 ? 2 : 1;
  // Registers per thread: the producer releases registers that the consumers then allocate.
  static constexpr int producer_registers = warpgroups == 3 ? 32 : 24;
  static constexpr int consumer_registers = warpgroups == 3 ? 160 : warpgroups == 2 ? 240 : 232;
  using Mma = Element<T>;

  struct Barriers {
    std::uint32_t base;
    __device__ __forceinline__ std::uint32_t q_full() const { return base; }
    __device__ __forceinline__ std::uint32_t q_empty() const { return base + 8; }
    __device__ __forceinline__ std::uint32_t index_full() const { return base + 16; }
    __device__ __forceinline__ std::uint32_t index_empty() const { return base + 24; }
    __device__ __forceinline__ std::uint32_t index() const { return base + 32; }
    __device__ __forceinline__ std::uint32_t k_full(int stage) const { return base + 48 + stage * 32; }
    __device__ __forceinline__ std::uint32_t k_empty(int stage) const { return base + 56 + stage * 32; }
    __device__ __forceinline__ std::uint32_t v_full(int stage) const { return base + 64 + stage * 32; }
    __device__ __forceinline__ std::uint32_t v_empty(int stage) const { return base + 72 + stage * 32; }
  };
  static_assert(48 + stages * 32 <= barrier_bytes);

  static __device__ __forceinline__ void init(const Barriers& bar) {
    device::init_barrier(bar.q_full(), 1);
    device::init_barrier(bar.q_empty(), warpgroups * 4);
    device::init_barrier(bar.index_full(), 1);
    device::init_barrier(bar.index_empty(), warpgroups * 4);
    for (int i = 0; i < stages; ++i) {
      device::init_barrier(bar.k_full(i), 1);
      device::init_barrier(bar.v_full(i), 1);
      device::init_barrier(bar.k_empty(i), warpgroups * 4);  // one arrival a warp
      device::init_barrier(bar.v_empty(i), warpgroups * 4);
    }
    device::fence_barrier_init();
  }

  // ---- producer: one thread ----
  static __device__ __forceinline__ void produce(const ForwardParams& p, const Barriers& bar, std::uint32_t q_tile,
                                                 std::uint32_t k_tiles, std::uint32_t v_tiles) {
    Ring<stages> k_ring, v_ring;
    int q_parity = 0;
    auto load_k = [&](const Work& work, int n) {
      device::wait_barrier(bar.k_empty(k_ring.stage), k_ring.parity ^ 1);
      device::arrive_expect(bar.k_full(k_ring.stage), kv_bytes);
      device::load_tile(k_tiles + k_ring.stage * kv_bytes, &p.k, bar.k_full(k_ring.stage), 0, n * tile_kv, 0,
                        work.kv_head);
      k_ring.advance();
    };
    auto load_v = [&](const Work& work, int n) {
      device::wait_barrier(bar.v_empty(v_ring.stage), v_ring.parity ^ 1);
      device::arrive_expect(bar.v_full(v_ring.stage), kv_bytes);
      device::load_tile(v_tiles + v_ring.stage * kv_bytes, &p.v, bar.v_full(v_ring.stage), 0, n * tile_kv, 0,
                        work.kv_head);
      v_ring.advance();
    };
    int index_parity = 0;
    auto next = [&] {
      const int index = claim(p);
      device::wait_barrier(bar.index_empty(), index_parity ^ 1);
      index_parity ^= 1;
      asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(bar.index()), "r"(index) : "memory");
      device::arrive(bar.index_full());
      return index;
    };
    for (int index = static_cast<int>(blockIdx.x); index < p.tiles; index = next()) {
      const Work work = work_at<tile_q, tile_kv>(p, index);
      if (work.first >= work.last) continue;
      load_k(work, work.last - 1);
      device::wait_barrier(bar.q_empty(), q_parity ^ 1);
      q_parity ^= 1;
      device::arrive_expect(bar.q_full(), q_bytes);
#pragma unroll
      for (int i = 0; i < warpgroups; ++i)
        device::load_tile(q_tile + i * group_bytes, &p.q, bar.q_full(), 0, work.row + i * 64, 0, work.head);
      for (int n = work.last - 1; n > work.first; --n) load_k(work, n - 1), load_v(work, n);
      load_v(work, work.first);
    }
  }

  // ---- consumers ----
  struct Rows {  // running softmax state of this thread's rows g and g + 8, replicated in a quad's 4 lanes
    float max[2], sum[2];
  };

  // S = Q K^T of one KV tile, unscaled.
  static __device__ __forceinline__ void scores(float (&s)[tile_kv / 2], std::uint32_t q, std::uint32_t k) {
#pragma unroll
    for (int step = 0; step < head_dim / 16; ++step) {
      const std::uint64_t a = device::k_major(q + step / 4 * 8192);
      const std::uint64_t b = device::k_major(k + step / 4 * (tile_kv * 128));
      Wgmma<tile_kv>::template ss<T>(s, device::step_descriptor(a, step % 4 * 32),
                                     device::step_descriptor(b, step % 4 * 32), step > 0);
    }
  }

  // O += P V of one KV tile.
  static __device__ __forceinline__ void accumulate(float (&o)[head_dim / 2], const std::uint32_t (&p)[tile_kv / 16][4],
                                                    std::uint32_t v) {
    const std::uint64_t b = device::mn_major(v, tile_kv * 128);
#pragma unroll
    for (int step = 0; step < tile_kv / 16; ++step)
      Wgmma<head_dim>::template rs<T, Major::mn>(o, p[step], device::step_descriptor(b, step * 16 * 128), 1);
  }

  // Scores of keys after the row's last visible one, or before its first, become -inf. `first_key`: this thread's.
  template <bool after>
  static __device__ __forceinline__ void mask(float (&s)[tile_kv / 2], const ForwardParams& p, int row, int first_key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int diagonal = row + half * 8 + p.kv_len - p.q_len;
      const int high = (p.causal ? min(p.kv_len - 1, diagonal) : p.kv_len - 1) - first_key;
      const int low = diagonal - p.window + 1 - first_key;
#pragma unroll
      for (int j = 0; j < tile_kv / 8; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (after ? j * 8 + e > high : j * 8 + e < low) s[j * 4 + half * 2 + e] = -INFINITY;
    }
  }

  // One online-softmax step: S becomes exp2(S * scale_log2 - max), maxima and sums are updated, and `correction` is the
  // factor applied to earlier sums (and to O).
  static __device__ __forceinline__ void softmax(float (&s)[tile_kv / 2], Rows& rows, float (&correction)[2],
                                                 float scale_log2) {
    float negative_max[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = fmaxf(s[half * 2], s[half * 2 + 1]);
#pragma unroll
      for (int j = 1; j < tile_kv / 8; ++j) max = fmaxf(max, fmaxf(s[j * 4 + half * 2], s[j * 4 + half * 2 + 1]));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
      max = fmaxf(rows.max[half], __fmul_rn(max, scale_log2));
      // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
      negative_max[half] = max == -INFINITY ? 0.0f : -max;
      correction[half] = device::exp2_fast(__fadd_rn(rows.max[half], negative_max[half]));
      rows.max[half] = max;
      rows.sum[half] = __fmul_rn(rows.sum[half], correction[half]);
    }
#pragma unroll
    for (int j = 0; j < tile_kv / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        s[j * 4 + i] = device::exp2_fast(__fmaf_rn(s[j * 4 + i], scale_log2, negative_max[i / 2]));
#pragma unroll
    for (int j = 0; j < tile_kv / 8; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) rows.sum[i / 2] = __fadd_rn(rows.sum[i / 2], s[j * 4 + i]);
  }

  // The rounded probabilities as A operands.
  static __device__ __forceinline__ void round_scores(const float (&s)[tile_kv / 2],
                                                      std::uint32_t (&p)[tile_kv / 16][4]) {
#pragma unroll
    for (int step = 0; step < tile_kv / 16; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) p[step][i] = Mma::pack(s[step * 8 + i * 2], s[step * 8 + i * 2 + 1]);
  }

  // Between the four lanes of a quad: word i of lane t becomes word t of lane i.
  static __device__ __forceinline__ void transpose_quad(std::uint32_t (&w)[4]) {
    const int lane = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int bit = 1; bit <= 2; bit *= 2)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if ((i & bit) == 0) {
          const bool high = lane & bit;
          const std::uint32_t other = __shfl_xor_sync(0xffffffffu, high ? w[i] : w[i + bit], bit);
          if (high) w[i] = other;
          else w[i + bit] = other;
        }
  }

  // Divides by the row sums and stores O, 16 bytes a lane, a quad's lanes side by side; L by one lane a row.
  static __device__ __forceinline__ void finish(const float (&o)[head_dim / 2], const Rows& rows,
                                                const ForwardParams& p, int head, int warp_row) {
    const int lane = static_cast<int>(threadIdx.x) & 31;
    float l[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = rows.sum[half];
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
      sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
      const float inverse = sum > 0.0f ? device::reciprocal_fast(sum) : 0.0f;
      const float log2_sum = __fadd_rn(rows.max[half], device::log2_fast(sum));
      l[half] = sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
      const int row = warp_row + half * 8 + lane / 4;
      T* out = static_cast<T*>(p.o) + (static_cast<std::int64_t>(head) * p.q_len + row) * head_dim + (lane & 3) * 8;
#pragma unroll
      for (int j = 0; j < head_dim / 8; j += 4) {
        std::uint32_t w[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          w[i] = Mma::pack(__fmul_rn(o[(j + i) * 4 + half * 2], inverse),
                           __fmul_rn(o[(j + i) * 4 + half * 2 + 1], inverse));
        transpose_quad(w);
        if (row < p.q_len) device::store_16(out + j * 8, make_uint4(w[0], w[1], w[2], w[3]));
      }
    }
    const float low = __shfl_sync(0xffffffffu, l[0], (lane & 7) * 4);
    const float high = __shfl_sync(0xffffffffu, l[1], (lane & 7) * 4);
    const int row = warp_row + lane;
    if (lane < 16 && row < p.q_len) p.l[static_cast<std::int64_t>(head) * p.q_len + row] = lane < 8 ? low : high;
  }

  // Stores a tile without any visible key: O = 0, L = -inf.
  static __device__ __forceinline__ void finish_empty(const ForwardParams& p, const Work& work, int group) {
    const int thread = static_cast<int>(threadIdx.x) & 127;
    constexpr int chunks = head_dim / 8;
    const std::int64_t first_row = static_cast<std::int64_t>(work.head) * p.q_len + work.row + group * 64;
    const int rows = min(64, p.q_len - work.row - group * 64);
    for (int i = thread; i < rows * chunks; i += 128)
      device::store_16(static_cast<T*>(p.o) + first_row * head_dim + i * 8, make_uint4(0, 0, 0, 0));
    if (thread < rows) p.l[first_row + thread] = -INFINITY;
  }

  static __device__ __forceinline__ void consume(const ForwardParams& p, const Barriers& bar, std::uint32_t q_tile,
                                                 std::uint32_t k_tiles, std::uint32_t v_tiles) {
    const int thread = static_cast<int>(threadIdx.x) & 127, lane = thread & 31;
    const int group = static_cast<int>(threadIdx.x) / 128 - 1;
    const std::uint32_t q = q_tile + group * group_bytes;
    Ring<stages> k_ring, v_ring;
    int q_parity = 0;
    auto release = [&](std::uint32_t barrier) {
      if (lane == 0) device::arrive(barrier);
    };
    // Ping-pong: the warpgroups alternate in issuing their products, so that the softmax of one overlaps the products
    // of another.
    auto take_turn = [&] {
      if constexpr (warpgroups > 1) device::sync_named(1 + group, 256);
    };
    auto pass_turn = [&] {
      if constexpr (warpgroups > 1) device::arrive_named(1 + (group + 1) % warpgroups, 256);
    };
    if (group == warpgroups - 1) pass_turn();

    int index_parity = 0;
    auto next = [&] {
      int index;
      device::wait_barrier(bar.index_full(), index_parity);
      index_parity ^= 1;
      asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(index) : "r"(bar.index()) : "memory");
      __syncwarp();
      release(bar.index_empty());
      return index;
    };
    for (int index = static_cast<int>(blockIdx.x); index < p.tiles; index = next()) {
      const Work work = work_at<tile_q, tile_kv>(p, index);
      if (work.first >= work.last) {
        finish_empty(p, work, group);
        continue;
      }
      const int first_row = work.row + group * 64, row = first_row + thread / 32 * 16 + lane / 4;
      const int shift = p.kv_len - p.q_len;
      // KV tiles in [unmasked_first, unmasked_last) are fully visible to every row of this warpgroup.
      const int unmasked_last = (p.causal ? min(p.kv_len, first_row + shift + 1) : p.kv_len) / tile_kv;
      const int unmasked_first = p.window > 0 ? (first_row + 63 + shift - p.window + tile_kv) / tile_kv : 0;
      auto mask_tile = [&](float(&s)[tile_kv / 2], int n) {
        const int first_key = n * tile_kv + (lane & 3) * 2;
        if (n >= unmasked_last) mask<true>(s, p, row, first_key);
        if (n < unmasked_first) mask<false>(s, p, row, first_key);
      };

      float o[head_dim / 2], s[tile_kv / 2];
      std::uint32_t probabilities[tile_kv / 16][4];
      Rows rows{{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
      float correction[2];
#pragma unroll
      for (int i = 0; i < head_dim / 2; ++i) o[i] = 0.0f;

      device::wait_barrier(bar.q_full(), q_parity);
      q_parity ^= 1;
      device::wait_barrier(bar.k_full(k_ring.stage), k_ring.parity);
      device::pin(s);
      device::fence_operands();
      scores(s, q, k_tiles + k_ring.stage * kv_bytes);
      device::commit_products();
      device::wait_products<0>();
      device::pin(s);
      release(bar.k_empty(k_ring.stage));
      k_ring.advance();
      mask_tile(s, work.last - 1);
      softmax(s, rows, correction, p.scale_log2);
      round_scores(s, probabilities);

      if (overlap && work.last - 2 >= work.first) device::wait_barrier(bar.k_full(k_ring.stage), k_ring.parity);
      for (int n = work.last - 2; n >= work.first; --n) {
        if constexpr (!overlap) device::wait_barrier(bar.k_full(k_ring.stage), k_ring.parity);
        take_turn();
        device::pin(s);
        device::pin(o);
        device::fence_operands();
        scores(s, q, k_tiles + k_ring.stage * kv_bytes);
        device::commit_products();
        device::wait_barrier(bar.v_full(v_ring.stage), v_ring.parity);
        device::fence_operands();
        accumulate(o, probabilities, v_tiles + v_ring.stage * kv_bytes);
        device::commit_products();
        pass_turn();
        device::wait_products<1>();
        device::pin(s);
        release(bar.k_empty(k_ring.stage));
        k_ring.advance();
        mask_tile(s, n);
        softmax(s, rows, correction, p.scale_log2);
        if constexpr (overlap) {
          device::pin(s);
          if (n > work.first) device::wait_barrier(bar.k_full(k_ring.stage), k_ring.parity);
        }
        device::wait_products<0>();
        device::pin(o);
        release(bar.v_empty(v_ring.stage));
        v_ring.advance();
        round_scores(s, probabilities);
#pragma unroll
        for (int i = 0; i < head_dim / 2; ++i) o[i] = __fmul_rn(o[i], correction[i / 2 & 1]);
      }
      release(bar.q_empty());
      device::wait_barrier(bar.v_full(v_ring.stage), v_ring.parity);
      device::pin(o);
      device::fence_operands();
      accumulate(o, probabilities, v_tiles + v_ring.stage * kv_bytes);
      device::commit_products();
      device::wait_products<0>();
      device::pin(o);
      release(bar.v_empty(v_ring.stage));
      v_ring.advance();
      finish(o, rows, p, work.head, first_row + thread / 32 * 16);
    }
  }
};

// Grid: x = persistent blocks, at most as many as can be resident at once.
template <class T, int head_dim, int warpgroups, int tile_kv, int stages, bool overlap>
__global__ void __launch_bounds__((Forward<T, head_dim, warpgroups, tile_kv, stages, overlap>::threads),
                                  (Forward<T, head_dim, warpgroups, tile_kv, stages, overlap>::min_blocks))
    forward(const __grid_constant__ ForwardParams p) {
  using F = Forward<T, head_dim, warpgroups, tile_kv, stages, overlap>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared);
  const std::uint32_t k_tiles = q_tile + F::q_bytes, v_tiles = k_tiles + stages * F::kv_bytes;
  const typename F::Barriers bar{q_tile + F::smem - barrier_bytes};
  if (threadIdx.x == 0) F::init(bar);
  __syncthreads();
  if (threadIdx.x < 128) {
    device::give_up_registers<F::producer_registers>();
    if (threadIdx.x < 32 && device::elect_lane()) F::produce(p, bar, q_tile, k_tiles, v_tiles);
  } else {
    device::take_registers<F::consumer_registers>();
    F::consume(p, bar, q_tile, k_tiles, v_tiles);
  }
}

}  // namespace tilescope::kernels::fused_wgmma
