// What happens in a group of sets when one of its pieces is used.
#pragma once

#include <algorithm>

#include "predict/l2/cache/cache.h"

namespace tilescope {

// Links of a piece's record: its lines, by side and home; its unwritten contents, by home; the piece itself; a bit each
// of its lines that are known to be of the older half of their set. The first record of a group has the ends of its
// lists instead: of each side's set, and of each home's unwritten contents.
template <int bits>
struct L2Cache::Record {
  static constexpr int dirty = 1 << 2 * bits, piece = dirty + (1 << bits), older = piece + 1;
  static constexpr int size = bits == 0 ? 4 : bits == 1 ? 8 : 32;
  static_assert(older < size && (size & (size - 1)) == 0);
};

// `bits` is known to the compiler, and so is whether another cache stands behind this one: a walk spends most of its
// time here. A piece is known by the place of its record's first link.
template <int bits, bool behind>
struct L2Cache::PieceUses {
  using Of = Record<bits>;
  L2Cache& cache;
  struct Links {
    Link* first;
    Link& operator[](int at) const { return first[static_cast<std::uint32_t>(at)]; }
  };
  const Links links;
  const int ends;                   // the group's first record
  Set* const sets;                  // by side
  std::int64_t* const dirty_bytes;  // by home
  const std::int64_t room, dirty_room;
  const int beyond;  // bytes of a piece, shifted right so far, may be beyond the room

  PieceUses(L2Cache& of, int group)
      : cache(of),
        links{of.links_},
        ends(of.ends_[static_cast<std::size_t>(group)]),
        sets(of.sets_.data() + (static_cast<std::size_t>(group) << bits)),
        dirty_bytes(of.dirty_bytes_.data() + (static_cast<std::size_t>(group) << bits)),
        room(of.room_),
        dirty_room(of.dirty_room_),
        beyond(of.beyond_) {}

  int partitions() const { return bits < 2 ? 1 << bits : cache.partitions_; }
  static int line(int piece, int side, int home) { return piece + (side << bits) + home; }
  static int contents(int piece, int home) { return piece + Of::dirty + home; }
  int part(int piece) const { return links[piece + Of::piece].previous; }
  int fragment(int piece) const { return links[piece + Of::piece].next; }
  bool is_there(int piece, int side, int home) const { return links[line(piece, side, home)].previous >= 0; }

  // Lists go round through their end, whose next link is the newest.
  void put(int end, int at) {
    const int newest = links[end].next;
    links[at].previous = end, links[at].next = newest;
    links[newest].previous = at, links[end].next = at;
  }
  void take(int at) {
    const Link link = links[at];
    links[link.previous].next = link.next, links[link.next].previous = link.previous;
  }

  int& older_lines(int at) { return links[(at & -Of::size) + Of::older].previous; }
  static int bit(int at) { return 1 << (at & (Of::size - 1)); }

  // The line is about to leave its place in the order of its set.
  [[gnu::always_inline]] void forget(int at, int side) {
    if ((older_lines(at) & bit(at)) != 0) forget_older(at, sets[side]);
  }
  [[gnu::noinline]] void forget_older(int at, Set& set) {
    older_lines(at) ^= bit(at);
    set.older_bytes -= part(at & -Of::size);
    if (set.older == at) set.older = links[at].next;
  }

  // Unwritten contents go to DRAM.
  [[gnu::noinline]] void clean(int piece, int home) {
    const int at = contents(piece, home);
    if (links[at].previous < 0) return;
    take(at);
    links[at].previous = written;
    dirty_bytes[home] -= part(piece);
    if (behind) cache.outer_->refresh(fragment(piece), home);
  }

  // Pieces are larger than lines. In sets, what comes nearest to the room stays: sets of pieces of odd sizes would be
  // smaller than others.
  [[gnu::always_inline]] void make_room(int side) {
    const int end = ends + side, shift = beyond;
    const std::int64_t most = room;
    while (sets[side].bytes > most) {
      const int at = links[end].previous, newer = links[at].previous, piece = at & -Of::size, bytes = part(piece);
      if (sets[side].bytes - (bytes >> shift) <= most) return;
      forget(at, side);
      links[end].previous = newer, links[newer].next = end, links[at].previous = absent;
      sets[side].bytes -= bytes;
      const int home = at == line(piece, side, side);
      if (home & (links[contents(piece, side)].previous >= 0)) clean(piece, side);
    }
  }

