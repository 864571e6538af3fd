#include "request/compared.h"

#include <fmt/format.h>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/explain/prediction_columns.h"
#include "predict/predict.h"
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

// One row: the point on one GPU with one dtype choice.
std::vector<Json> compare_row(const Plan& plan, const HardwareProfile& hardware, Point point, const std::string& dtypes,
                              bool tile_fixed, const SearchOptions& search) {
  if (!dtypes.empty()) apply_dtypes(point, plan, dtypes);
  settle_tile(plan, hardware, point, tile_fixed, search);
  Prediction prediction;
  predict(plan, hardware, point, prediction);
  std::vector<Json> row;
  for (const PredictionColumn& column : columns_at(prediction_columns(plan), shown::compare))
    row.push_back(cell(column, {plan, hardware, point, &prediction, {}}));
  return row;
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
  const std::vector<std::string> gpus = gpus_of(options);
  std::vector<std::string> dtypes = list_of(options, "dtype");
  if (dtypes.empty()) dtypes.emplace_back();
  const Options shared = options.without("dtype");  // each dtype gives a row
  const std::vector<Plan> plans = plans_of(options);
  const std::size_t all = plans.size() * gpus.size() * dtypes.size();
  std::vector<std::vector<Json>> rows;
  for (const Plan& plan : plans) {
    const Point point = read_point(shared, plan);
    for (const std::string& gpu : gpus) {
      const HardwareProfile hardware = find_profile(gpu, data_directory() / "hardware");
      for (const std::string& dtype : dtypes) {
        rows.push_back(compare_row(plan, hardware, point, dtype, tile_given(options), search_options(options, plan)));
        if (progress) progress(rows.size(), all);
      }
    }
  }
  return rows;
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
