#include "compare/recorded.h"

#include <map>

namespace tilescope {

Comparison compare_recorded(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                            const std::optional<std::filesystem::path>& experiment,
                            const std::function<void(std::size_t done, std::size_t all)>& progress) {
  const std::vector<validate::Record> read = validate::read_records(records);
  std::optional<validate::Experiment> fixed;
  if (experiment) fixed = validate::load_experiment(*experiment);
  std::map<std::string, validate::Experiment> experiments;
  const auto experiment_of = [&](const std::string& name) -> const validate::Experiment& {
    if (fixed) return *fixed;
    auto found = experiments.find(name);
    if (found == experiments.end()) {
      const std::filesystem::path file = data_directory / "validate" / "experiments" / (name + ".yaml");
      found = experiments.emplace(name, validate::load_experiment(file)).first;
    }
    return found->second;
  };
  return compare_records(read, data_directory, experiment_of, progress);
}

}  // namespace tilescope
