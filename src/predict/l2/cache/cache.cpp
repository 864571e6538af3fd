#include "predict/l2/cache/cache.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tilescope {
namespace {

constexpr std::int64_t finest_piece = 64 << 10;   // bytes
constexpr int slices = 2;                         // sets of different chance, each with a part of a piece
constexpr std::int64_t small_part = 16;           // of an entry: a smaller piece comes and goes with the others
constexpr std::int64_t most_fragments = 1 << 21;  // larger data is handled in larger pieces,
constexpr std::int64_t most_groups = 1 << 18;     // and so is a larger L2

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): unrelated values of consecutive numbers. One product by a constant does
// not do: its values lie a constant distance apart, which fills sets too evenly or not, by the number of sets.
std::uint64_t unrelated(std::uint64_t number) {
  number *= 0x9E3779B97F4A7C15u;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return number ^ (number >> 31);
}

// Where the curve of percentages passes one half, in a straight line between its points; 0: there is no curve.
double half_of(const std::map<std::int64_t, Sourced<double>>& curve) {
  if (curve.size() < 2) return 0;
  constexpr std::int64_t percent = 55;  // the middle of the part after the half: the first that counts as gone
  auto above = curve.lower_bound(percent);
  if (above == curve.end()) --above;
  if (above == curve.begin()) ++above;
  const auto below = std::prev(above);
  const double x0 = static_cast<double>(below->first), x1 = static_cast<double>(above->first);
  return below->second.value +
         (above->second.value - below->second.value) * (static_cast<double>(percent) - x0) / (x1 - x0);
}

}  // namespace

CacheShape cache_shape(const HardwareProfile& hardware) {
  const MemoryLevel* l2 = hardware.level(LevelId::l2);
  CacheShape shape;
  if (hardware.l2_partitions)
    shape.partitions =
        static_cast<int>(std::clamp<std::int64_t>(hardware.l2_partitions->value, 1, L2Cache::most_partitions));
  if (hardware.l2_caches) shape.caches = static_cast<int>(std::clamp<std::int64_t>(hardware.l2_caches->value, 1, 64));
  if (hardware.l2_dealt_blocks) shape.dealt_blocks = hardware.l2_dealt_blocks->value;
  shape.capacity = l2 && l2->capacity_bytes ? std::llround(l2->capacity_bytes->value / shape.caches) : 0;
  if (hardware.l2_slices && hardware.l2_capacity_slices)  // the device reports slices that it does not have
    shape.capacity = shape.capacity / hardware.l2_capacity_slices->value * hardware.l2_slices->value;
  if (hardware.l2_ways) shape.ways = hardware.l2_ways->value;
  if (hardware.l2_ways && hardware.l2_dirty_ways)
    shape.dirty = std::min(1.0, static_cast<double>(hardware.l2_dirty_ways->value) / static_cast<double>(shape.ways));
  shape.half_gone = static_cast<double>(shape.capacity) / shape.partitions;
  shape.half_written = static_cast<double>(shape.capacity);
  if (const MemoryLevel* llc = hardware.level(LevelId::llc); llc && llc->capacity_bytes)
    shape.last_level_capacity = std::llround(llc->capacity_bytes->value);
  if (hardware.llc_ways) shape.last_level_ways = hardware.llc_ways->value;
  if (!hardware.measured) return shape;
  if (const double half = half_of(hardware.measured->l2.gone); half > 0) shape.half_gone = half;
  if (const double half = half_of(hardware.measured->l2.written); half > 0) shape.half_written = half;
  return shape;
}

// Which sets an address has is not known in detail. Assumed: every period of addresses goes round the sets once, from a
// place of its own. Contiguous data is then even but for its ends, as sweeps of one range show (misses begin at 0.93 of
// the room and are complete at 1.15), and ranges far apart are independent. Slices of the L2 have chances of their own.
void L2Cache::cut(std::span<const CachePiece> pieces, std::span<const int> first, std::int64_t groups,
                  std::int64_t bytes) {
  fragments_.clear(), first_.clear();
  for (std::size_t entry = 0; entry + 1 < first.size(); ++entry) {
    first_.push_back(static_cast<int>(fragments_.size()));
    const auto of_entry = pieces.subspan(static_cast<std::size_t>(first[entry]),
                                         static_cast<std::size_t>(first[entry + 1] - first[entry]));
    if (bytes > 0) cut_entry(of_entry, groups / slices, bytes);
    else  // no sets: each entry is looked after whole
      for (const CachePiece& piece : of_entry)
        if (piece.bytes > 0) fragments_.push_back({0, static_cast<int>(piece.bytes / partitions_)});
  }
  first_.push_back(static_cast<int>(fragments_.size()));
}

