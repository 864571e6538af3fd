#include <algorithm>

#include "base/contains.h"
#include "derive/symbolic/symbolic.h"

namespace tilescope {
namespace {

// The nest as an array sees it that awaits these axes: their streams are taken in one step.
std::pair<Nest, NestSums> without(const Nest& nest, const NestSums& live, const SymbolSource& source, Axes array) {
  Nest own = nest;
  bool changed = false;
  for (std::size_t i = 0; i < own.loop_count; ++i) {
    BoundLoop& loop = own.loops[i];
    const bool part = nest.chunked.present() && static_cast<int>(i) == nest.chunked.inner;
    const bool one_step =
        !part && !loop.group && contains(source.awaited, loop.axis) && !nest.carries(array, loop.axis);
    if (one_step) loop.tile = loop.size, loop.trips = 1, changed = true;
  }
  return {own, changed ? sums_of(own, false) : live};
}

// An axis in blocks: their number, and the elements of the axis and of a whole block.
struct Blocks {
  std::size_t count = 0;
  std::int64_t elements = 0, block = 0;
  std::int64_t extent(std::size_t i) const {
    return std::clamp<std::int64_t>(elements - static_cast<std::int64_t>(i) * block, 0, block);
  }
};

// Ends of the runs of live elements in all lines `of`, along the other axis; ends at the border do not count. Of a line
// with few live elements at least as many that half of them and the live share make one: the relaxed count then has
// each line at least once.
template <class Live>
double ends_of_runs(Live live, const Blocks& of, const Blocks& along) {
  double ends = 0;
  for (std::size_t i = 0; i < of.count; ++i) {
    std::int64_t seen = 0;
    int cuts = 0;
    for (std::size_t j = 0; j < along.count; ++j) {
      if (live(i, j)) seen += along.extent(j);
      if (j > 0) cuts += live(i, j) != live(i, j - 1);
    }
    const double share = static_cast<double>(seen) / static_cast<double>(along.elements);
    if (seen > 0) ends += static_cast<double>(of.extent(i)) * std::max(static_cast<double>(cuts), 2 * (1 - share));
  }
  return ends;
}

}  // namespace

SymbolicOptions symbolic_options(const Diagram& diagram, const Workload& workload, const Mask& mask) {
  SymbolicOptions options{.masked = mask.masks()};
  if (!options.masked || !diagram.guard) return options;
  const Workload lengths = guarded_lengths(diagram, workload);
  const LiveSums seen = visible_pairs(mask, lengths.q_len, lengths.kv_len);
  options.sees_all_rows = seen.rows == lengths.q_len, options.sees_all_keys = seen.keys == lengths.kv_len;
  return options;
}

double live_share(const Workload& workload, const Mask& mask) {
  if (!mask.masks()) return 1;
  const LiveSums live = visible_pairs(mask, workload.q_len, workload.kv_len);
  return static_cast<double>(live.area) / (static_cast<double>(workload.q_len) * static_cast<double>(workload.kv_len));
}

double mask_edges(const Workload& workload, const Mask& mask) {
  if (!mask.masks()) return 0;
  if (!mask.contiguous()) {
    const auto& live = mask.blocks->live;
    const auto rows = [&](std::size_t i, std::size_t j) { return live[i][j]; };
    const auto keys = [&](std::size_t i, std::size_t j) { return live[j][i]; };
    const double by_row = ends_of_runs(rows, {live.size(), workload.q_len, mask.blocks->block_q},
                                       {live.front().size(), workload.kv_len, mask.blocks->block_kv}),
                 by_key = ends_of_runs(keys, {live.front().size(), workload.kv_len, mask.blocks->block_kv},
                                       {live.size(), workload.q_len, mask.blocks->block_q});
    return std::max(by_row, by_key) / static_cast<double>(workload.q_len);
  }
  const KeyInterval keys = mask.keys(workload.q_len, workload.kv_len);
  const LiveSums seen = visible_pairs(mask, workload.q_len, workload.kv_len);
  const auto rows = static_cast<double>(workload.q_len), area = static_cast<double>(seen.area);
  // With one tile of keys each row that sees a key counts once, with one tile of queries each key that is seen.
  const double each_row = static_cast<double>(seen.rows) - area / static_cast<double>(workload.kv_len),
               each_key = static_cast<double>(seen.keys) - area / rows;
  return std::max({static_cast<double>(keys.begin.moves()) + static_cast<double>(keys.end.moves()), 2 * each_row / rows,
                   2 * each_key / rows});
}

void bind_symbols(const SymbolicSchedule& symbolic, const Schedule& schedule, const Workload& workload,
                  const Mask& mask, std::span<const std::int64_t> tiles, std::vector<std::int64_t>& inputs,
                  std::vector<std::int64_t>& externals) {
  inputs.resize(symbolic.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SymbolSource& source = symbolic.inputs[i];
    const std::int64_t size = schedule.diagram.axes[index(source.axis)].size_in(workload);
    inputs[i] = source.kind == SymbolSource::Kind::size   ? size
                : source.kind == SymbolSource::Kind::tile ? source.tile.value(size, tiles)
                                                          : 1;  // the mask's symbols occur only in relaxed counts
  }
  externals.resize(symbolic.externals.size());
  int bound = -1;
  Nest nest;
  NestSums live;
  for (std::size_t i = 0; i < externals.size(); ++i) {
    const SymbolSource& source = symbolic.externals[i];
    const Island& island = schedule.islands[static_cast<std::size_t>(source.island)];
    if (bound != source.island)
      nest = bind_nest(schedule, island, workload, mask, tiles), live = sums_of(nest, false), bound = source.island;
    const int op = operator_of_points(schedule.diagram, source.array);
    std::vector<AxisId> of_points;
    if (op >= 0) of_points = schedule.diagram.axes_of(schedule.diagram.operators[static_cast<std::size_t>(op)]);
    const Axes array = op < 0 ? Axes(schedule.diagram.array(source.array).axes) : Axes(of_points);
    const auto [own, own_live] = without(nest, live, source, array);
    switch (source.kind) {
      case SymbolSource::Kind::live:
        externals[i] = live_extent(own, own_live, array);
        break;
      case SymbolSource::Kind::distinct:
        externals[i] = distinct_values(nest, live, array);
        break;
      case SymbolSource::Kind::stationary:
        externals[i] = stationary_values(own, array);
        break;
      case SymbolSource::Kind::moved:
        externals[i] = touched_values(own, own_live, array);
        break;
      default:
        break;
    }
  }
}

}  // namespace tilescope
