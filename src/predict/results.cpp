#include "predict/results.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/point/memory_footprint.h"

namespace tilescope {
namespace {

void add_traffic_sums(Prediction& out) {
  for (const IslandPrediction& island : out.islands) {
    for (const LevelId level : counted_levels)
      for (std::size_t d = 0; d < 2; ++d)
        out.traffic[level][d] = checked_add(out.traffic[level][d], island.traffic[level][d]);
    for (std::size_t d = 0; d < 2; ++d) out.bulk_smem[d] = checked_add(out.bulk_smem[d], island.bulk_smem[d]);
    out.operand_bytes = checked_add(out.operand_bytes, island.operand_bytes);
  }
}

void add_work_sums(Prediction& out) {
  const bool all_known = std::all_of(out.islands.begin(), out.islands.end(),
                                     [](const IslandPrediction& island) { return island.work.instructions > 0; });
  for (const IslandPrediction& island : out.islands) {
    out.work.tensor_flop = checked_add(out.work.tensor_flop, island.work.tensor_flop);
    out.work.model_flop = checked_add(out.work.model_flop, island.work.model_flop);
    out.work.clipped_flop = checked_add(out.work.clipped_flop, island.work.clipped_flop);
    out.work.exp = checked_add(out.work.exp, island.work.exp);
    for (std::size_t i = 0; i < pipe_count; ++i)
      out.work.pipes[i] = checked_add(out.work.pipes[i], island.work.pipes[i]);
    out.work.instructions = checked_add(out.work.instructions, island.work.instructions);
    out.work.alu_instructions = checked_add(out.work.alu_instructions, island.work.alu_instructions);
    for (std::size_t f = 0; f < format_count; ++f)
      out.work.tensor_flop_in[f] = checked_add(out.work.tensor_flop_in[f], island.work.tensor_flop_in[f]);
  }
  if (!all_known) out.work.instructions = out.work.alu_instructions = 0;
}

FootprintRow footprint_row(const Diagram& diagram, Boundary level, int island, const Allocations& kept,
                           double capacity) {
  return {.level = level,
          .island = island,
          .bytes = kept.bytes,
          .capacity_bytes = capacity,
          .largest = kept.largest < 0 ? "" : diagram.arrays[static_cast<std::size_t>(kept.largest)].name.c_str()};
}

void add_footprint(const BoundIsland& bound, const Footprint& footprint, Prediction& out) {
  if (!footprint.modelled) return;
  const auto add = [&](Boundary level, const Allocations& kept, double capacity) {
    out.footprint.push_back(footprint_row(bound.plan.schedule.diagram, level, bound.number, kept, capacity));
  };
  add(Boundary::smem, footprint.smem, footprint.smem_capacity);
  if (footprint.tmem.bytes > 0) add(Boundary::tmem, footprint.tmem, footprint.tmem_capacity);
  add(Boundary::reg, footprint.registers, footprint.register_capacity);
  if (bound.variant) out.footprint.back().compiled = bound.variant->spills ? "spills" : "built";
}

// All arrays of all launches, in the GPU's memory.
void add_memory(std::span<const BoundIsland> bound, Prediction& out) {
  if (bound.empty()) return;
  const MemoryLevel* hbm = bound.front().hardware.level(LevelId::hbm);
  const double capacity = hbm && hbm->capacity_bytes ? hbm->capacity_bytes->value : 0;
  out.footprint.push_back(footprint_row(bound.front().plan.schedule.diagram, Boundary::hbm, every_island,
                                        memory_footprint(bound), capacity));
}

// Of what bounds the launches, what does so for the longest time.
Resource bound_of_sequence(const Prediction& out) {
  std::array<double, resource_count> seconds{};
  for (const IslandPrediction& launch : out.islands) {
    const auto bound = static_cast<std::size_t>(launch.bound_by);
    seconds[bound] += std::max(0.0, launch.resource_seconds[bound]);
  }
  return static_cast<Resource>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

}  // namespace

void clear(Prediction& out, std::size_t launches) {
  out.terms.clear();
  out.footprint.clear();
  out.islands.clear(), out.islands.resize(launches);
  out.work = {};
  out.traffic = {};
  out.operand_bytes = 0;
  out.bulk_smem = {};
  out.time = {};
  out.runnable = out.feasible = true;
}

void add_counts(std::span<const BoundIsland> bound, std::span<const LaunchCounts> counts, Wanted wanted,
                Prediction& out) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const LaunchCounts& of = counts[i];
    IslandPrediction& launch = out.islands[i];
    if (wanted < Wanted::memory) launch.work = of.work;
    launch.local = of.local;
    launch.traffic = of.traffic.bytes, launch.operand_bytes = of.traffic.operand_bytes;
    launch.bulk_smem = of.traffic.bulk_smem;
    launch.blocks = of.occupancy.blocks, launch.blocks_per_unit = of.occupancy.blocks_per_unit;
    launch.l2_walked = of.l2_walked;
    out.terms.insert(out.terms.end(), of.terms.begin(), of.terms.end());
    add_footprint(bound[i], *of.footprint, out);
  }
  add_memory(bound, out);
  add_traffic_sums(out);
  if (wanted < Wanted::memory) add_work_sums(out);
}

