#include "predict/sm_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "predict/block_waits.h"
#include "predict/products.h"
#include "predict/sm_time_network.h"
#include "predict/sm_time_rates.h"
#include "predict/time_parts.h"

namespace tilescope {
namespace {

double pipe(const std::array<std::int64_t, pipe_count>& list, Pipe which) {
  return static_cast<double>(list[static_cast<std::size_t>(which)]);
}
double faster_by(const Faster& faster, Lever lever) { return faster[static_cast<std::size_t>(lever)]; }

// Clocks of one multiprocessor for the island's matrix instructions.
double tensor_clocks(const BoundIsland& bound, const Work& work) {
  double clocks = 0;
  for (std::size_t i = 0; i < format_count; ++i)
    if (work.tensor_flop_in[i] > 0)
      clocks += static_cast<double>(work.tensor_flop_in[i]) /
                tensor_flop_per_clock(bound, static_cast<Format>(static_cast<int>(i)));
  return clocks;
}

// Warp instructions a scheduler, as far as the counts tell: of the pipes, matrix instructions, and 16 bytes a lane
// of what warps themselves read from shared memory or copy there.
double issue_of(const BoundIsland& bound, const IslandPrediction& island) {
  constexpr double lanes = 32, schedulers = 4, bytes = 16 * lanes;
  double threads = 0, warps = 0;
  for (const std::int64_t each : island.work.pipes) threads += static_cast<double>(each);
  threads -= pipe(island.work.pipes, Pipe::shared);
  if (bound.how.tensor_path == "mma.sync") {
    const MmaShape& mma = bound.how.mma;
    warps += static_cast<double>(island.work.tensor_flop) / (2 * static_cast<double>(mma.m * mma.n * mma.k)) +
             static_cast<double>(island.operand_bytes) / bytes;
  }
  const auto& smem = island.traffic[static_cast<std::size_t>(Boundary::smem)];
  if (bound.how.loads_by != "tma") warps += static_cast<double>(smem[1] - island.bulk_smem[1]) / bytes;
  return (threads / lanes + warps) / schedulers;
}

// Clocks of one multiprocessor that its share of the island's bytes takes from memory or L2, all of them at it.
double memory_clocks(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, const Faster& faster) {
  const auto seconds = [&](Resource resource, Lever lever) {
    return std::max(0.0, island.resource_seconds[static_cast<std::size_t>(resource)]) / faster_by(faster, lever);
  };
  const double units = static_cast<double>(std::min(grid_blocks(bound), bound.hardware.units.value));
  const double all = std::max(seconds(Resource::hbm, Lever::hbm), seconds(Resource::l2, Lever::l2)) *
                     part_in_sequence(island) * highest_clock(bound.hardware, bound.how) * units;
  return rates.l2 > 0 ? std::max(all, moved(island, Boundary::l2) / rates.l2) : all;
}

double step_extent(const BoundIsland& bound, AxisId axis) {
  const BoundLoop* loop = bound.nest.loop_over(axis);
  return static_cast<double>(loop ? loop->tile : bound.nest.size(axis));
}

// Multiply-adds of a product in a step.
double size_of(const BoundIsland& bound, const Product& product) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto& inputs = diagram.operators[static_cast<std::size_t>(product.op)].inputs;
  double size = 1;
  for (const ArrayId id : inputs)
    for (const AxisId axis : diagram.array(id).axes)
      if (id == inputs.front() || !diagram.array(inputs.front()).has(axis)) size *= step_extent(bound, axis);
  return size;
}

// Clocks of a step's products one after the other, `tensor` in all, none faster than its operands come.
double products_clocks(const BoundIsland& bound, double tensor, double smem_rate) {
  double all = 0, clocks = 0;
  for_each_product(bound, [&](const Product& product) { all += size_of(bound, product); });
  for_each_product(bound, [&](const Product& product) {
    double bytes = 0;
    for (const Operand& operand : product.operands)
      if (operand.in_smem && !operand.kept)
        bytes += static_cast<double>(tile_bytes(bound, operand.id)) * static_cast<double>(operand.copies);
    clocks += std::max(tensor * size_of(bound, product) / all, bytes / smem_rate);
  });
  return clocks;
}

StepDemand demand_of(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                     const Faster& faster) {
  const Work& work = island.work;
  const auto scores = [&](Pipe which) {
    return pipe(work.pipes, which) - pipe(work.of_outputs, which) - pipe(work.of_threads, which);
  };
  const auto outputs = [&](Pipe which) { return pipe(work.of_outputs, which); };
  const double fma = rates.fma * faster_by(faster, Lever::fma), alu = rates.alu * faster_by(faster, Lever::alu);
  const double conversion = rates.conversion * faster_by(faster, Lever::alu);
  const auto& smem = island.traffic[static_cast<std::size_t>(Boundary::smem)];
  StepDemand demand;
  demand.tensor = tensor_clocks(bound, work) / faster_by(faster, Lever::tensor);
  constexpr double wavefront = 128;  // bytes of all banks
  demand.smem =
      (static_cast<double>(smem[0]) + static_cast<double>(smem[1]) + wavefront * pipe(work.pipes, Pipe::shared)) /
      (rates.smem * faster_by(faster, Lever::smem));
  demand.bulk = static_cast<double>(island.bulk_smem[1]) / (rates.smem * faster_by(faster, Lever::smem));
  demand.copies = static_cast<double>(smem[1] - island.bulk_smem[1]) / (rates.smem * faster_by(faster, Lever::smem));
  demand.xu = pipe(work.pipes, Pipe::xu) / (rates.xu * faster_by(faster, Lever::xu));
  demand.fma_scores = (scores(Pipe::ffma) + scores(Pipe::fadd) + scores(Pipe::fmul)) / fma;
  demand.fma_outputs = (outputs(Pipe::ffma) + outputs(Pipe::fadd) + outputs(Pipe::fmul)) / fma;
  demand.alu = (pipe(work.pipes, Pipe::alu) - pipe(work.of_threads, Pipe::alu)) / alu +
               pipe(work.pipes, Pipe::conversion) / conversion;
  demand.threads = pipe(work.of_threads, Pipe::alu) / alu;
  demand.issue = issue_of(bound, island);
  demand.memory = memory_clocks(bound, island, rates, faster);
  if (rates.local_store > 0 && rates.l2 > 0)
    demand.local = static_cast<double>(island.local.stored) / rates.local_store +
                   static_cast<double>(island.local.missed) / rates.l2;
  for (double* each : demand.all()) *each /= steps;
  demand.products = products_clocks(bound, demand.tensor, rates.smem * faster_by(faster, Lever::smem));
  return demand;
}

// What a warp waits for in every step whatever else happens: the end of each product, a row's shuffles, the chain to
// its first exponential, barriers.
struct StepLatency {
  double matrix = 0, special = 0, alu = 0, barrier = 0, local = 0;
};

// Copies of the streamed tiles that a block holds.
std::int64_t stages_of_streams(const BoundIsland& bound) {
  return bound.variant && bound.variant->stages > 0 ? bound.variant->stages : bound.how.stages;
}

// Waits of a step for spilled registers: loads that nothing covers, one after the other, and what a block's few warps
// need to store beyond the time in which the unit could.
double local_latency(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps) {
  if (island.local.stored + island.local.loaded == 0 || rates.local_store_warp == 0) return 0;
  const LocalTraffic& local = island.local;
  const double missed = local.loaded > 0 ? static_cast<double>(local.missed) / static_cast<double>(local.loaded) : 0;
  const double of_block = std::min(rates.local_store, rates.local_store_warp * static_cast<double>(consumer_warps(bound)));
  return bound.variant->local.waits * (missed * rates.local_latency + (1 - missed) * rates.local_latency_l1) +
         static_cast<double>(local.stored) / steps * (1 / of_block - 1 / rates.local_store);
}

// Waits of a step for products: one each, or one for every instruction where the compiler put it so.
double waits_for_products(const BoundIsland& bound) {
  const bool each = bound.variant && bound.variant->waits_each && bound.how.tensor_path == "wgmma";
  const double warpgroups = std::max(1.0, static_cast<double>(consumer_warps(bound)) / 4);
  double waits = 0;
  for_each_product(bound, [&](const Product& product) {
    const MmaShape& mma = product.mma;
    waits += each ? size_of(bound, product) / static_cast<double>(mma.m * mma.n * mma.k) / warpgroups : 1;
  });
  return waits;
}

// Rounds of a step in which threads stage what its products sum over.
double rounds_of(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double rounds = 0;
  for (const int number : bound.island.operators) {
    const Operator& op = diagram.operators[static_cast<std::size_t>(number)];
    if (op.kind != OperatorKind::contraction) continue;
    double sum = 1;
    for (const AxisId axis : diagram.array(op.inputs.front()).axes)
      if (!diagram.array(op.outputs.front()).has(axis)) sum *= step_extent(bound, axis);
    rounds += std::ceil(sum / static_cast<double>(bound.how.rounds.depth));
  }
  return rounds;
}

// What a block waits for in the rounds of a step while it neither multiplies nor stores: loads, of which the part that
// memory brings takes as long as a load from there, the bytes' way into the unit, and two barriers a round.
double waits_of_rounds(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps) {
  const double rounds = rounds_of(bound);
  const auto read = [&](Boundary from) {
    return static_cast<double>(island.traffic[static_cast<std::size_t>(from)][0]);
  };
  const double bytes = read(Boundary::l2), missed = bytes > 0 ? std::min(1.0, read(Boundary::hbm) / bytes) : 0;
  const double load = rates.l2_latency + missed * std::max(0.0, rates.hbm - rates.l2_latency);
  return rounds * (static_cast<double>(bound.how.rounds.waits) * load + rates.smem_chain +
                   2 * rates.block_barrier(warps_of_block(bound))) +
         (rates.l2 > 0 ? bytes / steps / rates.l2 : 0);
}

// Clocks of a step that are bound by its tiles' copies: each takes its way from L2 or memory, and is issued as many steps
// ahead as the block has copies of the tiles beside the one at work. 0: nothing is copied ahead, or by the copy engine.
double copies_ahead(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps) {
  const std::int64_t ahead = stages_of_streams(bound) - 1;
  if (ahead < 1 || bound.how.loads_by != "cp.async" || !bound.how.uses_tensor_cores()) return 0;
  if (rates.cp_async <= 0 || rates.copy_l2 <= 0) return 0;
  const auto read = [&](Boundary from) {
    return static_cast<double>(island.traffic[static_cast<std::size_t>(from)][0]);
  };
  const double bytes = read(Boundary::l2) / steps,
               missed = bytes > 0 ? std::min(1.0, read(Boundary::hbm) * part_in_sequence(island) / read(Boundary::l2)) : 0;
  const double near = rates.copy_l2 + bytes / rates.cp_async,
               far = rates.hbm_unit > 0 ? rates.copy_hbm + bytes / rates.hbm_unit : near;
  return (near + missed * std::max(0.0, far - near)) / static_cast<double>(ahead);
}

// Bytes of results that threads store in the steps themselves, as a stream moves their tiles.
double stored_in_steps(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double bytes = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (stores(bound, id) && bound.streams(id))
      bytes += static_cast<double>(bytes_of(bound.point, diagram, id, counts_of_store(bound, id).stored));
  }
  return bytes;
}

