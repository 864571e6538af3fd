// A captured launch as `describe` reads it.
#pragma once

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"
#include "kernel/describe/description.h"
#include "records/capture/capture.h"

namespace tilescope::launches {

KernelLaunch launch_of(const capture::CapturedLaunch& launch);

// What blocks of the launch read, from its parameters, tensor maps and grid and from the code of its kernel. Nothing:
// the capture has no parameters of it.
std::optional<LaunchEvidence> captured_evidence(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                                                const CubinKernel& kernel, const CodeSummary& code);

// The facts of the kernel in this launch: with the head dimensions, where the code leaves them to the launch and its
// parameters state them, and without a log-sum-exp that its parameters leave out.
AttentionFacts launched_facts(const capture::CapturedLaunch& launch, const CubinKernel& kernel, const CodeSummary& code,
                              AttentionFacts facts);

// Sizes of the launch that follow from it. `known`: those that somebody states.
LaunchSizes sizes_of(const LaunchEvidence& evidence, const AttentionFacts& facts, const KernelLaunch& launch,
                     const std::optional<Workload>& known = {});

// Both.
LaunchSizes captured_sizes(const capture::Capture& capture, const capture::CapturedLaunch& launch,
                           const CubinKernel& kernel, const CodeSummary& code, const AttentionFacts& facts);

}  // namespace tilescope::launches
