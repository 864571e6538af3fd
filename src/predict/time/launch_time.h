// A launch's time at any clock: what its blocks take on the SMs, but no less than its bytes take at memory and L2.
#pragma once

#include <span>

#include "predict/time/first_tiles.h"
#include "predict/time/memory_wait.h"
#include "predict/time/placed_blocks.h"

namespace tilescope {

struct LaunchTime {
  double clocks = 0;              // from the first block's start to the last one's end
  double busy_clocks = 0;         // that an SM then holds a block, mean over the SMs
  double memory_seconds = 0;      // s of the slower of memory and L2
  double highest_hz = 0;          // the clock falls to this where tensor cores work, whatever the power
  double memory_hz = highest_hz;  // see LaunchAtSm
  FirstTiles start = {};
  double ramp_seconds = 0;  // until memory delivers at its rate; 0: L2 is slower, or the profile does not say
  double held = 0;          // part of the SMs that hold a block while memory brings what it asks for
  double busy_share = 1;    // of a stream's time that an SM has blocks, for memory does not serve all alike
  double warm_saving = 0;   // s that bytes which the L2 holds from run to run take less than those from memory
  double from_memory = 1;   // run after run: part of its bytes at HBM that move again
  double warm_clocks = -1;  // `clocks` where the L2 holds what is loaded, or a part, from run to run; < 0: nothing
  MemoryWait memory_wait = {};

  double streamed() const;               // s of bytes that arrive one after the other, after the first have come
  double seconds(double hz) const;       // run after run
  double cold_seconds(double hz) const;  // with an empty L2
  // Clocks that an SM holds a block in a cold run: a block that waits for memory holds it for longer.
  double cold_busy_clocks() const;
};

// s of launches one after the other, and of the gaps between them.
double total_seconds(std::span<const LaunchTime> launches, double hz, double gaps);

// Of the launch by itself.
LaunchTime launch_time(const LaunchAtSm& launch, const SmStep& step, const Placement& placed);

// The same launch in the sequence of the schedule's launches, which run again and again. `gone`: the part of what all
// of them move that has left the L2 when they run again. It does not wait for memory (memory_wait.h).
LaunchTime time_in_sequence(const LaunchAtSm& launch, const LaunchTime& by_itself, double gone);

}  // namespace tilescope
