// Time of an island at each resource: bytes and operations over its rate. A lower bound: nothing is serialised, no
// latency, no tail.
#include <algorithm>

#include "base/checked.h"
#include "predict/products.h"
#include "predict/time_parts.h"

namespace tilescope {
namespace {

constexpr double unknown = -1;

double bandwidth(const MemoryLevel* level) {
  if (!level) return unknown;
  if (level->measured_bandwidth_bytes_per_second) return level->measured_bandwidth_bytes_per_second->value;
  if (level->bandwidth_bytes_per_second) return level->bandwidth_bytes_per_second->value;
  return unknown;
}

double per_unit_rate(const HardwareProfile& hardware, const std::optional<Sourced<double>>& per_cycle) {
  if (!per_cycle || !hardware.boost_hz) return unknown;
  return per_cycle->value * static_cast<double>(hardware.units.value) * hardware.boost_hz->value;
}

// L2: bytes per second, or bytes per clock of the whole device at the boost clock.
double l2_bandwidth(const HardwareProfile& hardware) {
  const MemoryLevel* l2 = hardware.level("l2");
  const double stated = bandwidth(l2);
  if (stated > 0 || !l2 || !l2->bandwidth_bytes_per_cycle || !hardware.boost_hz) return stated;
  return l2->bandwidth_bytes_per_cycle->value * hardware.boost_hz->value;
}

// The same side by side in L2's ports; 0: not measured.
double measured_l2(const HardwareProfile& hardware, const IslandPrediction& island) {
  if (!hardware.measured || !hardware.measured->l2.read_private || !hardware.measured->l2.write) return 0;
  const auto& bytes = island.traffic[static_cast<std::size_t>(Boundary::l2)];
  // What a unit stores and loads again is next to nothing side by side: a rate of its own.
  const auto& both = hardware.measured->l2.write_and_read;
  const double spilled = both ? static_cast<double>(std::min(island.local.stored, island.local.missed)) : 0;
  return (both ? spilled / both->value : 0) +
         std::max((static_cast<double>(bytes[0]) - spilled) / hardware.measured->l2.read_private->value,
                  (static_cast<double>(bytes[1]) - spilled) / hardware.measured->l2.write->value);
}

// Rates are per second for the whole device; a product with an unknown factor is unknown.
double over(double amount, double rate) { return amount == 0 ? 0 : rate > 0 ? amount / rate : unknown; }

double tensor_rate(const BoundIsland& bound, Format format) {
  const auto clock = bound.hardware.tensor_hz ? bound.hardware.tensor_hz : bound.hardware.boost_hz;
  const double per_clock = tensor_flop_per_clock(bound, format);
  return per_clock > 0 && clock ? per_clock * static_cast<double>(bound.hardware.units.value) * clock->value : unknown;
}

// Products one after the other, each at the rate of the format it computes in.
double tensor_seconds(const BoundIsland& bound, const Work& work) {
  double seconds = 0;
  for (std::size_t i = 0; i < format_count; ++i) {
    const double part =
        over(static_cast<double>(work.tensor_flop_in[i]), tensor_rate(bound, static_cast<Format>(static_cast<int>(i))));
    if (part < 0) return unknown;
    seconds += part;
  }
  return seconds;
}

}  // namespace

double hbm_seconds(const HardwareProfile& hardware, double read, double written) {
  if (hardware.measured && hardware.measured->hbm.read && hardware.measured->hbm.write)
    return read / hardware.measured->hbm.read->value + written / hardware.measured->hbm.write->value;
  const double rate = bandwidth(hardware.level("hbm"));
  return rate > 0 ? (read + written) / rate : unknown;
}

namespace {

// Tiles of an array that a block asks for before its first step. They are all on their way together: the first is whole
// when nearly all have come.
std::int64_t asked_ahead(const BoundIsland& bound, ArrayId id) {
  if (!bound.streams(id)) return 1;
  const std::int64_t stages = stages_of(bound, id);
  // Threads ask for the tile that takes a buffer's place when they begin a step.
  const std::int64_t ahead = bound.how.loads_by == "tma" ? stages : stages - 1;
  return std::clamp<std::int64_t>(ahead, 1, std::max<std::int64_t>(1, steps_of(bound.nest)));
}

}  // namespace

LaunchStart launch_start(const BoundIsland& bound, const IslandPrediction& island) {
  const std::int64_t first = std::min(bound.nest.blocks(), bound.hardware.units.value *
                                                               std::max<std::int64_t>(1, island.blocks_per_unit));
  double bytes = 0;
  if (!bound.how.waits.loads.empty()) return {};  // its blocks' own waits
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id)) continue;
    std::int64_t sharers = 1;  // blocks that begin with the same tile
    for (const BoundLoop& loop : bound.nest.all())
      if (loop.group && !bound.nest.carries(diagram.array(id).axes, loop.axis)) sharers *= loop.trips;
    bytes += static_cast<double>(ceil_div(first, sharers)) * static_cast<double>(asked_ahead(bound, id) * tile_bytes(bound, id));
  }
  const double cold = std::max(0.0, hbm_seconds(bound.hardware, bytes, 0));
  const auto& measured = bound.hardware.measured;
  if (!measured || !measured->l2.read_private || !measured->l2.capacity_private) return {cold, cold};
  const bool stays = moved(island, Boundary::hbm) <= measured->l2.capacity_private->value;
  return {cold, stays ? bytes / measured->l2.read_private->value : cold};
}

