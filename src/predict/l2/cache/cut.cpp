// How a cache cuts entries into fragments and gives these to groups of sets, and which groups stand for all.
#include <algorithm>
#include <bit>
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
  first_.reserve(first.size()), cut_ = {};
  if (bytes > 0)
    fragments_.reserve(slices * (pieces.size() + static_cast<std::size_t>(bytes_of(pieces) / bytes / sample_.every)));
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
  const std::int64_t all = bytes_of(pieces);
  std::int64_t of_small = 0;
  const auto small = [&](const CachePiece& piece) { return piece.bytes * small_part < all; };
  for (const CachePiece& piece : pieces)
    if (small(piece)) of_small += piece.bytes;
  for (const CachePiece& piece : pieces)
    if (piece.bytes > 0 && !small(piece)) cut_piece(piece, std::exchange(of_small, 0), groups, bytes);
}

// `more`: bytes that the first fragment has beside its own.
void L2Cache::cut_piece(const CachePiece& piece, std::int64_t more, std::int64_t groups, std::int64_t bytes) {
  const int digits = std::countr_zero(static_cast<std::uint64_t>(bytes));  // a power of two
  const std::int64_t end = piece.address + piece.bytes, first = piece.address >> digits, last = (end - 1) >> digits;
  // Fragments from number `begin` on, which lie in a slice's groups from `from` to `to`.
  const auto add = [&](int slice, std::int64_t from, std::int64_t to, std::int64_t begin) {
    const auto add_one = [&](std::int64_t group, int own) {
      const std::int64_t number = begin + group - from;
      std::int64_t whole = bytes;
      if (number == first || number == last)
        whole = std::min((number + 1) * bytes, end) - std::max(number * bytes, piece.address) +
                (number == first ? more : 0);
      if (whole != cut_.whole) cut_.whole = whole, cut_.part = static_cast<int>(whole / partitions_ / slices);
      fragments_.push_back({own * slices + slice, cut_.part});
    };
    if (sample_.every == 1)
      for (std::int64_t group = from; group < to; ++group) add_one(group, static_cast<int>(group));
    else
      for (int own = sample_.first_from(slice, from); sample_.group(slice, own) < to; ++own)
        add_one(sample_.group(slice, own), own);
  };
  for (std::int64_t number = first; number <= last;) {
    if (number < cut_.begin || number >= cut_.begin + groups) begin_period(number / groups, groups);
    const std::int64_t count = std::min(last + 1, cut_.begin + groups) - number;
    for (int slice = 0; slice < slices; ++slice) {
      const std::int64_t turned = number - cut_.begin + cut_.turn[static_cast<std::size_t>(slice)],
                         from = turned < groups ? turned : turned - groups, before_end = std::min(count, groups - from);
      add(slice, from, from + before_end, number);
      if (before_end < count) add(slice, 0, count - before_end, number + before_end);
    }
    number += count;
  }
}

void L2Cache::begin_period(std::int64_t period, std::int64_t groups) {
  cut_.begin = period * groups;
  Turns& known = cut_.known[static_cast<std::size_t>(period) % cut_.known.size()];
  if (known.period != period) {
    known.period = period;
    for (int slice = 0; slice < slices; ++slice) {
      const auto chance = unrelated(static_cast<std::uint64_t>(period * slices + slice + 1));
      known.of_slice[static_cast<std::size_t>(slice)] = static_cast<std::int64_t>(chance >> 33) % groups;
    }
  }
  cut_.turn = known.of_slice;
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
  const std::int64_t of_a_slice = groups / slices, runs = of_a_slice / sample_.every;
  sample_.groups = runs * slices, sample_.stands_for = static_cast<double>(of_a_slice) / static_cast<double>(runs);
  for (int slice = 0; slice < slices; ++slice) {
    std::vector<std::int64_t>& chosen = sample_.chosen[static_cast<std::size_t>(slice)];
    std::vector<int>& from = sample_.from[static_cast<std::size_t>(slice)];
    for (std::int64_t run = 0; run < runs; ++run) {
      const auto chance = static_cast<std::int64_t>(unrelated(static_cast<std::uint64_t>(run * slices + slice)) >> 33);
      chosen.push_back(run * sample_.every + chance % sample_.every);
      from.resize(static_cast<std::size_t>(chosen.back()) + 1, static_cast<int>(run));
    }
    chosen.push_back(of_a_slice);  // the end
    from.resize(static_cast<std::size_t>(of_a_slice), static_cast<int>(runs));
  }
}

void L2Cache::reset_sample(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first) {
  if (shape.ways == 0) return reset(shape, pieces, first, 0);
  const std::int64_t all = bytes_of(pieces);
  std::int64_t fragment = sampled_piece;
  for (;; fragment *= 2) {
    const std::int64_t groups = shape.capacity / shape.ways / fragment;
    choose_sample(groups * slices);
    if (groups <= most_groups && all / fragment / sample_.every <= most_fragments / 4) break;
  }
  place(shape, pieces, first, fragment);
}

}  // namespace tilescope
