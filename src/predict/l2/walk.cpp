#include "predict/l2/walk.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "predict/grid/block_order.h"
#include "predict/l2/sides.h"
#include "predict/l2/tiles.h"

namespace tilescope {
namespace {

constexpr int most_streams = 16;
constexpr std::int64_t update_cost = 32;  // steps that take as long as one that reads and stores again what it updates

// A block on a unit: where its streams stand, and the tile each stream of tiles is at.
struct Slot {
  std::size_t unit = 0;
  int cache = 0, side = 0;                        // the L2 of its unit, and its side of it
  std::int64_t next_time = 0, pace = 0;           // pace: of a step on a unit that is full
  std::int64_t phase_time = 0, phase_shared = 0;  // time of a phase when so many blocks share the unit
  bool busy = false, fresh = false;               // fresh: in its first step
  int phase = 0;                                  // of its step: the place of its frame that is next
  std::array<int, most_streams> base{}, tile{};   // entry at trip 0 of all stream loops; entry held, -1: none yet
  BlockPlace at{};
  std::array<TileRange, max_loops> range{};  // of each stream loop
};

// A stream of tiles that a block's steps move, and the loops that do.
struct Moving {
  std::size_t stream = 0, loops = 0;
  std::array<std::size_t, max_loops> loop{};
  std::array<int, max_loops> stride{};
};

class Walker {
 public:
  Walker(const BoundIsland& bound, TileStreams& tiles, const CacheShape& shape, std::int64_t resident,
         const WalkOptions& options)
      : bound_(bound),
        nest_(bound.nest),
        tiles_(tiles),
        options_(options),
        order_(bound),
        slots_(static_cast<std::size_t>(shape.caches > 1 ? resident : std::min(resident, order_.size()))),
        units_(static_cast<std::size_t>(std::max<std::int64_t>(1, bound.hardware.units.value))),
        full_(ceil_div(resident, static_cast<std::int64_t>(units_))),
        partitions_(shape.partitions),
        dealt_(shape.dealt_blocks),
        next_block_(static_cast<std::size_t>(shape.caches), 0),
        used_at_(static_cast<std::size_t>(shape.caches * shape.partitions)) {
    if (options.frames.bytes > 0)
      frames_.emplace(options.frames, slots_.size(), units_, tiles.pieces, tiles.first),
          phases_ = options.frames.places();
    caches_.reset(shape, tiles.pieces, tiles.first);
    const std::vector<int> sides = sides_of_blocks(bound_.hardware, partitions_, order_.size());
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      Slot& slot = slots_[s];
      slot.unit = s % units_;
      slot.cache = static_cast<int>(slot.unit) % shape.caches;
      slot.side = sides[slot.unit];
    }
    seen_.assign(tiles.entries(), 0);
    for (std::size_t i = 0; i < nest_.loop_count; ++i)
      if (!nest_.loops[i].group) {
        stream_loops_[stream_count_] = i;
        falls_[stream_count_++] = BlockOrder::falls(bound, BlockOrder::dimension_of(bound, nest_.loops[i]));
      }
    for (std::size_t i = 0; i < tiles.list.size(); ++i) {
      Moving moving{.stream = i};
      for (std::size_t l = 0; l < stream_count_; ++l)
        if (const std::int64_t stride = tiles.list[i].stride[stream_loops_[l]]; stride != 0)
          moving.loop[moving.loops] = stream_loops_[l], moving.stride[moving.loops++] = static_cast<int>(stride);
      (moving.loops > 0 || tiles.list[i].every_step ? moving_ : fixed_).push_back(moving);
    }
    for (auto& of_side : used_at_) of_side.assign(tiles.entries(), -1);
    if (!nest_.guarded()) return;
    list_live();
    // A block mask leaves holes in a range; two guarded axes without a stream have no range.
    const auto of_block = [&](int loop) { return nest_.loops[static_cast<std::size_t>(loop)].group; };
    may_be_dead_ = !bound.point.mask.contiguous() || (of_block(nest_.query_loop) && of_block(nest_.key_loop));
  }