  // A line that is there goes; its contents are written, or a copy.
  void leave(int piece, int side, int home) {
    const int at = line(piece, side, home);
    forget(at, side), take(at);
    links[at].previous = absent, sets[side].bytes -= part(piece);
  }

  // Whether the line was there.
  [[gnu::always_inline]] bool use(int piece, int side, int home) {
    const int at = line(piece, side, home), end = ends + side;
    if (links[at].previous == end) return true;  // the newest
    const bool there = links[at].previous >= 0;
    if (there) forget(at, side), take(at);
    put(end, at);
    if (there) return true;
    sets[side].bytes += part(piece);
    make_room(side);
    return false;
  }

  // Of two homes, the lines of a piece that were read together before lie side by side, and become the newest together:
  // whether they did.
  bool use_both(int piece, int side) {
    const int first = line(piece, side, 0), second = first + 1, end = ends + side;
    if (links[first].previous != second) return false;
    const int newer = links[second].previous;
    if (newer == end) return true;
    if ((older_lines(first) & 3 * bit(first)) != 0) forget(second, side), forget(first, side);
    const int older = links[first].next, newest = links[end].next;
    links[newer].next = older, links[older].previous = newer;
    links[first].next = newest, links[newest].previous = first;
    links[second].previous = end, links[end].next = second;
    return true;
  }
  // Bytes that DRAM supplies of a piece whose lines do not lie side by side.
  [[gnu::noinline]] std::int64_t read_both(int piece, int side) {
    const int first = line(piece, side, 0), second = first + 1, end = ends + side;
    if (is_there(piece, side, 0) || is_there(piece, side, 1)) return read_each(piece, side);
    const int newest = links[end].next, bytes = part(piece);
    links[first] = {second, newest}, links[second] = {end, first};
    links[newest].previous = first, links[end].next = second;
    sets[side].bytes += 2 * std::int64_t{bytes};
    make_room(side);
    return use(piece, 1 - side, 1 - side) ? bytes : 2 * std::int64_t{bytes};
  }

  std::int64_t read_each(int piece, int side) {
    std::int64_t missing = 0;
    for (int home = 0; home < partitions(); ++home) {
      if (use(piece, side, home)) continue;  // nobody asks the home
      if (home != side && use(piece, home, home)) continue;
      missing += part(piece);
      if (behind) cache.outer_->supply(fragment(piece), home);
    }
    return missing;
  }

  // Whether a read changes no more than an order of use.
  [[gnu::always_inline]] bool finds(int piece, int side) {
    if constexpr (bits == 1 && !behind) return use_both(piece, side);
    else return false;
  }
  // Bytes that DRAM supplies to a read that `finds` did not settle.
  std::int64_t read_on(int piece, int side) {
    if constexpr (bits == 1 && !behind) return read_both(piece, side);
    else return read_each(piece, side);
  }
  std::int64_t read(int piece, int side) { return finds(piece, side) ? 0 : read_on(piece, side); }

  [[gnu::always_inline]] void store_at(int piece, int home, bool fetches, StoreTraffic& result) {
    const int bytes = part(piece);
    if (!use(piece, home, home)) {
      result.lacked += bytes;
      if (behind && fetches) cache.outer_->supply(fragment(piece), home);
    }
    const int at = contents(piece, home), end = ends + Of::dirty + home;
    if (links[at].previous >= 0) {
      take(at);
    } else {
      if (links[at].previous == written) result.written += bytes;
      dirty_bytes[home] += bytes;
    }
    put(end, at);
    if (!is_there(piece, home, home)) clean(piece, home);  // it had no room at all
    while (dirty_bytes[home] > dirty_room) {
      const int oldest = links[end].previous & -Of::size;
      if (dirty_bytes[home] - (part(oldest) >> beyond) <= dirty_room) return;
      clean(oldest, home);
    }
  }
  [[gnu::always_inline]] StoreTraffic store(int piece, bool fetches) {
    StoreTraffic result;
    if constexpr (bits < 2) {
      store_at(piece, 0, fetches, result);
      if (bits == 1) store_at(piece, 1, fetches, result);
    } else
      for (int home = 0; home < partitions(); ++home) store_at(piece, home, fetches, result);
    return result;
  }

