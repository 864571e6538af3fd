// Predicted over measured of every record, with the error bar that `predict` states for its kernel and regime.
#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/pictures/pictures.h"

namespace tilescope::analysis {
namespace {

std::optional<PredictedMeasured> pair_of(const PictureRecord& record, const std::string& quantity) {
  const TimePrediction& time = record.prediction().time;
  std::optional<PredictedMeasured> pair;
  if (quantity == "seconds" && record.seconds > 0) pair = PredictedMeasured{time.total, record.seconds};
  if (quantity == "hbm_read_bytes" && record.hbm_read)
    pair = PredictedMeasured{static_cast<double>(record.prediction().traffic[Boundary::hbm][0]), *record.hbm_read};
  if (quantity == "busy_cycles" && record.busy_cycles && time.modelled)
    pair = PredictedMeasured{time.busy_cycles, *record.busy_cycles};
  return pair && pair->predicted > 0 && pair->measured > 0 ? pair : std::nullopt;
}

struct Group {
  std::string kernel, quantity, regime;
  auto operator<=>(const Group&) const = default;
};

struct Spread {
  std::vector<double> errors;
  double low = INFINITY, high = 0;  // measured sizes
  void add(const PredictedMeasured& pair) {
    errors.push_back(std::abs(pair.predicted - pair.measured) / pair.measured);
    low = std::min(low, pair.measured), high = std::max(high, pair.measured);
  }
};

// What `predict` states for the group, else the 90th percentile of these very records.
Bar bar_of(const Group& group, const Spread& records, const std::string& hardware,
           const std::filesystem::path& errors) {
  Bar bar{.kernel = group.kernel,
          .quantity = group.quantity,
          .regime = group.regime,
          .low = records.low,
          .high = records.high,
          .n = static_cast<double>(records.errors.size())};
  std::optional<TimeError> stated;
  if (!group.regime.empty())
    stated = ErrorBars::load(errors).find({hardware, group.kernel, group.quantity, group.regime});
  bar.stated = stated.has_value();
  bar.p90 = stated ? stated->p90 : spread(records.errors).p90;
  return bar;
}

}  // namespace

void add_residuals(Pictures& pictures, const std::vector<PictureRecord>& records, const HardwareProfile& hardware,
                   const std::filesystem::path& errors) {
  std::map<Group, Spread> groups;
  for (const PictureRecord& record : records)
    for (const char* quantity : kResidualQuantities)
      if (const auto pair = pair_of(record, quantity)) {
        groups[{record.kernel, quantity, record.regime}].add(*pair);
        groups[{kEverything, quantity, ""}].add(*pair);
        groups[{record.third_party ? kTheirs : kOurs, quantity, ""}].add(*pair);
      }
  std::map<Group, double> p90;
  for (const auto& [group, size] : groups)
    p90[group] = pictures.bars.emplace_back(bar_of(group, size, hardware.id, errors)).p90;
  for (const PictureRecord& record : records) {
    Residual& residual = pictures.residuals.emplace_back(Residual{
        .kernel = record.kernel, .label = record.label, .regime = record.regime, .third_party = record.third_party});
    for (const char* quantity : kResidualQuantities)
      if (auto pair = pair_of(record, quantity)) {
        pair->bar = p90[{record.kernel, quantity, record.regime}];
        residual.quantities[quantity] = *pair;
      }
  }
}

}  // namespace tilescope::analysis
