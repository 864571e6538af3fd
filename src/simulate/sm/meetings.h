// Where warps of a simulated SM wait for each other: barriers and mbarriers.
#pragma once

#include "simulate/sm/simulated_sm.h"

namespace tilescope::sm_state {

template <bool detailed, bool asynchronous>
void Sm<detailed, asynchronous>::arrive(const SmOperation& op, Warp& warp) {
  barrier_free_ = std::max(barrier_free_, now_) + limits_.barrier_slot, stops_ = true;
  if (op.effect == SmEffect::barrier_sync) warp.at = never, ++scheduler_of(warp).waiting;
  barriers_.arrive(op, warp, [&](int index) {
    Warp& waiting = warps_[static_cast<std::size_t>(index)];
    --scheduler_of(waiting).waiting, prepare(waiting, op.stall);
    release(waiting, barrier_free_ + limits_.barrier_latency);
  });
}

template <bool detailed, bool asynchronous>
void Sm<detailed, asynchronous>::end_phase(const SmOperation& op, const Warp& warp) {
  stops_ = true;
  phases_.arrive(op, warp, [&](int index) {
    Warp& waiting = warps_[static_cast<std::size_t>(index)];
    --scheduler_of(waiting).waiting, waiting.at = waiting.then;
    wait_for_boards<detailed>(waiting);
    release(waiting, now_ + limits_.phase_release);
  });
}

// The warp issues nothing before `until`; it may wait for more.
template <bool detailed, bool asynchronous>
void Sm<detailed, asynchronous>::release(Warp& warp, Ticks until) {
  if (warp.at >= never) return;
  delay<detailed>(warp, until, SmWait::barrier);
  Scheduler& scheduler = scheduler_of(warp);
  scheduler.next = std::min(scheduler.next, std::max(warp.at, now_ + ticks_a_clock));
}

}  // namespace tilescope::sm_state
