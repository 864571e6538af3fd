#include "compare/ablation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "predict/point/mechanisms.h"
#include "predict/point/support.h"
#include "predict/predict.h"

namespace tilescope {
namespace {

constexpr double short_launch = 20e-6;  // s

// Relative errors of a point: as measured quantities lack them, below 0.
struct PointErrors {
  double cycles = -1, seconds = -1;
  double predicted_cycles = 0, predicted_seconds = 0;
  bool is_short = false;
};

struct Choice {
  std::string name, meaning;
  TimeChoices time;
};

std::vector<Choice> choices_of(Ablations of) {
  std::vector<Choice> list{{"all", "the model as it is", {}}};
  if (of == Ablations::mechanisms)
    for (const auto& row : EnumTable<Mechanism>::rows)
      list.push_back({std::string(row.name), std::string(row.meaning), without(row.value)});
  else
    for (const SmEngine engine : {SmEngine::simulated, SmEngine::synthesised})
      list.push_back({to_string(engine), "", TimeChoices{.engine = engine}});
  return list;
}

PointErrors errors_of(const validate::Record& record, const HardwareProfile& hardware, const Plan& plan,
                      const Prediction& prediction) {
  PointErrors errors{.predicted_cycles = prediction.time.busy_cycles, .predicted_seconds = prediction.time.total};
  for (const Measured& measured : measured_quantities(record, hardware, plan, prediction)) {
    if (measured.value <= 0) continue;
    const double error = std::abs(predicted_value(prediction, measured) / measured.value - 1);
    if (measured.quantity == "busy_cycles") errors.cycles = error;
    if (measured.quantity == "seconds") errors.seconds = error;
    if (measured.quantity == "seconds" || measured.quantity == "seconds_by_host")
      errors.is_short = measured.value < short_launch;
  }
  return errors;
}

bool differs(double a, double b) { return std::abs(a - b) > 1e-4 * std::max(std::abs(a), std::abs(b)); }

// Mean and worst of those that were measured.
std::size_t spread_of(const std::vector<PointErrors>& points, double PointErrors::*error, bool of_short, double& mean,
                      double& worst) {
  std::size_t n = 0;
  double sum = 0;
  for (const PointErrors& point : points)
    if (point.is_short == of_short && point.*error >= 0)
      ++n, sum += point.*error, worst = std::max(worst, point.*error);
  mean = n > 0 ? sum / static_cast<double>(n) : 0;
  return n;
}

AblationRow row_of(const Choice& choice, const std::string& kernel, const std::vector<PointErrors>& whole,
                   const std::vector<PointErrors>& points) {
  AblationRow row{.choice = choice.name, .meaning = choice.meaning, .kernel = kernel};
  double ignored = 0;
  row.n = spread_of(points, &PointErrors::seconds, false, row.seconds_mean, row.seconds_worst);
  spread_of(points, &PointErrors::cycles, false, row.cycles_mean, row.cycles_worst);
  spread_of(points, &PointErrors::seconds, true, row.short_mean, ignored);
  double cycles = 0, seconds = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!differs(whole[i].predicted_cycles, points[i].predicted_cycles) &&
        !differs(whole[i].predicted_seconds, points[i].predicted_seconds))
      continue;
    ++row.changed;
    if (points[i].cycles >= 0) cycles += points[i].cycles - whole[i].cycles;
    if (points[i].seconds >= 0) seconds += points[i].seconds - whole[i].seconds;
  }
  if (row.changed > 0)
    row.cycles_gain = cycles / static_cast<double>(row.changed),
    row.seconds_gain = seconds / static_cast<double>(row.changed);
  return row;
}

}  // namespace

std::vector<AblationRow> ablations(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                                   Ablations of, const CompareProgress& progress) {
  const std::vector<Choice> choices = choices_of(of);
  std::vector<TimeChoices> times;
  for (const Choice& choice : choices) times.push_back(choice.time);
  std::size_t done = 0, all = 0;
  validate::for_each_record(records, [&](const validate::Record&) { ++all; });
  Catalogue catalogue{.data_directory = data_directory, .plans = {}, .profiles = {}};
  std::map<std::string, std::vector<std::vector<PointErrors>>> by_kernel;  // by choice, then point
  validate::for_each_record(records, [&](validate::Record&& record) {
    require_right_result(record);
    const Plan& plan = catalogue.plan(record.point.kernel);
    const HardwareProfile& hardware = catalogue.profile(record);
    const Point point = model_point(record, plan, data_directory);
    require_possible(record, plan, hardware, point);
    if (outside_shapes(plan.kernel, hardware, point.workload).empty()) {
      std::vector<PointErrors> found;
      predict_times(plan, hardware, point, times, [&](const Prediction& prediction) {
        if (prediction.feasible) found.push_back(errors_of(record, hardware, plan, prediction));
      });
      if (found.size() == choices.size())
        for (const std::string& kernel : {std::string("all"), record.point.kernel}) {
          auto& own = by_kernel[kernel];
          own.resize(choices.size());
          for (std::size_t i = 0; i < choices.size(); ++i) own[i].push_back(found[i]);
        }
    }
    if (progress) progress(++done, all);
  });
  std::vector<AblationRow> rows;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (by_kernel.contains("all")) rows.push_back(row_of(choices[i], "all", by_kernel["all"][0], by_kernel["all"][i]));
    for (const auto& [kernel, points] : by_kernel)
      if (kernel != "all") rows.push_back(row_of(choices[i], kernel, points[0], points[i]));
  }
  return rows;
}

}  // namespace tilescope
