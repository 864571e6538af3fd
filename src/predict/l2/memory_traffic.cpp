#include "predict/l2/memory_traffic.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "base/contains.h"
#include "predict/l2/closed_form.h"
#include "predict/l2/memory_forms.h"
#include "predict/l2/memory_seconds.h"
#include "predict/l2/walk/walk.h"
#include "predict/point/order/issue_order.h"

namespace tilescope {
namespace {

// Whether blocks or steps come back to an output, so that it competes with the inputs for the cache.
bool accumulates(const BoundIsland& bound, ArrayId id) {
  if (!stores(bound, id)) return false;
  const Visits found = visits_of(bound, id);
  return found.visits > found.distinct;
}

struct WorkingSet {          // of one L2
  double slice_bytes = 0;    // all reused arrays, one slice each: what they take of a partition
  double running_bytes = 0;  // slices of the blocks that run at once
  double stored_bytes = 0;   // of them, the bytes of results that are stored again and again
};

// What the closed form asks of a launch's arrays: counts of a plain nest by its forms, else by the transfer rule.
class ArraysAtMemory {
 public:
  ArraysAtMemory(const BoundIsland& bound, const CacheShape& shape, const MemoryForms* forms)
      : bound_(bound), shape_(shape), forms_(forms), plain_(plain(bound.nest)) {
    if (!plain_ || shape.caches > 1) issued_ = in_issue_order(bound);
    if (!plain_) return;
    for (const ArrayForms& array : forms->arrays)
      if (array.stores) note_visits(bound, array.id, array.visits_in(bound.nest));
  }
  int last(ArrayId id) const { return forms_ ? of(id).last : last_loop(bound_.nest, array(id).axes); }
  Reuse reuse(ArrayId id) const {
    return forms_ ? reuse_of(of(id).of_all_steps, bound_.nest) : reuse_of(*issued_, array(id));
  }
  Spread spread(ArrayId id) const {
    return shape_.caches == 1 ? Spread{} : spread_of(*issued_, array(id), shape_.caches, shape_.dealt_blocks);
  }
  DramRead read(ArrayId id, const CacheState& cache, const WorkingSet& set) const {
    if (plain_) return plain_dram_read(of(id), bound_.nest, cache, spread(id), set.running_bytes);
    if (bound_.awaited(id) == 0)
      return dram_read(*issued_, bound_.live, array(id), reuse(id), cache, spread(id), set.running_bytes,
                       set.slice_bytes);
    const Nest own = bound_.seen_by(id, *issued_);
    const Reuse seen = forms_ ? reuse_of(of(id).reuse, bound_.nest) : reuse_of(own, array(id));
    return dram_read(own, own.guarded() ? sums_of(own, false) : bound_.live, array(id), seen, cache, spread(id),
                     set.running_bytes, set.slice_bytes);
  }

 private:
  const Array& array(ArrayId id) const { return bound_.plan.schedule.diagram.array(id); }
  const ArrayForms& of(ArrayId id) const { return forms_->arrays[index(id)]; }

  const BoundIsland& bound_;
  const CacheShape& shape_;
  const MemoryForms* forms_;
  const bool plain_;
  std::optional<Nest> issued_;  // where a number depends on more than which loops move
};

// The part of its bytes that an array takes in each partition (l2_cache.h): all of it where blocks of every side read
// it, its home's and a copy on one side where one block does, its home's where it is only added to.
double part_in_partition(const BoundIsland& bound, ArrayId id, const Reuse& reuse, double partitions) {
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  if (!loads(bound, id) && how.by != Accumulate::rewriting) return 1 / partitions;
  return reuse.blocks > 1 ? 1 : 1 / partitions + (1 - 1 / partitions) / partitions;
}

WorkingSet working_set(const BoundIsland& bound, const ArraysAtMemory& arrays, std::int64_t resident,
                       const CacheShape& shape) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  WorkingSet set;
  const std::int64_t blocks = bound.nest.blocks();
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool again = accumulates(bound, id);
    if (!loads(bound, id) && !again) continue;
    const Reuse reuse = arrays.reuse(id);
    if (!reuse.any) continue;
    const Spread spread = arrays.spread(id);
    const double all = static_cast<double>(bytes_of(bound.point, diagram, id, reuse.slice_values)) *
                       static_cast<double>(spread.of_tile) / static_cast<double>(spread.of_slice);
    const double bytes = all * part_in_partition(bound, id, reuse, shape.partitions);
    const std::int64_t sharers = std::max<std::int64_t>(1, reuse.blocks / spread.of_slice),
                       slices = ceil_div(blocks / reuse.blocks * spread.of_slice, shape.caches);
    const auto running = static_cast<double>(std::max<std::int64_t>(1, std::min(ceil_div(resident, sharers), slices)));
    set.slice_bytes += bytes;
    set.running_bytes += bytes * running;
    if (again) set.stored_bytes += all * running;
  }
  return set;
}

