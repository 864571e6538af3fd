// FlashAttention-3 forward with e4m3 operands: the structure of fused_wgmma, with Q K^T in e4m3 and P V in e4m3 (V of
// 1-byte elements) or in V's own 2-byte format.
//
// 8-bit wgmma wants both operands k-major, but V arrives with its keys as rows. Either the producer warpgroup
// transposes each V tile in shared memory (transpose() below), or a launch before has transposed V (transpose.cuh). The
// order of a sum over keys is free, and so is the order in which the product's columns are kept in registers, so both
// orders are those which cost nothing:
//   - keys: of each 16, thread q = t % 4 of a quad has the scores of keys 2q, 2q + 1, 8 + 2q and 9 + 2q in the
//     accumulator of Q K^T, and gives bytes 4q ... 4q + 3 of the A operand of P V. So byte 4q + b of V^T is the b-th
//     of these keys.
//   - columns: of each 16 columns of V, row r < 8 of V^T is column 2r and row 8 + r is column 2r + 1. So a thread's
//     four columns of the accumulator of P V are 4q ... 4q + 3 of O.
#pragma once

#include "common/shared_tile.cuh"
#include "fused_fp8/forward.h"
#include "fused_wgmma/forward.cuh"

namespace tilescope::kernels::fused_fp8 {

using namespace device;
using fused_wgmma::Work;
using fused_wgmma::work_at;

static __device__ unsigned claimed[claim_slots];  // as in fused_wgmma

// Stores, as rows of V^T, what load_matrices_transposed read of 16 keys and 32 columns of 1-byte elements; the address
// is that of row t % 32. Thread t has two keys of two columns, {2q, 2q + 1} x {2c, 2c + 1} with q = t % 4, c = t / 4;
// two of them, eight keys apart, are regrouped to four keys of column 2c and of column 2c + 1.
__device__ __forceinline__ void store_regrouped(std::uint32_t address, const Fragment4& f) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};\n" ::"r"(address),
               "r"(__byte_perm(f.r[0], f.r[1], 0x6420)), "r"(__byte_perm(f.r[0], f.r[1], 0x7531)),
               "r"(__byte_perm(f.r[2], f.r[3], 0x6420)), "r"(__byte_perm(f.r[2], f.r[3], 0x7531))
               : "memory");
}

// Tiles whose rows of `bytes` lie in panels of `row` bytes, swizzled by that many (common/tma.h).
template <int bytes>
struct Panels {
  static constexpr int row = bytes < 128 ? bytes : 128, count = bytes / row;
  static_assert(row == 128 || row == 64 || row == 32);
  static __device__ __forceinline__ std::uint32_t chunk(int r, int c) {  // place of 16-byte chunk c of row r
    const int place = c ^ (row == 128 ? r & 7 : row == 64 ? r >> 1 & 3 : r >> 2 & 1);
    return static_cast<std::uint32_t>(r * row + place * 16);
  }
  static __device__ __forceinline__ std::uint64_t k_major(std::uint32_t address) {
    if constexpr (row == 128) return device::k_major(address);
    constexpr std::uint64_t swizzle = row == 64 ? 2 : 3, rows_8 = 8 * row;
    constexpr std::uint64_t layout = swizzle << 62 | rows_8 >> 4 << 32 | std::uint64_t{1} << 16;
    return layout | (address & 0x3ffff) >> 4;
  }
};

// Out: the format of O, and of P and V where those are wide. turns: the warpgroups take turns to issue products.
// overlap: softmax runs beside P V of the step before (README of fused_wgmma), not after it. late: O is rescaled beside
// the next Q K^T, not before it. integers: maxima by integer comparisons (largest() below).
template <class Out, Values values, int head_dim, int warpgroups, int tile_kv, int stages, bool turns, bool overlap,
          bool late, bool integers>
struct Forward {
  static constexpr int tile_q = 64 * warpgroups, threads = 128 * (warpgroups + 1);
  static constexpr bool fp8_values = values != Values::wide, transposes = values == Values::rows;
  using Codes = Panels<head_dim>;                    // Q, K, and V as it arrives, of 1-byte elements
  static constexpr int group_bytes = 64 * head_dim;  // Q of one warpgroup
  static constexpr int q_bytes = group_bytes * warpgroups, k_bytes = tile_kv * head_dim;
  static constexpr int panel = transposes ? 128 : value_panel(tile_kv);   // keys in a panel of V^T
  static constexpr int v_bytes = value_bytes(head_dim, tile_kv, values);  // as the product reads it
  static constexpr int raw_bytes = transposes ? tile_kv * head_dim : 0;   // as it arrives, where that differs
  static constexpr int smem = smem_bytes(head_dim, tile_q, tile_kv, stages, values);
  // Registers a thread: what the producer gives up goes to the consumers.
  static constexpr bool tight = head_dim == 256 && tile_kv > 96;
  static constexpr bool few = tight || values == Values::columns;
  static constexpr int producer_registers = warpgroups == 3 ? 32 : few ? 24 : 40;
  static constexpr int consumer_registers = warpgroups == 3 ? 160 : few ? 240 : 232;
  // In a tile's first step, which has the last keys, a warpgroup takes scores up to a multiple of 64 keys that holds
  // all that its rows see.
  static constexpr bool narrow = values == Values::columns;
  template <int keys>
  using FirstKeys = std::integral_constant < int,
        narrow&& keys<tile_kv ? keys : tile_kv>;
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

