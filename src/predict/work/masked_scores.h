// Scores that a mask compares.
#pragma once

#include "predict/point/bound_island.h"

namespace tilescope {

// Elements of the tiles of scores that the mask cuts; whole tiles, and no more than are visited.
double masked_scores(const BoundIsland& bound, double score_points);

}  // namespace tilescope
