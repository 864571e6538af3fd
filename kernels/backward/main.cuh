// The main kernel of the backward pass on Hopper. A block owns a tile of
// tile_kv keys of one KV head and streams the queries of all heads that share
// it: S^T = K Q^T and dP^T = V dO^T are recomputed by tiles, P^T and dS^T stay
// in registers as the left operands of dV += P^T dO and dK += dS^T Q, and dQ =
// dS K, which needs the other warpgroup's dS too, goes through shared memory
// and is added to an fp32 accumulator in global memory.
#pragma once

#include "backward/fragments.cuh"

namespace tilescope::kernels::backward {

// A tile of tile_q queries is loaded at once and processed in parts of part_q, whose accumulators must fit the
// registers. with_dq: false leaves dQ to a separate kernel (query.cuh).
template <class T, int head_dim, int tile_q, int part_q_, int stages_, bool with_dq>
struct Main {
  static constexpr int part_q = part_q_, parts = tile_q / part_q;
  static constexpr int stages = stages_;
  static constexpr int tile_kv = consumer_groups * group_keys;
  static constexpr int chunks = head_dim / 64;  // 128-byte column chunks of a tile
  static constexpr int kv_bytes = tile_kv * head_dim * 2, q_bytes = tile_q * head_dim * 2;
  static constexpr int d_s_bytes = tile_q * tile_kv * 2;
  static constexpr int k_at = 0, v_at = kv_bytes, q_at = 2 * kv_bytes, d_o_at = q_at + stages * q_bytes;
  static constexpr int d_s_at = d_o_at + stages * q_bytes, rows_at = d_s_at + (with_dq ? 2 * d_s_bytes : 0);
  static constexpr int barriers_at = rows_at + stages * 2 * tile_q * 4;
  static constexpr int smem_bytes = barriers_at + barrier_bytes;
  static_assert(8 * (2 + 4 * stages) <= barrier_bytes);
  static constexpr int scores = part_q / 2;  // accumulator registers of a 64 x part_q product
  static constexpr int outputs = head_dim / 2;
  static_assert(!with_dq || (parts == 1 && tile_q * head_dim == 64 * 128), "each consumer folds a 64 x 64 part of dQ");

  // Barriers: K and V are loaded; per stage: Q with its rows of L and D is loaded, dO is loaded, and both have been
  // read.
  static __device__ __forceinline__ std::uint32_t barrier(std::uint32_t base, int which, int stage = 0) {
    return base + barriers_at + 8 * (which < 2 ? which : 2 + (which - 2) * stages + stage);
  }
  enum { k_full, v_full, q_full, d_o_full, q_empty, d_o_empty };

  // acc = A B^T: 64 rows of K or V times part_q rows of Q or dO.
  static __device__ __forceinline__ void row_products(float (&acc)[scores], std::uint32_t a, std::uint32_t b) {
    overwrite(acc);
    const std::uint64_t a0 = k_major(a), b0 = k_major(anew(b));
#pragma unroll
    for (int k = 0; k < head_dim / 16; ++k)
      Wgmma<part_q>::template ss<T>(acc, step_descriptor(a0, k / 4 * tile_kv * 128 + k % 4 * 32),
                                    step_descriptor(b0, k / 4 * tile_q * 128 + k % 4 * 32), k > 0);
  }

  // acc += A B, A in registers (64 x part_q), B part_q rows of Q or dO, read
  // along the rows.
  static __device__ __forceinline__ void fold(float (&acc)[outputs], const std::uint32_t (&a)[part_q / 16][4],
                                              std::uint32_t b) {
    const std::uint64_t b0 = mn_major(anew(b), tile_q * 128);
#pragma unroll
    for (int k = 0; k < part_q / 16; ++k)
      Wgmma<head_dim>::template rs<T, Major::mn>(acc, a[k], step_descriptor(b0, k * 2048), 1);
  }

  // This warpgroup's 64 x 64 part of dQ = dS K: rows 64 w of the query tile
  // (head_dim 64), or columns 64 w (128).
  static __device__ __forceinline__ void query_products(float (&acc)[32], std::uint32_t d_s, std::uint32_t k_tile,
                                                        int group) {
    overwrite(acc);
    const std::uint64_t a0 = mn_major(anew(d_s + (tile_q == 128 ? group * tile_kv * 128 : 0)), 0);
    const std::uint64_t b0 = mn_major(anew(k_tile + (head_dim == 128 ? group * tile_kv * 128 : 0)), 0);
#pragma unroll
    for (int k = 0; k < tile_kv / 16; ++k)
      Wgmma<64>::template ss<T, Major::mn, Major::mn>(acc, step_descriptor(a0, k * 2048), step_descriptor(b0, k * 2048),
                                                      k > 0);
  }

