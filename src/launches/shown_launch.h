// What a launch shows beside the code of its kernel: its sizes, the order of its blocks, and what of the code it leaves
// out. Found by carrying out the code with the launch's parameters.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/code/cubin.h"
#include "kernel/code/summary/code_summary.h"
#include "kernel/describe/facts.h"
#include "kernel/describe/launch/launch_sizes.h"
#include "records/capture/capture.h"

namespace tilescope::launches {

struct ShownLaunch {
  std::optional<std::pair<std::int64_t, std::int64_t>> head_dims;  // where the code leaves them to the launch
  bool leaves_out_rows = false;                                    // it stores no log-sum-exp, which the code can
  std::int64_t stages = 0;  // tiles of keys in shared memory, where copies by threads show them; 0: not known
  LaunchSizes sizes;
  bool tensor_maps = false;  // they state sizes
};

// Machine code of a kernel of attention, and what `describe` found in it.
struct KernelCode {
  CubinKernel kernel;
  CodeSummary code;
  AttentionFacts facts;
};

// The facts of the kernel in this launch.
AttentionFacts launched_facts(AttentionFacts facts, const ShownLaunch& shown);

struct AskedLaunch {
  std::size_t launch = 0;  // place in Capture::launches
  const KernelCode* code = nullptr;
  std::optional<Workload> known{};  // the sizes, where somebody states them
};
// By place in the capture; of those that have parameters. Launches that differ only in parameters on which nothing
// depends are carried out once. Uses all cores.
std::map<std::size_t, ShownLaunch> shown_launches(const capture::Capture& capture,
                                                  const std::vector<AskedLaunch>& asked);

// Of one launch, which has parameters.
ShownLaunch shown_launch(const capture::Capture& capture, std::size_t launch, const KernelCode& code,
                         const std::optional<Workload>& known);

// One JSON object, and back. Reading throws InputError that names `file`.
std::string shown_json(const ShownLaunch& shown);
ShownLaunch read_shown(const std::string& json, const std::string& file);

}  // namespace tilescope::launches
