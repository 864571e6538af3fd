// The tile of a block: how its warps share the rows and keys of a step, and how many steps lie in shared memory.
#pragma once

#include "kernel/describe/description.h"

namespace tilescope {

struct BlockTile {
  std::int64_t tile_q = 0, tile_kv = 0;        // 0: not found
  std::int64_t warps = 0, consumer_warps = 0;  // of a block; those that run the loop
  std::int64_t along_keys = 1;                 // units that share the keys of a step
  std::int64_t along_columns = 1;              // units that share the columns of the values, and have all their scores
  std::int64_t stages = 0, extra_smem = 0;     // 0: not found; bytes beside Q and the stages
  std::int64_t gradient_tiles = 0;             // of dS
  std::int64_t q_stages = 0;                   // of a loop over queries: tiles of Q beside one of O
  std::int64_t key_bits = 0, scale_bytes = 0;  // of quantised K and V; 0: they are not
  bool values_in_keys = false;                 // V is columns of K's tile
  bool q_every_step = false;                   // a step copies Q too
};

// Adds what it cannot find to `missing`.
BlockTile block_tile(AttentionFacts facts, const KernelLaunch& launch, std::vector<MissingValue>& missing);

}  // namespace tilescope
