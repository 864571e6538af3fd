#include "predict/l2/memory_traffic.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/grid/issue_order.h"
#include "predict/l2/closed_form.h"
#include "predict/l2/memory_seconds.h"
#include "predict/l2/walk.h"

namespace tilescope {
namespace {

// Whether blocks or steps come back to an output, so that it competes with the inputs for the cache.
bool accumulates(const BoundIsland& bound, ArrayId id) {
  if (!stores(bound, id)) return false;
  const Visits found = visits_of(bound, id);
  return found.visits > found.distinct;
}

struct WorkingSet {                       // of one L2
  double slice_bytes = 0;                 // all reused arrays, one slice each: what they take of a partition
  double running_bytes = 0;               // slices of the blocks that run at once
  double stored_bytes = 0;                // of them, the bytes of results that are stored again and again
  std::array<Reuse, max_arrays> reuse{};  // of the arrays that are loaded or come back
  std::uint64_t known = 0;                // a bit an ArrayId: those
};

// The part of its bytes that an array takes in each partition (l2_cache.h): all of it where blocks of every side read
// it, its home's and a copy on one side where one block does, its home's where it is only added to.
double part_in_partition(const BoundIsland& bound, ArrayId id, const Reuse& reuse, double partitions) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  if (!loads(bound, id) && how.by != Accumulate::rewriting) return 1 / partitions;
  return reuse.blocks > 1 ? 1 : 1 / partitions + (1 - 1 / partitions) / partitions;
}

WorkingSet working_set(const BoundIsland& bound, const Nest& nest, std::int64_t resident, const CacheShape& shape) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  WorkingSet set;
  const std::int64_t blocks = nest.blocks();
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    if (!loads(bound, id) && !accumulates(bound, id)) continue;
    const Reuse& reuse = set.reuse[i] = reuse_of(nest, diagram.arrays[i]);
    set.known |= std::uint64_t{1} << i;
    if (reuse.first_loop < 0) continue;
    const Spread spread = spread_of(nest, diagram.arrays[i], shape.caches, shape.dealt_blocks);
    const double all = static_cast<double>(bytes_of(bound.point, diagram, id, reuse.slice_values)) *
                       static_cast<double>(spread.of_tile) / static_cast<double>(spread.of_slice);
    const double bytes = all * part_in_partition(bound, id, reuse, shape.partitions);
    const std::int64_t sharers = std::max<std::int64_t>(1, reuse.blocks / spread.of_slice),
                       slices = ceil_div(blocks / reuse.blocks * spread.of_slice, shape.caches);
    const auto running = static_cast<double>(std::max<std::int64_t>(1, std::min(ceil_div(resident, sharers), slices)));
    set.slice_bytes += bytes;
    set.running_bytes += bytes * running;
    if (accumulates(bound, id)) set.stored_bytes += all * running;
  }
  return set;
}

// An output that is visited once is written once. One that is added to stays in L2 while everything that is reused
// fits, and otherwise goes to DRAM and back at every visit that blocks do not make together, `trips` values in all;
// what was initialised beforehand is fetched at least once. `unwritten`: what is stored again and again stays unwritten
// in between.
void add_dram_stores(const BoundIsland& bound, Boundary boundary, Terms& out, ArrayId id, bool fits, bool unwritten,
                     std::int64_t trips) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Array& array = diagram.array(id);
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Visits found = visits_of(bound, id);
  const std::int64_t distinct = found.distinct, visits = std::clamp(trips, distinct, found.visits);
  const bool cached = fits || visits == distinct, kept = (fits && unwritten) || visits == distinct;
  Term term{.boundary = boundary,
            .direction = Direction::write,
            .array = static_cast<int>(id),
            .last_loop = last_loop(bound.nest, array.axes),
            .fits_cache = kept,
            .bytes = padded_bytes_of(
                bound.point, diagram, id,
                checked_add(how.zeroed ? counts_of_store(bound, id).zeros : 0, kept ? distinct : visits))};
  add_term(bound, out, term);
  term.fits_cache = cached;
  if (bound.computed_again(id)) return;
  const std::int64_t fetched = cached ? (how.zeroed ? distinct : 0) : how.zeroed ? visits : visits - distinct;
  term.direction = Direction::read, term.bytes = padded_bytes_of(bound.point, diagram, id, fetched);
  add_term(bound, out, term);
}

