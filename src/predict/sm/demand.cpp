#include "predict/sm/demand.h"

#include <algorithm>
#include <cmath>

#include "predict/sm/block_waits.h"
#include "predict/time/time_parts.h"

namespace tilescope {
namespace {

double pipe(const std::array<std::int64_t, pipe_count>& list, Pipe which) {
  return static_cast<double>(list[static_cast<std::size_t>(which)]);
}

// Clocks of one multiprocessor for the island's matrix instructions.
double tensor_clocks(const BoundIsland& bound, const Work& work) {
  double clocks = 0;
  for (std::size_t i = 0; i < format_count; ++i)
    if (work.tensor_flop_in[i] > 0)
      clocks += static_cast<double>(work.tensor_flop_in[i]) /
                tensor_flop_per_clock(bound, static_cast<Format>(static_cast<int>(i)));
  return clocks;
}

constexpr double lanes = 32, schedulers = 4, bytes_of_load = 16 * lanes;

// Warp instructions a scheduler of products in mma.sync: 16 bytes a lane of their operands, and the instructions.
double issue_of_products(const BoundIsland& bound, const IslandPrediction& island) {
  if (!bound.how.path().from_registers) return 0;
  const MmaShape& mma = bound.how.mma;
  return (static_cast<double>(island.work.tensor_flop) / (2 * static_cast<double>(mma.m * mma.n * mma.k)) +
          static_cast<double>(island.operand_bytes) / bytes_of_load) /
         schedulers;
}

// Warp instructions a scheduler, as far as the counts tell: of products, of the pipes, and 16 bytes a lane of what
// warps themselves copy to shared memory.
double issue_of(const BoundIsland& bound, const IslandPrediction& island) {
  double threads = 0, warps = 0;
  for (const std::int64_t each : island.work.pipes) threads += static_cast<double>(each);
  threads -= pipe(island.work.pipes, Pipe::shared);
  const auto& smem = island.traffic[static_cast<std::size_t>(Boundary::smem)];
  if (!bound.how.load().bulk) warps += static_cast<double>(smem[1] - island.bulk_smem[1]) / bytes_of_load;
  return issue_of_products(bound, island) + (threads / lanes + warps) / schedulers;
}

// Bytes in sectors that lanes which take a row's steps side by side read alone: each costs the way of its line, so
// those that share a line count in part.
double lone_sector_bytes(const BoundIsland& bound) {
  if (bound.how.step_lanes == 1 || !bound.hardware.line_bytes) return 0;
  const auto line = static_cast<double>(bound.hardware.line_bytes->value);
  double bytes = 0;
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const auto read = static_cast<double>(sector_read_bytes(bound, id));
    if (read == 0) continue;
    const double all = static_cast<double>(touched_bytes(bound, id, {})),
                 apart = all / static_cast<double>(steps_of(bound.nest));
    bytes += read * std::min(1.0, apart / line);
  }
  return bytes;
}

// Clocks of one multiprocessor that its share of the island's bytes takes from memory or L2, all of them at it.
double memory_clocks(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates,
                     const Faster& faster) {
  const auto seconds = [&](Resource resource, Lever lever) {
    return std::max(0.0, island.resource_seconds[static_cast<std::size_t>(resource)]) / faster_by(faster, lever);
  };
  const double units = static_cast<double>(std::min(grid_blocks(bound), bound.hardware.units.value));
  const double all = std::max(seconds(Resource::hbm, Lever::hbm), seconds(Resource::l2, Lever::l2)) *
                     part_in_sequence(island) * highest_clock(bound.hardware, bound.how) * units;
  if (rates.l2 <= 0) return all;
  const double scattered = rates.l2_scattered > 0 ? lone_sector_bytes(bound) : 0;
  return std::max(
      all, (moved(island, Boundary::l2) - scattered) / rates.l2 + (scattered > 0 ? scattered / rates.l2_scattered : 0));
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

}  // namespace

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

namespace {

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

// Products of a step whose results are tiles of scores. Special functions take the first one's; warpgroups wait for the
// next before they work on it, so that its sums and products do not run under them.
int score_products(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  int count = 0;
  for_each_product(bound, [&](const Product& product) {
    const Array& result = diagram.array(diagram.operators[static_cast<std::size_t>(product.op)].outputs.front());
    count += diagram.guard && result.has(diagram.guard->query) && result.has(diagram.guard->key);
  });
  return count;
}

// Bytes of results that threads store in the steps themselves, as a stream moves their tiles; `added`: only those that
// they add to what is there.
double stored_in_steps(const BoundIsland& bound, bool added) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double bytes = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool is_added = bound.plan.schedule.how_stored(bound.island, id).by == Accumulate::reduction;
    if (!stores(bound, id) || !bound.streams(id) || (added && !is_added)) continue;
    bytes += static_cast<double>(bytes_of(bound.point, diagram, id, counts_of_store(bound, id).stored));
  }
  return bytes;
}

}  // namespace

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
  if (bound.how.path().warpgroup && score_products(bound) > 1) {
    const double later = (scores(Pipe::fadd) + scores(Pipe::fmul)) / fma;
    demand.fma_scores -= later, demand.fma_outputs += later;
  }
  demand.alu = (pipe(work.pipes, Pipe::alu) - pipe(work.of_threads, Pipe::alu)) / alu +
               pipe(work.pipes, Pipe::conversion) / conversion;
  demand.threads = pipe(work.of_threads, Pipe::alu) / alu;
  demand.issue = issue_of(bound, island), demand.issue_products = issue_of_products(bound, island);
  if (const Rounds& rounds = bound.how.rounds; rounds.depth > 0)
    demand.issue += steps * rounds_of(bound) * static_cast<double>(warps_of_block(bound)) / schedulers *
                    static_cast<double>(number_for(bound, rounds.bank_waits));
  demand.memory = memory_clocks(bound, island, rates, faster);
  if (rates.local_store > 0 && rates.l2 > 0)
    demand.local = static_cast<double>(island.local.stored) / rates.local_store +
                   static_cast<double>(island.local.missed) / rates.l2;
  if (bound.how.path().warpgroup && rates.reductions > 0)
    demand.added = stored_in_steps(bound, true) / (rates.reductions * faster_by(faster, Lever::l2));
  for (double* each : demand.all()) *each /= steps;
  demand.products = products_clocks(bound, demand.tensor, rates.smem * faster_by(faster, Lever::smem));
  return demand;
}

