// Which kernel a call of a software launches: a table of rules, the first one that holds (kernels/*/NAME.calls.yaml).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "diagram/pass.h"
#include "hardware/profile.h"
#include "predict/point/plan.h"
#include "predict/point/point.h"

namespace tilescope {

struct CallRule {
  std::string backend;
  std::vector<double> compute_capabilities;  // empty: all
  std::optional<Pass> pass;                  // empty: both
  Condition when;
  std::string launches, kernel;  // a part of the launch's name; the descriptor's name, empty: none describes it
};

struct Calls {
  std::string software, call;
  std::vector<Dtype> dtypes;
  std::vector<MaskKind> masks;
  std::optional<HostSplits> host_splits;
  std::vector<CallRule> rules;
};

// A call of the software.
struct Call {
  Pass pass = Pass::forward;
  Workload workload;
  std::string backend;  // as a context manager forces it; empty: the software chooses
};

// Reads a table. Throws InputError with every finding.
Calls load_calls(const std::filesystem::path& file);

// Tables in the folders below `kernels_directory`, by software.
std::vector<std::pair<std::string, std::filesystem::path>> shipped_calls(
    const std::filesystem::path& kernels_directory);

// The rule that a call meets on a GPU; nullptr: none.
const CallRule* launched_by(const Calls& calls, const HardwareProfile& hardware, const Call& call);

}  // namespace tilescope
