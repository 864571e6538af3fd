// From a call's sizes and the name of what it launched to a descriptor and a point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "records/point.h"
#include "request/options.h"

namespace tilescope::imported {

struct KernelAnswer {
  std::optional<validate::MeasurePoint> point;  // absent: for `reason`
  std::size_t launches = 1;                     // kernels that one run launches
  std::string main;                             // part of the name of its main launch; empty: any
  std::string reason;
};

// `options` has GPU, pass and sizes. `kernel`: a descriptor, a software's table of calls ("pytorch", "pytorch:flash"),
// or empty: the tables are asked which of their launches is in `names`. `expected`: part of a name that must be among
// `names`, empty: what the table says. Throws InputError for options that are wrong.
KernelAnswer kernel_of_launch(const Options& options, const std::string& kernel, const std::string& expected,
                              const std::vector<std::string>& names);

// Whether a table of calls has a launch of that name: it looks like attention.
bool is_known_launch(const std::string& name);

}  // namespace tilescope::imported