// Everything once, and what the walk saw come or go again.
void add_walked(const BoundIsland& bound, Boundary boundary, const L2Walk& walk, Terms& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    Term term{.boundary = boundary,
              .array = static_cast<int>(i),
              .last_loop = last_loop(bound.nest, diagram.arrays[i].axes),
              .fits_cache = true};
    if (loads(bound, id)) {
      term.bytes =
          padded_bytes_of(bound.point, diagram, id, distinct_values(bound.nest, bound.live, diagram.arrays[i].axes));
      add_term(bound, out, term);
    }
    if (stores(bound, id)) add_dram_stores(bound, boundary, out, id, true, true, 0);
    const WalkedArray& walked = walk.arrays[i];
    term.cause = Cause::missed, term.fits_cache = false,
    term.bytes = boundary == Boundary::hbm ? walked.from_memory_again : walked.fetched_again;
    add_term(bound, out, term);
    term.direction = Direction::write, term.bytes = walked.written_again;
    add_term(bound, out, term);
  }
}

// The closed form over waves of resident blocks; `resident` of all caches together.
void add_closed_form(const BoundIsland& bound, Boundary boundary, const CacheShape& shape, std::int64_t resident,
                     Terms& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Nest nest = in_issue_order(bound);
  // A sharp cache where half of the lines are gone.
  const CacheState cache{.resident_blocks = ceil_div(resident, shape.caches), .capacity_bytes = shape.half_gone};
  const WorkingSet set = working_set(bound, nest, cache.resident_blocks, shape);
  const bool fits = cache.capacity_bytes == 0 || set.running_bytes <= cache.capacity_bytes;
  const bool unwritten = cache.capacity_bytes == 0 || set.stored_bytes <= shape.half_written;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const Array& array = diagram.arrays[i];
    const int last = last_loop(bound.nest, array.axes);
    const Spread spread = spread_of(nest, array, shape.caches, shape.dealt_blocks);
    const auto read = [&] {
      if (bound.awaited(id) == 0)
        return dram_read(nest, bound.live, array,
                         IslandFacts::has(set.known, id) ? set.reuse[i] : reuse_of(nest, array), cache, spread,
                         set.running_bytes, set.slice_bytes);
      const Nest own = bound.seen_by(id, nest);
      return dram_read(own, own.guarded() ? sums_of(own, false) : bound.live, array, cache, spread, set.running_bytes,
                       set.slice_bytes);
    };
    if (loads(bound, id)) {
      const DramRead found = read();
      add_term(bound, out,
               {.boundary = boundary,
                .direction = Direction::read,
                .array = static_cast<int>(i),
                .last_loop = last,
                .fits_cache = found.fits,
                .bytes = padded_bytes_of(bound.point, diagram, id, found.values)});
    }
    // Blocks of several L2s take a result from each other at every visit.
    const bool one = spread.of_tile == 1;
    if (stores(bound, id))
      add_dram_stores(bound, boundary, out, id, fits && one, unwritten && one,
                      one ? read().values : visits_of(bound, id).visits);
  }
}

// Behind the L2s a last-level cache, which reads no more from memory than they lack and writes all that they write.
// `of_tiles`: the terms at the L2, which lacks no more of an array than its multiprocessors ask for.
void add_closed_form_of_two(const BoundIsland& bound, const CacheShape& shape, std::int64_t resident,
                            const Terms& of_tiles, Terms& out) {
  const auto last_level = static_cast<double>(shape.last_level_capacity);
  const CacheShape last{.capacity = shape.last_level_capacity, .half_gone = last_level, .half_written = last_level};
  Terms lacked = no_terms(out.get_allocator().resource()), from_memory = no_terms(out.get_allocator().resource());
  add_closed_form(bound, Boundary::llc, shape, resident, lacked);
  add_closed_form(bound, Boundary::hbm, last, resident, from_memory);
  for (Term& inner : lacked) {
    std::int64_t asked = 0;
    for (const Term& term : of_tiles)
      if (term.boundary == Boundary::l2 && term.array == inner.array && term.direction == Direction::read)
        asked = checked_add(asked, term.bytes);
    if (inner.direction == Direction::read && asked > 0) inner.bytes = std::min(inner.bytes, asked);
    Term outer = inner;
    outer.boundary = Boundary::hbm;
    const auto same = std::find_if(from_memory.begin(), from_memory.end(), [&](const Term& term) {
      return term.array == inner.array && term.direction == Direction::read;
    });
    if (inner.direction == Direction::read) {
      if (same == from_memory.end()) continue;
      if (same->bytes < outer.bytes) outer = *same;
    }
    add_term(bound, out, outer);
  }
  out.insert(out.end(), lacked.begin(), lacked.end());
}

