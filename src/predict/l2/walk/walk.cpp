#include "predict/l2/walk/walk.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>

#include "predict/l2/walk/convoys.h"
#include "predict/l2/walk/moving_streams.h"
#include "predict/l2/walk/nest_steps.h"
#include "predict/l2/walk/random_order.h"
#include "predict/l2/walk/sides.h"
#include "predict/l2/walk/tile_marks.h"
#include "predict/l2/walk/tiles.h"
#include "predict/l2/walk/walk_counts.h"

namespace tilescope {
namespace {

constexpr std::int64_t update_cost = 32;  // steps that take as long as one that reads and stores again what it updates
constexpr std::int64_t few_fragments = 16;  // of a step: the number of steps alone bounds the time

using Slot = WalkSlot;
using Counts = WalkCounts;

// The block that is there: where its streams stand, and the tile each stream of tiles is at.
struct Block {
  std::int64_t pace = 0;  // of a step on a unit that is full
  std::array<int, Counts::most_streams> base{},
      tile{};         // entry at trip 0 of all stream loops; entry held, -1: none yet
  NestPlace place{};  // in the innermost stream loop: what Slot::left says
};

class Walker {
 public:
  Walker(const BoundIsland& bound, TileStreams& tiles, const CacheShape& shape, std::int64_t resident,
         const WalkOptions& options)
      : bound_(bound),
        tiles_(tiles),
        options_(options),
        order_(bound),
        steps_of_(bound),
        moving_(tiles, bound.nest, steps_of_),
        slots_(static_cast<std::size_t>(shape.caches > 1 ? resident : std::min(resident, order_.size()))),
        blocks_(slots_.size()),
        units_(static_cast<std::size_t>(std::max<std::int64_t>(1, bound.hardware.units.value))),
        busy_(units_, 0),
        full_(ceil_div(resident, static_cast<std::int64_t>(units_))),
        partitions_(shape.partitions),
        dealt_(shape.dealt_blocks),
        next_block_(static_cast<std::size_t>(shape.caches), 0),
        marks_(tiles.entries, std::int64_t{shape.caches} * shape.partitions) {
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
      slot.mark = static_cast<std::int16_t>(slot.cache * partitions_ + slot.side);
    }
    plain_ = later_ && !frames_ && !steps_of_.has_holes() && moving_.all_plain;
    if (may_sleep()) convoys_.emplace(slots_, moving_.inner);
  }

  void run(L2Walk& out) {
    for (Slot& slot : slots_)
      if (start(slot, 0)) ++running_, ++busy_at(slot);
    for (std::int64_t now = 0; running_ > 0; now += unit / phases_, ++round_) {
      if (plain_) run_round(now, [&](Slot& slot) { run_plainly(slot, now); });
      else run_round(now, [&](Slot& slot) { run_in_phases(slot, now); });
    }
    out.steps = steps_;
    settle(out);
  }

  // Fragments that a step in which all streams move uses, on average over the tiles.
  std::int64_t fragments_of_a_step() {
    std::int64_t all = 0;
    for (std::size_t i = 0, end = tiles_.list.size(); i < end; ++i) {
      const int first = tiles_.list[i].first;
      const int tiles = (i + 1 < end ? tiles_.list[i + 1].first : static_cast<int>(tiles_.entries)) - first;
      if (tiles > 0) all += 1 + caches_.l2(0).fragments(first, tiles) / tiles;
    }
    return all;
  }

 private:
  static constexpr std::int64_t unit = 1024;  // of time: a step without drift

  // Every block takes the steps that it has until `now`.
  template <class Steps>
  void run_round(std::int64_t now, const Steps& take_steps) {
    for (Slot& slot : slots_)
      if (slot.busy && slot.next_time <= now) take_steps(slot);
    // Blocks that end in the same step end in no order: the next ones go to their slots at random, so that neighbours
    // in issue order come to both sides of the L2.
    while (!ended_.empty()) {
      Slot& slot = *take_at_random(ended_, choice_);
      if (start(slot, slot.next_time)) {
        if (slot.next_time <= now) take_steps(slot);
        continue;
      }
      --running_, --busy_at(slot);
      if (convoys_) wake_all(now);
    }
  }

  // Units work at different paces from here on.
  void wake_all(std::int64_t now) {
    steps_ -= convoys_->wake_all(now);
    convoys_.reset();
    for (Slot& slot : slots_) slot.joined = true;
  }

  std::size_t slot_number(const Slot& slot) const { return static_cast<std::size_t>(&slot - slots_.data()); }

  Block& block_of(const Slot& slot) { return blocks_[slot_number(slot)]; }

