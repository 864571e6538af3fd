#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/input/best_tile.h"
#include "cli/output/help.h"
#include "cli/output/labels.h"
#include "predict/explain/notes.h"
#include "predict/predict.h"

namespace tilescope::cli {
namespace {

std::vector<std::string> list_of(const Arguments& arguments, const std::string& name) {
  std::vector<std::string> values;
  for (const std::string& given : arguments.all(name))
    for (const std::string& value : split(given, ';')) {
      if (value.empty())
        throw InputError(Diagnostic{.path = "--" + name, .message = fmt::format("holds an empty value: '{}'", given)});
      values.push_back(value);
    }
  return values;
}

// One row: the point on one GPU with one dtype choice.
std::vector<Json> compare_row(const Plan& plan, const HardwareProfile& hardware, Point point, const std::string& dtypes,
                              bool tile_fixed, const SearchOptions& options) {
  if (!dtypes.empty()) apply_dtypes(point, plan, dtypes);
  settle_tile(plan, hardware, point, tile_fixed, options);
  Prediction prediction;
  predict(plan, hardware, point, prediction);
  const bool fits = std::all_of(prediction.footprint.begin(), prediction.footprint.end(),
                                [](const FootprintRow& row) { return row.fits(); });
  std::vector<Json> row{hardware.id,
                        plan.kernel.name,
                        dtype_label(plan, point),
                        tile_label(plan, point),
                        fits ? "yes" : "no",
                        prediction.runnable ? "yes" : "no",
                        prediction.traffic[0][0] + prediction.traffic[0][1],
                        prediction.traffic[1][0] + prediction.traffic[1][1]};
  // What cannot run takes no time.
  const double seconds = prediction.time.total;
  if (prediction.feasible && seconds > 0)
    row.insert(row.end(), {seconds * 1e6, to_string(prediction.time.bound_by),
                           static_cast<double>(prediction.work.model_flop) / seconds / 1e12});
  else row.insert(row.end(), {nullptr, nullptr, nullptr});
  row.emplace_back(join(missing_rates(hardware, prediction), "; "));
  return row;
}

}  // namespace

ExitStatus compare_command(const std::vector<std::string>& words) {
  const auto specs = point_options() + output_options();
  if (help_wanted(words, "compare --hardware A,B,... --dtype X --dtype Y ... --q-len N ...", specs,
                  "  tilescope compare --hardware h100_sxm,h200_sxm,b200_sxm --dtype fp16 --dtype fp8 --dtype "
                  "fp16,kv=int8:g64:b2 \\\n"
                  "    --workload llama3-70b-decode\n"
                  "--hardware takes a comma-separated list; --dtype, --schedule and --kernel may be repeated.\n"))
    return ExitStatus::done;
  const Arguments arguments("compare", words, specs, 0);
  std::vector<std::string> gpus, dtypes = list_of(arguments, "dtype");
  for (const std::string& given : arguments.all("hardware"))
    for (const std::string& id : split(given, ',')) {
      if (id.empty())
        throw InputError(Diagnostic{.path = "--hardware", .message = fmt::format("holds an empty value: '{}'", given)});
      gpus.push_back(id);
    }
  if (gpus.empty())
    throw InputError(Diagnostic{.path = "--hardware",
                                .message = "is missing: give GPUs to compare, as in --hardware h100_sxm,h200_sxm"});
  if (dtypes.empty()) dtypes.emplace_back();
  std::vector<Plan> plans;
  for (const std::string& kernel : list_of(arguments, "kernel"))
    plans.push_back(read_plan(arguments, kernel, std::nullopt));
  for (const std::string& schedule : list_of(arguments, "schedule"))
    plans.push_back(read_plan(arguments, std::nullopt, schedule));
  if (plans.empty()) plans.push_back(read_plan(arguments, std::nullopt, std::nullopt));
  Table table{.title = "predicted",
              .columns = {"hardware", "kernel", "dtype", "tile", "fits", "runnable", "hbm_bytes", "l2_bytes",
                          "microseconds", "bound_by", "model_tflops", "rate_unknown"},
              .rows = {}};
  // The dtypes are columns here, so the shared point is read without them.
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--dtype") ++i;
    else if (!words[i].starts_with("--dtype=")) rest.push_back(words[i]);
  }
  const Arguments shared("compare", rest, specs, 0);
  for (const Plan& plan : plans) {
    const Point point = read_point(shared, plan);
    for (const std::string& gpu : gpus) {
      const HardwareProfile hardware = find_profile(gpu, data_directory() / "hardware");
      for (const std::string& dtype : dtypes)
        table.rows.push_back(
            compare_row(plan, hardware, point, dtype, tile_given(arguments), search_options(arguments, plan)));
    }
  }
  const OutputFormat format = arguments.format();
  if (format == OutputFormat::json)
    deliver(arguments,
            Json{{"schema", "tilescope/compare/1"}, {"rows", Json::parse(render(table, format))}}.dump(2) + "\n");
  else deliver(arguments, render(table, format));
  return ExitStatus::done;
}

}  // namespace tilescope::cli
