#include "report/model.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/text.h"
#include "report/text/text_format.h"

namespace tilescope::report {
namespace {

Traffic at_level(const Side& side, const std::string& level) {
  for (const Traffic& traffic : side.traffic)
    if (traffic.level == level) return traffic;
  return {.level = level};
}

// Everything the point itself carries, predicted beside measured.
std::vector<ReportRow> rows_of(const ReportPoint& point) {
  std::vector<ReportRow> rows;
  const Side none;
  const Side& measured = point.measured ? *point.measured : none;
  const auto add = [&](const std::string& quantity, const std::string& level, Number predicted, Number observed) {
    if (!predicted && !observed) return;
    rows.push_back({.point = point.id,
                    .kernel = point.kernel,
                    .quantity = quantity,
                    .level = level,
                    .predicted = predicted,
                    .measured = observed});
  };
  std::vector<std::string> levels;
  for (const auto* side : {&point.predicted, &measured})
    for (const Traffic& t : side->traffic)
      if (!contains(levels, t.level)) levels.push_back(t.level);
  for (const std::string& level : levels) {
    const Traffic expected = at_level(point.predicted, level), observed = at_level(measured, level);
    add("read_bytes", level, expected.read_bytes, observed.read_bytes);
    add("write_bytes", level, expected.write_bytes, observed.write_bytes);
    add("operand_read_bytes", level, expected.operand_read_bytes, observed.operand_read_bytes);
  }
  std::set<std::string> names;
  for (const auto* side : {&point.predicted, &measured})
    for (const auto& [name, value] : side->work) names.insert(name);
  for (const std::string& name : names)
    add(name, "", count_of(point.predicted.work, name), count_of(measured.work, name));
  add("seconds", "", point.predicted.seconds, measured.seconds);
  add("seconds_cold", "", {}, measured.seconds_cold);
  add("clock_hz", "", point.predicted.clock_hz, measured.clock_hz);
  return rows;
}

}  // namespace

std::vector<ReportRow> all_rows(const Report& report) {
  std::vector<ReportRow> rows = report.rows;
  // By the name that is shown: the comparison's "traffic read" at hbm is the point's "read_bytes" at hbm.
  std::set<std::pair<std::string, std::string>> known;
  for (const ReportRow& row : rows) known.emplace(row.point, quantity_name(row.quantity, row.level));
  for (const ReportPoint& point : report.points)
    for (ReportRow& row : rows_of(point))
      if (!known.contains({row.point, quantity_name(row.quantity, row.level)})) rows.push_back(std::move(row));
  return rows;
}

bool only_operands(const Report& report, const std::string& level) {
  bool operands = false;
  for (const ReportPoint& point : report.points) {
    if (!point.measured) continue;
    const Traffic traffic = at_level(*point.measured, level);
    if (traffic.read_bytes || traffic.write_bytes) return false;
    operands = operands || traffic.operand_read_bytes;
  }
  return operands;
}

Traffic shown_traffic(const Side& side, const std::string& level, bool operands) {
  Traffic traffic = at_level(side, level);
  if (operands) traffic = {.level = level, .read_bytes = traffic.operand_read_bytes};
  return traffic;
}

std::string label_of(const Report& report, const std::string& id) {
  for (const ReportPoint& point : report.points)
    if (point.id == id) return point.label;
  return id;
}

std::string unit_name(const std::string& key) {
  for (const UnitName& unit : kUnits)
    if (key == unit.key) return unit.name;
  return key;
}

std::string records_text(const Pictures& pictures) {
  std::string text = with_thousands(static_cast<long long>(pictures.records)) +
                     (pictures.records == 1 ? " record of " : " records of ") +
                     with_thousands(static_cast<long long>(pictures.kernels)) +
                     (pictures.kernels == 1 ? " kernel" : " kernels");
  if (!pictures.experiments.empty())
    text += (pictures.experiments.size() == 1 ? " (experiment " : " (experiments ") + join(pictures.experiments, ", ") +
            ")";
  return text;
}

}  // namespace tilescope::report
