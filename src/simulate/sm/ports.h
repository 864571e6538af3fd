// Ports of registers beside asynchronous matrix products. Microbenchmarks on an H100: runs of one kind of operation
// whose registers lie in one bank or in both, beside products that were issued before; one kind of operation from one
// or two warpgroups beside products of another (validate/tools/sm_rules/runs_beside.cu, wgmma_ports.cu).
#pragma once

#include <algorithm>

#include "simulate/sm/code.h"

namespace tilescope::sm_state {

inline Ticks whole_clock(Ticks t) { return (t + ticks_a_clock - 1) & -ticks_a_clock; }

// Four clocks of a product are a turn: others have the ports for two of them. The product does not notice.
inline constexpr Ticks port_turn = 4 * ticks_a_clock, port_own = 2 * ticks_a_clock;

// What the product that a scheduler's tensor core works on leaves to other operations. A turn belongs to one warp, but
// for special functions of others; in it each bank of registers gives two reads and takes one fp32 result. Warps whose
// results lie in different banks share turns on a GPU (pairs_beside.cu), which is not simulated:
// docs/read-machine-code.md says why.
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
    return op.part == SmPart::fma || op.part == SmPart::imad || op.part == SmPart::alu || op.part == SmPart::xu;
  }

  // When the operation may have them, from `now` to the product's `end`.
  Ticks free_from(const SmOperation& op, Ticks now, Ticks end, int warp) const {
    Ticks at = std::max(now, first_);
    if (at < turn_ + port_turn && (!fits(op) || (warp != holder_ && op.part != SmPart::xu)))
      at = std::max(first_, turn_ + port_turn);
    if (const Ticks within = (at - first_) % port_turn; within >= port_own) at += port_turn - within;
    return std::min(at, whole_clock(end));
  }

  void take(const SmOperation& op, Ticks now, int warp) {
    if (op.part != SmPart::xu) holder_ = warp;
    const Ticks turn = now - (now - first_) % port_turn;
    if (turn != turn_) turn_ = turn, taken_ = {}, holder_ = warp;
    for (std::size_t bank = 0; bank < register_banks; ++bank) {
      taken_[bank].reads += op.banks[bank].new_reads();
      taken_[bank].results += op.banks[bank].results;
    }
  }

  // Of the state of a simulated SM.
  Ticks start() const { return start_; }
  Ticks turn_ends() const { return turn_ + port_turn; }
  const SmBanks& taken() const { return taken_; }
  int holder() const { return holder_; }

 private:
  // In the turn of the last operation.
  bool fits(const SmOperation& op) const {
    constexpr int most_reads = 2, most_results = 1;
    for (std::size_t bank = 0; bank < register_banks; ++bank)
      if (taken_[bank].reads + std::min<int>(op.banks[bank].new_reads(), most_reads) > most_reads ||
          taken_[bank].results + op.banks[bank].results > most_results)
        return false;
    return true;
  }

  Ticks start_ = 0, first_ = 0;  // of the product; of the first turn that others have
  Ticks turn_ = -port_turn;      // start of the last one in which an operation had them
  SmBanks taken_{};              // in it
  int holder_ = -1;              // the warp whose turn it is
  bool narrow_ = false;          // others delay it
};

}  // namespace tilescope::sm_state
