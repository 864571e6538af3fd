// Runs work in a separate, fresh process: once CUPTI is initialised in a process, every launch of that process is
// slower.
#pragma once

#include <functional>
#include <vector>

namespace tilescope::validate {

// Runs `work` in a child process and returns its result. Call it before this process uses the GPU, because CUDA does
// not work after a fork. Empty if the child fails for any reason.
std::vector<double> in_bare_process(const std::function<std::vector<double>()>& work);

}  // namespace tilescope::validate
