#include "predict/l2/walk/walk.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "predict/l2/walk/convoys.h"
#include "predict/l2/walk/nest_steps.h"
#include "predict/l2/walk/random_order.h"
#include "predict/l2/walk/sides.h"
#include "predict/l2/walk/tiles.h"
#include "predict/traffic/spills.h"

namespace tilescope {
namespace {

constexpr int most_streams = 16;
constexpr std::int64_t update_cost = 32;  // steps that take as long as one that reads and stores again what it updates

using Slot = WalkSlot;

// The block that is there: where its streams stand, and the tile each stream of tiles is at.
struct Block {
  std::int64_t pace = 0;                         // of a step on a unit that is full
  std::array<int, most_streams> base{}, tile{};  // entry at trip 0 of all stream loops; entry held, -1: none yet
  NestPlace place{};                             // in the innermost stream loop: what Slot::left says
};

// A stream of tiles that a block's steps move, and the loops that do.
struct Moving {
  std::size_t stream = 0, loops = 0;
  std::array<std::size_t, max_loops> loop{};
  std::array<int, max_loops> stride{};
  int inner = 0;       // tiles from a step of the innermost stream loop to the next one
  bool plain = false;  // of loads that wait for nothing: Slot says all
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
        steps_of_(bound),
        slots_(static_cast<std::size_t>(shape.caches > 1 ? resident : std::min(resident, order_.size()))),
        blocks_(slots_.size()),
        units_(static_cast<std::size_t>(std::max<std::int64_t>(1, bound.hardware.units.value))),
        full_(ceil_div(resident, static_cast<std::int64_t>(units_))),
        partitions_(shape.partitions),
        dealt_(shape.dealt_blocks),
        next_block_(static_cast<std::size_t>(shape.caches), 0),
        sides_(static_cast<std::size_t>(shape.caches * shape.partitions)) {
    if (options.frames.bytes > 0)
      frames_.emplace(options.frames, slots_.size(), units_, tiles.pieces, tiles.first),
          phases_ = options.frames.places();
    caches_.reset(shape, tiles.pieces, tiles.first);
    later_ = caches_.is_alone();
    if (later_ && frames_) caches_.l2(0).carry_out_rarely();
    const std::vector<int> sides = sides_of_blocks(bound_.hardware, partitions_, order_.size());
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      Slot& slot = slots_[s];
      slot.unit = static_cast<std::int32_t>(s % units_);
      slot.cache = static_cast<std::int8_t>(slot.unit % shape.caches);
      slot.side = static_cast<std::int8_t>(sides[s % units_]);
    }
    seen_.assign(static_cast<std::size_t>(tiles.entries), 0);
    list_moving();
    inner_ = inner_steps();
    if (may_sleep()) convoys_.emplace(slots_, inner_);
    read_in_.assign(static_cast<std::size_t>(tiles.entries) * sides_, -1);
  }

  void run(L2Walk& out) {
    std::vector<std::int32_t> busy(units_, 0);  // blocks of each unit, which share its throughput
    std::int64_t running = 0;
    const auto busy_at = [&](const Slot& slot) -> std::int32_t& { return busy[static_cast<std::size_t>(slot.unit)]; };
    for (Slot& slot : slots_)
      if (start(slot, 0)) ++running, ++busy_at(slot);
    const auto run_until = [&](Slot& slot, std::int64_t now) {
      while (slot.busy && slot.next_time <= now) {
        if (slot.phase == 0) step(slot);
        if (frames_) frames_->touch(caches_.l2(slot.cache), slot_number(slot), slot.phase, slot.side);
        slot.next_time += time_of_phase(slot, busy_at(slot));
        if (++slot.phase < phases_) continue;
        slot.phase = 0, ++steps_;
        if (advance(slot)) {
          if (convoys_ && !slot.joined && slot.same == still_) convoys_->join(slot), steps_ += slot.slept;
          continue;
        }
        finish(slot);
        slot.busy = false, ended_.push_back(&slot);
      }
    };
    for (std::int64_t now = 0; running > 0; now += unit / phases_, ++round_) {
      for (Slot& slot : slots_)
        if (slot.busy && slot.next_time <= now) run_until(slot, now);
      // Blocks that end in the same step end in no order: the next ones go to their slots at random, so that neighbours
      // in issue order come to both sides of the L2.
      while (!ended_.empty()) {
        Slot& slot = *take_at_random(ended_, choice_);
        if (start(slot, slot.next_time)) {
          run_until(slot, now);
          continue;
        }
        --running, --busy_at(slot);
        if (convoys_) steps_ -= convoys_->wake_all(now), convoys_.reset();
      }
    }
    out.steps = steps_;
    settle(out);
    give(out);
  }

