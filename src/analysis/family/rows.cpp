// The table of the family: one row a kernel, predicted beside measured.
#include <algorithm>
#include <set>
#include <tuple>

#include "analysis/family/points.h"
#include "analysis/number.h"
#include "records/record_label.h"

namespace tilescope::analysis {
namespace {

// How many kernels were measured on a workload.
using Company = std::map<std::string, std::set<std::string>>;

// The workload that most kernels share, so that rows compare; of its records the one with most work, then the fastest.
const FamilyPoint& representative(const std::vector<const FamilyPoint*>& records, const Company& company) {
  const auto rank = [&](const FamilyPoint* p) {
    return std::tuple(company.at(p->workload).size(), p->prediction().work.model_flop, -p->seconds);
  };
  return **std::max_element(records.begin(), records.end(),
                            [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
}

std::optional<ErrorSpread> errors_of(const std::vector<const ComparisonRow*>& rows) {
  if (rows.empty()) return std::nullopt;
  std::vector<double> errors;
  for (const ComparisonRow* row : rows) errors.push_back(row->relative_error());
  const SummaryRow s = spread(std::move(errors));
  return ErrorSpread{static_cast<double>(s.n), finite(s.median), finite(s.worst)};
}

FamilyNumber number_of(const FamilyPoint& shown, const Comparison& comparison, const HardwareProfile& hardware,
                       const FamilyQuantity& quantity) {
  std::vector<const ComparisonRow*> judged, others;
  for (const ComparisonRow& row : comparison.rows)
    if (row.hardware == hardware.id && row.kernel == shown.point().kernel && row.quantity == quantity.quantity &&
        row.level == quantity.level && row.direction == quantity.direction)
      (row.tolerance ? judged : others).push_back(&row);
  FamilyNumber number{.quantity = quantity.name, .title = quantity.title};
  number.predicted = find(shown.predicted, quantity.name), number.measured = find(shown.measured, quantity.name);
  if (number.predicted && number.measured && *number.measured != 0) number.ratio = *number.predicted / *number.measured;
  number.absent = why_absent(shown, hardware, quantity);
  number.judged = errors_of(judged), number.not_judged = errors_of(others);
  number.outside = static_cast<double>(
      std::count_if(judged.begin(), judged.end(), [](const auto* row) { return row->verdict == Verdict::fail; }));
  return number;
}

FamilyRow row_of(const FamilyPoint& shown, std::size_t records, const Comparison& comparison,
                 const HardwareProfile& hardware) {
  const Schedule& schedule = shown.plan().schedule;
  FamilyRow row{.kernel = shown.point().kernel,
                .summary = shown.plan().kernel.summary,
                .schedule = schedule.name,
                .pass = to_string(pass_of(schedule.diagram)),
                .point = point_id(shown.point()),
                .implementation = implementation_label(shown.point()),
                .workload = workload_label(shown.point()),
                .third_party = shown.third_party(),
                .records = static_cast<double>(records),
                .launches_predicted = static_cast<double>(schedule.islands.size()),
                .launches_measured = static_cast<double>(shown.compared->record.islands.size())};
  for (const Island& island : schedule.islands) row.launch_names.push_back(island.name);
  for (const FamilyQuantity& quantity : family_quantities)
    row.numbers.push_back(number_of(shown, comparison, hardware, quantity));
  return row;
}

}  // namespace

std::vector<FamilyRow> family_rows(const std::vector<FamilyPoint>& points, const Comparison& comparison,
                                   const HardwareProfile& hardware) {
  Company company;
  std::map<std::string, std::vector<const FamilyPoint*>> kernels;
  for (const FamilyPoint& point : points) {
    company[point.workload].insert(point.point().kernel);
    kernels[point.point().kernel].push_back(&point);
  }
  std::vector<FamilyRow> rows;
  for (const bool third_party : {false, true})
    for (const auto& [kernel, records] : kernels)
      if (records.front()->third_party() == third_party)
        rows.push_back(row_of(representative(records, company), records.size(), comparison, hardware));
  return rows;
}

}  // namespace tilescope::analysis
