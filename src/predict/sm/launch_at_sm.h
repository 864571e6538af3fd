// Inputs of the SM stage: launch, rates, resident blocks and clocks.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "predict/grid/placement.h"
#include "predict/l2/memory_time.h"
#include "predict/sm/asked_steps.h"
#include "predict/sm/rates.h"

namespace tilescope {

// Where a launch finds what it loads: in memory, what the L2 does not keep within the launch; or all of it in the L2,
// run after run of what that has room for.
enum class Inputs { in_memory, in_l2 };

// Waits for loads in a round of products of threads, by where the last line comes from: the L2's partition of the unit
// or the other one, memory.
struct RoundWaits {
  double near = 0, far = 0, memory = 0;
};

using Faster = std::array<double, lever_count>;  // by Lever: factors of each rate; latencies are divided by theirs
inline constexpr Faster as_it_is{1, 1, 1, 1, 1, 1, 1, 1, 1};

// What placing a launch's blocks one by one has worked out: their steps in issue order, and placements by the clocks of
// a block, most of which a faster memory or clock does not change.
struct PlacedBefore {
  std::vector<std::int64_t> steps{};
  std::vector<std::pair<BlockClocks, Placement>> placements{};
};

struct LaunchAtSm {
  const BoundIsland& bound;
  const LaunchCounts& counts;
  MemoryTime memory;
  SmRates rates;
  double highest_hz = 0;                    // 0: not known
  double memory_hz = highest_hz;            // the clock at which seconds of memory and L2 are counted in clocks
  std::array<RoundWaits, 2> round_waits{};  // by Inputs
  Faster faster = as_it_is;
  mutable PlacedBefore placed{};  // a launch is worked on by one thread
  mutable AskedSteps asked{};

  double faster_by(Lever lever) const { return faster[static_cast<std::size_t>(lever)]; }
  std::int64_t resident() const {  // blocks that a unit holds at once
    return std::clamp<std::int64_t>(counts.occupancy.blocks_per_unit, 1, most_resident);
  }
};
// `clock_hz`: the SM clock at the power limit; 0: not limited.
LaunchAtSm launch_at_sm(const BoundIsland& bound, const LaunchCounts& counts, double clock_hz = 0);

// Whether the profile lacks a rate that the launch's clocks need.
bool missing_sm_rate(const LaunchAtSm& launch);

// Of the blocks that run at once, as many as read the same tile of an array.
double readers_at_once(const BoundIsland& bound, const LaunchCounts& counts, ArrayId id);

// Products of threads: waits of a block in the rounds in which it stages their operands, by Inputs. A miss on a line
// that is already in flight costs the full memory latency. Data that an earlier launch wrote is in one partition of the
// L2, so a block's warps wait for the far one; inputs that were read before are in both.
std::array<RoundWaits, 2> round_waits(const BoundIsland& bound, const LaunchCounts& counts);

}  // namespace tilescope
