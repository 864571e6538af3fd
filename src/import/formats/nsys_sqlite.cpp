#include "import/formats/nsys_sqlite.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "import/formats/calls_of_launches.h"
#include "import/formats/sqlite_rows.h"

namespace tilescope::imported {
namespace {

constexpr const char* kernel_table = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::int64_t push_pop_range = 59;

// Identifiers of threads and processes hold the process in bits 24 to 47.
std::int64_t process_of(std::int64_t global) { return global >> 24 & 0xFFFFFF; }

// Correlations are numbered by process.
std::int64_t correlation_key(std::int64_t global, std::int64_t correlation) {
  return process_of(global) << 32 | (correlation & 0xFFFFFFFF);
}

// A count as a launch or a GPU has it; nullopt: none.
std::optional<std::int64_t> amount(const SqliteRow& row, std::size_t column) {
  const auto value = row.integer(column);
  return value && *value >= 0 && *value < std::int64_t{1} << 53 ? value : std::nullopt;
}

std::optional<std::array<std::int64_t, 3>> extent(const SqliteRow& row, std::size_t first) {
  std::array<std::int64_t, 3> found{};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = amount(row, first + i);
    if (!value || *value < 1) return std::nullopt;
    found[i] = *value;
  }
  return found;
}

class NsysReader {
 public:
  NsysReader(ToolFile& file, const OperatorTable& table)
      : file_(&file), table_(&table), database_(file.path), spans_(), starts_() {}

