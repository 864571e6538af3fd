#include "cli/recorded.h"

#include "base/error.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options() {
  return {{"recorded", "directory of records (default validate/recorded)"},
          {"experiment", "experiment YAML with the tolerances (default: each record's own)"}};
}

Comparison compare_recorded(const Arguments& arguments) {
  const auto given = arguments.text("recorded");
  return compare_recorded(arguments,
                          given ? std::filesystem::path(*given) : data_directory() / "validate" / "recorded");
}

Comparison compare_recorded(const Arguments& arguments, const std::filesystem::path& directory) {
  const std::vector<validate::Record> records = validate::read_records(directory);
  std::map<std::string, validate::Experiment> experiments;
  std::optional<validate::Experiment> fixed;
  if (const auto file = arguments.text("experiment")) fixed = validate::load_experiment(*file);
  const auto experiment_of = [&](const std::string& name) -> const validate::Experiment& {
    if (fixed) return *fixed;
    auto found = experiments.find(name);
    if (found == experiments.end())
      found = experiments
                  .emplace(name,
                           validate::load_experiment(data_directory() / "validate" / "experiments" / (name + ".yaml")))
                  .first;
    return found->second;
  };
  return compare_records(records, data_directory(), experiment_of);
}

}  // namespace tilescope::cli