  std::int32_t& busy_at(const Slot& slot) { return busy_[static_cast<std::size_t>(slot.unit)]; }

  // Steps that only load tiles, without local memory: most are such, and a walk spends its time in them.
  [[gnu::always_inline]] void run_plainly(Slot& slot, std::int64_t now) {
    do {
      if (slot.fresh) touch_fixed(slot);
      for (unsigned move = moving_.all & ~unsigned{slot.same}; move != 0; move &= move - 1) {
        const auto m = static_cast<std::size_t>(std::countr_zero(move));
        const int tile = slot.tile[m];
        if (!asked_now(slot, tile)) ask(slot, moving_.stream[m], tile);
      }
      slot.next_time += time_of_phase(slot);
      ++steps_;
      if (slot.left > 1) advance_inside(slot), join(slot);
      else go_on(slot);
    } while (slot.busy && slot.next_time <= now);
  }

  void run_in_phases(Slot& slot, std::int64_t now) {
    do {
      if (slot.phase == 0) step(slot);
      if (frames_) frames_->touch(caches_.l2(slot.cache), slot_number(slot), slot.phase, slot.side);
      slot.next_time += time_of_phase(slot);
      if (++slot.phase < phases_) continue;
      slot.phase = 0, ++steps_;
      go_on(slot);
    } while (slot.busy && slot.next_time <= now);
  }

  void join(Slot& slot) {
    if (!slot.joined) join_convoy(slot);
  }
  [[gnu::noinline]] void join_convoy(Slot& slot) {
    if (slot.same == moving_.still) convoys_->join(slot), steps_ += slot.slept;
  }

  // To the next step, or to the end of the block.
  [[gnu::noinline]] void go_on(Slot& slot) {
    if (advance(slot)) {
      join(slot);
      return;
    }
    finish(slot);
    slot.busy = false, ended_.push_back(&slot);
  }

  std::int64_t time_of_phase(Slot& slot) {
    if (slot.phase_shared != busy_at(slot)) share_unit(slot);
    return slot.phase_time;
  }
  [[gnu::noinline]] void share_unit(Slot& slot) {
    slot.phase_shared = busy_at(slot);
    slot.phase_time = block_of(slot).pace * slot.phase_shared / full_ / phases_;
  }

  // Blocks that go at one pace, and whose steps only load tiles one after the other.
  bool may_sleep() const {
    return options_.sleep && options_.drift == 0 && !frames_ && !moving_.list.empty() && !steps_of_.has_holes() &&
           moving_.all_plain;
  }

  // The next step of the innermost stream loop.
  void advance_inside(Slot& slot) const {
    --slot.left, slot.same = moving_.still;
    auto tile = slot.tile;
    const auto inner = moving_.inner;
    for (std::size_t m = 0; m < Slot::most_moving; ++m) tile[m] += inner[m];
    slot.tile = tile;
  }

