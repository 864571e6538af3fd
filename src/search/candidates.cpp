#include "search/candidates.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "base/contains.h"

namespace tilescope {
namespace {

constexpr std::array<std::int64_t, 8> multiples{1, 2, 3, 4, 6, 8, 12, 16};
constexpr std::int64_t largest_tile = 256;  // 256 x 256 fp32 accumulators are all registers of a unit

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) { return ceil_div(value, unit) * unit; }

// The sides of a contraction: rows and columns of its result, and what it sums over.
struct Sides {
  std::vector<AxisId> rows, columns, summed;
};

Sides sides_of(const Diagram& diagram, const Operator& op) {
  Sides sides;
  if (op.inputs.size() != 2) return sides;
  const Array &a = diagram.array(op.inputs[0]), &b = diagram.array(op.inputs[1]), &c = diagram.array(op.outputs[0]);
  for (const AxisId axis : a.axes) {
    if (c.has(axis) && !b.has(axis)) sides.rows.push_back(axis);
    if (b.has(axis) && !c.has(axis)) sides.summed.push_back(axis);
  }
  for (const AxisId axis : b.axes)
    if (c.has(axis) && !a.has(axis)) sides.columns.push_back(axis);
  return sides;
}

// Every contraction of the islands that run on matrix instructions.
template <class Visit>
void for_each_contraction(const Plan& plan, Visit visit) {
  for (std::size_t i = 0; i < plan.schedule.islands.size(); ++i) {
    const IslandImplementation& how = plan.kernel.islands[i];
    if (!how.uses_tensor_cores()) continue;
    for (const int number : plan.schedule.islands[i].operators) {
      const Operator& op = plan.schedule.diagram.operators[static_cast<std::size_t>(number)];
      if (op.kind == OperatorKind::contraction)
        visit(plan.schedule.islands[i], how, sides_of(plan.schedule.diagram, op));
    }
  }
}

const Loop* innermost_loop(const Island& island, AxisId axis) {
  const Loop* found = nullptr;
  for (const Loop& loop : island.loops)
    if (loop.axis == axis) found = &loop;
  return found;
}

// The parameter that cuts the axis in this island; -1: a literal or no loop.
int parameter_of(const Island& island, AxisId axis) {
  const Loop* loop = innermost_loop(island, axis);
  return loop && !loop->tile.parts ? loop->tile.parameter : -1;
}

std::int64_t tile_of(const Plan& plan, const Point& point, const Island& island, AxisId axis) {
  const std::int64_t size = plan.schedule.diagram.axes[index(axis)].size_in(point.workload);
  const Loop* loop = innermost_loop(island, axis);
  return loop ? loop->tile.value(size, {point.tiles.data(), point.tiles.size()}) : size;
}

void add(std::vector<std::int64_t>& list, std::int64_t value) {
  if (!contains(list, value)) list.push_back(value);
}

// One side of one contraction: its last cut axis is tiled by instructions, the axes outside it are shared or not.
void add_side(const Plan& plan, const Point& base, const Island& island, const IslandImplementation& how,
              const std::vector<AxisId>& side, bool is_rows, std::vector<std::vector<std::int64_t>>& candidates) {
  std::vector<AxisId> cut;
  for (const AxisId axis : side)
    if (parameter_of(island, axis) >= 0) cut.push_back(axis);
  if (cut.empty()) return;
  const Diagram& diagram = plan.schedule.diagram;
  const std::int64_t unit = std::max({how.mma.m, how.mma.n, how.mma.k});
  const bool holds_warps = diagram.guard ? contains(side, diagram.guard->query) : is_rows;
  const std::int64_t size = diagram.axes[index(cut.back())].size_in(base.workload);
  const std::int64_t limit = std::max(rounded_up(size, unit), holds_warps ? fewest_warps * how.mma.m : unit);
  std::int64_t whole = 1;  // of the side's axes that no loop cuts: every tile holds them
  for (const AxisId axis : side)
    if (!innermost_loop(island, axis)) whole = checked_mul(whole, diagram.axes[index(axis)].size_in(base.workload));
  std::vector<std::int64_t> shared{1};  // lengths of outer axes that a tile may hold together with the last one
  for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
    auto& outer = candidates[static_cast<std::size_t>(parameter_of(island, cut[i]))];
    const std::int64_t length = diagram.axes[index(cut[i])].size_in(base.workload);
    add(outer, 1);
    for (std::int64_t part = 2; part <= std::min(length, largest_tile); ++part)
      if (length % part == 0) add(outer, part), add(shared, part);
  }
  if (whole > 1 && whole <= largest_tile) shared.push_back(whole);
  auto& inner = candidates[static_cast<std::size_t>(parameter_of(island, cut.back()))];
  for (const std::int64_t multiple : multiples) {
    const std::int64_t tile = unit * multiple;
    if (tile > std::max(largest_tile, unit)) break;
    if (tile <= limit) add(inner, tile);
    for (const std::int64_t rows : shared)
      if (tile % rows == 0 && tile / rows <= limit) add(inner, tile / rows);
  }
}

}  // namespace

