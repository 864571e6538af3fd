#include "predict/grid/streamed_blocks.h"

#include <algorithm>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "predict/point/order/next_unit.h"

namespace tilescope {
namespace {

constexpr double nearly_done = 1e-9;  // of a step

struct Block {
  std::int32_t unit = 0, steps = 0;
  std::int32_t asked = 0, at = 0;  // tiles asked for; the step that it is at or waits for
  bool waits = true;
};

struct BlockSteps {
  std::int32_t block = 0;
  double left = 0;  // steps
};

struct StreamingUnit {
  double at = 0, busy = 0, held_since = 0;
  std::int32_t holds = 0;
  std::size_t count = 0;
  std::array<BlockSteps, most_resident>
      works{};  // the first `count`: blocks at their steps, which share the unit evenly

  std::span<BlockSteps> working() { return {works.data(), count}; }
};

struct BlockStart {
  double time;
  std::int32_t block;
};

// A tile of a block, and its place in the windows of all blocks.
struct Tile {
  std::int32_t block = 0, place = 0;
};

struct Arrival {
  double time;
  Tile tile;
};

class StreamSimulation {
 public:
  explicit StreamSimulation(const StreamedBlocks& how)
      : how_(how),
        window_(static_cast<std::int32_t>(how.ahead) + 1),
        piece_service_(how.service / static_cast<double>(how.pieces)),
        blocks_(how.steps.size()),
        missing_(how.steps.size() * static_cast<std::size_t>(window_), 0),
        units_(static_cast<std::size_t>(how.units)),
        steps_(units_.size()),
        random_(how.seed) {
    for (std::size_t i = 0; i < pace_.size(); ++i) pace_[i] = 1 / std::max(1e-12, how.step[i]);
    for (std::int32_t i = 0; i < count(); ++i)
      block(i).steps = static_cast<std::int32_t>(how.steps[static_cast<std::size_t>(i)]);
  }

  Streamed run() {
    for (std::int64_t round = 0; round < how_.resident && next_ < count(); ++round)
      for (std::int32_t unit = 0; unit < how_.units && next_ < count(); ++unit) hold(unit, 0);
    for (;;) {
      const double step = steps_.time(), start = starts_.empty() ? no_event : starts_.front().time;
      const double own = std::min(step, start);
      const auto arrival = [&] { return arrivals_.empty() ? no_event : arrivals_.front().time; };
      while (served_at_ < no_event && served_at_ <= own && served_at_ <= arrival()) served(served_at_);
      const double first = std::min(own, arrival());
      if (first >= no_event) break;
      if (first == arrival()) arrived();
      else if (first == start) begin(first);
      else stepped(first);
    }
    for (const StreamingUnit& each : units_) out_.busy += each.busy / static_cast<double>(how_.units);
    return out_;
  }

 private:
  StreamingUnit& unit(std::int32_t number) { return units_[static_cast<std::size_t>(number)]; }
  Block& block(std::int32_t number) { return blocks_[static_cast<std::size_t>(number)]; }
  std::int32_t count() const { return static_cast<std::int32_t>(blocks_.size()); }
  // Of the tile at a place: pieces on their way; -1: all are there.
  std::int32_t& missing(std::int32_t place) { return missing_[static_cast<std::size_t>(place)]; }
  // Where a block keeps its n-th tile.
  std::int32_t place(std::int32_t number, std::int32_t n) const { return number * window_ + n % window_; }
  std::int32_t place_of_step(std::int32_t number) { return place(number, block(number).at); }

