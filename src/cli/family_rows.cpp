// The table of the family: one row a kernel, predicted beside measured.
#include <algorithm>
#include <set>
#include <tuple>

#include "cli/family.h"
#include "records/record_label.h"

namespace tilescope::cli {
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

Json errors_of(const std::vector<const ComparisonRow*>& rows) {
  if (rows.empty()) return nullptr;
  std::vector<double> errors;
  for (const ComparisonRow* row : rows) errors.push_back(row->relative_error());
  const SummaryRow s = spread(std::move(errors));
  return {{"n", s.n}, {"median", s.median}, {"worst", s.worst}};
}

Json quantity_json(const FamilyPoint& shown, const Comparison& comparison, const HardwareProfile& hardware,
                   const FamilyQuantity& quantity) {
  std::vector<const ComparisonRow*> judged, others;
  for (const ComparisonRow& row : comparison.rows)
    if (row.hardware == hardware.id && row.kernel == shown.point().kernel && row.quantity == quantity.quantity &&
        row.level == quantity.level && row.direction == quantity.direction)
      (row.tolerance ? judged : others).push_back(&row);
  Json json{{"quantity", quantity.name}, {"title", quantity.title}};
  const auto predicted = find(shown.predicted, quantity.name), measured = find(shown.measured, quantity.name);
  json["predicted"] = predicted ? Json(*predicted) : Json(nullptr);
  json["measured"] = measured ? Json(*measured) : Json(nullptr);
  json["ratio"] = predicted && measured && *measured != 0 ? Json(*predicted / *measured) : Json(nullptr);
  json["absent"] = why_absent(shown, hardware, quantity);
  json["judged"] = errors_of(judged);
  json["not_judged"] = errors_of(others);
  json["outside"] =
      std::count_if(judged.begin(), judged.end(), [](const auto* row) { return row->verdict == Verdict::fail; });
  return json;
}

Json launches_json(const FamilyPoint& shown) {
  Json names = Json::array();
  for (const Island& island : shown.plan().schedule.islands) names.push_back(island.name);
  return {
      {"predicted", names.size()}, {"measured", shown.compared->record.islands.size()}, {"names", std::move(names)}};
}

}  // namespace

Json family_rows(const std::vector<FamilyPoint>& points, const Comparison& comparison,
                 const HardwareProfile& hardware) {
  Company company;
  std::map<std::string, std::vector<const FamilyPoint*>> kernels;
  for (const FamilyPoint& point : points) {
    company[point.workload].insert(point.point().kernel);
    kernels[point.point().kernel].push_back(&point);
  }
  Json rows = Json::array();
  for (const bool third_party : {false, true})
    for (const auto& [kernel, records] : kernels) {
      if (records.front()->third_party() != third_party) continue;
      const FamilyPoint& shown = representative(records, company);
      Json quantities = Json::array();
      for (const FamilyQuantity& quantity : family_quantities)
        quantities.push_back(quantity_json(shown, comparison, hardware, quantity));
      rows.push_back({{"kernel", kernel},
                      {"summary", shown.plan().kernel.summary},
                      {"third_party", third_party},
                      {"schedule", shown.plan().schedule.name},
                      {"pass", pass_of(shown.plan().schedule.diagram)},
                      {"records", records.size()},
                      {"point", point_id(shown.point())},
                      {"implementation", implementation_label(shown.point())},
                      {"workload", workload_label(shown.point())},
                      {"launches", launches_json(shown)},
                      {"quantities", std::move(quantities)}});
    }
  return rows;
}

}  // namespace tilescope::cli
