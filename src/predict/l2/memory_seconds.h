// Seconds that memory and the L2 take for bytes, at the profile's rates.
#pragma once

#include "predict/l2/launch_counts.h"

namespace tilescope {

inline constexpr double unknown_seconds = -1;  // the profile lacks a rate

// Seconds of an amount at a rate of the whole device; unknown_seconds where the rate is not known and the amount is not
// zero.
double seconds_at(double amount, double rate);

// s for so many bytes from and to memory, at the rates of each; < 0: no rate is known.
double hbm_seconds(const HardwareProfile& hardware, double read, double written);

// s in which the last-level cache serves and takes so many bytes; < 0: no rate is known.
double last_level_seconds(const HardwareProfile& hardware, double bytes);

// s in which the L2 serves what the launch's SMs read and store; < 0: no rate is known.
double l2_seconds(const BoundIsland& bound, const LaunchCounts& counts);

// The most bytes per second that any prediction's time lets a memory level of the whole device move: the mix of reads
// and writes that is fastest; 0: no rate is known.
struct HighestRate {
  double bytes_per_second = 0;
  bool of_measured = false;  // by the profile's block `measured`, which rules fill in too
};
HighestRate highest_rate(const HardwareProfile& hardware, LevelId level);

// How many of `units` that read the same bytes are in one of that many groups with another, on average: units over the
// groups that they fall into, taken at random. 1: each asks for itself.
double asked_together(double units, std::size_t groups);

// Different tiles of an array among the first `blocks` blocks that the device starts.
double tiles_at_work(const BoundIsland& bound, ArrayId id, std::int64_t blocks);

// Whether so many bytes stay in the L2 from one run to the next, as measured with each SM at its own; no where nobody
// measured it.
bool stays_in_l2(const HardwareProfile& hardware, double bytes);

// The part of so many bytes that has left the L2 when the next run uses them, as measured of launches that read them
// again; all or nothing where nobody measured that.
double gone_from_l2(const HardwareProfile& hardware, double bytes);

// Bytes that pass through the L2 between two uses of the same data, as the schedule's launches run again and again.
// What a launch reads of an earlier one's results is there already, in its home's partition and in its writer's; a
// reader on neither side gets a copy (validate/tools/written_lines).
double bytes_between_runs(const HardwareProfile& hardware, Launches launches);

// How likely any line of so many pieces is far, each of which a unit of its own has written: neither its home nor that
// unit is on the reader's side. A run of addresses has one home (validate/tools/written_lines).
double any_far(const HardwareProfile& hardware, double pieces, double piece_bytes);

// Lines in the fullest of `slices` that share `lines` lines by a hash: the mean over hashes, lines taken to fall
// independently of each other.
double lines_of_fullest_slice(double lines, std::int64_t slices);

}  // namespace tilescope