  void hold(std::int32_t number, double time) {
    StreamingUnit& u = unit(number);
    if (u.holds++ == 0) u.held_since = time;
    block(next_).unit = number;
    starts_.push_back({time + how_.lead, next_++});
  }
  void leave(std::int32_t number, double time) {
    StreamingUnit& u = unit(number);
    if (--u.holds == 0) u.busy += time - u.held_since;
    out_.seconds = std::max(out_.seconds, time);
    if (next_ < count()) hold(number, time + how_.start);
  }
  void begin(double time) {
    const std::int32_t number = starts_.front().block;
    starts_.pop_front();
    if (block(number).steps == 0) return leave(block(number).unit, time);
    for (std::int64_t i = 0; i < how_.ahead; ++i) ask(number, time);
  }
  void ask(std::int32_t number, double time) {
    Block& b = block(number);
    if (b.asked == b.steps) return;
    const Tile tile{.block = number, .place = place(number, b.asked++)};
    missing(tile.place) = static_cast<std::int32_t>(how_.pieces);
    pool_.insert(pool_.end(), static_cast<std::size_t>(how_.pieces), tile);
    serve(time);
  }
  void serve(double time) {
    if (served_at_ < no_event || pool_.empty()) return;
    Tile& drawn = pool_[static_cast<std::uint32_t>(random_()) % static_cast<std::uint32_t>(pool_.size())];
    served_ = std::exchange(drawn, pool_.back()), pool_.pop_back();
    served_at_ = time + piece_service_;
  }
  void served(double time) {
    const Tile tile = served_;
    served_at_ = no_event;
    if (--missing(tile.place) == 0) arrivals_.push_back({time + how_.latency, tile});
    serve(time);
  }
  void arrived() {
    const auto [time, tile] = arrivals_.front();
    arrivals_.pop_front();
    const Block& b = block(tile.block);
    missing(tile.place) = -1;
    if (b.waits && place_of_step(tile.block) == tile.place) work(tile.block, time), announce(b.unit);
  }
  // The block begins its step. Its unit is not announced yet.
  void work(std::int32_t number, double time) {
    Block& b = block(number);
    b.waits = false, missing(place_of_step(number)) = 0;
    if (!how_.asks_at_end) ask(number, time);
    advance(b.unit, time);
    StreamingUnit& u = unit(b.unit);
    u.works[u.count++] = {number, b.at + 1 == b.steps ? 1 + how_.trail : 1};
  }
  double pace(const StreamingUnit& u) const { return pace_[u.count - 1]; }
  static double least_left(StreamingUnit& u) {
    double least = no_event;
    for (const BlockSteps& each : u.working()) least = std::min(least, each.left);
    return least;
  }
  void advance(std::int32_t number, double time) {
    StreamingUnit& u = unit(number);
    if (u.count > 0 && u.at != time) {
      const double steps = (time - u.at) * pace(u);
      for (BlockSteps& each : u.working()) each.left -= steps;
    }
    u.at = time;
  }
  void announce(std::int32_t number) {
    StreamingUnit& u = unit(number);
    steps_.set(number, u.count == 0 ? no_event : u.at + std::max(0.0, least_left(u)) / pace(u));
  }
  void stepped(double time) {
    const std::int32_t number = steps_.unit();
    StreamingUnit& u = unit(number);
    done_.clear();
    advance(number, time);
    const double most = least_left(u) + nearly_done;
    std::size_t kept = 0;
    for (const BlockSteps& each : u.working())
      if (each.left <= most) done_.push_back(each.block);
      else u.works[kept++] = each;
    u.count = kept;
    for (const std::int32_t each : done_) {
      Block& b = block(each);
      if (++b.at == b.steps) {
        leave(number, time);
        continue;
      }
      b.waits = true;
      if (how_.asks_at_end) ask(each, time);
      if (missing(place_of_step(each)) < 0) work(each, time);
    }
    announce(number);
  }

  const StreamedBlocks& how_;
  const std::int32_t window_;                 // tiles of a block that may be on their way, and the one that it is at
  const double piece_service_;                // s
  std::array<double, most_resident> pace_{};  // steps a second, by blocks at their steps less one
  std::vector<Block> blocks_;
  std::vector<std::int32_t> missing_;  // by block and place in its window
  std::vector<StreamingUnit> units_;
  std::int32_t next_ = 0;         // block that starts next
  std::vector<Tile> pool_;        // pieces asked for and not served
  Tile served_{};                 // of the piece that memory is at
  double served_at_ = no_event;   // when it is done; no_event: none
  std::deque<Arrival> arrivals_;  // tiles served, on their last way
  NextUnit steps_;
  std::deque<BlockStart> starts_;  // in the order of their times, since time goes on from one to the next
  std::vector<std::int32_t> done_;
  std::minstd_rand random_;
  Streamed out_;
};

}  // namespace

Streamed stream_blocks(const StreamedBlocks& blocks) { return StreamSimulation(blocks).run(); }

}  // namespace tilescope