StepLatency latency_of(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates,
                       double steps, const Faster& faster) {
  double products = 0;
  for_each_product(bound, [&](const Product&) { ++products; });
  const auto runs = [&](Pipe which) { return island.work.pipes[static_cast<std::size_t>(which)] > 0; };
  const double shorter = faster_by(faster, Lever::latency);
  StepLatency latency;
  latency.matrix =
      bound.how.tensor_path == "wgmma" ? waits_for_products(bound) * rates.wgmma_wait : products * (rates.mma_chain + rates.smem_chain);
  // Who goes at its own pace finds its tiles there, where copies run ahead; in lockstep a buffer is free for the next
  // copy when the last warp has left it.
  const bool ahead = bound.how.overlap != Overlap::lockstep && stages_of_streams(bound) > 1;
  if (bound.how.loads_by == "tma" && !ahead) latency.matrix += products * rates.mbarrier;
  if (bound.how.loads_by == "tma" && ahead) latency.barrier = rates.mbarrier_passed;  // other waits: under products
  if (runs(Pipe::xu)) latency.special = rates.ex2_chain + 3 * rates.fma_chain;
  if (runs(Pipe::shuffle))
    latency.alu = bound.how.work[static_cast<std::size_t>(Pipe::shuffle)].per_row_step *
                  (rates.shuffle_chain + rates.max_chain);  // what comes is joined with what was there
  if (bound.how.overlap == Overlap::lockstep) latency.barrier = rates.block_barrier(warps_of_block(bound));
  if (bound.how.rounds.depth > 0) latency.barrier = waits_of_rounds(bound, island, rates, steps);
  if (!bound.how.waits.loads.empty())
    latency.barrier = (block_waits(bound, island, rates).again + (bound.how.early_launch ? 0 : rates.block_start)) /
                      static_cast<double>(steps_of(bound.nest));
  // Copies of threads queue behind their stores, as at a block's end (sm_step).
  if (bound.how.loads_by == "cp.async" && bound.how.uses_tensor_cores() && rates.local_store > 0)
    latency.barrier += stored_in_steps(bound) / steps / rates.local_store;
  if (bound.how.loads_in_product) latency.matrix += products * rates.l2_latency;
  latency.local = local_latency(bound, island, rates, steps);
  for (double* each : {&latency.matrix, &latency.special, &latency.alu, &latency.barrier, &latency.local}) *each /= shorter;
  return latency;
}

