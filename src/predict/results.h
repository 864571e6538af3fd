// Results of the stages, put into the prediction that callers see.
#pragma once

#include <span>

#include "predict/time/clock.h"

namespace tilescope {

// An empty prediction of so many launches, in the memory that `out` holds.
void clear(Prediction& out, std::size_t launches);

// Terms, footprint, traffic and, where it is wanted, work of each launch, and their sums. Throws CountOverflow.
void add_counts(std::span<const BoundIsland> bound, std::span<const LaunchCounts> counts, Wanted wanted,
                Prediction& out);

// Footprints of each launch and of the GPU's memory, by themselves.
void add_footprints(std::span<const BoundIsland> bound, Prediction& out);

// Seconds of each resource, and the slowest of them as the launch's time: a lower bound.
void add_resources(const std::array<double, resource_count>& seconds, int launch, Prediction& out);

// The launch by itself, by the clocks of its blocks. `products`: it has matrix products.
void add_launch_time(const SmStep& step, const LaunchTime& time, bool products, IslandPrediction& launch);

// The launch no faster than it and memory wait for each other.
void add_memory_wait(const HardwareProfile& hardware, const LaunchTime& time, IslandPrediction& launch);

// Totals of a schedule whose launches' blocks are not modelled: the sum of their slowest resources.
TimePrediction lower_bound_of_time(const Plan& plan, const HardwareProfile& hardware, const Point& point,
                                   const Prediction& out);

}  // namespace tilescope
