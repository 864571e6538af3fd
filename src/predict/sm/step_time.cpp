#include "predict/sm/step_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

// Of the vector work of a group's step, what runs under its own last product. Where that takes its operand in parts,
// the special functions of each part run under the part before: all but those of the first, of the first of the warps.
// Under wgmma everything takes longer, maxima above all.
double hidden_under_products(const BoundIsland& bound, const StepDemand& d, const SmRates& rates, double together) {
  const double last = last_product_share(bound);
  if (const std::int64_t part = bound.how.special_parts;
      part > 0 && bound.plan.schedule.diagram.guard && at_work(bound, Mechanism::special_parts)) {
    const double first = static_cast<double>(part) / extent_of_step(bound, bound.plan.schedule.diagram.guard->key);
    const double special = std::max(d.xu, d.fma_scores) * std::max(0.0, 1 - first / together);
    return std::min(std::max(d.tensor, d.smem) * last, special);
  }
  if (!bound.variant || !bound.variant->pipelined || !at_work(bound, Mechanism::pipelined)) return 0;
  const SmRates::Beside beside = bound.how.path().warpgroup ? rates.wgmma : SmRates::Beside{};
  double left = d.tensor * last, hidden = 0;
  const double special = std::max(d.xu, d.fma_scores), slower_special = d.xu >= d.fma_scores ? beside.xu : beside.fma;
  for (const auto& [work, slower] : {std::pair(d.alu, beside.alu), std::pair(special, slower_special)}) {
    const double part = std::min(work, left / (1 + slower));
    hidden += part, left -= part * (1 + slower);
  }
  return hidden;
}

bool takes_turns(const BoundIsland& bound) {
  const OverlapRow& turns = properties(bound.how.overlap);
  return turns.products_in_turn || turns.scores_in_turn;
}

// A customer: warps that go through a step together, `together` of them a scheduler. They are in the same phase at the
// same time, so a phase takes what they ask of its unit, or what one of them asks and waits for.
Network customer(const BoundIsland& bound, const StepDemand& d, const StepLatency& latency, const SmRates& rates,
                 double together) {
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
  const bool in_order = bound.how.path().from_registers, wgmma = bound.how.path().warpgroup;
  const double matrix = wgmma ? std::max({d.products, d.smem - d.bulk, d.threads})
                              : std::max({d.tensor, d.smem, in_order ? 0 : d.threads});
  Network network{.demand = {matrix, std::max(d.xu, d.fma_scores), d.alu + (in_order ? d.threads : 0), d.fma_outputs},
                  .delay = latency.between,
                  .issue = at_work(bound, Mechanism::issue_slots) ? d.issue : 0,
                  .in_turn = takes_turns(bound) && at_work(bound, Mechanism::in_turn),
                  .products_in_turn = wgmma && at_work(bound, Mechanism::products_in_turn)};
  if (in_order) network.delay += std::max(d.tensor, d.smem - d.copies) + d.copies - network.demand[0];
  const std::array waits{latency.matrix, latency.special, latency.alu};
  std::array<double, 3> waited{};
  for (std::size_t i = 0; i < waits.size(); ++i)
    waited[i] = std::max(0.0, network.demand[i] / together + waits[i] - network.demand[i]);
  // Whoever has the turn at the scores keeps it for all that it does to them, waits included.
  if (properties(bound.how.overlap).scores_in_turn) {
    network.demand[1] += network.demand[2] + waited[1] + waited[2];
    network.demand[2] = waited[1] = waited[2] = 0;
  }
  for (const double each : waited) network.delay += each;
  // What warps add to memory leaves, in order, through the pipe by which they reach shared memory: their waits for
  // tiles, loads of rows and stores come behind it; products under way and the other warps' work do not.
  network.demand[4] = d.leaving;
  const double served = std::accumulate(network.demand.begin(), network.demand.end(), 0.0);
  network.delay -= hidden_under_products(bound, d, rates, together);
  // Warps of mma.sync go through products and everything else in turn, in order: products take what their unit takes,
  // all else waits for the fixed latencies of its own instructions, pipes free or not.
  if (in_order && bound.how.stall_clocks > 0 && at_work(bound, Mechanism::stall_clocks)) {
    const double products = std::max(d.tensor, d.smem - d.copies), last = last_product_share(bound);
    // Copies enter while the stores ahead of them leave.
    double chain = products + std::max(d.copies, d.leaving) + latency.between;
    for (const double each : waits) chain += each;
    // Products that wait for shared memory leave room for the special functions of the next part.
    if (bound.how.special_parts > 0)
      chain -= std::min((products - d.tensor) * last, hidden_under_products(bound, d, rates, together));
    // Statistics of rows are wanted when the maxima of the first product's scores are known.
    const double before = products * (1 - last) + latency.matrix / 2 + d.alu / together + latency.alu;
    chain += std::max(0.0, latency.rows - before);
    chain += (d.issue - d.issue_products) / together * bound.how.stall_clocks;
    network.delay = std::max(network.delay, chain - served);
  }
  return network;
}

