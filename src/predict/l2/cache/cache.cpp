#include "predict/l2/cache/cache.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "predict/l2/cache/piece_uses.h"
#include "predict/same_bits.h"

namespace tilescope {
namespace {

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

void L2Cache::reset(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first,
                    std::int64_t fragment) {
  sample_ = {}, slices_ = slices_of_all;
  place(shape, pieces, first, fragment);
}

void L2Cache::place(const CacheShape& shape, std::span<const CachePiece> pieces, std::span<const int> first,
                    std::int64_t fragment) {
  partitions_ = shape.partitions;
  bits_ = std::bit_width(static_cast<unsigned>(partitions_ - 1));
  outer_ = nullptr, supplied_ = 0;
  const std::int64_t ways = shape.ways > 0 || fragment == 0 ? shape.ways : shape.capacity / fragment;  // one set
  const std::int64_t all_groups =
      fragment == 0 ? 1
                    : std::max<std::int64_t>(1, shape.capacity / std::max<std::int64_t>(1, ways) / fragment) * slices_;
  const std::int64_t groups = sample_.every == 1 ? all_groups : sample_.groups;
  room_ = shape.capacity / partitions_ / all_groups;
  dirty_room_ = std::llround(static_cast<double>(room_) * shape.dirty);
  beyond_ = fragment > 0 ? 1 : 31;
  dirty_bytes_.assign(static_cast<std::size_t>(groups) << bits_, 0);
  cut(pieces, first, all_groups, fragment);
  with_record([&](auto record) { write_records<decltype(record)>(static_cast<std::size_t>(groups)); });
  fragments_.resize(fragments_.size() + fragments_at_once);
  constexpr std::int64_t most_waiting = 1 << 18, most_depth = 1024;
  depth_ = static_cast<int>(std::clamp<std::int64_t>(most_waiting / groups, 1, most_depth));
  asked_count_ = 0, asked_most_ = most_asked, tallies_ = {};
  begin_queues(static_cast<std::size_t>(groups));
}

void L2Cache::begin_queues(std::size_t groups) {
  waiting_.reset(), queues_.resize(groups);
  for (std::size_t group = 0; group < groups; ++group) {
    const int first = static_cast<int>(group) * depth_;
    queues_[group] = {first, first + depth_ - 1};
  }
}

void L2Cache::carry_out_at_once() {
  depth_ = 1, asked_most_ = 1;
  begin_queues(queues_.size());
}

void L2Cache::carry_out_rarely() {
  depth_ *= 8;
  begin_queues(queues_.size());
}

// Gives each fragment its piece, in the order of groups.
template <class Record>
void L2Cache::write_records(std::size_t groups) {
  piece_ = Record::piece;
  ends_.assign(groups + 1, 0);
  for (const Fragment& each : fragments_) ends_[static_cast<std::size_t>(each.group) + 1] += Record::size;
  for (std::size_t group = 0; group < groups; ++group) ends_[group + 1] += ends_[group] + Record::size;
  sets_.clear();
  for (std::size_t group = 0; group < groups; ++group)
    for (int side = 0; side < 1 << bits_; ++side) sets_.push_back({.older = ends_[group] + side});
  constexpr std::size_t line = 64;
  std::size_t bytes = static_cast<std::size_t>(ends_[groups]) * sizeof(Link) + line;
  records_.reset(new std::byte[bytes]);  // not zeroed
  void* aligned = records_.get();
  links_ = static_cast<Link*>(std::align(line, bytes - line, aligned, bytes));
  std::vector<int> next(ends_.begin(), ends_.end() - 1);
  for (std::size_t group = 0; group < groups; ++group, next[group - 1] += Record::size)
    for (int i = 0; i < Record::piece; ++i) links_[next[group] + i] = {next[group] + i, next[group] + i};
  std::array<Link, Record::size> fresh{};
  std::fill(fresh.begin(), fresh.begin() + Record::dirty, Link{absent, 0});
  std::fill(fresh.begin() + Record::dirty, fresh.end(), Link{never, 0});
  for (std::size_t f = 0; f < fragments_.size(); ++f) {
    Fragment& own = fragments_[f];
    int& place = next[static_cast<std::size_t>(own.group)];
    const int part = std::exchange(own.piece, place);
    Link* const record = links_ + std::exchange(place, place + Record::size);
    std::copy_n(fresh.data(), Record::size, record);
    record[Record::piece] = {part, static_cast<int>(f)};
    record[Record::older] = {0, 0};
  }
}

std::span<const L2Cache::Fragment> L2Cache::fragments_of(int entry) const {
  const auto number = static_cast<std::size_t>(entry);
  return std::span(fragments_)
      .subspan(static_cast<std::size_t>(first_[number]), static_cast<std::size_t>(first_[number + 1] - first_[number]));
}

void L2Cache::supply(int fragment, int home) {
  const Fragment& own = fragments_[static_cast<std::size_t>(fragment)];
  const bool there = with_uses(own.group, [&](auto uses) { return uses.use(own.piece, home, home); });
  if (!there) supplied_ += part_of(own);
}

void L2Cache::refresh(int fragment, int home) {
  const Fragment& own = fragments_[static_cast<std::size_t>(fragment)];
  with_uses(own.group, [&](auto uses) { return uses.use(own.piece, home, home); });
}

std::int64_t L2Cache::read(int entry, int side) {
  std::int64_t missing = 0;
  for (const Fragment& each : fragments_of(entry))
    missing += with_uses(each.group, [&](auto uses) { return uses.read(each.piece, side); });
  return missing;
}

// `then`: with the uses of each piece's group, and the piece.
template <class Then>
L2Cache::StoreTraffic L2Cache::store_pieces(int entry, bool fetches, const Then& then) {
  StoreTraffic all;
  for (const Fragment& each : fragments_of(entry))
    with_uses(each.group, [&](auto uses) {
      const StoreTraffic one = uses.store(each.piece, fetches);
      all.lacked += one.lacked, all.written += one.written;
      then(uses, each.piece);
    });
  return all;
}

L2Cache::StoreTraffic L2Cache::store(int entry, bool fetches) {
  return store_pieces(entry, fetches, [](auto&, int) {});
}

L2Cache::StoreTraffic L2Cache::store_by(int entry, int side) {
  return store_pieces(entry, false, [&](auto& uses, int piece) { uses.keep_copy(piece, side); });
}

std::int64_t L2Cache::read_last(int entry, int side) {
  std::int64_t missing = 0;
  for (const Fragment& each : fragments_of(entry))
    missing += with_uses(each.group, [&](auto uses) { return uses.read_last(each.piece, side); });
  return missing;
}

std::int64_t L2Cache::overwritten(int entry) {
  std::int64_t bytes = 0;
  for (const Fragment& each : fragments_of(entry))
    bytes += with_uses(each.group, [&](auto uses) { return uses.overwritten(each.piece); });
  return bytes;
}

void L2Cache::hand_out() {
  static_assert(std::endian::native == std::endian::little);
  if (!waiting_) waiting_.reset(new Waiting[queues_.size() * static_cast<std::size_t>(depth_)]);  // not zeroed
  const std::size_t count = std::exchange(asked_count_, 0);
  Waiting* const waiting = waiting_.get();
  Queue* const queues = queues_.data();
  const int* const first = first_.data();
  const Fragment* const fragments = fragments_.data();
  // How many fragments an entry has cannot be foreseen: they are listed without a branch on it, and then handed out.
  constexpr std::size_t most_listed = 256;
  std::array<Fragment, most_listed + fragments_at_once> listed;
  std::array<std::uint32_t, most_listed + fragments_at_once> uses;
  std::size_t end = 0;
  const auto hand_out_listed = [&] {
    for (std::size_t i = 0; i < end; ++i) {
      Queue& queue = queues[listed[i].group];
      const int place = queue.end++;
      // One store instead of two: stores are what bounds this loop.
      const std::uint64_t all = std::uint64_t{uses[i]} << 32 | static_cast<std::uint32_t>(listed[i].piece);
      waiting[place] = same_bits<Waiting>(all);
      if (place == queue.last) [[unlikely]]
        carry_out_full(static_cast<std::size_t>(listed[i].group));
    }
    end = 0;
  };
  constexpr std::size_t far = 16, near = 8;  // uses: an entry's place is fetched before its fragments
  for (std::size_t i = 0; i < count; ++i) {
    if (i + far < count) {
      __builtin_prefetch(first + asked_[i + far].of);
      __builtin_prefetch(fragments + first[asked_[i + near].of]);
    }
    const Waiting asked = asked_[i];
    for (int at = first[asked.of], left = first[asked.of + 1] - at; left >= 0;
         at += fragments_at_once, left -= fragments_at_once) {
      std::copy_n(fragments + at, fragments_at_once, listed.data() + end);
      std::fill_n(uses.data() + end, fragments_at_once, asked.use_side_tally);
      end += static_cast<std::size_t>(std::min(left, fragments_at_once));
      if (end >= most_listed) hand_out_listed();
    }
  }
  hand_out_listed();
}

void L2Cache::carry_out_full(std::size_t group) {
  if (depth_ == 1) carry_out(group, tallies_);
  else carry_out_all();  // groups fill alike
}

void L2Cache::carry_out(std::size_t group, Tallies& tallies) {
  Queue& queue = queues_[group];
  const int first = queue.last + 1 - depth_, end = std::exchange(queue.end, first);
  const std::span<const Waiting> all(waiting_.get() + first, waiting_.get() + end);
  with_uses(static_cast<int>(group), [&](auto uses) { uses.carry_out(all, tallies); });
}

void L2Cache::carry_out_all() {
  constexpr std::size_t parts = 8;
  constexpr std::int64_t few = 1 << 14;  // uses: another thread is not worth its start
  const std::size_t groups = queues_.size();
  const auto waits = [&](std::size_t group) { return queues_[group].end - (queues_[group].last + 1 - depth_); };
  std::array<Tallies, parts> found{};
  const auto carry_out_part = [&](std::size_t part) {
    for (std::size_t group = part * groups / parts; group < (part + 1) * groups / parts; ++group)
      if (waits(group) > 0) carry_out(group, found[part]);
  };
  std::int64_t all = 0;
  for (std::size_t group = 0; group < groups; ++group) all += waits(group);
  if (all > few) at_once(parts, carry_out_part);
  else
    for (std::size_t part = 0; part < parts; ++part) carry_out_part(part);
  for (const Tallies& own : found)
    for (std::size_t i = 0; i < own.size(); ++i)
      tallies_[i].lacked += own[i].lacked, tallies_[i].written += own[i].written;
}

L2Cache::Tallies L2Cache::settle() {
  hand_out();
  carry_out_all();
  Tallies of_all = tallies_;
  for (Tally& tally : of_all)
    tally.lacked = std::llround(static_cast<double>(tally.lacked) * sample_.stands_for),
    tally.written = std::llround(static_cast<double>(tally.written) * sample_.stands_for);
  return of_all;
}

std::int64_t L2Cache::bytes(int entry) const {
  std::int64_t all = 0;
  for (const Fragment& each : fragments_of(entry)) all += std::int64_t{part_of(each)} * partitions_;
  return all;
}

void L2Cache::write_back(int entry) {
  for (const Fragment& each : fragments_of(entry))
    for (int home = 0; home < partitions_; ++home)
      with_uses(each.group, [&](auto uses) { uses.clean(each.piece, home); });
}

void L2Cache::drop(int entry) {
  for (const Fragment& each : fragments_of(entry)) with_uses(each.group, [&](auto uses) { uses.drop(each.piece); });
}

}  // namespace tilescope
