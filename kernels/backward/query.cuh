// dQ without atomics: a block owns tile_q queries of one head and streams the keys. Each consumer warpgroup owns 64
// rows; S = Q K^T and dP = dO V^T are recomputed, dS stays in registers as the left operand of dQ += dS K.
#pragma once

#include "backward/fragments.cuh"

namespace tilescope::kernels::backward {

// A tile of tile_kv keys is loaded at once and processed in parts of part_kv.
template <class T, int head_dim, int tile_kv, int part_kv, int stages_>
struct Query {
  static constexpr int parts = tile_kv / part_kv;
  static constexpr int stages = stages_;
  static constexpr int tile_q = consumer_groups * 64;
  static constexpr int q_bytes = tile_q * head_dim * 2, kv_bytes = tile_kv * head_dim * 2;
  static constexpr int q_at = 0, d_o_at = q_bytes, k_at = 2 * q_bytes, v_at = k_at + stages * kv_bytes;
  static constexpr int barriers_at = v_at + stages * kv_bytes;
  static constexpr int smem_bytes = barriers_at + barrier_bytes;
  static_assert(8 * (1 + 4 * stages) <= barrier_bytes);
  static constexpr int scores = part_kv / 2, outputs = head_dim / 2;

  static __device__ __forceinline__ std::uint32_t barrier(std::uint32_t base, int which, int stage = 0) {
    return base + barriers_at + 8 * (which == 0 ? 0 : 1 + (which - 1) * stages + stage);
  }
  enum { q_full, k_full, v_full, k_empty, v_empty };

  // acc = A B^T: 64 rows of Q or dO times part_kv rows of K or V.
  static __device__ __forceinline__ void row_products(float (&acc)[scores], std::uint32_t a, std::uint32_t b) {
    overwrite(acc);
    const std::uint64_t a0 = k_major(anew(a)), b0 = k_major(anew(b));
#pragma unroll
    for (int k = 0; k < head_dim / 16; ++k)
      Wgmma<part_kv>::template ss<T>(acc, step_descriptor(a0, k / 4 * tile_q * 128 + k % 4 * 32),
                                     step_descriptor(b0, k / 4 * tile_kv * 128 + k % 4 * 32), k > 0);
  }
};

// Grid: x = query tiles, y = query heads, z = batch.
template <class T, int head_dim, int tile_kv, int part_kv, int stages>
__global__ void __launch_bounds__(threads, 1) backward_query(const __grid_constant__ QueryParams p) {
  using M = Query<T, head_dim, tile_kv, part_kv, stages>;
  constexpr int parts = M::parts;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t base = shared_address(shared);
  const int warpgroup = static_cast<int>(threadIdx.x) / 128, lane = static_cast<int>(threadIdx.x) & 31;
  const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32 % 4, 0);

  // Under a causal mask the last query tiles are the longest, so they run first.
  const int first_row = static_cast<int>(p.causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * M::tile_q;
  const int head = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y);
  const int kv_head = static_cast<int>(blockIdx.z) * p.heads_kv + static_cast<int>(divide(blockIdx.y, p.group));
  const int offset = p.kv_len - p.q_len;
  const int last_row = min(first_row + M::tile_q, p.q_len) - 1;
  const int last_key = p.causal ? min(p.kv_len - 1, last_row + offset) : p.kv_len - 1;
  const int steps = (last_key + tile_kv) / tile_kv;

  if (threadIdx.x == 0) {
    init_barrier(M::barrier(base, M::q_full), 1);
    for (int s = 0; s < stages; ++s) {
      init_barrier(M::barrier(base, M::k_full, s), 1);
      init_barrier(M::barrier(base, M::v_full, s), 1);
      init_barrier(M::barrier(base, M::k_empty, s), consumer_groups * 4);
      init_barrier(M::barrier(base, M::v_empty, s), consumer_groups * 4);
    }
    fence_barrier_init();
  }
  __syncthreads();

  if (warpgroup == consumer_groups) {
    give_up_registers<24>();
    if (warp == 0 && lane == 0 && steps > 0) {
      arrive_expect(M::barrier(base, M::q_full), 2 * M::q_bytes);
      load_tile(base + M::q_at, &p.q, M::barrier(base, M::q_full), 0, first_row, 0, head);
      load_tile(base + M::d_o_at, &p.d_o, M::barrier(base, M::q_full), 0, first_row, 0, head);
      for (int n = 0; n < steps; ++n) {
        const int stage = n % stages, free = (n / stages & 1) ^ 1;
        wait_barrier(M::barrier(base, M::k_empty, stage), free);
        arrive_expect(M::barrier(base, M::k_full, stage), M::kv_bytes);
        load_tile(base + M::k_at + stage * M::kv_bytes, &p.k, M::barrier(base, M::k_full, stage), 0, n * tile_kv, 0,
                  kv_head);
        wait_barrier(M::barrier(base, M::v_empty, stage), free);
        arrive_expect(M::barrier(base, M::v_full, stage), M::kv_bytes);
        load_tile(base + M::v_at + stage * M::kv_bytes, &p.v, M::barrier(base, M::v_full, stage), 0, n * tile_kv, 0,
                  kv_head);
      }
    }
    return;
  }

