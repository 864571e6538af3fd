#include "predict/sm/latency.h"

#include <algorithm>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/grid/issue_order.h"
#include "predict/point/code_of.h"
#include "predict/point/mechanisms.h"
#include "predict/sm/block_waits.h"

namespace tilescope {
namespace {

// Waits of a step for spilled registers: loads that nothing covers, one after the other, and what a block's few warps
// need to store beyond the time in which the unit could.
double local_latency(const LaunchAtSm& launch, const SmRates& rates, double steps) {
  const BoundIsland& bound = launch.bound;
  if (launch.counts.local.stored + launch.counts.local.loaded == 0 || rates.local_store_warp == 0) return 0;
  const LocalTraffic& local = launch.counts.local;
  const double missed = local.loaded > 0 ? static_cast<double>(local.missed) / static_cast<double>(local.loaded) : 0;
  const double of_block =
      std::min(rates.local_store, rates.local_store_warp * static_cast<double>(consumer_warps(bound)));
  return bound.variant->local.waits * (missed * rates.local_latency + (1 - missed) * rates.local_latency_l1) +
         static_cast<double>(local.stored) / steps * (1 / of_block - 1 / rates.local_store);
}

// Waits of a step for products: one each, or one for every instruction where the compiler put it so.
double waits_for_products(const BoundIsland& bound) {
  const bool each =
      bound.variant && bound.variant->waits_each && bound.how.path().warpgroup && at_work(bound, Mechanism::waits_each);
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

// What a block waits for in the rounds of a step beside its instructions: loads, the bytes' way into the unit, shared
// memory, and two barriers a round.
double clocks_of_rounds(const LaunchAtSm& launch, const SmRates& rates, double steps, Inputs inputs) {
  const BoundIsland& bound = launch.bound;
  const Rounds& how = bound.how.rounds;
  const RoundWaits& waits = launch.round_waits[static_cast<std::size_t>(inputs)];
  const double loads = waits.near * rates.l2_near + waits.far * rates.l2_far + waits.memory * rates.far_memory(),
               shared = static_cast<double>(number_for(bound, how.shared_waits)),
               bytes = static_cast<double>(launch.counts.traffic.bytes[Boundary::l2][0]);
  return rounds_of(bound) * (loads + (1 + shared) * rates.smem_chain + 2 * rates.block_barrier(warps_of_block(bound))) +
         (rates.l2 > 0 ? bytes / steps / rates.l2 : 0);
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

// Of the blocks that run at once, those that stream the same tiles. They ask for a tile at about the same time. The
// first to ask waits for memory. The others are anywhere from beside it to where they find the tile in the L2: whoever
// lags more catches up. Spread evenly, they wait for half of the difference.
double blocks_side_by_side(const LaunchAtSm& launch) {
  const BoundIsland& bound = launch.bound;
  if (!begin_alike(bound)) return 1;
  const Nest nest = in_issue_order(bound);
  const Diagram& diagram = bound.plan.schedule.diagram;
  double least = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id) || !bound.streams(id)) continue;
    std::int64_t at_once = std::min(grid_blocks(bound), resident_blocks(bound, launch.counts.occupancy));
    double same = 1;
    for (std::size_t j = nest.loop_count; j-- > 0 && at_once > 1;) {
      const BoundLoop& loop = nest.loops[j];
      if (!loop.group) continue;
      if (!nest.carries(diagram.array(id).axes, loop.axis)) same *= static_cast<double>(std::min(at_once, loop.trips));
      at_once = ceil_div(at_once, loop.trips);
    }
    least = least > 0 ? std::min(least, same) : same;
  }
  return std::max(1.0, least);
}

}  // namespace

double missed_part(const LaunchAtSm& launch, Inputs inputs) {
  const auto read = [&](Boundary from) { return static_cast<double>(launch.counts.traffic.bytes[from][0]); };
  if (inputs == Inputs::in_l2) return 0;
  const double from_memory = inputs == Inputs::in_memory ? read(Boundary::hbm) : launch.memory.read_in_sequence;
  if (from_memory <= 0 || read(Boundary::l2) <= 0) return 0;
  const double waiting = (1 + blocks_side_by_side(launch)) / 2;
  return std::min(1.0, waiting * from_memory / read(Boundary::l2));
}

StepLatency latency_of(const LaunchAtSm& launch, const SmRates& rates, double steps, Inputs inputs,
                       const Faster& faster) {
  const BoundIsland& bound = launch.bound;
  double products = 0;
  for_each_product(bound, [&](const Product&) { ++products; });
  const auto runs = [&](Pipe which) { return launch.counts.work.pipes[static_cast<std::size_t>(which)] > 0; };
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
    latency.alu =
        shuffles_of_row(bound) * (rates.shuffle_chain + rates.max_chain);  // what comes is joined with what was there
  if (bound.how.overlap == Overlap::lockstep)
    latency.barrier = static_cast<double>(std::max<std::int64_t>(1, bound.how.waits.barriers)) *
                      rates.block_barrier(warps_of_block(bound));
  if (!at_work(bound, Mechanism::barriers)) latency.barrier = 0;
  if (bound.how.rounds.depth > 0 && at_work(bound, Mechanism::round_waits))
    latency.barrier = clocks_of_rounds(launch, rates, steps, inputs);
  if (!bound.how.waits.loads.empty() && at_work(bound, Mechanism::load_waits))
    latency.barrier =
        (block_waits(bound, launch.counts, rates).warm + (bound.how.early_launch ? 0 : rates.block_start)) /
        static_cast<double>(steps_of(bound.nest));
  // Copies of threads queue behind their stores, as at a block's end (sm_step).
  if (bound.how.loads_by == CopyPath::cp_async && bound.how.uses_tensor_cores() && rates.local_store > 0 &&
      at_work(bound, Mechanism::store_waits))
    latency.barrier += latency.stores = stored_in_steps(bound, false) / steps / rates.local_store;
  if (bound.how.loads_in_product && at_work(bound, Mechanism::loads_in_product))
    latency.matrix += products * rates.l2_latency;
  const double parts = at_work(bound, Mechanism::product_parts) ? parts_of_products(bound) : 1;
  latency.matrix *= parts, latency.special *= parts;
  if (at_work(bound, Mechanism::spill_waits)) latency.local = local_latency(launch, rates, steps);
  // Rows' statistics that come back in every step queue behind the tiles that threads copy.
  if (bound.how.row_load > 0 && rates.cp_async > 0 && stored_in_steps(bound, false) > 0 &&
      at_work(bound, Mechanism::statistics)) {
    const double bytes = static_cast<double>(launch.counts.traffic.bytes[Boundary::l2][0]) / steps,
                 near = rates.l2_latency + bytes / rates.cp_async,
                 far = rates.hbm_unit > 0 ? rates.hbm + bytes / rates.hbm_unit : near;
    latency.statistics = near + missed_part(launch, inputs) * std::max(0.0, far - near);
  }
  if (!at_work(bound, Mechanism::product_waits)) latency.matrix = 0;
  if (!at_work(bound, Mechanism::special_waits)) latency.special = 0;
  if (!at_work(bound, Mechanism::row_waits)) latency.alu = 0;
  for (double* each : {&latency.matrix, &latency.special, &latency.alu, &latency.barrier, &latency.local,
                       &latency.stores, &latency.statistics})
    *each /= shorter;
  return latency;
}

}  // namespace tilescope
