#include "cli/input/recorded_options.h"

#include "compare/recorded.h"
#include "predict/point/mechanisms.h"
#include "request/read_point.h"

namespace tilescope::cli {

std::vector<OptionSpec> recorded_options() {
  return {{"recorded", "records: a directory, or one JSON Lines file (default validate/records)", Value::file},
          {"experiment", "experiment YAML with the tolerances (default: each record's own)", Value::file},
          threads_option()};
}

std::vector<OptionSpec> time_model_options() {
  std::vector<std::string> mechanisms = kind_names<Mechanism>(), engines = kind_names<SmEngine>();
  mechanisms.emplace_back(each_choice), engines.emplace_back(each_choice);
  return {{"without", "take this mechanism of the time model out; each: one after the other, with what it is worth",
           Value::choice, mechanisms},
          {"engine",
           "programs of steps: simulated (default) takes machine code where it is known, synthesised none; each: both, "
           "by kernel",
           Value::choice, engines}};
}

TimeChoices time_choices(const Arguments& arguments) {
  TimeChoices choices;
  if (const auto name = arguments.text("without"))
    if (const auto mechanism = parse_kind<Mechanism>(*name)) choices = without(*mechanism);
  if (const auto name = arguments.text("engine"))
    choices.engine = parse_kind<SmEngine>(*name).value_or(SmEngine::simulated);
  return choices;
}

std::filesystem::path recorded_directory(const Arguments& arguments) {
  const auto given = arguments.text("recorded");
  return given ? std::filesystem::path(*given) : data_directory() / "validate" / "records";
}

Comparison compare_recorded(const Arguments& arguments, Keep keep, const RecordProgress& progress,
                            Tolerances tolerances) {
  return tilescope::compare_recorded(recorded_directory(arguments), data_directory(), keep,
                                     arguments.text("experiment"), progress,
                                     rates_from(arguments).value_or(RatesFrom::stated), time_choices(arguments),
                                     threads_of(arguments), 4096, tolerances);
}

Comparison compare_recorded(const Arguments& arguments, const std::filesystem::path& directory,
                            const RecordProgress& progress) {
  return tilescope::compare_recorded(directory, data_directory(), Keep::points, arguments.text("experiment"), progress,
                                     RatesFrom::stated, {}, threads_of(arguments));
}

}  // namespace tilescope::cli
