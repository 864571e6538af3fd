#include "predict/sm/latency.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/grid/issue_order.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/sm/block_waits.h"

namespace tilescope {
namespace {

using Phase = double StepLatency::*;

// Of a step of the kernel's code; 0: not counted there.
double of_step(const BoundIsland& bound, CodeCount count) {
  const InstanceCode* code = code_of(bound);
  return code ? static_cast<double>(code->of(CodePass::step, count)) : 0;
}

double barriers_of_step(const BoundIsland& bound) {
  const double counted = of_step(bound, CodeCount::barriers);
  return counted > 0 ? counted : static_cast<double>(std::max<std::int64_t>(1, bound.how.waits.barriers));
}

double products_of(const BoundIsland& bound) {
  double products = 0;
  for_each_product(bound, [&](const Product&) { ++products; });
  return products;
}

// The chain of a step: each link is a result that the next operation of the same warp waits for, so many times, so many
// clocks each, under the phase that goes on meanwhile.
template <class Link>
void for_each_link(const LaunchAtSm& launch, const Link& link) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const Waits& waits = bound.how.waits;
  const auto runs = [&](Pipe which) { return operations(launch.counts.work.pipes, {which}) > 0; };
  constexpr Phase matrix = &StepLatency::matrix, special = &StepLatency::special, row = &StepLatency::alu,
                  between = &StepLatency::between;
  link(matrix, products_of(bound), rates.mma_chain + rates.smem_chain);
  if (runs(Pipe::xu)) link(special, 1, rates.ex2_chain), link(special, 3, rates.fma_chain);
  if (runs(Pipe::shuffle))  // what comes is joined with what was there
    link(row, shuffles_of_row(bound), rates.shuffle_chain + rates.max_chain);
  // Statistics of rows that warps exchange through shared memory.
  link(between, of_step(bound, CodeCount::shared_waits), rates.smem_chain);
  const double barrier = rates.block_barrier(warps_of_block(bound));
  if (bound.how.rounds.depth > 0) {
    link(between, rounds_of(bound) * (1 + static_cast<double>(number_for(bound, bound.how.rounds.shared_waits))),
         rates.smem_chain);
    link(between, rounds_of(bound) * 2, barrier);
  } else if (!waits.loads.empty()) {
    link(between, static_cast<double>(waits.shuffles) / static_cast<double>(steps_of(bound.nest)), rates.shuffle_chain);
    link(between, static_cast<double>(waits.barriers) / static_cast<double>(steps_of(bound.nest)), barrier);
  } else if (bound.how.overlap == Overlap::lockstep) {
    link(between, barriers_of_step(bound), barrier);
  }
}

// What a step's threads load themselves and wait for: so many loads one after the other, each as long as its level
// takes.
template <class Load>
void for_each_load(const LaunchAtSm& launch, double steps, Inputs inputs, const Load& load) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  constexpr Phase between = &StepLatency::between;
  const double bytes = static_cast<double>(launch.counts.traffic.bytes[Boundary::l2][0]) / steps;
  if (bound.how.rounds.depth > 0) {  // and the bytes' way into the unit
    const RoundWaits& waits = launch.round_waits[static_cast<std::size_t>(inputs)];
    const double rounds = rounds_of(bound);
    load(between, rounds * waits.near, rates.l2_near), load(between, rounds * waits.far, rates.l2_far);
    load(between, rounds * waits.memory, rates.far_memory());
    if (rates.l2 > 0) load(between, bytes, 1 / rates.l2);
  } else if (!bound.how.waits.loads.empty()) {
    const double of_block = 1 / static_cast<double>(steps_of(bound.nest));
    load(between, of_block, block_waits(launch).warm + (bound.how.early_launch ? 0 : rates.block_start));
  }
}

// Whether blocks of different rows begin with the same tile of what they stream.
bool begin_alike(const BoundIsland& bound) {
  const Nest& nest = bound.nest;
  const Mask& mask = bound.point.mask;
  if (!nest.guarded()) return true;
  if (!mask.contiguous() || nest.loops[static_cast<std::size_t>(nest.key_loop)].group) return false;
  const KeyInterval keys = mask.keys(bound.point.workload.q_len, bound.point.workload.kv_len);
  return !(BlockOrder::falls(bound, GridDimension::kv) ? keys.end : keys.begin).moves();
}

// Of the blocks that run at once, those that stream the same tiles. The first request of a tile waits for the memory
// latency. The arrival of the others is uniform between that request and the tile's arrival in the L2, so their mean
// wait is half-way between the latencies of memory and L2.
double blocks_side_by_side(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  if (!begin_alike(bound)) return 1;
  const Nest nest = in_issue_order(bound);
  const Diagram& diagram = bound.plan.schedule.diagram;
  double least = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id) || !bound.streams(id)) continue;
    std::int64_t at_once = std::min(grid_blocks(bound), resident_blocks(bound, launch.counts.occupancy));
    double same = 1;
    for (std::size_t j = nest.loop_count; j-- > 0 && at_once > 1;) {
      const BoundLoop& loop = nest.loops[j];
      if (!loop.group) continue;
      if (!nest.carries(diagram.array(id).axes, loop.axis)) same *= static_cast<double>(std::min(at_once, loop.trips));
      at_once = ceil_div(at_once, loop.trips);
    }
    // Under a mask only some of them read a tile: in the mean as many as read each byte that memory brings.
    const double fetched = nest.guarded() ? read_from(Boundary::hbm, launch.counts, id) : 0;
    if (fetched > 0) same = std::min(same, read_from(Boundary::l2, launch.counts, id) / fetched);
    least = least > 0 ? std::min(least, same) : same;
  }
  return std::max(1.0, least);
}

}  // namespace

double missed_part(const LaunchAtSm& launch, Inputs inputs) {
  if (inputs == Inputs::in_l2) return 0;
  const BoundIsland& bound = launch.bound;
  double from_memory = 0, read = 0;
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!bound.streams(id)) continue;
    from_memory += read_from(Boundary::hbm, launch.counts, id), read += read_from(Boundary::l2, launch.counts, id);
  }
  return read > 0 ? std::min(1.0, (1 + blocks_side_by_side(launch)) / 2 * from_memory / read) : 0;
}

double missed_loads(const LaunchAtSm& launch, Inputs inputs) {
  if (inputs == Inputs::in_l2) return 0;
  const BoundIsland& bound = launch.bound;
  const Diagram& diagram = bound.plan.schedule.diagram;
  std::optional<double> least;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!bound.streams(id) || in_shared_memory(bound, id)) continue;
    const double read = read_from(Boundary::l2, launch.counts, id),
                 from_memory = from_earlier_launch(bound, id) ? 0 : read_from(Boundary::hbm, launch.counts, id);
    if (read > 0) least = std::min(least.value_or(1), from_memory / read);
  }
  return std::min(1.0, (1 + blocks_side_by_side(launch)) / 2 * least.value_or(0));
}

StepLatency latency_of(const LaunchAtSm& launch, double steps, Inputs inputs) {
  StepLatency latency;
  const auto wait = [&](Phase phase, double times, double clocks) {
    latency.*phase += times * clocks / launch.faster_by(Lever::latency);
  };
  if (at_work(launch.bound, Mechanism::chain_waits)) for_each_link(launch, wait);
  if (at_work(launch.bound, Mechanism::load_waits)) for_each_load(launch, steps, inputs, wait);
  return latency;
}

}  // namespace tilescope
