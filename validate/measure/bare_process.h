// Work in a process of its own, which nothing has set up: CUPTI slows down every launch of a process that has it ready.
#pragma once

#include <functional>
#include <vector>

namespace tilescope::validate {

// What `work` returns, run in a child process. Call it before this process has touched the GPU: a driver does not
// outlive a fork. Empty when the child fails, whatever its reason.
std::vector<double> in_bare_process(const std::function<std::vector<double>()>& work);

}  // namespace tilescope::validate