 private:
  static constexpr std::int64_t unit = 1024;  // of time: a step without drift

  std::size_t slot_number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }

  Block& block_of(const Slot& slot) { return blocks_[slot_number(slot)]; }

  std::int64_t time_of_phase(Slot& slot, std::int32_t shared) {
    if (slot.phase_shared != shared)
      slot.phase_shared = shared, slot.phase_time = block_of(slot).pace * shared / full_ / phases_;
    return slot.phase_time;
  }

  // Streams of tiles that a block's steps move, and those that they do not.
  void list_moving() {
    for (std::size_t i = 0; i < tiles_.list.size(); ++i) {
      const TileStream& stream = tiles_.list[i];
      Moving moving{.stream = i};
      for (std::size_t l = 0; l < steps_of_.count(); ++l)
        if (const std::int64_t stride = stream.stride[steps_of_.loop(l)]; stride != 0) {
          moving.loop[moving.loops] = steps_of_.loop(l), moving.stride[moving.loops++] = static_cast<int>(stride);
          if (l + 1 == steps_of_.count()) moving.inner = static_cast<int>(steps_of_.falls(l) ? -stride : stride);
        }
      moving.plain = stream.kind == TileStream::Kind::load && stream.awaited == 0 && moving_.size() < Slot::most_moving;
      const bool moves = moving.loops > 0 || stream.every_step;
      if (moves && moving.inner == 0 && !stream.every_step && moving.plain)
        still_ = static_cast<std::uint8_t>(still_ | 1u << moving_.size());
      (moves ? moving_ : fixed_).push_back(moving);
    }
  }

  // Blocks that go at one pace, and whose steps only load tiles one after the other.
  bool may_sleep() const {
    return options_.sleep && options_.drift == 0 && !frames_ && !moving_.empty() && !steps_of_.has_holes() &&
           std::all_of(moving_.begin(), moving_.end(), [](const Moving& each) { return each.plain; });
  }
  std::array<std::int32_t, Slot::most_moving> inner_steps() const {
    std::array<std::int32_t, Slot::most_moving> inner{};
    for (std::size_t m = 0; m < std::min(moving_.size(), Slot::most_moving); ++m) inner[m] = moving_[m].inner;
    return inner;
  }

  // The next step. False: it was the last one.
  bool advance(Slot& slot) {
    if (slot.left > 1 && !steps_of_.has_holes()) {
      --slot.left, slot.same = still_;
      for (std::size_t m = 0; m < Slot::most_moving; ++m) slot.tile[m] += inner_[m];
      return true;
    }
    if (!steps_of_.next(at_step(slot).place)) return false;
    set_step(slot);
    return true;
  }

  // The slot's block, with its place in the innermost stream loop.
  Block& at_step(const Slot& slot) {
    Block& block = block_of(slot);
    steps_of_.set_left(block.place, slot.left);
    return block;
  }

  // What Slot says of the step at which its block is.
  void set_step(Slot& slot) {
    const Block& block = block_of(slot);
    slot.left = static_cast<std::int32_t>(steps_of_.left(block.place)), slot.same = 0;
    slot.joined = false, slot.slept = 0;
    for (std::size_t m = 0; m < std::min(moving_.size(), Slot::most_moving); ++m) {
      const int before = std::exchange(slot.tile[m], tile_of(moving_[m], block));
      if (!slot.fresh && before == slot.tile[m] && !tiles_.list[moving_[m].stream].every_step)
        slot.same = static_cast<std::uint8_t>(slot.same | 1u << m);
    }
  }

  static int tile_of(const Moving& moving, const Block& block) {
    int tile = block.base[moving.stream];
    for (std::size_t l = 0; l < moving.loops; ++l)
      tile += static_cast<int>(block.place.at[moving.loop[l]]) * moving.stride[l];
    return tile;
  }

  // The next block of those that are dealt to an L2, in issue order.
  std::int64_t next_block(int cache) {
    const std::int64_t turn = next_block_[static_cast<std::size_t>(cache)]++;
    return turn / dealt_ * dealt_ * std::ssize(next_block_) + cache * dealt_ + turn % dealt_;
  }

