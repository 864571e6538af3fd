#include "compare/recorded.h"

#include <map>

namespace tilescope {

Comparison compare_recorded(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                            Keep keep, const std::optional<std::filesystem::path>& experiment,
                            const CompareProgress& progress) {
  std::size_t done = 0, all = 0;
  validate::for_each_record(records, [&](const validate::Record&) { ++all; });
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
  Comparer comparer(data_directory, experiment_of, keep, all);
  validate::for_each_record(records, [&](validate::Record&& record) {
    comparer.add(std::move(record));
    if (progress) progress(++done, all);
  });
  return comparer.finish();
}

}  // namespace tilescope
