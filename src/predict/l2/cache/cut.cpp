// How a cache cuts entries into fragments and gives these to groups of sets, and which groups stand for all.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "predict/l2/cache/cache.h"

namespace tilescope {
namespace {

constexpr std::int64_t finest_piece = 64 << 10;  // bytes
// Of sampled sets. Homes alternate by as much (hardware/README.md), and finer ones change nothing.
constexpr std::int64_t sampled_piece = 4 << 10;
constexpr std::int64_t sampled_groups = 256;  // at least, of all slices: the sum of their misses is within a percent
constexpr std::int64_t small_part = 16;       // of an entry: a smaller piece comes and goes with the others
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

std::int64_t bytes_of(std::span<const CachePiece> pieces) {
  std::int64_t all = 0;
  for (const CachePiece& each : pieces) all += each.bytes;
  return all;
}

}  // namespace

// Which sets an address has is not known in detail. Assumed: every period of addresses goes round the sets once, from a
// place of its own. Contiguous data is then even but for its ends, as sweeps of one range show (misses begin at 0.93 of
// the room and are complete at 1.15), and ranges far apart are independent. Slices of the L2 have chances of their own.
void L2Cache::cut(std::span<const CachePiece> pieces, std::span<const int> first, std::int64_t groups,
                  std::int64_t bytes) {
  fragments_.clear(), first_.clear();
  first_.reserve(first.size()), cut_.fill({});
  if (bytes > 0)
    fragments_.reserve(fragments_at_once +
                       slices_ * (pieces.size() + static_cast<std::size_t>(bytes_of(pieces) / bytes / sample_.every)));
  for (std::size_t entry = 0; entry + 1 < first.size(); ++entry) {
    first_.push_back(static_cast<int>(fragments_.size()));
    const auto of_entry = pieces.subspan(static_cast<std::size_t>(first[entry]),
                                         static_cast<std::size_t>(first[entry + 1] - first[entry]));
    if (bytes > 0) cut_entry(of_entry, groups / slices_, bytes);
    else  // no sets: each entry is looked after whole
      for (const CachePiece& piece : of_entry)
        if (piece.bytes > 0) fragments_.push_back({0, static_cast<int>(piece.bytes / partitions_)});
  }
  first_.push_back(static_cast<int>(fragments_.size()));
}

void L2Cache::cut_entry(std::span<const CachePiece> pieces, std::int64_t groups, std::int64_t bytes) {
  const std::int64_t all = bytes_of(pieces);
  std::int64_t of_small = 0;
  const auto small = [&](const CachePiece& piece) { return piece.bytes * small_part < all; };
  for (const CachePiece& piece : pieces)
    if (small(piece)) of_small += piece.bytes;
  // Of a byte of a large piece, with its part of the small ones, at each home of a slice.
  const double share = static_cast<double>(all) / static_cast<double>((all - of_small) * partitions_ * slices_);
  std::size_t cut = 0;
  for (const CachePiece& piece : pieces)
    if (piece.bytes > 0 && !small(piece)) cut_piece(piece, cut_[cut++ % cut_.size()], share, groups, bytes);
}

// `share`: of a byte at each home of a slice. Most slices look after no group of a piece.
void L2Cache::cut_piece(const CachePiece& piece, Turns& turns, double share, std::int64_t groups, std::int64_t bytes) {
  const int digits = std::countr_zero(static_cast<std::uint64_t>(bytes));  // a power of two
  const std::int64_t first = piece.address >> digits, last = (piece.address + piece.bytes - 1) >> digits;
  const auto part = [&](std::int64_t own) { return static_cast<int>(std::lround(static_cast<double>(own) * share)); };
  const int whole = part(bytes);
  for (int slice = 0; slice < slices_; ++slice) {
    Turn& turn = turns[static_cast<std::size_t>(slice)];
    if (first >= turn.none_from && last < turn.none_until) continue;
    std::int64_t next = 0;  // that is looked after, or beyond the turn
    for (std::int64_t number = first; number <= last; number = turn.end) {
      if (number < turn.begin || number >= turn.end) turn = turn_of(slice, number, groups);
      const std::int64_t end = std::min(last + 1, turn.end);
      const auto next_from = [&](std::int64_t from) {
        return sample_.next_group(slice, from + turn.to_group) - turn.to_group;
      };
      for (next = next_from(number); next < end; next = next_from(next + 1)) {
        const std::int64_t at = next * bytes,
                           own = std::min(at + bytes, piece.address + piece.bytes) - std::max(at, piece.address);
        fragments_.push_back(
            {sample_.number(next + turn.to_group) * slices_ + slice, own == bytes ? whole : part(own)});
      }
    }
    turn.none_from = last + 1, turn.none_until = std::min(next, turn.end);
  }
}

// Periods of slices begin at addresses of their own.
L2Cache::Turn L2Cache::turn_of(int slice, std::int64_t number, std::int64_t groups) const {
  const auto chance = [&](std::int64_t of) {
    return static_cast<std::int64_t>(unrelated(static_cast<std::uint64_t>(of)) >> 33) % groups;
  };
  const std::int64_t phase = chance((std::int64_t{1} << 40) + slice), period = (number + phase) / groups,
                     begin = period * groups - phase, from = chance(period * slices_ + slice + 1),
                     first_set = begin + groups - from;  // the fragment that lies in group 0
  if (number < first_set) return {.begin = begin, .end = first_set, .to_group = from - begin};
  return {.begin = first_set, .end = begin + groups, .to_group = -first_set};
}

std::int64_t L2Cache::fragment_bytes(const CacheShape& shape, std::span<const CachePiece> pieces) {
  if (shape.ways == 0) return 0;
  const std::int64_t all = bytes_of(pieces);
  std::int64_t bytes = finest_piece;
  while (all / bytes > most_fragments || shape.capacity / shape.ways / bytes > most_groups) bytes *= 2;
  return bytes;
}

void L2Cache::choose_sample(std::int64_t groups) {
  sample_ = {.every = std::max<std::int64_t>(1, groups / sampled_groups)};
  if (sample_.every == 1) return;
  const std::int64_t of_a_slice = groups / slices_, runs = of_a_slice / sample_.every;
  sample_.groups = runs * slices_, sample_.stands_for = static_cast<double>(of_a_slice) / static_cast<double>(runs);
  for (int slice = 0; slice < slices_; ++slice) {
    std::vector<int>& next = sample_.next[static_cast<std::size_t>(slice)];
    next.reserve(static_cast<std::size_t>(of_a_slice) + 1);
    for (std::int64_t run = 0; run < runs; ++run) {
      const auto chance = static_cast<std::int64_t>(unrelated(static_cast<std::uint64_t>(run * slices_ + slice)) >> 33);
      const std::int64_t chosen = run * sample_.every + chance % sample_.every;
      next.resize(static_cast<std::size_t>(chosen) + 1, static_cast<int>(chosen));
    }
    next.resize(static_cast<std::size_t>(of_a_slice) + 1, static_cast<int>(of_a_slice));
  }
}

void L2Cache::reset_sample(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first) {
  if (shape.ways == 0) return reset(shape, pieces, first, 0);
  const std::int64_t all = bytes_of(pieces);
  std::int64_t fragment = sampled_piece;
  slices_ = slices_of_sample;
  for (;; fragment *= 2) {
    const std::int64_t groups = shape.capacity / shape.ways / fragment;
    if (groups > most_groups) continue;  // a list of them would be larger than any memory
    choose_sample(groups * slices_);
    if (all / fragment / sample_.every <= most_fragments / 4) break;
  }
  place(shape, pieces, first, fragment);
}

}  // namespace tilescope