  void run(L2Walk& out) {
    std::vector<std::int64_t> busy(units_, 0);  // blocks of each unit, which share its throughput
    std::int64_t running = 0;
    for (Slot& slot : slots_)
      if (start(slot, 0)) ++running, ++busy[slot.unit];
    for (std::int64_t now = 0; running > 0; now += unit / phases_)
      for (Slot& slot : slots_)
        while (slot.busy && slot.next_time <= now) {
          if (slot.phase == 0) step(slot, now);
          if (frames_) frames_->touch(caches_.l2(slot.cache), slot_number(slot), slot.phase, slot.side);
          slot.next_time += time_of_phase(slot, busy[slot.unit]);
          if (++slot.phase < phases_) continue;
          slot.phase = 0, ++steps_;
          if (advance(slot)) continue;
          finish(slot);
          if (!start(slot, slot.next_time)) --running, --busy[slot.unit];
        }
    out.steps = steps_;
    give(out);
  }

 private:
  static constexpr std::int64_t unit = 1024;  // of time: a step without drift

  std::size_t slot_number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }

  std::int64_t time_of_phase(Slot& slot, std::int64_t shared) const {
    if (slot.phase_shared != shared) slot.phase_shared = shared, slot.phase_time = slot.pace * shared / full_ / phases_;
    return slot.phase_time;
  }

  // Live ranges by query tile and by key tile, for each chunk of the keys.
  void list_live() {
    const std::int64_t chunks = nest_.keys_are_chunked() ? nest_.chunked.chunks() : 1;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
      live_.push_back(nest_.keys_are_chunked() ? nest_.live_tiles_of_chunk(chunk) : nest_.live_tiles());
    for (const LiveTiles& live : live_) {
      std::vector<TileRange>& keys = keys_of_.emplace_back();
      std::vector<TileRange>& queries = queries_of_.emplace_back();
      for (std::int64_t i = 0; i < live.query_tiles(); ++i) keys.push_back(live.keys_of(i));
      for (std::int64_t j = 0; j < live.key_tiles(); ++j) queries.push_back(live.queries_of(j));
    }
  }

  std::size_t chunk_of(const Slot& slot) const {
    return nest_.keys_are_chunked() ? static_cast<std::size_t>(slot.at[static_cast<std::size_t>(nest_.chunked.outer)])
                                    : 0;
  }

  // What stream `level` runs over, where the loops around it stand.
  TileRange range_of(const Slot& slot, std::size_t level) const {
    const std::size_t loop = stream_loops_[level];
    const int at = static_cast<int>(loop);
    if (nest_.guarded() && (at == nest_.query_loop || at == nest_.key_loop)) {
      const auto other = static_cast<std::size_t>(at == nest_.query_loop ? nest_.key_loop : nest_.query_loop);
      const std::size_t chunk = chunk_of(slot);
      const bool other_is_set = nest_.loops[other].group || other < loop;
      if (at == nest_.query_loop)
        return other_is_set ? queries_of_[chunk][static_cast<std::size_t>(slot.at[other])]
                            : TileRange{0, live_[chunk].query_tiles()};
      return other_is_set ? keys_of_[chunk][static_cast<std::size_t>(slot.at[other])]
                          : TileRange{0, live_[chunk].key_tiles()};
    }
    if (nest_.chunked.present() && at == nest_.chunked.inner)
      return {0, ceil_div(nest_.chunked.length_of(slot.at[static_cast<std::size_t>(nest_.chunked.outer)]),
                          nest_.chunked.tile)};
    return {0, nest_.loops[loop].trips};
  }

  // Sets the streams from `level` on to their first step. False: none of the steps from here on the level runs over is
  // live.
  bool enter(Slot& slot, std::size_t level) const {
    for (; level < stream_count_; ++level) {
      const TileRange range = range_of(slot, level);
      slot.range[level] = range;
      slot.at[stream_loops_[level]] = falls_[level] ? range.end - 1 : range.first;
      if (range.empty()) return next(slot, level);
    }
    return dead(slot) ? next(slot, level) : true;
  }

  // The next step of the streams outside `level`, which starts anew.
  bool next(Slot& slot, std::size_t level) const {
    while (level-- > 0) {
      std::int64_t& at = slot.at[stream_loops_[level]];
      const bool more = falls_[level] ? --at >= slot.range[level].first : ++at < slot.range[level].end;
      if (more) return enter(slot, level + 1);
    }
    return false;
  }
  bool advance(Slot& slot) const { return next(slot, stream_count_); }

