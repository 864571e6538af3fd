#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "import/recognise.h"
#include "launches/program.h"

namespace tilescope::launches {
namespace {

// The name that a descriptor's file or folder gives: "fused_mma" of itself, "mine" of "some/where/mine.yaml".
std::string descriptor_name(const std::string& kernel) {
  return kernel.ends_with(".yaml") ? std::filesystem::path(kernel).stem().string() : kernel;
}

AttentionLaunches row_of_record(validate::Record record) {
  AttentionLaunches row;
  row.recognised = descriptor_name(record.point.kernel);
  row.sizes_from = "record";
  for (const validate::MeasuredLaunch& island : record.islands)
    row.kernel += (row.kernel.empty() ? "" : " + ") + island.name;
  row.symbol = row.kernel;
  if (!record.islands.empty())
    row.grid = record.islands.front().launch.grid, row.block = record.islands.front().launch.block;
  const auto islands = static_cast<std::int64_t>(record.islands.size());
  const std::vector<double>* times = nullptr;
  for (const auto* each : {&record.program_seconds, &record.steady_seconds, &record.cold_seconds})
    if (!times && !each->empty()) times = each;
  row.timed = times ? static_cast<std::int64_t>(times->size()) * islands : 0;
  row.launches = std::max(row.timed, islands);
  row.counted = record.counters.empty() ? 0 : islands;
  if (times) row.seconds = std::accumulate(times->begin(), times->end(), 0.0);
  row.record = std::move(record);
  return row;
}

std::string run_name(const imported::ToolFile& file, const imported::FoundRun& run) {
  std::string name;
  for (const std::size_t each : run.launches)
    name += (name.empty() ? "" : " + ") + imported::short_name(file.launches[each].name);
  return name;
}

std::optional<double> seconds_of_run(const imported::ToolFile& file, const imported::FoundRun& run) {
  double sum = 0;
  for (const std::size_t each : run.launches) {
    if (!file.launches[each].seconds) return std::nullopt;
    sum += *file.launches[each].seconds;
  }
  return sum;
}

void sort_rows(ProgramLaunches& program) {
  std::stable_sort(program.attention.begin(), program.attention.end(),
                   [](const auto& a, const auto& b) { return a.seconds.value_or(0) > b.seconds.value_or(0); });
}

}  // namespace

ProgramLaunches launches_of_records(std::vector<validate::Record> records, const std::string& from) {
  ProgramLaunches program;
  program.from = from;
  for (validate::Record& record : records) {
    program.hardware = record.environment.hardware;
    program.attention.push_back(row_of_record(std::move(record)));
    program.launches += program.attention.back().launches;
  }
  std::set<std::string> names;
  for (const AttentionLaunches& row : program.attention) names.insert(row.kernel);
  program.kernels = static_cast<std::int64_t>(names.size());
  sort_rows(program);
  return program;
}

ProgramLaunches launches_of_tool(const imported::ToolFile& file, const std::vector<imported::FoundRun>& runs,
                                 std::vector<validate::Record> records) {
  ProgramLaunches program;
  program.from = file.path;
  program.launches = static_cast<std::int64_t>(file.launches.size());
  program.notes = file.notes;
  std::map<std::string, std::size_t> at;  // rows by point, then by kernel and reason
  double whole = 0;
  std::set<std::string> names;
  for (const imported::ToolLaunch& launch : file.launches) {
    whole += launch.seconds.value_or(0);
    names.insert(launch.name);
  }
  program.kernels = static_cast<std::int64_t>(names.size());
  if (whole > 0) program.seconds = whole;
  for (validate::Record& record : records) {
    at[point_id(record.point)] = program.attention.size();
    program.hardware = record.environment.hardware;
    AttentionLaunches& row = program.attention.emplace_back(row_of_record(std::move(record)));
    row.launches = 0, row.timed = 0, row.seconds.reset(), row.sizes_from = file.operators.empty() ? "option" : "call";
  }
  for (const imported::FoundRun& run : runs) {
    if (!run.point && run.reason.empty()) continue;  // beside attention
    const std::string key = run.point ? point_id(*run.point) : run_name(file, run) + "\n" + run.reason;
    const auto [found, added] = at.emplace(key, program.attention.size());
    if (added) {
      AttentionLaunches& row = program.attention.emplace_back();
      row.kernel = run_name(file, run), row.symbol = file.launches[run.launches.front()].name;
      row.missing.push_back(run.reason);
    }
    AttentionLaunches& row = program.attention[found->second];
    row.launches += static_cast<std::int64_t>(run.launches.size());
    if (const auto seconds = seconds_of_run(file, run)) {
      row.timed += static_cast<std::int64_t>(run.launches.size());
      row.seconds = row.seconds.value_or(0) + *seconds;
      if (whole > 0) row.share = *row.seconds / whole;
    }
  }
  sort_rows(program);
  return program;
}

}  // namespace tilescope::launches
