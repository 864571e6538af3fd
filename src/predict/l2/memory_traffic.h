// What reaches memory: terms between L2 and DRAM, by a walk of all blocks through the cache or by a closed form.
#pragma once

#include <optional>

#include "predict/l2/walk/walk.h"
#include "predict/traffic/counts.h"

namespace tilescope {

struct MemoryTraffic {
  Terms terms;
  bool walked = false;  // blocks went through the cache one by one; else the closed form answered
};
// Of a launch whose blocks have gone through the cache, or `walk` is empty.
MemoryTraffic memory_traffic(const BoundIsland& bound, const TileCounts& tiles, const std::optional<L2Walk>& walk,
                             std::pmr::memory_resource* memory = std::pmr::get_default_resource());

// The least of any walk: everything from memory once and to memory once, nothing spilled.
MemoryTraffic least_memory_traffic(const BoundIsland& bound,
                                   std::pmr::memory_resource* memory = std::pmr::get_default_resource());

// The walk of a launch's blocks; empty where the closed form is to answer.
std::optional<L2Walk> walked_blocks(const BoundIsland& bound, const TileCounts& tiles);

// Bytes of a block mask's pattern that the kernel reads; 0: none.
std::int64_t mask_bytes(const IslandImplementation& how, const Point& point);

}  // namespace tilescope
