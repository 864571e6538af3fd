// What is counted of a simulated SM beside its clocks: what is busy, and what warps wait for.
#pragma once

#include <algorithm>
#include <vector>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

struct SmCounts {
  std::vector<Waits> waited;  // by operation of the loop
  std::array<Ticks, sm_parts> busy{};
  Ticks shared = 0;
  std::int64_t issued = 0;

  void clear() {
    busy = {}, shared = 0, issued = 0;
    std::fill(waited.begin(), waited.end(), Waits{});
  }

  // Of a warp that issues operation `place` of the loop `now`.
  void add_waits(const Warp& warp, std::size_t place, Ticks now) {
    Waits& own = waited[place];
    Ticks known = 0;
    for (std::size_t i = 0; i < sm_waits; ++i) own[i] += warp.causes[i], known += warp.causes[i];
    own[index_of(SmWait::issue)] += std::max<Ticks>(0, now - warp.issued - known);
  }

  // Of `passes` of a warp, in so many clocks.
  void put(double counted, double passes, int schedulers, SmSteady& steady) const {
    const auto clocks = [](Ticks t) { return static_cast<double>(t) / static_cast<double>(ticks_a_clock); };
    for (std::size_t part = 0; part < sm_parts; ++part) steady.busy[part] = clocks(busy[part]) / counted / schedulers;
    steady.shared = clocks(shared) / counted;
    steady.issued = static_cast<double>(issued) / counted / schedulers;
    for (const Waits& each : waited) {
      auto& row = steady.waits.emplace_back();
      for (std::size_t wait = 0; wait < sm_waits; ++wait) row[wait] = clocks(each[wait]) / passes;
    }
  }
};

// Of a warp whose operation is issued now.
inline SmEvent event_of(const Warp& warp, Ticks now, Ticks until) {
  const auto longest = std::max_element(warp.causes.begin() + 1, warp.causes.end());
  const Ticks ready = warp.issued + warp.causes[index_of(SmWait::stall)];
  const SmWait cause = *longest > 0 ? static_cast<SmWait>(longest - warp.causes.begin()) : SmWait::issue;
  const SmOperation& op = *warp.op;
  const bool queued = op.effect == SmEffect::copy || op.effect == SmEffect::product || op.part == SmPart::none;
  return {.warp = warp.index,
          .operation = warp.next,
          .part = op.part,
          .effect = op.effect,
          .ready = std::min(ready, now),
          .issued = now,
          .started = queued ? now : std::max(now, until - op.busy),
          .until = until,
          .cause = cause};
}

// Its work starts later than it was thought to.
inline void move_event(SmEvent& event, Ticks start) { event.until += start - event.started, event.started = start; }

}  // namespace tilescope::sm_state
