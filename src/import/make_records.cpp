#include "import/make_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace tilescope::imported {
namespace {

using validate::Caches;
using validate::MeasuredLaunch;
using validate::Record;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool same_shape(const ToolFile& file, const FoundRun& a, const FoundRun& b) {
  return std::equal(a.launches.begin(), a.launches.end(), b.launches.begin(), b.launches.end(),
                    [&](std::size_t left, std::size_t right) {
                      const ToolLaunch &x = file.launches[left], &y = file.launches[right];
                      return x.grid == y.grid && x.block == y.block && short_name(x.name) == short_name(y.name);
                    });
}

validate::Environment environment_of(const ToolFile& file, const ToolLaunch& launch, const std::string& hardware) {
  validate::Environment environment;
  environment.hardware = hardware, environment.tool = to_string(file.form);
  environment.driver = file.driver, environment.cuda = file.cuda, environment.cupti = file.cupti;
  const auto found = file.devices.find(launch.device);
  if (found == file.devices.end()) return environment;
  const ToolDevice& device = found->second;
  environment.gpu = device.name, environment.chip = device.chip;
  environment.sm_clock_max_hz = device.sm_clock_max_hz;
  environment.ecc = device.ecc, environment.l2_bytes = device.l2_bytes;
  return environment;
}

// One launch of a run, over all runs: facts of the first, medians of the counters that all of them have.
MeasuredLaunch island_of(const ToolFile& file, const std::vector<const FoundRun*>& runs, std::size_t position) {
  const ToolLaunch& first = file.launches[runs.front()->launches[position]];
  MeasuredLaunch island;
  island.name = short_name(first.name);
  if (first.grid) island.launch.grid = *first.grid;
  if (first.block) island.launch.block = *first.block;
  island.launch.registers_per_thread = first.registers;
  island.launch.static_smem = first.static_smem, island.launch.dynamic_smem = first.dynamic_smem;
  island.launch.total_smem = first.total_smem, island.launch.local_bytes_per_thread = first.local_bytes;
  // A run that was timed alone has no counters.
  const auto counted = static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), [&](const FoundRun* run) {
    return !file.launches[run->launches[position]].counters.empty();
  }));
  for (const auto& [metric, value] : first.counters) {
    std::vector<double> values;
    for (const FoundRun* run : runs) {
      const auto& counters = file.launches[run->launches[position]].counters;
      if (const auto found = counters.find(metric); found != counters.end()) values.push_back(found->second);
    }
    if (values.size() != counted) continue;
    island.counters[metric] = median_of(values);
    if (values.size() > 1) island.samples[metric] = std::move(values);
  }
  for (const auto& [metric, step] : first.rounding)
    if (island.counters.contains(metric)) island.rounding[metric] = step;
  return island;
}

// A sum over launches needs the metric of each.
void add_sums(Record& record) {
  std::map<std::string, std::size_t> seen;
  for (const MeasuredLaunch& island : record.islands)
    for (const auto& [metric, value] : island.counters) ++seen[metric];
  for (MeasuredLaunch& island : record.islands) {
    const auto partial = [&](const auto& entry) { return seen[entry.first] != record.islands.size(); };
    std::erase_if(island.counters, partial), std::erase_if(island.samples, partial);
    std::erase_if(island.rounding, partial);
    for (const auto& [metric, value] : island.counters) record.counters[metric] += value;
  }
}

// Seconds of a run: its kernels', without the time between them. Empty: the file lacks that of one.
std::optional<double> seconds_of(const ToolFile& file, const FoundRun& run) {
  double total = 0;
  for (const std::size_t each : run.launches) {
    if (!file.launches[each].seconds) return std::nullopt;
    total += *file.launches[each].seconds;
  }
  return total;
}

Record record_of(const ToolFile& file, const std::vector<const FoundRun*>& runs, const RecordOptions& options) {
  const ToolLaunch& first = file.launches[runs.front()->launches.front()];
  Record record;
  record.experiment = options.experiment;
  record.environment = environment_of(file, first, options.hardware);
  record.point = *runs.front()->point;
  for (std::size_t i = 0; i < runs.front()->launches.size(); ++i) record.islands.push_back(island_of(file, runs, i));
  add_sums(record);
  // ncu empties the caches before each pass unless told otherwise; a traced program leaves in them what it leaves.
  validate::ImportSource source;
  source.file = std::filesystem::path(file.path).filename().string();
  source.caches = options.caches.value_or(file.form == ToolForm::ncu_csv ? Caches::cold : Caches::unknown);
  std::vector<std::string> ids;
  std::vector<double> clocks;
  for (const FoundRun* run : runs) {
    for (const std::size_t each : run->launches) {
      const ToolLaunch& launch = file.launches[each];
      ids.push_back(launch.id);
      if (launch.sm_hz > 0) clocks.push_back(launch.sm_hz);
      record.passes = std::max(record.passes, static_cast<int>(std::min<std::int64_t>(launch.passes, 1'000'000)));
      for (const std::string& metric : launch.unavailable)
        if (std::find(record.unavailable.begin(), record.unavailable.end(), metric) == record.unavailable.end())
          record.unavailable.push_back(metric);
    }
    if (const auto seconds = seconds_of(file, *run))
      (source.caches == Caches::cold ? record.cold_seconds : record.program_seconds).push_back(*seconds);
  }
  constexpr std::size_t most_named = 20;
  if (ids.size() > most_named) ids.resize(most_named), ids.emplace_back("...");
  source.launches = join(ids, ", ");
  if (!clocks.empty()) source.sm_hz = median_of(std::move(clocks));
  record.source = std::move(source);
  return record;
}

}  // namespace

std::vector<Record> make_records(const ToolFile& file, std::vector<FoundRun>& runs, const RecordOptions& options) {
  std::map<std::string, std::vector<const FoundRun*>> by_point;
  for (FoundRun& run : runs) {
    if (!run.point) continue;
    auto& own = by_point[point_id(*run.point)];
    if (own.empty() || same_shape(file, *own.front(), run)) {
      own.push_back(&run);
      continue;
    }
    run.point.reset();
    run.reason = "another launch of the same point has another grid or block; its record is of that one";
  }
  std::vector<Record> records;
  for (const auto& [id, own] : by_point) records.push_back(record_of(file, own, options));
  return records;
}

}  // namespace tilescope::imported
