// Time of an island and of all of them. Blocks are placed on the units with the steps that the unit's model gives
// (sm_time.h); memory and L2 set floors; the power limit sets the clock. A profile without measured rates gets the
// slowest resource instead, which is a lower bound.
#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/grid/first_blocks.h"
#include "predict/l2/handed_over.h"
#include "predict/sm/rates.h"
#include "predict/sm/round_waits.h"
#include "predict/time/time_parts.h"

namespace tilescope {
namespace {

// Blocks placed one by one. Where a launch begins depends on the launches before it: where all blocks start at once,
// which of them meet on a unit is the mean over all beginnings.
Placement placed_one_by_one(const BoundIsland& bound, std::int64_t resident, const BlockClocks& clocks) {
  const std::vector<std::int64_t> steps = steps_in_issue_order(bound);
  const std::int64_t units = bound.hardware.units.value, blocks = std::ssize(steps),
                     starts = blocks <= units * resident ? launch_starts(bound.hardware) : 1;
  Placement mean;
  for (std::int64_t start = 0; start < starts; ++start) {
    const Placement placed =
        place_blocks(steps, units, resident, clocks, units_of_first_blocks(bound.hardware, blocks, resident, start));
    mean.clocks += placed.clocks / static_cast<double>(starts), mean.busy += placed.busy / static_cast<double>(starts);
  }
  return mean;
}

double steps_of(const BoundIsland& bound) {
  return static_cast<double>(visited_points(bound.nest, bound.whole, {}, true));
}

// s of the start of a launch's first block: measured with the launch, counted with the block, as every block's.
double first_block_start(const HardwareProfile& hardware) {
  const auto& measured = hardware.measured;
  return measured && measured->launch.block ? measured->launch.block->value : 0;
}

IslandTime island_time(const BoundIsland& bound, const IslandPrediction& island, const Faster& faster = as_it_is,
                       Inputs inputs = Inputs::in_sequence) {
  const std::int64_t blocks = grid_blocks(bound);
  const double steps = std::max(
      1.0, bound.nest.guarded() ? steps_of(bound) : static_cast<double>(checked_mul(blocks, steps_of(bound.nest))));
  const std::int64_t units = bound.hardware.units.value,
                     resident = std::clamp<std::int64_t>(island.blocks_per_unit, 1, most_resident);
  const bool equal = !bound.nest.guarded();
  const bool one_by_one = bound.point.l2 == L2Model::walk && !equal && blocks <= (1 << 20);
  const double mean = steps / static_cast<double>(std::max<std::int64_t>(1, blocks));
  // What comes before the first step of a launch, on the units that hold a block; no less than a block's own steps.
  const auto placed_with = [&](const SmStep& how) {
    Placement placed = one_by_one ? placed_one_by_one(bound, resident, how.clocks)
                                  : place_equal_blocks(blocks, mean, units, resident, how.clocks);
    const double held = placed.clocks > 0 ? placed.busy / placed.clocks : 0;
    placed.clocks = std::max(placed.clocks + how.once, how.clocks.step[0] * mean);
    // Blocks that only wait and move bytes begin together: until their first loads have come, nothing is busy but who
    // starts blocks.
    if (!bound.how.waits.loads.empty()) {
      const double each =
          std::max(mean * std::max(how.demand.memory, how.demand.issue), sm_rates(bound.hardware).block_beside);
      placed.clocks = std::max(placed.clocks, static_cast<double>(ceil_div(blocks, units)) * each + mean * how.latency);
    }
    placed.busy = held * placed.clocks;
    return placed;
  };
  const SmStep step = sm_step(bound, island, steps, faster, inputs);
  const Placement placed = placed_with(step);
  // Counters are taken of an island by itself.
  const bool differs =
      island.read_in_sequence < static_cast<double>(island.traffic[static_cast<std::size_t>(Boundary::hbm)][0]);
  const Placement alone = differs ? placed_with(sm_step(bound, island, steps, faster, Inputs::in_memory)) : placed;
  const auto& seconds = island.resource_seconds;
  const auto at = [&](Resource resource, Lever lever) {
    return std::max(0.0, seconds[static_cast<std::size_t>(resource)]) / faster[static_cast<std::size_t>(lever)];
  };
  LaunchStart start = launch_start(bound, island);
  const double hz = highest_clock(bound.hardware, bound.how);
  if (step.alone > 0) start.cold += step.alone * static_cast<double>(ceil_div(blocks, units * resident)) / hz;
  const double hbm = at(Resource::hbm, Lever::hbm), l2 = at(Resource::l2, Lever::l2);
  // Where memory is what all wait for; blocks that are resident together get their last tiles together.
  const auto& measured = bound.hardware.measured;
  const bool by_memory = hbm * part_in_sequence(island) >= l2 && measured && measured->hbm.ramp;
  const std::int64_t together = std::clamp<std::int64_t>(ceil_div(blocks, units), 1, resident);
  const double last = step.lead + step.clocks.step[static_cast<std::size_t>(together - 1)] + step.trail;
  // Beyond a kernel that only stores, whose first block's start is not the launch's here (launch_seconds).
  const double ramp = by_memory ? measured->hbm.ramp->value + first_block_start(bound.hardware) : 0;
  return {placed.clocks,
          alone.clocks,
          alone.busy,
          std::max(hbm, l2),
          hz,
          start,
          ramp,
          by_memory ? last : 0,
          by_memory && measured->hbm.busy ? measured->hbm.busy->value : 1};
}

// Until an island's first block starts, after the one ahead of it has ended. `passes`: more goes through the L2 from
// run to run than stays there, so what the launch itself needs comes from memory.
double launch_seconds(const HardwareProfile& hardware, const IslandImplementation& how, bool passes) {
  const auto& measured = hardware.measured;
  if (measured && how.early_launch && measured->launch.dependent) return measured->launch.dependent->value;
  const double first = first_block_start(hardware);
  if (measured && passes && measured->launch.interval_from_memory)
    return std::max(0.0, measured->launch.interval_from_memory->value - first);
  if (measured && measured->launch.interval) return std::max(0.0, measured->launch.interval->value - first);
  return hardware.launch_seconds ? hardware.launch_seconds->value : 0;
}

// What the host takes to launch that many kernels, run after run.
double host_seconds(const HardwareProfile& hardware, std::size_t islands) {
  const bool known = hardware.measured && hardware.measured->launch.host_interval;
  return known ? hardware.measured->launch.host_interval->value * static_cast<double>(islands) : 0;
}

constexpr std::size_t most_islands = 16;

// Bytes between memory and L2 in a run.
double all_moved(const Prediction& out) {
  double bytes = 0;
  for (const IslandPrediction& each : out.islands) bytes += moved(each, Boundary::hbm);
  return bytes;
}

// Whether all that the islands move stays in the L2 from run to run.
bool all_stays(const HardwareProfile& hardware, const Prediction& out) {
  return stays_in_l2(hardware, all_moved(out)) && hardware.measured->l2.read_private;
}

// Seconds that an island's bytes take less run after run, where all stays in the L2: those of memory beyond those of
// the L2, and of the first ones' way.
double sooner(const HardwareProfile& hardware, const IslandPrediction& island, const Prediction& out) {
  if (!all_stays(hardware, out)) return 0;
  const double l2 = std::max(0.0, island.resource_seconds[static_cast<std::size_t>(Resource::l2)]);
  return std::max(0.0, island.floor - l2);
}

// Clocks of an island run after run, where all that it loads is in the L2 then; < 0: it is not.
double clocks_again(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number,
                    const Prediction& out, const Faster& faster = as_it_is) {
  if (!all_stays(hardware, out)) return -1;
  return island_time(bind_island(plan, hardware, point, number), out.islands[static_cast<std::size_t>(number)], faster,
                     Inputs::in_l2)
      .clocks;
}

// Adds what blocks and memory wait for each other.
void add_uneven(const Plan& plan, const HardwareProfile& hardware, const Point& point, int number, IslandTime& time,
                Prediction& out) {
  if (point.l2 != L2Model::walk) return;
  IslandPrediction& island = out.islands[static_cast<std::size_t>(number)];
  time.uneven = uneven_time(bind_island(plan, hardware, point, number), island, time.most_hz, all_stays(hardware, out));
  island.seconds = std::max(island.seconds, time.uneven.cold);
  const auto& share = hardware.measured->hbm.busy;  // memory does not serve all units alike
  island.busy_clocks = std::max(island.busy_clocks, time.uneven.busy * (share ? share->value : 1) * time.most_hz);
}

// What 10 % more of each resource would save.
void add_gains(const Plan& plan, const HardwareProfile& hardware, const Point& point, const Energy& energy,
               std::span<const IslandTime> as_they_are, Prediction& out) {
  for (std::size_t lever = 0; lever < lever_count; ++lever) {
    Faster faster = as_it_is;
    faster[lever] = 1.1;
    std::array<IslandTime, most_islands> times{};
    for (std::size_t i = 0; i < out.islands.size(); ++i) {
      const IslandPrediction& island = out.islands[i];
      times[i] = island_time(bind_island(plan, hardware, point, static_cast<int>(i)), island, faster);
      times[i].floor *= part_in_sequence(island), times[i].sooner = sooner(hardware, island, out);
      times[i].again = clocks_again(plan, hardware, point, static_cast<int>(i), out, faster);
      times[i].uneven = as_they_are[i].uneven;
    }
    const std::span<const IslandTime> all{times.data(), out.islands.size()};
    double seconds = out.time.launch;
    const double hz =
        sustained_clock(hardware, all, energy, out.time.launch, faster[static_cast<std::size_t>(Lever::power)]).hz;
    for (const IslandTime& time : all) seconds += time.seconds(hz);
    out.time.gain[lever] = std::max(0.0, 1 - seconds / out.time.total);
  }
}

// s at memory and L2 when islands run in sequence.
double floor_in_sequence(const BoundIsland& bound, const IslandPrediction& island, const Prediction& out, double read) {
  const double written = static_cast<double>(island.traffic[static_cast<std::size_t>(Boundary::hbm)][1]);
  return std::max({0.0, island.resource_seconds[static_cast<std::size_t>(Resource::l2)],
                   read + written > 0 ? hbm_seconds(bound.hardware, read, written) + off_line_seconds(bound, out) : 0});
}

}  // namespace

void add_time(const BoundIsland& bound, Prediction& out) {
  IslandPrediction& island = out.islands[static_cast<std::size_t>(bound.number)];
  island.resource_seconds = resource_seconds(bound, island, out);
  const auto slowest = std::max_element(island.resource_seconds.begin(), island.resource_seconds.end());
  island.seconds = std::max(0.0, *slowest);
  island.bound_by = static_cast<Resource>(slowest - island.resource_seconds.begin());
  for (std::size_t i = 0; i < resource_count; ++i) {
    double& total = out.time.seconds[i];
    total = total < 0 || island.resource_seconds[i] < 0 ? -1 : total + island.resource_seconds[i];
  }
  if (missing_sm_rate(bound, island)) return;
  const double read = static_cast<double>(island.traffic[static_cast<std::size_t>(Boundary::hbm)][0]),
               kept = handed_over(bound, out);
  island.floor = floor_in_sequence(bound, island, out, read - kept);
  // Where all blocks run at once, the last to end are those whose inputs are gone: they wait for memory every time.
  const bool gone = grid_blocks(bound) <= places(bound, island) && kept < written_earlier(bound, out);
  island.read_in_sequence = gone ? read : read - kept;
  island.round_waits = round_waits(bound, out, gone);
  const IslandTime time = island_time(bound, island);
  island.sm_clocks = time.clocks, island.busy_clocks = time.busy_cycles();
  island.start = time.start.again, island.seconds = time.cold_seconds(time.most_hz);
  island.ramp = time.ramp, island.last_clocks = time.last;
  island.first_start = bound.how.waits.loads.empty() ? time.start.cold : time.start.again;
}

void finish_time(const Plan& plan, const HardwareProfile& hardware, const Point& point, Prediction& out) {
  TimePrediction& time = out.time;
  time.bound_by =
      static_cast<Resource>(std::max_element(time.seconds.begin(), time.seconds.end()) - time.seconds.begin());
  time.clock_hz = hardware.boost_hz ? hardware.boost_hz->value : 0;
  const KernelVariant* variant = selected_variant(plan, point);
  time.spills = variant && variant->spills;
  time.spills_traffic = time.spills && variant->local.frame > 0;
  time.spills_time = time.spills_traffic && hardware.measured && hardware.measured->local.store_one_warp;
  double seconds = 0;
  for (const IslandPrediction& island : out.islands) seconds += island.seconds;
  time.modelled = out.islands.size() <= most_islands &&
                  std::all_of(out.islands.begin(), out.islands.end(),
                              [](const IslandPrediction& island) { return island.sm_clocks > 0; });
  time.total = time.cold = seconds, time.sm_cycles = seconds * time.clock_hz;
  if (!time.modelled) return;
  std::array<IslandTime, most_islands> times{};
  Energy energy;
  time.sm_cycles = time.cold = 0;
  for (std::size_t i = 0; i < out.islands.size(); ++i) {
    const IslandPrediction& island = out.islands[i];
    times[i] = {island.sm_clocks,
                island.sm_clocks,
                island.busy_clocks,
                island.floor,
                highest_clock(hardware, plan.kernel.islands[i]),
                {.cold = island.first_start, .again = island.start},
                island.ramp,
                island.last_clocks,
                1,
                sooner(hardware, island, out),
                clocks_again(plan, hardware, point, static_cast<int>(i), out)};
    add_uneven(plan, hardware, point, static_cast<int>(i), times[i], out);
    const Energy own = island_energy(hardware, plan.kernel.islands[i], island);
    energy.memory += own.memory, energy.tensor += own.tensor, energy.others += own.others;
    time.sm_cycles += island.seconds * times[i].most_hz, time.busy_cycles += island.busy_clocks;
  }
  const std::span<const IslandTime> all{times.data(), out.islands.size()};
  const bool passes = !stays_in_l2(hardware, all_moved(out));
  for (std::size_t i = 0; i < all.size(); ++i)
    time.launch += launch_seconds(hardware, plan.kernel.islands[i], passes),
        time.cold += times[i].cold_seconds(times[i].most_hz);
  const ClockAndPower sustained = sustained_clock(hardware, all, energy, time.launch);
  time.clock_hz = sustained.hz, time.watts = sustained.watts;
  time.cold += time.launch, time.total = time.launch;
  for (const IslandTime& each : all) time.total += each.seconds(sustained.hz);
  time.total = std::max(time.total, host_seconds(hardware, all.size()));
  if (point.l2 == L2Model::walk) add_gains(plan, hardware, point, energy, all, out);
}

}  // namespace tilescope
