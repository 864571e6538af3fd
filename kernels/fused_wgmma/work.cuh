// Which query tile a block computes next. Shared by the persistent Hopper kernels (fused_wgmma, fused_fp8).
#pragma once

#include "fused_wgmma/forward.h"

namespace tilescope::kernels::fused_wgmma {

// Per launch in flight: number of tiles requested after each block's first tile. Zero between launches.
static __device__ unsigned claimed[claim_slots];

// Index of the block's next tile; `tiles` or more: none is left. All blocks of a launch together make exactly `tiles`
// requests, and the last request resets the counter.
__device__ __forceinline__ int claim(const ForwardParams& p) {
  const unsigned asked = atomicAdd(claimed + p.claim_slot, 1u);
  if (asked == static_cast<unsigned>(p.tiles) - 1) claimed[p.claim_slot] = 0;
  return static_cast<int>(asked + gridDim.x);
}

// A query tile and the KV tiles [first, last) that some row of it sees.
struct Work {
  int row, head, kv_head, first, last;
};

// The query tile at position `index` of the launch's order. Heads are grouped into sections that run one after the
// other. Within a section, tiles are sorted by descending query position (with a causal mask: longest tile first), then
// by head. Without a mask a section is one head. A smaller last section runs first, so that the sections at the end of
// the launch have enough tiles to occupy all SMs.
template <int tile_q, int tile_kv>
__device__ __forceinline__ Work work_at(const ForwardParams& p, int index) {
  const auto tiles = static_cast<std::uint32_t>(p.tiles);
  std::uint32_t place = static_cast<std::uint32_t>(index) + static_cast<std::uint32_t>(p.first_tile);
  if (place >= tiles) place -= tiles;
  const auto section = divide(place, p.section_tiles);
  const std::uint32_t in_section = place - section * p.section_tiles.value;
  const int first_head = static_cast<int>(section) * p.section_heads;
  const Divisor& heads = first_head == p.last_section_first ? p.last_section : p.section;
  const auto from_end = divide(in_section, heads);
  Work work;
  work.row = (p.tiles_q - 1 - static_cast<int>(from_end)) * tile_q;
  work.head = first_head + static_cast<int>(in_section - from_end * heads.value);
  work.kv_head = static_cast<int>(divide(static_cast<std::uint32_t>(work.head), p.group));
  const int shift = p.kv_len - p.q_len, last_row = min(work.row + tile_q, p.q_len) - 1;
  const int last_key = p.causal ? min(p.kv_len - 1, last_row + shift) : p.kv_len - 1;
  work.last = (last_key + tile_kv) / tile_kv;
  work.first = p.window > 0 ? max(0, work.row + shift - p.window + 1) / tile_kv : 0;
  return work;
}

}  // namespace tilescope::kernels::fused_wgmma