  bool dead(const Slot& slot) const {
    if (!may_be_dead_) return false;
    return !live_[chunk_of(slot)].live(slot.at[static_cast<std::size_t>(nest_.query_loop)],
                                       slot.at[static_cast<std::size_t>(nest_.key_loop)]);
  }

  // The next block of those that are dealt to an L2, in issue order.
  std::int64_t next_block(int cache) {
    const std::int64_t turn = next_block_[static_cast<std::size_t>(cache)]++;
    return turn / dealt_ * dealt_ * std::ssize(next_block_) + cache * dealt_ + turn % dealt_;
  }

  // The slot's next block. False: there is none left.
  bool start(Slot& slot, std::int64_t time) {
    slot.busy = false;
    for (std::int64_t block = next_block(slot.cache); block < order_.size(); block = next_block(slot.cache)) {
      slot.at = order_.at(block);
      slot.tile.fill(-1);
      bool works = enter(slot, 0);
      for (std::size_t i = 0; i < tiles_.list.size(); ++i) {
        const TileStream& stream = tiles_.list[i];
        slot.base[i] = stream.first;
        for (std::size_t l = 0; l < nest_.loop_count; ++l)
          if (nest_.loops[l].group) slot.base[i] += static_cast<int>(slot.at[l] * stream.stride[l]);
      }
      if (!works) {  // it stores what it owns all the same, where the kernel says so
        for (std::size_t i = 0; i < tiles_.list.size() && bound_.how.writes_masked_rows; ++i)
          if (tiles_.list[i].kind == TileStream::Kind::store) slot.tile[i] = slot.base[i];
        finish(slot);
        continue;
      }
      jitter_ = jitter_ * 6364136223846793005u + 1442695040888963407u;
      slot.pace =
          unit + static_cast<std::int64_t>(options_.drift * static_cast<double>(jitter_ >> 33) / 2147483648.0 * unit);
      slot.next_time = time, slot.phase_shared = 0;
      return slot.busy = slot.fresh = true;
    }
    return false;
  }

  void step(Slot& slot, std::int64_t now) {
    if (slot.fresh)
      for (const Moving& fixed : fixed_) touch(slot, now, fixed.stream, slot.base[fixed.stream]);
    slot.fresh = false;
    for (const Moving& moving : moving_) {
      if (awaits(slot, tiles_.list[moving.stream].awaited)) continue;
      int tile = slot.base[moving.stream];
      for (std::size_t l = 0; l < moving.loops; ++l)
        tile += static_cast<int>(slot.at[moving.loop[l]]) * moving.stride[l];
      touch(slot, now, moving.stream, tile);
    }
  }

  // Whether one of these streams has steps left.
  bool awaits(const Slot& slot, std::uint32_t loops) const {
    for (std::size_t l = 0; loops != 0 && l < stream_count_; ++l)
      if ((loops >> stream_loops_[l] & 1) != 0 &&
          slot.at[stream_loops_[l]] != (falls_[l] ? slot.range[l].first : slot.range[l].end - 1))
        return true;
    return false;
  }

  void touch(Slot& slot, std::int64_t now, std::size_t i, int tile) {
    const TileStream& stream = tiles_.list[i];
    if (tile == slot.tile[i] && !stream.every_step) return;
    const bool load = stream.kind == TileStream::Kind::load;
    if (!load && slot.tile[i] >= 0) leave(slot, i);
    slot.tile[i] = tile;
    const auto entry = static_cast<std::size_t>(tile);
    const bool again = seen_[entry] != 0;
    if (!load && !(stream.kind == TileStream::Kind::update && (again || stream.zeroed))) return;
    std::int64_t& used_at = used_at_[static_cast<std::size_t>(slot.cache * partitions_ + slot.side)][entry];
    if (load && used_at == now) return;  // another block of this side asks for it at the same time
    used_at = now;
    const CacheHierarchy::Moved moved = caches_.read(tile, slot.cache, slot.side);
    if (again) fetched_[i] += moved.lacked, from_memory_[i] += moved.from_memory;
    seen_[entry] = 1;
  }

