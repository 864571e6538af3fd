#include "request/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/explain/prediction_columns.h"
#include "predict/predict.h"
#include "predict/rate_basis.h"
#include "predict/sm/rates.h"
#include "request/answer.h"
#include "request/best_tile.h"
#include "request/read_point.h"

namespace tilescope {
namespace {

std::vector<std::string> list_of(const Options& options, const std::string& name) {
  std::vector<std::string> values;
  for (const std::string& given : options.all(name))
    for (const std::string& value : split(given, ';')) {
      if (value.empty()) refuse("--" + name, fmt::format("holds an empty value: '{}'", given));
      values.push_back(value);
    }
  return values;
}

// One row: a point on one GPU with one dtype choice, and what was predicted of it.
struct ComparedRow {
  const Plan& plan;
  const HardwareProfile& hardware;
  Point point;
  Prediction prediction = {};
  JsonOptions options = {};
};

// The shortest time that may be compared with others: of a kernel that runs, by the model of blocks. 0: there is none.
double fastest_seconds(const std::deque<ComparedRow>& rows) {
  double fastest = 0;
  for (const ComparedRow& row : rows) {
    const TimePrediction& time = row.prediction.time;
    if (time.modelled && row.prediction.feasible && (fastest == 0 || time.total < fastest)) fastest = time.total;
  }
  return fastest;
}

// GPUs of the question with the rates that they are compared by.
std::vector<HardwareProfile> compared_gpus(const std::vector<std::string>& ids, std::optional<RatesFrom> rates) {
  ProfileCatalogue catalogue(data_directory() / "hardware");
  std::vector<HardwareProfile> gpus;
  for (const std::string& id : ids) gpus.push_back(catalogue.find(id, rates.value_or(RatesFrom::stated)));
  if (rates || ids.size() == 1 || common_rates(gpus) == RatesFrom::stated) return gpus;
  for (HardwareProfile& gpu : gpus) gpu = catalogue.complete(std::move(gpu), RatesFrom::derived);
  return gpus;
}

std::vector<std::string> gpus_of(const Options& options) {
  std::vector<std::string> gpus;
  for (const std::string& given : options.all("hardware"))
    for (const std::string& id : split(given, ',')) {
      if (id.empty()) refuse("--hardware", fmt::format("holds an empty value: '{}'", given));
      gpus.push_back(id);
    }
  if (gpus.empty()) refuse("--hardware", "is missing: give GPUs to compare, as in --hardware h100_sxm,h200_sxm");
  return gpus;
}

std::vector<Plan> plans_of(const Options& options) {
  std::vector<Plan> plans;
  for (const std::string& kernel : list_of(options, "kernel"))
    plans.push_back(read_plan(options, kernel, std::nullopt));
  for (const std::string& schedule : list_of(options, "schedule"))
    plans.push_back(read_plan(options, std::nullopt, schedule));
  if (plans.empty()) plans.push_back(read_plan(options, std::nullopt, std::nullopt));
  return plans;
}

}  // namespace

std::vector<std::string> compared_keys() {
  std::vector<std::string> keys;
  for (const PredictionColumn& column : columns_at(prediction_columns(std::vector<std::string>{}), shown::compare))
    keys.push_back(column.key);
  return keys;
}

std::vector<std::vector<Json>> compared_rows(const Options& options,
                                             const std::function<void(std::size_t done, std::size_t all)>& progress) {
  const std::vector<HardwareProfile> gpus = compared_gpus(gpus_of(options), rates_from(options));
  std::vector<std::string> dtypes = list_of(options, "dtype");
  if (dtypes.empty()) dtypes.emplace_back();
  const Options shared = options.without("dtype");  // each dtype gives a row
  const std::vector<Plan> plans = plans_of(options);
  const std::size_t all = plans.size() * gpus.size() * dtypes.size();
  std::deque<ComparedRow> predicted;  // predictions name arrays of their plans
  for (const Plan& plan : plans) {
    const Point point = read_point(shared, plan);
    for (const HardwareProfile& hardware : gpus)
      for (const std::string& dtype : dtypes) {
        ComparedRow& row = predicted.emplace_back(ComparedRow{plan, hardware, point});
        if (!dtype.empty()) apply_dtypes(row.point, plan, dtype);
        settle_tile(plan, hardware, row.point, tile_given(options), search_options(options, plan));
        predict(plan, hardware, row.point, row.prediction);
        row.options = stated_errors(plan, hardware, regime_of(row.prediction));
        if (progress) progress(predicted.size(), all);
      }
  }
  const double fastest = fastest_seconds(predicted);
  std::vector<std::vector<Json>> rows;
  for (ComparedRow& row : predicted) {
    row.options.fastest_seconds = fastest;
    auto& cells = rows.emplace_back();
    for (const PredictionColumn& column : columns_at(prediction_columns(row.plan), shown::compare))
      cells.push_back(cell(column, {row.plan, row.hardware, row.point, &row.prediction, row.options}));
  }
  return rows;
}

RatesFrom common_rates(const std::vector<HardwareProfile>& stated) {
  const auto serves = [](const HardwareProfile& gpu) {
    return gpu.measured && missing_sm_rate(gpu) == nullptr && modelled_basis(gpu) != Basis::measured;
  };
  return std::any_of(stated.begin(), stated.end(), serves) ? RatesFrom::derived : RatesFrom::stated;
}

Json compared_json(const std::vector<std::vector<Json>>& rows) {
  const std::vector<std::string> keys = compared_keys();
  Json list = Json::array();
  for (const std::vector<Json>& row : rows) {
    Json object;
    for (std::size_t c = 0; c < row.size(); ++c) object[keys[c]] = row[c];
    list.push_back(std::move(object));
  }
  return {{"schema", "tilescope/compare/1"}, {"rows", std::move(list)}};
}

}  // namespace tilescope
