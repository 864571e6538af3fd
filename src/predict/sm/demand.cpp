#include "predict/sm/demand.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/checked.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/work/code_work.h"

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

// Warp instructions a scheduler, as far as the counts tell: of the pipes, of products of mma.sync, and 16 bytes a lane
// of their operands and of what warps themselves copy or store to shared memory.
double issue_of(const LaunchAtSm& launch) {
  const IslandImplementation& how = launch.bound.how;
  const auto& [work, traffic] = std::tie(launch.counts.work, launch.counts.traffic);
  double issued = (static_cast<double>(std::accumulate(work.pipes.begin(), work.pipes.end(), std::int64_t{0})) -
                   operations(work.pipes, {Pipe::shared})) /
                  warp_threads;
  if (how.path().from_registers)
    issued += static_cast<double>(work.tensor_flop) / (2 * static_cast<double>(how.mma.m * how.mma.n * how.mma.k)) +
              static_cast<double>(traffic.operand_bytes) / bytes_of_load;
  if (!how.load().bulk)
    issued += static_cast<double>(traffic.bytes[Boundary::smem][1] - traffic.bulk_smem[1]) / bytes_of_load;
  return issued / schedulers;
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
  const double added = multiplies && bound.how.path().warpgroup ? stored_bytes(bound, StoredBytes::added_in_steps) : 0,
               stored = multiplies ? stored_bytes(bound, StoredBytes::in_steps) - added : 0;
  return at(stored + static_cast<double>(launch.counts.local.stored), rates.local_store) +
         at(added, rates.reductions * launch.faster_by(Lever::l2)) +
         at(static_cast<double>(launch.counts.local.missed), rates.l2);
}

}  // namespace

double stored_bytes(const BoundIsland& bound, StoredBytes which) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double bytes = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool is_added = bound.plan.schedule.how_stored(bound.island, id).by == Accumulate::reduction;
    if (!stores(bound, id) || bound.streams(id) != (which != StoredBytes::after_steps)) continue;
    if (is_added || which != StoredBytes::added_in_steps)
      bytes += static_cast<double>(bytes_of(bound.point, diagram, id, counts_of_store(bound, id).stored));
  }
  return bytes;
}

StepDemand demand_of(const LaunchAtSm& launch, double steps) {
  const BoundIsland& bound = launch.bound;
  const SmRates& rates = launch.rates;
  const auto at = [&](std::initializer_list<Pipe> pipes, double rate, Lever lever) {
    return operations(launch.counts.work.pipes, pipes) / (rate * launch.faster_by(lever));
  };
  constexpr double wavefront = 128;  // bytes of all banks
  StepDemand demand;
  demand.tensor = tensor_clocks(launch) / launch.faster_by(Lever::tensor);
  demand.smem = moved(launch.counts, Boundary::smem) / (rates.smem * launch.faster_by(Lever::smem)) +
                at({Pipe::shared}, rates.smem / wavefront, Lever::smem);
  demand.xu = at({Pipe::xu}, rates.xu, Lever::xu);
  demand.fma = at({Pipe::ffma, Pipe::fadd, Pipe::fmul}, rates.fma, Lever::fma);
  demand.alu = at({Pipe::alu}, rates.alu, Lever::alu) + at({Pipe::conversion}, rates.conversion, Lever::alu);
  demand.issue = issue_of(launch);
  if (works_in_rounds(bound) && at_work(bound, Mechanism::bank_waits))
    demand.issue += steps * rounds_of_step(bound) * static_cast<double>(warps_of_block(bound)) / schedulers *
                    of_step(bound, CodeCount::bank_waits);
  demand.memory = memory_clocks(launch);
  if (at_work(bound, Mechanism::leaving_bytes)) demand.leaving = leaving_clocks(launch);
  for (double* each : demand.all()) *each /= steps;
  return demand;
}

}  // namespace tilescope