// An output that is visited once is written once. One that is added to stays in L2 while everything that is reused
// fits, and otherwise goes to DRAM and back at every visit that blocks do not make together, `trips` values in all;
// what was initialised beforehand is fetched at least once. `unwritten`: what is stored again and again stays unwritten
// in between.
void add_dram_stores(const BoundIsland& bound, Boundary boundary, Terms& out, ArrayId id, bool fits, bool unwritten,
                     std::int64_t trips, int last) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const Stored how = bound.plan.schedule.how_stored(bound.island, id);
  const Visits found = visits_of(bound, id);
  const std::int64_t distinct = found.distinct, visits = std::clamp(trips, distinct, found.visits);
  const bool cached = fits || visits == distinct, kept = (fits && unwritten) || visits == distinct;
  Term term{.boundary = boundary,
            .direction = Direction::write,
            .array = static_cast<int>(id),
            .last_loop = last,
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
    if (stores(bound, id)) add_dram_stores(bound, boundary, out, id, true, true, 0, term.last_loop);
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
                     const MemoryForms* forms, Terms& out) {
  const Diagram& diagram = bound.plan.schedule.diagram;
  const ArraysAtMemory arrays(bound, shape, forms);
  // A sharp cache where half of the lines are gone.
  const CacheState cache{.resident_blocks = ceil_div(resident, shape.caches), .capacity_bytes = shape.half_gone};
  const WorkingSet set = working_set(bound, arrays, cache.resident_blocks, shape);
  const bool fits = cache.capacity_bytes == 0 || set.running_bytes <= cache.capacity_bytes;
  const bool unwritten = cache.capacity_bytes == 0 || set.stored_bytes <= shape.half_written;
  for (std::size_t i = 0; i < diagram.arrays.size(); ++i) {
    const auto id = static_cast<ArrayId>(static_cast<int>(i));
    const bool loaded = loads(bound, id), stored = stores(bound, id);
    if (!loaded && !stored) continue;
    // Blocks of several L2s take a result from each other at every visit.
    const bool one = arrays.spread(id).of_tile == 1;
    const DramRead found = loaded || one ? arrays.read(id, cache, set) : DramRead{};
    const int last = arrays.last(id);
    if (loaded)
      add_term(bound, out,
               {.boundary = boundary,
                .direction = Direction::read,
                .array = static_cast<int>(i),
                .last_loop = last,
                .fits_cache = found.fits,
                .bytes = padded_bytes_of(bound.point, diagram, id, found.values)});
    if (stored)
      add_dram_stores(bound, boundary, out, id, fits && one, unwritten && one,
                      one ? found.values : visits_of(bound, id).visits, last);
  }
}

// Behind the L2s a last-level cache, which reads no more from memory than they lack and writes all that they write.
// `of_tiles`: the terms at the L2, which lacks no more of an array than its multiprocessors ask for.
void add_closed_form_of_two(const BoundIsland& bound, const CacheShape& shape, std::int64_t resident,
                            const MemoryForms* forms, const Terms& of_tiles, Terms& out) {
  const auto last_level = static_cast<double>(shape.last_level_capacity);
  const CacheShape last{.capacity = shape.last_level_capacity, .half_gone = last_level, .half_written = last_level};
  Terms lacked = no_terms(out.get_allocator().resource()), from_memory = no_terms(out.get_allocator().resource());
  add_closed_form(bound, Boundary::llc, shape, resident, forms, lacked);
  add_closed_form(bound, Boundary::hbm, last, resident, forms, from_memory);
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
  if (bound.how.zeroes.empty()) return;
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
    const std::int64_t once = bound.point.dtypes[i].tensor_bytes;
    if (once == 0) continue;
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
LeftL2 left_l2(const BoundIsland& bound, const SpillTraffic& spills, const FrameTraffic& walked) {
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
void add_spills_dram(const BoundIsland& bound, Boundary boundary, const SpillTraffic& spills,
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

LocalFrames frames_of(const BoundIsland& bound, const SpillTraffic& spills) {
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

MemoryTraffic least_memory_traffic(const BoundIsland& bound, std::pmr::memory_resource* memory) {
  MemoryTraffic traffic{.terms = no_terms(memory), .walked = true};
  for (const Boundary boundary : {Boundary::hbm, Boundary::llc}) {
    if (boundary == Boundary::llc && cache_shape(bound.hardware).last_level_capacity == 0) continue;
    add_walked(bound, boundary, {}, traffic.terms);
    add_zeros_dram(bound, boundary, traffic.terms);
    add_array_scales_dram(bound, boundary, traffic.terms);
    add_mask_dram(bound, boundary, traffic.terms);
  }
  return traffic;
}

MemoryTraffic memory_traffic(const BoundIsland& bound, const TileCounts& tiles, const std::optional<L2Walk>& walk,
                             std::pmr::memory_resource* memory) {
  MemoryTraffic traffic{.terms = no_terms(memory), .walked = walk.has_value()};
  const std::int64_t resident = tiles.occupancy.blocks_per_unit * bound.hardware.units.value;
  const MemoryForms* forms = traffic.walked ? nullptr : memory_forms(bound);
  const CacheShape shape = forms ? forms->shape : cache_shape(bound.hardware);
  const bool last_level = shape.last_level_capacity > 0;
  if (!traffic.walked && last_level) add_closed_form_of_two(bound, shape, resident, forms, tiles.terms, traffic.terms);
  if (!traffic.walked && !last_level) add_closed_form(bound, Boundary::hbm, shape, resident, forms, traffic.terms);
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