  // The slot's next block. False: there is none left.
  bool start(Slot& slot, std::int64_t time) {
    slot.busy = false;
    Block& own = block_of(slot);
    for (std::int64_t block = next_block(slot.cache); block < order_.size(); block = next_block(slot.cache)) {
      own.place.at = order_.at(block);
      own.tile.fill(-1);
      const bool works = steps_of_.first(own.place);
      for (std::size_t i = 0; i < tiles_.list.size(); ++i) {
        const TileStream& stream = tiles_.list[i];
        own.base[i] = stream.first;
        for (std::size_t l = 0; l < nest_.loop_count; ++l)
          if (nest_.loops[l].group) own.base[i] += static_cast<int>(own.place.at[l] * stream.stride[l]);
      }
      if (!works) {  // it stores what it owns all the same, where the kernel says so
        for (std::size_t i = 0; i < tiles_.list.size() && bound_.how.writes_masked_rows; ++i)
          if (tiles_.list[i].kind == TileStream::Kind::store) own.tile[i] = own.base[i];
        finish(slot);
        continue;
      }
      own.pace = unit + static_cast<std::int64_t>(options_.drift * static_cast<double>(next_random(jitter_)) /
                                                  2147483648.0 * unit);
      slot.next_time = time, slot.phase_shared = 0;
      slot.busy = slot.fresh = true;
      set_step(slot);
      return true;
    }
    return false;
  }

  void step(Slot& slot) {
    if (slot.fresh)
      for (const Moving& fixed : fixed_) touch(slot, fixed.stream, block_of(slot).base[fixed.stream]);
    slot.fresh = false;
    const std::span<const Moving> all(moving_);
    for (std::size_t m = 0; m < all.size(); ++m) {
      const Moving& moving = all[m];
      if (moving.plain) {
        if ((slot.same >> m & 1) == 0) read(slot, moving.stream, slot.tile[m], true);
        continue;
      }
      const Block& block = at_step(slot);
      if (!steps_of_.has_left(block.place, tiles_.list[moving.stream].awaited))
        touch(slot, moving.stream, tile_of(moving, block));
    }
  }

  void touch(const Slot& slot, std::size_t i, int tile) {
    const TileStream& stream = tiles_.list[i];
    int& held = block_of(slot).tile[i];
    if (tile == held && !stream.every_step) return;
    const bool load = stream.kind == TileStream::Kind::load;
    if (!load && held >= 0) leave(slot, i);
    held = tile;
    if (load || (stream.kind == TileStream::Kind::update && (seen_[static_cast<std::size_t>(tile)] || stream.zeroed)))
      read(slot, i, tile, load);
  }

  // `shared`: not where another block of this side asks for the tile at the same time.
  void read(const Slot& slot, std::size_t i, int tile, bool shared) {
    const auto entry = static_cast<std::size_t>(tile);
    std::int32_t& read_in = read_in_[entry * sides_ + static_cast<std::size_t>(slot.cache * partitions_ + slot.side)];
    if (shared && read_in == round_) return;
    read_in = round_;
    const bool again = std::exchange(seen_[entry], 1) != 0;
    if (later_) return caches_.l2(0).later(L2Cache::Use::read, tile, slot.side, tally(again ? reads : unasked, i));
    const CacheHierarchy::Moved moved = caches_.read(tile, slot.cache, slot.side);
    if (again) fetched_[i] += moved.lacked, from_memory_[i] += moved.from_memory;
  }

  // A stored tile goes to the L2.
  void leave(const Slot& slot, std::size_t i) {
    const int tile = block_of(slot).tile[i];
    const bool adds = tiles_.list[i].kind == TileStream::Kind::add;
    const bool fetches = std::exchange(seen_[static_cast<std::size_t>(tile)], 1) != 0 && adds;
    const L2Cache::Use use = adds ? L2Cache::Use::store_at_home : L2Cache::Use::store;
    if (later_) return caches_.l2(0).later(use, tile, slot.side, tally(fetches ? additions : stores, i));
    const CacheHierarchy::Moved stored = caches_.store(tile, slot.cache, adds);
    written_[i] += stored.written;
    if (fetches) fetched_[i] += stored.lacked, from_memory_[i] += stored.from_memory;
  }

  // What is counted of a stream's uses of an L2 that carries them out later.
  enum Tallied { reads, stores, additions, unasked };
  static int tally(Tallied what, std::size_t stream) { return what * most_streams + static_cast<int>(stream); }
  static_assert(4 * most_streams <= FrameSweep::uncounted);

