// DRAM bytes by the order of blocks: the kernel's own beside others that the same blocks could run in.
#pragma once

#include <string>
#include <vector>

#include "predict/prediction.h"

namespace tilescope {

struct OrderedTraffic {
  std::string order;                             // "q, heads, batch"; "heads, falling q in sections of 4 KV heads"
  bool own = false;                              // as the kernel's descriptor has it
  std::int64_t read_bytes = 0, write_bytes = 0;  // HBM, all kernels of the schedule, by the walk
};

// The island with the most work in other orders, the least bytes first; of equals the kernel's own comes first. Blocks
// are the same in all of them: only DRAM bytes differ, and the tail.
std::vector<OrderedTraffic> traffic_by_order(const Plan& plan, const HardwareProfile& hardware, const Point& point);

}  // namespace tilescope
