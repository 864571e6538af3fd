// The kernels of a capture by their share of time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "records/capture/capture.h"

namespace tilescope::capture {

// All launches of one kernel in one geometry.
struct KernelShare {
  std::string name;    // short
  std::string symbol;  // as the linker sees it
  std::string module;  // hash of the cubin; empty: not known
  std::array<std::int64_t, 3> grid{}, block{}, cluster{};
  std::int64_t registers = 0, shared_bytes = 0, local_bytes = 0;  // shared: static and dynamic
  std::int64_t launches = 0, timed = 0, counted = 0;              // timed: those that have a time
  double seconds = 0;         // of all launches; the median of those that have a time stands for the others
  double median_seconds = 0;  // of the timed launches
  double share = 0;           // of the time of all kernels
  bool in_graph = false;
  std::vector<std::string> ranges;    // NVTX ranges of the first launch
  std::int64_t tensor_maps = 0;       // in the parameters
  bool named_like_attention = false;  // a hint alone: names prove nothing
};

// Longest first.
std::vector<KernelShare> kernel_shares(const Capture& capture);

}  // namespace tilescope::capture
