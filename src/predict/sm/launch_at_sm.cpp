#include "predict/sm/launch_at_sm.h"

#include <algorithm>
#include <array>
#include <limits>

#include "predict/grid/block_order.h"
#include "predict/point/mechanisms.h"

namespace tilescope {
namespace {

// Of the blocks that start first, as many as run at once: how many of them read the same tile of an array.
double readers_at_once(const BoundIsland& bound, const LaunchCounts& counts, ArrayId id) {
  const auto& axes = bound.plan.schedule.diagram.array(id).axes;
  const BlockOrder order(bound);
  const std::int64_t together = std::min(order.size(), resident_blocks(bound, counts.occupancy));
  std::array<std::int64_t, max_loops> least, most;
  least.fill(std::numeric_limits<std::int64_t>::max()), most.fill(-1);
  for (std::int64_t number = 0; number < together; ++number) {
    const BlockPlace place = order.at(number);
    for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
      least[i] = std::min(least[i], place[i]), most[i] = std::max(most[i], place[i]);
  }
  double tiles = 1;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
    if (bound.nest.loops[i].group && bound.nest.carries(axes, bound.nest.loops[i].axis))
      tiles *= static_cast<double>(most[i] - least[i] + 1);
  return std::max(1.0, static_cast<double>(together) / tiles);
}

}  // namespace

std::array<RoundWaits, 2> round_waits(const BoundIsland& bound, const LaunchCounts& counts) {
  std::array<RoundWaits, 2> all{};
  for (const RoundLoads& loads : bound.how.rounds.loads) {
    const auto id = bound.plan.schedule.diagram.find_array(loads.array);
    if (!id) continue;
    const auto times = static_cast<double>(number_for(bound, loads.times)),
               read = static_cast<double>(touched_bytes(bound, *id, {}));
    const double readers = readers_at_once(bound, counts, *id), missed = read_from(Boundary::hbm, counts, *id);
    const bool produced = from_earlier_launch(bound, *id);
    for (const Inputs inputs : {Inputs::in_memory, Inputs::in_l2}) {
      RoundWaits& waits = all[static_cast<std::size_t>(inputs)];
      const double memory =
          inputs == Inputs::in_memory && read > 0 ? times * std::min(1.0, missed * readers / read) : 0;
      waits.memory += memory, (produced ? waits.far : waits.near) += times - memory;
    }
  }
  return all;
}

LaunchAtSm launch_at_sm(const BoundIsland& bound, const LaunchCounts& counts, double clock_hz) {
  LaunchAtSm launch{.bound = bound,
                    .counts = counts,
                    .memory = memory_time(bound, counts),
                    .rates = SmRates(bound.hardware),
                    .highest_hz = highest_clock(bound.hardware, bound.how),
                    .round_waits = round_waits(bound, counts)};
  if (clock_hz > 0) launch.memory_hz = std::min(launch.highest_hz, clock_hz);
  SmRates& rates = launch.rates;
  if (!at_work(bound, Mechanism::oldest_first)) rates.oldest_first = 0;
  return launch;
}

bool missing_sm_rate(const LaunchAtSm& launch) {
  bool missing = missing_sm_rate(launch.bound.hardware) != nullptr;
  for_each_format(launch.counts.work, [&](Format format, double) {
    missing = missing || tensor_flop_per_clock(launch.bound.hardware, launch.bound.how, format) < 0;
  });
  return missing;
}

}  // namespace tilescope
