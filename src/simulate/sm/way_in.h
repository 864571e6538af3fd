// The way of copies and loads into a simulated SM, and how much later they come than from the L2.
#pragma once

#include <algorithm>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

class WayIn {
 public:
  explicit WayIn(const SmLimits& limits) : limits_(limits) {}

  // One behind the other. Returns when this one has come, were it there at once.
  Ticks take(const SmOperation& op, Ticks start) { return free_ = std::max(free_, start) + op.copy; }
  Ticks copy(const SmOperation& op, Warp& warp, Ticks start) {
    return warp.copies = std::max(warp.copies, take(op, start) + limits_.copy_latency);
  }

  Ticks loads_later(const SmOperation& op) const { return op.effect == SmEffect::load ? limits_.loads_later : 0; }
  // What the L1 lacks comes later: each load by as much of that as the part of the loads that it lacks.
  Ticks local_later(const SmOperation& op) const {
    return op.missed > 0 ? static_cast<Ticks>(limits_.local_missed * static_cast<double>(op.missed)) : 0;
  }
  bool asks_later() const { return limits_.copies_later > 0; }
  Ticks later(const Warp& warp) const { return warp.copies > 0 ? warp.copies + limits_.copies_later : 0; }

  Ticks free() const { return free_; }

 private:
  const SmLimits& limits_;
  Ticks free_ = 0;
};

}  // namespace tilescope::sm_state