std::vector<std::vector<std::int64_t>> tile_candidates(const Plan& plan, const HardwareProfile& hardware,
                                                       const Point& base) {
  std::vector<std::vector<std::int64_t>> candidates(plan.schedule.parameters.size());
  for_each_contraction(plan, [&](const Island& island, const IslandImplementation& how, const Sides& sides) {
    for (const auto* side : {&sides.rows, &sides.columns, &sides.summed})
      add_side(plan, base, island, how, *side, side == &sides.rows, candidates);
  });
  for (const Chunking& cut : plan.schedule.chunks) {
    if (cut.length.parameter < 0 || !cut.length.parts) continue;
    const std::int64_t size = plan.schedule.diagram.axes[index(cut.of)].size_in(base.workload);
    auto& parts = candidates[static_cast<std::size_t>(cut.length.parameter)];
    const std::int64_t most = std::min(ceil_div(size, 16), std::max<std::int64_t>(1, hardware.units.value));
    for (std::int64_t power = 1; power <= most; power *= 2) {
      add(parts, power);
      if (power > 1 && power / 2 * 3 <= most) add(parts, power / 2 * 3);
    }
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].empty()) candidates[i] = {base.tiles[i]};
    std::sort(candidates[i].begin(), candidates[i].end());
  }
  return candidates;
}

bool tiles_fit_instructions(const Plan& plan, const Point& point, WarpLayout layout) {
  bool fit = true;
  for_each_contraction(plan, [&](const Island& island, const IslandImplementation& how, const Sides& sides) {
    const MmaShape mma{how.mma.m, std::max<std::int64_t>(how.mma.n, 8), how.mma.k};  // all columns: in steps of 8
    const std::int64_t together = how.path().warpgroup ? 4 : 1;                      // warps of an instruction
    const auto& guard = plan.schedule.diagram.guard;
    struct Side {
      std::int64_t length = 1;
      bool cut = false, queries = false;
      bool all = true;  // the tile holds the side's axes that the grid may cut
    };
    const auto extent = [&](const std::vector<AxisId>& side, std::int64_t unit) {
      Side found;
      for (const AxisId axis : side) {
        found.length = checked_mul(found.length, tile_of(plan, point, island, axis));
        found.cut = found.cut || parameter_of(island, axis) >= 0;
        found.queries = found.queries || (guard && axis == guard->query);
        const Axis& whole = plan.schedule.diagram.axes[index(axis)];
        if (parameter_of(island, axis) >= 0)
          found.all = found.all && tile_of(plan, point, island, axis) >= whole.size_in(point.workload);
      }
      if (!found.cut) found.length = rounded_up(found.length, unit);  // what no loop cuts is padded
      fit = fit && found.length % unit == 0 && (!found.cut || found.length <= std::max(largest_tile, unit));
      return found;
    };
    const Side rows = extent(sides.rows, mma.m), columns = extent(sides.columns, mma.n);
    extent(sides.summed, mma.k);
    const std::int64_t pieces = rows.queries || !guard ? rows.length / mma.m
                                : columns.queries      ? columns.length / mma.m
                                                       : (rows.length / mma.m) * (columns.length / mma.n);
    const bool sharing =
        rows.queries && (rows.all || layout == WarpLayout::shared_rows) && pieces * together < point.warps;
    const std::int64_t shared = sharing ? point.warps / std::max<std::int64_t>(1, pieces * together) : 1;
    fit = fit && pieces > 0 && pieces * together * shared % point.warps == 0 && columns.length % (mma.n * shared) == 0;
  });
  return fit;
}

}  // namespace tilescope