  // ---- producer ----
  // The part of warp `part` of three in a V tile, in blocks of 16 keys and 32 columns. `batch` blocks are in flight at
  // once.
  static __device__ __forceinline__ void transpose(std::uint32_t from, std::uint32_t to, int part) {
    constexpr int column_blocks = head_dim / 32, batch = tight ? 2 : column_blocks < 4 ? column_blocks : 4;
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
        for (int i = 0; i < batch; ++i) {  // the swizzle leaves 32-byte steps an XOR inside a panel
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

  // The block's next tile, as in fused_wgmma.
  static __device__ __forceinline__ int claim(const ForwardParams& p) {
    const unsigned asked = atomicAdd(claimed + p.claim_slot, 1u);
    if (asked == static_cast<unsigned>(p.tiles) - 1) claimed[p.claim_slot] = 0;
    return static_cast<int>(asked + gridDim.x);
  }

  // The index that the loading thread has put into shared memory; all other warps read it.
  static __device__ __forceinline__ int next_index(const Barriers& bar, int& parity) {
    int index;
    wait_barrier(bar.index_full(), parity);
    parity ^= 1;
    asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(index) : "r"(bar.index()) : "memory");
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(bar.index_empty());
    return index;
  }

  // Waits for all of the launch before, which this one may overtake but for V^T (LaunchShape::early).
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
      index = claim(p);  // not before: a tile claimed early waits here while other blocks run out of tiles
      wait_barrier(bar.index_empty(), index_parity ^ 1);
      index_parity ^= 1;
      asm volatile("st.shared.b32 [%0], %1;\n" ::"r"(bar.index()), "r"(index) : "memory");
      arrive(bar.index_full());
    }
    wait_for_transposed();  // where no tile had a key: a launch ends after the one before
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

  // ---- consumers ----
  struct Rows {  // of rows g and g + 8: largest scaled score less p_shift, and sum; replicated in a quad's 4 lanes
    float max[2], sum[2];
  };

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

  // Scores of keys outside [low, high] of the row become -inf; bounds relative to this thread's first key.
  template <int count>
  static __device__ __forceinline__ void mask(float (&s)[count], const ForwardParams& p, int row, int first_key) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int diagonal = row + half * 8 + p.kv_len - p.q_len;
      const int high = (p.causal ? min(p.kv_len - 1, diagonal) : p.kv_len - 1) - first_key;
#pragma unroll
      for (int j = 0; j < count / 4; ++j)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (j * 8 + e > high) s[j * 4 + half * 2 + e] = -INFINITY;
    }
  }

  // The largest scores of this thread's two rows, over the quad's four lanes. Beside wgmma a comparison takes twice its
  // time (README), so that they count: as integers, one takes in two scores (VIMNMX3). That is the order of floats
  // unless all scores of a row are negative; a warp with such a row compares again, as floats.
  template <int count>
  static __device__ __forceinline__ void largest(const float (&s)[count], float (&result)[2]) {
    if constexpr (integers) {
      int bits[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int max = __float_as_int(s[half * 2]);
#pragma unroll
        for (int j = 0; j < count / 4 - 1; ++j)
          max = __vimax3_s32(max, __float_as_int(s[j * 4 + half * 2 + 1]), __float_as_int(s[j * 4 + half * 2 + 4]));
        max = ::max(max, __float_as_int(s[count - 3 + half * 2]));
        max = ::max(max, __shfl_xor_sync(0xffffffffu, max, 1));
        bits[half] = ::max(max, __shfl_xor_sync(0xffffffffu, max, 2));
        result[half] = __int_as_float(bits[half]);
      }
      if (!__any_sync(0xffffffffu, (bits[0] | bits[1]) < 0)) return;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = fmaxf(s[half * 2], s[half * 2 + 1]);
#pragma unroll
      for (int j = 1; j < count / 4; ++j) max = fmaxf(max, fmaxf(s[j * 4 + half * 2], s[j * 4 + half * 2 + 1]));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
      result[half] = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
    }
  }

  // One online-softmax step: S becomes exp2(S * scale_log2 - max), maxima and sums are brought up to date, and
  // `correction` is what earlier sums were multiplied by and O still has to be.
  template <int count>
  static __device__ __forceinline__ void softmax(float (&s)[count], Rows& rows, float (&correction)[2],
                                                 float scale_log2) {
    float row_max[2], negative_max[2];
    largest(s, row_max);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float max = fmaxf(rows.max[half], __fmaf_rn(row_max[half], scale_log2, -p_shift));
      // A row that has seen no key yet keeps max = -inf; 0 stands in for it so that no inf - inf arises.
      negative_max[half] = max == -INFINITY ? 0.0f : -max;
      correction[half] = exp2_fast(__fadd_rn(rows.max[half], negative_max[half]));
      rows.max[half] = max;
      rows.sum[half] = __fmul_rn(rows.sum[half], correction[half]);
    }