void add_footprints(std::span<const BoundIsland> bound, Prediction& out) {
  for (const BoundIsland& launch : bound) add_footprint(launch, footprint_of(launch), out);
  add_memory(bound, out);
}

void add_resources(const std::array<double, resource_count>& seconds, int launch, Prediction& out) {
  IslandPrediction& of = out.islands[static_cast<std::size_t>(launch)];
  of.resource_seconds = seconds;
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  of.seconds = std::max(0.0, *slowest);
  of.bound_by = static_cast<Resource>(slowest - seconds.begin());
  for (std::size_t i = 0; i < resource_count; ++i) {
    double& total = out.time.seconds[i];
    total = total < 0 || seconds[i] < 0 ? -1 : total + seconds[i];
  }
}

void add_launch_time(const SmStep& step, const LaunchTime& time, bool products, IslandPrediction& launch) {
  const StepDemand& d = step.demand;
  const auto set = [&](SmUnit unit, double of_step) {
    launch.unit_clocks[static_cast<std::size_t>(unit)] = of_step * step.steps;
  };
  set(SmUnit::tensor, d.tensor), set(SmUnit::smem, d.smem), set(SmUnit::xu, d.xu);
  set(SmUnit::fma, d.fma), set(SmUnit::alu, d.alu);
  set(SmUnit::issue, d.issue);
  launch.sm_clocks = time.clocks;
  // Cycles are counted of launches one by one. Those without products then run at the highest clock, whatever the power
  // limit leaves run after run: an earlier call with that clock has found their cycles.
  launch.busy_clocks = products ? time.cold_busy_clocks() : std::max(launch.busy_clocks, time.cold_busy_clocks());
  launch.highest_hz = time.highest_hz, launch.seconds = time.cold_seconds(time.highest_hz);
}

void add_memory_wait(const HardwareProfile& hardware, const LaunchTime& time, IslandPrediction& launch) {
  const auto& share = hardware.measured->hbm.busy;  // memory does not serve all SMs alike
  launch.busy_clocks =
      std::max(launch.busy_clocks, time.memory_wait.busy * (share ? share->value : 1) * time.memory_hz);
}

TimePrediction lower_bound_of_time(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                   const Prediction& out) {
  TimePrediction time = out.time;
  time.bound_by = bound_of_sequence(out);
  time.clock_hz = hardware.boost_hz ? hardware.boost_hz->value : 0;
  const KernelVariant* variant = selected_variant(plan, point);
  time.spills = variant && variant->spills;
  time.spills_traffic = time.spills && variant->local.frame > 0;
  time.spills_time = time.spills_traffic && hardware.measured && hardware.measured->local.store;
  double seconds = 0;
  for (const IslandPrediction& launch : out.islands) seconds += launch.seconds;
  time.total = time.cold = seconds, time.sm_cycles = seconds * time.clock_hz;
  return time;
}

}  // namespace tilescope
