// The way of all warps of an SM to its shared memory, of which asynchronous products take a part.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

// A clock that goes slower while a product runs, by which accesses are served one behind the other.
class SlowerClock {
 public:
  // A product begins; its end is that of the last call, or later.
  void slow_down(Ticks start, Ticks end, double factor) {
    start = std::max(start, from_);
    clock_ = at(start), from_ = start, until_ = std::max(start, end), factor_ = factor;
  }
  // What it shows then, and when it shows that, as far as known.
  Ticks at(Ticks t) const {
    const Ticks beside = std::clamp(t, from_, until_) - from_;
    return clock_ + static_cast<Ticks>(static_cast<double>(beside) / factor_) + std::max<Ticks>(0, t - until_);
  }
  Ticks time(Ticks shown) const {
    const Ticks end = at(until_);
    if (shown >= end) return until_ + (shown - end);
    return from_ + static_cast<Ticks>(static_cast<double>(std::max<Ticks>(0, shown - clock_)) * factor_);
  }
  Ticks from() const { return from_; }
  Ticks until() const { return until_; }
  Ticks shown_at_start() const { return clock_; }

 private:
  Ticks from_ = 0, until_ = 0;  // of the last product that has started
  Ticks clock_ = 0;             // shown at its start
  double factor_ = 1;
};

// Products leave a part of the bandwidth to all accesses, and less to those that return something to registers (loads,
// shuffles). Which products will run is not known ahead: each one that starts moves the accesses that have not started.
class SharedPath {
 public:
  explicit SharedPath(const SmLimits& limits) : places_(static_cast<std::size_t>(limits.queue)) {}

  // An access in the memory queue of a scheduler starts when those before it have, and the path is free. Returns when,
  // as far as known. `may_move`: there are products. `event`: a kept one, counted from 1.
  template <bool may_move>
  Ticks add(Scheduler& scheduler, Warp& warp, const CodeOperation& op, Ticks now, std::size_t event) {
    Ticks soonest = ways(op) > 1 ? now : std::max(now, scheduler.memory);
    if (op.leaves > 0) soonest = std::max(soonest, leaves_free_ - op.held);
    Access access{&warp, &scheduler, &op, scheduler.queue_at, event, {}, std::max(soonest, scheduler.memory)};
    for (std::size_t i = 0; i < (may_move ? ways(op) : 1); ++i) {
      Way& way = ways_[i];
      const auto shown = [&](Ticks t) { return may_move ? way.clock.at(std::max(t, way.clock.from())) : t; };
      const Ticks turn = std::max(shown(now), way.free);
      way.free = turn + op.shared;
      access.served[i] = std::max(turn, shown(soonest));
      if (i == 0) access.served[i] = std::max(access.served[i], scheduler.quarter);
      access.start = std::max(access.start, may_move ? way.clock.time(access.served[i]) : access.served[i]);
    }
    scheduler.quarter = access.served[0] + op.quarter;
    const Ticks start = access.start;
    if (op.leaves > 0) leaves_free_ = std::max(leaves_free_, start) + op.leaves;
    const bool waits = may_move && start > now;
    if (waits) waiting_.push_back(access);
    put(scheduler, scheduler.queue_at, start, waits);
    scheduler.queue_at = (scheduler.queue_at + 1) % most_queue;
    scheduler.free[index_of(SmPart::memory)] = free_place(scheduler);
    return start;
  }

  // A product that takes the part `share` runs from `start` to `end`. Calls moved(warp, op, event, start) for each
  // access that starts later than it was thought to. Microbenchmarks on an H100 and an H200: accesses of 128 bytes take
  // what products leave; those that return something take no less than four clocks where products take half, and no
  // more than 25 where they take it all (validate/tools/sm_rules/wgmma_ports.cu, matrices_beside.cu).
  template <class Moved>
  void take(Ticks start, Ticks end, double share, const Moved& moved) {
    const double slower = std::min(1 / std::max(1e-9, 1 - share), 25.0);
    share_ = share;
    ways_[0].clock.slow_down(start, end, slower), ways_[1].clock.slow_down(start, end, std::max(slower, 4.0));
    const Ticks from = ways_[0].clock.from();
    std::erase_if(waiting_, [&](const Access& access) { return access.start <= from; });
    for (Access& access : waiting_) {
      Ticks later = 0;
      for (std::size_t i = 0; i < ways(*access.op); ++i) later = std::max(later, ways_[i].clock.time(access.served[i]));
      if (later <= access.start) continue;
      access.start = later, put(*access.scheduler, access.place, later, true);
      access.scheduler->free[index_of(SmPart::memory)] = free_place(*access.scheduler);
      moved(*access.warp, *access.op, access.event, later);
    }
  }

  // How much later the result of an access comes that starts then.
  Ticks later(Ticks start) const {
    constexpr double most = 75, without = 0.5;
    return start < ways_[0].clock.until() ? ticks(most * std::max(0.0, share_ - without)) : 0;
  }

  // All that the future depends on.
  template <class Hash>
  void add_to(Hash& hash, Ticks now) const {
    const SlowerClock& all = ways_[0].clock;
    for (const Way& way : ways_) hash.later(way.clock.time(way.free));
    hash.later(all.until()), hash.later(leaves_free_);
    if (all.until() <= now) return;
    hash.since(all.from()), hash.add(ticks(share_));
    for (const Way& way : ways_) hash.add(way.free - way.clock.shown_at_start());
    for (const Access& access : waiting_)
      if (access.start > now)
        for (std::size_t i = 0; i < ways(*access.op); ++i) hash.add(access.served[i] - ways_[i].clock.shown_at_start());
  }

 private:
  struct Way {
    SlowerClock clock{};
    Ticks free = 0;  // what the clock shows when all accesses are served
  };

  // One that waits.
  struct Access {
    Warp* warp = nullptr;
    Scheduler* scheduler = nullptr;
    const CodeOperation* op = nullptr;
    std::size_t place = 0, event = 0;  // in the scheduler's queue
    std::array<Ticks, 2> served{};     // on the clocks of its ways
    Ticks start = 0;                   // as far as known
  };

  // All accesses go the first way; those that return something to registers also go the second one. So do copies, which
  // no microbenchmark has beside products.
  static std::size_t ways(const CodeOperation& op) {
    return op.result_board < IssueControl::no_scoreboard || op.effect == SmEffect::copy ? 2 : 1;
  }

  static void put(Scheduler& scheduler, std::size_t place, Ticks start, bool waits) {
    scheduler.queue[place] = start, scheduler.memory = std::max(scheduler.memory, start + ticks_a_clock);
    if (waits) scheduler.unserved = std::max(scheduler.unserved, start);
  }
  Ticks free_place(const Scheduler& scheduler) const {
    return scheduler.queue[(scheduler.queue_at + most_queue - places_) % most_queue];
  }

  std::size_t places_;  // of a scheduler's queue
  std::array<Way, 2> ways_{};
  Ticks leaves_free_ = 0;  // when the way out of the SM is free
  double share_ = 0;       // of the last product that has started
  std::vector<Access> waiting_;
};

}  // namespace tilescope::sm_state
