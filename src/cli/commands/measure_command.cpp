#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output/help.h"
#include "validate/measure/measure.h"

namespace tilescope::cli {

ExitStatus measure_command(const std::vector<std::string>& words) {
  const std::vector<OptionSpec> specs =
      std::vector<OptionSpec>{{"experiment", "experiment YAML; see validate/experiments"},
                              {"hardware", "profile of this GPU (default: the experiment's)"},
                              {"again", "measure points again that already have a record", true}} +
      output_options();
  if (help_wanted(
          words, "measure --experiment FILE -o DIRECTORY", specs,
          "  tilescope measure --experiment validate/experiments/quick.yaml -o my_records\n"
          "Needs an NVIDIA GPU and permission to read counters. An interrupted run keeps its records and resumes.\n"))
    return ExitStatus::done;
  const Arguments arguments("measure", words, specs, 0);
  const auto file = arguments.text("experiment");
  if (!file)
    throw InputError(
        Diagnostic{.path = "--experiment",
                   .message = "is missing: give an experiment file, as in validate/experiments/quick.yaml"});
  const validate::Experiment experiment = validate::load_experiment(*file);
  const HardwareProfile profile =
      find_profile(arguments.text("hardware").value_or(experiment.hardware), data_directory() / "hardware");
  validate::require_counters();
  const auto output = arguments.text("output");
  if (!output)
    throw InputError(
        Diagnostic{.path = "--output", .message = "is missing: give the directory for records, as in -o my_records"});
  validate::MeasureOptions options{.output = *output,
                                   .data_directory = data_directory(),
                                   .resume = !arguments.has("again"),
                                   .revision = validate::source_revision(data_directory()),
                                   .progress = {}};
  if (!arguments.quiet() && ::isatty(STDERR_FILENO))
    options.progress = [](const validate::MeasureProgress& progress) { std::cerr << to_string(progress) << "\n"; };
  const validate::MeasureReport report = validate::measure(experiment, profile, options);
  Table table{.title = "", .columns = {"outcome", "points"}, .rows = {}};
  table.rows = {{"measured", report.measured},
                {"kept from an earlier run", report.kept},
                {"unsupported", report.unsupported.size()},
                {"incorrect", report.incorrect.size()}};
  std::cout << render(table, OutputFormat::text);
  for (const std::string& line : report.unsupported) std::cout << "unsupported: " << line << "\n";
  for (const std::string& line : report.incorrect) std::cout << "incorrect: " << line << "\n";
  if (report.interrupted) std::cerr << "interrupted: the records so far are kept; the same command resumes\n";
  return report.incorrect.empty() && !report.interrupted ? ExitStatus::done : ExitStatus::answer_no;
}

}  // namespace tilescope::cli