// Of the FLOP of all products of a step, the last one's.
double last_product_share(const BoundIsland& bound) {
  double last = 0, all = 0;
  for_each_product(bound, [&](const Product& product) { all += last = size_of(bound, product); });
  return all > 0 ? last / all : 0;
}

// Of the vector work of a group's step, what runs under its own last product. Where that takes its operand in parts,
// the special functions of each part run under the part before: all but those of the first, of the first of the warps.
// Under wgmma everything takes longer, maxima above all.
double hidden_under_products(const BoundIsland& bound, const StepDemand& d, const SmRates& rates, double together) {
  const double last = last_product_share(bound);
  if (const std::int64_t part = bound.how.special_parts; part > 0 && bound.plan.schedule.diagram.guard) {
    const double first = static_cast<double>(part) / step_extent(bound, bound.plan.schedule.diagram.guard->key);
    const double special = std::max(d.xu, d.fma_scores) * std::max(0.0, 1 - first / together);
    return std::min(std::max(d.tensor, d.smem) * last, special);
  }
  if (!bound.variant || !bound.variant->pipelined) return 0;
  const SmRates::Beside beside = bound.how.tensor_path == "wgmma" ? rates.wgmma : SmRates::Beside{};
  double left = d.tensor * last, hidden = 0;
  const double special = std::max(d.xu, d.fma_scores), slower_special = d.xu >= d.fma_scores ? beside.xu : beside.fma;
  for (const auto& [work, slower] : {std::pair(d.alu, beside.alu), std::pair(special, slower_special)}) {
    const double part = std::min(work, left / (1 + slower));
    hidden += part, left -= part * (1 + slower);
  }
  return hidden;
}

