// A captured launch as `describe` reads it.
#pragma once

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"
#include "kernel/describe/description.h"
#include "records/capture/capture.h"

namespace tilescope::launches {

KernelLaunch launch_of(const capture::CapturedLaunch& launch);

// `launch` must have parameters.
TracedLaunch traced_launch(const capture::CapturedLaunch& launch, const CubinKernel& kernel);

// What blocks of the launch read, from its parameters, tensor maps and grid and from the code of its kernel.
LaunchEvidence captured_evidence(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                                 TracedLaunch traced, const CodeSummary& code);

// Sizes of the launch that follow from it. `known`: those that somebody states.
LaunchSizes sizes_of(const LaunchEvidence& evidence, const AttentionFacts& facts, const KernelLaunch& launch,
                     const std::optional<Workload>& known = {});

}  // namespace tilescope::launches
