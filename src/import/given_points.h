// Points that a user states for a file without shapes: --point "batch=2 heads_q=16 q_len=4k head_dim=128 dtype=bf16".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "import/tool_file.h"
#include "request/options.h"

namespace tilescope::imported {

struct GivenPoint {
  Options options;                                             // of the point, without GPU and kernel unless stated
  std::string name;                                            // part of the kernel's name; empty: any
  std::vector<std::pair<std::int64_t, std::int64_t>> numbers;  // first and last number of launches; empty: any

  bool covers(const ToolLaunch& launch) const;
};

// "name=TEXT" and "launches=0-3,7" choose launches; all other words are point options. InputError for anything else.
GivenPoint parse_given_point(const std::string& text);

}  // namespace tilescope::imported
