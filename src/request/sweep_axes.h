// The axes of a sweep: what --axis names, which values it takes, and what a value sets.
#pragma once

#include <string>
#include <vector>

#include "request/read_point.h"

namespace tilescope {

struct SweepAxis {
  std::string name;
  std::vector<std::int64_t> values;                    // at least one
  std::vector<std::int64_t Workload::*> extents = {};  // a value sets these,
  int tile = -1;                                       // or this parameter of the schedule,
  bool warps = false;                                  // or the warps
};

// Every --axis. Like the options, heads_q also sets heads_kv and q_len also kv_len unless --workload, the option or an
// axis gives it; head_dim also sets v_head_dim unless its option or an axis does; seqlen sets both lengths. InputError:
// no axis, an unknown one, bad values, two axes for one size, lengths swept under a block-sparse mask.
std::vector<SweepAxis> read_axes(const Options& options, const Plan& plan);

// Options for sizes that are swept but not given, at their axis's first value, so that the base point is a point.
std::vector<std::pair<std::string, std::string>> options_of_first_values(const std::vector<SweepAxis>& axes,
                                                                         const Options& options);

// `point` becomes `base` with the axes' values at positions `at`. Where no tile is given, a kernel's default tile
// follows the head dimension.
void set_point(Point& point, const Point& base, const Plan& plan, const std::vector<SweepAxis>& axes,
               const std::vector<std::size_t>& at, bool tile_fixed);

// "q_len=64, heads_q=8": the values at positions `at`, for messages.
std::string place(const std::vector<SweepAxis>& axes, const std::vector<std::size_t>& at);

}  // namespace tilescope
