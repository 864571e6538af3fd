// The main kernel of the backward pass on Hopper. A block owns a tile of tile_kv keys of one KV head and streams the
// queries of all heads that share it: S^T = K Q^T and dP^T = V dO^T are recomputed by tiles, P^T and dS^T stay in
// registers as the left operands of dV += P^T dO and dK += dS^T Q, and dQ = dS K, which needs the other warpgroup's dS
// too, goes through shared memory and is added to an fp32 accumulator in global memory.
#pragma once

#include "backward/fragments.cuh"

namespace tilescope::kernels::backward {

template <class T, int head_dim, int tile_q, int stages_>
struct Main {
  static constexpr int stages = stages_;
  static constexpr int tile_kv = consumer_groups * group_keys;
  static constexpr int chunks = head_dim / 64;  // 128-byte column chunks of a tile
  static constexpr int kv_bytes = tile_kv * head_dim * 2, q_bytes = tile_q * head_dim * 2;
  static constexpr int d_s_bytes = tile_q * tile_kv * 2;
  static constexpr int k_at = 0, v_at = kv_bytes, q_at = 2 * kv_bytes, d_o_at = q_at + stages * q_bytes;
  static constexpr int d_s_at = d_o_at + stages * q_bytes, rows_at = d_s_at + 2 * d_s_bytes;
  static constexpr int barriers_at = rows_at + stages * 2 * tile_q * 4;
  static constexpr int smem_bytes = barriers_at + 8 * (2 + 4 * stages);
  static constexpr int scores = tile_q / 2;  // accumulator registers of a 64 x tile_q product
  static constexpr int outputs = head_dim / 2;
  static_assert(tile_q * head_dim == 64 * 128, "each consumer folds a 64 x 64 part of dQ");

  // Barriers: K and V have landed; per stage: Q with its rows of L and D has landed, dO has, and both have been read.
  static __device__ __forceinline__ std::uint32_t barrier(std::uint32_t base, int which, int stage = 0) {
    return base + barriers_at + 8 * (which < 2 ? which : 2 + (which - 2) * stages + stage);
  }
  enum { k_full, v_full, q_full, d_o_full, q_empty, d_o_empty };

  // acc = A B^T: 64 rows of K or V times the tile_q rows of Q or dO.
  static __device__ __forceinline__ void row_products(float (&acc)[scores], std::uint32_t a, std::uint32_t b) {
    overwrite(acc);
    const std::uint64_t a0 = k_major(anew(a)), b0 = k_major(anew(b));
#pragma unroll
    for (int k = 0; k < head_dim / 16; ++k)
      Wgmma<tile_q>::template ss<T>(acc, step_descriptor(a0, k / 4 * tile_kv * 128 + k % 4 * 32),
                                    step_descriptor(b0, k / 4 * tile_q * 128 + k % 4 * 32), k > 0);
  }

  // acc += A B, A in registers (64 x tile_q), B the tile_q x head_dim tile, read along its rows.
  static __device__ __forceinline__ void fold(float (&acc)[outputs], const std::uint32_t (&a)[tile_q / 16][4],
                                              std::uint32_t b) {
    const std::uint64_t b0 = mn_major(anew(b), tile_q * 128);
#pragma unroll
    for (int k = 0; k < tile_q / 16; ++k)
      Wgmma<head_dim>::template rs<T, Major::mn>(acc, a[k], step_descriptor(b0, k * 2048), 1);
  }

  // This warpgroup's 64 x 64 part of dQ = dS K: rows 64 w of the query tile (head_dim 64), or columns 64 w (128).
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

  // dS^T of this warpgroup's keys to shared memory: [64-query chunk][key][64 queries], swizzled.
  static __device__ __forceinline__ void put(std::uint32_t d_s, const std::uint32_t (&values)[tile_q / 16][4],
                                             int group, int warp, int lane) {
    const int key = group * 64 + warp * 16 + (lane & 15);
#pragma unroll
    for (int k = 0; k < tile_q / 16; ++k) {
      const int chunk = (k % 4 * 2 + (lane >> 4)) ^ (key & 7);
      const std::uint32_t address = d_s + k / 4 * tile_kv * 128 + key * 128 + chunk * 16;
      store_matrices(address, values[k]);
    }
  }
};

template <class T, int head_dim, int tile_q, int stages, bool with_dq>
__global__ void __launch_bounds__(threads, 1) backward_main(const __grid_constant__ MainParams p) {
  using M = Main<T, head_dim, tile_q, stages>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  const int warpgroup = static_cast<int>(threadIdx.x) / 128, lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32 % 4, 0);

