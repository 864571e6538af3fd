// Spilled registers: local memory that threads store to and load from in every step. Stores go through L1 to the L2 at
// once (counted on an H200: every byte); loads find in L1 what it has kept.
#pragma once

#include "predict/point/footprint.h"
#include "predict/prediction.h"

namespace tilescope {

struct SpilledBytes {
  LocalTraffic local;
  double at_once = 0;      // bytes of the frames of all blocks that run at once
  double overwritten = 0;  // bytes that steps store to places that hold an earlier step's values
};
SpilledBytes spills_of(const BoundIsland& bound, const Footprint& footprint, const Occupancy& occupancy);

}  // namespace tilescope
