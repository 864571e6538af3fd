// Terms at the hbm and l2 boundaries.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/l2/closed_form.h"
#include "predict/l2/walk.h"
#include "predict/point/bound_island.h"
#include "predict/traffic/sectors.h"
#include "predict/work/products.h"

namespace tilescope {
namespace {

// Whether blocks or steps come back to an output, so that it competes with the inputs for the cache.
bool accumulates(const BoundIsland& bound, ArrayId id) {
  if (!stores(bound, id)) return false;
  const Visits found = visits_of(bound, id);
  return found.visits > found.distinct;
}

struct WorkingSet {
  double slice_bytes = 0;    // all reused arrays, one slice each: what they take of a partition
  double running_bytes = 0;  // slices of the blocks that run at once
  double stored_bytes = 0;   // of them, the bytes of results that are stored again and again
};

// The part of its bytes that an array takes in each partition (l2_cache.h): all of it where blocks of every side read
// it, its home's and a copy on one side where one block does, its home's where it is only added to.
double part_in_partition(const BoundIsland& bound, ArrayId id, const Reuse& reuse, double partitions) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  if (!loads(bound, id) && how.by != Accumulate::rewriting) return 1 / partitions;
  return reuse.blocks > 1 ? 1 : 1 / partitions + (1 - 1 / partitions) / partitions;
}

WorkingSet working_set(const BoundIsland& bound, const Nest& nest, std::int64_t resident, int partitions) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  WorkingSet set;
  const std::int64_t blocks = nest.blocks();
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id) && !accumulates(bound, id)) continue;
    const Reuse reuse = reuse_of(nest, diagram.arrays[i]);
    if (reuse.first_loop < 0) continue;
    const double all = static_cast<double>(bytes_of(bound.point, diagram, id, reuse.slice_values));
    const double bytes = all * part_in_partition(bound, id, reuse, partitions);
    const auto running = static_cast<double>(
        std::max<std::int64_t>(1, std::min(ceil_div(resident, reuse.blocks), blocks / reuse.blocks)));
    set.slice_bytes += bytes;
    set.running_bytes += bytes * running;
    if (accumulates(bound, id)) set.stored_bytes += all * running;
  }
  return set;
}

// The nest with its group loops in the order in which the grid issues blocks.
Nest in_issue_order(const BoundIsland& bound) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const auto rank = [&](const BoundLoop& loop) -> int {
    if (!loop.group) return 100;
    const Axis& own = diagram.axes[index(loop.axis)];
    const std::optional<Extent> size =
        own.chunks_of ? diagram.axes[index(*own.chunks_of)].extent : own.extent;  // parts of the keys are keys
    const GridDimension dimension = size == Extent::q_len    ? GridDimension::q
                                    : size == Extent::kv_len ? GridDimension::kv
                                    : size == Extent::batch  ? GridDimension::batch
                                                             : GridDimension::heads;
    const auto& order = bound.how.block_order;
    const auto found = std::find(order.begin(), order.end(), dimension);
    return static_cast<int>(order.end() - found);  // fastest first in the descriptor, outermost first in a nest
  };
  Nest nest = bound.nest;
  const AxisId parts =
      nest.chunked.present() ? nest.loops[static_cast<std::size_t>(nest.chunked.outer)].axis : AxisId{};
  // A stable insertion sort: std::stable_sort would allocate.
  const auto before = [&](const BoundLoop& a, const BoundLoop& b) { return rank(a) < rank(b); };
  for (auto next = nest.loops.begin(); next != nest.loops.begin() + static_cast<std::ptrdiff_t>(nest.loop_count);
       ++next)
    std::rotate(std::upper_bound(nest.loops.begin(), next, *next, before), next, next + 1);
  if (nest.guarded()) nest.find_guarded_pair();
  for (std::size_t i = 0; i < nest.loop_count; ++i) {
    const AxisId axis = nest.loops[i].axis;
    if (nest.chunked.present() && axis == parts) nest.chunked.outer = static_cast<int>(i);
    if (nest.chunked.present() && axis == nest.chunked.of) nest.chunked.inner = static_cast<int>(i);
  }
  return nest;
}

