// Time of an island at each resource: bytes and operations over its rate. A lower bound: nothing is serialised, no
// latency, no tail.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.h"
#include "predict/grid/block_order.h"
#include "predict/time/time_parts.h"
#include "predict/traffic/sectors.h"
#include "predict/work/products.h"

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

// s in which the L2 serves so many bytes that units read. What units of one group ask for together leaves the L2 once:
// streamed tiles, of which several units read the same at about the same time. None gets more than all of them reading
// the same bytes.
double l2_read_seconds(const BoundIsland& bound, const IslandPrediction& island, const Prediction& out, double bytes) {
  const auto& l2 = bound.hardware.measured->l2;
  const double each = bytes / l2.read_private->value;
  if (!l2.read_shared || !bound.hardware.l2_groups) return each;
  const std::int64_t at_work = std::min(bound.nest.blocks(), places(bound, island));
  double all = 0, leave = 0;
  for (const Term& term : out.terms) {
    if (term.island != bound.number || term.boundary != Boundary::l2 || term.direction != Direction::read) continue;
    const auto id = static_cast<ArrayId>(term.array);
    const double same =
        term.array >= 0 && bound.streams(id) ? static_cast<double>(at_work) / tiles_at_work(bound, id, at_work) : 1;
    all += static_cast<double>(term.bytes);
    leave += static_cast<double>(term.bytes) / asked_together(same, bound.hardware.l2_groups->value.size());
  }
  return all > 0 ? std::max(each * leave / all, bytes / l2.read_shared->value) : each;
}