// Clocks of a customer's step while `customers` share the unit. The more of the time others keep the tensor cores busy,
// which depends on the answer, the more pipes and products beside each other slow each other down, as measured:
// products of mma.sync are held up by every pipe; pipes beside wgmma are slower, and its products wait where the
// scheduler issues one rescaling after the other.
double round_of(const BoundIsland& bound, const Network& single_customer, const StepDemand& d, const SmRates& rates,
                std::int64_t customers) {
  Network network = single_customer;
  const double floor = static_cast<double>(customers) * d.smem;
  if (customers == 1) return std::max(floor, network.round(1));
  const bool wgmma = bound.how.path().warpgroup;
  if (!wgmma && !bound.how.path().from_registers) return network.round(customers);
  if (takes_turns(bound) && consumer_warps(bound) > 4 && at_work(bound, Mechanism::turn)) {
    const OverlapRow& turns = properties(bound.how.overlap);
    network.demand[0] += turns.products_in_turn ? rates.turn : 0;
    network.demand[1] += turns.scores_in_turn ? rates.turn : 0;
  }
  const auto by_station = [&](const SmRates::Beside& of) {
    return std::array{d.xu >= d.fma_scores ? of.xu : of.fma, of.alu, of.fma};
  };
  const double held_by_fma = at_work(bound, Mechanism::wgmma_held) ? rates.wgmma_held : 0;
  const auto held = by_station(wgmma ? SmRates::Beside{.fma = held_by_fma} : rates.mma),
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
  StepDemand demand, part;  // of a block's step, of a customer's
  Network network;
  std::int64_t customers = 1, a_scheduler = 1;  // of a block; its warps on a scheduler

  double round(const BoundIsland& bound, const SmRates& rates, std::int64_t blocks) const {
    return round_of(bound, network, part, rates, blocks * customers);
  }
};

Groups groups_of(const LaunchAtSm& launch, const SmRates& rates, double steps, const Faster& faster, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  Groups groups{.demand = demand_of(launch, rates, steps, faster), .part = {}, .network = {}};
  const bool lockstep = bound.how.overlap == Overlap::lockstep;
  groups.a_scheduler = std::max<std::int64_t>(1, consumer_warps(bound) / 4);
  groups.customers = lockstep ? 1 : groups.a_scheduler;
  groups.part = groups.demand;
  for (double* each : groups.part.all()) *each /= static_cast<double>(groups.customers);
  groups.network = customer(bound, groups.part, latency_of(launch, rates, steps, inputs, faster), rates,
                            lockstep ? static_cast<double>(groups.a_scheduler) : 1);
  return groups;
}

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

// Clocks of a block from its start until it asks for its first copy: its own instructions, what its threads load and
// wait for before that, and the copy engine's description of the tensors.
double lead_of(const BoundIsland& bound, const SmRates& rates, double own) {
  return own + (!bound.how.loads_first.empty() || bound.how.load().bulk ? rates.hbm : 0);
}

}  // namespace

bool missing_sm_rate(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  if (missing_sm_rate(bound.hardware)) return true;
  for (std::size_t i = 0; i < format_count; ++i)
    if (launch.counts.work.tensor_flop_in[i] > 0 &&
        tensor_flop_per_clock(bound.hardware, bound.how, static_cast<Format>(static_cast<int>(i))) < 0)
      return true;
  return false;
}