  const int first_key = static_cast<int>(blockIdx.x) * M::tile_kv;
  const int kv_head = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y);
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
      init_barrier(M::barrier(base, M::q_empty, s), consumer_groups * 4);
      init_barrier(M::barrier(base, M::d_o_empty, s), consumer_groups * 4);
    }
    fence_barrier_init();
  }
  __syncthreads();

  if (warpgroup == consumer_groups) {
    give_up_registers<24>();
    if (warp == 0 && lane == 0) {
      auto load_kv = [&](const CUtensorMap* map, int at, int which) {
        const std::uint32_t bar = M::barrier(base, which);
        arrive_expect(bar, M::kv_bytes);
        load_tile(base + at, map, bar, 0, first_key, 0, kv_head);
      };
      auto load_q = [&](const CUtensorMap* map, int at, int full, int stage, int tile, int head) {
        const std::uint32_t bar = M::barrier(base, full, stage);
        arrive_expect(bar, M::q_bytes);
        load_tile(base + at + stage * M::q_bytes, map, bar, 0, tile * tile_q, 0, head);
      };
      load_kv(&p.k, M::k_at, M::k_full);
      int tile = first_tile, head = kv_head * p.group;
      for (int n = 0; n < steps; ++n) {
        const int stage = n % stages, free = (n / stages & 1) ^ 1;
        wait_barrier(M::barrier(base, M::q_empty, stage), free);
        load_q(&p.q, M::q_at, M::q_full, stage, tile, head);
        if (n == 0) load_kv(&p.v, M::v_at, M::v_full);
        wait_barrier(M::barrier(base, M::d_o_empty, stage), free);
        load_q(&p.d_o, M::d_o_at, M::d_o_full, stage, tile, head);
        if (++tile == q_tiles) tile = first_tile, ++head;
      }
    } else if (warp == 1 || warp == 2) {
      // L by one warp, D by another. -L log2(e) is what the exponential needs. A row that sees no key, and one past the
      // end, gets -inf: its P are zeros.
      const bool is_l = warp == 1;
      const float* source = (is_l ? p.l : p.d) + static_cast<std::int64_t>(kv_head) * p.group * p.q_len;
      std::uint32_t rows = base + M::rows_at + (is_l ? 0 : tile_q * 4) + lane * 4;
      int row = first_tile * tile_q + lane;
      for (int n = 0; n < steps; ++n) {
        float x[tile_q / 32];
#pragma unroll
        for (int i = 0; i < tile_q / 32; ++i) {
          x[i] = is_l ? -INFINITY : 0.0f;
          if (row + i * 32 < p.q_len) x[i] = source[row + i * 32];
          if (is_l) x[i] = x[i] == -INFINITY ? -INFINITY : x[i] * -1.4426950408889634f;
        }
        const int stage = n % stages;
        wait_barrier(M::barrier(base, M::q_empty, stage), (n / stages & 1) ^ 1);
#pragma unroll
        for (int i = 0; i < tile_q / 32; ++i)
          asm volatile("st.shared.f32 [%0], %1;\n" ::"r"(rows + stage * 2 * tile_q * 4 + i * 128), "f"(x[i])
                       : "memory");
        arrive(M::barrier(base, M::q_full, stage));
        if ((row += tile_q) >= q_tiles * tile_q) row = first_tile * tile_q + lane, source += p.q_len;
      }
    }
    return;
  }

  take_registers<240>();
  const std::uint32_t own_k = base + M::k_at + warpgroup * 64 * 128, own_v = base + M::v_at + warpgroup * 64 * 128;
  const int own_key = first_key + warpgroup * 64 + warp * 16 + lane / 4;  // and own_key + 8
  float d_k[M::outputs] = {}, d_v[M::outputs] = {};
  float s[M::scores], d_p[M::scores], d_q[32];
  std::uint32_t weights[tile_q / 16][4];
  auto q_tile = [&](int n) { return base + M::q_at + n % stages * M::q_bytes; };
  auto d_o_tile = [&](int n) { return base + M::d_o_at + n % stages * M::q_bytes; };
  auto rows = [&](int n) { return base + M::rows_at + n % stages * 2 * tile_q * 4 + (lane & 3) * 8; };
  auto arrived = [&](int which, int n) { wait_barrier(M::barrier(base, which, n % stages), n / stages & 1); };
  auto release = [&](int which, int n) {
    if (lane == 0) arrive(M::barrier(base, which, n % stages));
  };
  auto start_scores = [&](int n) {
    arrived(M::q_full, n);
    fence_operands();
    M::row_products(s, own_k, q_tile(n));
    commit_products();
  };
  auto start_slopes = [&](int n) {
    arrived(M::d_o_full, n);
    fence_operands();
    M::row_products(d_p, own_v, d_o_tile(n));
    commit_products();
  };

  // P of a tile, in place of S and rounded in `weights`. Queries are columns: element (i, j) of a fragment is key
  // own_key + 8 i and query first_row + j.
  auto probabilities = [&](int n, int first_row) {
    if (first_key + M::tile_kv > p.kv_len || (p.causal && first_row + offset < first_key + M::tile_kv - 1)) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = own_key + half * 8;
        // The first of this thread's columns that sees the key; none where the key is past the end.
        const int first =
            (key < p.kv_len ? (p.causal ? key - offset : -(1 << 30)) : 1 << 30) - first_row - (lane & 3) * 2;
#pragma unroll
        for (int j = 0; j < tile_q / 8; ++j) {
          if (j * 8 < first) s[j * 4 + half * 2] = -INFINITY;
          if (j * 8 + 1 < first) s[j * 4 + half * 2 + 1] = -INFINITY;
        }
      }
    }