// Zeros of what another launch adds to, once.
void add_zeros_dram(const BoundIsland& bound, Boundary boundary, Terms& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i)
    if (contains(bound.how.zeroes, diagram.arrays[i].name)) {
      const auto id = static_cast<ArrayId>(static_cast<int>(i));
      add_term(bound, out,
               {.boundary = boundary,
                .direction = Direction::write,
                .array = static_cast<int>(i),
                .last_loop = last_loop(bound.nest, diagram.arrays[i].axes),
                .fits_cache = true,
                .bytes = padded_bytes_of(bound.point, diagram, id, bound.nest.values(diagram.arrays[i].axes))});
    }
}

// L2s that a launch's blocks are dealt to.
std::int64_t caches_with_blocks(const BoundIsland& bound, Boundary boundary) {
  return boundary == Boundary::hbm ? 1 : std::min<std::int64_t>(cache_shape(bound.hardware).caches, grid_blocks(bound));
}

// The one scale of an array comes from memory, or goes there, once.
void add_array_scales_dram(const BoundIsland& bound, Boundary boundary, Terms& out) {
  for (std::size_t i = 0; i < bound.plan.schedule.diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const std::int64_t once = array_scale_bytes(bound.point, id);
    Term term{.boundary = boundary, .cause = Cause::one_scale, .array = static_cast<int>(i), .fits_cache = true};
    term.bytes = checked_mul(once, caches_with_blocks(bound, boundary));
    if (loads(bound, id)) add_term(bound, out, term);
    term.direction = Direction::write, term.bytes = once;
    if (stores(bound, id)) add_term(bound, out, term);
  }
}

// A block mask's pattern comes from memory once, to each L2.
void add_mask_dram(const BoundIsland& bound, Boundary boundary, Terms& out) {
  if (!bound.nest.guarded()) return;
  add_term(bound, out,
           {.boundary = boundary,
            .cause = Cause::mask,
            .fits_cache = true,
            .bytes = checked_mul(mask_bytes(bound.how, bound.point), caches_with_blocks(bound, boundary))});
}

// The part of what is stored again and again that L2 writes to memory in between, when so many bytes are stored: the
// middle of the last step of the measured curve that they pass; all or nothing where there is none.
double written_part(const BoundIsland& bound, double bytes) {
  const auto& measured = bound.hardware.measured;
  if (!measured || measured->l2.written.empty()) return bytes > cache_shape(bound.hardware).half_written ? 1 : 0;
  double percent = 0;
  for (const auto& [of, at] : measured->l2.written)
    if (at.value < bytes) percent = std::max(percent, static_cast<double>(of) + 5);
  return std::min(1.0, percent / 100);
}

// Whether bytes that single SMs sweep stay in the L2.
bool private_bytes_stay(const BoundIsland& bound, double bytes) {
  const MemoryLevel* l2 = bound.hardware.level(LevelId::l2);
  return stays_in_l2(bound.hardware, bytes) ||
         (!bound.hardware.measured && l2 && l2->capacity_bytes && bytes <= l2->capacity_bytes->value);
}

// Parts of spilled bytes that leave the L2 before they are loaded, and that it writes before they are stored again.
struct LeftL2 {
  double missing = 0, written = 0;
};

// The part written at an age of so many places, in a straight line between the walk's ages.
double written_at(const std::vector<FrameAge>& walked, double age) {
  const auto below = std::min(static_cast<std::size_t>(age), walked.size() - 2);
  const double first = walked[below].part(), last = walked[below + 1].part();
  return first + (age - static_cast<double>(below)) * (last - first);
}

