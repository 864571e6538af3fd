#include "predict/sm/demand.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "predict/point/mechanisms.h"
#include "predict/traffic/sector_reads.h"

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
                tensor_flop_per_clock(bound.hardware, bound.how, static_cast<Format>(static_cast<int>(i)));
  return clocks;
}

constexpr double lanes = 32, schedulers = 4, bytes_of_load = 16 * lanes;

// Warp instructions a scheduler of products in mma.sync: 16 bytes a lane of their operands, and the instructions.
double issue_of_products(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  if (!bound.how.path().from_registers) return 0;
  const MmaShape& mma = bound.how.mma;
  return (static_cast<double>(launch.counts.work.tensor_flop) / (2 * static_cast<double>(mma.m * mma.n * mma.k)) +
          static_cast<double>(launch.counts.traffic.operand_bytes) / bytes_of_load) /
         schedulers;
}

// Warp instructions a scheduler, as far as the counts tell: of products, of the pipes, and 16 bytes a lane of what
// warps themselves copy to shared memory.
double issue_of(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  double threads = 0, warps = 0;
  for (const std::int64_t each : launch.counts.work.pipes) threads += static_cast<double>(each);
  threads -= pipe(launch.counts.work.pipes, Pipe::shared);
  const auto& smem = launch.counts.traffic.bytes[Boundary::smem];
  if (!bound.how.load().bulk)
    warps += static_cast<double>(smem[1] - launch.counts.traffic.bulk_smem[1]) / bytes_of_load;
  return issue_of_products(launch) + (threads / lanes + warps) / schedulers;
}

// Clocks of one multiprocessor that its share of the island's bytes takes from memory or L2, all of them at it.
double memory_clocks(const LaunchAtSm& launch, const SmRates& rates, const Faster& faster) {
  const BoundIsland& bound = launch.bound;
  const double hbm = launch.memory.hbm / faster_by(faster, Lever::hbm),
               l2 = launch.memory.l2 / faster_by(faster, Lever::l2);
  const double units = static_cast<double>(std::min(grid_blocks(bound), bound.hardware.units.value));
  const double all = std::max({0.0, hbm, l2}) * highest_clock(bound.hardware, bound.how) * units;
  if (rates.l2 <= 0) return all;
  return std::max(all, moved(launch.counts, Boundary::l2) / rates.l2);
}