  take_registers<240>();
  const std::uint32_t own_q = base + M::q_at + warpgroup * 64 * 128, own_d_o = base + M::d_o_at + warpgroup * 64 * 128;
  const int own_row = first_row + warpgroup * 64 + warp * 16 + lane / 4;  // and own_row + 8
  float l[2], d[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = own_row + half * 8;
    const std::int64_t at = static_cast<std::int64_t>(head) * p.q_len + row;
    l[half] = row < p.q_len ? p.l[at] : -INFINITY;
    d[half] = row < p.q_len ? p.d[at] : 0.0f;
    // P is zero for rows without a visible key and for rows past the end.
    l[half] = multiply_always(l[half], -1.4426950408889634f);
    if (l[half] == INFINITY) l[half] = -INFINITY;
  }

  float d_q[M::outputs] = {};
  float s[M::scores], d_p[M::scores];
  auto part = [&](int first, int n) {  // n counts parts
    return base + first + n / parts % stages * M::kv_bytes + n % parts * part_kv * 128;
  };
  auto arrived = [&](int which, int n) {
    wait_barrier(M::barrier(base, which, n / parts % stages), n / parts / stages & 1);
  };
  auto release = [&](int which, int n) {  // with the last part, when all lanes are done
    __syncwarp();
    if (n % parts == parts - 1 && lane == 0) arrive(M::barrier(base, which, n / parts % stages));
  };
  auto start_scores = [&](int n) {
    arrived(M::k_full, n);
    fence_operands();
    M::row_products(s, own_q, part(M::k_at, n));
    commit_products();
  };
  auto start_slopes = [&](int n) {
    arrived(M::v_full, n);
    fence_operands();
    M::row_products(d_p, own_d_o, part(M::v_at, n));
    commit_products();
  };
  pin(d_q);
  if (steps > 0) {
    wait_barrier(M::barrier(base, M::q_full), 0);
    start_scores(0);
    start_slopes(0);
    for (int n = 0;; ++n) {
      wait_products<1>();  // S, and dQ of the step before
      pin(s);
      pin(d_q);
      if (n > 0) release(M::k_empty, n - 1);
      const int first_key = n * part_kv;
      if (first_key + part_kv > p.kv_len || (p.causal && first_key + part_kv - 1 > first_row + offset)) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = own_row + half * 8;
          const int last = (p.causal ? min(p.kv_len - 1, row + offset) : p.kv_len - 1) - first_key - (lane & 3) * 2;
#pragma unroll
          for (int j = 0; j < part_kv / 8; ++j) {
            if (j * 8 > last) s[j * 4 + half * 2] = -INFINITY;
            if (j * 8 + 1 > last) s[j * 4 + half * 2 + 1] = -INFINITY;
          }
        }
      }
#pragma unroll
      for (int i = 0; i < M::scores; ++i) s[i] = exp2_fast(__fmaf_rn(s[i], p.scale_log2, l[i / 2 % 2]));
      wait_products<0>();
      pin(d_p);
      release(M::v_empty, n);
      std::uint32_t slopes[part_kv / 16][4];
#pragma unroll
      for (int i = 0; i < M::scores / 2; ++i)
        slopes[i / 4][i % 4] = Element<T>::pack(__fmul_rn(s[i * 2], __fsub_rn(d_p[i * 2], d[i % 2])),
                                                __fmul_rn(s[i * 2 + 1], __fsub_rn(d_p[i * 2 + 1], d[i % 2])));
      fence_operands();
      const std::uint64_t k0 = mn_major(anew(part(M::k_at, n)), tile_kv * 128);
#pragma unroll
      for (int k = 0; k < part_kv / 16; ++k)
        Wgmma<head_dim>::template rs<T, Major::mn>(d_q, slopes[k], step_descriptor(k0, k * 2048), 1);
      commit_products();
      if (n + 1 == steps * parts) break;
      start_scores(n + 1);
      start_slopes(n + 1);
    }
    wait_products<0>();
    pin(d_q);
  }

  // Each warpgroup stages its rows in the place of the Q tile: [warpgroup][panel][row].
  sync_named(1, consumer_groups * 128);
  const std::uint32_t out = base + M::q_at + warpgroup * 64 * head_dim * 2;
  stage_out<T>(
      out, d_q, [&](float x) { return __fmul_rn(x, p.scale); }, warp, lane);
  fence_async_proxy();
  sync_named(2 + warpgroup, 128);
  if (warp == 0 && lane == 0) {
    store_tile(&p.d_q, out, 0, first_row + warpgroup * 64, 0, head);
    commit_stores();
    wait_stores();
  }
}

}  // namespace tilescope::kernels::backward
