#include "predict/sm/launch_at_sm.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/point/order/issue_order.h"

namespace tilescope {

double readers_at_once(const BoundIsland& bound, const LaunchCounts& counts, ArrayId id) {
  const Nest nest = in_issue_order(bound);
  const auto& axes = bound.plan.schedule.diagram.array(id).axes;
  std::int64_t at_once = std::min(grid_blocks(bound), resident_blocks(bound, counts.occupancy));
  double same = 1;
  for (std::size_t i = nest.loop_count; i-- > 0 && at_once > 1;) {
    const BoundLoop& loop = nest.loops[i];
    if (!loop.group) continue;
    if (!nest.carries(axes, loop.axis)) same *= static_cast<double>(std::min(at_once, loop.trips));
    at_once = ceil_div(at_once, loop.trips);
  }
  return same;
}

std::array<RoundWaits, 2> round_waits(const BoundIsland& bound, const LaunchCounts& counts) {
  std::array<RoundWaits, 2> all{};
  if (!works_in_rounds(bound)) return all;
  std::vector<ArrayId> operands;
  for (const int number : bound.island.operators) {
    const Operator& op = bound.plan.schedule.diagram.operators[static_cast<std::size_t>(number)];
    if (op.kind != OperatorKind::contraction) continue;
    for (const ArrayId id : op.inputs)
      if (loads(bound, id)) operands.push_back(id);
  }
  // The code does not tell which operand a wait is for.
  const double times = of_step(bound, CodeCount::load_waits) / static_cast<double>(operands.size());
  for (const ArrayId id : operands) {
    const auto read = static_cast<double>(touched_bytes(bound, id, {}));
    const double readers = readers_at_once(bound, counts, id), missed = read_from(Boundary::hbm, counts, id);
    const bool produced = from_earlier_launch(bound, id);
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
  if (!at_work(bound, Mechanism::oldest_first)) launch.rates.oldest_first = 0;
  return launch;
}

bool missing_sm_rate(const LaunchAtSm& launch) {
  bool missing = missing_sm_rate(launch.bound.hardware);
  for_each_format(launch.counts.work, [&](Format format, double) {
    missing = missing || tensor_flop_per_clock(launch.bound.hardware, launch.bound.how, format) < 0;
  });
  return missing;
}

}  // namespace tilescope
