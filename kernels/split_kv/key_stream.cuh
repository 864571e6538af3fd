// The stream of K and V from global memory into the stages of a block, in the stored format, contiguous or in pages.
#pragma once

#include "split_kv/formats.cuh"
#include "split_kv/split_kv.h"

namespace tilescope::kernels::split_kv {

__device__ __forceinline__ std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.b32 %0, [%1];\n" : "=r"(value) : "r"(address));
  return value;
}
template <Dtype format>
struct FormatOf;
template <>
struct FormatOf<Dtype::fp16> {
  using type = Plain<__half>;
};
template <>
struct FormatOf<Dtype::bf16> {
  using type = Plain<__nv_bfloat16>;
};
template <>
struct FormatOf<Dtype::fp8_e4m3> {
  using type = Fp8;
};
template <>
struct FormatOf<Dtype::int8> {
  using type = Int8;
};
template <>
struct FormatOf<Dtype::int4> {
  using type = Int4;
};

// Rows of 16-byte chunks, swizzled so that ldmatrix finds eight rows of one chunk in eight different bank groups also
// where a 128-byte line holds several rows.
template <int bytes>
struct CodeTile {
  static constexpr int pitch = bytes, chunks = bytes / 16, rows_a_line = chunks < 8 ? 8 / chunks : 1;
  static __device__ __forceinline__ std::uint32_t offset(int row, int chunk) {
    return static_cast<std::uint32_t>(row * bytes +
                                      ((chunk ^ (row / rows_a_line & (chunks < 8 ? chunks - 1 : 7))) << 4));
  }
  // The lane address `lane_base` of row 0, chunk 0, moved on by `row` rows (a multiple of 8) and `pair` chunk pairs.
  static __device__ __forceinline__ std::uint32_t step(std::uint32_t lane_base, int row, int pair) {
    return (lane_base ^ static_cast<std::uint32_t>((pair & 3) << 5)) +
           static_cast<std::uint32_t>((pair >> 2) * 128 + row * bytes);
  }
  // `threads` threads start copying `rows` rows, each thread the same number of chunks; rows from valid_rows on,
  // counted from the thread's own first row, become zeros and read nothing. `tile`, `source`: of the thread's first
  // chunk; row 0 is a multiple of 8 rows into the tile.
  template <int rows, int threads, bool all_valid>
  static __device__ __forceinline__ void copy(std::uint32_t tile, const char* source, int valid_rows) {
    constexpr int rows_a_pass = threads / chunks;
    static_assert(threads % chunks == 0 && rows % rows_a_pass == 0, "every thread copies the same number of chunks");
    static_assert(rows_a_line == 1 || rows_a_pass % 8 == 0, "passes differ in the swizzle by whole rows");
#pragma unroll
    for (int pass = 0; pass < rows / rows_a_pass; ++pass)
      device::copy_async_16((tile ^ static_cast<std::uint32_t>((pass * rows_a_pass & 7) << 4)) + pass * threads * 16,
                            source + pass * threads * 16, all_valid || pass * rows_a_pass < valid_rows);
  }
};

// 4 or 8 bytes global -> shared, asynchronously; zeros where !valid.
template <int bytes>
__device__ __forceinline__ void copy_async_few(std::uint32_t destination, const void* source, bool valid) {
  asm volatile(
      "{\n .reg .pred ignore;\n setp.eq.s32 ignore, %3, 0;\n"
      " cp.async.ca.shared.global [%0], [%1], %2, ignore;\n}\n" ::"r"(destination),
      "l"(source), "n"(bytes), "r"(static_cast<int>(valid))
      : "memory");
}

// What `threads` threads copy of one head's tiles, one tile after the other: `rows` keys from `first_row` of each on.
// A stage holds a tile's K, V, scales of K, scales of V. `thread`: of those that copy together.
template <Dtype format, int head_dim, int tile_kv, int stages, int rows, int threads>
struct KeyStream {
  static constexpr int kv_row = row_bytes(format, head_dim), kv_bytes = tile_kv * kv_row;
  static constexpr int scale_row = scale_row_bytes(format, head_dim), scales = tile_kv * scale_row;
  static constexpr int stage = stage_bytes(format, head_dim, tile_kv);
  using Tile = CodeTile<kv_row>;
  static_assert(stage % 128 == 0);

