// One part of the keys of one KV head: O_part = softmax(scale Q K^T) V over the part, and L_part, its log-sum-exp.
//
// The rows of a KV head (its query heads x q_len) are packed: a block owns tile_q of them, so that every key that it
// loads serves all of them. Each warp owns 16 rows and tile_kv * tile_q / 16 / warps of a tile's keys, with a running
// softmax of its own; the warps that share rows merge once, at the end. Where a warp alone reads its keys it also
// copies them, and no barrier holds the warps of a block together. K and V stay in their stored format until they are
// in registers.
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
  static constexpr bool plain = bits_of(format) == 16;
  static constexpr int threads = warps * 32;
  static constexpr int row_warps = tile_q / 16, key_warps = warps / row_warps, warp_keys = tile_kv / key_warps;
  static constexpr int key_blocks = warp_keys / 8, out_blocks = head_dim / 8, steps = head_dim / 16;
  static constexpr bool own_keys = row_warps == 1;  // a warp alone reads its keys: it copies them, and waits for nobody
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

  // int4: where the sums of a scale's columns start, see formats.cuh: of the rows g and g + 8.
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

  // S = Q K^T of the warp's keys, unscaled. `k_lane`: see the kernel; `k_scales`: of the warp's first key.
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
      // 16 keys at a time, their two products side by side: each waits for the one before over the same keys.
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

  // One online-softmax step's new maxima; O and the sums rescaled to them. negative_max includes the lift of P.
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
      // A row that has seen no key yet keeps max = -inf; 0 stands in for it so that no inf - inf arises.
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

// Adds up the warps' shares of O, merged [warps][tile_q][pitch], and writes the valid rows of the tile,
// [rows][head_dim]. Rows that are not there are added up too, so that the executed work follows from the tiles alone.
template <int tile_q, int head_dim, int pitch, int warps, int threads>
__device__ __forceinline__ void store_merged(float* out, const float* merged, int valid_rows) {
  constexpr int fours = head_dim / 4;
  static_assert(tile_q * fours % threads == 0, "every thread adds up as often");
#pragma unroll
  for (int pass = 0; pass < tile_q * fours / threads; ++pass) {
    const int i = static_cast<int>(threadIdx.x) + pass * threads, row = i / fours, column = i % fours * 4;
    float4 sum = *reinterpret_cast<const float4*>(merged + row * pitch + column);
#pragma unroll
    for (int w = 1; w < warps; ++w) {
      const float4 more = *reinterpret_cast<const float4*>(merged + (w * tile_q + row) * pitch + column);
      sum.x = __fadd_rn(sum.x, more.x), sum.y = __fadd_rn(sum.y, more.y);
      sum.z = __fadd_rn(sum.z, more.z), sum.w = __fadd_rn(sum.w, more.w);
    }
    asm volatile(
        "{\n .reg .pred there;\n setp.ne.s32 there, %5, 0;\n @there st.global.v4.f32 [%0], {%1,%2,%3,%4};\n}\n" ::"l"(
            out + row * head_dim + column),
        "f"(sum.x), "f"(sum.y), "f"(sum.z), "f"(sum.w), "r"(static_cast<int>(row < valid_rows))
        : "memory");
  }
}

// Grid: x = row tiles (fastest) and parts of the keys, y = KV heads, z = batch.
template <Dtype format, int head_dim, int tile_q, int tile_kv, int warps, int stages, bool hold_q, int min_blocks>
__global__ void __launch_bounds__(warps * 32, min_blocks) partial(const PartialParams p) {
  using P = Partial<format, head_dim, tile_q, tile_kv, warps, stages, hold_q>;
  using F = typename P::F;
  using Tile = typename P::Tile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared), first_stage = q_tile + tile_q * head_dim * 2;
  const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % P::row_warps * 16, key_warp = warp / P::row_warps, first_key = key_warp * P::warp_keys;

  const int split = static_cast<int>(divide(blockIdx.x, p.row_tiles));
  const int first_row = (static_cast<int>(blockIdx.x) - split * static_cast<int>(p.row_tiles.value)) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + blockIdx.y;
  const int first_tile = split * p.part_tiles, last_tile = min(first_tile + p.part_tiles, p.tiles);

  const int copier = P::own_keys ? lane : static_cast<int>(threadIdx.x);
  KeyStream<format, head_dim, tile_kv, stages, P::own_keys ? P::warp_keys : tile_kv, P::own_keys ? 32 : P::threads>
      stream(p, head, first_tile, P::own_keys ? first_key : 0, copier, first_stage);

  float o[P::out_blocks][4] = {};
  typename P::Rows rows = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  Fragment4 held_q[hold_q ? P::steps : 1];
  typename P::Offsets offsets;
  int last_key[2];  // last visible key of the rows g and g + 8
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto row = static_cast<std::uint32_t>(first_row + warp_row + half * 8 + lane / 4);
    const int query = static_cast<int>(row - divide(row, p.queries) * p.queries.value);
    last_key[half] = p.kv_len - 1 - (p.causal ? p.q_len - 1 - query : 0);
  }

  P::copy_q(q_tile, static_cast<const typename P::T*>(p.q) + (head * p.rows + first_row) * head_dim,
            p.rows - first_row);
  device::commit_copies();
