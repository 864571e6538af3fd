#include "analysis/report/report.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "analysis/number.h"
#include "analysis/report/points.h"

namespace tilescope::analysis {
namespace {

ReportRow row_of(const ComparisonRow& row) {
  return {.point = row.point,
          .kernel = row.kernel,
          .quantity = row.quantity + (row.direction.empty() ? "" : " " + row.direction),
          .level = row.level,
          .predicted = finite(row.predicted),
          .measured = finite(row.measured),
          .ratio = row.measured == 0 ? Number() : finite(row.predicted / row.measured),
          .tolerance = row.tolerance,
          .slack = row.slack,
          .verdict = row.verdict,
          .reason = row.reason};
}

Summary summary_of(const SummaryRow& row) {
  return {.kernel = row.kernel,
          .quantity = row.quantity,
          .n = static_cast<double>(row.n),
          .failed = static_cast<double>(row.failed),
          .mean = finite(row.mean),
          .median = finite(row.median),
          .p90 = finite(row.p90),
          .worst = finite(row.worst)};
}

// Of all rows with a time, whatever their kernel.
std::optional<Summary> time_error_of(const Comparison& comparison) {
  std::vector<double> errors;
  for (const ComparisonRow& row : comparison.rows)
    if (row.quantity == "seconds" && std::isfinite(row.relative_error())) errors.push_back(row.relative_error());
  if (errors.empty()) return std::nullopt;
  Summary summary = summary_of(spread(std::move(errors)));
  summary.quantity = "seconds";
  return summary;
}

// The largest unmasked point of a single-kernel schedule: the one worth explaining and searching around.
const ComparedPoint* showcase(const Comparison& comparison) {
  const ComparedPoint* best = nullptr;
  for (const ComparedPoint& compared : comparison.points) {
    if (compared.plan.schedule.islands.size() != 1 || compared.point.mask.masks()) continue;
    const auto size = [](const ComparedPoint& p) {
      return std::tuple(p.point.workload.d_qk == 128, p.record.point.workload.q_len == 4096,
                        p.prediction.work.tensor_flop, p.record.point.tile_q * p.record.point.tile_kv);
    };
    if (!best || size(compared) > size(*best)) best = &compared;
  }
  return best;
}

}  // namespace

void shorten_kernel_names(Comparison& comparison) {
  std::map<std::string, std::string> names;  // by path
  for (ComparedPoint& compared : comparison.points)
    if (std::string& kernel = compared.record.point.kernel; kernel.find('/') != std::string::npos)
      kernel = names[kernel] = compared.plan.kernel.name;
  const auto shorten = [&](auto& rows) {
    for (auto& row : rows)
      if (const auto known = names.find(row.kernel); known != names.end()) row.kernel = known->second;
  };
  shorten(comparison.rows), shorten(comparison.summary);
}

Report report_of(const Comparison& comparison, const HardwareProfile& hardware, const std::string& revision,
                 const std::string& date) {
  Report report{.title = "Predicted and measured bytes of attention on " + hardware.name,
                .generated = date,
                .revision = revision};
  std::set<std::string> dtypes;
  for (const ComparedPoint& compared : comparison.points)
    dtypes.insert(report.points.emplace_back(point_of(compared, hardware)).dtype);
  name_points(report.points);
  report.gpus = {hardware_of(hardware, dtypes)};
  for (const ComparisonRow& row : comparison.rows) report.rows.push_back(row_of(row));
  for (const SummaryRow& row : comparison.summary) report.summary.push_back(summary_of(row));
  report.time_error = time_error_of(comparison);
  if (const ComparedPoint* shown = showcase(comparison)) {
    report.tile_map = tile_map_of(*shown, hardware);
    report.derivation = derivation_of(*shown, hardware);
  }
  return report;
}

Report report_of_predictions(std::vector<ReportPoint> points, const std::vector<HardwareProfile>& gpus) {
  Report report{.title = gpus.size() == 1 ? "Attention on " + gpus.front().name : "Attention on several GPUs",
                .points = std::move(points)};
  for (const HardwareProfile& gpu : gpus) {
    std::set<std::string> dtypes;
    for (const ReportPoint& point : report.points)
      if (point.gpu == gpu.id) dtypes.insert(point.dtype);
    report.gpus.push_back(hardware_of(gpu, dtypes));
  }
  name_points(report.points);
  return report;
}

}  // namespace tilescope::analysis
