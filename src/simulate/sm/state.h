// What a simulated SM remembers of its warps and schedulers.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "simulate/sm/code.h"
#include "simulate/sm/ports.h"

namespace tilescope::sm_state {

inline constexpr int most_groups = 8, most_products = 8, block_barriers = 32, first_turn = 16, group_warps = 4,
                     most_queue = 32, most_schedulers = 4;
inline constexpr std::int64_t beginning_passes = 2, settling_passes = 8, few_passes = 4, most_passes = 24;

constexpr std::size_t index_of(SmWait wait) { return static_cast<std::size_t>(wait); }
constexpr std::size_t index_of(SmPart part) { return static_cast<std::size_t>(part); }
static_assert((ticks_a_clock & (ticks_a_clock - 1)) == 0);

using Waits = std::array<Ticks, sm_waits>;

// How groups of warps that nothing holds together begin: a group, clocks from one to the next.
struct Apart {
  int warps = 1;
  Ticks clocks = 0;
  bool as_later = true;    // see SmSteady
  std::int64_t first = 0;  // so many first passes count, see SmPasses; 0: all that repeat
};

// Ends of the last groups, oldest first.
struct Groups {
  std::array<Ticks, most_groups> ends{};
  int count = 0;

  void add(Ticks end) {
    if (count == most_groups) std::copy(ends.begin() + 1, ends.end(), ends.begin()), --count;
    ends[static_cast<std::size_t>(count++)] = end;
  }
  Ticks until_left(int left) const { return count > left ? ends[static_cast<std::size_t>(count - left - 1)] : 0; }
};

// Asynchronous products of a warp, by number; of the last ones, when it issued them, since when all warps of the
// warpgroup have, and when those that have started have their results.
struct Products {
  std::int64_t issued = 0, started = 0;
  std::array<Ticks, most_products> asked{}, complete{}, results{};
  std::array<std::uint32_t, most_products> operations{};
  std::array<std::size_t, most_products> events{};  // kept ones, counted from 1

  static constexpr std::size_t place(std::int64_t number) { return static_cast<std::size_t>(number % most_products); }
  Ticks next() const { return started < issued ? complete[place(started)] : never; }
  // Of the product that was issued `before` the next one will be; `unknown`: it has not started.
  Ticks result(std::int64_t before, Ticks unknown) const {
    if (before > std::min<std::int64_t>(issued, most_products)) return 0;
    return issued - before < started ? results[place(issued - before)] : unknown;
  }
};

struct Warp {
  Ticks at = 0;       // earliest issue of the next operation, as far as known
  Ticks issued = 0;   // the operation before
  Ticks then = 0;     // while it waits for a phase: `at`, but for that
  Ticks started = 0;  // when its block or warpgroup begins
  const CodeOperation* op = nullptr;
  std::uint32_t next = 0;  // number of `op`
  int index = 0, block = 0;
  bool beside = false;  // of another role than the loop's warps
  Waits causes{};       // of the wait for it, so far; where waits are not counted: that for its part alone
  std::array<Ticks, IssueControl::no_scoreboard + 1> boards{};
  Ticks copies = 0;           // end of its copies
  Groups copied{}, groups{};  // of copies; of products: how many were issued until the last one
  Groups copied_later{};      // were its copies later
  Products products{};
  std::int64_t passes = 0, marked = 0;  // `marked`: at the last mark
};

struct Scheduler {
  std::vector<Warp*> warps{};             // oldest first
  std::array<Ticks, sm_parts> free{};     // when a part takes another operation
  Ticks memory = 0;                       // when the memory queue starts another operation
  std::array<Ticks, most_queue> queue{};  // starts of the last operations in the memory queue
  std::size_t queue_at = 0;
  Ticks quarter = 0;   // when its way to shared memory is free, on the clock that products slow down
  Ticks unserved = 0;  // when the last of them starts that products may hold up
  Ticks products = 0;  // end of asynchronous matrix products that have started
  int queued = 0;      // those that have not
  std::array<std::pair<const Warp*, std::int64_t>, most_products> asked{};  // the last ones, by number of the warp
  std::int64_t asks = 0;                                                    // all that were issued
  int incomplete = 0;  // of these, those that other warps of the warpgroup have not issued
  Ports ports{};
  std::array<Ticks, register_banks> banks{};  // when they have given what was asked of them
  int waiting = 0;                            // warps at barriers
  Warp* last = nullptr;                       // that issued
  bool yielded = false;                       // by that operation
  Ticks next = 0;                             // when something may issue

  bool beside_product(Ticks now) const { return products > now; }
  void ask(const Warp& warp, std::int64_t number) { asked[Products::place(asks++)] = {&warp, number}; }
  // When the product has its result that was issued `before` the next one will be, if all of its warpgroup have issued
  // it by `now`; `unknown`: it has not started.
  Ticks result(std::int64_t before, Ticks now, Ticks unknown) const {
    if (before > asks) return 0;
    const auto& [warp, number] = asked[Products::place(asks - before)];
    const Products& of = warp->products;
    return of.complete[Products::place(number)] <= now ? of.result(of.issued - number, unknown) : 0;
  }
  // Returns how much later the next product starts.
  Ticks take_ports(const SmOperation& op, Ticks now, int warp) {
    const Ticks delay = ports.delay(op);
    ports.take(op, now, warp), products += delay;
    return delay;
  }
  // Each bank of registers gives one a clock to the operations of pipes; two more may be under way when the next
  // instruction is issued. Microbenchmarks on an H200: loops of FFMA (loopbounds/register_banks.h), random loops
  // (validate/tools/random_loops.py).
  void read_registers(const SmOperation& op, const Warp& warp, Ticks now) {
    for (std::size_t bank = 0; bank < register_banks; ++bank) {
      const int reads = last == &warp ? op.banks[bank].new_reads() : op.banks[bank].reads;
      banks[bank] = std::max(banks[bank], now) + reads * ticks_a_clock;
    }
  }
  Ticks banks_free() const { return *std::max_element(banks.begin(), banks.end()) - reads_ahead * ticks_a_clock; }
  bool needs_ports(const SmOperation& op, Ticks now) const { return beside_product(now) && Ports::needed(op); }
};

}  // namespace tilescope::sm_state
