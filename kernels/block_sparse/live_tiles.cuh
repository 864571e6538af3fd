// The list of KV tiles that a block visits, in shared memory. One code path serves block masks, sliding windows, causal
// masks and no mask.
#pragma once

#include "block_sparse/forward.h"

namespace tilescope::kernels::block_sparse {

__device__ __forceinline__ int last_visible_key(const ForwardParams& p, int row) {
  return p.causal ? min(p.kv_len - 1, row + p.kv_len - p.q_len) : p.kv_len - 1;
}
// At or below 0 where no key is hidden.
__device__ __forceinline__ int first_visible_key(const ForwardParams& p, int row) {
  return row + p.kv_len - p.q_len - p.window + 1;
}

// Number of KV tiles up to the last one visible to rows up to last_row; zero or negative: none.
template <int tile_kv>
__device__ __forceinline__ int end_of_tiles(const ForwardParams& p, int last_row) {
  return (last_visible_key(p, last_row) + tile_kv) / tile_kv;
}

constexpr int another_group = 128;

// Position of the lowest set bit. In ALU instructions only: __ffs would go through the
// special-function unit, whose counter is compared with the exponentials.
__device__ __forceinline__ int lowest_bit(std::uint32_t bits) {
  const std::uint32_t lowest = bits & (0u - bits);
  int at = (lowest & 0xaaaaaaaau) != 0 ? 1 : 0;
  if ((lowest & 0xccccccccu) != 0) at += 2;
  if ((lowest & 0xf0f0f0f0u) != 0) at += 4;
  if ((lowest & 0xff00ff00u) != 0) at += 8;
  if ((lowest & 0xffff0000u) != 0) at += 16;
  return at;
}

// All threads of the block write the list of tiles visible to rows [first_row, last_row]. Tiles are grouped by 32.
// list[tile] is the distance from `tile` to the first live tile of its group at or after it (0: the tile itself
// is live). If the group has no such tile, it is the distance to the next group, with bit 7 set. The entry after the
// last group is marked live and ends the list. Row `mask_row` of the block mask is read once, one byte per lane: its
// bytes, rounded out to whole sectors, are the mask's traffic.
template <int tile_kv, int warps>
__device__ __forceinline__ void list_live_tiles(const ForwardParams& p, std::uint8_t* list, int first_row, int last_row,
                                                std::uint32_t mask_row) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int end = end_of_tiles<tile_kv>(p, last_row), groups = end <= 0 ? 0 : (end + 31) / 32;
  const int begin = max(0, first_visible_key(p, first_row)) / tile_kv;
  const std::uint8_t* row = p.block_mask + static_cast<std::int64_t>(mask_row) * p.mask_columns;
#pragma unroll 4
  for (int group = static_cast<int>(threadIdx.x) / 32; group < groups; group += warps) {
    const int tile = group * 32 + lane;
    bool live = tile >= begin && tile < end;
    if (live && p.block_mask != nullptr) live = __ldg(row + divide(static_cast<std::uint32_t>(tile), p.kv_tiles)) != 0;
    const std::uint32_t bits = __ballot_sync(0xffffffffu, live);
    const std::uint32_t ahead = bits >> lane;
    list[tile] = static_cast<std::uint8_t>(ahead != 0 ? lowest_bit(ahead) : (32 - lane) | another_group);
  }
  if (threadIdx.x == 0) list[groups * 32] = 0;
}

// The first live tile from `tile` on; end_of_tiles or more when there is none. `list`: shared address.
__device__ __forceinline__ int next_live_tile(std::uint32_t list, int tile) {
  int distance;
  do {
    asm volatile("ld.shared.u8 %0, [%1];\n" : "=r"(distance) : "r"(list + tile) : "memory");
    tile += distance & (another_group - 1);
  } while (distance & another_group);
  return tile;
}

}  // namespace tilescope::kernels::block_sparse
