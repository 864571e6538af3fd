#include "request/sensitivity/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/checked.h"
#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "hardware/changes.h"
#include "hardware/measured.h"
#include "predict/l2/walk/walk.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "request/best_tile.h"

namespace tilescope {
namespace {

constexpr double least_change = 5e-4;  // below it a number does not matter

double relative_change(double now, double before) { return before > 0 ? now / before - 1 : 0; }

// What the changed GPUs are asked.
struct ChangedGpu {
  const Options& options;
  const Answer& unchanged;
  ProfileCatalogue catalogue;
  std::string gpu;  // as --hardware names it
  bool retile = false;
};

double number_value(const HardwareProfile& profile, const std::string& path) {
  for (const ProfileNumber& number : profile_numbers(profile))
    if (number.path == path) return number.value;
  return 0;
}

// The answer of `predict --set PATH=+20%`, with the tile of the unchanged GPU unless each GPU gets its own.
ChangedPoint changed_point(ChangedGpu& question, const std::string& path, double percent) {
  const Plan& plan = question.unchanged.plan;
  ChangedPoint changed;
  try {
    const std::string change = fmt::format("{}={}{}%", path, percent < 0 ? "-" : "+", std::abs(percent));
    const HardwareProfile gpu = question.catalogue.find(changed_name(question.gpu, change),
                                                        rates_from(question.options).value_or(RatesFrom::stated));
    changed.value = number_value(gpu, path);
    Point point = question.unchanged.point;
    if (question.retile)
      settle_tile(plan, gpu, point, tile_given(question.options), search_options(question.options, plan));
    else refuse_unsupported(plan, gpu, point);
    if (const auto outside = outside_shapes(plan.kernel, gpu, point.workload); !outside.empty())
      return changed.reason = join(outside, "; "), changed;
    Prediction prediction;
    predict(plan, gpu, point, prediction, Wanted::times);
    const auto& both = prediction.traffic[Boundary::hbm];
    changed.hbm_bytes = both[0] + both[1];
    changed.runs = prediction.feasible;
    if (changed.runs) changed.seconds = prediction.time.total;
    else changed.reason = no_time_reason({plan, gpu, point, &prediction, question.unchanged.options});
  } catch (const InputError& error) {
    changed.reason = error.diagnostics().front().message;
  } catch (const CountOverflow& error) {
    changed.reason = error.what();
  }
  return changed;
}

double time_span(const SensitivityRow& row) {
  return std::max(std::abs(row.time_change(row.down)), std::abs(row.time_change(row.up)));
}
double hbm_span(const SensitivityRow& row) {
  return std::max(std::abs(row.hbm_change(row.down)), std::abs(row.hbm_change(row.up)));
}

// Paths that --numbers chooses: those that begin with one of its words.
bool number_chosen(const std::vector<std::string>& prefixes, const std::string& path) {
  return prefixes.empty() || std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
           return path == prefix || path.starts_with(prefix + ".");
         });
}

std::vector<std::string> number_prefixes(const Options& options) {
  std::vector<std::string> prefixes;
  for (const std::string& given : options.all("numbers"))
    for (const std::string& prefix : split(given, ',')) prefixes.push_back(prefix);
  return prefixes;
}

std::vector<ProfileNumber> numbers_of(const Options& options, const HardwareProfile& hardware) {
  const std::vector<std::string> prefixes = number_prefixes(options);
  std::vector<ProfileNumber> numbers = profile_numbers(hardware);
  std::vector<std::string> paths;
  for (const ProfileNumber& number : numbers) paths.push_back(number.path);
  std::erase_if(numbers, [&](const ProfileNumber& number) { return !number_chosen(prefixes, number.path); });
  if (numbers.empty())
    refuse("--numbers", fmt::format("no number of {} begins with '{}'{}", hardware.id, join(prefixes, ","),
                                    did_you_mean(prefixes.front(), paths)));
  return numbers;
}

