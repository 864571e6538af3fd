#include "predict/sm/step_time.h"

#include <algorithm>
#include <array>
#include <optional>

#include "predict/l2/around_products.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/sm/latency.h"
#include "predict/sm/queueing_network.h"
#include "predict/sm/simulated_step.h"

namespace tilescope {
namespace {

// Of the FLOP of all products of a step, the last one's.
double last_product_share(const BoundIsland& bound) {
  double last = 0, all = 0;
  for_each_product(bound, [&](const Product& product) { all += last = product.multiply_adds; });
  return all > 0 ? last / all : 0;
}

// Clocks of one block by itself whose warps go through a step together, one phase after the other.
double one_after_the_other(const StepDemand& d) {
  return std::max(d.tensor, d.smem) + std::max(d.xu, d.fma) + d.alu + d.leaving;
}

// Clocks of a step of each of `blocks` resident blocks where the SM is not simulated. `waits`: clocks of a block in
// which no unit works for it; `own`: of its instructions, one after the other.
double not_simulated(const LaunchAtSm& launch, const StepDemand& d, double waits, double own, std::int64_t blocks) {
  const BoundIsland& bound = launch.bound;
  const double at_scheduler = d.of_schedulers();
  // Blocks without products: each loads, computes and stores on its own; they share memory and the schedulers. The
  // warp that does most goes through its instructions' fixed latencies while the others wait for it.
  if (waits_for_loads(bound)) {
    return Network{.demand = {d.memory, at_scheduler}, .delay = waits + std::max(0.0, own - at_scheduler)}.round(
        blocks);
  }
  // Products by multiply-adds of threads: the issue slot is nearly always the bottleneck. The warps of a block share
  // issue slots and shared memory between barriers; other blocks use the remainder.
  if (works_in_rounds(bound)) {
    const std::int64_t warps = std::max<std::int64_t>(1, warps_of_block(bound) / 4);  // of a scheduler
    const auto part = static_cast<double>(warps);
    const Network of_warps{.demand = {d.smem / part, at_scheduler / part}, .delay = waits};
    return Network{.demand = {d.smem, at_scheduler}, .delay = of_warps.round(warps) - d.smem - at_scheduler}.round(
        blocks);
  }
  // No rule for the rest: the slowest unit.
  return static_cast<double>(blocks) * std::max({d.tensor, d.smem, d.leaving, at_scheduler});
}

// What a block takes beside its steps.
void add_ends(const LaunchAtSm& launch, const SimulatedEnds& ends, SmStep& step) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const bool stays = bound.how.persistent, bulk = bound.how.load().bulk, in_rounds = works_in_rounds(bound);
  // Groups of warps that go through steps each on its own.
  const std::int64_t groups =
      bound.how.overlap == Overlap::lockstep ? 1 : std::max<std::int64_t>(1, consumer_warps(bound) / 4);
  // A block begins with loads by its threads, with the copy engine's tensor descriptor, and with a copy from memory. A
  // persistent block issues the copy of the next tile's queries after the last product of scores, so that the copy
  // overlaps the last product, or the epilogue where the code is known. All its warps wait for the queries, so their
  // first step is in lockstep.
  const double shorter = launch.faster_by(Lever::latency), start = rates.block_start / shorter;
  double copy = 0;
  if (at_work(bound, Mechanism::block_ends)) {
    step.lead = (ends.lead + (!bound.how.loads_first.empty() || bulk ? rates.hbm : 0)) / shorter;
    copy = rates.copy_hbm / shorter, step.trail = ends.trail;
  }
  const double under_last = step.demand.tensor / static_cast<double>(groups) * last_product_share(bound);
  double& fixed = step.clocks.fixed;
  // Threads that stage operands in rounds do not prefetch: the latency is part of the waits of each round.
  const bool simulated = stays && ends.around > 0;
  fixed = simulated         ? ends.around + std::max(0.0, copy - ends.trail)
          : ends.around > 0 ? start + ends.around
          : stays           ? std::max(0.0, copy - under_last)
                            : start + step.lead + (in_rounds ? 0 : copy) + step.trail;
  if (!simulated && (stays || groups > 1) && at_work(bound, Mechanism::first_together))
    fixed += std::max(0.0, one_after_the_other(step.demand) - step.clocks.step[0]);
  // The copy of the first tile is not overlapped.
  if (stays) step.once = start + rates.hbm / shorter + std::min(copy, under_last);
  // Stores by threads: the warps of a block stall until their stores have drained. A persistent block whose tiles the
  // copy engine loads issues the copy of its next tile before it stores; stores by the copy engine overlap the next
  // tile, except those of the last tile. Threads that copy tiles issue the copies after their stores.
  double stores = 0;
  if (at_work(bound, Mechanism::leaving_bytes) && rates.local_store > 0)
    stores = stored_bytes(bound, StoredBytes::after_steps) /
             static_cast<double>(std::max<std::int64_t>(1, bound.nest.blocks())) / rates.local_store;
  if (stays && bulk) {
    (bound.how.store().bulk ? step.once : fixed) += stores;
    step.clocks.empty = stores;
    return;
  }
  const double hz = launch.memory_hz / launch.faster_by(Lever::hbm),
               load = at_work(bound, Mechanism::around_products) && !in_rounds && ends.around <= 0
                          ? load_around_products(bound) * hz
                          : 0;
  fixed += load + stores;
  step.clocks.empty = start + stores;  // results of rows that see no key
  step.once -= load;                   // the first blocks' tiles are the launch's start
}

}  // namespace

