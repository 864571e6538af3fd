#include "analysis/report/model.h"

#include <map>

namespace tilescope::analysis {

Number count_of(const Counts& counts, const std::string& name) {
  for (const auto& [known, value] : counts)
    if (known == name) return value;
  return {};
}

void set_count(Counts& counts, const std::string& name, double value) {
  for (auto& [known, old] : counts)
    if (known == name) {
      old = value;
      return;
    }
  counts.emplace_back(name, value);
}

void name_points(std::vector<ReportPoint>& points) {
  std::map<std::string, int> uses;
  for (const ReportPoint& point : points) ++uses[point.label];
  for (std::size_t i = 0; i < points.size(); ++i) {
    ReportPoint& point = points[i];
    point.key = std::to_string(i);
    if (uses[point.label] > 1 && point.label != point.id) point.label += " (" + point.id + ")";
  }
}

}  // namespace tilescope::analysis