  // dS^T of this warpgroup's keys to shared memory: [panel of 64
  // queries][key][64 queries], swizzled.
  static __device__ __forceinline__ void put(std::uint32_t d_s, const std::uint32_t (&values)[part_q / 16][4]) {
    const int thread = thread_index_now();
    const std::uint32_t row = d_s + (thread / 32 * 16 + thread % 16) * 128;
    const std::uint32_t first_chunk = thread % 32 / 16 * 16, swizzle = thread % 8 * 16;
#pragma unroll
    for (int k = 0; k < part_q / 16; ++k)
      store_matrices(row + k / 4 * tile_kv * 128 + ((k % 4 * 32 + first_chunk) ^ swizzle), values[k]);
  }
};

template <class T, int head_dim, int tile_q, int part_q, int stages, bool with_dq>
__global__ void __launch_bounds__(threads, 1) backward_main(const __grid_constant__ MainParams p) {
  using M = Main<T, head_dim, tile_q, part_q, stages, with_dq>;
  constexpr int parts = M::parts;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  const int warpgroup = static_cast<int>(threadIdx.x) / 128, lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32 % 4, 0);

  // Consecutive blocks alternate over `turn` heads, tile by tile: see backward.h.
  const std::uint32_t tile_number = divide(blockIdx.x, p.turn);
  const int first_key = static_cast<int>(tile_number) * M::tile_kv;
  const int kv_head =
      static_cast<int>((blockIdx.z * gridDim.y + blockIdx.y) * p.turn.value + blockIdx.x - tile_number * p.turn.value);
  const int offset = p.kv_len - p.q_len;
  const int q_tiles = (p.q_len + tile_q - 1) / tile_q;
  const int first_tile = p.causal ? max(0, first_key - offset) / tile_q : 0;
  const int tiles = q_tiles - first_tile;
  const int steps = tiles * p.group;

  if (threadIdx.x == 0) {
    init_barrier(M::barrier(base, M::k_full), 1);
    init_barrier(M::barrier(base, M::v_full), 1);
    for (int s = 0; s < stages; ++s) {
      init_barrier(M::barrier(base, M::q_full, s), 1 + 64);
      init_barrier(M::barrier(base, M::d_o_full, s), 1);
      init_barrier(M::barrier(base, M::q_empty, s), consumer_groups * 128);
      init_barrier(M::barrier(base, M::d_o_empty, s), consumer_groups * 4);
    }
    fence_barrier_init();
  }
  __syncthreads();

  if (warpgroup == consumer_groups) {
    give_up_registers<24>();
    if (warp == 3) return;
    auto load = [&](std::uint32_t barrier, int at, int bytes, const CUtensorMap* map, int row, int outer) {
      arrive_expect(barrier, bytes);
      load_tile(base + at, map, barrier, 0, row, 0, outer);
    };
    if (warp == 0 && lane == 0) load(M::barrier(base, M::k_full), M::k_at, M::kv_bytes, &p.k, first_key, kv_head);
    int row = first_tile * tile_q, head = kv_head * p.group;
    for (int n = 0; n < steps; ++n) {
      const int stage = n % stages, free = (n / stages & 1) ^ 1;
      wait_barrier(M::barrier(base, M::q_empty, stage), free);
      if (warp > 0) {
        // L by one warp, D by another. -L log2(e) is what the exponential
        // needs. Rows without a visible key and rows past the end get -inf, so that their P is zero.
        const float* source = (warp == 1 ? p.l : p.d) + static_cast<std::int64_t>(head) * p.q_len;
        const std::uint32_t rows = base + M::rows_at + (stage * 2 + warp - 1) * tile_q * 4;
#pragma unroll
        for (int i = thread_index_now() % 32; i < tile_q; i += 32) {
          float x = warp == 1 ? -INFINITY : 0.0f;
          if (row + i < p.q_len) x = source[row + i];
          if (warp == 1) x = multiply_always(x, -1.4426950408889634f), x = x == INFINITY ? -INFINITY : x;
          asm volatile("st.shared.f32 [%0], %1;\n" ::"r"(rows + i * 4), "f"(x) : "memory");
        }
        arrive(M::barrier(base, M::q_full, stage));
      } else if (lane == 0) {
        load(M::barrier(base, M::q_full, stage), M::q_at + stage * M::q_bytes, M::q_bytes, &p.q, row, head);
        if (n == 0) load(M::barrier(base, M::v_full), M::v_at, M::kv_bytes, &p.v, first_key, kv_head);
        wait_barrier(M::barrier(base, M::d_o_empty, stage), free);
        load(M::barrier(base, M::d_o_full, stage), M::d_o_at + stage * M::q_bytes, M::q_bytes, &p.d_o, row, head);
      }
      row += tile_q;
      if (row >= p.q_len) row = first_tile * tile_q, ++head;
    }
    return;
  }