SmStep sm_step(const LaunchAtSm& launch, double steps, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const BlockWaits block = block_waits(launch);
  SmStep step{.steps = steps, .demand = demand_of(launch, steps), .waits = waits_of_step(launch, block, steps, inputs)};
  const double own = block.own / static_cast<double>(std::max<std::int64_t>(1, steps_of(bound.nest)));
  const auto simulated =
      can_simulate(bound) ? std::optional<SimulatedSteps>(std::in_place, launch, steps) : std::nullopt;
  for (std::int64_t j = 1; j <= launch.resident(); ++j) {
    const auto at = static_cast<std::size_t>(j - 1);
    step.work[at] =
        simulated ? simulated->clocks(j, Inputs::in_l2) : not_simulated(launch, step.demand, step.waits, own, j);
    step.clocks.step[at] = simulated ? simulated->clocks(j, inputs) : step.work[at];
    // All SMs together add to memory and spill no faster than the L2 takes it.
    if (simulated)
      for (double* each : {&step.work[at], &step.clocks.step[at]})
        *each = std::max(*each, static_cast<double>(j) * step.demand.leaving);
  }
  step.clocks.oldest_first = launch.rates.oldest_first;  // schedulers pick the oldest warp that can issue
  if (!waits_for_loads(bound)) {
    const bool ends = simulated && at_work(bound, Mechanism::block_ends);
    add_ends(launch, ends ? simulated->ends(inputs) : SimulatedEnds{}, step);
  } else {
    step.cold_extra = block.cold - block.warm, step.in_turn = block.in_turn;
  }
  return step;
}

double steps_of_launch(const BoundIsland& bound) {
  const std::int64_t visited = bound.nest.guarded() ? visited_points(bound.nest, bound.whole, {}, true)
                                                    : checked_mul(grid_blocks(bound), steps_of(bound.nest));
  return std::max(1.0, static_cast<double>(visited));
}

SmStep sm_clocks(const LaunchAtSm& launch, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const std::int64_t blocks = grid_blocks(bound);
  SmStep step = sm_step(launch, steps_of_launch(bound), inputs);
  if (launch.counts.local.stored == 0 || !at_work(bound, Mechanism::leaving_bytes)) return step;
  // Units that spill share the L2: a block takes no less than its unit's share of what all of them load and store.
  const double at_once = static_cast<double>(std::min(blocks, bound.hardware.units.value)),
               share = launch.memory.l2 * launch.memory_hz * at_once / launch.faster_by(Lever::l2),
               around = step.clocks.fixed * static_cast<double>(blocks);
  for (std::size_t i = 0; i < step.clocks.step.size(); ++i)
    step.clocks.step[i] = std::max(step.clocks.step[i], (static_cast<double>(i + 1) * share - around) / step.steps);
  return step;
}

}  // namespace tilescope
