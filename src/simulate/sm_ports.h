// Ports of registers and shared memory beside asynchronous matrix products. Microbenchmarks on an H100: one kind of
// operation, and whole softmax steps, from one or two warpgroups beside products of another
// (validate/tools/sm_rules/wgmma_ports.cu, softmax_beside.cu).
#pragma once

#include <algorithm>

#include "simulate/sm_code.h"

namespace tilescope::sm_state {

inline Ticks whole_clock(Ticks t) { return (t + ticks_a_clock - 1) & -ticks_a_clock; }

// Of four clocks of a product others have the ports for two: two operations of full rate, or one of less. It does not
// notice them.
inline constexpr Ticks port_turn = 4 * ticks_a_clock, port_own = 2 * ticks_a_clock;

// What the product that a scheduler's tensor core works on leaves to other operations.
class Ports {
 public:
  void begin(const SmOperation& product, Ticks start) {
    start_ = start, first_ = whole_clock(start) + product.ports_lost, share_ = product.shared_part;
    narrow_ = product.delayed;
  }

  // How much later the next product starts for an operation beside this one: a narrow one with A in registers takes 40
  // clocks beside integer operations and 36 beside additions instead of 32, half a clock for a clock of their pipe.
  Ticks delay(const SmOperation& op) const { return narrow_ && op.part != SmPart::xu ? op.busy / 2 : 0; }

  // Whether the operation needs the ports.
  static bool needed(const SmOperation& op) {
    return op.part == SmPart::fma || op.part == SmPart::alu || op.part == SmPart::xu;
  }

  // When they are free for one, from `now` to the product's `end`.
  Ticks free_from(Ticks now, Ticks end) const {
    Ticks at = std::max({now, free_, first_});
    if (const Ticks within = (at - first_) % port_turn; within >= port_own) at += port_turn - within;
    return std::min(at, whole_clock(end));
  }

  void take(const SmOperation& op, Ticks now) {
    const bool halves = 2 * op.busy < 3 * ticks_a_clock, second = (now - first_) % port_turn >= ticks_a_clock;
    free_ = now + (!halves ? port_turn : second ? port_turn - ticks_a_clock : ticks_a_clock);
  }

  // Shared memory is busy longer by this factor: with what products leave of it, but no longer than 25 clocks an access
  // of a warp where they take it all, and no shorter than four clocks where they take half.
  double slower() const { return std::clamp(1 / std::max(1e-9, 1 - share_), 4.0, 25.0); }

  // And the result of an access comes later.
  Ticks later() const {
    constexpr double most = 75, without = 0.5;
    return ticks(most * std::max(0.0, share_ - without));
  }

  // Of the state of a simulated SM.
  Ticks start() const { return start_; }
  Ticks free() const { return free_; }

 private:
  Ticks start_ = 0, first_ = 0, free_ = 0;  // of the product; of the first turn that others have; of the next operation
  double share_ = 0;                        // of shared memory, that the product takes
  bool narrow_ = false;                     // others delay it
};

}  // namespace tilescope::sm_state
