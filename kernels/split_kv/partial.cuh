// One part of the keys of one KV head: O_part = softmax(scale Q K^T) V over the part, and L_part, its log-sum-exp.
//
// The rows of a KV head (its query heads x q_len) are packed: a block owns tile_q of them, so that every key that it
// loads serves all of them. Each warp owns 16 rows and tile_kv * 16 / tile_q / warps of a tile's keys, with a running
// softmax of its own; the warps that share rows merge once, at the end. K and V stay in their stored format until they
// are in registers.
#pragma once

#include "common/shared_tile.cuh"
#include "split_kv/formats.cuh"
#include "split_kv/split_kv.h"

namespace tilescope::kernels::split_kv {

using device::Element;
using device::Fragment4;

__device__ __forceinline__ std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(value) : "r"(address));
  return value;
}
__device__ __forceinline__ std::uint16_t load_shared_16(std::uint32_t address) {
  std::uint16_t value;
  asm volatile("ld.shared.b16 %0, [%1];\n" : "=h"(value) : "r"(address));
  return value;
}
__device__ __forceinline__ float to_float(std::uint32_t pair, int half) {
  return __half2float(__ushort_as_half(static_cast<std::uint16_t>(half ? pair >> 16 : pair)));
}

template <Dtype format> struct FormatOf;
template <> struct FormatOf<Dtype::fp16> { using type = Plain<__half>; };
template <> struct FormatOf<Dtype::bf16> { using type = Plain<__nv_bfloat16>; };
template <> struct FormatOf<Dtype::fp8_e4m3> { using type = Fp8; };
template <> struct FormatOf<Dtype::int8> { using type = Int8; };
template <> struct FormatOf<Dtype::int4> { using type = Int4; };

// Rows of 16-byte chunks, swizzled so that ldmatrix finds eight rows of one chunk in eight different bank groups also
// where a 128-byte line holds several rows.
template <int bytes>
struct CodeTile {
  static constexpr int pitch = bytes, chunks = bytes / 16, rows_a_line = chunks < 8 ? 8 / chunks : 1;
  static __device__ __forceinline__ std::uint32_t offset(int row, int chunk) {
    return static_cast<std::uint32_t>(row * bytes + ((chunk ^ (row / rows_a_line & (chunks < 8 ? chunks - 1 : 7))) << 4));
  }
  // The lane address `lane_base` of row 0, chunk 0, moved on by `row` rows (a multiple of 8) and `pair` chunk pairs.
  static __device__ __forceinline__ std::uint32_t step(std::uint32_t lane_base, int row, int pair) {
    return (lane_base ^ static_cast<std::uint32_t>((pair & 3) << 5)) +
           static_cast<std::uint32_t>((pair >> 2) * 128 + row * bytes);
  }
  // All threads start copying `rows` rows; rows at or past valid_rows become zeros and read nothing.
  template <int rows, int threads>
  static __device__ __forceinline__ void copy_from(std::uint32_t tile, const char* source, int valid_rows) {
    constexpr int rows_a_pass = threads / chunks;
    static_assert(threads % chunks == 0 && rows % rows_a_pass == 0, "every thread copies the same number of chunks");
    const int thread = static_cast<int>(threadIdx.x);
    const int row = thread / chunks, chunk = thread % chunks;
#pragma unroll
    for (int pass = 0; pass < rows / rows_a_pass; ++pass)
      device::copy_async_16(tile + offset(row + pass * rows_a_pass, chunk), source + (thread + pass * threads) * 16,
                            row + pass * rows_a_pass < valid_rows);
  }
};

// Up to 16 bytes, the rest of the 16 zeros.
__device__ __forceinline__ void copy_async_part(std::uint32_t destination, const void* source, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;\n" ::"r"(destination), "l"(source), "r"(bytes) : "memory");
}

template <Dtype format, int head_dim, int tile_q, int tile_kv, int warps, int stages>
struct Partial {
  using F = typename FormatOf<format>::type;
  using T = typename F::Compute;
  using Mma = Element<T>;
  static constexpr bool plain = bits_of(format) == 16;
  static constexpr int threads = warps * 32;
  static constexpr int row_warps = tile_q / 16, key_warps = warps / row_warps, warp_keys = tile_kv / key_warps;
  static constexpr int key_blocks = warp_keys / 8, out_blocks = head_dim / 8, steps = head_dim / 16;
  static constexpr int kv_row = row_bytes(format, head_dim), kv_bytes = tile_kv * kv_row;
  static constexpr int groups = F::scale_group == 0 ? 0 : head_dim / F::scale_group;  // scales of a key
  static constexpr int scales = scale_bytes(format, head_dim, tile_kv), stage = stage_bytes(format, head_dim, tile_kv);
  static constexpr int chunk_steps = F::chunk_values / 16;  // not used by plain formats, whose chunk is half a step
  static constexpr bool hold_q = head_dim <= 128;
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

