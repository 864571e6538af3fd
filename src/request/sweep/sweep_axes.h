// The axes of a sweep whose values are numbers: what --axis names, which values it takes, and what a value sets.
#pragma once

#include <string>
#include <vector>

#include "request/read_point.h"
#include "request/sweep/axis_values.h"

namespace tilescope {

struct SweepAxis {
  std::string name;
  AxisValues values;                                   // at least one
  std::vector<std::int64_t Workload::*> extents = {};  // a value sets these extents,
  int tile = -1;                                       // or this parameter of the schedule (-1: none),
  bool warps = false, stages = false;                  // or the number of warps, or of stages
};

// Reads every --axis. Axes follow the rules of the options: heads_q also sets heads_kv, and q_len also sets kv_len,
// unless --workload, an option or an axis gives it. head_dim also sets v_head_dim unless an option or an axis gives it.
// seqlen sets both lengths. Throws InputError for an unknown axis, bad values, two axes for one size, and lengths swept
// under a block-sparse mask.
std::vector<SweepAxis> read_axes(const Options& options, const Plan& plan);

// Options for sizes that an axis sweeps and no option gives, with the axis's first value. They make the base point
// valid.
std::vector<std::pair<std::string, std::string>> options_of_first_values(const std::vector<SweepAxis>& axes,
                                                                         const Options& options);

// Sets `point` to `base` with the axes' values at positions `at`. Unless the tile is fixed, a kernel gets its default
// tile for the head dimension.
void set_point(Point& point, const Point& base, const Plan& plan, const std::vector<SweepAxis>& axes,
               const std::vector<std::size_t>& at, bool tile_fixed);

// "q_len=64, heads_q=8": the values at positions `at`, for messages.
std::string place(const std::vector<SweepAxis>& axes, const std::vector<std::size_t>& at);

}  // namespace tilescope
