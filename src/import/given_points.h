// Points that a user states for a file without shapes: --point "batch=2 heads_q=16 q_len=4k head_dim=128 dtype=bf16".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "import/tool_file.h"
#include "request/options.h"

namespace tilescope::imported {

struct GivenPoint {
  Options options;                                             // of the point, without GPU and kernel unless stated
  std::string name;                                            // part of the kernel's name; empty: any
  std::vector<std::pair<std::int64_t, std::int64_t>> numbers;  // first and last number of launches; empty: any
  std::string file, place;                                     // where it is stated; empty: by --point

  bool covers(const ToolLaunch& launch) const;
};

// Those of a file that states points itself. InputError with the place in the file.
std::vector<GivenPoint> stated_points(const ToolFile& file);

// "name=TEXT" and "launches=0-3,7" choose launches; all other words are point options. InputError for anything else.
GivenPoint parse_given_point(const std::string& text);

// A finding about a point of a file gets its place there.
Diagnostic at_place(const GivenPoint& point, Diagnostic finding);

}  // namespace tilescope::imported