// The same side by side in L2's ports; 0: not measured.
double measured_l2(const BoundIsland& bound, const IslandPrediction& island, const Prediction& out) {
  const HardwareProfile& hardware = bound.hardware;
  if (!hardware.measured || !hardware.measured->l2.read_private || !hardware.measured->l2.write) return 0;
  const auto& bytes = island.traffic[static_cast<std::size_t>(Boundary::l2)];
  // What a unit stores and loads again is next to nothing side by side: a rate of its own.
  const auto& both = hardware.measured->l2.write_and_read;
  const double spilled = both ? static_cast<double>(std::min(island.local.stored, island.local.missed)) : 0;
  return (both ? spilled / both->value : 0) +
         std::max(l2_read_seconds(bound, island, out, static_cast<double>(bytes[0]) - spilled),
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

double asked_together(double units, std::size_t groups) {
  const auto count = static_cast<double>(groups);
  return units <= 1 || groups == 0 ? 1 : units / (count * (1 - std::pow(1 - 1 / count, units)));
}

double tiles_at_work(const BoundIsland& bound, ArrayId id, std::int64_t blocks) {
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  std::array<bool, max_loops> own{};
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < bound.nest.loop_count; ++i)
    if (bound.nest.loops[i].group && bound.nest.carries(axes, bound.nest.loops[i].axis))
      own[i] = true, tiles *= bound.nest.loops[i].trips;
  if (tiles == 1) return 1;
  if (bound.point.l2 != L2Model::walk) {  // as if blocks of one tile followed one another
    const std::int64_t sharers = std::max<std::int64_t>(1, bound.nest.blocks() / tiles);
    return static_cast<double>(std::max<std::int64_t>(1, blocks / sharers));
  }
  const BlockOrder order(bound);
  std::set<BlockPlace> seen;
  for (std::int64_t i = 0; i < std::min(blocks, order.size()); ++i) {
    BlockPlace place = order.at(i);
    for (std::size_t loop = 0; loop < place.size(); ++loop)
      if (!own[loop]) place[loop] = 0;
    seen.insert(place);
  }
  return static_cast<double>(std::max<std::size_t>(1, seen.size()));
}

double hbm_seconds(const HardwareProfile& hardware, double read, double written) {
  if (hardware.measured && hardware.measured->hbm.read && hardware.measured->hbm.write)
    return read / hardware.measured->hbm.read->value + written / hardware.measured->hbm.write->value;
  const double rate = bandwidth(hardware.level("hbm"));
  return rate > 0 ? (read + written) / rate : unknown;
}

// Memory reads a line's parts for two instructions, tiles or stages: the same bytes take longer. Measured of tiles that
// are one piece, in runs: one run for each index of the axes of which a block takes one value at a time.
double off_line_seconds(const BoundIsland& bound, const Prediction& out) {
  const auto& measured = bound.hardware.measured;
  if (!measured || !measured->hbm.read || !measured->hbm.read_off_line || !bound.hardware.line_bytes) return 0;
  const Diagram& diagram = bound.plan.schedule.diagram;
  double bytes = 0;
  for (const Term& term : out.terms) {
    if (term.island != bound.number || term.boundary != Boundary::hbm || term.direction != Direction::read ||
        term.array < 0)
      continue;
    const auto id = static_cast<ArrayId>(term.array);
    if (!bound.streams(id) || copied_in_bulk(bound, id) || !in_shared_memory(bound, id)) continue;
    std::int64_t runs = 1, run = 1, tile = 0;
    bool one_piece = true;
    for (const AxisId axis : diagram.array(id).axes) {
      const BoundLoop* const loop = bound.nest.loop_over(axis);
      const std::int64_t size = bound.nest.size(axis);
      if (tile == 0 && loop && loop->tile == 1) {
        runs = checked_mul(runs, size);
        continue;
      }
      if (tile > 0 && loop && loop->tile < size) one_piece = false;
      tile = tile == 0 ? (loop ? loop->tile : size) : checked_mul(tile, size), run = checked_mul(run, size);
    }
    if (tile == 0 || !one_piece) continue;
    // Scales lie in an array of their own.
    const std::int64_t bits_of_value = bits(bound.point.dtypes[index(id)].format);
    const auto in_bytes = [&](std::int64_t values) {
      return std::max<std::int64_t>(1, checked_mul(values, bits_of_value) / 8);
    };
    bytes += static_cast<double>(term.bytes) *
             off_line_part(runs, in_bytes(run), in_bytes(tile), bound.hardware.line_bytes->value);
  }
  return bytes * std::max(0.0, 1 / measured->hbm.read_off_line->value - 1 / measured->hbm.read->value);
}

namespace {

// Tiles of an array that a block asks for before its first step. They are all on their way together: the first is whole
// when nearly all have come.
std::int64_t asked_ahead(const BoundIsland& bound, ArrayId id) {
  if (!bound.streams(id)) return 1;
  const std::int64_t stages = stages_of(bound, id);
  // Threads ask for the tile that takes a buffer's place when they begin a step.
  const std::int64_t ahead = bound.how.load().bulk ? stages : stages - 1;
  return std::clamp<std::int64_t>(ahead, 1, std::max<std::int64_t>(1, steps_of(bound.nest)));
}

}  // namespace

LaunchStart launch_start(const BoundIsland& bound, const IslandPrediction& island) {
  const std::int64_t first = std::min(bound.nest.blocks(), places(bound, island));
  double bytes = 0;
  if (!bound.how.waits.loads.empty()) return {};  // its blocks' own waits
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id)) continue;
    std::int64_t sharers = 1;  // blocks that begin with the same tile
    for (const BoundLoop& loop : bound.nest.all())
      if (loop.group && !bound.nest.carries(diagram.array(id).axes, loop.axis)) sharers *= loop.trips;
    bytes += static_cast<double>(ceil_div(first, sharers)) *
             static_cast<double>(asked_ahead(bound, id) * tile_bytes(bound, id));
  }
  const double cold = std::max(0.0, hbm_seconds(bound.hardware, bytes, 0));
  const auto& measured = bound.hardware.measured;
  if (!measured || !measured->l2.read_private) return {cold, cold};
  const bool stays = stays_in_l2(bound.hardware, moved(island, Boundary::hbm));
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
      distinct +=
          static_cast<double>(bytes_of(bound.point, diagram, id, distinct_values(bound.nest, bound.live, axes, false)));
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
  const auto path = hardware.instruction_flop_per_cycle.find(to_string(bound.how.tensor_path));
  if (path == hardware.instruction_flop_per_cycle.end()) return full->second.value;
  const auto limit = path->second.find(format);
  return limit == path->second.end() ? full->second.value : limit->second.value;
}

std::array<double, resource_count> resource_seconds(const BoundIsland& bound, const IslandPrediction& island,
                                                    const Prediction& out) {
  const HardwareProfile& hardware = bound.hardware;
  const MemoryLevel* smem = hardware.level("smem");
  const auto pipes = [&](std::initializer_list<Pipe> names) {
    double sum = 0;
    for (const Pipe pipe : names) sum += static_cast<double>(island.work.pipes[static_cast<std::size_t>(pipe)]);
    return sum;
  };
  const auto& hbm = island.traffic[static_cast<std::size_t>(Boundary::hbm)];
  const double apart = off_line_seconds(bound, out);
  const double l2 = measured_l2(bound, island, out);
  return {
      hbm[0] + hbm[1] == 0 ? 0
                           : hbm_seconds(hardware, static_cast<double>(hbm[0]), static_cast<double>(hbm[1])) + apart,
      l2 > 0 ? l2 : over(moved(island, Boundary::l2), l2_bandwidth(hardware)),
      over(moved(island, Boundary::smem), smem ? per_unit_rate(hardware, smem->bandwidth_bytes_per_cycle) : unknown),
      tensor_seconds(bound, island.work),
      over(pipes({Pipe::xu}), per_unit_rate(hardware, hardware.exp2_per_cycle)),
      over(pipes({Pipe::ffma, Pipe::fadd, Pipe::fmul}), per_unit_rate(hardware, hardware.fp32_fma_per_cycle))};
}

}  // namespace tilescope
