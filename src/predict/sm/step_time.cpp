#include "predict/sm/step_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

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

// Of the vector work of a group's step, what runs under its own last product. Under wgmma everything takes longer,
// maxima above all.
double hidden_under_products(const LaunchAtSm& launch, const StepDemand& d) {
  const BoundIsland& bound = launch.bound;
  if (!bound.variant || !bound.variant->pipelined || !at_work(bound, Mechanism::pipelined)) return 0;
  const SmRates::Beside beside = bound.how.path().warpgroup ? launch.rates.wgmma : SmRates::Beside{};
  double left = d.tensor * last_product_share(bound), hidden = 0;
  const double special = std::max(d.xu, d.fma_scores), slower_special = d.xu >= d.fma_scores ? beside.xu : beside.fma;
  for (const auto& [work, slower] : {std::pair(d.alu, beside.alu), std::pair(special, slower_special)}) {
    const double part = std::min(work, left / (1 + slower));
    hidden += part, left -= part * (1 + slower);
  }
  return hidden;
}

// Clocks of warps of mma.sync, which go through products and everything else in turn, in order: products take what
// their unit takes, all else waits for the fixed latencies of its own instructions, pipes free or not.
double chain_of_instructions(const LaunchAtSm& launch, const StepDemand& d, const StepLatency& latency,
                             double together) {
  // Copies enter while the stores ahead of them leave.
  const double chain = std::max(d.tensor, d.smem - d.copies) + std::max(d.copies, d.leaving) + latency.between +
                       latency.matrix + latency.special + latency.alu;
  return chain + (d.issue - d.issue_products) / together * launch.bound.how.stall_clocks;
}

// A customer: warps that go through a step together, `together` of them a scheduler. They are in the same phase at the
// same time, so a phase takes what they ask of its unit, or what one of them asks and waits for.
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
  // Products of threads: every instruction takes a slot of the scheduler, which none of the pipes outlasts but rarely.
  // A block's warps on a scheduler share both, between its barriers; blocks share what that leaves.
  if (bound.how.rounds.depth > 0) {
    const Network warps{.demand = {d.smem / together, scheduler_clocks / together}, .delay = latency.between};
    return {.demand = {d.smem, scheduler_clocks},
            .delay = warps.round(static_cast<std::int64_t>(together)) - d.smem - scheduler_clocks};
  }
  // Warps of mma.sync copy, work out addresses and multiply in turn; beside wgmma addresses run under products.
  // Who takes turns comes to every unit in the same order, for the same time each.
  const OverlapRow& turns = properties(bound.how.overlap);
  const bool in_order = bound.how.path().from_registers, wgmma = bound.how.path().warpgroup;
  const double matrix = wgmma ? std::max({d.products, d.smem - d.bulk, d.threads})
                              : std::max({d.tensor, d.smem, in_order ? 0 : d.threads});
  Network network{.demand = {matrix, std::max(d.xu, d.fma_scores), d.alu + (in_order ? d.threads : 0), d.fma_outputs},
                  .delay = latency.between,
                  .issue = at_work(bound, Mechanism::issue_slots) ? d.issue : 0,
                  .in_turn = (turns.products_in_turn || turns.scores_in_turn) && at_work(bound, Mechanism::in_turn),
                  .products_in_turn = wgmma && at_work(bound, Mechanism::products_in_turn)};
  if (in_order) network.delay += std::max(d.tensor, d.smem - d.copies) + d.copies - network.demand[0];
  const std::array waits{latency.matrix, latency.special, latency.alu};
  std::array<double, 3> waited{};
  for (std::size_t i = 0; i < waits.size(); ++i)
    waited[i] = std::max(0.0, network.demand[i] / together + waits[i] - network.demand[i]);
  // Whoever has the turn at the scores keeps it for all that it does to them, waits included.
  if (turns.scores_in_turn) {
    network.demand[1] += network.demand[2] + waited[1] + waited[2];
    network.demand[2] = waited[1] = waited[2] = 0;
  }
  for (const double each : waited) network.delay += each;
  // What warps add to memory leaves, in order, through the pipe by which they reach shared memory: their waits for
  // tiles and stores come behind it; products under way and the other warps' work do not.
  network.demand[4] = d.leaving;
  const double served = std::accumulate(network.demand.begin(), network.demand.end(), 0.0);
  network.delay -= hidden_under_products(launch, d);
  if (in_order && bound.how.stall_clocks > 0 && at_work(bound, Mechanism::stall_clocks))
    network.delay = std::max(network.delay, chain_of_instructions(launch, d, latency, together) - served);
  return network;
}

