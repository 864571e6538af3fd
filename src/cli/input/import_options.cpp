#include "cli/input/import_options.h"

#include "request/read_point.h"

namespace tilescope::cli {

std::vector<OptionSpec> tool_file_options() {
  return {{"hardware", "GPU profile id or YAML file (default: the GPU that the file names)", Value::hardware},
          set_option(),
          {"kernel", "descriptor, or software with a backend as in pytorch:flash (default: by name and sizes)",
           Value::kernel},
          {"point",
           "sizes of launches, where the file has none: point options as in \"batch=2 heads_q=16 q_len=4k "
           "head_dim=128 mask=causal dtype=bf16\"; with name=TEXT or launches=0-3 only of some; may be repeated"},
          {"caches", "contents of the GPU's caches before a launch (default: cold for ncu, else unknown)",
           Value::choice, kind_names<validate::Caches>()},
          {"ignore", "metric of ncu to leave out, or the beginning of names with a *; may be repeated"}};
}

std::vector<imported::GivenPoint> given_points(const Arguments& arguments) {
  std::vector<imported::GivenPoint> points;
  for (const std::string& text : arguments.all("point")) points.push_back(imported::parse_given_point(text));
  return points;
}

imported::Imported read_imported(const Arguments& arguments, const std::string& file) {
  const imported::Asked asked{
      .hardware = arguments.text("hardware"), .kernel = arguments.text("kernel"), .points = given_points(arguments)};
  std::optional<validate::Caches> caches;
  if (const auto given = arguments.text("caches")) caches = parse_kind<validate::Caches>(*given);
  return imported::import_file(file, asked, arguments.all("ignore"), caches);
}

Comparison compare_imported(const Arguments& arguments, const std::vector<validate::Record>& records) {
  validate::Experiment experiment;
  if (const auto file = arguments.text("experiment")) experiment = validate::load_experiment(*file);
  Comparer comparer(
      data_directory(), [&](const std::string&) -> const validate::Experiment& { return experiment; }, Keep::points,
      records.size(), rates_from(arguments).value_or(RatesFrom::stated), {}, threads_of(arguments));
  comparer.add(records);
  return comparer.finish();
}

}  // namespace tilescope::cli
