#include "predict/time/launch_time.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/l2/memory_seconds.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/time/launch_gaps.h"

namespace tilescope {

double LaunchTime::streamed() const { return memory_seconds > 0 ? memory_seconds + ramp_seconds : 0; }

double LaunchTime::seconds(double hz) const {
  const double bytes = std::max(0.0, streamed() - warm_saving);
  const double own = (warm_clocks >= 0 ? warm_clocks : clocks) / std::min(hz, highest_hz) + start.warm;
  return std::max({bytes, own, memory_wait.warm + memory_wait.clocks / std::min(hz, highest_hz)});
}

double LaunchTime::cold_seconds(double hz) const {
  return std::max({streamed(), clocks / std::min(hz, highest_hz) + start.cold, memory_wait.cold});
}

double LaunchTime::cold_busy_clocks() const {
  return std::max(busy_clocks + held * start.cold * memory_hz, held * busy_share * streamed() * memory_hz);
}

double total_seconds(std::span<const LaunchTime> launches, double hz, double gaps) {
  double seconds = gaps;
  for (const LaunchTime& each : launches) seconds += each.seconds(hz);
  return seconds;
}

LaunchTime launch_time(const LaunchAtSm& launch, const SmStep& step, const Placement& placed) {
  const BoundIsland& bound = launch.bound;
  LaunchTime time{.clocks = placed.clocks,
                  .busy_clocks = placed.busy,
                  .highest_hz = launch.highest_hz,
                  .memory_hz = launch.memory_hz};
  // One wave: all SMs with a block wait from the start. Several waves: the idle share in the tail is that without waits
  // for memory.
  const std::int64_t blocks = grid_blocks(bound), units = bound.hardware.units.value;
  const bool one_wave = blocks <= units * launch.resident();
  time.held = one_wave          ? std::min(1.0, static_cast<double>(blocks) / static_cast<double>(units))
              : time.clocks > 0 ? time.busy_clocks / time.clocks
                                : 0;
  if (at_work(bound, Mechanism::first_tiles)) {
    const std::int64_t most = std::min(launch.resident(), ceil_div(blocks, units));
    const double step_clocks = step.work[static_cast<std::size_t>(std::max<std::int64_t>(1, most) - 1)];
    time.start = first_tiles(launch, step_clocks / launch.highest_hz);
  }
  if (step.cold_extra > 0) {
    const std::int64_t waves = ceil_div(blocks, units * launch.resident());
    time.start.cold += step.cold_extra * static_cast<double>(waves) / launch.highest_hz;
  }
  const double hbm = std::max(0.0, launch.memory.hbm) / launch.faster_by(Lever::hbm),
               l2 = std::max({0.0, launch.memory.last_level, launch.memory.l2 / launch.faster_by(Lever::l2)});
  time.memory_seconds = std::max(hbm, l2);
  // The ramp: time until memory reaches its full rate. It was measured relative to a kernel that only stores, so the
  // first block's start is added here; launch_gaps.h subtracts it.
  const auto& measured = bound.hardware.measured;
  const bool known = measured && measured->hbm.ramp;
  const double ramp =
      known && at_work(bound, Mechanism::ramp) ? measured->hbm.ramp->value + first_block_start(bound.hardware) : 0;
  if (!known || hbm + ramp < l2) return time;
  time.ramp_seconds = hbm + ramp - time.memory_seconds;
  if (measured->hbm.busy && at_work(bound, Mechanism::busy_share)) time.busy_share = measured->hbm.busy->value;
  return time;
}

LaunchTime time_in_sequence(const LaunchAtSm& launch, const LaunchTime& by_itself, double gone) {
  LaunchTime time = by_itself;
  if (waits_for_loads(launch.bound)) time.start.cold = time.start.warm;
  const auto& measured = launch.bound.hardware.measured;
  const bool may_stay = at_work(launch.bound, Mechanism::stays_in_l2) && measured && measured->l2.read_private;
  if (!may_stay) gone = 1;
  time.from_memory = gone;
  time.start.warm = std::max(time.start.warm, gone * time.start.cold);
  if (gone >= 1) return time;
  // Bytes of memory beyond those of the L2, and the first ones' way.
  time.warm_saving = launch.memory.slowest() - launch.memory.run_after_run(gone);
  time.warm_clocks = gone * time.clocks + (1 - gone) * placed_blocks(launch, sm_clocks(launch, Inputs::in_l2)).clocks;
  return time;
}

}  // namespace tilescope