// The walk of every changed GPU would take minutes: the closed form answers all of them, unless --l2 walk is given.
void take_closed_form_if_long(const Options& options, std::size_t predictions, Sensitivity& answer) {
  constexpr std::int64_t most_steps = std::int64_t{1} << 26;  // some 8 s: 0.13 s for a walk of 1 million steps
  const Answer& a = answer.unchanged;
  const std::int64_t steps = walk_steps(a.plan, a.hardware, a.point);
  if (options.has("l2") || steps <= most_steps / static_cast<std::int64_t>(std::max<std::size_t>(1, predictions)))
    return;
  answer.unchanged = tilescope::answer(options.with("l2", "closed"));
  answer.note = fmt::format(
      "the closed form of the L2 answers: {} predictions would walk {} steps each, over {} in all; --l2 walk walks "
      "them",
      predictions, with_thousands(steps), with_thousands(most_steps));
}

}  // namespace

double SensitivityRow::time_change(const ChangedPoint& changed) const {
  return changed.runs ? relative_change(changed.seconds, seconds) : INFINITY;
}

double SensitivityRow::hbm_change(const ChangedPoint& changed) const {
  return changed.runs ? relative_change(static_cast<double>(changed.hbm_bytes), static_cast<double>(hbm_bytes)) : 0;
}

bool SensitivityRow::matters() const { return time_span(*this) >= least_change || hbm_span(*this) >= least_change; }

std::vector<OptionSpec> sensitivity_options() {
  return point_options() +
         std::vector<OptionSpec>{
             {"step", "percent by which each number is made smaller and larger, 1 to 90 (default 20)", Value::count},
             {"numbers", "only numbers that begin so, as in levels,measured.hbm (default: all)"},
             {"retile", "search the best tile for each changed GPU (default: the tile of the unchanged one)",
              Value::flag}};
}

Sensitivity sensitivity_of(const Options& options,
                           const std::function<void(std::size_t done, std::size_t all)>& progress) {
  Sensitivity answer{.unchanged = tilescope::answer(options), .retiled = options.has("retile"), .rows = {}};
  answer.percent = static_cast<double>(options.integer("step", 1, 90).value_or(20));
  if (!answer.unchanged.prediction.feasible) return answer;
  const std::vector<ProfileNumber> numbers = numbers_of(options, answer.unchanged.hardware);
  take_closed_form_if_long(options, 2 * numbers.size(), answer);
  const Prediction& before = answer.unchanged.prediction;
  const auto& both = before.traffic[Boundary::hbm];
  ChangedGpu question{options, answer.unchanged, ProfileCatalogue(data_directory() / "hardware"),
                      options.text("hardware").value_or(""), answer.retiled};
  for (const ProfileNumber& number : numbers) {
    answer.rows.push_back({.path = number.path,
                           .dimension = number.dimension,
                           .value = number.value,
                           .down = changed_point(question, number.path, -answer.percent),
                           .up = changed_point(question, number.path, answer.percent),
                           .seconds = before.time.total,
                           .hbm_bytes = both[0] + both[1]});
    if (progress) progress(answer.rows.size(), numbers.size());
  }
  std::stable_sort(answer.rows.begin(), answer.rows.end(), [](const SensitivityRow& a, const SensitivityRow& b) {
    return std::tuple(-time_span(a), -hbm_span(a), a.path) < std::tuple(-time_span(b), -hbm_span(b), b.path);
  });
  return answer;
}

