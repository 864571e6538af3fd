#include "predict/sm/latency.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/point/order/block_order.h"

namespace tilescope {
namespace {

// Clocks of a step in which a warp waits for results of its own, and for barriers.
double own_waits(const LaunchAtSm& launch, const BlockWaits& block) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const double barrier = rates.block_barrier(warps_of_block(bound));
  if (waits_for_loads(bound))
    return (block.shuffles * rates.shuffle_chain + block.barriers * barrier) /
           static_cast<double>(steps_of(bound.nest));
  if (!works_in_rounds(bound)) return 0;
  // The first operands of a round, and those that other work does not hide.
  return rounds_of_step(bound) * ((1 + of_step(bound, CodeCount::shared_waits)) * rates.smem_chain +
                                  of_step(bound, CodeCount::barriers) * barrier);
}

// The same for what threads load themselves: so many loads one after the other, each as long as its level takes.
double load_waits(const LaunchAtSm& launch, const BlockWaits& block, double steps, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  if (waits_for_loads(bound))
    return (block.warm + (bound.how.early_launch ? 0 : rates.block_start)) / static_cast<double>(steps_of(bound.nest));
  if (!works_in_rounds(bound)) return 0;
  const RoundWaits& waits = launch.round_waits[static_cast<std::size_t>(inputs)];
  const double bytes = static_cast<double>(launch.counts.traffic.bytes[Boundary::l2][0]) / steps;  // into the unit
  return rounds_of_step(bound) *
             (waits.near * rates.l2_near + waits.far * rates.l2_far + waits.memory * rates.far_memory()) +
         (rates.l2 > 0 ? bytes / rates.l2 : 0);
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
  const Diagram& diagram = bound.plan.schedule.diagram;
  double least = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id) || !bound.streams(id)) continue;
    double same = readers_at_once(bound, launch.counts, id);
    // Under a mask only some of them read a tile: in the mean as many as read each byte that memory brings.
    const double fetched = bound.nest.guarded() ? read_from(Boundary::hbm, launch.counts, id) : 0;
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

double waits_of_step(const LaunchAtSm& launch, const BlockWaits& block, double steps, Inputs inputs) {
  double clocks = 0;
  if (at_work(launch.bound, Mechanism::chain_waits)) clocks += own_waits(launch, block);
  if (at_work(launch.bound, Mechanism::load_waits)) clocks += load_waits(launch, block, steps, inputs);
  return clocks / launch.faster_by(Lever::latency);
}

}  // namespace tilescope