#pragma unroll
    for (int j = 0; j < tile_q / 8; ++j) {
      float l0, l1;
      asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];\n" : "=f"(l0), "=f"(l1) : "r"(rows(n) + j * 32));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float& low = s[j * 4 + half * 2];
        float& high = s[j * 4 + half * 2 + 1];
        low = exp2_fast(__fmaf_rn(low, p.scale_log2, l0));
        high = exp2_fast(__fmaf_rn(high, p.scale_log2, l1));
        weights[j / 2][j % 2 * 2 + half] = Element<T>::pack(low, high);
      }
    }
  };

  int tile = first_tile, head = kv_head * p.group;
  auto add_to_d_q = [&] {
    if constexpr (with_dq) {
      pin(d_q);
      float* sum = p.d_q + (static_cast<std::int64_t>(head) * q_tiles + tile) * (tile_q * head_dim) + threadIdx.x * 4 +
                   warpgroup * (4096 - 512);
#pragma unroll
      for (int j = 0; j < 8; ++j) add_4(sum + j * 512, d_q[j * 4], d_q[j * 4 + 1], d_q[j * 4 + 2], d_q[j * 4 + 3]);
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
  probabilities(0, tile * tile_q);
  for (int n = 0;; ++n) {
    const std::uint32_t d_s_tile = base + M::d_s_at + (n & 1) * M::d_s_bytes;
    wait_products<0>();
    pin(d_p);
    std::uint32_t slopes[tile_q / 16][4];
#pragma unroll
    for (int j = 0; j < tile_q / 8; ++j) {
      float d0, d1;
      asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];\n" : "=f"(d0), "=f"(d1) : "r"(rows(n) + tile_q * 4 + j * 32));
#pragma unroll
      for (int half = 0; half < 2; ++half)
        slopes[j / 2][j % 2 * 2 + half] =
            Element<T>::pack(__fmul_rn(s[j * 4 + half * 2], __fsub_rn(d_p[j * 4 + half * 2], d0)),
                             __fmul_rn(s[j * 4 + half * 2 + 1], __fsub_rn(d_p[j * 4 + half * 2 + 1], d1)));
    }
    if constexpr (with_dq) {
      M::put(d_s_tile, slopes, warpgroup, warp, lane);
      fence_async_proxy();
    }
    pin(d_v);
    fence_operands();
    M::fold(d_v, weights, d_o_tile(n));
    commit_products();
    if constexpr (with_dq) {
      sync_named(1, consumer_groups * 128);  // both warpgroups' dS are there
      M::query_products(d_q, d_s_tile, base + M::k_at, warpgroup);
      commit_products();
    }
    pin(d_k);
    M::fold(d_k, slopes, q_tile(n));
    commit_products();
    wait_products<1>();  // dV and dQ
    pin(d_v);
    release(M::d_o_empty, n);
    if (n + 1 == steps) break;
    start_scores(n + 1);
    add_to_d_q();
    if (++tile == q_tiles) tile = first_tile, ++head;
    wait_products<1>();  // dK
    pin(d_k);
    release(M::q_empty, n);
    start_slopes(n + 1);
    wait_products<1>();  // S
    pin(s);
    probabilities(n + 1, tile * tile_q);
  }
  wait_products<0>();
  pin(d_k);
  add_to_d_q();

  sync_named(1, consumer_groups * 128);  // nobody reads K any more
  const std::uint32_t out_v = base + M::v_at + warpgroup * 64 * head_dim * 2;
  const std::uint32_t out_k = base + M::k_at + warpgroup * 64 * head_dim * 2;
  stage_out<T>(out_v, d_v, 1.0f, warp, lane);
  stage_out<T>(out_k, d_k, p.scale, warp, lane);
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