  void read() {
    if (!database_.has_table(kernel_table) || !database_.has_table("StringIds"))
      throw InputError(Diagnostic{.file = file_->path,
                                  .message = fmt::format("has no table {}: it is no export of nsys, or no kernel was "
                                                         "traced; use nsys profile -t cuda,nvtx",
                                                         kernel_table)});
    read_devices();
    read_kernels();
    read_ranges();
    read_names();
    read_launch_calls();
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const TimedLaunch& a, const TimedLaunch& b) { return a.start < b.start; });
    link_calls(spans_, starts_, launches_, *file_);
  }

 private:
  void read_devices() {
    if (!database_.has_table("TARGET_INFO_GPU")) return;
    const auto use = [&](const SqliteRow& row) {
      ToolDevice device;
      device.name = row.text(1), device.chip = row.text(2);
      device.units = amount(row, 3).value_or(0), device.memory_bytes = amount(row, 4).value_or(0);
      device.l2_bytes = amount(row, 5).value_or(0);
      const auto major = amount(row, 6), minor = amount(row, 7);
      if (major && minor) device.compute_capability = fmt::format("{}.{}", *major, *minor);
      const auto clock = amount(row, 8);  // Hz
      if (clock && *clock >= 100'000'000) device.sm_clock_max_hz = static_cast<double>(*clock);
      file_->devices.emplace(amount(row, 0).value_or(0), std::move(device));
    };
    database_.for_each("TARGET_INFO_GPU",
                       {"id", "name", "chipName", "smCount", "totalMemory", "l2CacheSize", "computeMajor",
                        "computeMinor", "clockRate"},
                       use);
  }

  void read_kernels() {
    const auto use = [&](const SqliteRow& row) {
      const auto start = amount(row, 0), end = amount(row, 1), name = row.integer(2);
      if (!start || !end || *end < *start || !name) {
        ++without_time_;
        return;
      }
      TimedLaunch timed{.launch = {}, .start = static_cast<double>(*start), .correlation = {}};
      if (const auto correlation = amount(row, 3)) {
        timed.launch.id = std::to_string(*correlation);
        timed.correlation = correlation_key(row.integer(4).value_or(0), *correlation);
      }
      if (timed.launch.id.empty()) timed.launch.id = fmt::format("at {}", *start);
      timed.launch.seconds = static_cast<double>(*end - *start) * 1e-9;
      timed.launch.grid = extent(row, 5), timed.launch.block = extent(row, 8);
      timed.launch.registers = amount(row, 11);
      timed.launch.static_smem = amount(row, 12), timed.launch.dynamic_smem = amount(row, 13);
      timed.launch.local_bytes = amount(row, 14);
      timed.launch.device = amount(row, 15).value_or(0);
      names_.emplace_back(*name), wanted_.insert(*name);
      launches_.push_back(std::move(timed));
    };
    database_.for_each(kernel_table,
                       {"start", "end", "demangledName", "correlationId", "globalPid", "gridX", "gridY", "gridZ",
                        "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
                        "localMemoryPerThread", "deviceId"},
                       use);
    if (launches_.empty())
      throw InputError(Diagnostic{.file = file_->path, .message = "has no kernel with a time; trace again"});
    if (without_time_ > 0) file_->notes.push_back(fmt::format("{} kernels without times are left out", without_time_));
  }

  void read_ranges() {
    if (!database_.has_table("NVTX_EVENTS")) return;
    const auto use = [&](const SqliteRow& row) {
      const auto start = amount(row, 0), end = amount(row, 1), thread = row.integer(3), text = row.integer(5);
      if (row.integer(2) != push_pop_range || !start || !end || !thread) return;
      Range range{static_cast<double>(*start), static_cast<double>(*end), std::to_string(*thread), row.text(4), {}};
      if (range.text.empty() && text) range.text_id = *text, wanted_.insert(*text);
      if (range.text_id || table_->rank(operator_of_range(range.text).name)) ranges_.push_back(std::move(range));
    };
    database_.for_each("NVTX_EVENTS", {"start", "end", "eventType", "globalTid", "text", "textId"}, use);
  }

  // Texts of kernels and ranges.
  void read_names() {
    std::map<std::int64_t, std::string> texts;
    database_.for_each("StringIds", {"id", "value"}, [&](const SqliteRow& row) {
      const auto id = row.integer(0);
      if (id && wanted_.contains(*id)) texts.emplace(*id, row.text(1));
    });
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const auto found = texts.find(names_[i]);
      if (found != texts.end()) launches_[i].launch.name = found->second;
    }
    for (Range& range : ranges_) {
      if (range.text_id) range.text = texts[*range.text_id];
      ToolOperator call = operator_of_range(range.text);
      const auto rank = table_->rank(call.name);
      if (!rank) continue;
      spans_[range.thread].push_back({range.start, range.end, file_->operators.size(), *rank});
      file_->operators.push_back(std::move(call));
    }
  }

  void read_launch_calls() {
    if (!database_.has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) return;
    database_.for_each("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "globalTid", "correlationId"},
                       [&](const SqliteRow& row) {
                         const auto start = amount(row, 0), thread = row.integer(1), correlation = amount(row, 2);
                         if (start && thread && correlation)
                           starts_.emplace(correlation_key(*thread, *correlation),
                                           LaunchCall{std::to_string(*thread), static_cast<double>(*start)});
                       });
  }

  struct Range {
    double start = 0, end = 0;
    std::string thread, text;
    std::optional<std::int64_t> text_id;
  };

  ToolFile* file_;
  const OperatorTable* table_;
  SqliteFile database_;
  std::vector<TimedLaunch> launches_;
  std::vector<std::int64_t> names_;  // of the launches
  std::set<std::int64_t> wanted_;    // texts of which somebody has the number
  std::vector<Range> ranges_;
  std::size_t without_time_ = 0;
  Spans spans_;
  LaunchCalls starts_;
};

}  // namespace

ToolOperator operator_of_range(const std::string& text) {
  ToolOperator call{.name = text.substr(0, text.find(',')), .dims = {}, .types = {}, .values = {}};
  const std::size_t sizes = text.find("sizes = [");
  if (sizes == std::string::npos) return call;
  constexpr std::size_t most_arguments = 64, most_axes = 8;
  std::string digits;
  int depth = 0;
  for (const char c : std::string_view(text).substr(sizes + 8)) {
    if (c == '[' && ++depth == 2 && call.dims.size() < most_arguments) call.dims.emplace_back();
    if (c >= '0' && c <= '9' && digits.size() < 15) digits += c;
    else if (!digits.empty()) {
      if (depth == 2 && !call.dims.empty() && call.dims.back().size() < most_axes)
        call.dims.back().push_back(std::stoll(digits));
      digits.clear();
    }
    if (c == ']' && --depth == 0) break;
  }
  return call;
}

ToolFile read_nsys_sqlite(const std::filesystem::path& path, const OperatorTable& table) {
  ToolFile file;
  file.path = path.string(), file.form = ToolForm::nsys_sqlite;
  NsysReader(file, table).read();
  return file;
}

}  // namespace tilescope::imported