// An output that is visited once is written once. One that is added to stays in L2 while everything that is reused
// fits, and otherwise goes to DRAM and back at every visit that blocks do not make together, `trips` values in all;
// what was initialised beforehand is fetched at least once. `unwritten`: what is stored again and again stays unwritten
// in between.
void add_dram_stores(const BoundIsland& bound, Prediction& out, ArrayId id, bool fits, bool unwritten,
                     std::int64_t trips) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Array& array = diagram.array(id);
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Visits found = visits_of(bound, id);
  const std::int64_t distinct = found.distinct, visits = std::clamp(trips, distinct, found.visits);
  const bool cached = fits || visits == distinct, kept = (fits && unwritten) || visits == distinct;
  Term term{.boundary = Boundary::hbm,
            .direction = Direction::write,
            .array = static_cast<int>(id),
            .last_loop = last_loop(bound.nest, array.axes),
            .fits_cache = kept,
            .bytes = padded_bytes_of(bound.point, diagram, id,
                                     checked_add(counts_of_store(bound, id).zeros, kept ? distinct : visits))};
  add_term(bound, out, term);
  term.fits_cache = cached;
  const std::int64_t fetched = cached ? (how.zeroed ? distinct : 0) : how.zeroed ? visits : visits - distinct;
  term.direction = Direction::read, term.bytes = padded_bytes_of(bound.point, diagram, id, fetched);
  add_term(bound, out, term);
}

// Everything once, and what the walk saw come or go again.
void add_walked_dram(const BoundIsland& bound, Prediction& out, const L2Walk& walk) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    Term term{.boundary = Boundary::hbm,
              .array = static_cast<int>(i),
              .last_loop = last_loop(bound.nest, diagram.arrays[i].axes),
              .fits_cache = true};
    if (loads(bound, id)) {
      term.bytes =
          padded_bytes_of(bound.point, diagram, id, distinct_values(bound.nest, bound.live, diagram.arrays[i].axes));
      add_term(bound, out, term);
    }
    if (stores(bound, id)) add_dram_stores(bound, out, id, true, true, 0);
    term.cause = Cause::missed, term.fits_cache = false, term.bytes = walk.arrays[i].fetched_again;
    add_term(bound, out, term);
    term.direction = Direction::write, term.bytes = walk.arrays[i].written_again;
    add_term(bound, out, term);
  }
}

bool walked(const BoundIsland& bound, Prediction& out, const CacheShape& shape, std::int64_t resident) {
  if (bound.point.l2 != L2Model::walk || shape.capacity == 0) return false;
  L2Walk walk;
  if (!walk_l2(bound, shape, resident, walk, {.drift = bound.point.drift})) return false;
  add_walked_dram(bound, out, walk);
  return out.islands[static_cast<std::size_t>(bound.number)].l2_walked = true;
}

void add_dram(const BoundIsland& bound, Prediction& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const std::int64_t resident =
      out.islands[static_cast<std::size_t>(bound.number)].blocks_per_unit * bound.hardware.units.value;
  const CacheShape shape = cache_shape(bound.hardware);
  if (walked(bound, out, shape, resident)) return;
  const Nest nest = in_issue_order(bound);
  // A sharp cache where half of the lines are gone.
  const CacheState cache{.resident_blocks = resident, .capacity_bytes = shape.half_gone};
  const WorkingSet set = working_set(bound, nest, resident, shape.partitions);
  const bool fits = cache.capacity_bytes == 0 || set.running_bytes <= cache.capacity_bytes;
  const bool unwritten = cache.capacity_bytes == 0 || set.stored_bytes <= shape.half_written;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const Array& array = diagram.arrays[i];
    const int last = last_loop(bound.nest, array.axes);
    if (loads(bound, id)) {
      const DramRead read = dram_read(nest, bound.live, array, cache, set.running_bytes, set.slice_bytes);
      add_term(bound, out,
               {.boundary = Boundary::hbm,
                .direction = Direction::read,
                .array = static_cast<int>(i),
                .last_loop = last,
                .fits_cache = read.fits,
                .bytes = padded_bytes_of(bound.point, diagram, id, read.values)});
    }
    if (stores(bound, id))
      add_dram_stores(bound, out, id, fits, unwritten,
                      dram_read(nest, bound.live, array, cache, set.running_bytes, set.slice_bytes).values);
  }
}

// Whole bytes of an element, at least one.
std::int64_t element_bytes(const BoundIsland& bound, ArrayId id) {
  return std::max<std::int64_t>(1, bits(bound.point.dtypes[index(id)].format) / 8);
}

}  // namespace