Columns<SensitivityRow> sensitivity_columns() {
  using Row = SensitivityRow;
  Columns<Row> columns;
  const auto percent = [](double change) {
    return std::isinf(change) ? Json("cannot run") : Json(fmt::format("{:+.1f} %", change * 100));
  };
  const auto add = [&](const char* key, const char* title, const char* unit, const char* meaning, Origin origin,
                       std::function<Json(const Row&)> value, std::function<Json(const Row&)> text = {}) {
    columns.push_back({{key, title, unit, meaning, origin}, std::move(value), std::move(text)});
  };
  const auto add_side = [&](const char* side, ChangedPoint Row::*part) {
    const std::string key = side, sign = key == "down" ? "smaller" : "larger";
    const auto of = [part](auto&& value) {
      return [part, value](const Row& r) { return (r.*part).runs ? Json(value(r, r.*part)) : Json(nullptr); };
    };
    columns.push_back({{"value_" + key, "value", "", "The number, " + sign + ", as --set makes it.", Origin::profile},
                       [part](const Row& r) { return (r.*part).value; },
                       {},
                       true,
                       false});
    columns.push_back({{"seconds_" + key, "seconds", "s", "Time with the " + sign + " number; null: it cannot run.",
                        Origin::time_model},
                       of([](const Row&, const ChangedPoint& c) { return c.seconds; }),
                       {},
                       true,
                       false});
    columns.push_back({{"hbm_bytes_" + key, "bytes", "B", "Bytes of HBM with the " + sign + " number.", Origin::cache},
                       of([](const Row&, const ChangedPoint& c) { return c.hbm_bytes; }),
                       {},
                       true,
                       false});
    columns.push_back({{"time_" + key, "time, " + sign, "", "Relative change of the time with the " + sign + " number.",
                        Origin::time_model},
                       of([](const Row& r, const ChangedPoint& c) { return r.time_change(c); }),
                       [part, percent](const Row& r) { return percent(r.time_change(r.*part)); }});
    columns.push_back(
        {{"hbm_" + key, "HBM bytes, " + sign, "", "Relative change of the bytes of HBM with the " + sign + " number.",
          Origin::cache},
         of([](const Row& r, const ChangedPoint& c) { return r.hbm_change(c); }),
         [part, percent](const Row& r) { return (r.*part).runs ? percent(r.hbm_change(r.*part)) : Json(nullptr); }});
  };
  add("number", "number", "", "The number of the profile, as --set takes it.", Origin::profile,
      [](const Row& r) { return r.path; });
  add(
      "value", "value", "", "Its value, in the unit of the next column.", Origin::profile,
      [](const Row& r) { return r.value; },
      [](const Row& r) {
        return r.dimension == Dimension::count ? Json(fmt::format("{}", r.value))
                                               : Json(with_si(r.value, base_unit(r.dimension)));
      });
  columns.push_back({{"unit", "unit", "", "Unit of the values; 1: a count.", Origin::profile},
                     [](const Row& r) { return base_unit(r.dimension); },
                     {},
                     true,
                     false});
  add_side("down", &Row::down), add_side("up", &Row::up);
  add("reason", "why it cannot run", "", "Why the point cannot run with the changed number; empty: it can.",
      Origin::question, [](const Row& r) { return r.down.reason.empty() ? r.up.reason : r.down.reason; });
  return columns;
}

ColumnList sensitivity_column_list() {
  return listed("sensitivity", "sensitivity: JSON rows[], CSV, text", sensitivity_columns());
}

Json Sensitivity::json() const {
  const Json whole = unchanged.json();
  Json json{
      {"schema", "tilescope/sensitivity/1"}, {"point", whole["point"]}, {"feasible", unchanged.prediction.feasible}};
  if (whole.contains("unsupported")) json["unsupported"] = whole["unsupported"];
  if (whole.contains("infeasible")) json["infeasible"] = whole["infeasible"];
  json["step_percent"] = percent;
  json["tile"] = retiled ? "searched" : "kept";
  const auto& both = unchanged.prediction.traffic[Boundary::hbm];
  json["seconds"] = unchanged.prediction.feasible ? Json(unchanged.prediction.time.total) : Json(nullptr);
  json["hbm_bytes"] = unchanged.prediction.feasible ? Json(both[0] + both[1]) : Json(nullptr);
  for (const char* key : {"model", "basis"})
    json[key] = unchanged.prediction.feasible ? whole["time"][key] : Json(nullptr);
  json["rows"] = objects_of(sensitivity_columns(), rows);
  return json;
}

}  // namespace tilescope
