// What one warp of split_kv's partial kernel (partial.cuh) does with a KV tile: S = Q K^T, the softmax step, O += P V,
// for each stored format of K and V.
#pragma once

#include "common/shared_tile.cuh"
#include "split_kv/key_stream.cuh"

namespace tilescope::kernels::split_kv {

using device::Element;
using device::Fragment4;

template <Dtype format, int head_dim, int tile_q, int tile_kv, int warps, int stages, bool hold_q>
struct Partial {
  using F = typename FormatOf<format>::type;
  using T = typename F::Compute;
  using Mma = Element<T>;
  static constexpr bool plain = bits(format) == 16;
  static constexpr int threads = warps * 32;
  static constexpr int row_warps = tile_q / 16, key_warps = warps / row_warps, warp_keys = tile_kv / key_warps;
  static constexpr int key_blocks = warp_keys / 8, out_blocks = head_dim / 8, steps = head_dim / 16;
  static constexpr bool own_keys =
      row_warps == 1;  // each key is read by one warp only, which also copies it and needs no block-wide barrier
  static constexpr int kv_row = row_bytes(format, head_dim), kv_bytes = tile_kv * kv_row;
  static constexpr int groups = F::scale_group == 0 ? 0 : head_dim / F::scale_group;  // scales of a key
  static constexpr int scale_row = groups * 2, scales = tile_kv * scale_row;          // bytes of a key, of a tile
  static constexpr int scale_words = groups > 2 ? 2 : 1;
  static constexpr int stage = stage_bytes(format, head_dim, tile_kv);
  static constexpr int chunk_steps = F::chunk_values / 16;  // not used by plain formats, whose chunk is half a step
  static_assert(groups == 0 || groups == 2 || groups == 4, "a key's scales are copied and read 4 or 8 bytes at a time");
  static_assert(warp_keys % 16 == 0 && warp_keys > 0, "P V takes 16 keys at a time");
  using Tile = CodeTile<kv_row>;
  using QTile = device::SharedTile<head_dim>;

  // Addresses of a stage in shared memory.
  struct Stage {
    std::uint32_t k, v, k_scales, v_scales;
    __device__ __forceinline__ explicit Stage(std::uint32_t base)
        : k(base), v(base + kv_bytes), k_scales(base + 2 * kv_bytes), v_scales(base + 2 * kv_bytes + scales) {}
  };

  struct Rows {  // running softmax of the rows g and g + 8, replicated in a quad's 4 lanes
    float max[2], sum[2];
  };

  // The A operand of 16 columns, in the order in which F unpacks keys.
  static __device__ __forceinline__ Fragment4 load_q(std::uint32_t q_tile, int warp_row, int step, int lane) {
    return device::load_matrices(QTile::step(QTile::a_lane(q_tile + warp_row * QTile::pitch, lane), 0, step));
  }