#pragma unroll
    for (int j = 0; j < count / 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[j * 4 + i] = exp2_fast(__fmaf_rn(s[j * 4 + i], scale_log2, negative_max[i / 2]));
#pragma unroll
    for (int j = 0; j < count / 4; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) rows.sum[i / 2] = __fadd_rn(rows.sum[i / 2], s[j * 4 + i]);
  }

  static __device__ __forceinline__ std::uint32_t pack_e4m3(float a, float b, float c, float d) {
    std::uint32_t packed;
    asm("{\n .reg .b16 low, high;\n cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        " cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n mov.b32 %0, {low, high};\n}\n"
        : "=r"(packed)
        : "f"(a), "f"(b), "f"(c), "f"(d));
    return packed;
  }

  // The rounded probabilities as A operands; zeros for the keys of the tile that s does not reach.
  template <int count>
  static __device__ __forceinline__ void round_scores(const float (&s)[count], std::uint32_t (&p)[p_steps][4]) {
    constexpr int scores_a_step = fp8_values ? 16 : 8;
#pragma unroll
    for (int step = 0; step < p_steps; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // register i: rows i % 2, keys 16 (i / 2) (2-byte elements: 8) and on
        if (step * scores_a_step >= count) {
          p[step][i] = 0;
        } else if constexpr (fp8_values) {
          const float* x = s + step * 16 + i / 2 * 8 + i % 2 * 2;
          p[step][i] = pack_e4m3(x[0], x[1], x[4], x[5]);
        } else {
          p[step][i] = Mma::pack(s[step * 8 + i * 2], s[step * 8 + i * 2 + 1]);
        }
      }
  }

  static __device__ __forceinline__ void rescale(float (&o)[head_dim / 2], const float (&correction)[2]) {
#pragma unroll
    for (int i = 0; i < head_dim / 2; ++i) o[i] = __fmul_rn(o[i], correction[i / 2 & 1]);
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

  // Registers are what limits the tiles, so little is kept beside the accumulators: one count of steps for both rings
  // (K runs one step ahead of V), and what follows from the tile's index is worked out again.
  static __device__ __forceinline__ void consume(const ForwardParams& p, const Barriers& bar, const Shared& tiles) {
    // Through a shuffle, so that the compiler knows it is the same in the whole warp.
    const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0) - 1;
    const std::uint32_t q = tiles.q + group * group_bytes;
    int step = 0;  // V tiles that are done with
    int q_parity = 0, index_parity = 0;
    // Unsigned: division by `stages` is cheaper.
    auto stage_of = [](unsigned number) { return number % stages; };
    auto parity_of = [](unsigned number) { return number / stages & 1; };
    auto wait_k = [&](int number) { wait_barrier(bar.k_full(stage_of(number)), parity_of(number)); };
    auto wait_v = [&] { wait_barrier(bar.v_full(stage_of(step)), parity_of(step)); };
    auto release = [&](std::uint32_t barrier) {
      if (threadIdx.x % 32 == 0) arrive(barrier);
    };
    // Ping-pong: warpgroups take turns to issue their products, so that one's softmax runs under another's products.
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
        // KV tiles before this one are seen whole by every row of this warpgroup.
        const int unmasked = (p.causal ? min(p.kv_len, first_row + p.kv_len - p.q_len + 1) : p.kv_len) / tile_kv;
        auto mask_tile = [&](auto& s, int n) {
          const int thread = static_cast<int>(threadIdx.x) & 127;
          if (n >= unmasked) mask(s, p, first_row + thread / 32 * 16 + thread % 32 / 4, n * tile_kv + thread % 4 * 2);
        };
        float s[tile_kv / 2], correction[2];
        std::uint32_t probabilities[p_steps][4];
        auto first_step = [&](auto keys) {  // so many of the last tile
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
          if constexpr (late) {  // the warpgroup waits for Q K^T anyway; the branch keeps ptxas from moving it up
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

// Grid: x = blocks that stay, at most as many as run at once.
template <class Out, Values values, int head_dim, int warpgroups, int tile_kv, int stages, bool turns, bool overlap,
          bool late, bool integers>
__global__ void __launch_bounds__(128 * (warpgroups + 1), 1) forward(const __grid_constant__ ForwardParams p) {
  using F = Forward<Out, values, head_dim, warpgroups, tile_kv, stages, turns, overlap, late, integers>;
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
    if (threadIdx.x == 0) F::load(p, bar, tiles);
    if (F::transposes && threadIdx.x >= 32) F::transpose_all(p, bar, tiles, static_cast<int>(threadIdx.x) / 32 - 1);
  } else {
    take_registers<F::consumer_registers>();
    F::consume(p, bar, tiles);
  }
}

}  // namespace tilescope::kernels::fused_fp8