  take_registers<240>();
  const std::uint32_t own_rows = base + warpgroup * group_keys * 128;  // with k_at or v_at: this warpgroup's keys
  // Where the registers suffice, dV of a tile starts as soon as P is computed and overlaps the work on dS. P is then
  // held twice, in fp32 and rounded.
  constexpr bool early = with_dq && part_q == 64;
  float d_k[M::outputs] = {}, d_v[M::outputs] = {};
  float s[M::scores], d_p[M::scores], d_q[32];
  std::uint32_t weights[part_q / 16][4];
  // n counts parts; the rows of a tile's parts follow each other.
  auto at = [&](int n, int first, int tile_bytes, int row_bytes) {
    return base + first + n / parts % stages * tile_bytes + n % parts * part_q * row_bytes;
  };
  auto q_tile = [&](int n) { return at(n, M::q_at, M::q_bytes, 128); };
  auto d_o_tile = [&](int n) { return at(n, M::d_o_at, M::q_bytes, 128); };
  auto rows = [&](int n) { return at(n, M::rows_at, 2 * tile_q * 4, 4) + (thread_index_now() & 3) * 8; };
  auto arrived = [&](int which, int n) {
    wait_barrier(M::barrier(base, which, n / parts % stages), n / parts / stages & 1);
  };
  // Called with the last part. Every lane releases Q's stage, because each lane has read L and D from it; one lane per
  // warp releases dO's stage.
  auto release = [&](int which, int n) {
    if (n % parts == parts - 1 && (which == M::q_empty || (thread_index_now() & 31) == 0))
      arrive(M::barrier(base, which, n / parts % stages));
  };
  auto start_scores = [&](int n) {
    arrived(M::q_full, n);
    fence_operands();
    M::row_products(s, anew(own_rows) + M::k_at, q_tile(n));
    commit_products();
  };
  auto start_d_v = [&](int n) {
    pin(d_v);
    fence_operands();
    M::fold(d_v, weights, d_o_tile(n));
    commit_products();
  };
  auto start_slopes = [&](int n) {
    arrived(M::d_o_full, n);
    fence_operands();
    M::row_products(d_p, anew(own_rows) + M::v_at, d_o_tile(n));
    commit_products();
  };

  // P of a tile, in place of S and rounded in `weights`. Queries are columns:
  // element (i, j) of a fragment is key first_key + 16 warp + lane / 4 + 8 i
  // and query first_row + 2 (lane % 4) + j.
  auto probabilities = [&](int n, int first_row) {
    const std::uint32_t l_row = rows(n);
    if (first_key + M::tile_kv > p.kv_len || (p.causal && first_row + offset < first_key + M::tile_kv - 1)) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int thread = thread_index_now();
        const int key = first_key + thread / 32 * 16 + thread % 32 / 4 + half * 8;
        // The first of this thread's columns (queries) to which the key is visible; none if the key is past the end.
        const int first =
            (key < p.kv_len ? (p.causal ? key - offset : -(1 << 30)) : 1 << 30) - first_row - (thread & 3) * 2;
#pragma unroll
        for (int j = 0; j < part_q / 8; ++j) {
          if (j * 8 < first) s[j * 4 + half * 2] = -INFINITY;
          if (j * 8 + 1 < first) s[j * 4 + half * 2 + 1] = -INFINITY;
        }
      }
    }