  // The rows of Q into shared memory, their columns in the order in which F unpacks keys.
  static __device__ __forceinline__ void copy_q(std::uint32_t q_tile, const T* q, int valid_rows) {
    if constexpr (plain) {
      QTile::template copy_from<tile_q, threads>(q_tile, q, head_dim, valid_rows);
    } else {
      for (int i = static_cast<int>(threadIdx.x); i < tile_q * QTile::chunks; i += threads) {
        const int row = i / QTile::chunks, chunk = i % QTile::chunks, step = chunk / 2;  // half an operand: 8 columns
        std::uint32_t pairs[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          const int first = step / chunk_steps * F::chunk_values;
          const auto element = [&](int e) {
            const T* const from = q + row * head_dim + first + F::q_column(step % chunk_steps, chunk % 2, e, t);
            return row < valid_rows ? static_cast<std::uint32_t>(__half_as_ushort(__ldg(from))) : 0u;
          };
          pairs[t] = element(0) | element(1) << 16;
        }
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};\n" ::"r"(q_tile + QTile::offset(row, chunk)), "r"(pairs[0]),
                     "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3])
                     : "memory");
      }
    }
  }

  // int4: initial values of the sums over a scale's columns, for rows g and g + 8; see formats.cuh.
  using Offsets = float[format == Dtype::int4 ? groups : 1][2];
  static __device__ __forceinline__ void make_offsets(Offsets& offsets, std::uint32_t q_tile, int warp_row, int lane) {
    if constexpr (format == Dtype::int4) {
#pragma unroll
      for (int group = 0; group < groups; ++group) {
        offsets[group][0] = offsets[group][1] = 0.0f;
#pragma unroll
        for (int step = 0; step < chunk_steps; ++step) {
          const Fragment4 q = load_q(q_tile, warp_row, group * chunk_steps + step, lane);
#pragma unroll
          for (int i = 0; i < 4; ++i) F::add_offset(offsets[group][i % 2], q.r[i], i / 2);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
          for (int lanes = 1; lanes < 4; lanes *= 2)
            offsets[group][half] =
                __fadd_rn(offsets[group][half], __shfl_xor_sync(0xffffffffu, offsets[group][half], lanes));
      }
    }
  }

  // The scales of one key, two a register.
  static __device__ __forceinline__ void load_scales(std::uint32_t address, std::uint32_t (&words)[scale_words]) {
    if constexpr (scale_words == 1) asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(words[0]) : "r"(address));
    else asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];\n" : "=r"(words[0]), "=r"(words[1]) : "r"(address));
  }

  // S = Q K^T of the warp's keys, unscaled. `k_lane`: lane address within K, as computed in partial.cuh; `k_scales`:
  // scales of the warp's first key.
  static __device__ __forceinline__ void scores(float (&s)[key_blocks][4], const Fragment4* held_q,
                                                const Offsets& offsets, std::uint32_t q_tile, int warp_row,
                                                std::uint32_t k_lane, std::uint32_t k_scales, int lane) {
    if constexpr (plain) {
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const Fragment4 q = hold_q ? held_q[step] : load_q(q_tile, warp_row, step, lane);
#pragma unroll
        for (int n = 0; n < key_blocks; n += 2) {
          const Fragment4 k = device::load_matrices(Tile::step(k_lane, n * 8, step));
          Mma::mma(s[n], q.r, k.r[0], k.r[1]);
          Mma::mma(s[n + 1], q.r, k.r[2], k.r[3]);
        }
      }
    } else {
      // 16 keys at a time. Their two products are interleaved, because consecutive products on the same keys depend on
      // each other.
      constexpr int x4_chunks = Tile::chunks < 4 ? Tile::chunks : 4;  // ldmatrix.x4: 4 chunks of 8 keys, or 2 of 16
      constexpr int x4_blocks = 4 / x4_chunks;
#pragma unroll
      for (int first = 0; first < key_blocks; first += 2)
#pragma unroll
        for (int four = 0; four < Tile::chunks / x4_chunks; ++four) {
          Fragment4 words[2 / x4_blocks];
#pragma unroll
          for (int n = 0; n < 2 / x4_blocks; ++n)
            words[n] = device::load_matrices(Tile::step(k_lane, (first + n * x4_blocks) * 8, four * 2));
          const auto product = [&](float(&sums)[4], int n, int chunk, int step) {
            const int q_step = (four * 4 + chunk) * chunk_steps + step;
            const Fragment4 q = hold_q ? held_q[q_step] : load_q(q_tile, warp_row, q_step, lane);
            std::uint32_t b[2];
            F::keys(words[n / x4_blocks].r[n % x4_blocks * x4_chunks + chunk], step, b);
            Mma::mma(sums, q.r, b[0], b[1]);
          };
          if constexpr (groups == 0) {
#pragma unroll
            for (int chunk = 0; chunk < x4_chunks; ++chunk)
#pragma unroll
              for (int n = 0; n < 2; ++n) product(s[first + n], n, chunk, 0);
          } else {
            // The columns of a scale: four chunks of 16 (int8), one of 32 (int4).
            constexpr int scale_chunks = F::scale_group / F::chunk_values;
            std::uint32_t scale_pair[2][2];  // of two groups; of keys 2t and 2t + 1 of either block
#pragma unroll
            for (int g = 0; g < x4_chunks / scale_chunks; ++g) {
              const int group = four * (4 / scale_chunks) + g;
              if (g % 2 == 0) {
#pragma unroll
                for (int n = 0; n < 2; ++n)
#pragma unroll
                  for (int i = 0; i < 2; ++i)
                    scale_pair[n][i] =
                        load_shared(k_scales + ((first + n) * 8 + (lane & 3) * 2 + i) * scale_row + group / 2 * 4);
              }
              float part[2][4];
#pragma unroll
              for (int n = 0; n < 2; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) part[n][i] = format == Dtype::int4 ? offsets[group][i / 2] : 0.0f;
#pragma unroll
              for (int step = 0; step < scale_chunks * chunk_steps; ++step)
#pragma unroll
                for (int n = 0; n < 2; ++n)
                  product(part[n], n, g * scale_chunks + step / chunk_steps, step % chunk_steps);
#pragma unroll
              for (int n = 0; n < 2; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                  s[first + n][i] = __fmaf_rn(part[n][i], to_float(scale_pair[n][i % 2], group % 2), s[first + n][i]);
            }
          }
        }
    }
  }

  // The first half of an online-softmax step: updates the maxima and rescales O and the sums to them. negative_max
  // includes the lift of P.
  static __device__ __forceinline__ void rescale(const float (&s)[key_blocks][4], float (&o)[out_blocks][4], Rows& rows,
                                                 float (&negative_max)[2], float scale_log2) {
    float correction[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float max = fmaxf(s[0][half * 2], s[0][half * 2 + 1]);
#pragma unroll
      for (int n = 1; n < key_blocks; ++n) max = fmaxf(max, fmaxf(s[n][half * 2], s[n][half * 2 + 1]));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
      max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
      max = fmaxf(rows.max[half], __fmul_rn(max, scale_log2));
      // A row without a visible key so far keeps max = -inf. Using 0 in its place avoids inf - inf.
      const float negative = max == -INFINITY ? 0.0f : -max;
      correction[half] = device::exp2_fast(__fadd_rn(rows.max[half], negative));
      rows.max[half] = max;
      rows.sum[half] = __fmul_rn(rows.sum[half], correction[half]);
      negative_max[half] = F::lift == 0 ? negative : __fadd_rn(negative, static_cast<float>(F::lift));
    }
#pragma unroll
    for (int n = 0; n < out_blocks; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) o[n][i] = __fmul_rn(o[n][i], correction[i / 2]);
  }

  // O += P V of 16 keys. p[i]: the two P of register i. `v_scales`: of the first of the 16 keys.
  static __device__ __forceinline__ void accumulate(float (&o)[out_blocks][4], const float (&p)[4][2],
                                                    std::uint32_t v_lane, int row, std::uint32_t v_scales, int lane) {
    constexpr int parts = groups > 0 ? groups : 1, blocks = F::chunk_values / 8;
    std::uint32_t packed[parts][4];
    if constexpr (groups == 0) {
#pragma unroll
      for (int i = 0; i < 4; ++i) packed[0][i] = Mma::pack(p[i][0], p[i][1]);
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t low[scale_words], high[scale_words];  // keys 2t and 2t + 1
        const std::uint32_t address = v_scales + (half * 8 + (lane & 3) * 2) * scale_row;
        load_scales(address, low);
        load_scales(address + scale_row, high);
#pragma unroll
        for (int g = 0; g < groups; ++g)
#pragma unroll
          for (int i = half * 2; i < half * 2 + 2; ++i) {
            if constexpr (format == Dtype::int4) {
              const std::uint32_t scale = permute(low[g / 2], high[g / 2], g % 2 ? 0x7632 : 0x5410);
              packed[g][i] = multiply_pair(Mma::pack(p[i][0], p[i][1]), scale);
            } else {
              packed[g][i] = Mma::pack(__fmul_rn(p[i][0], to_float(low[g / 2], g % 2)),
                                       __fmul_rn(p[i][1], to_float(high[g / 2], g % 2)));
            }
          }
      }
    }
#pragma unroll
    for (int pair = 0; pair < Tile::chunks / 2; ++pair) {
      const Fragment4 words = device::load_matrices_transposed(Tile::step(v_lane, row, pair));
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int chunk = pair * 2 + c, group = groups > 0 ? chunk * F::chunk_values * groups / head_dim : 0;
#pragma unroll
        for (int block = 0; block < blocks; ++block)
          Mma::mma(o[chunk * blocks + block], packed[group], F::values(words.r[c * 2], block),
                   F::values(words.r[c * 2 + 1], block));
      }
    }
  }
};

}  // namespace tilescope::kernels::split_kv