void L2Cache::cut_entry(std::span<const CachePiece> pieces, std::int64_t groups, std::int64_t bytes) {
  std::int64_t all = 0, of_small = 0;
  for (const CachePiece& piece : pieces) all += piece.bytes;
  const auto small = [&](const CachePiece& piece) { return piece.bytes * small_part < all; };
  for (const CachePiece& piece : pieces)
    if (small(piece)) of_small += piece.bytes;
  for (const CachePiece& piece : pieces) {
    if (small(piece)) continue;
    for (std::int64_t at = piece.address; at < piece.address + piece.bytes;) {
      const std::int64_t number = at / bytes, end = std::min((number + 1) * bytes, piece.address + piece.bytes);
      const int part = static_cast<int>((end - at + std::exchange(of_small, 0)) / partitions_ / slices);
      for (int slice = 0; slice < slices; ++slice) {
        const auto chance = unrelated(static_cast<std::uint64_t>(number / groups * slices + slice + 1));
        const auto turn = static_cast<std::int64_t>(chance >> 33);
        fragments_.push_back({static_cast<int>((number + turn) % groups * slices + slice), part});
      }
      at = end;
    }
  }
}

std::int64_t L2Cache::fragment_bytes(const CacheShape& shape, std::span<const CachePiece> pieces) {
  if (shape.ways == 0) return 0;
  std::int64_t all = 0, bytes = finest_piece;
  for (const CachePiece& piece : pieces) all += piece.bytes;
  while (all / bytes > most_fragments || shape.capacity / shape.ways / bytes > most_groups) bytes *= 2;
  return bytes;
}

void L2Cache::reset(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first,
                    std::int64_t fragment) {
  partitions_ = shape.partitions;
  bits_ = std::bit_width(static_cast<unsigned>(partitions_ - 1));
  outer_ = nullptr, supplied_ = 0;
  const std::int64_t ways = shape.ways > 0 || fragment == 0 ? shape.ways : shape.capacity / fragment;  // one set
  const std::int64_t groups =
      fragment == 0 ? 1
                    : std::max<std::int64_t>(1, shape.capacity / std::max<std::int64_t>(1, ways) / fragment) * slices;
  room_ = shape.capacity / partitions_ / groups;
  dirty_room_ = std::llround(static_cast<double>(room_) * shape.dirty);
  sets_.assign(static_cast<std::size_t>(groups) << bits_, {});
  dirty_.assign(static_cast<std::size_t>(groups) << bits_, {});
  cut(pieces, first, groups, fragment);
  links_.assign(fragments_.size() << 2 * bits_, {});
  dirty_links_.assign(fragments_.size() << bits_, {});
  written_.assign(fragments_.size() << bits_, never);
}

std::size_t L2Cache::at_partition(std::size_t index, int partition) const {
  return index << bits_ | static_cast<std::size_t>(partition);
}

std::size_t L2Cache::line(std::size_t fragment, int side, int home) const {
  return at_partition(at_partition(fragment, side), home);
}

void L2Cache::take(std::vector<LruLink>& links, List& list, std::size_t at, std::int64_t bytes) {
  const LruLink link = links[at];
  (link.previous < 0 ? list.newest : links[static_cast<std::size_t>(link.previous)].next) = link.next;
  (link.next < 0 ? list.oldest : links[static_cast<std::size_t>(link.next)].previous) = link.previous;
  links[at].previous = absent;
  list.bytes -= bytes;
}

void L2Cache::put(std::vector<LruLink>& links, List& list, std::size_t at, std::int64_t bytes) {
  links[at] = {-1, list.newest};
  (list.newest < 0 ? list.oldest : links[static_cast<std::size_t>(list.newest)].previous) = static_cast<int>(at);
  list.newest = static_cast<int>(at);
  list.bytes += bytes;
}

// Unwritten contents go to DRAM.
void L2Cache::clean(std::size_t fragment, int home) {
  const std::size_t at = at_partition(fragment, home);
  if (written_[at] != unwritten) return;
  written_[at] = written;
  const Fragment& own = fragments_[fragment];
  take(dirty_links_, dirty_[at_partition(static_cast<std::size_t>(own.group), home)], at, own.part);
  if (outer_ != nullptr) outer_->use(fragment, home, home);
}

void L2Cache::supply(std::size_t fragment, int home) {
  if (!use(fragment, home, home)) supplied_ += fragments_[fragment].part;
}

void L2Cache::drop_oldest(List& set) {
  const auto at = static_cast<std::size_t>(set.oldest), last = (std::size_t{1} << bits_) - 1;
  const std::size_t fragment = at >> 2 * bits_, side = at >> bits_ & last, home = at & last;
  take(links_, set, at, fragments_[fragment].part);
  if (side == home) clean(fragment, static_cast<int>(home));
}

