// Which points a kernel is built for, and which GPUs its machine code runs on.
#pragma once

#include <string>
#include <vector>

#include "hardware/profile.h"
#include "predict/point/point.h"

namespace tilescope {

// Why the plan cannot run the point (unsupported dtype, head_dim, mask, tile combination, more threads in a block than
// the GPU launches ...); empty: it can.
std::vector<std::string> unsupported(const Plan& plan, const HardwareProfile& hardware, const Point& point);

// Copies of each streamed input tile: the point's, or the kernel's own where its variants do not state them.
std::int64_t stages_of(const KernelDescriptor& kernel, const Point& point);

// Sizes of a workload on a GPU by the names that conditions of descriptors use, `splits` left out.
NamedSizes named_sizes(const HardwareProfile& hardware, const Workload& workload);

// Why the sizes lie outside those for which the kernel's software launches it (keys `limits` and `shapes`), and which
// kernel it launches instead; empty: they do not. A prediction there would be of a launch that does not exist.
std::vector<std::string> outside_shapes(const KernelDescriptor& kernel, const HardwareProfile& hardware,
                                        const Workload& workload);

// Why the kernel's machine code does not run on this GPU; empty: it does, or there is no kernel.
std::string unsupported_on(const Plan& plan, const HardwareProfile& hardware);

}  // namespace tilescope
