// Spilled registers: local memory that threads store to and load from in every step. Stores go through L1 to the L2 at
// once (counted on an H200: every byte); loads find in L1 what it has kept.
#pragma once

#include <array>

#include "predict/point/footprint.h"
#include "predict/prediction.h"

namespace tilescope {

struct SpillTraffic {
  LocalTraffic local;
  std::int64_t block_frame = 0;  // bytes of a block's frame
  double at_once = 0;            // bytes of the frames of all blocks that run at once
  // Parts of the bytes stored and loaded, by how much of the frame was stored to since their place was: element i for
  // up to (i + 1) / local_ages of it.
  std::array<double, local_ages> stored_after{}, loaded_after{};
};
// Bytes of a block's frame in local memory; 0: nothing is spilled, or it is not known how much.
double block_frame_bytes(const BoundIsland& bound);
SpillTraffic spills_of(const BoundIsland& bound, const Footprint& footprint, const Occupancy& occupancy);

}  // namespace tilescope
