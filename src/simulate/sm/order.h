// Which scheduler of a simulated SM goes first, and how far it goes by itself. The order of time matters for what
// several see: shared memory, copies, barriers, products of a warpgroup, ends of passes. All else is a scheduler's own.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

struct Turn {
  std::size_t scheduler = 0;
  Ticks in_order = never;  // until here no other scheduler comes before it
  Ticks alone = never;     // until here nobody else changes what it has, and the first warp ends no pass
};

// The earliest clock at which a warp issues the last operation of its pass. `next`: of the warp's scheduler; `now`: of
// whoever may release it.
inline Ticks pass_ends(const Warp& warp, Ticks next, Ticks now, std::uint32_t loop_end) {
  const Ticks at = warp.at < never ? std::max(warp.at, next) : now;
  return warp.next < loop_end ? at + (loop_end - 1 - warp.next) * ticks_a_clock : never;
}

// `release`: from an arrival at a barrier to the next operation of a warp that waits there, at least.
inline Turn next_turn(std::span<const Scheduler> schedulers, Ticks release, const Warp& first, std::uint32_t loop_end) {
  Turn turn;
  std::array<Ticks, most_schedulers> at;  // all four: loops of a fixed length are quicker
  at.fill(never);
  for (std::size_t i = 0; i < schedulers.size(); ++i) at[i] = schedulers[i].next;
  for (std::size_t i = 1; i < at.size(); ++i)
    if (at[i] < at[turn.scheduler]) turn.scheduler = i;
  const Scheduler& own = schedulers[turn.scheduler];
  Ticks others = never;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (i == turn.scheduler) continue;
    others = std::min(others, at[i]);
    turn.in_order = std::min(turn.in_order, at[i] + (i > turn.scheduler));  // at one clock by number
  }
  if (own.waiting > 0) turn.alone = others + release;
  // Others may complete a product at any clock, and hold up an access.
  if (own.incomplete > 0 || own.unserved > own.next) turn.alone = turn.in_order;
  if (turn.scheduler != 0)
    turn.alone = std::min(turn.alone, pass_ends(first, schedulers[0].next, own.next, loop_end) + 1);
  turn.alone = std::min(std::max(turn.alone, turn.in_order), never);
  return turn;
}

inline Ticks asked(const Warp& warp) { return warp.at - warp.causes[index_of(SmWait::pipe)]; }

// Of the warps that can issue, the one that goes before the others; the oldest of equal ones. `oldest`: the first that
// can.
template <class Can, class Before>
Warp& first_of(Warp* const* oldest, Warp* const* end, Ticks now, const Can& can, const Before& before) {
  Warp* chosen = *oldest;
  for (Warp* const* i = oldest + 1; i < end; ++i)
    if (Warp& other = **i; other.at <= now && can(other) && before(other, *chosen)) chosen = &other;
  return *chosen;
}

// The warp that issued last goes on while nothing holds it up, unless its code says that it yields; else the warp that
// has waited longest goes first. Microbenchmarks on an H100 and an H200: time stamps in the code of one to three warps
// of a scheduler, steps of warpgroups (validate/tools/sm_rules/issue_order.cu, warpgroups).
template <class Can>
[[gnu::always_inline]] inline Warp& next_warp(const Scheduler& scheduler, Warp* const* oldest, Warp* const* end,
                                              Ticks now, const Can& can) {
  Warp* const last = scheduler.last;
  const bool goes_on =
      last && !scheduler.yielded && last->op->part != SmPart::xu && last->causes[index_of(SmWait::pipe)] == 0;
  if (goes_on && last->at <= now && can(*last)) return *last;
  return first_of(oldest, end, now, can, [&](const Warp& a, const Warp& b) {
    return scheduler.yielded && (&a == last || &b == last) ? &b == last : asked(a) < asked(b);
  });
}

}  // namespace tilescope::sm_state