bool L2Cache::use(std::size_t fragment, int side, int home) {
  const Fragment& own = fragments_[fragment];
  List& set = sets_[at_partition(static_cast<std::size_t>(own.group), side)];
  const std::size_t at = line(fragment, side, home);
  const LruLink link = links_[at];
  if (link.previous == absent) {
    put(links_, set, at, own.part);
    while (set.bytes > room_) drop_oldest(set);
    return false;
  }
  if (link.previous < 0) return true;  // the newest
  links_[static_cast<std::size_t>(link.previous)].next = link.next;
  (link.next < 0 ? set.oldest : links_[static_cast<std::size_t>(link.next)].previous) = link.previous;
  links_[at] = {-1, set.newest};
  links_[static_cast<std::size_t>(set.newest)].previous = static_cast<int>(at);
  set.newest = static_cast<int>(at);
  return true;
}

std::int64_t L2Cache::read(int entry, int side) {
  std::int64_t missing = 0;
  const auto first = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry)]);
  const auto end = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry) + 1]);
  for (std::size_t f = first; f < end; ++f)
    for (int home = 0; home < partitions_; ++home) {
      if (use(f, side, home)) continue;  // nobody asks the home
      if (home != side && use(f, home, home)) continue;
      missing += fragments_[f].part;
      if (outer_ != nullptr) outer_->supply(f, home);
    }
  return missing;
}

std::int64_t L2Cache::read_last(int entry, int side) {
  std::int64_t missing = 0;
  const auto first = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry)]);
  const auto end = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry) + 1]);
  for (std::size_t f = first; f < end; ++f)
    for (int home = 0; home < partitions_; ++home) {
      const bool held = home == side ? use(f, home, home)
                                     : links_[line(f, side, home)].previous != absent ||
                                           links_[line(f, home, home)].previous != absent;
      if (!held) missing += fragments_[f].part;
    }
  return missing;
}

std::int64_t L2Cache::overwritten(int entry) const {
  std::int64_t bytes = 0;
  const auto first = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry)]);
  const auto end = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry) + 1]);
  for (std::size_t f = first; f < end; ++f)
    for (int home = 0; home < partitions_; ++home)
      if (written_[at_partition(f, home)] == written) bytes += fragments_[f].part;
  return bytes;
}

L2Cache::StoreTraffic L2Cache::store(int entry, bool fetches) {
  StoreTraffic result;
  const auto first = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry)]);
  const auto end = static_cast<std::size_t>(first_[static_cast<std::size_t>(entry) + 1]);
  for (std::size_t f = first; f < end; ++f)
    for (int home = 0; home < partitions_; ++home) {
      const std::int64_t part = fragments_[f].part;
      if (!use(f, home, home)) {
        result.lacked += part;
        if (fetches && outer_ != nullptr) outer_->supply(f, home);
      }
      const std::size_t at = at_partition(f, home);
      if (written_[at] == written) result.written += part;
      List& stored = dirty_[at_partition(static_cast<std::size_t>(fragments_[f].group), home)];
      if (written_[at] == unwritten) take(dirty_links_, stored, at, part);
      written_[at] = unwritten;
      put(dirty_links_, stored, at, part);
      if (links_[line(f, home, home)].previous == absent) clean(f, home);  // it had no room at all
      while (stored.bytes > dirty_room_) clean(static_cast<std::size_t>(stored.oldest) >> bits_, home);
    }
  return result;
}

std::int64_t L2Cache::bytes(int entry) const {
  std::int64_t all = 0;
  for (int f = first_[static_cast<std::size_t>(entry)]; f < first_[static_cast<std::size_t>(entry) + 1]; ++f)
    all += std::int64_t{fragments_[static_cast<std::size_t>(f)].part} * partitions_;
  return all;
}

void L2Cache::write_back(int entry) {
  for (int f = first_[static_cast<std::size_t>(entry)]; f < first_[static_cast<std::size_t>(entry) + 1]; ++f)
    for (int home = 0; home < partitions_; ++home) clean(static_cast<std::size_t>(f), home);
}

void L2Cache::drop(int entry) {
  for (int i = first_[static_cast<std::size_t>(entry)]; i < first_[static_cast<std::size_t>(entry) + 1]; ++i) {
    const auto f = static_cast<std::size_t>(i);
    const Fragment& own = fragments_[f];
    for (int home = 0; home < partitions_; ++home) {
      clean(f, home);
      written_[at_partition(f, home)] = never;
      for (int side = 0; side < partitions_; ++side)
        if (const std::size_t at = line(f, side, home); links_[at].previous != absent)
          take(links_, sets_[at_partition(static_cast<std::size_t>(own.group), side)], at, own.part);
    }
  }
}

}  // namespace tilescope
