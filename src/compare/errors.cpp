// How far predictions lie from records, by GPU, kernel and regime, and whether such a bar can be trusted.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "compare/compare.h"

namespace tilescope {
namespace {

double rounded(double value) { return std::round(value * 1e6) / 1e6; }

struct Group {
  std::string hardware, kernel, quantity, regime;  // regime empty: all
  auto operator<=>(const Group&) const = default;
};

bool has_bar(const ComparisonRow& row) {
  return row.quantity == "seconds" || (row.quantity == "traffic" && row.level == "hbm" && row.direction == "read");
}
std::string bar_name(const ComparisonRow& row) { return row.quantity == "seconds" ? "seconds" : "hbm_read_bytes"; }

std::map<Group, std::vector<double>> errors_by_group(const Comparison& comparison) {
  std::map<std::string, std::string> regimes;
  for (const ComparedRecord& record : comparison.records) regimes[record.point] = record.regime;
  std::map<Group, std::vector<double>> errors;
  for (const ComparisonRow& row : comparison.rows) {
    if (!has_bar(row) || !std::isfinite(row.relative_error())) continue;
    errors[{row.hardware, row.kernel, bar_name(row), ""}].push_back(row.relative_error());
    if (const auto regime = regimes.find(row.point); regime != regimes.end())
      errors[{row.hardware, row.kernel, bar_name(row), regime->second}].push_back(row.relative_error());
  }
  return errors;
}

}  // namespace

double bar_held(const std::vector<double>& errors) {
  if (errors.size() < 2) return 0;
  std::size_t held = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    std::vector<double> others = errors;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    held += errors[i] <= spread(std::move(others)).p90;
  }
  return static_cast<double>(held) / static_cast<double>(errors.size());
}

std::vector<Calibration> calibration(const Comparison& comparison) {
  std::map<std::string, std::pair<double, std::size_t>> held;  // by quantity: records within the bar, records
  for (const auto& [group, errors] : errors_by_group(comparison)) {
    if (!group.regime.empty() || errors.size() < 2) continue;
    held[group.quantity].first += bar_held(errors) * static_cast<double>(errors.size());
    held[group.quantity].second += errors.size();
  }
  std::vector<Calibration> list;
  for (const auto& [quantity, counts] : held)
    list.push_back({quantity, counts.first / static_cast<double>(counts.second), counts.second});
  return list;
}

Json error_summary(const Comparison& comparison) {
  Json rows = Json::array();
  for (const auto& [group, errors] : errors_by_group(comparison)) {
    const SummaryRow error = spread(errors);
    const std::string which = group.regime.empty() ? "records" : group.regime + " records";
    rows.push_back({{"hardware", group.hardware},
                    {"kernel", group.kernel},
                    {"quantity", group.quantity},
                    {"regime", group.regime.empty() ? Json(nullptr) : Json(group.regime)},
                    {"mape", rounded(error.mean)},
                    {"p90", rounded(error.p90)},
                    {"n", error.n},
                    {"held", errors.size() < 2 ? Json(nullptr) : Json(rounded(bar_held(errors)))},
                    {"basis", fmt::format("{} {} of {} on {}", error.n, which, group.kernel, group.hardware)}});
  }
  return {{"schema", "tilescope/errors/1"}, {"rows", std::move(rows)}};
}

}  // namespace tilescope