  // A stored tile goes to the L2.
  void leave(const Slot& slot, std::size_t i) {
    const auto entry = static_cast<std::size_t>(slot.tile[i]);
    const bool adds = tiles_.list[i].kind == TileStream::Kind::add;
    const CacheHierarchy::Moved stored = caches_.store(slot.tile[i], slot.cache, adds);
    written_[i] += stored.written;
    if (adds && seen_[entry]) fetched_[i] += stored.lacked, from_memory_[i] += stored.from_memory;
    seen_[entry] = 1;
  }

  void finish(Slot& slot) {
    for (std::size_t i = 0; i < tiles_.list.size(); ++i)
      if (tiles_.list[i].kind != TileStream::Kind::load && slot.tile[i] >= 0) leave(slot, i);
  }

  // Bytes of a stream belong to its arrays by their shares of a tile.
  void give(L2Walk& out) const {
    for (std::size_t i = 0; i < tiles_.list.size(); ++i) {
      std::int64_t all = 0;
      for (const std::int64_t share : tiles_.list[i].share) all += share;
      for (std::size_t a = 0; a < max_arrays; ++a) {
        const double share = all == 0 ? 0 : static_cast<double>(tiles_.list[i].share[a]) / static_cast<double>(all);
        out.arrays[a].fetched_again += std::llround(static_cast<double>(fetched_[i]) * share);
        out.arrays[a].written_again += std::llround(static_cast<double>(written_[i]) * share);
        out.arrays[a].from_memory_again += std::llround(static_cast<double>(from_memory_[i]) * share);
      }
    }
    if (frames_) out.frames = frames_->traffic();
  }

  const BoundIsland& bound_;
  const Nest& nest_;
  const TileStreams& tiles_;
  const WalkOptions& options_;
  BlockOrder order_;
  CacheHierarchy caches_;
  std::vector<Slot> slots_;
  std::size_t units_;
  std::int64_t full_;  // blocks of a unit that is full
  std::optional<FrameSweep> frames_;
  int phases_ = 1;  // of a step
  int partitions_;
  std::int64_t dealt_;                    // blocks of a turn
  std::vector<std::int64_t> next_block_;  // by L2, of its own blocks
  std::array<std::size_t, max_loops> stream_loops_{};
  std::array<bool, max_loops> falls_{};
  std::size_t stream_count_ = 0;
  bool may_be_dead_ = false;  // steps inside the ranges
  std::vector<LiveTiles> live_;
  std::vector<std::vector<TileRange>> keys_of_, queries_of_;
  std::vector<Moving> fixed_, moving_;
  std::vector<char> seen_;                          // tiles that have been in the L2 before
  std::vector<std::vector<std::int64_t>> used_at_;  // by L2 and side: when a tile was last read
  std::array<std::int64_t, most_streams> fetched_{}, written_{}, from_memory_{};  // bytes
  std::int64_t steps_ = 0;
  std::uint64_t jitter_ = 1;
};

}  // namespace

std::int64_t walk_steps(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  if (point.l2 == L2Model::closed) return 0;
  std::int64_t steps = 0;
  for (const BoundIsland& bound : bind_islands(plan, hardware, point))
    if (const std::int64_t own = visited_points(bound.nest, bound.live, {}, false); own <= WalkOptions{}.most_steps)
      steps += own;
  return steps;
}

bool walk_l2(const BoundIsland& bound, const CacheShape& shape, std::int64_t resident_blocks, L2Walk& out,
             const WalkOptions& options) {
  out = {};
  TileStreams tiles;
  if (!tile_streams(bound, tiles) || tiles.list.size() > most_streams) return false;
  if (static_cast<std::int64_t>(tiles.entries()) > most_tiles / shape.caches) return false;
  const std::int64_t steps = visited_points(bound.nest, bound.live, {}, false);
  const std::int64_t phases = options.frames.bytes > 0 ? options.frames.places() : 1;
  const bool updates = std::any_of(tiles.list.begin(), tiles.list.end(),
                                   [](const TileStream& stream) { return stream.kind == TileStream::Kind::update; });
  if (steps > options.most_steps / phases || (updates && steps > options.most_steps / update_cost)) return false;
  if (tiles.each_once && options.frames.bytes == 0) {  // nothing can come or go again
    out.steps = steps;
    return true;
  }
  Walker(bound, tiles, shape, std::max<std::int64_t>(1, resident_blocks), options).run(out);
  return true;
}

}  // namespace tilescope
