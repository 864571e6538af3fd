// A hash of all that the future of a simulated SM depends on, with times relative to now.
#pragma once

#include "simulate/sm/state.h"

namespace tilescope::sm_state {

class StateHash {
 public:
  StateHash(Ticks now, const SmLimits& limits) : now_(now), limits_(limits) {}

  std::uint64_t value() const { return hash_; }
  void add(Ticks value) { hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 1099511628211ULL; }
  void since(Ticks clock) { add(clock >= never ? never : clock - now_); }
  void later(Ticks clock) { add(clock >= never ? -1 : std::max<Ticks>(0, clock - now_)); }

  // `copies`, `copied`: the end of the warp's copies and of their groups.
  void add(const Warp& warp, Ticks copies, const Groups& copied) {
    add(warp.next), later(copies);
    since(warp.at), add(warp.causes[index_of(SmWait::pipe)]);  // who goes first
    for (std::size_t board = 0; board < IssueControl::no_scoreboard; ++board) later(warp.boards[board]);
    for (const Ticks end : copied.ends) later(end);
    const Products& products = warp.products;
    for (const Ticks last : warp.groups.ends) add(std::min<Ticks>(products.issued - last, most_products));
    for (std::int64_t before = 1; before <= std::min<std::int64_t>(products.issued, limits_.products); ++before) {
      const std::size_t place = Products::place(products.issued - before);
      add(products.operations[place]);
      if (products.issued - before < products.started) later(products.results[place]);
      else since(products.complete[place]), later(products.asked[place]);  // served in this order
    }
    add(products.issued - products.started);
  }

  void add(const Scheduler& scheduler) {
    later(scheduler.products), later(scheduler.ports.turn_ends());
    for (const Ticks bank : scheduler.banks) later(bank);
    add(scheduler.ports.turn_ends() > now_ ? scheduler.ports.holder() : -1);
    for (const SmBank& bank : scheduler.ports.taken())
      add(scheduler.ports.turn_ends() > now_ ? 4 * bank.reads + bank.results : -1);
    add(scheduler.last ? 2 * scheduler.last->index + scheduler.yielded : -1);
    add(scheduler.beside_product(now_) ? now_ - scheduler.ports.start() : 0);
    for (std::size_t part = 0; part < sm_parts; ++part)
      add(std::max((part == index_of(SmPart::memory) ? scheduler.memory : scheduler.free[part]) - now_,
                   -ticks_a_clock));
    for (std::int64_t before = 1; before <= std::min<std::int64_t>(scheduler.asks, limits_.products); ++before) {
      const auto& [warp, number] = scheduler.asked[Products::place(scheduler.asks - before)];
      add(warp->index), add(warp->products.issued - number);
    }
    for (int i = 1; i <= limits_.queue; ++i)
      later(scheduler.queue[(scheduler.queue_at + most_queue - static_cast<std::size_t>(i)) % most_queue]);
  }

 private:
  Ticks now_;
  const SmLimits& limits_;
  std::uint64_t hash_ = 1469598103934665603ULL;
};

}  // namespace tilescope::sm_state
