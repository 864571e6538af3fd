#include "predict/explain/formula.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "predict/point/bound_island.h"
#include "predict/point/products.h"

namespace tilescope {
namespace {

// An axis by the name of its size; one that counts the chunks of another by their number, "ceil(kv_len/1024)".
std::string axis_text(const BoundIsland& bound, AxisId axis) {
  const Schedule& schedule = bound.plan.schedule;
  for (const Chunking& cut : schedule.chunks) {
    if (cut.axis != axis) continue;
    const Axis& whole = schedule.diagram.axes[index(cut.of)];
    const std::int64_t size = bound.nest.size(cut.of);
    const std::int64_t length = cut.length_in(size, {bound.point.tiles.data(), bound.point.tiles.size()});
    return fmt::format("ceil({}/{})", whole.size, std::min(size, length));
  }
  return schedule.diagram.axes[index(axis)].size;
}

// Trips of a loop: "ceil(q_len/128)", or "batch" where the tile is 1. A split axis counts the tiles of all its chunks
// at whichever of its two loops comes last.
std::string trips_text(const BoundIsland& bound, const Nest& nest, int position, int last) {
  const BoundLoop& loop = nest.loops[static_cast<std::size_t>(position)];
  const Chunked& cut = nest.chunked;
  if (cut.present() && position == cut.outer && cut.inner <= last) return std::to_string(cut.tiles());
  if (cut.present() && position == cut.inner)
    return cut.outer <= last ? "1" : fmt::format("ceil({}/{})", cut.length, loop.tile);
  const std::string size = axis_text(bound, loop.axis);
  return loop.tile == 1 ? size : fmt::format("ceil({}/{})", size, loop.tile);
}

std::string size_text(const BoundIsland& bound, const Nest& nest, AxisId axis, int last, bool whole) {
  const std::string size = axis_text(bound, axis);
  const Chunked& cut = nest.chunked;
  if (cut.present() && axis == nest.loops[static_cast<std::size_t>(cut.outer)].axis && cut.inner <= last)
    return std::to_string(cut.tiles());
  if (!whole) return size;
  if (cut.present() && axis == cut.of) return fmt::format("{}*{}", cut.tile, cut.tiles());
  const BoundLoop* loop = nest.loop_over(axis);
  return loop && loop->tile > 1 ? fmt::format("{}*ceil({}/{})", loop->tile, size, loop->tile) : size;
}

std::string width_text(const Point& point, ArrayId id) {
  const Dtype dtype = point.dtypes[index(id)];
  const int width = bits(dtype.format);
  const std::string zero = dtype.zero_bits > 0 ? fmt::format(", {} bit zero point", dtype.zero_bits) : "",
                    scales = dtype.scale_group ? fmt::format(" (+ {} B scale{} / {} values)", dtype.scale_bytes, zero,
                                                             dtype.scale_group)
                                               : "";
  return (width % 8 == 0 ? fmt::format("{} B", width / 8) : fmt::format("{}/8 B", width)) + scales;
}

// The guarded pair's factor: rows or keys (or both) summed over the tiles that the mask leaves alive.
std::string live_text(const BoundIsland& bound, const Nest& nest, const Array& array, int last, bool whole) {
  const GuardAxes guard = *bound.plan.schedule.diagram.guard;
  const bool tiles_move = nest.key_loop <= last && nest.loops[static_cast<std::size_t>(nest.key_loop)].trips > 1;
  const bool by_chunk = nest.keys_are_chunked() && !tiles_move,
             keys = (by_chunk ? nest.chunked.outer : nest.key_loop) <= last;
  const char* tiles = !keys                    ? "query tiles"
                      : nest.query_loop > last ? (by_chunk ? "chunks" : "key tiles")
                      : by_chunk               ? "(query tile, chunk) pairs"
                                               : "tile pairs";
  std::string extents = array.has(guard.query) ? "rows" : "";
  if (array.has(guard.key)) extents += extents.empty() ? "keys" : " * keys";
  return fmt::format("sum of {}{} over live ({}) {}", whole ? "whole-tile " : "", extents.empty() ? "1" : extents,
                     bound.point.mask.text, tiles);
}

// An axis of the guarded pair that no loop moves: whole, less the rows or keys that the mask hides from every tile.
std::string seen_text(const BoundIsland& bound, const Nest& nest, AxisId axis, bool whole, const std::string& all) {
  if (!nest.guarded()) return all;
  const GuardAxes guard = *bound.plan.schedule.diagram.guard;
  const LiveSums& sums = whole ? bound.whole.tiles : bound.live.tiles;
  const bool query = axis == guard.query, key = axis == guard.key;
  if (!query && !key) return all;
  const std::int64_t seen = query ? sums.rows : sums.keys;
  return seen == nest.size(axis) || whole
             ? all
             : fmt::format("{} of {} that are live ({})", seen, all, bound.point.mask.text);
}

// Loops within which an array's distinct values lie: none, but the tiles of scores and of partial results are sums.
int distinct_loop(const BoundIsland& bound, const Nest& nest, const Array& array) {
  const auto& guard = bound.plan.schedule.diagram.guard;
  if (!nest.guarded() || !array.has(guard->query)) return -1;
  if (array.has(guard->key)) return static_cast<int>(nest.loop_count) - 1;
  if (!nest.keys_are_chunked() || !array.has(nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis)) return -1;
  return std::max(nest.chunked.outer, nest.query_loop);
}

// How often an array's values cross (the loops that repeat it) and how many they are.
struct Factors {
  std::vector<std::string> repeats, values;
  bool masked = false;  // a factor is a sum over live tiles, which holds repeats and values together
};

Factors factors_of(const BoundIsland& bound, const Nest& nest, const Array& array, int last, bool whole) {
  Factors found;
  const auto& guard = bound.plan.schedule.diagram.guard;
  const auto chunks = [&](AxisId axis) {
    return nest.keys_are_chunked() && axis == nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis;
  };
  for (int i = 0; i <= last; ++i) {
    const BoundLoop& loop = nest.loops[static_cast<std::size_t>(i)];
    const bool in_pair = nest.guarded() && (i == nest.query_loop || i == nest.key_loop || chunks(loop.axis));
    if (in_pair) found.masked = true;
    else if (!nest.carries(array.axes, loop.axis) && loop.trips > 1)
      found.repeats.push_back(trips_text(bound, nest, i, last));
  }
  for (const AxisId axis : array.axes) {
    if (found.masked && (axis == guard->query || axis == guard->key || chunks(axis))) continue;
    found.values.push_back(seen_text(bound, nest, axis, whole, size_text(bound, nest, axis, last, whole)));
  }
  std::erase(found.repeats, "1");
  if (!found.masked) return found;
  found.values.push_back(live_text(bound, nest, array, last, whole));
  if (const std::int64_t kept = stationary_values(nest, array.axes, whole); kept > 0)
    found.values.back() += ", less tiles that stay between sweeps";
  return found;
}

// Stores, by how often the values go out or come back: every visit, all but the first, or one time more for the zeros.
std::string stored_text(const BoundIsland& bound, const Term& term, const Factors& found) {
  const auto id = static_cast<ArrayId>(term.array);
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const bool zeros = how.zeroed && !zeroed_by_another(bound, id);
  const std::string values = found.values.empty() ? "1" : join(found.values, " * "),
                    repeats = join(found.repeats, " * ");
  const bool dram = beyond_l2(term.boundary),
             once = (dram && term.fits_cache) || (found.repeats.empty() && !found.masked);
  // What comes back through shared memory: a copy fills it, threads read it.
  const bool back = term.boundary == Boundary::smem && how.by == Accumulate::rewriting &&
                    (term.cause == Cause::fill || (term.cause == Cause::operand && !feeds_product(bound, id)));
  const bool write = term.direction == Direction::write && !back;
  if (term.cause != Cause::tile && !back) return repeats.empty() ? values : repeats + " * " + values;
  if (dram && term.fits_cache) return (write && zeros ? "2 * " : "") + values;
  if (found.masked) {
    const std::string visits = repeats.empty() ? values : repeats + " * " + values;
    if (write) return zeros ? "(" + visits + " + zeros of the whole array)" : visits;
    return how.zeroed ? visits : "(" + visits + " - first visits)";
  }
  if (once) return (write && zeros ? "2 * " : "") + values;
  if (write) return zeros ? fmt::format("({} + 1) * {}", repeats, values) : fmt::format("{} * {}", repeats, values);
  return how.zeroed ? fmt::format("{} * {}", repeats, values) : fmt::format("({} - 1) * {}", repeats, values);
}

// Whether blocks make visits to a stored tile together, so that memory sees fewer than there are.
bool visited_together(const BoundIsland& bound, const Term& term) {
  const auto id = static_cast<ArrayId>(term.array);
  if (!beyond_l2(term.boundary) || term.fits_cache || term.cause != Cause::tile || !stores(bound, id)) return false;
  const bool zeroed = bound.plan.schedule.how_stored(bound.island, id).zeroed;
  const Visits found = visits_of(bound, id);
  const std::int64_t all = term.direction == Direction::write ? found.visits + counts_of_store(bound, id).zeros
                           : zeroed                           ? found.visits
                                                              : found.visits - found.distinct;
  return term.bytes < padded_bytes_of(bound.point, bound.plan.schedule.diagram, id, all);
}

std::string array_formula(const BoundIsland& bound, const Term& term) {
  const auto id = static_cast<ArrayId>(term.array);
  const Array& array = bound.plan.schedule.diagram.array(id);
  const bool loaded = term.boundary == Boundary::l2 && term.direction == Direction::read && loads(bound, id);
  const bool whole =
      term.boundary == Boundary::smem || (loaded && copied_in_bulk(bound, id) && in_shared_memory(bound, id));
  const bool dram = beyond_l2(term.boundary);
  const bool stored = stores(bound, id), together = visited_together(bound, term),
             once = dram && (term.fits_cache || !stored || together);
  const char* waves =
      term.boundary == Boundary::llc ? "L2 caches and waves of resident blocks" : "waves of resident blocks";
  const Nest nest = bound.seen_by(id, stored ? bound.leaving(id) : bound.nest);
  Factors found = factors_of(bound, nest, array, once ? distinct_loop(bound, nest, array) : term.last_loop, whole);
  if (together) found.repeats = {waves};
  std::string text;
  if (stored) {
    text = stored_text(bound, term, found);
  } else {
    std::vector<std::string> all = found.repeats;
    all.insert(all.end(), found.values.begin(), found.values.end());
    if (dram && !term.fits_cache) all.emplace_back(waves);
    if (term.cause == Cause::operand) all.emplace_back("warps that need it");
    text = all.empty() ? "1" : join(all, " * ");
  }
  const auto rewritten = term.boundary == Boundary::smem ? rewritten_as(bound, id) : std::nullopt;
  const bool wide = rewritten && (term.cause == Cause::operand ||
                                  (term.cause == Cause::conversion && term.direction == Direction::write));
  text += " x " +
          (wide ? fmt::format("{} B ({})", bits(*rewritten) / 8, to_string(*rewritten)) : width_text(bound.point, id));
  if (bound.point.row_multiple[index(id)] > 1 && !whole)
    text += fmt::format(" (rows padded to {} values)", bound.point.row_multiple[index(id)]);
  if (stored && bound.how.row_store > 0 && term.boundary == Boundary::l2 && term.direction == Direction::write &&
      bound.plan.schedule.diagram.guard && array.axes.back() == bound.plan.schedule.diagram.guard->query)
    text += ", in whole sectors";
  return text;
}

// Of accumulators, and of operands that threads make of them.
std::string tmem_formula(const Plan& plan, const Term& term) {
  const auto& operators = plan.schedule.diagram.operators;
  const bool accumulator = std::any_of(operators.begin(), operators.end(), [&](const Operator& op) {
    return op.kind == OperatorKind::contraction && op.outputs.front() == static_cast<ArrayId>(term.array);
  });
  if (term.cause == Cause::mma && !accumulator) return "operand A of each matrix instruction";
  if (term.cause == Cause::mma)
    return term.direction == Direction::write ? "fp32 D of each matrix instruction"
                                              : "fp32 D of each matrix instruction, less the first of each sum";
  if (!accumulator) return "tiles that threads store as operand A";
  return term.direction == Direction::write ? "4 B x accumulators that steps change"
                                            : "4 B x complete results, or accumulators that steps change";
}

}  // namespace

std::string formula(const Plan& plan, const Point& point, const Term& term) {
  const HardwareProfile none;
  if (term.cause == Cause::missed && term.boundary == Boundary::llc)
    return term.direction == Direction::read
               ? "tile loads that missed their L2 after the first of all (walk of the blocks)"
               : "stored tiles that left an L2 before they were stored again (walk of the blocks)";
  if (term.cause == Cause::missed)
    return term.direction == Direction::read
               ? "tile loads that missed L2 after their first (walk of the blocks)"
               : "stored tiles that left L2 before they were stored again (walk of the blocks)";
  if (term.cause == Cause::one_scale)
    return fmt::format("{} B scale of the array{}", array_scale_bytes(point, static_cast<ArrayId>(term.array)),
                       term.boundary == Boundary::l2 && term.direction == Direction::read ? " x blocks" : "");
  if (term.boundary == Boundary::tmem) return tmem_formula(plan, term);
  if (term.array >= 0) return array_formula(bind_island(plan, none, point, term.island), term);
  const MmaShape mma = plan.kernel.islands[static_cast<std::size_t>(term.island)].mma;
  switch (term.cause) {
    case Cause::mma:
      return fmt::format("tensor_flop / (2*{0}*{1}*{2}) instructions x {3}", mma.m,
                         mma.n > 0 ? std::to_string(mma.n) : "columns of the product's tile", mma.k,
                         term.direction == Direction::read ? "(A + B + fp32 C) bytes" : "fp32 D bytes");
    case Cause::fragments:
      return "operand bytes read from smem";
    case Cause::tensor_memory:
      return term.direction == Direction::write ? "values that threads load from tmem"
                                                : "values that threads store to tmem";
    case Cause::spill:
      if (beyond_l2(term.boundary))
        return term.direction == Direction::read
                   ? "spilled bytes that left L2 before they were loaded"
                   : "spilled bytes that L2 writes back before they are overwritten, and those it holds at the end";
      return term.direction == Direction::read
                 ? "bytes a thread loads of what it spilled, less hits in L1, x threads x steps"
                 : "bytes a thread spills x threads x steps";
    case Cause::mask:
      return "rows of mask blocks, whole sectors";
    default:
      return term.direction == Direction::read ? "4 B x (3 ffma + 2 fadd + 2 fmul + 1 xu)"
                                               : "4 B x (ffma + fadd + fmul + xu)";
  }
}

}  // namespace tilescope
