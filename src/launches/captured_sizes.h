// A captured launch as `describe` reads it.
#pragma once

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"
#include "kernel/describe/description.h"
#include "records/capture/capture.h"

namespace tilescope::launches {

KernelLaunch launch_of(const capture::CapturedLaunch& launch);

// Sizes of the launch, from its parameters, tensor maps and grid and from the code of its kernel.
LaunchSizes captured_sizes(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                           const CubinKernel& kernel, const CodeSummary& code, const AttentionFacts& facts);

}  // namespace tilescope::launches
