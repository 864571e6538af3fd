// Collects the counters of a record, by launch and summed: traffic several times, the others once.
#pragma once

#include <functional>
#include <string>

#include "validate/measure/point_run.h"

namespace tilescope::validate {

// Runs the launches behind a record's islands once, each cold and in a range called range_name(prefix, position).
// `flush_inside`: each range ends with a flush.
using CountedRun = std::function<void(RangeMarker&, const std::string& prefix, bool flush_inside)>;

std::string range_name(const std::string& prefix, std::size_t island);

// Fills the counters of record.islands, whose names must be set, and their sums. Throws DeviceError.
void count_islands(Bench& bench, const CountedRun& run, Record& record);

}  // namespace tilescope::validate
