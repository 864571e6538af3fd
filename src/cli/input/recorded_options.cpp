#include "cli/input/recorded_options.h"

#include "compare/recorded.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options() {
  return {{"recorded", "records: a directory, or one file of lines (default validate/records)"},
          {"experiment", "experiment YAML with the tolerances (default: each record's own)"}};
}

Comparison compare_recorded(const Arguments& arguments) {
  const auto given = arguments.text("recorded");
  return compare_recorded(arguments,
                          given ? std::filesystem::path(*given) : data_directory() / "validate" / "records");
}

Comparison compare_recorded(const Arguments& arguments, const std::filesystem::path& directory) {
  return tilescope::compare_recorded(directory, data_directory(), arguments.text("experiment"));
}

}  // namespace tilescope::cli
