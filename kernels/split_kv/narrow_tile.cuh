// The two products of a tile of codes with at most 8 rows, transposed: S^T = K Q^T and O^T = V^T P^T.
//
// The keys (for O, its columns) are the 16 rows of mma.sync and the packed query rows its 8 columns: half the products,
// exponentials and rescaling of a tile of 16 rows. P^T, an accumulator, becomes an operand by movmatrix.
#pragma once

#include "split_kv/partial.cuh"

namespace tilescope::kernels::split_kv {

// The 8x8 matrix of 16-bit elements that the warp holds (row lane / 4, columns 2 (lane % 4) and one more), transposed.
__device__ __forceinline__ std::uint32_t transposed(std::uint32_t pair) {
  std::uint32_t out;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\n" : "=r"(out) : "r"(pair));
  return out;
}

__device__ __forceinline__ float warp_columns_max(float x) {  // over the eight lanes of equal lane % 4
#pragma unroll
  for (int lanes = 4; lanes < 32; lanes *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, lanes));
  return x;
}
__device__ __forceinline__ float warp_columns_sum(float x) {
#pragma unroll
  for (int lanes = 4; lanes < 32; lanes *= 2) x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, lanes));
  return x;
}

template <Dtype format, int head_dim, int tile_kv, int warps, int stages>
struct Narrow {
  using F = typename FormatOf<format>::type;
  using T = typename F::Compute;
  using Mma = Element<T>;
  static constexpr int threads = warps * 32, warp_keys = tile_kv / warps, key_blocks = warp_keys / 16;
  static constexpr int chunk_steps = F::chunk_values / 16, steps = head_dim / 16;  // of 16 columns
  static constexpr int kv_row = row_bytes(format, head_dim), kv_bytes = tile_kv * kv_row;
  static constexpr int groups = head_dim / F::scale_group, group_chunks = F::scale_group / F::chunk_values;
  static constexpr int scale_row = groups * 2, scales = tile_kv * scale_row, scale_words = groups / 2;
  static constexpr int stage = stage_bytes(format, head_dim, tile_kv);
  using Tile = CodeTile<kv_row>;
  static_assert(warp_keys % 16 == 0 && groups % 2 == 0 && Tile::chunks % 2 == 0 && stage % 128 == 0);

  // The B operand of Q^T: row lane / 4 of Q; per step, columns in the order in which F unpacks keys.
  using Query = std::uint32_t[steps][2];
  static __device__ __forceinline__ void load_query(Query& query, const T* q, bool valid, int lane) {
    constexpr int run = F::chunk_values / 4;  // elements of a chunk that a lane multiplies: they lie together
#pragma unroll
    for (int chunk = 0; chunk < Tile::chunks; ++chunk) {
      std::uint32_t words[run / 2];
#pragma unroll
      for (int w = 0; w < run / 2; ++w) words[w] = 0;
      const T* const from = q + lane / 4 * head_dim + chunk * F::chunk_values + lane % 4 * run;
      if (valid) {
        if constexpr (run == 8) {
          const uint4 four = __ldg(reinterpret_cast<const uint4*>(from));
          words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
        } else {
          const uint2 two = __ldg(reinterpret_cast<const uint2*>(from));
          words[0] = two.x, words[1] = two.y;
        }
      }
#pragma unroll
      for (int step = 0; step < chunk_steps; ++step)
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int low = F::q_column(step, part, 0, 0), high = F::q_column(step, part, 1, 0);
          query[chunk * chunk_steps + step][part] =
              permute(words[low / 2], words[high / 2], (low % 2 ? 0x32u : 0x10u) | (high % 2 ? 0x7600u : 0x5400u));
        }
    }
  }

  // int4: where the sums of a scale's columns start, see formats.cuh: of the rows 2 (lane % 4) and one more.
  static constexpr int offset_groups = format == Dtype::int4 ? groups : 1;
  using Offsets = float[offset_groups][2];
  static __device__ __forceinline__ void make_offsets(Offsets& offsets, const Query& query, int lane) {
    if constexpr (format == Dtype::int4) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        float sum = 0.0f;  // of row lane / 4
#pragma unroll
        for (int step = 0; step < group_chunks * chunk_steps; ++step)
#pragma unroll
          for (int part = 0; part < 2; ++part)
            F::add_offset(sum, query[group * group_chunks * chunk_steps + step][part], part);
#pragma unroll
        for (int lanes = 1; lanes < 4; lanes *= 2) sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, lanes));
