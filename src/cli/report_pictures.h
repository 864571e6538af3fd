// The data of the report's pictures of accuracy: where predicted time goes, bytes of DRAM over length, residuals, clock
// and power. What the model's own numbers are made of is asked of the model; nothing is worked out here that it does
// not say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "hardware/profile.h"

namespace tilescope::cli {

// One record with the measured numbers that the pictures need. A number that was not counted is absent.
struct PictureRecord {
  const ComparedPoint* compared = nullptr;
  std::string kernel, label,
      regime;  // label: implementation and workload, without the kernel; regime: see predict/json.h
  bool third_party = false;
  double seconds = 0;  // median of the back-to-back runs
  std::optional<double> hbm_read{}, hbm_write{}, busy_cycles{}, elapsed_cycles{};

  const Prediction& prediction() const { return compared->prediction; }
};

std::vector<PictureRecord> picture_records(const Comparison& comparison, const HardwareProfile& hardware);

// {records, kernels, residuals, bars, splits, lengths, clocks, ...}: the object `pictures` of schema
// tilescope/report/1. `errors` is what `validate --errors` wrote: the bars that `predict` states.
Json pictures(const Comparison& comparison, const HardwareProfile& hardware, const std::filesystem::path& errors);

// Parts of it. Residuals: every record, predicted and measured with the bar of each quantity.
Json picture_residuals(const std::vector<PictureRecord>& records, const HardwareProfile& hardware,
                       const std::filesystem::path& errors);
// What `predict` would print as time's parts, for some records of each kernel. Seconds; they add up to the predicted
// time.
Json picture_splits(const std::vector<PictureRecord>& records, const HardwareProfile& hardware);
// DRAM bytes, read and written, of records that differ in length alone.
Json picture_lengths(const std::vector<PictureRecord>& records);
// Clock and power under load: the longest record of each kernel, and how often model and GPU agree on the power limit.
Json picture_clocks(const std::vector<PictureRecord>& records, const HardwareProfile& hardware);

}  // namespace tilescope::cli
