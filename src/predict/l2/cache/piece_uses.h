// What happens in a group of sets when one of its pieces is used.
#pragma once

#include <algorithm>

#include "predict/l2/cache/cache.h"

namespace tilescope {

// `bits` is known to the compiler: a walk spends most of its time here.
template <int bits>
struct L2Cache::PieceUses {
  L2Cache& cache;
  int group;
  LruLink* links = cache.links_.data();
  LruLink* dirty_links = cache.dirty_links_.data();
  List* sets = cache.sets_.data() + (static_cast<std::size_t>(group) << bits);    // by side
  List* dirty = cache.dirty_.data() + (static_cast<std::size_t>(group) << bits);  // by home
  WriteState* states = cache.written_.data();
  const Piece* pieces = cache.pieces_.data();
  const std::int64_t room = cache.room_;

  int partitions() const { return bits < 2 ? 1 << bits : cache.partitions_; }
  static std::size_t at_partition(std::size_t index, int partition) {
    return index << bits | static_cast<std::size_t>(partition);
  }
  static std::size_t line(std::size_t place, int side, int home) {
    return at_partition(at_partition(place, side), home);
  }
  bool is_there(std::size_t place, int side, int home) const {
    return links[line(place, side, home)].previous != absent;
  }

  static void put(LruLink* all, List& list, std::size_t at, std::int64_t bytes) {
    all[at] = {-1, list.newest};
    (list.newest < 0 ? list.oldest : all[list.newest].previous) = static_cast<int>(at);
    list.newest = static_cast<int>(at);
    list.bytes += bytes;
  }
  static void take(LruLink* all, List& list, std::size_t at, std::int64_t bytes) {
    const LruLink link = all[at];
    (link.previous < 0 ? list.newest : all[link.previous].next) = link.next;
    (link.next < 0 ? list.oldest : all[link.next].previous) = link.previous;
    all[at].previous = absent;
    list.bytes -= bytes;
  }

  // Unwritten contents go to DRAM.
  void clean(std::size_t place, int home) {
    const std::size_t at = at_partition(place, home);
    if (states[at] != unwritten) return;
    states[at] = written;
    const Piece& own = pieces[place];
    take(dirty_links, dirty[home], at, own.part);
    if (cache.outer_ != nullptr) cache.outer_->refresh(own.fragment, home);
  }

  void drop_oldest(List& set) {
    const auto at = static_cast<std::size_t>(set.oldest), last = (std::size_t{1} << bits) - 1;
    const std::size_t place = at >> 2 * bits, side = at >> bits & last, home = at & last;
    take(links, set, at, pieces[place].part);
    if (side == home) clean(place, static_cast<int>(home));
  }

  // Whether the line was there.
  bool use(std::size_t place, int side, int home) {
    const std::size_t at = line(place, side, home);
    const LruLink link = links[at];
    if (link.previous == absent) {
      List& set = sets[side];
      put(links, set, at, pieces[place].part);
      while (set.bytes > room) drop_oldest(set);
      return false;
    }
    if (link.previous < 0) return true;  // the newest
    List& set = sets[side];
    links[link.previous].next = link.next;
    (link.next < 0 ? set.oldest : links[link.next].previous) = link.previous;
    links[at] = {-1, set.newest};
    links[set.newest].previous = static_cast<int>(at);
    set.newest = static_cast<int>(at);
    return true;
  }

  // Of two homes, the lines of a piece that were read together before lie side by side, and become the newest together.
  // Whether they did.
  bool use_both(std::size_t place, int side) {
    const auto first = static_cast<int>(line(place, side, 0)), second = first + 1;
    const LruLink older = links[first], newer = links[second];
    if (older.previous != second || newer.next != first) return false;
    if (newer.previous < 0) return true;
    List& set = sets[side];
    links[newer.previous].next = older.next;
    (older.next < 0 ? set.oldest : links[older.next].previous) = newer.previous;
    links[second].previous = -1, links[first].next = set.newest;
    links[set.newest].previous = first;
    set.newest = second;
    return true;
  }

  // Bytes that DRAM supplies.
  std::int64_t read(std::size_t place, int side) {
    if (bits == 1 && use_both(place, side)) return 0;
    std::int64_t missing = 0;
    for (int home = 0; home < partitions(); ++home) {
      if (use(place, side, home)) continue;  // nobody asks the home
      if (home != side && use(place, home, home)) continue;
      missing += pieces[place].part;
      if (cache.outer_ != nullptr) cache.outer_->supply(pieces[place].fragment, home);
    }
    return missing;
  }

  StoreTraffic store(std::size_t place, bool fetches) {
    StoreTraffic result;
    const Piece own = pieces[place];
    for (int home = 0; home < partitions(); ++home) {
      if (!use(place, home, home)) {
        result.lacked += own.part;
        if (fetches && cache.outer_ != nullptr) cache.outer_->supply(own.fragment, home);
      }
      const std::size_t at = at_partition(place, home);
      List& stored = dirty[home];
      if (states[at] == written) result.written += own.part;
      if (states[at] == unwritten) take(dirty_links, stored, at, own.part);
      states[at] = unwritten;
      put(dirty_links, stored, at, own.part);
      if (!is_there(place, home, home)) clean(place, home);  // it had no room at all
      while (stored.bytes > cache.dirty_room_) clean(static_cast<std::size_t>(stored.oldest) >> bits, home);
    }
    return result;
  }

  std::int64_t read_last(std::size_t place, int side) {
    std::int64_t missing = 0;
    for (int home = 0; home < partitions(); ++home)
      if (home == side ? !use(place, home, home) : !is_there(place, side, home) && !is_there(place, home, home))
        missing += pieces[place].part;
    return missing;
  }

  std::int64_t overwritten(std::size_t place) const {
    std::int64_t bytes = 0;
    for (int home = 0; home < partitions(); ++home)
      if (states[at_partition(place, home)] == written) bytes += pieces[place].part;
    return bytes;
  }

  // As if it had never been here.
  void drop(std::size_t place) {
    const Piece& own = pieces[place];
    for (int home = 0; home < partitions(); ++home) {
      clean(place, home);
      states[at_partition(place, home)] = never;
      for (int side = 0; side < partitions(); ++side)
        if (is_there(place, side, home)) take(links, sets[side], line(place, side, home), own.part);
    }
  }

  void carry_out(std::span<const Waiting> all, Tallies& tallies) {
    for (const Waiting& each : all) {
      const auto place = static_cast<std::size_t>(each.place);
      Tally& tally = tallies[each.tally()];
      if (each.use() == Use::read) {
        tally.lacked += read(place, each.side());
      } else if (each.use() == Use::store) {
        const StoreTraffic stored = store(place, false);
        tally.lacked += stored.lacked, tally.written += stored.written;
      } else if (each.use() == Use::read_last) {
        tally.lacked += read_last(place, each.side());
      } else {
        tally.written += overwritten(place);
      }
    }
  }
};

template <class What>
auto L2Cache::with_uses(int group, const What& what) {
  if (bits_ == 0) return what(PieceUses<0>{*this, group});
  if (bits_ == 1) return what(PieceUses<1>{*this, group});
  return what(PieceUses<2>{*this, group});
}

}  // namespace tilescope