// Clocks of a customer's step while `customers` share the unit. The more of the time others keep the tensor cores busy,
// which depends on the answer, the more pipes and products beside each other slow each other down, as measured:
// products of mma.sync are held up by every pipe; pipes beside wgmma are slower, and its products wait where the
// scheduler issues one rescaling after the other.
double round_of(const LaunchAtSm& launch, const Network& single_customer, const StepDemand& d, std::int64_t customers) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  Network network = single_customer;
  const double floor = static_cast<double>(customers) * d.smem;
  if (customers == 1) return std::max(floor, network.round(1));
  const bool wgmma = bound.how.path().warpgroup;
  if (!wgmma && !bound.how.path().from_registers) return network.round(customers);
  if (const OverlapRow& turns = properties(bound.how.overlap); consumer_warps(bound) > 4) {
    network.demand[0] += turns.products_in_turn ? rates.turn : 0;
    network.demand[1] += turns.scores_in_turn ? rates.turn : 0;
  }
  const auto by_station = [&](const SmRates::Beside& of) {
    return std::array{d.xu >= d.fma_scores ? of.xu : of.fma, of.alu, of.fma};
  };
  const auto held = by_station(wgmma ? SmRates::Beside{.fma = rates.wgmma_held} : rates.mma),
             slower = by_station(wgmma ? rates.wgmma : SmRates::Beside{});
  const Network alone = network;
  double round = network.round(customers);
  for (int i = 0; i < 8; ++i) {
    const double others = static_cast<double>(customers - 1) * d.tensor,
                 busy = std::min(1.0, others / std::max(1.0, round - d.tensor));
    network.demand[0] = alone.demand[0];
    for (std::size_t pipe = 0; pipe < held.size(); ++pipe) {
      network.demand[0] += busy * held[pipe] * alone.demand[pipe + 1];
      network.demand[pipe + 1] = alone.demand[pipe + 1] * (1 + busy * slower[pipe]);
    }
    const double before = std::exchange(round, network.round(customers));
    if (std::abs(round - before) < 1e-4 * before) break;
  }
  return std::max(floor, round);
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
  double round(std::int64_t blocks) const { return round_of(launch, network, part, blocks * customers); }
  // Clocks of a block by itself whose warps go through a step together, one phase after the other.
  double one_after_the_other() const {
    double clocks = network.delay + hidden_under_products(launch, part);
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
  // A block begins with what its threads load and wait for, with the copy engine's description of the tensors, and with
  // a copy from memory. One that stays asks for each further tile's queries when the last scores are done: their copy
  // runs under the last product. All its warps wait for it, so they go through the first step together.
  const double shorter = launch.faster_by(Lever::latency), start = rates.block_start / shorter;
  double copy = 0;
  if (at_work(bound, Mechanism::block_ends)) {
    step.lead = (ends.lead + (!bound.how.loads_first.empty() || bulk ? rates.hbm : 0)) / shorter;
    copy = rates.copy_hbm / shorter, step.trail = ends.trail;
  }
  const double under_last = groups.part.tensor * last_product_share(bound);
  double& fixed = step.clocks.fixed;
  // Threads that stage operands in rounds have no copy under way before the first: a round's waits have all of it.
  fixed = ends.around > 0 ? start + ends.around
          : stays         ? std::max(0.0, copy - under_last)
                          : start + step.lead + (in_rounds ? 0 : copy) + step.trail;
  if ((stays || groups.customers > 1) && at_work(bound, Mechanism::first_together))
    fixed += std::max(0.0, groups.one_after_the_other() - step.clocks.step[0]);
  // Nothing covers the first tile's copy.
  if (stays) step.once = start + rates.hbm / shorter + std::min(copy, under_last);
  // Warps that store results themselves do nothing else while these leave the unit, those of one block at about the
  // same time. A block that stays has the copy engine ask for its next tile before it stores; after the first tiles,
  // which all ask for at once, each asks at its own time, and what the copy engine stores leaves under the next tile,
  // but for the last one's. Threads that copy for themselves ask when they have stored.
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
  const auto simulated = simulates(bound) ? std::optional<SimulatedSteps>(std::in_place, launch, steps) : std::nullopt;
  for (std::int64_t j = 1; j <= launch.resident(); ++j) {
    const auto at = static_cast<std::size_t>(j - 1);
    step.work[at] = simulated ? simulated->clocks(j, Inputs::in_l2) : groups.round(j);
    step.clocks.step[at] = simulated ? simulated->clocks(j, inputs) : step.work[at];
    // All SMs together add to memory and spill no faster than the L2 takes it.
    if (simulated)
      for (double* each : {&step.work[at], &step.clocks.step[at]})
        *each = std::max(*each, static_cast<double>(j) * groups.demand.leaving);
  }
  // What a faster unit saves of a simulated step is what it saves of one in the network.
  if (simulated && launch.faster != as_it_is) {
    LaunchAtSm usual = launch;
    usual.faster = as_it_is;
    const Groups as_is(usual, steps, inputs);
    for (std::int64_t j = 1; j <= launch.resident(); ++j)
      step.clocks.step[static_cast<std::size_t>(j - 1)] *= groups.round(j) / as_is.round(j);
  }
  // Blocks that no stream runs through come and go; of others, all of a unit's end together.
  const auto loops = bound.nest.all();
  step.clocks.apart = !bound.how.persistent && at_work(bound, Mechanism::blocks_apart) &&
                      std::all_of(loops.begin(), loops.end(), [](const BoundLoop& loop) { return loop.group; });
  step.clocks.oldest_first = launch.rates.oldest_first;  // schedulers pick the oldest warp that can issue
  if (bound.how.waits.loads.empty()) {
    add_ends(groups, simulated ? simulated->ends(inputs) : SimulatedEnds{}, step);
  } else {
    const BlockWaits both = block_waits(launch);
    step.cold_extra = both.cold - both.warm;
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