  // A copy on the side of a unit that has stored the piece.
  void keep_copy(int piece, int side) {
    if constexpr (bits == 1) use(piece, side, 1 - side);
    else
      for (int home = 0; home < partitions(); ++home)
        if (home != side) use(piece, side, home);
  }

  // The line becomes one of the older half of its set. Which lines are of it stays known, until they leave their place.
  void make_older(int at, int side) {
    if ((older_lines(at) & bit(at)) != 0) return;
    const int end = ends + side;
    Set& set = sets[side];
    int newer = links[set.older].previous;  // the line before which it comes
    for (; newer != end && set.older_bytes < room / 2; newer = links[newer].previous) {
      older_lines(newer) |= bit(newer);
      set.older = newer, set.older_bytes += part(newer & -Of::size);
      if (newer == at) return;
    }
    if (newer == end || newer == at) return;
    take(at);
    links[at] = {newer, set.older};
    links[newer].next = links[set.older].previous = at;
  }

  std::int64_t read_last(int piece, int side) {
    std::int64_t missing = 0;
    for (int home = 0; home < partitions(); ++home) {
      const bool copied = home != side && is_there(piece, side, home);
      if (copied) leave(piece, side, home);
      if (is_there(piece, home, home)) make_older(line(piece, home, home), home);
      else if (!copied) missing += part(piece);
    }
    return missing;
  }

  std::int64_t overwritten(int piece) const {
    std::int64_t bytes = 0;
    for (int home = 0; home < partitions(); ++home)
      if (links[contents(piece, home)].previous == written) bytes += part(piece);
    return bytes;
  }

  // As if it had never been here.
  void drop(int piece) {
    for (int home = 0; home < partitions(); ++home) {
      clean(piece, home);
      links[contents(piece, home)].previous = never;
      for (int side = 0; side < partitions(); ++side)
        if (is_there(piece, side, home)) leave(piece, side, home);
    }
  }

  // Most uses are reads that find all they want: the rest is kept out of their loop.
  void carry_out(std::span<const Waiting> all, Tallies& tallies) {
    constexpr std::size_t ahead = 8;  // uses: a piece's record is fetched before its turn
    const Waiting *each = all.data(), *const end = each + all.size();
    for (const Waiting* const far = end - std::min(ahead, all.size()); each != far; ++each) {
      __builtin_prefetch(&links[each[ahead].of]);
      carry_out(*each, tallies);
    }
    for (; each != end; ++each) carry_out(*each, tallies);
  }
  [[gnu::always_inline]] void carry_out(const Waiting& each, Tallies& tallies) {
    if (each.use() != Use::read) other_than_read(each, tallies[each.tally()]);
    else if (!finds(each.of, each.side())) tallies[each.tally()].lacked += read_on(each.of, each.side());
  }
  [[gnu::noinline]] void other_than_read(const Waiting& each, Tally& tally) {
    if (each.use() == Use::store || each.use() == Use::store_at_home) {
      const StoreTraffic stored = store(each.of, false);
      tally.lacked += stored.lacked, tally.written += stored.written;
      if (each.use() == Use::store) keep_copy(each.of, each.side());
    } else if (each.use() == Use::read_last) {
      tally.lacked += read_last(each.of, each.side());
    } else {
      tally.written += overwritten(each.of);
    }
  }
};

template <class What>
auto L2Cache::with_record(const What& what) const {
  if (bits_ == 0) return what(Record<0>{});
  if (bits_ == 1) return what(Record<1>{});
  return what(Record<2>{});
}

template <class What>
auto L2Cache::with_uses(int group, const What& what) {
  const auto of = [&]<bool behind>() {
    if (bits_ == 0) return what(PieceUses<0, behind>(*this, group));
    if (bits_ == 1) return what(PieceUses<1, behind>(*this, group));
    return what(PieceUses<2, behind>(*this, group));
  };
  return outer_ == nullptr ? of.template operator()<false>() : of.template operator()<true>();
}

}  // namespace tilescope