#pragma unroll
        for (int i = 0; i < 2; ++i) offsets[group][i] = __shfl_sync(0xffffffffu, sum, lane % 4 * 8 + i * 4);
      }
    }
  }

  static __device__ __forceinline__ void load_scales(std::uint32_t address, std::uint32_t (&words)[scale_words]) {
    if constexpr (scale_words == 1) asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(words[0]) : "r"(address));
    else asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];\n" : "=r"(words[0]), "=r"(words[1]) : "r"(address));
  }

  // Scaled scores of 16 keys: s[0..1] of key lane / 4, s[2..3] of the one 8 later; rows 2 (lane % 4) and one more.
  // `k`: shared address of the 16 keys; `k_scales`: of the lane's first key.
  static __device__ __forceinline__ void scores(float (&s)[4], const Query& query, const Offsets& offsets,
                                                std::uint32_t k, const std::uint32_t (&lane_offset)[4],
                                                std::uint32_t k_scales) {
    Fragment4 words[Tile::chunks / 2];
#pragma unroll
    for (int pair = 0; pair < Tile::chunks / 2; ++pair)
      words[pair] = device::load_matrices(k + lane_offset[pair % 4] + pair / 4 * 128);
    std::uint32_t low[scale_words], high[scale_words];
    load_scales(k_scales, low);
    load_scales(k_scales + 8 * scale_row, high);
#pragma unroll
    for (int group = 0; group < groups; ++group) {
      float part[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] = format == Dtype::int4 ? offsets[group][i % 2] : 0.0f;
#pragma unroll
      for (int step = 0; step < group_chunks * chunk_steps; ++step) {
        const int chunk = group * group_chunks + step / chunk_steps;
        std::uint32_t first[2], second[2];
        F::keys(words[chunk / 2].r[chunk % 2 * 2], step % chunk_steps, first);
        F::keys(words[chunk / 2].r[chunk % 2 * 2 + 1], step % chunk_steps, second);
        const std::uint32_t a[4] = {first[0], second[0], first[1], second[1]};
        const auto& b = query[group * group_chunks * chunk_steps + step];
        Mma::mma(part, a, b[0], b[1]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float scale = to_float(i < 2 ? low[group / 2] : high[group / 2], group % 2);
        s[i] = group == 0 ? __fmul_rn(part[i], scale) : __fmaf_rn(part[i], scale, s[i]);
      }
    }
  }

  // O^T += V^T P^T of 16 keys. o[b]: columns of two output blocks of F, as rows of the product.
  static constexpr int blocks = F::chunk_values / 8, out_blocks = head_dim / 16;
  static __device__ __forceinline__ void accumulate(float (&o)[out_blocks][4], const std::uint32_t (&p)[2],
                                                    std::uint32_t v, const std::uint32_t (&lane_offset)[4],
                                                    std::uint32_t v_scales) {
    Fragment4 words[Tile::chunks / 2];
#pragma unroll
    for (int pair = 0; pair < Tile::chunks / 2; ++pair)
      words[pair] = device::load_matrices_transposed(v + lane_offset[pair % 4] + pair / 4 * 128);
    std::uint32_t scaled[groups][2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t low[scale_words], high[scale_words];  // keys 2t and 2t + 1
      load_scales(v_scales + half * 8 * scale_row, low);
      load_scales(v_scales + (half * 8 + 1) * scale_row, high);
#pragma unroll
      for (int g = 0; g < groups; ++g)
        scaled[g][half] = multiply_pair(p[half], permute(low[g / 2], high[g / 2], g % 2 ? 0x7632 : 0x5410));
    }
#pragma unroll
    for (int chunk = 0; chunk < Tile::chunks; ++chunk)
#pragma unroll
      for (int b = 0; b < blocks / 2; ++b) {
        const std::uint32_t first = words[chunk / 2].r[chunk % 2 * 2], second = words[chunk / 2].r[chunk % 2 * 2 + 1];
        const std::uint32_t a[4] = {F::values(first, 2 * b), F::values(first, 2 * b + 1), F::values(second, 2 * b),
                                    F::values(second, 2 * b + 1)};
        Mma::mma(o[chunk * (blocks / 2) + b], a, scaled[chunk / group_chunks][0], scaled[chunk / group_chunks][1]);
      }
  }
};

}  // namespace tilescope::kernels::split_kv
