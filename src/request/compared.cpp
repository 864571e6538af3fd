#include "request/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/data_directory.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/explain/prediction_columns.h"
#include "predict/point/support.h"
#include "predict/predict.h"
#include "predict/rate_basis.h"
#include "predict/sm/rates.h"
#include "request/answer.h"
#include "request/best_tile.h"
#include "request/choose_kernel.h"
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
  bool launched = true;     // false: nothing is predicted
  std::string reason = {};  // why not, where the kernel's shapes are not the reason
};

// What rows are asked about: a kernel, a schedule, or neither.
struct AskedKernel {
  std::optional<std::string> kernel, schedule;
};

// The shortest time that may be compared with others: of a kernel that runs, by the model of blocks. 0: there is none.
double fastest_seconds(const std::deque<ComparedRow>& rows) {
  double fastest = 0;
  for (const ComparedRow& row : rows) {
    const TimePrediction& time = row.prediction.time;
    if (row.launched && time.modelled && row.prediction.feasible && (fastest == 0 || time.total < fastest))
      fastest = time.total;
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

std::vector<AskedKernel> asked_by(const Options& options) {
  std::vector<AskedKernel> list;
  for (const std::string& kernel : list_of(options, "kernel")) list.push_back({kernel, std::nullopt});
  for (const std::string& schedule : list_of(options, "schedule")) list.push_back({std::nullopt, schedule});
  if (list.empty()) list.emplace_back();
  return list;
}

// The options of one row, with the kernel that is chosen for it, and why there is none.
struct RowOptions {
  Options options;
  std::string reason = {};
};

RowOptions row_options(const Options& options, const AskedKernel& asked, const HardwareProfile& hardware,
                       const std::string& dtype) {
  RowOptions row{options.without("dtype").without("kernel").without("schedule").without("hardware")};
  row.options = row.options.with("hardware", hardware.id);
  if (!dtype.empty()) row.options = row.options.with("dtype", dtype);
  if (asked.schedule) row.options = row.options.with("schedule", *asked.schedule);
  if (!asks_for_choice(asked.kernel)) {
    if (asked.kernel) row.options = row.options.with("kernel", *asked.kernel);
    return row;
  }
  const KernelChoice choice = choose_kernel(row.options.with("kernel", *asked.kernel));
  row.reason = join(choice.reasons, "; ");
  if (choice.kernel.empty()) return row;
  if (dtype.empty() && *asked.kernel == "auto") row.options = row.options.with("dtype", "fp16");
  row.options = row.options.without("diagram").with("kernel", choice.kernel);
  return row;
}

void predict_row(const Options& options, ComparedRow& row) {
  row.point = read_point(options, row.plan);
  if (!row.reason.empty()) return void(row.launched = false);
  settle_tile(row.plan, row.hardware, row.point, tile_given(options), search_options(options, row.plan));
  row.launched = outside_shapes(row.plan.kernel, row.hardware, row.point.workload).empty();
  if (!row.launched) return;
  predict(row.plan, row.hardware, row.point, row.prediction);
  row.options = stated_errors(row.plan, row.hardware, row.point, row.prediction);
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
  const std::vector<AskedKernel> list = asked_by(options);
  const std::size_t all = list.size() * gpus.size() * dtypes.size();
  std::deque<Plan> plans;
  std::deque<ComparedRow> predicted;  // predictions name arrays of their plans
  for (const AskedKernel& asked : list)
    for (const HardwareProfile& hardware : gpus)
      for (const std::string& dtype : dtypes) {
        const RowOptions given = row_options(options, asked, hardware, dtype);
        plans.push_back(read_plan(given.options));
        predict_row(given.options,
                    predicted.emplace_back(
                        ComparedRow{.plan = plans.back(), .hardware = hardware, .point = {}, .reason = given.reason}));
        if (progress) progress(predicted.size(), all);
      }
  const double fastest = fastest_seconds(predicted);
  std::vector<std::vector<Json>> rows;
  for (ComparedRow& row : predicted) {
    row.options.fastest_seconds = fastest;
    auto& cells = rows.emplace_back();
    for (const PredictionColumn& column : columns_at(prediction_columns(row.plan), shown::compare))
      cells.push_back(cell(column, {row.plan, row.hardware, row.point, row.launched ? &row.prediction : nullptr,
                                    row.options, row.reason}));
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