// Clocks of a step's products one after the other, `tensor` in all, none faster than its operands come.
double products_clocks(const BoundIsland& bound, double tensor, double smem_rate) {
  double all = 0, clocks = 0;
  for_each_product(bound, [&](const Product& product) { all += product.multiply_adds; });
  for_each_product(bound, [&](const Product& product) {
    double bytes = 0;
    for (const Operand& operand : product.operands)
      if (operand.in_smem && !operand.kept)
        bytes += static_cast<double>(fetched_tile_bytes(bound, product, operand)) * static_cast<double>(operand.copies);
    clocks += std::max(tensor * product.multiply_adds / all, bytes / smem_rate);
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

}  // namespace

double rounds_of(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double rounds = 0;
  for (const int number : bound.island.operators) {
    const Operator& op = diagram.operators[static_cast<std::size_t>(number)];
    if (op.kind != OperatorKind::contraction) continue;
    double sum = 1;
    for (const AxisId axis : diagram.array(op.inputs.front()).axes)
      if (!diagram.array(op.outputs.front()).has(axis)) sum *= extent_of_step(bound, axis);
    rounds += std::ceil(sum / static_cast<double>(bound.how.rounds.depth));
  }
  return rounds;
}

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

namespace {

// Clocks of one multiprocessor in which what threads store in the steps leaves, each kind at its rate.
double leaving_clocks(const LaunchAtSm& launch, const SmRates& rates, const Faster& faster) {
  const BoundIsland& bound = launch.bound;
  const auto at = [](double bytes, double rate) { return rate > 0 ? bytes / rate : 0; };
  const bool multiplies = bound.how.uses_tensor_cores();
  const double added = multiplies && bound.how.path().warpgroup ? stored_in_steps(bound, true) : 0,
               stored = multiplies ? stored_in_steps(bound, false) - added : 0;
  return at(stored + static_cast<double>(launch.counts.local.stored), rates.local_store) +
         at(added, rates.reductions * faster_by(faster, Lever::l2)) +
         at(static_cast<double>(launch.counts.local.missed), rates.l2);
}

}  // namespace

StepDemand demand_of(const LaunchAtSm& launch, const SmRates& rates, double steps, const Faster& faster) {
  const BoundIsland& bound = launch.bound;
  const Work& work = launch.counts.work;
  const auto scores = [&](Pipe which) {
    return pipe(work.pipes, which) - pipe(work.of_outputs, which) - pipe(work.of_threads, which);
  };
  const auto outputs = [&](Pipe which) { return pipe(work.of_outputs, which); };
  const double fma = rates.fma * faster_by(faster, Lever::fma), alu = rates.alu * faster_by(faster, Lever::alu);
  const double conversion = rates.conversion * faster_by(faster, Lever::alu);
  const auto& smem = launch.counts.traffic.bytes[Boundary::smem];
  StepDemand demand;
  demand.tensor = tensor_clocks(bound, work) / faster_by(faster, Lever::tensor);
  constexpr double wavefront = 128;  // bytes of all banks
  demand.smem =
      (static_cast<double>(smem[0]) + static_cast<double>(smem[1]) + wavefront * pipe(work.pipes, Pipe::shared)) /
      (rates.smem * faster_by(faster, Lever::smem));
  demand.bulk = static_cast<double>(launch.counts.traffic.bulk_smem[1]) / (rates.smem * faster_by(faster, Lever::smem));
  demand.copies =
      static_cast<double>(smem[1] - launch.counts.traffic.bulk_smem[1]) / (rates.smem * faster_by(faster, Lever::smem));
  demand.xu = pipe(work.pipes, Pipe::xu) / (rates.xu * faster_by(faster, Lever::xu));
  demand.fma_scores = (scores(Pipe::ffma) + scores(Pipe::fadd) + scores(Pipe::fmul)) / fma;
  demand.fma_outputs = (outputs(Pipe::ffma) + outputs(Pipe::fadd) + outputs(Pipe::fmul)) / fma;
  if (bound.how.path().warpgroup && score_products(bound) > 1 && at_work(bound, Mechanism::later_scores)) {
    const double later = (scores(Pipe::fadd) + scores(Pipe::fmul)) / fma;
    demand.fma_scores -= later, demand.fma_outputs += later;
  }
  demand.alu = (pipe(work.pipes, Pipe::alu) - pipe(work.of_threads, Pipe::alu)) / alu +
               pipe(work.pipes, Pipe::conversion) / conversion;
  demand.threads = pipe(work.of_threads, Pipe::alu) / alu;
  demand.issue = issue_of(launch), demand.issue_products = issue_of_products(launch);
  if (const Rounds& rounds = bound.how.rounds; rounds.depth > 0 && at_work(bound, Mechanism::bank_waits))
    demand.issue += steps * rounds_of(bound) * static_cast<double>(warps_of_block(bound)) / schedulers *
                    static_cast<double>(number_for(bound, rounds.bank_waits));
  demand.memory = memory_clocks(launch, rates, faster);
  if (at_work(bound, Mechanism::leaving_bytes)) demand.leaving = leaving_clocks(launch, rates, faster);
  for (double* each : demand.all()) *each /= steps;
  demand.products = at_work(bound, Mechanism::operand_fetches)
                        ? products_clocks(bound, demand.tensor, rates.smem * faster_by(faster, Lever::smem))
                        : demand.tensor;
  return demand;
}

}  // namespace tilescope
