// The numbers behind the pictures of accuracy: where predicted time goes, DRAM bytes over length, residuals, clock and
// power. Every number is the model's or the record's; nothing is modelled here.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/pictures/model.h"
#include "compare/compare.h"
#include "hardware/profile.h"

namespace tilescope::analysis {

// All of them, for records of one GPU. `errors` is the file that `validate --errors` writes: the bars that `predict`
// states. Without such a file no bar is stated.
Pictures pictures_of(const Comparison& comparison, const HardwareProfile& hardware,
                     const std::filesystem::path& errors);

// The object `pictures` of schema tilescope/report/1.
Json to_json(const Pictures& pictures);

// One record with the measured numbers that the pictures need.
struct PictureRecord {
  const ComparedPoint* compared = nullptr;
  std::string kernel, label;  // label: implementation and workload, without the kernel
  std::string regime;         // see regime_of
  bool third_party = false;
  double seconds = 0;  // median of the back-to-back runs
  std::optional<double> hbm_read{}, hbm_write{}, busy_cycles{}, elapsed_cycles{};

  const Prediction& prediction() const { return compared->prediction; }
};
std::vector<PictureRecord> picture_records(const Comparison& comparison, const HardwareProfile& hardware);

// The parts.
// Residuals of every record, and the bars of kernels and groups.
void add_residuals(Pictures& pictures, const std::vector<PictureRecord>& records, const HardwareProfile& hardware,
                   const std::filesystem::path& errors);
// Of a time by the model of blocks.
TimeSplit time_split(const Prediction& prediction, const HardwareProfile& hardware);
// Of each kernel up to five records, longest first.
std::vector<Split> time_splits(const std::vector<PictureRecord>& records, const HardwareProfile& hardware);
std::vector<LengthSeries> length_series(const std::vector<PictureRecord>& records);
void add_clocks(Pictures& pictures, const std::vector<PictureRecord>& records, const HardwareProfile& hardware);

}  // namespace tilescope::analysis
