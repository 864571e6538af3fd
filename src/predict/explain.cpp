// Words for a prediction: names, formulas and causing loops of terms.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "predict/island.h"

namespace tilescope {
namespace {

// "ceil(q_len/128)" or "batch" where the tile is 1.
std::string trips_text(const Plan& plan, const BoundLoop& loop) {
  const std::string size = plan.schedule.diagram.axes[index(loop.axis)].size;
  return loop.tile == 1 ? size : fmt::format("ceil({}/{})", size, loop.tile);
}

std::string size_text(const BoundIsland& bound, AxisId axis, bool whole) {
  const std::string size = bound.plan.schedule.diagram.axes[index(axis)].size;
  if (!whole) return size;
  for (const BoundLoop& loop : bound.nest.all())
    if (loop.axis == axis && loop.tile > 1) return fmt::format("{}*ceil({}/{})", loop.tile, size, loop.tile);
  return size;
}

std::string width_text(const Point& point, ArrayId id) {
  const Dtype dtype = point.dtypes[index(id)];
  const int width = bits(dtype.format);
  const std::string scales = dtype.scale_group ? fmt::format(" (+ {} B scale / {} values)", dtype.scale_bytes, dtype.scale_group) : "";
  return (width % 8 == 0 ? fmt::format("{} B", width / 8) : fmt::format("{}/8 B", width)) + scales;
}

// The guarded pair's factor: rows or keys (or both) summed over the tiles that the mask leaves alive.
std::string live_text(const BoundIsland& bound, const Array& array, int last, bool whole) {
  const GuardAxes guard = *bound.plan.schedule.diagram.guard;
  const bool both = bound.nest.query_loop <= last && bound.nest.key_loop <= last;
  const char* tiles = both ? "tile pairs" : bound.nest.query_loop <= last ? "query tiles" : "key tiles";
  std::string extents = array.has(guard.query) ? "rows" : "";
  if (array.has(guard.key)) extents += extents.empty() ? "keys" : " * keys";
  return fmt::format("sum of {}{} over live ({}) {}", whole ? "whole-tile " : "", extents.empty() ? "1" : extents, bound.point.mask.text, tiles);
}

std::string array_formula(const BoundIsland& bound, const Term& term) {
  const Array& array = bound.plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)];
  const bool whole = term.boundary == Boundary::smem;
  const bool at_dram = term.boundary == Boundary::hbm;
  const bool stored = stores(bound, static_cast<ArrayId>(term.array));
  const Nest& nest = stored ? bound.finish : bound.nest;
  std::vector<std::string> factors;
  bool masked_pair = false;
  for (int i = 0; i <= term.last_loop && !(at_dram && term.fits_cache); ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    const bool in_pair = nest.guarded() && (i == nest.query_loop || i == nest.key_loop);
    if (in_pair) masked_pair = true;
    else if (!array.has(loop.axis) && loop.trips > 1) factors.push_back(trips_text(bound.plan, loop));
  }
  for (const AxisId axis : array.axes) {
    const auto& guard = bound.plan.schedule.diagram.guard;
    if (masked_pair && guard && (axis == guard->query || axis == guard->key)) continue;
    factors.push_back(size_text(bound, axis, whole));
  }
  if (masked_pair) factors.push_back(live_text(bound, array, term.last_loop, whole));
  if (at_dram && !term.fits_cache) factors.push_back("waves of resident blocks");
  if (term.cause == Cause::operand) factors.push_back("warps that need it");
  return fmt::format("{} x {}", join(factors, " * "), width_text(bound.point, static_cast<ArrayId>(term.array)));
}

}  // namespace

std::string to_string(Boundary boundary) {
  static const std::array<std::string, boundary_count> names{"hbm", "l2", "smem", "register"};
  return names[static_cast<std::size_t>(boundary)];
}

std::string to_string(Direction direction) { return direction == Direction::read ? "read" : "write"; }

std::string to_string(Resource resource) {
  static const std::array<std::string, resource_count> names{"hbm", "l2", "smem", "tensor", "xu", "fma"};
  return names[static_cast<std::size_t>(resource)];
}

std::string formula(const Plan& plan, const Point& point, const Term& term) {
  const HardwareProfile none;
  if (term.array >= 0) return array_formula(bind_island(plan, none, point, term.island), term);
  const MmaShape mma = plan.kernel.islands[static_cast<std::size_t>(term.island)].mma;
  switch (term.cause) {
    case Cause::mma:
      return fmt::format("tensor_flop / (2*{0}*{1}*{2}) instructions x {3}", mma.m, mma.n, mma.k,
                         term.direction == Direction::read ? "(A + B + fp32 C) bytes" : "fp32 D bytes");
    case Cause::fragments: return "operand bytes read from smem";
    default:
      return term.direction == Direction::read ? "4 B x (3 ffma + 2 fadd + 2 fmul + 1 xu)" : "4 B x (ffma + fadd + fmul + xu)";
  }
}

std::vector<std::string> because(const Plan& plan, const Point& point, const Term& term) {
  std::vector<std::string> reasons;
  if (term.array < 0) return reasons;
  const HardwareProfile none;
  const BoundIsland bound = bind_island(plan, none, point, term.island);
  const Array& array = plan.schedule.diagram.arrays[static_cast<std::size_t>(term.array)];
  for (int i = 0; i <= term.last_loop; ++i) {
    const BoundLoop& loop = bound.nest.loops[static_cast<std::size_t>(i)];
    if (loop.trips <= 1) continue;
    const std::string axis = plan.schedule.diagram.axes[index(loop.axis)].name;
    reasons.push_back(fmt::format("{}:{}{} {} it", axis, loop.group ? "group" : "stream", loop.tile > 1 ? fmt::format("({})", loop.tile) : "",
                                  array.has(loop.axis) ? "cuts" : term.boundary == Boundary::hbm && term.fits_cache ? "shares" : "repeats"));
  }
  return reasons;
}

std::vector<std::string> missing_rates(const HardwareProfile& hardware, const Prediction& prediction) {
  static const std::array<std::string, resource_count> fields{
      "levels.hbm.bandwidth", "levels.l2.bandwidth", "levels.smem.bandwidth_per_cycle", "compute.tensor (for this dtype)",
      "compute.exp2", "compute.fp32_fma"};
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (prediction.time.seconds[i] < 0) missing.push_back(fmt::format("{} of {}", fields[i], hardware.id));
  return missing;
}

}  // namespace tilescope