namespace {

// Waits of a step for spilled registers: loads that nothing covers, one after the other, and what a block's few warps
// need to store beyond the time in which the unit could.
double local_latency(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps) {
  if (island.local.stored + island.local.loaded == 0 || rates.local_store_warp == 0) return 0;
  const LocalTraffic& local = island.local;
  const double missed = local.loaded > 0 ? static_cast<double>(local.missed) / static_cast<double>(local.loaded) : 0;
  const double of_block =
      std::min(rates.local_store, rates.local_store_warp * static_cast<double>(consumer_warps(bound)));
  return bound.variant->local.waits * (missed * rates.local_latency + (1 - missed) * rates.local_latency_l1) +
         static_cast<double>(local.stored) / steps * (1 / of_block - 1 / rates.local_store);
}

// Waits of a step for products: one each, or one for every instruction where the compiler put it so.
double waits_for_products(const BoundIsland& bound) {
  const bool each = bound.variant && bound.variant->waits_each && bound.how.path().warpgroup;
  const double warpgroups = std::max(1.0, static_cast<double>(consumer_warps(bound)) / 4);
  double waits = 0;
  for_each_product(bound, [&](const Product& product) {
    const MmaShape& mma = product.mma;
    waits += each ? size_of(bound, product) / static_cast<double>(mma.m * mma.n * mma.k) / warpgroups : 1;
  });
  return waits;
}

// Parts that a step's products are made in, one after the other: a warp goes through the waits of a step once for each.
double parts_of_products(const BoundIsland& bound) {
  std::int64_t parts = 1;
  for (const ProductImplementation& product : bound.how.products) parts = std::max(parts, product.parts);
  return static_cast<double>(parts);
}

// Of the bytes that enter the units, those that memory brings.
double missed_part(const IslandPrediction& island, Inputs inputs) {
  const auto read = [&](Boundary from) {
    return static_cast<double>(island.traffic[static_cast<std::size_t>(from)][0]);
  };
  if (inputs == Inputs::in_l2) return 0;
  const double from_memory = inputs == Inputs::in_memory ? read(Boundary::hbm) : island.read_in_sequence;
  return read(Boundary::l2) > 0 ? std::min(1.0, from_memory / read(Boundary::l2)) : 0;
}

// What a block waits for in the rounds of a step beside its instructions: loads, the bytes' way into the unit, shared
// memory, and two barriers a round.
double clocks_of_rounds(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                        Inputs inputs) {
  const Rounds& how = bound.how.rounds;
  const RoundWaits& waits = island.round_waits[static_cast<std::size_t>(inputs)];
  const double loads = waits.near * rates.l2_near + waits.far * rates.l2_far + waits.memory * rates.far_memory(),
               shared = static_cast<double>(number_for(bound, how.shared_waits)),
               bytes = static_cast<double>(island.traffic[static_cast<std::size_t>(Boundary::l2)][0]);
  return rounds_of(bound) * (loads + (1 + shared) * rates.smem_chain + 2 * rates.block_barrier(warps_of_block(bound))) +
         (rates.l2 > 0 ? bytes / steps / rates.l2 : 0);
}

}  // namespace

