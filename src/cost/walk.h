// The slow obvious way: run the loop nest tile by tile with one resident tile per array and count what moves. Shares
// nothing with the transfer rule but the nest, so that the two can be set against each other.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/nest.h"

namespace tilescope {

struct ArrayWalk {
  std::int64_t loaded = 0;            // values loaded as an input: every tile change
  std::int64_t stored = 0;            // values stored as an accumulator: every tile left
  std::int64_t loaded_back = 0;       // values loaded when an accumulator tile is entered again
  std::int64_t loaded_each_step = 0;  // values loaded when the tile is not kept from step to step
  std::int64_t loaded_whole = 0;      // `loaded` with partial tiles counted as full ones
};

struct Walk {
  std::vector<ArrayWalk> arrays;                   // by ArrayId
  std::int64_t steps = 0;                          // visited tiles
  std::vector<std::int64_t> points, points_whole;  // by operator: points of all steps, clipped and with whole tiles
  std::vector<ArrayWalk> computed;  // by operator: its points as an array with all of its axes, computed when entered
};

// Every step's tiles are enumerated and, under a mask, tested element by element. Time grows with the product of all
// extents: keep them small.
Walk walk(const Schedule& schedule, const Island& island, const Nest& nest);

}  // namespace tilescope
