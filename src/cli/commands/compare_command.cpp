#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/commands.h"
#include "cli/input/best_tile.h"
#include "cli/output/progress.h"
#include "predict/explain/prediction_columns.h"
#include "predict/predict.h"

namespace tilescope::cli {
namespace {

std::vector<std::string> list_of(const Arguments& arguments, const std::string& name) {
  std::vector<std::string> values;
  for (const std::string& given : arguments.all(name))
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

std::vector<std::string> gpus_of(const Arguments& arguments) {
  std::vector<std::string> gpus;
  for (const std::string& given : arguments.all("hardware"))
    for (const std::string& id : split(given, ',')) {
      if (id.empty()) refuse("--hardware", fmt::format("holds an empty value: '{}'", given));
      gpus.push_back(id);
    }
  if (gpus.empty()) refuse("--hardware", "is missing: give GPUs to compare, as in --hardware h100_sxm,h200_sxm");
  return gpus;
}

std::vector<Plan> plans_of(const Arguments& arguments) {
  std::vector<Plan> plans;
  for (const std::string& kernel : list_of(arguments, "kernel"))
    plans.push_back(read_plan(arguments, kernel, std::nullopt));
  for (const std::string& schedule : list_of(arguments, "schedule"))
    plans.push_back(read_plan(arguments, std::nullopt, schedule));
  if (plans.empty()) plans.push_back(read_plan(arguments, std::nullopt, std::nullopt));
  return plans;
}

ExitStatus compare_points(const Arguments& arguments) {
  const std::vector<std::string> gpus = gpus_of(arguments);
  std::vector<std::string> dtypes = list_of(arguments, "dtype");
  if (dtypes.empty()) dtypes.emplace_back();
  Table table{.title = "predicted", .columns = {}, .rows = {}};
  for (const PredictionColumn& column : columns_at(prediction_columns(std::vector<std::string>{}), shown::compare))
    table.columns.push_back(column.key);
  const Arguments shared = arguments.without("dtype");  // a row each
  const std::vector<Plan> plans = plans_of(arguments);
  {
    Progress progress(arguments, "compare");
    const std::size_t all = plans.size() * gpus.size() * dtypes.size();
    for (const Plan& plan : plans) {
      const Point point = read_point(shared, plan);
      for (const std::string& gpu : gpus) {
        const HardwareProfile hardware = find_profile(gpu, data_directory() / "hardware");
        for (const std::string& dtype : dtypes) {
          table.rows.push_back(
              compare_row(plan, hardware, point, dtype, tile_given(arguments), search_options(arguments, plan)));
          progress.at(table.rows.size(), all);
        }
      }
    }
  }
  const Style style = style_of(arguments);
  if (style.format == OutputFormat::json)
    deliver(arguments,
            Json{{"schema", "tilescope/compare/1"}, {"rows", Json::parse(render(table, style))}}.dump(2) + "\n");
  else deliver(arguments, render(table, style));
  return ExitStatus::done;
}

std::vector<OptionSpec> compare_options() { return point_options() + output_options(); }

}  // namespace

Command compare_command() {
  return {.name = "compare",
          .summary = "GPUs x dtypes x kernels side by side",
          .usage = "--hardware A,B,... --dtype X --dtype Y ... --q-len N ...",
          .examples = {"tilescope compare --hardware h100_sxm,h200_sxm,b200_sxm --dtype fp16 --dtype fp8 --dtype "
                       "fp16,kv=int8:g64:b2 --workload llama3-70b-decode"},
          .notes = "--hardware takes a comma-separated list; --dtype, --schedule and --kernel may be repeated.",
          .options = compare_options,
          .run = compare_points};
}

}  // namespace tilescope::cli
