// The page of the kernel family as plain values (schema tilescope/family/1): read once from JSON, then only rendered.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/model.h"

namespace tilescope::report {

struct ErrorSpread {
  double n = 0;
  Number median{}, worst{};  // fractions; empty: something was measured as zero
};

struct FamilyNumber {
  std::string quantity{}, title{};
  Number predicted{}, measured{}, ratio{};
  std::string absent{};  // why one of them is missing
  std::optional<ErrorSpread> judged{}, not_judged{};
  double outside = 0;  // judged records outside their tolerance
};

struct FamilyRow {
  std::string kernel{}, summary{}, schedule{}, pass{}, implementation{}, workload{};
  bool third_party = false;
  double records = 0;
  Number launches_predicted{}, launches_measured{};
  std::vector<std::string> launch_names{};
  std::vector<FamilyNumber> numbers{};
};

struct LadderChange {
  std::string quantity{}, title{};
  Number before{}, after{}, factor{};
  Number counted_before{}, counted_after{}, counted_factor{};
};

struct Gain {  // over the step before
  Number factor{}, predicted_factor{}, nearness_factor{}, cycles_factor{};
  std::string bound_before{};
  Number bound_before_seconds{}, bound_before_seconds_now{};
  bool path_changed = false;  // other instructions for the products, or other formats for them
  std::vector<LadderChange> changes{};
};

struct ClockState {
  Number sm_hz{}, power_w{}, power_limit_w{};
  std::vector<std::string> throttle{};
};

struct LadderStep {
  std::string kernel{}, summary{}, implementation{}, bound_by{}, path{};
  bool third_party = false;
  Number variants{}, seconds{}, predicted_seconds{}, nearness{};
  Number flop_per_second{}, predicted_flop_per_second{}, kv_bytes{}, kv_bytes_per_second{}, path_flop_per_second{};
  std::optional<ClockState> clocks{};
  std::optional<Gain> gain{};
};

struct Ladder {
  std::string title{}, pass{}, kind{};  // kind: "flop" or "bytes"
  bool fits_l2 = false;
  std::vector<LadderStep> steps{};  // slowest first
};

struct FamilyPage {
  std::string title{}, generated{}, revision{};
  Hardware hardware{};
  double points = 0;
  std::vector<FamilyRow> rows{};
  std::vector<Ladder> ladders{};
};

inline constexpr const char* kFamilySchema = "tilescope/family/1";

// Throws InputError with every wrong field.
FamilyPage read_family(const nlohmann::json& data);

std::string family_rows_html(const FamilyPage& family);
std::string family_ladders_html(const FamilyPage& family);

}  // namespace tilescope::report
