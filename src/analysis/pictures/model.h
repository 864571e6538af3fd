// What the pictures of accuracy show. A number that was not counted is absent.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::analysis {

// Predicted and measured of one quantity of a record, and the error that is stated for its kernel (a fraction).
struct PredictedMeasured {
  double predicted = 0, measured = 0, bar = 0;
};

// The quantities of residuals, in the order of the page. busy_cycles: clocks in which a multiprocessor holds a block,
// mean over all multiprocessors.
inline constexpr const char* kResidualQuantities[] = {"hbm_read_bytes", "busy_cycles", "seconds"};

// Values of Bar::kernel that name a group of kernels instead of one.
inline constexpr const char *kEverything = "all", *kOurs = "*ours", *kTheirs = "*theirs";

// One record.
struct Residual {
  std::string kernel{}, label{}, regime{};  // regime: see regime_of
  bool third_party = false;
  std::map<std::string, PredictedMeasured> quantities{};  // those of kResidualQuantities that the record has
};

// The error bar of a kernel in a regime, or of a group of kernels in all regimes.
struct Bar {
  std::string kernel{}, quantity{}, regime{};
  double low = 0, high = 0;  // measured sizes of the n records
  double p90 = 0, n = 0;
  bool stated = false;  // `predict` prints it; else it is the 90th percentile of these records
};

// Parts of a predicted time: s. `busiest`, `waits`, `idle` and `launch` add up to it. `units` is what each unit would
// take alone; they overlap.
struct TimeSplit {
  double waits = 0, idle = 0, launch = 0;
  std::map<std::string, double> busiest{}, units{};  // by UnitName::key
};

// That of a record.
struct Split {
  std::string kernel{}, label{};
  bool third_party = false, longest = false;                            // longest: of the kernel's records
  double measured = 0, predicted = 0, waits = 0, idle = 0, launch = 0;  // the parts as in TimeSplit
  std::map<std::string, double> busiest{}, units{};
};

// DRAM bytes, read and written. `no_cache`: what multiprocessors ask of the L2.
struct LengthPoint {
  double kv_len = 0, predicted = 0, measured = 0, compulsory = 0, no_cache = 0;
};
// Records of one kernel that differ in their length alone, shortest first.
struct LengthSeries {
  std::string kernel{}, label{};
  bool third_party = false;
  std::vector<LengthPoint> points{};
};

// Clock and power of a kernel's longest record.
struct ClockRow {
  std::string kernel{}, label{};
  bool third_party = false;
  bool at_limit = false, reports_cap = false;  // at the power limit: by the model, by the GPU
  double seconds = 0, predicted_hz = 0, nvml_hz = 0, predicted_watts = 0, nvml_watts = 0;
  std::optional<double> low_hz{}, high_hz{};  // the run's clock lies between them: cycles over seconds
};

// How many records long enough to judge are at the power limit, by the model and by the GPU.
struct PowerAgreement {
  std::int64_t both = 0, model_only = 0, gpu_only = 0, neither = 0;
};

struct Pictures {
  double records = 0, kernels = 0;
  std::vector<std::string> experiments{};
  std::vector<Residual> residuals{};
  std::vector<Bar> bars{};
  std::vector<Split> splits{};
  std::vector<LengthSeries> lengths{};
  std::vector<ClockRow> clocks{};
  PowerAgreement power_limit{};
  std::optional<double> limit_watts{}, highest_hz{}, tensor_hz{};
};

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

}  // namespace tilescope::analysis
