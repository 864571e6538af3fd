// `hardware measure`: microbenchmarks of the GPU at hand into a profile and a record beside it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commands/hardware_measure.h"
#include "hardware/measured_write.h"
#include "validate/measure/hardware_measure.h"
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
      refuse("--base", fmt::format("{} is not this GPU ({}): {}; copy the nearest profile and mend it first",
                                   profile.id, gpu.environment.gpu, difference));
    return profile;
  }
  for (const HardwareProfile& profile : list_profiles(folder))
    if (difference_from(gpu, profile).empty()) return profile;
  refuse("--base", fmt::format("no shipped profile describes this GPU ({}); write one, as hardware/README.md says, and "
                               "give it here",
                               gpu.environment.gpu));
}

// The id is the file's name, which must be one.
std::string id_of(const fs::path& file) {
  const std::string id = file.stem().string();
  const bool fits = !id.empty() && id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (fits && file.extension() == ".yaml") return id;
  refuse("--output",
         fmt::format("the profile's id is its file name: expected lower-case letters, digits and '_' before "
                     "'.yaml', found {}",
                     shown_text(file.filename().string())));
}

// Found out before the GPU has worked for nothing.
void require_writable(const std::string& option, const fs::path& file) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (::access(folder.c_str(), W_OK) != 0)
    refuse(option, fmt::format("files cannot be written into {}; name another folder", shown_text(folder.string())));
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
  return {{"base", "measure: profile whose other values are kept (default: the shipped one of this GPU)"},
          {"record", "measure: JSON file for every sample (default: beside the profile)"},
          {"quick", "measure: fewer repeats", true}};
}

ExitStatus hardware_measure(const Arguments& arguments) {
  const auto output = arguments.text("output");
  if (!output) refuse("--output", "is missing: give the profile to write, as in -o my_h200.yaml");
  const fs::path file = *output;
  const std::string id = id_of(file);
  const fs::path record = arguments.text("record").value_or(fs::path(file).replace_extension(".json").string());
  require_writable("--output", file);
  require_writable("--record", record);
  const std::vector<double> host_intervals = validate::bare_host_intervals(arguments.has("quick"));
  validate::GpuAtHand gpu = validate::gpu_at_hand();
  const HardwareProfile base = base_profile(arguments, gpu);
  gpu.environment.hardware = id;
  gpu.environment.revision = validate::source_revision(data_directory());
  validate::HardwareMeasureOptions options{
      .quick = arguments.has("quick"), .host_intervals = host_intervals, .progress = {}};
  if (!arguments.quiet())
    options.progress = [](const std::string& topic, double seconds) {
      std::cerr << fmt::format("{}: {:.1f} s\n", topic, seconds) << std::flush;
    };
  const validate::HardwareMeasurement measurement = validate::measure_hardware(options);
  std::vector<MeasuredEntry> entries;
  for (const validate::MicrobenchValue& value : measurement.values)
    entries.push_back({value.path, value.value, value.note, measured_source});
  const std::vector<MeasuredEntry> kept = kept_entries(base.file, entries);
  entries.insert(entries.end(), kept.begin(), kept.end());
  const std::string text = with_measured(read_file(base.file), id, origin_of(gpu, record), measured_yaml(entries));
  write_file(record, hardware_record_json(gpu, measurement));
  write_file(file, text);
  load_profile(file);  // what was written can be read
  for (const std::string& line : measurement.skipped) std::cerr << "not measured: " << line << "\n";
  std::cout << render(summary(measurement), arguments.format());
  return ExitStatus::done;
}

}  // namespace tilescope::cli
