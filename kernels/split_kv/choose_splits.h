// How many parts the keys are divided into when the caller leaves it open.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "common/family.h"
#include "common/launch.h"
#include "split_kv/split_kv.h"

namespace tilescope::kernels::split_kv {

// The keys are cut into parts of ceil(tiles / splits) whole tiles: how many of them hold any.
inline std::int64_t filled_parts(std::int64_t tiles, std::int64_t splits) {
  return ceil_div(tiles, ceil_div(tiles, splits));
}

// Blocks of a launch that the GPU holds at once.
inline std::int64_t resident_blocks(const Launch& launch) {
  int device = 0, units = 1;
  if (cudaGetDevice(&device) == cudaSuccess) cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device);
  return std::int64_t{std::max(1, units)} * std::max(1, launch.blocks_per_unit);
}

// The number of parts that takes the fewest KV-tile times: waves of resident blocks, each as long as a part's tiles and
// `fill` more, in which a block fills its pipeline. The smallest of equals. `blocks`: of one part, `tiles`: all keys'.
inline std::int64_t choose_splits(std::int64_t blocks, std::int64_t tiles, std::int64_t resident, std::int64_t fill) {
  std::int64_t best = 1, least = 0;
  for (std::int64_t parts = 1; parts <= std::min<std::int64_t>(tiles, max_splits); ++parts) {
    const std::int64_t part_tiles = ceil_div(tiles, parts);
    if (filled_parts(tiles, parts) != parts) continue;
    const std::int64_t time = ceil_div(blocks * parts, resident) * (part_tiles + fill);
    if (parts == 1 || time < least) best = parts, least = time;
  }
  return best;
}

}  // namespace tilescope::kernels::split_kv
