// An L2 as microbenchmarks show it, by sets of lines. What it does, and the measurements behind it:
//
// - A line has a home partition; homes alternate finely, so each is home to an equal part of any data. A unit reads on
//   its own side; what is not there comes from the home, which keeps it too. So what all units read takes its size in
//   every partition (sweeps by all units stay whole up to half of an H200's L2), what one unit reads takes its size on
//   that unit's side and its home's part on the others (0.75 of the L2), what is only added to its home's part (all of
//   it). What a unit stores takes as much as what it reads: a copy stays on its side (validate/tools/beside_streams),
//   of local memory too (validate/tools/last_use).
// - Data that hits on the reader's side is not refreshed at home; data stored is, and copies stay.
// - A set keeps its `ways` most recent lines, of which at most `dirty_ways` are unwritten: the oldest beyond that is
//   written to DRAM and stays as clean data.
// - Addresses a period apart (capacity / ways) share sets. Contiguous data fills sets evenly; many ranges at unrelated
//   places do not, and then lines go although there is room elsewhere: of pieces of 64 KiB at random places 5 % miss
//   when they take half of the room, 50 % when they take all of it.
//
// Lines are handled in pieces of contiguous addresses that lie in the same group of sets. Small pieces of an entry, as
// the statistics of a tile's rows are, are counted with the large ones of the same entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hardware/profile.h"

namespace tilescope {

struct CacheShape {
  std::int64_t capacity = 0;  // bytes of the whole L2, or of one of `caches`; 0: not known
  int partitions = 1;
  std::int64_t ways = 0;  // lines of a set; 0: not known, then one set holds all of a partition
  double dirty = 1;       // part of a set that may be unwritten
  // Of the closed form, which has no sets: bytes of a partition, and stored bytes, at which half is gone or written.
  double half_gone = 0, half_written = 0;
  // L2s that share no line, of which each has the shape above; consecutive blocks of a launch that go to one of them
  // before the next one's turn.
  int caches = 1;
  std::int64_t dealt_blocks = 1;
  // Of the cache of the whole device behind them; capacity 0: there is none.
  std::int64_t last_level_capacity = 0, last_level_ways = 0;
};
CacheShape cache_shape(const HardwareProfile& hardware);

// Contiguous bytes of an entry.
struct CachePiece {
  std::int64_t address = 0, bytes = 0;
};

// The whole L2 of a launch: every entry starts outside it.
class L2Cache {
 public:
  static constexpr int most_partitions = 4;
  // Entry i is made of the pieces first[i] to first[i + 1].
  void reset(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first) {
    reset(shape, pieces, first, fragment_bytes(shape, pieces));
  }
  // The same with fragments of this size, so that several caches have the same ones; 0: whole pieces.
  void reset(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first,
             std::int64_t fragment);
  static std::int64_t fragment_bytes(const CacheShape& shape, std::span<const CachePiece> pieces);
  // The same for `later` alone: fragments are finer, as small as the data that shares its neighbours' fate in a real
  // L2, and some of the sets stand for all.
  void reset_sample(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first);
  // What this cache lacks comes from `outer`, and what it writes back goes through there.
  void put_behind(L2Cache& outer) { outer_ = &outer; }
  // Bytes that memory supplied to the caches before this one, since the last call.
  std::int64_t take_supplied() { return std::exchange(supplied_, 0); }
  // A unit of `side` reads the entry: bytes that DRAM supplies.
  std::int64_t read(int entry, int side);
  // The same by loads that are marked as the last use (LDL.LU): a copy on the unit's side goes, and the home's line
  // becomes one of the older half of its set (validate/microbench/last_use). No copy is made.
  std::int64_t read_last(int entry, int side);
  // The entry is stored or added to at home, and no copy stays elsewhere: bytes it lacked, which an addition fetches
  // (`fetches`: from the outer cache); and bytes of its earlier contents that had gone to DRAM (0 when it was never
  // stored).
  struct StoreTraffic {
    std::int64_t lacked = 0, written = 0;
  };
  StoreTraffic store(int entry, bool fetches = false);
  // The same by a unit of `side`, where a copy stays.
  StoreTraffic store_by(int entry, int side);
  // The entry's unwritten contents leave; it stays.
  void write_back(int entry);
  // The entry goes, as if it had never been here.
  void drop(int entry);
  std::int64_t bytes(int entry) const;
  // Of `entries` from `first` on, all together: what that many uses take, one an entry.
  std::int64_t fragments(int first, int entries) const {
    return first_[static_cast<std::size_t>(first + entries)] - first_[static_cast<std::size_t>(first)];
  }
  // What a store would give, without one: bytes of earlier contents that have gone to DRAM.
  std::int64_t overwritten(int entry);

