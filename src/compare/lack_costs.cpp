#include "compare/lack_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "compare/catalogue.h"
#include "compare/compare.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "records/json_fields.h"

namespace tilescope {
namespace {

constexpr const char* lack_costs_schema = "tilescope/lack-costs/1";

struct CostPoint {
  const Plan& plan;
  Point point;
  double seconds;  // with all entries measured
};

std::vector<CostPoint> points_on(const HardwareProfile& gpu, const validate::Experiment& experiment,
                                 Catalogue& catalogue) {
  std::vector<CostPoint> points;
  for (const validate::MeasurePoint& measured : experiment.points) {
    validate::Record record;
    record.file = experiment.file, record.point = measured;
    const Plan& plan = catalogue.plan(measured.kernel);
    Point point = model_point(record, plan, catalogue.data_directory);
    if (!unsupported(plan, gpu, point).empty() || !unsupported_on(plan, gpu).empty()) continue;
    Prediction prediction;
    predict(plan, gpu, point, prediction, Wanted::times);
    if (prediction.time.modelled) points.push_back({plan, std::move(point), prediction.time.total});
  }
  return points;
}

void add_costs(LackCost& cost, const HardwareProfile& derived, const std::vector<CostPoint>& points) {
  for (const CostPoint& at : points) {
    const double change = std::abs(predict(at.plan, derived, at.point).time.total / at.seconds - 1);
    cost.mean += change, cost.worst = std::max(cost.worst, change), ++cost.points;
  }
}

}  // namespace

std::vector<LackCost> lack_costs(const std::filesystem::path& data_directory, const validate::Experiment& experiment,
                                 const std::function<void(std::size_t done, std::size_t all)>& progress) {
  Catalogue catalogue{.data_directory = data_directory, .plans = {}, .profiles = {}};
  const std::vector<HardwareProfile> all = list_profiles(data_directory / "hardware");
  std::vector<LackCost> costs;
  for (const DerivedRule& rule : derived_rules())
    if (std::none_of(costs.begin(), costs.end(), [&](const LackCost& cost) { return cost.entry == rule.entry; }))
      costs.push_back({.entry = rule.entry});
  costs.push_back({.entry = every_entry});
  std::vector<const HardwareProfile*> measured;
  for (const HardwareProfile& gpu : all)
    if (gpu.measured && lacking_entries(gpu).empty()) measured.push_back(&gpu);
  std::size_t done = 0;
  for (const HardwareProfile* gpu : measured) {
    const std::vector<CostPoint> points = points_on(*gpu, experiment, catalogue);
    for (LackCost& cost : costs) {
      const bool every = cost.entry == every_entry;
      add_costs(cost,
                every ? with_derived_rates(*gpu, RatesFrom::derived, all)
                      : with_derived_rates(without_entry(*gpu, cost.entry), RatesFrom::stated, all),
                points);
      if (progress) progress(++done, measured.size() * costs.size());
    }
  }
  for (LackCost& cost : costs)
    if (cost.points > 0) cost.mean /= static_cast<double>(cost.points);
  return costs;
}

const Columns<LackCost>& lack_cost_columns() {
  using R = LackCost;
  const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
  const auto percent = [](double value) { return fmt::format("{:.2f} %", 100 * value); };
  static const Columns<R> columns{
      {{"entry", "entry", "", "Entry of a profile that has a rule, or all of them at once.", Origin::profile},
       [](const R& r) { return r.entry; }},
      {{"points", "points", "", "Predicted times, of all measured GPUs.", Origin::question},
       [](const R& r) { return r.points; }},
      {{"mean", "mean change", "", "Mean change of the predicted time when the rule stands in.", Origin::time_model},
       [=](const R& r) { return rounded(r.mean); },
       [=](const R& r) { return percent(r.mean); }},
      {{"worst", "largest change", "", "Largest change.", Origin::time_model},
       [=](const R& r) { return rounded(r.worst); },
       [=](const R& r) { return percent(r.worst); }}};
  return columns;
}

Json to_json(const std::vector<LackCost>& costs) {
  return {{"schema", lack_costs_schema}, {"rows", objects_of(lack_cost_columns(), costs)}};
}

std::map<std::string, LackCost> read_lack_costs(const std::filesystem::path& file) {
  std::map<std::string, LackCost> costs;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return costs;
  const nlohmann::json json = validate::parse_object(read_file(file), file.string(), "a list of costs");
  std::vector<Diagnostic> findings;
  const validate::JsonFields root(json, file.string(), "", findings);
  if (const std::string schema = root.text("schema"); !schema.empty() && schema != lack_costs_schema)
    root.report("schema", fmt::format("expected {}, found {}", lack_costs_schema, shown_text(schema)));
  for (const validate::JsonFields& row : root.objects("rows")) {
    const std::string entry = row.text("entry");
    const auto points = static_cast<std::size_t>(row.integer("points", 1));
    costs[entry] = {entry, points, row.number("mean"), row.number("worst")};
  }
  if (!findings.empty()) throw InputError(std::move(findings));
  return costs;
}

}  // namespace tilescope
