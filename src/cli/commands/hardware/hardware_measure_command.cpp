// `hardware measure`: runs microbenchmarks on this machine's GPU and writes a profile and a record beside it.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/hardware/hardware_levels.h"
#include "cli/commands/hardware/hardware_measure.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"
#include "cli/output/table.h"
#include "hardware/measured_write.h"
#include "validate/measure/hardware/hardware_measure.h"
#include "validate/measure/measure.h"

namespace tilescope::cli {
namespace {

namespace fs = std::filesystem;

// --base, or the one shipped profile that describes this GPU.
HardwareProfile base_profile(const Arguments& arguments, const validate::GpuAtHand& gpu) {
  const fs::path folder = data_directory() / "hardware";
  if (const auto id = arguments.text("base")) {
    HardwareProfile profile = find_profile(*id, folder);
    const std::string difference = difference_from(gpu, profile);
    if (!difference.empty())
      refuse(
          "--base",
          fmt::format("{} does not describe this GPU ({}): {}; copy the nearest profile, correct it and give it here",
                      profile.id, gpu.environment.gpu, difference));
    return profile;
  }
  std::vector<HardwareProfile> fitting = list_profiles(folder);
  std::erase_if(fitting, [&](const HardwareProfile& profile) { return !difference_from(gpu, profile).empty(); });
  keep_best_named(fitting, gpu.environment.gpu);
  if (!fitting.empty()) return fitting.front();
  refuse("--base", fmt::format("no shipped profile describes this GPU ({}); write one, as hardware/README.md says, and "
                               "give it as --base FILE",
                               gpu.environment.gpu));
}

// The profile's id is the file's name without .yaml. Refuses a name that is no valid id.
std::string id_of(const fs::path& file) {
  const std::string id = file.stem().string();
  const bool fits = !id.empty() && id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (fits && file.extension() == ".yaml") return id;
  refuse("--output",
         fmt::format("the profile's id is its file name: expected lower-case letters, digits and '_' before "
                     "'.yaml', found {}",
                     shown_text(file.filename().string())));
}

std::string origin_of(const validate::GpuAtHand& gpu, const fs::path& record) {
  const validate::Environment& e = gpu.environment;
  return fmt::format("tilescope hardware measure on an {} (CUDA {}, driver {}, {}); samples in {}", e.gpu, e.cuda,
                     e.driver, e.date.substr(0, 10), record.filename().string());
}

Table summary(const validate::HardwareMeasurement& measurement) {
  Table table{.title = "", .columns = {"value", "median", "spread %", "samples", "how"}, .rows = {}};
  for (const validate::MicrobenchValue& value : measurement.values) {
    const auto [low, high] = std::minmax_element(value.samples.begin(), value.samples.end());
    const double spread = value.value == 0 ? 0 : (*high - *low) / value.value * 100;
    table.rows.push_back({value.path, value.value, spread, value.samples.size(), value.note});
  }
  return table;
}

}  // namespace

std::vector<OptionSpec> hardware_measure_options() {
  return {
      {"base", "measure: profile that supplies the values which are not measured (default: this GPU's shipped profile)",
       Value::hardware},
      {"record", "measure: JSON file for every sample (default: beside the profile)", Value::output_file},
      {"quick", "measure: fewer repeats", Value::flag}};
}

ExitStatus hardware_measure(const Arguments& arguments) {
  const auto output = arguments.text("output");
  if (!output) refuse("--output", "is missing: give the profile to write, as in -o my_h200.yaml");
  const fs::path file = *output;
  const std::string id = id_of(file);
  const fs::path record = arguments.text("record").value_or(fs::path(file).replace_extension(".json").string());
  check_writable_file(record);  // derived from --output; paths given as options are checked already
  const std::vector<double> host_intervals = validate::bare_host_intervals(arguments.has("quick"));
  validate::GpuAtHand gpu = validate::gpu_at_hand();
  const HardwareProfile base = base_profile(arguments, gpu);
  gpu.environment.hardware = id;
  gpu.environment.revision = validate::source_revision(data_directory());
  validate::HardwareMeasureOptions options{
      .quick = arguments.has("quick"), .host_intervals = host_intervals, .progress = {}};
  validate::HardwareMeasurement measurement;
  {
    Progress progress(arguments, "microbenchmarks");
    options.progress = [&](const std::string& topic, double seconds) {
      progress.note(fmt::format("{}: {:.1f} s", topic, seconds));
    };
    measurement = validate::measure_hardware(options);
  }
  std::vector<MeasuredEntry> entries;
  for (const validate::MicrobenchValue& value : measurement.values)
    entries.push_back({value.path, value.value, value.note, measured_source});
  const std::vector<MeasuredEntry> kept = kept_entries(base.file, entries);
  entries.insert(entries.end(), kept.begin(), kept.end());
  const std::string text =
      with_level_values(with_measured(read_file(base.file), id, origin_of(gpu, record), measured_yaml(entries)), "l2",
                        measured_l2(measurement, base, static_cast<double>(gpu.environment.l2_bytes)));
  write_file(record, hardware_record_json(gpu, measurement));
  write_file(file, text);
  load_profile(file);  // checks that the written profile can be read
  for (const std::string& line : measurement.skipped) std::cerr << "not measured: " << line << "\n";
  print(render(summary(measurement), arguments.format()));
  return ExitStatus::done;
}

}  // namespace tilescope::cli
