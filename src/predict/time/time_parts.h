// Internal to the time model: what an island takes at each resource, and the clock that the power limit leaves.
#pragma once

#include <algorithm>
#include <span>

#include "predict/sm/step_time.h"

namespace tilescope {

// By Resource, at the datasheet's clocks; < 0: the profile lacks the rate.
std::array<double, resource_count> resource_seconds(const BoundIsland& bound, const IslandPrediction& island,
                                                    const Prediction& out);

// How many of `units` that read the same bytes are in one of that many groups with another, on average: units over the
// groups that they fall into, taken at random. 1: each asks for itself.
double asked_together(double units, std::size_t groups);

// Different tiles of an array among the first `blocks` blocks that the device starts.
double tiles_at_work(const BoundIsland& bound, ArrayId id, std::int64_t blocks);

// s for so many bytes from and to memory, at the rates of each; < 0: no rate is known.
double hbm_seconds(const HardwareProfile& hardware, double read, double written);

// Of the time that memory and L2 take for an island alone, what they take when islands run in sequence.
inline double part_in_sequence(const IslandPrediction& island) {
  const double whole = std::max(island.resource_seconds[static_cast<std::size_t>(Resource::hbm)],
                                island.resource_seconds[static_cast<std::size_t>(Resource::l2)]);
  return whole > 0 ? island.floor / whole : 1;
}

// FLOP a clock of one unit on the island's instruction path; < 0: the profile does not say.
double tensor_flop_per_clock(const BoundIsland& bound, Format format);

// Blocks that all units have room for at once.
inline std::int64_t places(const BoundIsland& bound, const IslandPrediction& island) {
  return bound.hardware.units.value * std::max<std::int64_t>(1, island.blocks_per_unit);
}

// Until the first blocks have the tiles that they begin with, which all of them ask for at the same moment: s beyond a
// copy's own latency, with an empty L2 and run after run.
struct LaunchStart {
  double cold = 0, again = 0;
};
LaunchStart launch_start(const BoundIsland& bound, const IslandPrediction& island);

// s in which a block moves tiles that no stream moves, before its first product and after its last one, while all units
// do the same: blocks of one length stay in phase, so products of others hide little of it.
struct AroundProducts {
  double load = 0, store = 0;
};
AroundProducts around_products(const BoundIsland& bound);

// Where blocks stream tiles, they and memory wait for each other (stream_blocks.h): no less than `cold` s with an empty
// L2, than `again` s and `clocks` run after run. `busy`: s that a unit then holds a block, mean, empty L2.
struct Uneven {
  double cold = 0, again = 0, clocks = 0, busy = 0;
};

// An island's time at any clock: what its blocks take on the units, but no less than its bytes at memory and L2.
struct IslandTime {
  double clocks = 0;           // from the first block's start to the last one's end
  double alone = 0, busy = 0;  // the same of the island by itself, its inputs in memory (0: the same); that a unit then
                               // holds a block, mean
  double floor = 0;            // s
  double most_hz = 0;          // the clock falls to this where tensor cores work, whatever the power
  LaunchStart start = {};
  double ramp = 0, last = 0;  // s until memory delivers at its rate; clocks from the last tile's arrival to the end
  double share = 1;           // of a stream's time that a unit has blocks, for memory does not serve all alike
  double sooner = 0;          // s that bytes which are in the L2 from run to run take less than those from memory
  double again = -1;          // `clocks` where all that is loaded is there from run to run; < 0: it is not
  Uneven uneven = {};
  // Bytes that arrive one after the other: after the first have come, and before the last are worked on.
  double streamed(double hz) const { return floor > 0 ? floor + ramp + last / hz : 0; }
  double seconds(double hz) const {
    const double bytes = std::max(0.0, streamed(std::min(hz, most_hz)) - sooner);
    const double own = (again >= 0 ? again : clocks) / std::min(hz, most_hz) + start.again;
    return std::max({bytes, own, uneven.again + uneven.clocks / std::min(hz, most_hz)});
  }
  double cold_seconds(double hz) const {
    return std::max({streamed(std::min(hz, most_hz)), clocks / std::min(hz, most_hz) + start.cold, uneven.cold});
  }
  // That a unit holds a block in a cold run: who waits for memory holds it for longer.
  double busy_cycles() const {
    const double own = alone > 0 ? alone : clocks;
    return own <= 0 ? 0 : busy / own * std::max(own + start.cold * most_hz, streamed(most_hz) * most_hz * share);
  }
};

// `in_l2`: run after run all that is loaded is there. All 0 where memory is not what blocks wait for most, or the
// profile lacks the ramp.
Uneven uneven_time(const BoundIsland& bound, const IslandPrediction& island, double most_hz, bool in_l2);

// Bytes over a boundary, both ways.
double moved(const IslandPrediction& island, Boundary boundary);

// Whether so many bytes stay in the L2 from one run to the next, as measured with each unit at its own; no where nobody
// did.
bool stays_in_l2(const HardwareProfile& hardware, double bytes);

// The clock that tensor cores reach: measured, else of the datasheet.
std::optional<Sourced<double>> tensor_clock(const HardwareProfile& hardware);

// The highest clock of an island: that of tensor cores where it uses them. 0: not known.
double highest_clock(const HardwareProfile& hardware, const IslandImplementation& how);

// J of an island beyond what the board takes while it is merely busy, as measured: of memory, which has a clock of its
// own; of tensor cores and of everything else on the chip, at their highest clocks. All 0: the profile lacks energies.
struct Energy {
  double memory = 0, tensor = 0, others = 0;
  double joules() const { return memory + tensor + others; }
};
Energy island_energy(const HardwareProfile& hardware, const IslandImplementation& how, const IslandPrediction& island);

// The highest clock at which islands that run one after the other, again and again, stay within the board's power, and
// the power there. What an operation takes falls with the clock, for the voltage does (power.clock_exponent). `launch`:
// s without work in each round. `more_power` scales the limit.
struct ClockAndPower {
  double hz = 0, watts = 0;  // watts 0: not known
};
ClockAndPower sustained_clock(const HardwareProfile& hardware, std::span<const IslandTime> islands,
                              const Energy& energy, double launch, double more_power = 1);

// s more that memory takes for streamed tiles that begin in the middle of a line; threads copy them.
double off_line_seconds(const BoundIsland& bound, const Prediction& out);

}  // namespace tilescope
