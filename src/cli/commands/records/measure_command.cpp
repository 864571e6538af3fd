#include <fmt/format.h>

#include <iostream>

#include "base/error.h"
#include "cli/commands/commands.h"
#include "cli/output/progress.h"
#include "validate/measure/measure.h"

namespace tilescope::cli {

namespace {

ExitStatus measure_experiment(const Arguments& arguments) {
  const auto file = arguments.text("experiment");
  if (!file) refuse("--experiment", "is missing: give an experiment file, as in validate/experiments/quick.yaml");
  const validate::Experiment experiment = validate::load_experiment(*file);
  if (experiment.points.empty()) refuse("--experiment", *file + " has tolerances alone; add points to measure");
  const HardwareProfile profile =
      find_profile(arguments.text("hardware").value_or(experiment.hardware), data_directory() / "hardware");
  validate::require_counters();
  const auto output = arguments.text("output");
  if (!output) refuse("--output", "is missing: give the directory for records, as in -o my_records");
  validate::MeasureReport report;
  {
    Progress progress(arguments, "measure");
    report = validate::measure(experiment, profile,
                               {.output = *output,
                                .data_directory = data_directory(),
                                .resume = !arguments.has("again"),
                                .revision = validate::source_revision(data_directory()),
                                .progress = [&](const validate::MeasureProgress& point) {
                                  progress.note(to_string(point));
                                  progress.at(point.index, point.total);
                                }});
  }
  Table table{.title = "", .columns = {"outcome", "points"}, .rows = {}};
  table.rows = {{"measured", report.measured},
                {"kept from an earlier run", report.kept},
                {"unsupported", report.unsupported.size()},
                {"incorrect", report.incorrect.size()},
                {"disturbed", report.disturbed.size()}};
  print(render(table, arguments.format()));
  for (const std::string& line : report.unsupported) std::cerr << "unsupported: " << line << "\n";
  for (const std::string& line : report.incorrect) std::cerr << "incorrect: " << line << "\n";
  for (const std::string& line : report.disturbed) std::cerr << "disturbed: " << line << "\n";
  if (report.interrupted) std::cerr << "interrupted: the records so far are kept; the same command resumes\n";
  return report.incorrect.empty() && !report.interrupted ? ExitStatus::done : ExitStatus::answer_no;
}

std::vector<OptionSpec> measure_options() {
  auto output = output_options();
  for (OptionSpec& spec : output)
    if (spec.name == "output") spec = {"output", "directory for records (alias -o)", Value::output_directory};
  return std::vector<OptionSpec>{{"experiment", "experiment YAML; see validate/experiments", Value::file},
                                 {"hardware", "profile of this GPU (default: the experiment's)", Value::hardware},
                                 {"again", "measure points again that already have a record", Value::flag}} +
         output;
}

}  // namespace

Command measure_command() {
  return {.name = "measure",
          .summary = "run kernels under hardware counters, write records (needs a GPU)",
          .usage = "--experiment FILE -o DIRECTORY",
          .examples = {"tilescope measure --experiment validate/experiments/quick.yaml -o my_records"},
          .notes =
              "Needs an NVIDIA GPU and permission to read counters. An interrupted run keeps its records and "
              "resumes.",
          .options = measure_options,
          .run = measure_experiment};
}

}  // namespace tilescope::cli
