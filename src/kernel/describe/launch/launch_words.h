// Which integers of a launch a reading of it explains.
#pragma once

#include <vector>

#include "kernel/describe/launch/launch_reading.h"

namespace tilescope {

struct ReadMask {
  enum class Kind { none, causal, window };
  Kind kind = Kind::none;
  std::int64_t window = 0;
  bool from_end = false;    // the last query sees the last key; else the first query sees the first key alone
  bool whole_rows = false;  // a tile's last row counts even where it is none
};

struct SizeReading {
  GridReading grid;
  ReadStrides strides;
  ReadMask mask;
  std::int64_t q_len = 0, kv_len = 0;
  std::int64_t packed = 1;  // heads whose rows share a tile, one after the other
  int explained = 0;        // integers of the launch

  std::int64_t heads_q() const { return grid.size(GridAxis::heads) * packed; }
  std::int64_t heads_kv() const { return grid.size(GridAxis::heads) / grid.group; }
};

// Lengths that the launch names, ascending; of a launch that names none, numbers with which the code compares.
std::vector<std::int64_t> candidate_lengths(const LaunchEvidence& evidence);

// Whether integers among the parameters may be lengths: kernels compiled for one size have none.
bool names_lengths(const LaunchEvidence& evidence);

// Whether rows, heads and entries of an array do not overlap, and whole rows hold a head.
bool possible(const SizeReading& size, const TileSizes& tile, std::int64_t key_step);

// Whether a parameter is the stride of the reading's entries, in elements or bytes.
bool names_entries(const SizeReading& size, const TileSizes& tile, const LaunchEvidence& evidence);

// Number of integers among the parameters that are sizes or strides of the reading, and of strides without a gap.
int explained(const SizeReading& size, const TileSizes& tile, std::int64_t key_step, const LaunchEvidence& evidence);

}  // namespace tilescope