// A customer: warps that go through a step together, `together` of them a scheduler. They are in the same phase at the
// same time, so a phase takes what they ask of its unit, or what one of them asks and waits for.
Network customer(const BoundIsland& bound, const StepDemand& d, const StepLatency& latency, const SmRates& rates,
                 double together) {
  // Blocks without products: each loads, computes and stores on its own; they share memory and the schedulers.
  if (!bound.how.waits.loads.empty())
    return {{d.memory, std::max({d.issue, d.xu, d.fma_scores + d.fma_outputs, d.alu + d.threads})}, latency.barrier};
  // Products of threads: every instruction takes a slot of the scheduler, which none of the pipes outlasts but rarely.
  if (bound.how.rounds.depth > 0)
    return {{d.smem, std::max({d.issue, d.xu, d.fma_scores + d.fma_outputs, d.alu + d.threads})}, latency.barrier};
  // Warps of mma.sync copy, work out addresses and multiply in turn; beside wgmma addresses run under products.
  // Who takes turns comes to every unit in the same order, for the same time each.
  const bool in_order = bound.how.tensor_path == "mma.sync", wgmma = bound.how.tensor_path == "wgmma";
  const double matrix = wgmma ? std::max({d.products, d.smem - d.bulk, d.threads})
                              : std::max({d.tensor, d.smem, in_order ? 0 : d.threads});
  Network network{{matrix, std::max(d.xu, d.fma_scores), d.alu + (in_order ? d.threads : 0), d.fma_outputs},
                  latency.barrier, d.issue, bound.how.overlap == Overlap::ping_pong};
  if (in_order) network.delay += std::max(d.tensor, d.smem - d.copies) + d.copies - network.demand[0];
  const std::array<double, 4> waits{latency.matrix, latency.special, latency.alu, 0};
  for (std::size_t i = 0; i < waits.size(); ++i)
    network.delay += std::max(0.0, network.demand[i] / together + waits[i] - network.demand[i]);
  network.demand[4] = d.local, network.delay += latency.local;
  // Warpgroups in lockstep queue their products one behind the other and wait for the last: nothing covers its end.
  if (bound.how.tensor_path == "wgmma" && together > 1) network.delay += latency.matrix;
  network.delay -= hidden_under_products(bound, d, rates, together);
  // Warps of mma.sync wait for the fixed latencies of their own instructions, pipes free or not, and for all else.
  if (in_order && bound.how.stall_clocks > 0) {
    double waiting = latency.barrier + latency.local, served = 0;
    for (const double each : waits) waiting += each;
    for (const double each : network.demand) served += each;
    network.delay = std::max(network.delay, d.issue / together * bound.how.stall_clocks + waiting - served);
  }
  return network;
}

