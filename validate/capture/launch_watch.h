// Observes every kernel launch of this process, from any library, through CUPTI's callbacks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "records/record.h"

namespace tilescope::validate {

struct WatchedLaunch {
  std::string kernel;  // "pytorch_flash::flash_fwd_kernel<...>(...)", demangled
  LaunchFacts facts;
};

// The kernels that `work` launches, in order. Throws DeviceError.
std::vector<WatchedLaunch> launches_of(const std::function<void()>& work);

// Runs `work` and calls `before` and `after` around each of its launches, with the launch's position. Launches made by
// the two callbacks are ignored. Throws DeviceError, and the exceptions of `before` and `after`.
void around_launches(const std::function<void()>& work, const std::function<void(std::size_t)>& before,
                     const std::function<void(std::size_t)>& after);

// "flash_fwd_kernel" of "void pytorch_flash::flash_fwd_kernel<...>(...)".
std::string short_name(const std::string& kernel);

}  // namespace tilescope::validate
