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

// A contraction on matrix instructions: rows and columns of its result, and what it sums over.
struct Contraction {
  const Island* island;
  const IslandImplementation* how;
  WarpGrid grid;  // as the descriptor states it; 0: not stated
  std::vector<AxisId> rows = {}, columns = {}, summed = {};
};

void add_sides(const Diagram& diagram, const Operator& op, Contraction& sides) {
  if (op.inputs.size() != 2) return;
  const Array &a = diagram.array(op.inputs[0]), &b = diagram.array(op.inputs[1]), &c = diagram.array(op.outputs[0]);
  for (const AxisId axis : a.axes) {
    if (c.has(axis) && !b.has(axis)) sides.rows.push_back(axis);
    if (b.has(axis) && !c.has(axis)) sides.summed.push_back(axis);
  }
  for (const AxisId axis : b.axes)
    if (c.has(axis) && !a.has(axis)) sides.columns.push_back(axis);
}

std::vector<Contraction> contractions_of(const Plan& plan) {
  std::vector<Contraction> all;
  for (std::size_t i = 0; i < plan.schedule.islands.size(); ++i) {
    const IslandImplementation& how = plan.kernel.islands[i];
    if (!how.uses_tensor_cores()) continue;
    for (const int number : plan.schedule.islands[i].operators) {
      const Operator& op = plan.schedule.diagram.operators[static_cast<std::size_t>(number)];
      if (op.kind != OperatorKind::contraction) continue;
      const ProductImplementation* own = how.find_product(op.name);
      add_sides(plan.schedule.diagram, op,
                all.emplace_back(Contraction{&plan.schedule.islands[i], &how, own ? own->grid : WarpGrid{}}));
    }
  }
  return all;
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

void add(std::vector<std::int64_t>& list, std::int64_t value) {
  if (!contains(list, value)) list.push_back(value);
}

// Lengths that a tile of an outer axis may have beyond the axis' end, so that whole instructions cover it: the least
// divisor of an instruction's extent that holds the axis, or multiples of the extent up to twice the axis. 7 heads of a
// group take the 8 rows of half an instruction of 16.
std::vector<std::int64_t> padded_lengths(std::int64_t length, std::int64_t unit) {
  std::vector<std::int64_t> padded;
  if (length > 1 && length < unit) {
    std::int64_t part = length;
    while (unit % part != 0) ++part;
    padded.push_back(part);
  }
  for (const std::int64_t multiple : multiples)
    if (const std::int64_t tile = unit * multiple; length > unit && tile >= length && tile < 2 * length)
      padded.push_back(tile);
  return padded;
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
    for (const std::int64_t padded : padded_lengths(length, unit))
      if (padded <= largest_tile) add(outer, padded), add(shared, padded);
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
  for (const Contraction& each : contractions_of(plan))
    for (const auto* side : {&each.rows, &each.columns, &each.summed})
      add_side(plan, base, *each.island, *each.how, *side, side == &each.rows, candidates);
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

TileRules::TileRules(const Plan& plan, const Workload& workload) {
  const Diagram& diagram = plan.schedule.diagram;
  for (const Contraction& each : contractions_of(plan)) {
    const auto side_of = [&](const std::vector<AxisId>& axes, std::int64_t unit) {
      Side side{.unit = unit};
      for (const AxisId axis : axes) {
        const bool cut = parameter_of(*each.island, axis) >= 0;
        side.axes.push_back({diagram.axes[index(axis)].size_in(workload), innermost_loop(*each.island, axis), cut});
        side.cut = side.cut || cut, side.queries = side.queries || (diagram.guard && axis == diagram.guard->query);
      }
      return side;
    };
    const MmaShape& mma = each.how->mma;
    products_.push_back({.rows = side_of(each.rows, mma.m),
                         .columns = side_of(each.columns, std::max<std::int64_t>(mma.n, 8)),  // n = 1: all columns
                         .summed = side_of(each.summed, mma.k),
                         .grid = each.grid,
                         .warps_together = each.how->path().warpgroup ? 4 : 1,
                         .guarded = diagram.guard.has_value()});
  }
}

// Its length, padded where no loop cuts it; nullopt: no whole instructions cover it.
std::optional<std::int64_t> TileRules::Side::length_in(const Point& point) const {
  std::int64_t length = 1;
  for (const SideAxis& axis : axes) length = checked_mul(length, axis.tile_in(point));
  if (!cut) return rounded_up(length, unit);
  if (length % unit != 0 || length > std::max(largest_tile, unit)) return std::nullopt;
  return length;
}

bool TileRules::Side::whole_in(const Point& point) const {
  return std::all_of(axes.begin(), axes.end(),
                     [&](const SideAxis& axis) { return !axis.cut || axis.tile_in(point) >= axis.size; });
}

std::int64_t TileRules::SideAxis::tile_in(const Point& point) const {
  return loop ? loop->tile.value(size, {point.tiles.data(), point.tiles.size()}) : size;
}

bool TileRules::Product::fits(const Point& point, WarpLayout layout) const {
  const auto row_length = rows.length_in(point), column_length = columns.length_in(point);
  const auto summed_length = summed.length_in(point);
  if (!row_length || !column_length || !summed_length) return false;
  if (grid.rows > 0 && grid.columns > 0)
    return grid.rows * grid.columns * grid.depth * warps_together == point.warps &&
           *row_length % (rows.unit * grid.rows) == 0 && *column_length % (columns.unit * grid.columns) == 0 &&
           *summed_length % (summed.unit * grid.depth) == 0;
  const std::int64_t row_pieces = *row_length / rows.unit;
  const std::int64_t pieces = rows.queries || !guarded ? row_pieces
                              : columns.queries        ? *column_length / rows.unit
                                                       : row_pieces * (*column_length / columns.unit);
  const bool sharing = rows.queries && (layout == WarpLayout::shared_rows || rows.whole_in(point)) &&
                       pieces * warps_together < point.warps;
  const std::int64_t shared = sharing ? point.warps / std::max<std::int64_t>(1, pieces * warps_together) : 1;
  return pieces > 0 && pieces * warps_together * shared % point.warps == 0 &&
         *column_length % (columns.unit * shared) == 0;
}

bool TileRules::fit(const Point& point, WarpLayout layout) const {
  return std::all_of(products_.begin(), products_.end(),
                     [&](const Product& product) { return product.fits(point, layout); });
}

}  // namespace tilescope