  // The same for callers that need sums alone, and faster: carried out later, for one group of sets after the other,
  // whose lines then are near. Groups do not see each other.
  // store: as `store_by`; store_at_home: as `store` above.
  enum class Use : std::uint8_t { read, read_last, store, store_at_home, overwritten };
  struct Tally {
    std::int64_t lacked = 0, written = 0;  // bytes
  };
  // `tally`: below most_tallies, to which the bytes are added.
  static constexpr int most_tallies = 128;
  using Tallies = std::array<Tally, most_tallies>;
  void later(Use use, int entry, int side, int tally) {
    const auto rest = static_cast<std::uint32_t>(tally << 16 | side << 8 | static_cast<int>(use));
    asked_[asked_count_] = {entry, rest};
    if (++asked_count_ == asked_most_) hand_out();
  }
  // Carries out what is left, and returns the tallies of all sets.
  Tallies settle();
  // `later` becomes now, so that other uses may come between.
  void carry_out_at_once();
  // More uses wait for their group: faster where each sweeps over much of what the group holds.
  void carry_out_rarely();

 private:
  // A fragment's piece among those of its group, which lie side by side.
  struct Fragment {
    int group = 0;
    int piece = 0;  // while fragments are cut: bytes at each home
  };
  // A use of a piece, or of an entry, that waits, in eight bytes.
  struct Waiting {
    int of;
    std::uint32_t use_side_tally;  // a byte each, the use last

    Use use() const { return static_cast<Use>(use_side_tally & 0xff); }
    int side() const { return static_cast<int>(use_side_tally >> 8 & 0xff); }
    std::size_t tally() const { return use_side_tally >> 16; }
  };
  // A line of a piece in a set's order of use, or its contents in the order in which a group's were stored; or, of the
  // piece itself, its bytes at each home and its fragment.
  struct Link {
    int previous, next;
  };
  // Of the lines that a side holds: bytes of all, and of the older ones that are known to be of the older half, of
  // which `older` is the newest (the end of the list: none is known).
  struct Set {
    std::int64_t bytes = 0, older_bytes = 0;
    int older = 0;
  };
  static constexpr int absent = -1;               // previous of a line that is in no list
  static constexpr int written = -2, never = -3;  // previous of contents that are not unwritten

  static constexpr int slices_of_sample = 8, slices_of_all = 2;
  // While fragments are cut: the last one of a slice and those around it, from number `begin` to `end`, lie in groups
  // that follow one another, of a number `to_group` larger. None from `none_from` to `none_until` is looked after.
  struct Turn {
    std::int64_t begin = 0, end = 0, to_group = 0, none_from = 0, none_until = 0;
  };
  using Turns = std::array<Turn, slices_of_sample>;

