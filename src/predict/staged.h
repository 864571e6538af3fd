// What tests of single stages share: of every launch of a point, the results of the stages before the multiprocessor's.
#pragma once

#include <memory>
#include <vector>

#include "predict/sm/launch_at_sm.h"

namespace tilescope {

struct Staged {
  std::unique_ptr<const Point> point;
  std::pmr::vector<BoundIsland> bound;
  std::vector<LaunchCounts> counts;
  std::vector<LaunchAtSm> launches;
};

// The plan and the profile are to outlive the result.
inline Staged staged(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  auto own_point = std::make_unique<const Point>(point);
  auto bound_islands = bind_islands(plan, hardware, *own_point);
  Staged stages{.point = std::move(own_point), .bound = std::move(bound_islands), .counts = {}, .launches = {}};
  for (const BoundIsland& bound : stages.bound) {
    const TileCounts tiles = tile_counts(bound);
    stages.counts.push_back(launch_counts(tiles, memory_traffic(bound, tiles, walked_blocks(bound, tiles))));
  }
  for (std::size_t i = 0; i < stages.bound.size(); ++i) {
    stages.launches.push_back(launch_at_sm(stages.bound[i], stages.counts[i]));
  }
  return stages;
}

}  // namespace tilescope