SmStep sm_step(const LaunchAtSm& launch, double steps, const Faster& faster, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  SmRates rates = sm_rates(bound.hardware);
  if (!at_work(bound, Mechanism::beside_products)) rates.mma = rates.wgmma = {};
  SmStep step;
  const bool waits = !bound.how.waits.loads.empty();
  const Groups groups = groups_of(launch, rates, steps, faster, inputs);
  const auto& [demand, part, single_customer, customers, a_scheduler] = groups;
  step.demand = demand, step.latency = single_customer.delay;
  const std::int64_t resident = std::clamp<std::int64_t>(launch.counts.occupancy.blocks_per_unit, 1, most_resident);
  const bool by_code = simulates(bound), lockstep = bound.how.overlap == Overlap::lockstep;
  for (std::int64_t j = 1; j <= resident; ++j)
    step.clocks.step[static_cast<std::size_t>(j - 1)] =
        by_code ? simulated_step(launch, j, inputs) : groups.round(bound, rates, j);
  // What a faster unit saves of a simulated step is what it saves of one in the network.
  if (by_code && faster != as_it_is) {
    const Groups as_is = groups_of(launch, rates, steps, as_it_is, inputs);
    for (std::int64_t j = 1; j <= resident; ++j)
      step.clocks.step[static_cast<std::size_t>(j - 1)] *= groups.round(bound, rates, j) / as_is.round(bound, rates, j);
  }
  step.work = step.clocks.step;
  for (std::int64_t j = 1; by_code && j <= resident; ++j)
    step.work[static_cast<std::size_t>(j - 1)] = simulated_step(launch, j, Inputs::in_l2);
  const SimulatedEnds ends = by_code ? simulated_ends(launch, inputs) : SimulatedEnds{};
  // A block begins with a copy from memory. One that stays begins with the copy engine's description of the tensors
  // too, and asks for each further tile's queries when the last scores are done: their copy runs under the last
  // product. All its warps wait for it, so they go through the first step together: one phase after the other.
  const double shorter = faster_by(faster, Lever::latency), start = rates.block_start / shorter;
  double copy = 0;
  if (at_work(bound, Mechanism::block_ends))
    step.lead = lead_of(bound, rates, ends.lead) / shorter, copy = rates.copy_hbm / shorter, step.trail = ends.trail;
  const double at_once = lockstep ? static_cast<double>(a_scheduler) : 1;
  double together = single_customer.delay + hidden_under_products(bound, part, rates, at_once);
  for (const double each : single_customer.demand) together += static_cast<double>(customers) * each;
  // Threads that stage operands in rounds have no copy under way before the first: a round's waits have all of it.
  const bool in_rounds = bound.how.rounds.depth > 0;
  step.clocks.fixed = bound.how.persistent ? std::max(0.0, copy - part.tensor * last_product_share(bound))
                                           : start + step.lead + (in_rounds ? 0 : copy) + step.trail;
  if (ends.around > 0) step.clocks.fixed = start + ends.around;
  if ((bound.how.persistent || customers > 1) && at_work(bound, Mechanism::first_together))
    step.clocks.fixed += std::max(0.0, together - step.clocks.step[0]);
  // Blocks that no stream runs through come and go; of others, all of a unit's end together.
  const auto loops = bound.nest.all();
  step.clocks.apart = !bound.how.persistent && at_work(bound, Mechanism::blocks_apart) &&
                      std::all_of(loops.begin(), loops.end(), [](const BoundLoop& loop) { return loop.group; });
  // Nothing covers the first tile's copy.
  if (bound.how.persistent)
    step.once = start + rates.hbm / shorter + std::min(copy, part.tensor * last_product_share(bound));
  // Schedulers pick the oldest warp that can issue.
  step.clocks.oldest_first = at_work(bound, Mechanism::oldest_first) ? rates.oldest_first : 0;
  if (waits) {
    const BlockWaits both = block_waits(bound, launch.counts, rates);
    step.clocks.fixed = step.once = step.lead = step.trail = 0, step.cold_extra = both.cold - both.warm;
    return step;
  }
  // Warps that store results themselves do nothing else while these leave the unit, those of one block at about the
  // same time. A block that stays has the copy engine ask for its next tile before it stores; after the first tiles,
  // which all ask for at once, each asks at its own time, and what the copy engine stores leaves under the next tile,
  // but for the last one's. Threads that copy for themselves ask when they have stored.
  const double stores = at_work(bound, Mechanism::leaving_bytes) && rates.local_store > 0
                            ? stored_after_steps(bound) / rates.local_store
                            : 0;
  if (bound.how.persistent && bound.how.load().bulk) {
    (bound.how.store().bulk ? step.once : step.clocks.fixed) += stores;
    step.clocks.empty = stores;
    return step;
  }
  const double hz = highest_clock(bound.hardware, bound.how) / faster_by(faster, Lever::hbm),
               load = at_work(bound, Mechanism::around_products) && !in_rounds && ends.around <= 0
                          ? load_around_products(bound) * hz
                          : 0;
  step.clocks.fixed += load + stores;
  step.clocks.empty = start + stores;  // results of rows that see no key
  step.once -= load;                   // the first blocks' tiles are the launch's start
  return step;
}

namespace {

// Units that spill share the L2: a block takes no less than its unit's share of what all of them load and store.
void share_l2(const LaunchAtSm& launch, double steps, const Faster& faster, BlockClocks& clocks) {
  const BoundIsland& bound = launch.bound;
  if (launch.counts.local.stored == 0 || !at_work(bound, Mechanism::leaving_bytes)) return;
  const std::int64_t blocks = grid_blocks(bound), at_once = std::min(blocks, bound.hardware.units.value);
  const double share = launch.memory.l2 * highest_clock(bound.hardware, bound.how) * static_cast<double>(at_once) /
                       faster_by(faster, Lever::l2),
               around = clocks.fixed * static_cast<double>(blocks);
  for (std::size_t i = 0; i < clocks.step.size(); ++i)
    clocks.step[i] = std::max(clocks.step[i], (static_cast<double>(i + 1) * share - around) / steps);
}

}  // namespace

SmClocks sm_clocks(const LaunchAtSm& launch, const Faster& faster, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const double visited = bound.nest.guarded()
                             ? static_cast<double>(visited_points(bound.nest, bound.whole, {}, true))
                             : static_cast<double>(checked_mul(grid_blocks(bound), steps_of(bound.nest)));
  const double steps = std::max(1.0, visited);
  SmClocks clocks{.steps = steps, .step = sm_step(launch, steps, faster, inputs)};
  share_l2(launch, steps, faster, clocks.step.clocks);
  return clocks;
}

}  // namespace tilescope