  const char *k, *v, *k_scales, *v_scales;  // the thread's first bytes of the next tile
  const std::int32_t* table = nullptr;
  std::int32_t next_page = 0;  // of the next tile: read a tile ahead, so that no copy waits for it
  int tile, row, scale;        // the next tile; within it, the thread's first key, and the one whose scales it copies
  std::uint32_t codes_to, scales_to;  // where they go, in the first stage
  int slot = 0;                       // offset of the next stage

  __device__ __forceinline__ KeyStream(const PartialParams& p, std::int64_t head, int first_tile, int first_row,
                                       int thread, std::uint32_t first_stage)
      : tile(first_tile),
        row(first_row + thread / Tile::chunks),
        scale(first_row + thread),
        codes_to(first_stage + first_row * kv_row + Tile::offset(thread / Tile::chunks, thread % Tile::chunks)),
        scales_to(first_stage + 2 * kv_bytes + scale * scale_row) {
    if (p.block_table != nullptr) {
      table = p.block_table + static_cast<std::int64_t>(blockIdx.z) * p.page_pitch;
      next_page = page_of(p);
    } else {
      start_at(p, head * p.kv_len + static_cast<std::int64_t>(first_tile) * tile_kv, thread);
    }
  }
  __device__ __forceinline__ std::int32_t page_of(const PartialParams& p) const {
    return __ldg(table + divide(static_cast<std::uint32_t>(min(tile, p.tiles - 1)), p.table_tiles));
  }
  // The next tile's first key is `key` keys past the start of K and V.
  __device__ __forceinline__ void start_at(const PartialParams& p, std::int64_t key, int thread) {
    const std::int64_t codes = (key + row - thread / Tile::chunks) * kv_row + thread * 16;
    k = static_cast<const char*>(p.k) + codes, v = static_cast<const char*>(p.v) + codes;
    const std::int64_t at = (key + scale) * scale_row;
    k_scales = static_cast<const char*>(p.k_scales) + at, v_scales = static_cast<const char*>(p.v_scales) + at;
  }

  // Starts copying the next tile, if the part still has one: `last` is the part's end.
  __device__ __forceinline__ void copy(const PartialParams& p, int last, int thread) {
    if (tile < last) {
      if (table != nullptr) {
        const int page = static_cast<int>(divide(static_cast<std::uint32_t>(tile), p.table_tiles));
        start_at(p,
                 ((static_cast<std::int64_t>(next_page) * p.heads_kv + blockIdx.y) * p.page_tiles +
                  (tile - page * p.page_tiles)) *
                     tile_kv,
                 thread);
      }
      const int valid = p.kv_len - tile * tile_kv;
      if (valid >= tile_kv) copy_keys<true>(valid, thread);
      else copy_keys<false>(valid, thread);
      ++tile;
      slot = slot == (stages - 1) * stage ? 0 : slot + stage;
      if (table != nullptr) next_page = page_of(p);
      else k += kv_bytes, v += kv_bytes, k_scales += scales, v_scales += scales;
    }
    device::commit_copies();
  }

 private:
  template <bool all_valid>
  __device__ __forceinline__ void copy_keys(int valid, int thread) {
    Tile::template copy<rows, threads, all_valid>(codes_to + slot, k, valid - row);
    Tile::template copy<rows, threads, all_valid>(codes_to + slot + kv_bytes, v, valid - row);
    if constexpr (scale_row > 0) {
#pragma unroll
      for (int pass = 0; pass < (rows + threads - 1) / threads; ++pass) {
        if (rows % threads != 0 && thread + pass * threads >= rows) break;
        const int from = pass * threads * scale_row;
        const bool is_there = all_valid || scale + pass * threads < valid;
        copy_async_few<scale_row>(scales_to + slot + from, k_scales + from, is_there);
        copy_async_few<scale_row>(scales_to + slot + scales + from, v_scales + from, is_there);
      }
    }
  }
};

}  // namespace tilescope::kernels::split_kv
