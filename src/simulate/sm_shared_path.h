// The way of all warps of an SM to its shared memory, of which asynchronous products take a part.
#pragma once

#include <algorithm>
#include <vector>

#include "simulate/sm_state.h"

namespace tilescope::sm_state {

// Accesses are served one behind the other, on a clock of the path that goes slower while a product runs. Which
// products will run is not known ahead: each one that starts moves the accesses that have not started.
class SharedPath {
 public:
  explicit SharedPath(const SmLimits& limits) : places_(static_cast<std::size_t>(limits.queue)) {}

  // An access in the memory queue of a scheduler starts when those before it have, and the path is free. Returns when,
  // as far as known. `may_move`: there are products. `event`: a kept one, counted from 1.
  Ticks add(Scheduler& scheduler, Warp& warp, const CodeOperation& op, Ticks now, bool may_move, std::size_t event) {
    Ticks soonest = std::max(now, scheduler.memory);
    if (op.leaves > 0) soonest = std::max(soonest, leaves_free_ - op.held);
    const Ticks served = std::max(clock(std::max(soonest, from_)), free_), start = std::max(soonest, time(served));
    free_ = served + op.shared;
    if (op.leaves > 0) leaves_free_ = std::max(leaves_free_, start) + op.leaves;
    const bool waits = may_move && start > now;
    if (waits) waiting_.push_back({&warp, &scheduler, &op, scheduler.queue_at, event, served, start});
    put(scheduler, scheduler.queue_at, start, waits);
    scheduler.queue_at = (scheduler.queue_at + 1) % most_queue;
    scheduler.free[index_of(SmPart::memory)] = free_place(scheduler);
    return start;
  }

  // A product that takes the part `share` runs from `start` to `end`. Calls moved(warp, op, event, start) for each
  // access that starts later than it was thought to. Microbenchmarks on an H100: an access of 128 bytes takes no longer
  // than 25 clocks where products take it all, and no shorter than four clocks where they take half
  // (validate/tools/sm_rules/wgmma_ports.cu).
  template <class Moved>
  void take(Ticks start, Ticks end, double share, const Moved& moved) {
    start = std::max(start, from_);
    clock_ = clock(start), from_ = start, until_ = std::max(start, end), share_ = share;
    slower_ = std::clamp(1 / std::max(1e-9, 1 - share), 4.0, 25.0);
    std::erase_if(waiting_, [&](const Access& access) { return access.start <= from_; });
    for (Access& access : waiting_) {
      const Ticks later = time(access.served);
      if (later <= access.start) continue;
      access.start = later, put(*access.scheduler, access.place, later, true);
      access.scheduler->free[index_of(SmPart::memory)] = free_place(*access.scheduler);
      moved(*access.warp, *access.op, access.event, later);
    }
  }

  // How much later the result of an access comes that starts then.
  Ticks later(Ticks start) const {
    constexpr double most = 75, without = 0.5;
    return start < until_ ? ticks(most * std::max(0.0, share_ - without)) : 0;
  }

  // All that the future depends on.
  template <class Hash>
  void add_to(Hash& hash, Ticks now) const {
    hash.later(time(free_)), hash.later(until_), hash.later(leaves_free_);
    if (until_ <= now) return;
    hash.since(from_), hash.add(free_ - clock_), hash.add(ticks(share_));
    for (const Access& access : waiting_)
      if (access.start > now) hash.add(access.served - clock_);
  }

 private:
  // One that waits.
  struct Access {
    Warp* warp = nullptr;
    Scheduler* scheduler = nullptr;
    const CodeOperation* op = nullptr;
    std::size_t place = 0, event = 0;  // in the scheduler's queue
    Ticks served = 0;                  // on the path's clock
    Ticks start = 0;                   // as far as known
  };

  Ticks clock(Ticks t) const {
    const Ticks beside = std::clamp(t, from_, until_) - from_;
    return clock_ + static_cast<Ticks>(static_cast<double>(beside) / slower_) + std::max<Ticks>(0, t - until_);
  }
  // When the path's clock shows that, as far as known.
  Ticks time(Ticks served) const {
    const Ticks end = clock(until_);
    if (served >= end) return until_ + (served - end);
    return from_ + static_cast<Ticks>(static_cast<double>(std::max<Ticks>(0, served - clock_)) * slower_);
  }

  static void put(Scheduler& scheduler, std::size_t place, Ticks start, bool waits) {
    scheduler.queue[place] = start, scheduler.memory = std::max(scheduler.memory, start + ticks_a_clock);
    if (waits) scheduler.unserved = std::max(scheduler.unserved, start);
  }
  Ticks free_place(const Scheduler& scheduler) const {
    return scheduler.queue[(scheduler.queue_at + most_queue - places_) % most_queue];
  }

  std::size_t places_;          // of a scheduler's queue
  Ticks from_ = 0, until_ = 0;  // of the last product that has started
  Ticks clock_ = 0;             // the path's clock at its start
  Ticks free_ = 0;              // that clock when all accesses are served
  Ticks leaves_free_ = 0;       // when the way out of the SM is free
  double share_ = 0, slower_ = 1;
  std::vector<Access> waiting_;
};

}  // namespace tilescope::sm_state