// Clocks of a customer's step while `customers` share the unit. mma.sync: pipes beside it hold it up. wgmma: they run
// slower the more of the time others keep the tensor cores busy, which depends on the answer.
double round_of(const BoundIsland& bound, const Network& alone, const StepDemand& d, const SmRates& rates,
                std::int64_t customers) {
  Network network = alone;
  const double floor = static_cast<double>(customers) * d.smem;
  if (customers == 1) return std::max(floor, network.round(1));
  if (bound.how.tensor_path == "mma.sync") {
    const double held = d.tensor + rates.mma.xu * d.xu + rates.mma.fma * (d.fma_scores + d.fma_outputs) +
                        rates.mma.alu * (d.alu + d.threads);
    const double vector = alone.demand[1] + alone.demand[2] + alone.demand[3],
                 more = std::clamp(held - alone.demand[0], 0.0, vector);
    network.demand[0] += more;
    for (std::size_t i = 1; i < 4; ++i) network.demand[i] *= vector > 0 ? 1 - more / vector : 1;
    return network.round(customers);
  }
  if (bound.how.tensor_path != "wgmma") return network.round(customers);
  if (bound.how.overlap == Overlap::ping_pong && consumer_warps(bound) > 4) network.demand[0] += rates.turn;
  double round = network.round(customers);
  for (int i = 0; i < 8; ++i) {
    const double others = static_cast<double>(customers - 1) * d.tensor,
                 busy = std::min(1.0, others / std::max(1.0, round - d.tensor));
    network.demand[1] = alone.demand[1] * (1 + busy * (d.xu >= d.fma_scores ? rates.wgmma.xu : rates.wgmma.fma));
    network.demand[2] = alone.demand[2] * (1 + busy * rates.wgmma.alu);
    network.demand[3] = alone.demand[3] * (1 + busy * rates.wgmma.fma);
    const double before = std::exchange(round, network.round(customers));
    if (std::abs(round - before) < 1e-4 * before) break;
  }
  return std::max(floor, round);
}

}  // namespace

