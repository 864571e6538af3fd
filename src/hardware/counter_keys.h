// The closed list of work counters a profile may carry (keys of HardwareProfile::work_counters) and their units.
#pragma once

#include <string>
#include <vector>

namespace tilescope {

// "tensor_flop" (one per number format, as "tensor_flop.fp16"), "xu", "ffma", ... in alphabetical order.
std::vector<std::string> work_counter_keys();

// What `scale` must be given in: "B", "FLOP", "OP" (thread operations), "inst" (warp instructions), "clk";
// empty when `key` is not a work counter.
std::string work_counter_unit(const std::string& key);

}  // namespace tilescope