  void cut(std::span<const CachePiece> pieces, std::span<const int> first, std::int64_t groups, std::int64_t bytes);
  void cut_entry(std::span<const CachePiece> pieces, std::int64_t groups, std::int64_t bytes);  // groups: of a slice
  void cut_piece(const CachePiece& piece, Turns& turns, double share, std::int64_t groups, std::int64_t bytes);
  Turn turn_of(int slice, std::int64_t number, std::int64_t groups) const;
  void place(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first,
             std::int64_t fragment);
  void choose_sample(std::int64_t groups);
  template <class Record>
  void write_records(std::size_t groups);
  std::span<const Fragment> fragments_of(int entry) const;
  int part_of(const Fragment& fragment) const { return links_[fragment.piece + piece_].previous; }
  void supply(int fragment, int home);   // to a cache before this one, from here or from memory
  void refresh(int fragment, int home);  // what a cache before this one wrote back
  template <class Then>
  StoreTraffic store_pieces(int entry, bool fetches, const Then& then);
  void carry_out(std::size_t group, Tallies& tallies);
  void begin_queues(std::size_t groups);
  void carry_out_full(std::size_t group);
  void hand_out();       // asked_, to the groups of the entries' pieces
  void carry_out_all();  // groups side by side

  // What a piece and its sets do; `bits`: of a partition's number. In piece_uses.h.
  template <int bits>
  struct Record;
  template <int bits, bool behind>
  struct PieceUses;
  // Calls `what` with how the records of pieces are made up.
  template <class What>
  auto with_record(const What& what) const;
  // Calls `what` with the uses of a group's pieces.
  template <class What>
  auto with_uses(int group, const What& what);

  // Of `every` groups of a slice that lie side by side one is looked after, if more than one is one of them.
  struct Sample {
    std::int64_t every = 1, groups = 0;  // groups: that are looked after
    double stands_for = 1;               // groups, each of those
    std::array<std::vector<int>, slices_of_sample>
        next{};  // by group of a slice: the first of those that is there or later

    std::int64_t next_group(int slice, std::int64_t group) const {
      return every == 1 ? group : next[static_cast<std::size_t>(slice)][static_cast<std::size_t>(group)];
    }
    // Of a group that is looked after, among those of its slice.
    int number(std::int64_t group) const { return static_cast<int>(group / every); }
  };
  // Uses that wait for a group: places of waiting_.
  struct Queue {
    int end, last;  // end: of those that wait; last: place of the queue
  };

  int slices_ = slices_of_all;  // sets of different chance, each with a part of a piece
  std::array<Turns, 2> cut_;    // of an entry's pieces in turn: those of two arrays lie far apart
  Sample sample_;
  int partitions_ = 1, bits_ = 0;           // bits: of a partition's number, so that no index takes a division
  std::int64_t room_ = 0, dirty_room_ = 0;  // bytes of a group in a partition
  int beyond_ = 0;                          // a piece's bytes, shifted right so far, may be beyond the room
  std::vector<int> first_;                  // fragment of each entry
  std::vector<Fragment> fragments_;         // by entry; then fragments_at_once that are of none
  std::unique_ptr<std::byte[]> records_;    // of each piece, those of a group side by side, after one of its own
  Link* links_ = nullptr;                   // the first record: at the start of a line of the processor's cache
  std::vector<int> ends_;                   // by group: the place of its own record
  int piece_ = 0;                           // link of a record that says what the piece is
  std::vector<Set> sets_;                   // by group and side
  std::vector<std::int64_t> dirty_bytes_;   // by group and home
  std::unique_ptr<Waiting[]> waiting_;      // by group, as many as depth_
  std::vector<Queue> queues_;               // by group
  int depth_ = 0;
  static constexpr int fragments_at_once = 8;  // listed by hand_out, however many of them an entry has
  static constexpr std::size_t most_asked = 1024;
  std::array<Waiting, most_asked> asked_;  // uses of entries, the first asked_count_, that no group knows yet
  std::size_t asked_count_ = 0, asked_most_ = most_asked;
  Tallies tallies_{};
  L2Cache* outer_ = nullptr;
  std::int64_t supplied_ = 0;  // bytes
};

}  // namespace tilescope