bool missing_sm_rate(const BoundIsland& bound, const IslandPrediction& island) {
  if (missing_sm_rate(bound.hardware)) return true;
  for (std::size_t i = 0; i < format_count; ++i)
    if (island.work.tensor_flop_in[i] > 0 && tensor_flop_per_clock(bound, static_cast<Format>(static_cast<int>(i))) < 0)
      return true;
  return false;
}

SmStep sm_step(const BoundIsland& bound, const IslandPrediction& island, double steps, const Faster& faster) {
  const SmRates rates = sm_rates(bound.hardware);
  SmStep step;
  const bool waits = !bound.how.waits.loads.empty();
  step.demand = demand_of(bound, island, rates, steps, faster);
  // In lockstep a block is one customer. Otherwise each warpgroup is one, with its part of the block's step.
  const bool lockstep = bound.how.overlap == Overlap::lockstep;
  const std::int64_t a_scheduler = std::max<std::int64_t>(1, consumer_warps(bound) / 4),
                     customers = lockstep ? 1 : a_scheduler;
  StepDemand part = step.demand;
  for (double* each : part.all()) *each /= static_cast<double>(customers);
  const Network alone = customer(bound, part, latency_of(bound, island, rates, steps, faster), rates,
                                 lockstep ? static_cast<double>(a_scheduler) : 1);
  step.latency = alone.delay;
  const std::int64_t resident = std::clamp<std::int64_t>(island.blocks_per_unit, 1, most_resident);
  for (std::int64_t j = 1; j <= resident; ++j)
    step.clocks.step[static_cast<std::size_t>(j - 1)] = round_of(bound, alone, part, rates, j * customers);
  const double shortest = copies_ahead(bound, island, rates, steps) / faster_by(faster, Lever::latency);
  for (double& clocks : step.clocks.step)
    if (clocks > 0) clocks = std::max(clocks, shortest);
  // A block begins with a copy from memory. One that stays begins with the copy engine's description of the tensors
  // too, and asks for each further tile's queries when the last scores are done: their copy runs under the last
  // product. All its warps wait for it, so they go through the first step together: one phase after the other.
  const double copy = rates.copy_hbm / faster_by(faster, Lever::latency),
               start = rates.block_start / faster_by(faster, Lever::latency);
  const double at_once = lockstep ? static_cast<double>(a_scheduler) : 1;
  double together = alone.delay + hidden_under_products(bound, part, rates, at_once);
  for (const double each : alone.demand) together += static_cast<double>(customers) * each;
  step.clocks.fixed =
      (bound.how.persistent ? std::max(0.0, copy - part.tensor * last_product_share(bound)) +
                                  std::max(0.0, together - step.clocks.step[0])
                            : start + copy);
  if (bound.how.persistent) step.once = start + rates.hbm / faster_by(faster, Lever::latency);
  if (waits) {
    const BlockWaits both = block_waits(bound, island, rates);
    step.clocks.fixed = step.once = 0, step.alone = both.alone - both.again;
    return step;
  }
  const AroundProducts around = around_products(bound);
  const double hz = highest_clock(bound.hardware, bound.how) / faster_by(faster, Lever::hbm);
  // A block that stays has the copy engine ask for its next tile before it stores, and goes on meanwhile; threads that
  // copy for themselves ask after that, and their loads queue behind the stores.
  const bool stores_run_on = bound.how.persistent && bound.how.loads_by == "tma";
  step.clocks.fixed += (around.load + (stores_run_on ? 0 : around.store)) * hz;
  step.once -= around.load * hz;  // the first blocks' tiles are the launch's start
  return step;
}

}  // namespace tilescope
