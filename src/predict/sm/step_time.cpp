#include "predict/sm/step_time.h"

#include <algorithm>
#include <array>
#include <optional>

#include "predict/l2/around_products.h"
#include "predict/point/mechanisms.h"
#include "predict/sm/block_waits.h"
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

// One customer of the queueing network: a group of warps in lockstep, `together` of them a scheduler. A phase takes the
// larger of the group's demand on the pipe, and one warp's demand plus its latency.
Network customer(const LaunchAtSm& launch, const StepDemand& d, const StepLatency& latency, double together) {
  const BoundIsland& bound = launch.bound;
  const double scheduler_clocks = std::max({d.issue, d.xu, d.fma_scores + d.fma_outputs, d.alu + d.threads});
  // Blocks without products: each loads, computes and stores on its own; they share memory and the schedulers.
  if (!bound.how.waits.loads.empty()) {
    Network network{.demand = {d.memory, scheduler_clocks}, .delay = latency.between};
    // The warp that does most goes through its instructions' fixed latencies while the others wait for it.
    const double own = d.issue / std::max(1.0, static_cast<double>(warps_of_block(bound)) / 4) * bound.how.stall_clocks;
    network.delay += std::max(0.0, own - network.demand[1]);
    return network;
  }
  // Products by multiply-adds of threads: the issue slot is nearly always the bottleneck. The warps of a block share
  // issue slots and shared memory between barriers; other blocks use the remainder.
  if (bound.how.rounds.depth > 0) {
    const Network warps{.demand = {d.smem / together, scheduler_clocks / together}, .delay = latency.between};
    return {.demand = {d.smem, scheduler_clocks},
            .delay = warps.round(static_cast<std::int64_t>(together)) - d.smem - scheduler_clocks};
  }
  // An ideal kernel of tensor cores, or one whose profile lacks a rate that the simulation needs.
  Network network{.demand = {std::max({d.tensor, d.smem, d.threads}), std::max(d.xu, d.fma_scores), d.alu,
                             d.fma_outputs, d.leaving},
                  .delay = latency.between,
                  .issue = d.issue};
  const std::array waits{latency.matrix, latency.special, latency.alu};
  for (std::size_t i = 0; i < waits.size(); ++i)
    network.delay += std::max(0.0, network.demand[i] / together + waits[i] - network.demand[i]);
  return network;
}

// The groups of a launch that share a unit: in lockstep a block is one customer. Otherwise each warpgroup is one, with
// its part of the block's step.
struct Groups {
  Groups(const LaunchAtSm& of, double steps, Inputs inputs) : launch(of), demand(demand_of(of, steps)), part(demand) {
    const std::int64_t a_scheduler = std::max<std::int64_t>(1, consumer_warps(of.bound) / 4);
    (of.bound.how.overlap == Overlap::lockstep ? together : customers) = a_scheduler;
    for (double* each : part.all()) *each /= static_cast<double>(customers);
    network = customer(of, part, latency_of(of, steps, inputs), static_cast<double>(together));
  }
  double round(std::int64_t blocks) const { return network.round(blocks * customers); }
  // Clocks of a block by itself whose warps go through a step together, one phase after the other: of any launch.
  double one_after_the_other() const {
    double clocks = network.delay;
    for (const double each : network.demand) clocks += static_cast<double>(customers) * each;
    return clocks;
  }

  const LaunchAtSm& launch;
  StepDemand demand, part;                   // of a block's step, of a customer's
  std::int64_t customers = 1, together = 1;  // of a block; warps of one on a scheduler
  Network network;
};

// Bytes that the threads of a block store after its steps.
double stored_after_steps(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double bytes = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!bound.streams(id) && stores(bound, id))
      bytes += static_cast<double>(bytes_of(bound.point, diagram, id, visits_of(bound, id).visits));
  }
  return bytes / static_cast<double>(std::max<std::int64_t>(1, bound.nest.blocks()));
}

// What a block takes beside its steps.
void add_ends(const Groups& groups, const SimulatedEnds& ends, SmStep& step) {
  const LaunchAtSm& launch = groups.launch;
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const bool stays = bound.how.persistent, bulk = bound.how.load().bulk, in_rounds = bound.how.rounds.depth > 0;
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
  const double under_last = groups.part.tensor * last_product_share(bound);
  double& fixed = step.clocks.fixed;
  // Threads that stage operands in rounds do not prefetch: the latency is part of the waits of each round.
  const bool simulated = stays && ends.around > 0;
  fixed = simulated         ? ends.around + std::max(0.0, copy - ends.trail)
          : ends.around > 0 ? start + ends.around
          : stays           ? std::max(0.0, copy - under_last)
                            : start + step.lead + (in_rounds ? 0 : copy) + step.trail;
  if (!simulated && (stays || groups.customers > 1) && at_work(bound, Mechanism::first_together))
    fixed += std::max(0.0, groups.one_after_the_other() - step.clocks.step[0]);
  // The copy of the first tile is not overlapped.
  if (stays) step.once = start + rates.hbm / shorter + std::min(copy, under_last);
  // Stores by threads: the warps of a block stall until their stores have drained. A persistent block whose tiles the
  // copy engine loads issues the copy of its next tile before it stores; stores by the copy engine overlap the next
  // tile, except those of the last tile. Threads that copy tiles issue the copies after their stores.
  const double stores = at_work(bound, Mechanism::leaving_bytes) && rates.local_store > 0
                            ? stored_after_steps(bound) / rates.local_store
                            : 0;
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
  const Groups groups(launch, steps, inputs);
  SmStep step{.steps = steps, .demand = groups.demand, .latency = groups.network.delay};
  const auto simulated =
      can_simulate(bound) ? std::optional<SimulatedSteps>(std::in_place, launch, steps) : std::nullopt;
  for (std::int64_t j = 1; j <= launch.resident(); ++j) {
    const auto at = static_cast<std::size_t>(j - 1);
    step.work[at] = simulated ? simulated->clocks(j, Inputs::in_l2) : groups.round(j);
    step.clocks.step[at] = simulated ? simulated->clocks(j, inputs) : step.work[at];
    // All SMs together add to memory and spill no faster than the L2 takes it.
    if (simulated)
      for (double* each : {&step.work[at], &step.clocks.step[at]})
        *each = std::max(*each, static_cast<double>(j) * groups.demand.leaving);
  }
  step.clocks.oldest_first = launch.rates.oldest_first;  // schedulers pick the oldest warp that can issue
  if (bound.how.waits.loads.empty()) {
    const bool ends = simulated && at_work(bound, Mechanism::block_ends);
    add_ends(groups, ends ? simulated->ends(inputs) : SimulatedEnds{}, step);
  } else {
    const BlockWaits both = block_waits(launch);
    step.cold_extra = both.cold - both.warm, step.in_turn = both.in_turn;
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