// One value a row and step that every lane of a row reads for itself: a warp's instruction moves the sectors of the
// rows that the warp has, whole; a row of several warps is read by each. Lanes that take steps side by side read values
// that lie all rows apart. Rows are one behind the other in memory. 0: the array is not read so.
std::int64_t sector_read_bytes(const BoundIsland& bound, ArrayId id) {
  const Array& array = bound.plan.schedule.diagram.array(id);
  const auto times = bound.how.sector_reads.find(array.name);
  if (times == bound.how.sector_reads.end() || !bound.hardware.sector_bytes || !bound.hardware.warp_size) return 0;
  const std::int64_t warp = bound.hardware.warp_size->value, lanes = row_lanes(bound), steps = steps_of(bound.nest);
  const std::int64_t rows = touched_values(bound.nest, bound.live, array.axes) / steps;
  const std::int64_t reads = checked_mul(times->second, ceil_div(lanes, warp)),
                     sector = bound.hardware.sector_bytes->value;
  if (bound.how.step_lanes > 1)
    return checked_mul(reads, strided_reads(steps, rows, bound.how.step_lanes, element_bytes(bound, id), sector));
  const std::int64_t of_warp = std::max<std::int64_t>(1, warp / lanes);  // rows
  return checked_mul(reads, sector_stores(steps, rows, of_warp, element_bytes(bound, id), sector));
}

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
void add_tile_loads(const BoundIsland& bound, Prediction& out, ArrayId id) {
  if (const std::int64_t bytes = sector_read_bytes(bound, id); bytes > 0)
    return add_term(bound, out,
                    {.boundary = Boundary::l2,
                     .array = static_cast<int>(id),
                     .last_loop = last_loop(bound.nest, bound.plan.schedule.diagram.array(id).axes),
                     .bytes = bytes});
  const bool whole = copied_in_bulk(bound, id) && in_shared_memory(bound, id);
  const bool kept = !fetched_every_step(bound, id);
  const Fetchers fetchers = fetchers_through_l1(bound, id);
  const std::int64_t bytes = touched_bytes(bound, id, {.resident = kept, .whole_tiles = whole});
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
    std::int64_t visits = 0;
    if (live.is_band()) visits = live.keys_of(tile).count();
    else
      for (std::int64_t key = 0; key < live.key_tiles(); ++key) visits += live.live(tile, key);
    visits = std::max<std::int64_t>(visits, bound.how.writes_masked_rows ? 1 : 0) - less;
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
  if (!statistics || segment == 0 || !bound.hardware.sector_bytes)
    return padded_bytes_of(bound.point, diagram, id, values);
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

void add_tile_stores(const BoundIsland& bound, Prediction& out, ArrayId id) {
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
void add_zeros(const BoundIsland& bound, Prediction& out, ArrayId id) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  if (!contains(bound.how.zeroes, diagram.array(id).name)) return;
  Term term{.boundary = Boundary::l2,
            .direction = Direction::write,
            .array = static_cast<int>(id),
            .last_loop = last_loop(bound.nest, diagram.array(id).axes),
            .fits_cache = true,
            .bytes = padded_bytes_of(bound.point, diagram, id, bound.nest.values(diagram.array(id).axes))};
  add_term(bound, out, term);
  term.boundary = Boundary::hbm;
  add_term(bound, out, term);
}

// The mask's own bytes: every block reads its row of the pattern, and the pattern comes from DRAM once.
void add_mask(const BoundIsland& bound, Prediction& out) {
  if (bound.how.mask_entry_bytes == 0 || bound.point.mask.kind != MaskKind::blocks || !bound.nest.guarded()) return;
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
  term.boundary = Boundary::hbm, term.fits_cache = true, term.bytes = mask_bytes(bound.how, bound.point);
  add_term(bound, out, term);
}

}  // namespace

std::int64_t mask_bytes(const IslandImplementation& how, const Point& point) {
  if (how.mask_entry_bytes == 0 || point.mask.kind != MaskKind::blocks) return 0;
  const auto& live = point.mask.blocks->live;
  return checked_mul(
      checked_mul(static_cast<std::int64_t>(live.size()), static_cast<std::int64_t>(live.front().size())),
      how.mask_entry_bytes);
}

void add_term(const BoundIsland& bound, Prediction& out, Term term) {
  if (term.bytes == 0) return;
  term.island = bound.number;
  IslandPrediction& island = out.islands[static_cast<std::size_t>(bound.number)];
  const auto b = static_cast<std::size_t>(term.boundary), d = static_cast<std::size_t>(term.direction);
  island.traffic[b][d] = checked_add(island.traffic[b][d], term.bytes);
  const bool operand =
      term.cause == Cause::operand || (term.cause == Cause::transpose && term.direction == Direction::read);
  if (operand) island.operand_bytes = checked_add(island.operand_bytes, term.bytes);
  if (term.bulk) island.bulk_smem[d] = checked_add(island.bulk_smem[d], term.bytes);
  out.terms.push_back(term);
}

void add_traffic(const BoundIsland& bound, Prediction& out) {
  add_dram(bound, out);
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (loads(bound, id)) add_tile_loads(bound, out, id);
    if (stores(bound, id)) add_tile_stores(bound, out, id);
    add_zeros(bound, out, id);
  }
  add_mask(bound, out);
  add_local(bound, out);
  add_smem(bound, out);
}

}  // namespace tilescope
