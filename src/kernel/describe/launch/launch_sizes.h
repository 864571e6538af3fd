// Sizes, mask and order of blocks of a launch, from what the launch shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagram/workload.h"
#include "kernel/describe/launch/launch_evidence.h"

namespace tilescope {

// What the code says of a block's work.
struct TileSizes {
  std::int64_t tile_q = 0, tile_kv = 0, head_dim = 0, v_head_dim = 0, element_bytes = 2;
  std::int64_t stages = 0;  // tiles of keys in shared memory; 0: not known
};

struct LaunchSizes {
  std::optional<std::int64_t> batch, heads_q, heads_kv, q_len, kv_len, splits;
  std::string mask;                  // "causal", "window:256"; empty: not known
  std::string order;                 // of blocks, fastest first: "q, heads, batch"; empty: not known
  std::string layout;                // of the arrays: "batch, length, heads, dim"; empty: dense rows, or not known
  std::int64_t readings = 0;         // of the launch that fit it equally well
  std::vector<std::string> unknown;  // "heads_kv: 2 or 4: ...": what is ambiguous, or why nothing fits
  bool folded = false;               // entries and heads are one index that the launch does not divide: batch is 1
  bool falling = false;              // keys are read from the last to the first
  bool q_falling = false;            // the first block of a head takes its last tile
  bool own_last_tile = false;        // warpgroups of a block end at tiles of keys of their own
};

// Reads the launch in every way in which its grid, the bytes that its blocks read and the integers among its parameters
// agree with attention. What all readings have in common is found; the rest is in `unknown`, with the candidates.
// `known`: the sizes, where somebody states them.
LaunchSizes launch_sizes(const LaunchEvidence& evidence, const TileSizes& tile,
                         const std::optional<Workload>& known = {});

}  // namespace tilescope
