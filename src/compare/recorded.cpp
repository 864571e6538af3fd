#include "compare/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/checked.h"
#include "base/error.h"

namespace tilescope {

Comparison compare_recorded(const std::filesystem::path& records, const std::filesystem::path& data_directory,
                            Keep keep, const std::optional<std::filesystem::path>& experiment,
                            const CompareProgress& progress, RatesFrom rates, TimeChoices time, std::size_t threads,
                            std::size_t at_once, Tolerances tolerances) {
  std::size_t done = 0, all = 0;
  std::set<std::string> imported;
  std::map<std::string, std::string> first_of;  // experiment: its first record
  std::vector<validate::Record> some;
  validate::for_each_record(records, [&](validate::Record&& record) {
    if (record.source) imported.insert(record.experiment);
    first_of.emplace(record.experiment, record.file);
    if (++all <= at_once) some.push_back(std::move(record));
  });
  std::optional<validate::Experiment> fixed;
  if (experiment) fixed = validate::load_experiment(*experiment);
  std::map<std::string, validate::Experiment> experiments;
  const auto experiment_of = [&](const std::string& name) -> const validate::Experiment& {
    if (fixed) return *fixed;
    auto found = experiments.find(name);
    if (found == experiments.end()) {
      const std::filesystem::path file = data_directory / "validate" / "experiments" / (name + ".yaml");
      std::error_code none;
      const bool has_none = imported.contains(name) || !std::filesystem::exists(file, none);
      if (has_none && !imported.contains(name) && tolerances == Tolerances::wanted)
        throw InputError(Diagnostic{.file = first_of[name],
                                    .path = "experiment",
                                    .message = fmt::format("tilescope has no experiment '{}', so no tolerances: name "
                                                           "them with --experiment FILE, or gate with --baseline FILE",
                                                           name)});
      found = experiments.emplace(name, has_none ? validate::Experiment{} : validate::load_experiment(file)).first;
    }
    return found->second;
  };
  // Every record that cannot be compared is named, not the first alone.
  std::vector<Diagnostic> findings;
  std::set<std::string> named;
  const auto add = [&](const Diagnostic& finding) {
    constexpr std::size_t most_findings = 20;
    if (findings.size() < most_findings && named.insert(to_string(finding)).second) findings.push_back(finding);
  };
  Comparer comparer(data_directory, experiment_of, keep, all, rates, time, threads);
  const auto compare_some = [&] {
    std::vector<std::string> files;
    for (const validate::Record& record : some) files.push_back(record.file);
    std::size_t next = 0;
    comparer.add(std::exchange(some, {}), [&](std::exception_ptr failed) {
      const std::string& file = files[next++];
      try {
        if (failed) std::rethrow_exception(failed);
      } catch (const CountOverflow& overflow) {
        add({.file = file, .path = "point", .message = overflow.what()});
      } catch (const InputError& error) {
        for (const Diagnostic& finding : error.diagnostics()) add(finding);
      }
      if (progress) progress(++done, all);
    });
  };
  if (all > at_once) {  // they are read again
    some.clear();
    validate::for_each_record(records, [&](validate::Record&& record) {
      some.push_back(std::move(record));
      if (some.size() == at_once) compare_some();
    });
  }
  compare_some();
  if (!findings.empty()) throw InputError(std::move(findings));
  return comparer.finish();
}

std::string hardware_with_most_records(const Comparison& comparison) {
  std::map<std::string, int> counts;
  for (const ComparedPoint& point : comparison.points) ++counts[point.record.environment.hardware];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end()) throw InputError(Diagnostic{.message = "there is no record; measure first"});
  return most->first;
}

}  // namespace tilescope