double copy_of_step(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                    Inputs inputs) {
  if (bound.how.loads_by != CopyPath::cp_async || !bound.how.uses_tensor_cores()) return 0;
  if (rates.cp_async <= 0 || rates.copy_l2 <= 0) return 0;
  const double bytes = static_cast<double>(island.traffic[static_cast<std::size_t>(Boundary::l2)][0]) / steps,
               missed = missed_part(island, inputs);
  // Units that began together ask together: a tile comes at the unit's rate, or at its share of all.
  const double all = static_cast<double>(std::min(grid_blocks(bound), bound.hardware.units.value)) *
                     highest_clock(bound.hardware, bound.how) / steps;
  const auto share = [&](Resource of) {
    return std::max(0.0, island.resource_seconds[static_cast<std::size_t>(of)]) * all;
  };
  const double near = rates.copy_l2 + std::max(bytes / rates.cp_async, share(Resource::l2)),
               far =
                   rates.hbm_unit > 0 ? rates.copy_hbm + std::max(bytes / rates.hbm_unit, share(Resource::hbm)) : near;
  return near + missed * std::max(0.0, far - near);
}

double copies_ahead(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                    Inputs inputs) {
  const std::int64_t ahead = stages_of_streams(bound) - 1;
  return ahead < 1 ? 0 : copy_of_step(bound, island, rates, steps, inputs) / static_cast<double>(ahead);
}

StepLatency latency_of(const BoundIsland& bound, const IslandPrediction& island, const SmRates& rates, double steps,
                       Inputs inputs, const Faster& faster) {
  double products = 0;
  for_each_product(bound, [&](const Product&) { ++products; });
  const auto runs = [&](Pipe which) { return island.work.pipes[static_cast<std::size_t>(which)] > 0; };
  const double shorter = faster_by(faster, Lever::latency);
  StepLatency latency;
  latency.matrix = bound.how.path().warpgroup ? waits_for_products(bound) * rates.wgmma_wait
                                              : products * (rates.mma_chain + rates.smem_chain);
  // Who goes at its own pace finds its tiles there, where copies run ahead; in lockstep a buffer is free for the next
  // copy when the last warp has left it.
  const bool ahead = bound.how.overlap != Overlap::lockstep && stages_of_streams(bound) > 1;
  if (bound.how.load().bulk && !ahead) latency.matrix += products * rates.mbarrier;
  if (bound.how.load().bulk && ahead) latency.barrier = rates.mbarrier_passed;  // other waits: under products
  if (runs(Pipe::xu)) latency.special = rates.ex2_chain + 3 * rates.fma_chain;
  // A product of wgmma takes all that the special functions give: it waits for the last of them, and its conversion.
  if (runs(Pipe::xu) && bound.how.path().warpgroup) latency.special += rates.ex2_chain + rates.fma_chain;
  if (runs(Pipe::shuffle))
    latency.alu = bound.how.work[static_cast<std::size_t>(Pipe::shuffle)].per_row_step *
                  (rates.shuffle_chain + rates.max_chain);  // what comes is joined with what was there
  if (bound.how.overlap == Overlap::lockstep)
    latency.barrier = static_cast<double>(std::max<std::int64_t>(1, bound.how.waits.barriers)) *
                      rates.block_barrier(warps_of_block(bound));
  if (bound.how.rounds.depth > 0) latency.barrier = clocks_of_rounds(bound, island, rates, steps, inputs);
  if (!bound.how.waits.loads.empty())
    latency.barrier = (block_waits(bound, island, rates).again + (bound.how.early_launch ? 0 : rates.block_start)) /
                      static_cast<double>(steps_of(bound.nest));
  // Copies of threads queue behind their stores, as at a block's end (sm_step).
  if (bound.how.loads_by == CopyPath::cp_async && bound.how.uses_tensor_cores() && rates.local_store > 0)
    latency.barrier += latency.stores = stored_in_steps(bound, false) / steps / rates.local_store;
  if (bound.how.loads_in_product) latency.matrix += products * rates.l2_latency;
  const double parts = parts_of_products(bound);
  latency.matrix *= parts, latency.special *= parts;
  latency.local = local_latency(bound, island, rates, steps);
  // Rows' statistics that come back in every step queue behind the tiles that threads copy.
  if (bound.how.row_load > 0 && rates.cp_async > 0 && stored_in_steps(bound, false) > 0) {
    const double bytes = static_cast<double>(island.traffic[static_cast<std::size_t>(Boundary::l2)][0]) / steps,
                 near = rates.l2_latency + bytes / rates.cp_async,
                 far = rates.hbm_unit > 0 ? rates.hbm + bytes / rates.hbm_unit : near;
    latency.statistics = near + missed_part(island, inputs) * std::max(0.0, far - near);
  }
  for (double* each : {&latency.matrix, &latency.special, &latency.alu, &latency.barrier, &latency.local,
                       &latency.stores, &latency.statistics})
    *each /= shorter;
  return latency;
}

}  // namespace tilescope
