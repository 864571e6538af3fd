#include "predict/grid/streamed_blocks.h"

#include <algorithm>
#include <deque>
#include <queue>
#include <random>
#include <vector>

namespace tilescope {
namespace {

constexpr double never = 1e30, nearly_done = 1e-9;  // of a step

struct Block {
  std::int64_t unit = 0, asked = 0, at = 0;  // tiles asked for; the step that it is at or waits for
  bool waits = true;
  std::vector<std::int64_t> missing;  // pieces of the tiles on their way, by tile modulo its size
};

struct BlockSteps {
  std::int64_t block;
  double left;  // steps
};

struct StreamingUnit {
  std::vector<BlockSteps> works;  // blocks at their steps: they share the unit evenly
  double at = 0, free_at = 0, busy = 0, held_since = 0;
  std::int64_t holds = 0, version = 0;
};

struct StreamingEvent {
  double time;
  std::int64_t index, version;
  bool operator>(const StreamingEvent& other) const {
    return time != other.time ? time > other.time : index > other.index;
  }
};
using Events = std::priority_queue<StreamingEvent, std::vector<StreamingEvent>, std::greater<>>;

struct Arrival {
  double time;
  std::int64_t block, tile;
};

class StreamSimulation {
 public:
  explicit StreamSimulation(const StreamedBlocks& how)
      : how_(how), blocks_(how.steps.size()), units_(static_cast<std::size_t>(how.units)), random_(how.seed) {
    for (std::size_t i = 0; i < pace_.size(); ++i) pace_[i] = 1 / std::max(1e-12, how.step[i]);
  }

  Streamed run() {
    const auto count = static_cast<std::int64_t>(blocks_.size());
    for (std::int64_t round = 0; round < how_.resident && next_ < count; ++round)
      for (std::int64_t unit = 0; unit < how_.units && next_ < count; ++unit) hold(unit, 0);
    for (;;) {
      while (!steps_.empty() && steps_.top().version != unit(steps_.top().index).version) steps_.pop();
      const double step = steps_.empty() ? never : steps_.top().time,
                   start = starts_.empty() ? never : starts_.top().time,
                   arrival = arrivals_.empty() ? never : arrivals_.front().time;
      const double first = std::min({step, start, arrival, served_at_});
      if (first >= never) break;
      if (first == served_at_) served(first);
      else if (first == arrival) arrived();
      else if (first == start) begin(first);
      else stepped(first);
    }
    for (const StreamingUnit& each : units_) out_.busy += each.busy / static_cast<double>(how_.units);
    return out_;
  }

 private:
  StreamingUnit& unit(std::int64_t number) { return units_[static_cast<std::size_t>(number)]; }
  Block& block(std::int64_t number) { return blocks_[static_cast<std::size_t>(number)]; }
  std::int64_t steps_of(std::int64_t number) const { return how_.steps[static_cast<std::size_t>(number)]; }

