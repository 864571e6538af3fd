// The input of the pictures of accuracy, as plain values: read once from the report's object `pictures`, then only
// drawn.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::report {

class Fields;

// Predicted and measured of one quantity of a record, and the error that is stated for its kernel (a fraction).
struct PredictedMeasured {
  double predicted = 0, measured = 0, bar = 0;
};

// What residuals are drawn of; busy_cycles: clocks that a multiprocessor holds a block, mean over all.
inline constexpr const char* kResidualQuantities[] = {"hbm_read_bytes", "busy_cycles", "seconds"};

// One record; a quantity that it lacks is absent.
struct Residual {
  std::string kernel{}, label{};
  bool third_party = false;
  std::map<std::string, PredictedMeasured> quantities{};
};

// The error bar of a kernel in a regime ("all", "*ours", "*theirs": of a group, in all regimes), over the sizes of its
// records.
struct Bar {
  std::string kernel{}, quantity{}, regime{};
  double low = 0, high = 0, p90 = 0, n = 0;
  bool stated = false;  // `predict` prints it; else nine of ten of the records that are drawn lie within
};

// Parts of a predicted time: s. They add up to `predicted`; `units` overlap one another and do not.
struct Split {
  std::string kernel{}, label{};
  bool third_party = false, longest = false;
  double measured = 0, predicted = 0, waits = 0, idle = 0, launch = 0;
  std::map<std::string, double> busiest{}, units{};
};

// DRAM bytes, read and written. `no_cache`: what multiprocessors ask of the L2.
struct LengthPoint {
  double kv_len = 0, predicted = 0, measured = 0, compulsory = 0, no_cache = 0;
};
struct LengthSeries {
  std::string kernel{}, label{};
  bool third_party = false;
  std::vector<LengthPoint> points{};
};

struct ClockRow {
  std::string kernel{}, label{};
  bool third_party = false, at_limit = false, reports_cap = false;
  double seconds = 0, predicted_hz = 0, nvml_hz = 0, predicted_watts = 0, nvml_watts = 0;
  std::optional<double> low_hz{}, high_hz{};  // between these lies the clock by cycles over seconds
};

struct Pictures {
  double records = 0, kernels = 0;
  std::vector<std::string> experiments{};
  std::vector<Residual> residuals{};
  std::vector<Bar> bars{};
  std::vector<Split> splits{};
  std::vector<LengthSeries> lengths{};
  std::vector<ClockRow> clocks{};
  std::optional<double> limit_watts{}, highest_hz{}, tensor_hz{};
  // Of the records that are long enough: whom the power limit slows down, by the model's word and by the GPU's.
  double both = 0, model_only = 0, gpu_only = 0, neither = 0;
};

Pictures read_pictures(const Fields& f);

// The units of a split in the order of its bar and of legends, and what they are called.
struct UnitName {
  const char *key, *name;
};
inline constexpr UnitName kUnits[] = {{"tensor", "tensor cores"},
                                      {"smem", "shared memory"},
                                      {"xu", "special functions"},
                                      {"fma", "fp32 (FMA)"},
                                      {"alu", "integer, convert"},
                                      {"issue", "issue slots"},
                                      {"l2", "L2"},
                                      {"hbm", "HBM"}};
std::string unit_name(const std::string& key);

// "569 records of 27 kernels (experiments blind, decode, ...)".
std::string records_text(const Pictures& pictures);

// The pictures' numbers as Markdown: DRAM over length, error bars, parts of time, clock and power. Empty: nothing to
// say.
std::string pictures_markdown(const Pictures& pictures);

}  // namespace tilescope::report
