#include "predict/sm/demand.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "predict/point/mechanisms.h"
#include "predict/traffic/sector_reads.h"

namespace tilescope {
namespace {

// Clocks of one multiprocessor for the island's matrix instructions.
double tensor_clocks(const LaunchAtSm& launch) {
  double clocks = 0;
  for_each_format(launch.counts.work, [&](Format format, double flop) {
    clocks += flop / tensor_flop_per_clock(launch.bound.hardware, launch.bound.how, format);
  });
  return clocks;
}

constexpr double warp_threads = 32, schedulers = 4, bytes_of_load = 16 * warp_threads;

// Warp instructions a scheduler of products in mma.sync: 16 bytes a lane of their operands, and the instructions.
double issue_of_products(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  if (!bound.how.path().from_registers) return 0;
  const MmaShape& mma = bound.how.mma;
  return (static_cast<double>(launch.counts.work.tensor_flop) / (2 * static_cast<double>(mma.m * mma.n * mma.k)) +
          static_cast<double>(launch.counts.traffic.operand_bytes) / bytes_of_load) /
         schedulers;
}

// Bytes that threads themselves copy or store to shared memory.
double copied_by_threads(const LaunchAtSm& launch) {
  const Traffic& traffic = launch.counts.traffic;
  return static_cast<double>(traffic.bytes[Boundary::smem][1] - traffic.bulk_smem[1]);
}

// Warp instructions a scheduler, as far as the counts tell: of products, of the pipes, and 16 bytes a lane of what
// warps themselves copy to shared memory.
double issue_of(const LaunchAtSm& launch) {
  const auto& pipes = launch.counts.work.pipes;
  const double threads = static_cast<double>(std::accumulate(pipes.begin(), pipes.end(), std::int64_t{0})) -
                         operations(pipes, {Pipe::shared}),
               copied = launch.bound.how.load().bulk ? 0 : copied_by_threads(launch) / bytes_of_load;
  return issue_of_products(launch) + (threads / warp_threads + copied) / schedulers;
}

// Clocks of one multiprocessor that its share of the island's bytes takes from memory or L2, all of them at it.
double memory_clocks(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  const double hbm = launch.memory.hbm / launch.faster_by(Lever::hbm),
               l2 = launch.memory.l2 / launch.faster_by(Lever::l2),
               units = static_cast<double>(std::min(grid_blocks(bound), bound.hardware.units.value)),
               all = std::max({0.0, hbm, l2}) * launch.memory_hz * units;
  return launch.rates.l2 > 0 ? std::max(all, moved(launch.counts, Boundary::l2) / launch.rates.l2) : all;
}

// Clocks of one multiprocessor in which what threads store in the steps leaves, each kind at its rate.
double leaving_clocks(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const auto at = [](double bytes, double rate) { return rate > 0 ? bytes / rate : 0; };
  const bool multiplies = bound.how.uses_tensor_cores();
  const double added = multiplies && bound.how.path().warpgroup ? stored_in_steps(bound, true) : 0,
               stored = multiplies ? stored_in_steps(bound, false) - added : 0;
  return at(stored + static_cast<double>(launch.counts.local.stored), rates.local_store) +
         at(added, rates.reductions * launch.faster_by(Lever::l2)) +
         at(static_cast<double>(launch.counts.local.missed), rates.l2);
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

StepDemand demand_of(const LaunchAtSm& launch, double steps) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const Work& work = launch.counts.work;
  const auto all = [&](std::initializer_list<Pipe> pipes) { return operations(work.pipes, pipes); };
  const auto outputs = [&](std::initializer_list<Pipe> pipes) { return operations(work.of_outputs, pipes); };
  const auto threads = [&](std::initializer_list<Pipe> pipes) { return operations(work.of_threads, pipes); };
  const auto scores = [&](std::initializer_list<Pipe> pipes) { return all(pipes) - outputs(pipes) - threads(pipes); };
  const double fma = rates.fma * launch.faster_by(Lever::fma), alu = rates.alu * launch.faster_by(Lever::alu),
               conversion = rates.conversion * launch.faster_by(Lever::alu),
               smem = rates.smem * launch.faster_by(Lever::smem);
  constexpr double wavefront = 128;  // bytes of all banks
  static constexpr std::initializer_list<Pipe> fp32 = {Pipe::ffma, Pipe::fadd, Pipe::fmul};
  StepDemand demand;
  demand.tensor = tensor_clocks(launch) / launch.faster_by(Lever::tensor);
  demand.smem = (moved(launch.counts, Boundary::smem) + wavefront * all({Pipe::shared})) / smem;
  demand.xu = all({Pipe::xu}) / (rates.xu * launch.faster_by(Lever::xu));
  demand.fma_scores = scores(fp32) / fma;
  demand.fma_outputs = outputs(fp32) / fma;
  demand.threads = threads({Pipe::alu}) / alu;
  demand.alu = (all({Pipe::alu}) - threads({Pipe::alu})) / alu + all({Pipe::conversion}) / conversion;
  demand.issue = issue_of(launch);
  if (const Rounds& rounds = bound.how.rounds; rounds.depth > 0 && at_work(bound, Mechanism::bank_waits))
    demand.issue += steps * rounds_of(bound) * static_cast<double>(warps_of_block(bound)) / schedulers *
                    static_cast<double>(number_for(bound, rounds.bank_waits));
  demand.memory = memory_clocks(launch);
  if (at_work(bound, Mechanism::leaving_bytes)) demand.leaving = leaving_clocks(launch);
  for (double* each : demand.all()) *each /= steps;
  return demand;
}

}  // namespace tilescope