AroundProducts around_products(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  double loaded = 0, distinct = 0, stored = 0;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (bound.streams(id)) continue;
    if (loads(bound, id)) {
      const Axes axes = diagram.array(id).axes;
      loaded += static_cast<double>(touched_bytes(bound, id, {}));
      distinct += static_cast<double>(bytes_of(bound.point, diagram, id, distinct_values(bound.nest, bound.live, axes, false)));
    }
    if (stores(bound, id))
      stored += static_cast<double>(bytes_of(bound.point, diagram, id, visits_of(bound, id).visits));
  }
  const std::int64_t blocks = std::max<std::int64_t>(1, bound.nest.blocks());
  const double share = static_cast<double>(std::min(blocks, bound.hardware.units.value)) / static_cast<double>(blocks);
  // What several blocks load comes from memory once, for all of them from the L2.
  const auto& measured = bound.hardware.measured;
  const double l2 = measured && measured->l2.read_private ? loaded * share / measured->l2.read_private->value : 0;
  return {std::max({0.0, hbm_seconds(bound.hardware, (l2 > 0 ? distinct : loaded) * share, 0), l2}),
          std::max(0.0, hbm_seconds(bound.hardware, 0, stored * share))};
}

double tensor_flop_per_clock(const BoundIsland& bound, Format format) {
  const HardwareProfile& hardware = bound.hardware;
  const auto full = hardware.tensor_flop_per_cycle.find(format);
  if (full == hardware.tensor_flop_per_cycle.end()) return unknown;
  const auto path = hardware.instruction_flop_per_cycle.find(bound.how.tensor_path);
  if (path == hardware.instruction_flop_per_cycle.end()) return full->second.value;
  const auto limit = path->second.find(format);
  return limit == path->second.end() ? full->second.value : limit->second.value;
}

std::array<double, resource_count> resource_seconds(const BoundIsland& bound, const IslandPrediction& island) {
  const HardwareProfile& hardware = bound.hardware;
  const MemoryLevel* smem = hardware.level("smem");
  const auto pipes = [&](std::initializer_list<Pipe> names) {
    double sum = 0;
    for (const Pipe pipe : names) sum += static_cast<double>(island.work.pipes[static_cast<std::size_t>(pipe)]);
    return sum;
  };
  const auto& hbm = island.traffic[static_cast<std::size_t>(Boundary::hbm)];
  const double l2 = measured_l2(hardware, island);
  return {
      hbm[0] + hbm[1] == 0 ? 0 : hbm_seconds(hardware, static_cast<double>(hbm[0]), static_cast<double>(hbm[1])),
      l2 > 0 ? l2 : over(moved(island, Boundary::l2), l2_bandwidth(hardware)),
      over(moved(island, Boundary::smem), smem ? per_unit_rate(hardware, smem->bandwidth_bytes_per_cycle) : unknown),
      tensor_seconds(bound, island.work),
      over(pipes({Pipe::xu}), per_unit_rate(hardware, hardware.exp2_per_cycle)),
      over(pipes({Pipe::ffma, Pipe::fadd, Pipe::fmul}), per_unit_rate(hardware, hardware.fp32_fma_per_cycle))};
}

}  // namespace tilescope