// From the walk's sweeps, or from the measured curves at the bytes of all frames that were stored in between.
LeftL2 left_l2(const BoundIsland& bound, const SpilledBytes& spills, const FrameTraffic& walked) {
  LeftL2 left{.missing = walked.loads.part()};
  for (std::size_t i = 0; i < local_ages; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / local_ages, bytes = part * spills.at_once;
    if (walked.stores.empty()) left.missing += private_bytes_stay(bound, bytes) ? 0 : spills.loaded_after[i];
    left.written +=
        spills.stored_after[i] *
        (walked.stores.empty() ? written_part(bound, bytes)
                               : written_at(walked.stores, part * static_cast<double>(walked.stores.size() - 1)));
  }
  return left;
}

// What leaves the L2s stays in a last-level cache that has room for all frames; it writes all of it.
void add_spills_dram(const BoundIsland& bound, Boundary boundary, const SpilledBytes& spills,
                     const FrameTraffic& walked, Terms& out) {
  if (spills.local.stored == 0 && spills.local.missed == 0) return;
  LeftL2 left = left_l2(bound, spills, walked);
  const auto last_level = static_cast<double>(cache_shape(bound.hardware).last_level_capacity);
  if (boundary == Boundary::hbm && last_level > 0 && spills.at_once <= last_level) left.missing = 0;
  const auto stored = static_cast<double>(spills.local.stored), missed = static_cast<double>(spills.local.missed);
  const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::llround(bytes)); };
  Term term{.boundary = boundary, .cause = Cause::spill, .bytes = whole(left.missing * missed)};
  add_term(bound, out, term);
  // What the frames hold at the end goes to memory too.
  term.direction = Direction::write, term.bytes = whole(left.written * stored + std::min(spills.at_once, stored));
  add_term(bound, out, term);
}

LocalFrames frames_of(const BoundIsland& bound, const SpilledBytes& spills) {
  LocalFrames frames{.bytes = spills.block_frame, .loaded_after = spills.loaded_after};
  if (bound.hardware.max_warps_per_unit)
    frames.of_a_unit = std::max<std::int64_t>(1, bound.hardware.max_warps_per_unit->value / warps_of_block(bound));
  return frames;
}

}  // namespace

std::int64_t mask_bytes(const IslandImplementation& how, const Point& point) {
  if (how.mask_entry_bytes == 0 || !point.mask.blocks) return 0;
  const auto& live = point.mask.blocks->live;
  return checked_mul(
      checked_mul(static_cast<std::int64_t>(live.size()), static_cast<std::int64_t>(live.front().size())),
      how.mask_entry_bytes);
}

std::optional<L2Walk> walked_blocks(const BoundIsland& bound, const TileCounts& tiles) {
  const CacheShape shape = cache_shape(bound.hardware);
  if (bound.point.l2 != L2Model::walk || shape.capacity == 0) return std::nullopt;
  const std::int64_t resident = tiles.occupancy.blocks_per_unit * bound.hardware.units.value;
  std::optional<L2Walk> walk(std::in_place);
  if (!walk_l2(bound, shape, resident, *walk, {.drift = bound.point.drift, .frames = frames_of(bound, tiles.spills)}))
    walk.reset();
  return walk;
}

MemoryTraffic memory_traffic(const BoundIsland& bound, const TileCounts& tiles, const std::optional<L2Walk>& walk,
                             std::pmr::memory_resource* memory) {
  MemoryTraffic traffic{.terms = no_terms(memory), .walked = walk.has_value()};
  const std::int64_t resident = tiles.occupancy.blocks_per_unit * bound.hardware.units.value;
  const CacheShape shape = cache_shape(bound.hardware);
  const bool last_level = shape.last_level_capacity > 0;
  if (!traffic.walked && last_level) add_closed_form_of_two(bound, shape, resident, tiles.terms, traffic.terms);
  if (!traffic.walked && !last_level) add_closed_form(bound, Boundary::hbm, shape, resident, traffic.terms);
  for (const Boundary boundary : {Boundary::hbm, Boundary::llc}) {
    if (boundary == Boundary::llc && !last_level) continue;
    if (traffic.walked) add_walked(bound, boundary, *walk, traffic.terms);
    add_zeros_dram(bound, boundary, traffic.terms);
    add_array_scales_dram(bound, boundary, traffic.terms);
    add_mask_dram(bound, boundary, traffic.terms);
    add_spills_dram(bound, boundary, tiles.spills, walk ? walk->frames : FrameTraffic{}, traffic.terms);
  }
  return traffic;
}

}  // namespace tilescope
