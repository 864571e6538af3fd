// What the page of the kernel family shows: a row a kernel, and ladders of speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/number.h"
#include "analysis/report/model.h"

namespace tilescope::analysis {

// Absolute relative errors of n rows, as fractions; empty: a row measured zero.
struct ErrorSpread {
  double n = 0;
  Number median{}, worst{};
};

// One quantity of a kernel's representative record, and its errors over all the kernel's records.
struct FamilyNumber {
  std::string quantity{}, title{};
  Number predicted{}, measured{}, ratio{};            // ratio: predicted / measured
  std::string absent{};                               // why a side is missing; empty: neither is
  std::optional<ErrorSpread> judged{}, not_judged{};  // rows with and without a tolerance
  double outside = 0;                                 // judged rows outside their tolerance
};

struct FamilyRow {
  std::string kernel{}, summary{}, schedule{}, pass{}, point{}, implementation{}, workload{};
  bool third_party = false;
  double records = 0;
  Number launches_predicted{}, launches_measured{};
  std::vector<std::string> launch_names{};
  std::vector<FamilyNumber> numbers{};
};

// A quantity of two steps' predictions, and of their counters. A factor is before / after.
struct LadderChange {
  std::string quantity{}, title{};
  Number before{}, after{}, factor{};
  Number counted_before{}, counted_after{}, counted_factor{};
};

// What a step gains over the step before: factor = predicted_factor x nearness_factor.
struct Gain {
  Number factor{}, predicted_factor{}, nearness_factor{};
  Number cycles_factor{};      // of SM clocks
  std::string bound_before{};  // the resource that bounds the step before, and its seconds in both steps
  Number bound_before_seconds{}, bound_before_seconds_now{};
  bool path_changed = false;            // other instructions for the products, or other formats for them
  std::vector<LadderChange> changes{};  // largest fall first
};

struct ClockState {
  Number sm_hz{}, power_w{}, power_limit_w{};
  std::vector<std::string> throttle{};
};

// The fastest record of a kernel in one mixture of formats; `variants`: out of how many.
struct LadderStep {
  std::string kernel{}, summary{}, implementation{}, point{}, bound_by{}, path{};
  bool third_party = false;
  Number variants{}, seconds{}, predicted_seconds{}, nearness{};
  Number flop_per_second{}, predicted_flop_per_second{}, kv_bytes{}, kv_bytes_per_second{}, path_flop_per_second{};
  std::optional<ClockState> clocks{};
  std::optional<Gain> gain{};
};

// What a faster kernel would have to save.
enum class LadderKind { flop, bytes };
inline const char* to_string(LadderKind kind) { return kind == LadderKind::flop ? "flop" : "bytes"; }

// The records of one workload, slowest first.
struct Ladder {
  std::string title{}, pass{};
  LadderKind kind = LadderKind::flop;
  std::int64_t model_flop = 0;
  bool fits_l2 = false;  // keys and values in their smallest format
  std::vector<LadderStep> steps{};
};

struct FamilyPage {
  std::string title{}, generated{}, revision{};
  Hardware hardware{};  // without roofs and peaks
  double points = 0;
  std::vector<FamilyRow> rows{};
  std::vector<Ladder> ladders{};
};

}  // namespace tilescope::analysis