  // The next step. False: it was the last one.
  bool advance(Slot& slot) {
    if (slot.left > 1 && !steps_of_.has_holes()) {
      advance_inside(slot);
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
    slot.joined = !convoys_, slot.slept = 0;
    for (std::size_t m = 0; m < std::min(moving_.list.size(), Slot::most_moving); ++m) {
      const int before = std::exchange(slot.tile[m], tile_of(moving_.list[m], block));
      if (!slot.fresh && before == slot.tile[m] && !tiles_.list[moving_.stream[m]].every_step)
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
      for (std::size_t i = 0; i < tiles_.list.size(); ++i) own.base[i] = tiles_.list[i].first;
      for (const MovingStreams::OfBlock& each : moving_.of_blocks)
        own.base[each.stream] += static_cast<int>(own.place.at[each.loop] * each.stride);
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

  [[gnu::noinline]] void touch_fixed(Slot& slot) {
    for (const std::size_t stream : moving_.fixed) touch(slot, stream, block_of(slot).base[stream]);
    slot.fresh = false;
  }

  void step(Slot& slot) {
    if (slot.fresh) touch_fixed(slot);
    const std::span<const Moving> all(moving_.list);
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
    if (load || (stream.kind == TileStream::Kind::update && (marks_.seen(tile) || stream.zeroed)))
      read(slot, i, tile, load);
  }

  // Whether another block of the slot's side reads the tile at the same time.
  bool asked_now(const Slot& slot, int tile) const {
    return marks_.read_in(round_, tile, static_cast<std::size_t>(slot.mark));
  }
  // The slot's block reads the tile. Whether it has been in an L2 before.
  bool mark(const Slot& slot, int tile) {
    marks_.note_read(round_, tile, static_cast<std::size_t>(slot.mark));
    return marks_.see(tile);
  }

  void ask(const Slot& slot, std::size_t i, int tile) {
    caches_.l2(0).later(L2Cache::Use::read, tile, slot.side,
                        Counts::tally(mark(slot, tile) ? Counts::reads : Counts::unasked, i));
  }

  // `shared`: not where another block of this side asks for the tile at the same time.
  void read(const Slot& slot, std::size_t i, int tile, bool shared) {
    if (shared && asked_now(slot, tile)) return;
    if (later_) return ask(slot, i, tile);
    const bool again = mark(slot, tile);
    const CacheHierarchy::Moved moved = caches_.read(tile, slot.cache, slot.side);
    if (again) counts_.fetched[i] += moved.lacked, counts_.from_memory[i] += moved.from_memory;
  }

  // A stored tile goes to the L2.
  void leave(const Slot& slot, std::size_t i) {
    const int tile = block_of(slot).tile[i];
    const bool adds = tiles_.list[i].kind == TileStream::Kind::add;
    const bool fetches = marks_.see(tile) && adds;
    const L2Cache::Use use = adds ? L2Cache::Use::store_at_home : L2Cache::Use::store;
    if (later_)
      return caches_.l2(0).later(use, tile, slot.side, Counts::tally(fetches ? Counts::additions : Counts::stores, i));
    const CacheHierarchy::Moved stored = caches_.store(tile, slot.cache, adds);
    counts_.written[i] += stored.written;
    if (fetches) counts_.fetched[i] += stored.lacked, counts_.from_memory[i] += stored.from_memory;
  }

  void settle(L2Walk& out) {
    for (int cache = 0; cache < static_cast<int>(next_block_.size()); ++cache) {
      const L2Cache::Tallies tallies = caches_.l2(cache).settle();
      counts_.add(tallies);
      if (frames_) frames_->count(tallies);
    }
    counts_.give(tiles_, out);
    if (frames_) out.frames = frames_->traffic();
  }

  void finish(const Slot& slot) {
    for (std::size_t i = 0; i < tiles_.list.size(); ++i)
      if (tiles_.list[i].kind != TileStream::Kind::load && block_of(slot).tile[i] >= 0) leave(slot, i);
  }

  const BoundIsland& bound_;
  const TileStreams& tiles_;
  const WalkOptions& options_;
  BlockOrder order_;
  NestSteps steps_of_;  // a block
  MovingStreams moving_;
  CacheHierarchy caches_;
  bool later_ = false;  // uses are carried out later
  std::vector<Slot> slots_;
  std::vector<Block> blocks_;  // by slot
  std::vector<Slot*> ended_;   // whose block ended in this round
  std::size_t units_;
  std::vector<std::int32_t> busy_;  // blocks of each unit, which share its throughput
  std::int64_t full_;               // blocks of a unit that is full
  std::optional<FrameSweep> frames_;
  int phases_ = 1;                  // of a step
  std::optional<Convoys> convoys_;  // until the first unit has fewer blocks
  int partitions_;
  std::int64_t dealt_;                    // blocks of a turn
  std::vector<std::int64_t> next_block_;  // by L2, of its own blocks
  bool plain_ = false;                    // steps are those of run_plainly
  TileMarks marks_;
  std::int32_t round_ = 0;  // of slots
  Counts counts_;
  std::int64_t steps_ = 0, running_ = 0;   // running: blocks
  std::uint64_t jitter_ = 1, choice_ = 1;  // states of next_random
};

}  // namespace

bool walk_l2(const BoundIsland& bound, const CacheShape& shape, std::int64_t resident_blocks, L2Walk& out,
             const WalkOptions& options) {
  out = {};
  TileStreams tiles;
  if (!tile_streams(bound, tiles)) return false;
  if (tiles.list.size() > Counts::most_streams || tiles.entries > most_tiles / shape.caches) return false;
  const std::int64_t steps = visited_points(bound.nest, bound.live, {}, false);
  const std::int64_t phases = options.frames.bytes > 0 ? options.frames.places() : 1;
  const bool updates = std::any_of(tiles.list.begin(), tiles.list.end(),
                                   [](const TileStream& stream) { return stream.kind == TileStream::Kind::update; });
  if (steps > options.most_steps / phases || (updates && steps > options.most_steps / update_cost)) return false;
  if (tiles.each_once && options.frames.bytes == 0) return out.steps = steps, true;  // nothing can come or go again
  place_tiles(bound, tiles);
  Walker walker(bound, tiles, shape, std::max<std::int64_t>(1, resident_blocks), options);
  if (const auto all = walker.fragments_of_a_step(); all > few_fragments && steps > options.most_fragments / all)
    return false;
  walker.run(out);
  return true;
}

}  // namespace tilescope