#pragma unroll
    for (int j = 0; j < part_q / 8; ++j) {
      float l0, l1;
      asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];\n" : "=f"(l0), "=f"(l1) : "r"(l_row + j * 32));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& low = s[j * 4 + half * 2];
        float& high = s[j * 4 + half * 2 + 1];
        low = exp2_fast(__fmaf_rn(low, p.scale_log2, l0));
        high = exp2_fast(__fmaf_rn(high, p.scale_log2, l1));
        if constexpr (early) weights[j / 2][j % 2 * 2 + half] = Element<T>::pack(low, high);
      }
    }
    if constexpr (early) start_d_v(n);
  };

  // Index over all heads of the step's query tile, where its dQ is accumulated.
  int tile = kv_head * p.group * q_tiles + first_tile, first_row = first_tile * tile_q;
  auto advance = [&] {
    ++tile, first_row += part_q;
    if (first_row >= (parts == 1 ? p.q_len : q_tiles * tile_q)) first_row = first_tile * tile_q, tile += first_tile;
  };
  auto add_to_d_q = [&] {
    if constexpr (with_dq) {
      pin(d_q);
      const int thread = thread_index_now();
      float* sum =
          p.d_q + static_cast<std::int64_t>(tile) * (tile_q * head_dim) + thread / 128 * 4096 + thread % 128 * 4;
      const int row = first_row + sum_row<tile_q>(thread / 128, thread % 128);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float* x = d_q + i / 2 * 8 + i % 2 * 2;  // i is a compile-time constant, so x is a register
        add_4(sum + i * 512, x[0], x[1], x[4], x[5], row + i % 2 * 8 < p.q_len);
      }
    }
  };

  pin(d_k);
  pin(d_v);
  wait_barrier(M::barrier(base, M::k_full), 0);
  start_scores(0);
  wait_barrier(M::barrier(base, M::v_full), 0);
  start_slopes(0);
  wait_products<1>();
  pin(s);
  probabilities(0, first_row);
  for (int n = 0;; ++n) {
    const std::uint32_t d_s_tile = base + M::d_s_at + (n & 1) * M::d_s_bytes;
    wait_products<early ? 1 : 0>();  // dP
    pin(d_p);
    const std::uint32_t d_row = rows(n) + tile_q * 4;
    std::uint32_t slopes[part_q / 16][4];
#pragma unroll
    for (int j = 0; j < part_q / 8; ++j) {
      float d0, d1;
      asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];\n" : "=f"(d0), "=f"(d1) : "r"(d_row + j * 32));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = j * 4 + half * 2;
        if constexpr (!early) weights[j / 2][j % 2 * 2 + half] = Element<T>::pack(s[i], s[i + 1]);
        slopes[j / 2][j % 2 * 2 + half] =
            Element<T>::pack(__fmul_rn(s[i], __fsub_rn(d_p[i], d0)), __fmul_rn(s[i + 1], __fsub_rn(d_p[i + 1], d1)));
      }
    }
    if constexpr (with_dq) {
      M::put(d_s_tile, slopes);
      fence_async_proxy();
    }
    if constexpr (!early) start_d_v(n);
    fence_operands();
    if constexpr (with_dq) {
      sync_named(1, consumer_groups * 128);  // dS of both warpgroups is in shared memory
      M::query_products(d_q, d_s_tile, base + M::k_at, warpgroup);
      commit_products();
    }
    pin(d_k);
    M::fold(d_k, slopes, q_tile(n));
    commit_products();
    wait_products<1>();  // dV and dQ
    pin(d_v);
    release(M::d_o_empty, n);
    if (n + 1 == steps * parts) break;
    start_scores(n + 1);
    add_to_d_q();
    advance();
    wait_products<1>();  // dK
    pin(d_k);
    release(M::q_empty, n);
    start_slopes(n + 1);
    wait_products<1>();  // S
    pin(s);
    probabilities(n + 1, first_row);
  }
  wait_products<0>();
  pin(d_k);
  add_to_d_q();

  sync_named(1, consumer_groups * 128);  // all warps are done with K
  const std::uint32_t out_v = base + M::v_at + warpgroup * 64 * head_dim * 2;
  const std::uint32_t out_k = base + M::k_at + warpgroup * 64 * head_dim * 2;
  stage_out<T>(
      out_v, d_v, [](float x) { return x; }, warp, lane);
  stage_out<T>(
      out_k, d_k, [&](float x) { return __fmul_rn(x, p.scale); }, warp, lane);
  fence_async_proxy();
  sync_named(2 + warpgroup, 128);
  if (warp == 0 && lane == 0) {
    store_tile(&p.d_v, out_v, 0, first_key + warpgroup * 64, 0, kv_head);
    store_tile(&p.d_k, out_k, 0, first_key + warpgroup * 64, 0, kv_head);
    commit_stores();
    wait_stores();
  }
}

}  // namespace tilescope::kernels::backward
