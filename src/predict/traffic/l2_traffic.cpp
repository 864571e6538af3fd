#include "predict/traffic/l2_traffic.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/point/order/issue_order.h"
#include "predict/point/products.h"
#include "predict/traffic/array_layout.h"
#include "predict/traffic/sector_reads.h"
#include "predict/traffic/sectors.h"

namespace tilescope {
namespace {

// Of the blocks that load a tile through L1, as a fraction, those that do not find it there: the first of each unit.
// Units take blocks in turn, in issue order, so blocks that lie `stride` apart meet units / gcd(stride, units) units.
// Exact where one loop shares the tile; units, of a tile's blocks.
struct Fetchers {
  std::int64_t units = 1, blocks = 1;
};
Fetchers fetchers_through_l1(const BoundIsland& bound, ArrayId id) {
  Fetchers fetchers;
  if (!bound.variant || !bound.variant->reads_through_l1(bound.plan.schedule.diagram.array(id).name)) return fetchers;
  const Nest nest = in_issue_order(bound);
  const std::int64_t units = bound.hardware.units.value;
  std::int64_t stride = 1;
  for (std::size_t i = nest.loop_count; i-- > 0;) {
    const BoundLoop& loop = nest.loops[i];
    if (!loop.group) continue;
    if (!nest.carries(bound.plan.schedule.diagram.array(id).axes, loop.axis)) {
      fetchers.blocks = checked_mul(fetchers.blocks, loop.trips);
      fetchers.units =
          std::min(units, checked_mul(fetchers.units, std::min(loop.trips, units / std::gcd(stride, units))));
    }
    stride = checked_mul(stride, loop.trips);
  }
  return fetchers;
}

// The copy engine brings whole tiles: rows past an array's end are filled with zeros, and arrive at the SM like the
// others (counted on an H200), though no memory holds them.
void add_tile_loads(const BoundIsland& bound, Terms& out, ArrayId id) {
  if (const std::int64_t bytes = sector_read_bytes(bound, id); bytes > 0)
    return add_term(bound, out,
                    {.boundary = Boundary::l2,
                     .array = static_cast<int>(id),
                     .last_loop = last_loop(bound.nest, bound.plan.schedule.diagram.array(id).axes),
                     .bytes = bytes});
  const bool whole = copied_in_bulk(bound, id) && in_shared_memory(bound, id);
  const bool kept = !fetched_every_step(bound, id);
  const Fetchers fetchers = fetchers_through_l1(bound, id);
  const std::int64_t bytes =
      in_sectors_of_rows(bound, id, touched_bytes(bound, id, {.resident = kept, .whole_tiles = whole}), true);
  add_term(bound, out,
           {.boundary = Boundary::l2,
            .array = static_cast<int>(id),
            .last_loop = last_loop(bound.nest, bound.plan.schedule.diagram.array(id).axes, kept),
            .bytes = checked_mul(bytes / fetchers.blocks, fetchers.units)});
}

// Statistics that leave in the steps of a guarded stream: each tile of queries as often as the mask lets it be visited,
// `less` of them left out (the first visit fetches nothing); rows that no step visits once, where the kernel writes
// them.
std::int64_t visited_sectors(const BoundIsland& bound, ArrayId id, std::int64_t segment, std::int64_t less) {
  const BoundLoop& queries = bound.nest.loops[static_cast<std::size_t>(bound.nest.query_loop)];
  const LiveTiles live = bound.nest.live_tiles();
  const Axes axes = bound.plan.schedule.diagram.array(id).axes;
  const std::int64_t length = bound.nest.size(axes.back()), lines = distinct_values(bound.finish, {}, axes) / length;
  std::int64_t bytes = 0;
  for (std::int64_t tile = 0; tile < queries.trips; ++tile) {
    const std::int64_t visits =
        std::max<std::int64_t>(live.live_keys(tile), bound.how.writes_masked_rows ? 1 : 0) - less;
    if (visits <= 0) continue;
    const std::int64_t first = tile * queries.tile, rows = std::min(queries.tile, length - first);
    bytes = checked_add(
        bytes, checked_mul(visits, sector_accesses(lines, length, first, rows, segment, element_bytes(bound, id),
                                                   bound.hardware.sector_bytes->value)));
  }
  return bytes;
}

// Per-row statistics lie densely along the queries: an access of a few rows takes whole sectors, aligned or not.
// `values` cross the boundary, `segment` rows an instruction (0: not known).
std::int64_t statistic_bytes(const BoundIsland& bound, ArrayId id, std::int64_t values, std::int64_t segment,
                             Direction direction) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Array& array = diagram.array(id);
  const bool statistics = diagram.guard && array.axes.back() == diagram.guard->query;
  if (!statistics) return in_sectors_of_rows(bound, id, padded_bytes_of(bound.point, diagram, id, values), false);
  if (segment == 0 || !bound.hardware.sector_bytes) return padded_bytes_of(bound.point, diagram, id, values);
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Nest& nest = bound.leaving(id);
  if (nest.guarded() && !how.zeroed && !nest.chunked.present() && fetched_every_step(bound, id) &&
      bound.finish.query_loop < 0)
    return visited_sectors(bound, id, segment, direction == Direction::read ? 1 : 0);
  const std::int64_t all = distinct_values(nest, {}, array.axes);
  const bool whole = all > 0 && values % all == 0 && !nest.guarded();  // every row the same number of times
  if (!whole) return padded_bytes_of(bound.point, diagram, id, values);
  const std::int64_t length = bound.nest.size(array.axes.back());
  return checked_mul(values / all, sector_stores(all / length, length, segment, element_bytes(bound, id),
                                                 bound.hardware.sector_bytes->value));
}

void add_tile_stores(const BoundIsland& bound, Terms& out, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Array& array = diagram.array(id);
  const int last = last_loop(bound.nest, array.axes, !fetched_every_step(bound, id));
  const StoreCounts counts = counts_of_store(bound, id);
  Term term{.boundary = Boundary::l2,
            .direction = Direction::write,
            .array = static_cast<int>(id),
            .last_loop = last,
            .bytes = statistic_bytes(bound, id, checked_add(counts.stored, counts.zeros), bound.how.row_store,
                                     Direction::write)};
  add_term(bound, out, term);
  term.direction = Direction::read,
  term.bytes = statistic_bytes(bound, id, counts.loaded, bound.how.row_load, Direction::read);
  add_term(bound, out, term);
}

// Zeros of what another island adds to, once.
void add_zeros(const BoundIsland& bound, Terms& out, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  if (!contains(bound.how.zeroes, diagram.array(id).name)) return;
  Term term{.boundary = Boundary::l2,
            .direction = Direction::write,
            .array = static_cast<int>(id),
            .last_loop = last_loop(bound.nest, diagram.array(id).axes),
            .bytes = padded_bytes_of(bound.point, diagram, id, bound.nest.values(diagram.array(id).axes))};
  add_term(bound, out, term);
}

// The one scale of an array: every block reads it; a result's is stored once.
void add_array_scale(const BoundIsland& bound, Terms& out, ArrayId id) {
  const std::int64_t bytes = array_scale_bytes(bound.point, id);
  Term term{.boundary = Boundary::l2, .cause = Cause::one_scale, .array = static_cast<int>(id)};
  if (loads(bound, id)) term.bytes = checked_mul(bytes, grid_blocks(bound)), add_term(bound, out, term);
  if (stores(bound, id)) term.direction = Direction::write, term.bytes = bytes, add_term(bound, out, term);
}

// The mask's own bytes: every block reads its row of the pattern.
void add_mask_reads(const BoundIsland& bound, Terms& out) {
  if (bound.how.mask_entry_bytes == 0 || !bound.point.mask.blocks || !bound.nest.guarded()) return;
  const Mask::Blocks& blocks = *bound.point.mask.blocks;
  const BoundLoop& queries = bound.nest.loops[static_cast<std::size_t>(bound.nest.query_loop)];
  const std::int64_t row =
      checked_mul(static_cast<std::int64_t>(blocks.live.front().size()), bound.how.mask_entry_bytes);
  const std::int64_t sector = bound.hardware.sector_bytes ? bound.hardware.sector_bytes->value : 1;
  std::int64_t read = 0;
  for (std::int64_t tile = 0; tile < queries.trips; ++tile) {
    const std::int64_t first = tile * queries.tile / blocks.block_q * row;
    read = checked_add(read, ((first + row - 1) / sector - first / sector + 1) * sector);
  }
  Term term{
      .boundary = Boundary::l2, .cause = Cause::mask, .bytes = checked_mul(read, bound.nest.blocks() / queries.trips)};
  add_term(bound, out, term);
}

// Stores of spilled registers all go on to the L2, loads where L1 does not hold them.
void add_spills(const BoundIsland& bound, const SpillTraffic& spills, Terms& out) {
  Term term{.boundary = Boundary::l2, .cause = Cause::spill, .bytes = spills.local.missed};
  add_term(bound, out, term);
  term.direction = Direction::write, term.bytes = spills.local.stored;
  add_term(bound, out, term);
}

}  // namespace

Terms l2_terms(const BoundIsland& bound, const SpillTraffic& spills, std::pmr::memory_resource* memory) {
  Terms out = no_terms(memory);
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (loads(bound, id)) add_tile_loads(bound, out, id);
    if (stores(bound, id)) add_tile_stores(bound, out, id);
    add_zeros(bound, out, id);
    add_array_scale(bound, out, id);
  }
  add_mask_reads(bound, out);
  add_spills(bound, spills, out);
  return out;
}

}  // namespace tilescope