  // The A operand of step `step`, its columns in the order in which F unpacks keys.
  static __device__ __forceinline__ Fragment4 load_q(std::uint32_t q_tile, int warp_row, int step, int lane) {
    if constexpr (plain) {
      return device::load_matrices(QTile::step(QTile::a_lane(q_tile + warp_row * QTile::pitch, lane), 0, step));
    } else {
      Fragment4 f;
      const int base = step / chunk_steps * F::chunk_values;
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // register i: rows i % 2, operand half i / 2
        const int row = warp_row + lane / 4 + i % 2 * 8;
        const auto element = [&](int e) {
          const int column = base + F::q_column(step % chunk_steps, i / 2, e, lane & 3);
          return static_cast<std::uint32_t>(load_shared_16(q_tile + QTile::offset(row, column / 8) + column % 8 * 2));
        };
        f.r[i] = element(0) | element(1) << 16;
      }
      return f;
    }
  }

  // The scales of one key, two a register.
  static __device__ __forceinline__ void load_scales(std::uint32_t address, std::uint32_t (&words)[(groups + 1) / 2]) {
    if constexpr (groups == 1) {
      words[0] = load_shared_16(address);
    } else {
#pragma unroll
      for (int i = 0; i < groups / 2; ++i) words[i] = load_shared(address + i * 4);
    }
  }

  // S = Q K^T of the warp's keys, unscaled. `k_lane`: see the kernel; `k_scales`: of the warp's first key.
  static __device__ __forceinline__ void scores(float (&s)[key_blocks][4], const Fragment4* held_q, std::uint32_t q_tile,
                                                int warp_row, std::uint32_t k_lane, std::uint32_t k_scales, int lane) {
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
      constexpr int row_words = Tile::chunks < 4 ? Tile::chunks : 4;  // ldmatrix.x4: 4 chunks of 8 keys, or 2 of 16
#pragma unroll
      for (int n = 0; n < key_blocks; n += 4 / row_words)
#pragma unroll
        for (int four = 0; four < Tile::chunks / row_words; ++four) {
          const Fragment4 words = device::load_matrices(Tile::step(k_lane, n * 8, four * 2));
#pragma unroll
          for (int sub = 0; sub < 4 / row_words; ++sub) {
            std::uint32_t scale_words[groups > 0 ? (groups + 1) / 2 : 1];
            float part[4] = {};
            if constexpr (format == Dtype::int4)
              load_scales(k_scales + ((n + sub) * 8 + lane / 4) * groups * 2, scale_words);
#pragma unroll
            for (int chunk = 0; chunk < row_words; ++chunk)
#pragma unroll
              for (int step = 0; step < chunk_steps; ++step) {
                std::uint32_t b[2];
                F::keys(words.r[sub * row_words + chunk], step, b);
                if constexpr (format == Dtype::int4) {
                  const std::uint32_t scale = permute(scale_words[chunk / 2], 0, chunk % 2 ? 0x3232 : 0x1010);
                  b[0] = multiply_pair(b[0], scale), b[1] = multiply_pair(b[1], scale);
                }
                Mma::mma(format == Dtype::int8 ? part : s[n + sub],
                         held_q[(four * 4 + chunk) * chunk_steps + step].r, b[0], b[1]);
              }
            if constexpr (format == Dtype::int8) {  // four chunks are the 64 columns of one scale
#pragma unroll
              for (int i = 0; i < 2; ++i) {
                const std::uint32_t address =
                    k_scales + (((n + sub) * 8 + (lane & 3) * 2 + i) * groups + four) * 2;
                const float scale = __half2float(__ushort_as_half(load_shared_16(address)));
                s[n + sub][i] = __fmaf_rn(part[i], scale, s[n + sub][i]);
                s[n + sub][2 + i] = __fmaf_rn(part[2 + i], scale, s[n + sub][2 + i]);
              }
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
        std::uint32_t low[(groups + 1) / 2], high[(groups + 1) / 2];  // keys 2t and 2t + 1
        const std::uint32_t address = v_scales + (half * 8 + (lane & 3) * 2) * groups * 2;
        load_scales(address, low);
        load_scales(address + groups * 2, high);
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

// Grid: x = row tiles (fastest) and parts of the keys, y = KV heads, z = batch.
template <Dtype format, int head_dim, int tile_q, int tile_kv, int warps, int stages, int min_blocks>
__global__ void __launch_bounds__(warps * 32, min_blocks) partial(const PartialParams p) {
  using P = Partial<format, head_dim, tile_q, tile_kv, warps, stages>;
  using F = typename P::F;
  using Tile = typename P::Tile;
  extern __shared__ __align__(1024) unsigned char shared[];
  const std::uint32_t q_tile = device::shared_address(shared), first_stage = q_tile + tile_q * head_dim * 2;
  const int lane = static_cast<int>(threadIdx.x) & 31, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp % P::row_warps * 16, key_warp = warp / P::row_warps, first_key = key_warp * P::warp_keys;

  const int split = static_cast<int>(divide(blockIdx.x, p.row_tiles));
  const int first_row = (static_cast<int>(blockIdx.x) - split * static_cast<int>(p.row_tiles.value)) * tile_q;
  const std::int64_t head = static_cast<std::int64_t>(blockIdx.z) * p.heads_kv + blockIdx.y;
  const int first_tile = split * p.part_tiles, part_tiles = min(p.part_tiles, p.tiles - first_tile);

  const char* k = static_cast<const char*>(p.k);
  const char* v = static_cast<const char*>(p.v);
  const char* k_scales = static_cast<const char*>(p.k_scales);
  const char* v_scales = static_cast<const char*>(p.v_scales);
  const std::int32_t* table = nullptr;
  if (p.block_table != nullptr) {
    table = p.block_table + static_cast<std::int64_t>(blockIdx.z) * p.page_pitch;
  } else {
    const std::int64_t key = head * p.kv_len;
    k += key * P::kv_row, v += key * P::kv_row, k_scales += key * P::groups * 2, v_scales += key * P::groups * 2;
  }
  // A head's scales start anywhere: chunks of 16 bytes are copied from the multiple of 16 before.
  const std::uint32_t shift = P::groups > 0 ? static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(k_scales) & 15) : 0;

  auto copy_tile = [&](int j) {
    const int tile = first_tile + j, valid = p.kv_len - tile * tile_kv;
    const typename P::Stage to(first_stage + j % stages * P::stage);
    std::int64_t key = static_cast<std::int64_t>(tile) * tile_kv;  // where the tile starts, in keys, past k and v
    if (table != nullptr) {
      const int page = static_cast<int>(divide(static_cast<std::uint32_t>(tile), p.table_tiles));
      key = (static_cast<std::int64_t>(__ldg(table + page)) * p.heads_kv + blockIdx.y) * p.page_tiles * tile_kv +
            (tile - page * p.page_tiles) * tile_kv;
    }
    Tile::template copy_from<tile_kv, P::threads>(to.k, k + key * P::kv_row, valid);
    Tile::template copy_from<tile_kv, P::threads>(to.v, v + key * P::kv_row, valid);
    if constexpr (P::groups > 0) {
      constexpr int pitch = P::groups * 2, most = tile_kv * pitch + 16;
      const int bytes = min(valid, tile_kv) * pitch + static_cast<int>(shift);
#pragma unroll
      for (int at = static_cast<int>(threadIdx.x) * 16; at < most; at += P::threads * 16) {
        const int here = max(0, min(16, bytes - at));
        const std::int64_t from = here > 0 ? key * pitch - static_cast<int>(shift) + at : 0;
        copy_async_part(to.k_scales + at, here > 0 ? k_scales + from : p.k_scales, here);
        copy_async_part(to.v_scales + at, here > 0 ? v_scales + from : p.v_scales, here);
      }
    }
  };

  float o[P::out_blocks][4] = {};
  typename P::Rows rows = {{-INFINITY, -INFINITY}, {0.0f, 0.0f}};
  Fragment4 held_q[P::hold_q ? P::steps : 1];
  int last_key[2];  // last visible key of the rows g and g + 8
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto row = static_cast<std::uint32_t>(first_row + warp_row + half * 8 + lane / 4);
    const int query = static_cast<int>(row - divide(row, p.queries) * p.queries.value);
    last_key[half] = p.kv_len - 1 - (p.causal ? p.q_len - 1 - query : 0);
  }

  P::QTile::template copy_from<tile_q, P::threads>(
      q_tile, static_cast<const typename P::T*>(p.q) + (head * p.rows + first_row) * head_dim, head_dim,
      p.rows - first_row);
#pragma unroll
  for (int j = 0; j < stages - 1; ++j) {
    if (j < part_tiles) copy_tile(j);
    device::commit_copies();
  }

  // Lane addresses of row 0, chunk 0 of the warp's keys: K plain (two 8-key blocks of two chunks, or one of four),
  // V transposed (16 keys of two chunks).
  const std::uint32_t k_offset =
      Tile::chunks >= 4 && !P::plain
          ? Tile::offset(lane & 7, lane >> 3)
          : Tile::offset((lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
  const std::uint32_t v_offset = Tile::offset(lane & 15, lane >> 4);

  for (int j = 0; j < part_tiles; ++j) {
    device::wait_copies<stages - 2>();
    __syncthreads();  // tile j has landed for all, and nobody reads tile j - 1 any more
    if (j + stages - 1 < part_tiles) copy_tile(j + stages - 1);
    device::commit_copies();
    if constexpr (P::hold_q) {
      if (j == 0) {
#pragma unroll
        for (int i = 0; i < P::steps; ++i) held_q[i] = P::load_q(q_tile, warp_row, i, lane);
      }
    }
    const typename P::Stage at(first_stage + j % stages * P::stage);
    float s[P::key_blocks][4] = {};
    P::scores(s, held_q, q_tile, warp_row, at.k + first_key * P::kv_row + k_offset,
              at.k_scales + shift + first_key * P::groups * 2, lane);
    const int key = (first_tile + j) * tile_kv + first_key;  // first key of the warp
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
          probability[i][e] = device::exp2_fast(
              __fmaf_rn(s[step * 2 + i / 2][i % 2 * 2 + e], p.scale_log2, negative_max[i % 2]));
          rows.sum[i % 2] = __fadd_rn(rows.sum[i % 2], probability[i][e]);
        }
      P::accumulate(o, probability, at.v + first_key * P::kv_row + v_offset, step * 16,
                    at.v_scales + shift + (first_key + step * 16) * P::groups * 2, lane);
    }
  }

  // Merge the warps that share rows: everything to the common maximum, through the stages' shared memory.
  device::wait_copies<0>();
  __syncthreads();
  constexpr int pitch = head_dim + 8;  // floats a row: neighbouring rows start 8 banks apart
  float* const merged = reinterpret_cast<float*>(shared);                  // [key_warps][tile_q][pitch]
  float* const stats = merged + P::key_warps * tile_q * pitch;             // [2][key_warps][tile_q]: maxima, sums
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
        row[n / blocks * F::chunk_values + F::o_column(n % blocks, e, lane & 3)] = __fmul_rn(o[n][half * 2 + e], factor[half]);
  }
  __syncthreads();
  float* const out =
      p.o_part + ((static_cast<std::int64_t>(split) * gridDim.z * p.heads_kv + head) * p.rows + first_row) * head_dim;
  constexpr int fours = head_dim / 4;
  for (int i = static_cast<int>(threadIdx.x); i < tile_q * fours; i += P::threads) {
    const int row = i / fours, column = i % fours * 4;
    if (first_row + row >= p.rows) break;
    float4 sum = *reinterpret_cast<const float4*>(merged + row * pitch + column);
#pragma unroll
    for (int w = 1; w < P::key_warps; ++w) {
      const float4 more = *reinterpret_cast<const float4*>(merged + (w * tile_q + row) * pitch + column);
      sum.x = __fadd_rn(sum.x, more.x), sum.y = __fadd_rn(sum.y, more.y);
      sum.z = __fadd_rn(sum.z, more.z), sum.w = __fadd_rn(sum.w, more.w);
    }
    device::store_16(out + row * head_dim + column, make_uint4(__float_as_uint(sum.x), __float_as_uint(sum.y),
                                                               __float_as_uint(sum.z), __float_as_uint(sum.w)));
  }
}

}  // namespace tilescope::kernels::split_kv
