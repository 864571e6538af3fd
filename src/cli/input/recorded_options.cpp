#include "cli/input/recorded_options.h"

#include "cli/output/progress.h"
#include "compare/recorded.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options() {
  return {{"recorded", "records: a directory, or one file of lines (default validate/records)", Value::file},
          {"experiment", "experiment YAML with the tolerances (default: each record's own)", Value::file}};
}

namespace {

Comparison compared(const Arguments& arguments, const std::filesystem::path& directory, Keep keep) {
  Progress progress(arguments, "comparing records");
  return tilescope::compare_recorded(directory, data_directory(), keep, arguments.text("experiment"),
                                     progress.callback());
}

}  // namespace

Comparison compare_recorded(const Arguments& arguments, Keep keep) {
  const auto given = arguments.text("recorded");
  return compared(arguments, given ? std::filesystem::path(*given) : data_directory() / "validate" / "records", keep);
}

Comparison compare_recorded(const Arguments& arguments, const std::filesystem::path& directory) {
  return compared(arguments, directory, Keep::points);
}

}  // namespace tilescope::cli
