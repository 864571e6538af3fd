// Ports of registers beside asynchronous matrix products. Microbenchmarks on an H100: one kind of
// operation, and whole softmax steps, from one or two warpgroups beside products of another; steps of warpgroups with
// products of their own (validate/tools/sm_rules/wgmma_ports.cu, softmax_beside.cu, warpgroups).
#pragma once

#include <algorithm>

#include "simulate/sm_code.h"

namespace tilescope::sm_state {

inline Ticks whole_clock(Ticks t) { return (t + ticks_a_clock - 1) & -ticks_a_clock; }

// Four clocks of a product are a turn: others have the ports for two of them. A turn belongs to one warp, which issues
// one operation, or two in consecutive clocks. The product does not notice.
inline constexpr Ticks port_turn = 4 * ticks_a_clock, port_own = 2 * ticks_a_clock;

// What the product that a scheduler's tensor core works on leaves to other operations.
class Ports {
 public:
  void begin(const SmOperation& product, Ticks start) {
    start_ = start, first_ = whole_clock(start) + product.ports_lost;
    narrow_ = product.delayed;
  }

  // How much later the next product starts for an operation beside this one: a narrow one with A in registers takes 40
  // clocks beside integer operations and 36 beside additions instead of 32, half a clock for a clock of their pipe.
  Ticks delay(const SmOperation& op) const { return narrow_ && op.part != SmPart::xu ? op.busy / 2 : 0; }

  // Whether the operation needs the ports.
  static bool needed(const SmOperation& op) {
    return op.part == SmPart::fma || op.part == SmPart::alu || op.part == SmPart::xu;
  }

  // When a warp has them for one, from `now` to the product's `end`.
  Ticks free_from(Ticks now, Ticks end, const int warp) const {
    Ticks at = std::max({now, warp == holder_ ? own_ : others_, first_});
    if (const Ticks within = (at - first_) % port_turn; within >= port_own) at += port_turn - within;
    return std::min(at, whole_clock(end));
  }

  // Special functions, and operations on three registers, take a whole turn.
  void take(const SmOperation& op, Ticks now, const int warp) {
    const Ticks within = (now - first_) % port_turn;
    const bool leaves_room = within < ticks_a_clock && op.part != SmPart::xu && op.registers <= 2;
    holder_ = warp, others_ = now - within + port_turn;
    own_ = leaves_room ? now + ticks_a_clock : others_;
  }

  // Of the state of a simulated SM.
  Ticks start() const { return start_; }
  Ticks own() const { return own_; }
  Ticks others() const { return others_; }
  int holder() const { return holder_; }

 private:
  Ticks start_ = 0, first_ = 0;  // of the product; of the first turn that others have
  Ticks own_ = 0, others_ = 0;   // when the warp that has the turn may issue again, and when others may
  int holder_ = -1;              // that warp
  bool narrow_ = false;          // others delay it
};

}  // namespace tilescope::sm_state
