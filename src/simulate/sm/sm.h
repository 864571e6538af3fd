// One SM, event by event: the warps of resident blocks issue their instructions in order.
#pragma once

#include <array>
#include <vector>

#include "simulate/sm/operation.h"

namespace tilescope {

// What the clocks between two instructions of a warp pass with.
enum class SmWait : std::uint8_t { stall, scoreboard, pipe, barrier, copies, products, issue };
template <>
struct EnumTable<SmWait> {
  static constexpr std::array rows{NamedKind{SmWait::stall, "stall count"}, NamedKind{SmWait::scoreboard, "scoreboard"},
                                   NamedKind{SmWait::pipe, "pipe"},         NamedKind{SmWait::barrier, "barrier"},
                                   NamedKind{SmWait::copies, "copies"},     NamedKind{SmWait::products, "products"},
                                   NamedKind{SmWait::issue, "other warps"}};
};
constexpr std::size_t sm_waits = EnumTable<SmWait>::rows.size();

// A pass of warps of another role, again and again: they fill what the loop's warps use. Both wait for each other at
// mbarriers, at which every warp of one role arrives once a pass.
struct SmBeside {
  std::vector<SmOperation> code;
  int warps = 0;                // of a block
  int stages = 1;               // that they fill before the loop's warps have emptied the first one
  std::vector<int> arrivals{};  // of a phase, by number of the mbarrier
};

// A loop as the warps of a block execute it: a pass, again and again.
struct SmProgram {
  std::vector<SmOperation> code;
  int warps = 0;  // of a block, without those of `beside`
  SmBeside beside{};
};

// What a block executes before its loop and after it.
struct SmEnds {
  std::vector<SmOperation> start, end;
};

// An instruction that was issued.
struct SmEvent {
  int warp = 0;  // of the SM: blocks one behind the other
  std::uint32_t operation = 0;
  SmPart part = SmPart::none;
  SmEffect effect = SmEffect::none;
  Ticks ready = 0, issued = 0;   // the stall count of the one before is over; issue
  Ticks started = 0, until = 0;  // of the work in its part; of a copy, `until` is its arrival
  SmWait cause = SmWait::stall;  // of most of the wait between `ready` and `issued`
};

struct SmSteady {
  double clocks = 0;                                // of a pass of each resident block
  double beside_clocks = 0;                         // of a pass of the warps beside the loop, mean from the start
  bool periodic = false;                            // the state of the SM repeats exactly; else: a mean
  bool as_later = false;                            // no clock differs were each copy later by SmLimits::copies_later
  std::int64_t passes = 0;                          // of blocks, in that period
  double issued = 0;                                // part of the issue slots
  std::array<double, sm_parts> busy{};              // part of the time, mean of the schedulers
  double shared = 0;                                // the same of shared memory
  std::vector<std::array<double, sm_waits>> waits;  // by operation: clocks of a warp in a pass, by cause
  std::vector<SmEvent> events;                      // of some passes, if asked for
};

// Which passes count. settled: those after which the state of the SM repeats. first: the same, but of free warpgroups
// the first ones. mean: the same, in the mean over beginnings 0.8 to 1.2 times as far apart as evenly. few: the first
// ones of any program, which is quick.
enum class SmPasses : std::uint8_t { settled, first, mean, few };

// How warpgroups with asynchronous products begin: held together by a barrier or by an order of their products, as all
// other programs are; apart, with turns at what stands between the products; or apart and free of each other.
enum class Warpgroups : std::uint8_t { together, in_turns, free };
Warpgroups warpgroups_of(const SmProgram& program);

// A pass of a block by itself.
struct SmAlone {
  double clocks = 0;
  bool as_later = false;  // see SmSteady
};

constexpr int clocks_alone = -1;  // instead of passes whose events are kept

// Runs until the state of the SM repeats. Throws InputError when warps wait for ever. `event_passes`: of the
// first warp, whose events are kept; `clocks_alone`, which takes half the time. `alone`: a pass of one
// block, if it is known; of use where they begin together.
SmSteady simulate_steady(const SmProgram& program, const SmLimits& limits, int blocks, int event_passes = 0,
                         SmPasses counted = SmPasses::settled, const SmAlone* alone = nullptr);

// Whose clocks from start to end count: a block that ends does so with its last warp; where it stays for another tile,
// each warp goes on by itself.
enum class SmWhole : std::uint8_t { last_warp, mean_warp };

// Clocks from start to end of `blocks` blocks, which are resident together. Each executes `passes` of the loop; many
// are extrapolated. `as_later`: see SmSteady.
double simulate_blocks(const SmProgram& program, const SmEnds& ends, const SmLimits& limits, int blocks,
                       std::int64_t passes, SmWhole whole = SmWhole::last_warp, bool* as_later = nullptr);

}  // namespace tilescope
