#include "cli/input/recorded_options.h"

#include "compare/recorded.h"
#include "request/read_point.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options() {
  return {{"recorded", "records: a directory, or one JSON Lines file (default validate/records)", Value::file},
          {"experiment", "experiment YAML with the tolerances (default: each record's own)", Value::file},
          threads_option()};
}

Comparison compare_recorded(const Arguments& arguments, Keep keep, const RecordProgress& progress) {
  const auto given = arguments.text("recorded");
  const std::filesystem::path directory =
      given ? std::filesystem::path(*given) : data_directory() / "validate" / "records";
  return tilescope::compare_recorded(directory, data_directory(), keep, arguments.text("experiment"), progress,
                                     rates_from(arguments).value_or(RatesFrom::stated), threads_of(arguments));
}

Comparison compare_recorded(const Arguments& arguments, const std::filesystem::path& directory,
                            const RecordProgress& progress) {
  return tilescope::compare_recorded(directory, data_directory(), Keep::points, arguments.text("experiment"), progress,
                                     RatesFrom::stated, threads_of(arguments));
}

}  // namespace tilescope::cli
