#include "analysis/pictures/pictures.h"

#include <set>

#include "compare/third_party.h"
#include "records/record_label.h"

namespace tilescope::analysis {
namespace {

std::optional<double> counter(const ComparedPoint& compared, const HardwareProfile& hardware, const char* name) {
  const auto named = hardware.work_counters.find(name);
  if (named == hardware.work_counters.end()) return std::nullopt;
  const auto found = compared.record.counters.find(named->second.metric);
  if (found == compared.record.counters.end()) return std::nullopt;
  return found->second * named->second.scale;
}

}  // namespace

std::vector<PictureRecord> picture_records(const Comparison& comparison, const HardwareProfile& hardware) {
  std::vector<PictureRecord> records;
  for (const ComparedPoint& compared : comparison.points) {
    const validate::MeasurePoint& point = compared.record.point;
    PictureRecord record{.compared = &compared,
                         .kernel = point.kernel,
                         .label = implementation_label(point) + " " + workload_label(point),
                         .regime = regime_of(compared.prediction),
                         .third_party = is_third_party(compared.plan)};
    if (record.prediction().time.spills) record.label += " spills";
    for (const Measured& m : measured_quantities(compared.record, hardware, compared.plan, compared.prediction)) {
      if (m.quantity == "seconds") record.seconds = m.value;
      if (m.quantity == "busy_cycles") record.busy_cycles = m.value;
      if (m.quantity == "traffic" && m.level == "hbm")
        (m.direction == "read" ? record.hbm_read : record.hbm_write) = m.value;
    }
    record.elapsed_cycles = counter(compared, hardware, "cycles");
    records.push_back(std::move(record));
  }
  return records;
}

Pictures pictures_of(const Comparison& comparison, const HardwareProfile& hardware,
                     const std::filesystem::path& errors) {
  const std::vector<PictureRecord> records = picture_records(comparison, hardware);
  std::set<std::string> kernels, experiments;
  for (const PictureRecord& record : records) {
    kernels.insert(record.kernel);
    experiments.insert(record.compared->record.experiment);
  }
  Pictures pictures{.records = static_cast<double>(records.size()),
                    .kernels = static_cast<double>(kernels.size()),
                    .experiments = {experiments.begin(), experiments.end()}};
  add_residuals(pictures, records, hardware, errors);
  pictures.splits = time_splits(records, hardware);
  pictures.lengths = length_series(records);
  add_clocks(pictures, records, hardware);
  return pictures;
}

}  // namespace tilescope::analysis