#pragma unroll
  for (int j = 0; j < stages - 1; ++j) stream.copy(p, last_tile, copier);

  // Lane addresses of row 0, chunk 0 of the warp's keys: K plain (two 8-key blocks of two chunks, or one of four),
  // V transposed (16 keys of two chunks).
  const std::uint32_t k_offset = Tile::chunks >= 4 && !P::plain
                                     ? Tile::offset(lane & 7, lane >> 3)
                                     : Tile::offset((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  const std::uint32_t v_offset = Tile::offset(lane & 15, lane >> 4);

  device::wait_copies<stages - 1>();
  __syncthreads();  // Q is there
  if constexpr (hold_q) {
#pragma unroll
    for (int i = 0; i < P::steps; ++i) held_q[i] = P::load_q(q_tile, warp_row, i, lane);
  }
  P::make_offsets(offsets, q_tile, warp_row, lane);

  int slot = 0;
  for (int tile = first_tile; tile < last_tile; ++tile) {
    device::wait_copies<stages - 2>();
    if constexpr (P::own_keys)
      __syncwarp();  // the warp's keys of the tile have landed, and none of its lanes reads the one before any more
    else __syncthreads();  // the same for all warps
    stream.copy(p, last_tile, copier);
    const typename P::Stage at(first_stage + slot);
    slot = slot == (stages - 1) * P::stage ? 0 : slot + P::stage;
    float s[P::key_blocks][4] = {};
    P::scores(s, held_q, offsets, q_tile, warp_row, at.k + first_key * P::kv_row + k_offset,
              at.k_scales + first_key * P::scale_row, lane);
    const int key = tile * tile_kv + first_key;  // first key of the warp
    if (key + P::warp_keys > p.kv_len - (p.causal ? p.q_len - 1 : 0)) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < P::key_blocks; ++n)
#pragma unroll
          for (int i = 0; i < 2; ++i)
            if (key + n * 8 + (lane & 3) * 2 + i > last_key[half]) s[n][half * 2 + i] = -INFINITY;
    }
    float negative_max[2];
    P::rescale(s, o, rows, negative_max, p.scale_log2);
#pragma unroll
    for (int step = 0; step < P::warp_keys / 16; ++step) {
      float probability[4][2];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          probability[i][e] =
              device::exp2_fast(__fmaf_rn(s[step * 2 + i / 2][i % 2 * 2 + e], p.scale_log2, negative_max[i % 2]));
          rows.sum[i % 2] = __fadd_rn(rows.sum[i % 2], probability[i][e]);
        }
      P::accumulate(o, probability, at.v + first_key * P::kv_row + v_offset, step * 16,
                    at.v_scales + (first_key + step * 16) * P::scale_row, lane);
    }
  }

  // Merge the warps that share rows: everything to the common maximum, through the stages' shared memory.
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");  // see merge_launch.h
  device::wait_copies<0>();
  __syncthreads();
  constexpr int pitch = head_dim + 8;                           // floats a row: neighbouring rows start 8 banks apart
  float* const merged = reinterpret_cast<float*>(shared);       // [key_warps][tile_q][pitch]
  float* const stats = merged + P::key_warps * tile_q * pitch;  // [2][key_warps][tile_q]: maxima, sums
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float& sum = rows.sum[half];
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 1));
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffu, sum, 2));
    const int row = warp_row + half * 8 + lane / 4;
    if ((lane & 3) == 0) {
      stats[key_warp * tile_q + row] = rows.max[half];
      stats[(P::key_warps + key_warp) * tile_q + row] = sum;
    }
  }
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp_row + half * 8 + lane / 4;
    float max = stats[row];
#pragma unroll
    for (int w = 1; w < P::key_warps; ++w) max = fmaxf(max, stats[w * tile_q + row]);
    const float negative = max == -INFINITY ? 0.0f : -max;
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < P::key_warps; ++w)
      sum = __fmaf_rn(stats[(P::key_warps + w) * tile_q + row],
                      device::exp2_fast(__fadd_rn(stats[w * tile_q + row], negative)), sum);
    const float inverse = sum > 0.0f ? __fmul_rn(device::reciprocal_fast(sum), p.v_descale) : 0.0f;
    factor[half] = __fmul_rn(inverse, device::exp2_fast(__fadd_rn(rows.max[half], negative)));
    if (key_warp == 0 && (lane & 3) == 0 && first_row + row < p.rows) {
      const float log2_sum = __fadd_rn(__fadd_rn(max, device::log2_fast(sum)), static_cast<float>(-F::lift));
      p.l_part[(static_cast<std::int64_t>(split) * gridDim.z * p.heads_kv + head) * p.rows + first_row + row] =
          sum > 0.0f ? __fmul_rn(log2_sum, 0.6931471805599453f) : -INFINITY;
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float* const row = merged + (key_warp * tile_q + warp_row + half * 8 + lane / 4) * pitch;
    constexpr int blocks = F::chunk_values / 8;
#pragma unroll
    for (int n = 0; n < P::out_blocks; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e)
        row[n / blocks * F::chunk_values + F::o_column(n % blocks, e, lane & 3)] =
            __fmul_rn(o[n][half * 2 + e], factor[half]);
  }
  __syncthreads();
  float* const out =
      p.o_part + ((static_cast<std::int64_t>(split) * gridDim.z * p.heads_kv + head) * p.rows + first_row) * head_dim;
  store_merged<tile_q, head_dim, pitch, P::key_warps, P::threads>(out, merged, p.rows - first_row);
}

}  // namespace tilescope::kernels::split_kv
