// Which KV tiles a block visits, as a list of bits in shared memory: one code path for a block mask, a sliding window,
// a causal mask and none.
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

// KV tiles up to the last one that a row up to last_row may see; not positive: none.
template <int tile_kv>
__device__ __forceinline__ int end_of_tiles(const ForwardParams& p, int last_row) {
  return (last_visible_key(p, last_row) + tile_kv) / tile_kv;
}

// All threads of the block write the list of the tiles that rows [first_row, last_row] see, and behind it a word of
// ones. Row `mask_row` of the block mask is read once, a byte a lane: its bytes, out to whole sectors, are the mask's
// traffic.
template <int tile_kv, int warps>
__device__ __forceinline__ void list_live_tiles(const ForwardParams& p, std::uint32_t* list, int first_row,
                                                int last_row, std::uint32_t mask_row) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int end = end_of_tiles<tile_kv>(p, last_row), words = end <= 0 ? 0 : (end + 31) / 32;
  const int begin = max(0, first_visible_key(p, first_row)) / tile_kv;
  const std::uint8_t* row = p.block_mask + static_cast<std::int64_t>(mask_row) * p.mask_columns;
#pragma unroll 4
  for (int word = static_cast<int>(threadIdx.x) / 32; word < words; word += warps) {
    const int tile = word * 32 + lane;
    bool live = tile >= begin && tile < end;
    if (live && p.block_mask != nullptr) live = __ldg(row + divide(static_cast<std::uint32_t>(tile), p.kv_tiles)) != 0;
    const std::uint32_t bits = __ballot_sync(0xffffffffu, live);
    if (lane == 0) list[word] = bits;
  }
  if (threadIdx.x == 0) list[words] = 0xffffffffu;
}

// The first live tile from `tile` on; end_of_tiles or more when there is none. Keeps nothing between calls: registers
// are scarce in the loop that calls it.
__device__ __forceinline__ int next_live_tile(const std::uint32_t* list, int tile) {
  int word = tile / 32;
  std::uint32_t rest = list[word] & (0xffffffffu << (tile & 31));
  while (rest == 0) rest = list[++word];
  return word * 32 + __ffs(static_cast<int>(rest)) - 1;
}

}  // namespace tilescope::kernels::block_sparse