  void settle(L2Walk& out) {
    for (int cache = 0; cache < static_cast<int>(next_block_.size()); ++cache) {
      const L2Cache::Tallies& tallies = caches_.l2(cache).settle();
      const auto of = [&](Tallied what, std::size_t i) { return tallies[static_cast<std::size_t>(tally(what, i))]; };
      for (std::size_t i = 0; i < tiles_.list.size(); ++i) {
        const std::int64_t lacked = of(reads, i).lacked + of(additions, i).lacked;
        fetched_[i] += lacked, from_memory_[i] += lacked;
        written_[i] += of(stores, i).written + of(additions, i).written;
      }
      if (frames_) frames_->count(tallies);
    }
    if (frames_) out.frames = frames_->traffic();
  }

  void finish(const Slot& slot) {
    for (std::size_t i = 0; i < tiles_.list.size(); ++i)
      if (tiles_.list[i].kind != TileStream::Kind::load && block_of(slot).tile[i] >= 0) leave(slot, i);
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
  }

  const BoundIsland& bound_;
  const Nest& nest_;
  const TileStreams& tiles_;
  const WalkOptions& options_;
  BlockOrder order_;
  NestSteps steps_of_;  // a block
  CacheHierarchy caches_;
  bool later_ = false;  // uses are carried out later
  std::vector<Slot> slots_;
  std::vector<Block> blocks_;  // by slot
  std::vector<Slot*> ended_;   // whose block ended in this round
  std::size_t units_;
  std::int64_t full_;  // blocks of a unit that is full
  std::optional<FrameSweep> frames_;
  int phases_ = 1;                  // of a step
  std::optional<Convoys> convoys_;  // until the first unit has fewer blocks
  int partitions_;
  std::int64_t dealt_;                    // blocks of a turn
  std::vector<std::int64_t> next_block_;  // by L2, of its own blocks
  std::vector<Moving> fixed_, moving_;
  std::array<std::int32_t, Slot::most_moving> inner_{};  // Moving::inner of the first moving streams
  std::uint8_t still_ = 0;             // a bit each of Slot::tile: from a step to the next one it does not move
  std::vector<char> seen_;             // tiles that have been in the L2 before
  std::size_t sides_;                  // of all L2s
  std::vector<std::int32_t> read_in_;  // by tile and side: the round in which it was read last
  std::int32_t round_ = 0;             // of slots
  std::array<std::int64_t, most_streams> fetched_{}, written_{}, from_memory_{};  // bytes
  std::int64_t steps_ = 0;
  std::uint64_t jitter_ = 1, choice_ = 1;  // states of next_random
};

}  // namespace

std::int64_t walk_steps(const Plan& plan, const HardwareProfile& hardware, const Point& point) {
  if (point.l2 == L2Model::closed) return 0;
  std::int64_t steps = 0;
  for (const BoundIsland& bound : bind_islands(plan, hardware, point)) {
    const std::int64_t own = visited_points(bound.nest, bound.live, {}, false);
    const std::int64_t places = LocalFrames{.bytes = std::llround(block_frame_bytes(bound))}.places();
    if (own <= WalkOptions{}.most_steps / places) steps += own * places;
  }
  return steps;
}

bool walk_l2(const BoundIsland& bound, const CacheShape& shape, std::int64_t resident_blocks, L2Walk& out,
             const WalkOptions& options) {
  out = {};
  TileStreams tiles;
  if (!tile_streams(bound, tiles) || tiles.list.size() > most_streams) return false;
  if (tiles.entries > most_tiles / shape.caches) return false;
  const std::int64_t steps = visited_points(bound.nest, bound.live, {}, false);
  const std::int64_t phases = options.frames.bytes > 0 ? options.frames.places() : 1;
  const bool updates = std::any_of(tiles.list.begin(), tiles.list.end(),
                                   [](const TileStream& stream) { return stream.kind == TileStream::Kind::update; });
  if (steps > options.most_steps / phases || (updates && steps > options.most_steps / update_cost)) return false;
  if (tiles.each_once && options.frames.bytes == 0) {  // nothing can come or go again
    out.steps = steps;
    return true;
  }
  place_tiles(bound, tiles);
  Walker(bound, tiles, shape, std::max<std::int64_t>(1, resident_blocks), options).run(out);
  return true;
}

}  // namespace tilescope
