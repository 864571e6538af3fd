// The library that `tilescope capture` preloads into processes (LD_PRELOAD): it stands between a program and the
// driver's launch functions, because a call through it costs far less than a callback of CUPTI. It needs no CUDA and
// does nothing until the capture library sets its hooks.
#pragma once

namespace tilescope::capture {

// A launch as the driver's function takes it; handles are CUDA's.
struct HookedLaunch {
  void* function = nullptr;
  unsigned grid[3] = {}, block[3] = {}, dynamic_shared = 0;
  void* stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  const void* config = nullptr;  // a CUlaunchConfig: then grid, block, dynamic_shared and stream are in it
};

struct LaunchHooks {
  bool (*before)(const HookedLaunch& launch) = nullptr;  // in the thread that launches; false: `after` is not called
  void (*after)() = nullptr;
};

inline constexpr const char* set_launch_hooks_name = "tilescope_set_launch_hooks";
using SetLaunchHooks = void (*)(const LaunchHooks* hooks);  // hooks live as long as the process

}  // namespace tilescope::capture