  void hold(std::int64_t number, double time) {
    StreamingUnit& u = unit(number);
    if (u.holds++ == 0) u.held_since = time;
    Block& b = block(next_);
    b.unit = number, b.missing.assign(static_cast<std::size_t>(how_.ahead) + 1, 0);
    starts_.push({time + how_.lead, next_++, 0});
  }
  void leave(std::int64_t number, double time) {
    StreamingUnit& u = unit(number);
    if (--u.holds == 0) u.busy += time - u.held_since;
    out_.seconds = std::max(out_.seconds, time);
    if (next_ < static_cast<std::int64_t>(blocks_.size())) hold(number, time + how_.start);
  }
  void begin(double time) {
    const std::int64_t number = starts_.top().index;
    starts_.pop();
    if (steps_of(number) == 0) return leave(block(number).unit, time);
    for (std::int64_t i = 0; i < how_.ahead; ++i) ask(number, time);
  }
  void ask(std::int64_t number, double time) {
    Block& b = block(number);
    if (b.asked == steps_of(number)) return;
    missing_of(b, b.asked) = how_.pieces;
    for (std::int64_t i = 0; i < how_.pieces; ++i) pool_.push_back({0, number, b.asked});
    ++b.asked;
    serve(time);
  }
  void serve(double time) {
    if (served_at_ < never || pool_.empty()) return;
    std::swap(pool_[static_cast<std::uint32_t>(random_()) % static_cast<std::uint32_t>(pool_.size())], pool_.back());
    served_ = pool_.back(), pool_.pop_back();
    served_at_ = time + how_.service / static_cast<double>(how_.pieces);
  }
  void served(double time) {
    const Arrival piece = served_;
    served_at_ = never;
    if (--missing_of(block(piece.block), piece.tile) == 0)
      arrivals_.push_back({time + how_.latency, piece.block, piece.tile});
    serve(time);
  }
  void arrived() {
    const Arrival tile = arrivals_.front();
    arrivals_.pop_front();
    Block& b = block(tile.block);
    missing_of(b, tile.tile) = -1;
    if (b.waits && b.at == tile.tile) work(tile.block, tile.time);
  }
  void work(std::int64_t number, double time) {
    Block& b = block(number);
    b.waits = false, missing_of(b, b.at) = 0;
    if (!how_.asks_at_end) ask(number, time);
    advance(b.unit, time);
    unit(b.unit).works.push_back({number, b.at + 1 == steps_of(number) ? 1 + how_.trail : 1});
    announce(b.unit);
  }
  double pace(const StreamingUnit& u) const { return pace_[u.works.size() - 1]; }
  // A tile's place in `missing`.
  static std::int64_t& missing_of(Block& b, std::int64_t tile) {
    return b.missing[static_cast<std::uint32_t>(tile) % static_cast<std::uint32_t>(b.missing.size())];
  }
  static double least_left(const StreamingUnit& u) {
    double least = never;
    for (const BlockSteps& each : u.works) least = std::min(least, each.left);
    return least;
  }
  void advance(std::int64_t number, double time) {
    StreamingUnit& u = unit(number);
    if (!u.works.empty()) {
      const double steps = (time - u.at) * pace(u);
      for (BlockSteps& each : u.works) each.left -= steps;
    }
    u.at = time;
  }
  void announce(std::int64_t number) {
    StreamingUnit& u = unit(number);
    ++u.version;
    if (u.works.empty()) return;
    steps_.push({u.at + std::max(0.0, least_left(u)) / pace(u), number, u.version});
  }
  void stepped(double time) {
    const std::int64_t number = steps_.top().index;
    steps_.pop();
    advance(number, time);
    StreamingUnit& u = unit(number);
    done_.clear();
    const double least = least_left(u);
    for (const BlockSteps& each : u.works)
      if (each.left <= least + nearly_done) done_.push_back(each.block);
    std::erase_if(u.works, [&](const BlockSteps& each) { return each.left <= least + nearly_done; });
    announce(number);
    for (const std::int64_t each : done_) {
      Block& b = block(each);
      if (++b.at == steps_of(each)) {
        leave(number, time);
        continue;
      }
      b.waits = true;
      if (how_.asks_at_end) ask(each, time);
      if (missing_of(b, b.at) < 0) work(each, time);
    }
  }

  const StreamedBlocks& how_;
  std::array<double, most_resident> pace_{};  // steps a second, by blocks at their steps less one
  std::vector<Block> blocks_;
  std::vector<StreamingUnit> units_;
  std::int64_t next_ = 0;         // block that starts next
  std::vector<Arrival> pool_;     // pieces asked for and not served
  Arrival served_ = {};           // the piece that memory is at
  double served_at_ = never;      // when it is done; never: none
  std::deque<Arrival> arrivals_;  // tiles served, on their last way
  Events steps_, starts_;
  std::vector<std::int64_t> done_;
  std::minstd_rand random_;
  Streamed out_;
};

}  // namespace

Streamed stream_blocks(const StreamedBlocks& blocks) { return StreamSimulation(blocks).run(); }

}  // namespace tilescope
