#include "import/formats/ncu_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "import/formats/csv.h"
#include "import/formats/ncu_values.h"

namespace tilescope::imported {
namespace {

constexpr std::size_t largest_csv = std::size_t{512} << 20;
constexpr std::size_t most_findings = 50;

struct Cell {
  std::string metric, unit, value;
};

// The positions of columns by name.
class Columns {
 public:
  explicit Columns(const std::vector<std::string>& names) : names_(&names) {}
  std::optional<std::size_t> find(const std::string& name) const {
    const auto found = std::find(names_->begin(), names_->end(), name);
    return found == names_->end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names_->begin()));
  }

 private:
  const std::vector<std::string>* names_;
};

// "(384, 1, 1)" or "384x1x1"
std::optional<std::array<std::int64_t, 3>> parse_extent(const std::string& text) {
  std::array<std::int64_t, 3> extent{};
  std::size_t part = 0;
  std::string digits;
  for (const char c : text + ")") {
    if (c >= '0' && c <= '9') {
      digits += c;
      continue;
    }
    if (digits.empty()) continue;
    if (part == 3 || digits.size() > 10) return std::nullopt;
    extent[part++] = std::stoll(digits);
    digits.clear();
  }
  if (part != 3 || std::any_of(extent.begin(), extent.end(), [](std::int64_t n) { return n < 1; })) return std::nullopt;
  return extent;
}

class NcuReader {
 public:
  NcuReader(ToolFile& file, const MetricNames& names) : file_(&file), names_(&names) {}

  void report(int line, const std::string& path, const std::string& message) {
    if (findings_.size() < most_findings)
      findings_.push_back({.file = file_->path, .line = line, .path = path, .message = message});
  }

  // The launch of a row: the last one, or a new one when the number differs.
  ToolLaunch& launch_of(const std::vector<std::string>& row, const Columns& columns) {
    const auto text = [&](const char* name) {
      const auto at = columns.find(name);
      return at ? row[*at] : std::string();
    };
    const std::string id = text("ID");
    if (!file_->launches.empty() && file_->launches.back().id == id) return file_->launches.back();
    ToolLaunch& launch = file_->launches.emplace_back();
    launch.id = id, launch.name = text("Kernel Name");
    launch.block = parse_extent(text("Block Size")), launch.grid = parse_extent(text("Grid Size"));
    const auto device = parse_decimal(text("Device"));
    launch.device = device && *device >= 0 && *device < 1e6 ? static_cast<std::int64_t>(*device) : 0;
    file_->devices[launch.device].compute_capability = text("CC");
    return launch;
  }

  void take(ToolLaunch& launch, const Cell& cell, int line) {
    const MetricUse use = use_of(cell.metric, line);
    if (use == MetricUse::not_kept || use == MetricUse::unknown) return;
    const std::string metric = names_->metric_of(cell.metric);
    const auto fact = names_->facts.find(metric);
    if (fact != names_->facts.end() && fact->second == MetricFact::gpu) {
      file_->devices[launch.device].name = cell.value;
      return;
    }
    if (is_absent(cell.value)) {
      if (use == MetricUse::counter) launch.unavailable.push_back(metric);
      return;
    }
    std::string problem;
    const auto value = parse_ncu_value(cell.value, cell.unit, problem);
    if (!value) return report(line, cell.metric, problem);
    if (value->value < 0) return report(line, cell.metric, "is negative, found " + shown_text(cell.value));
    if (use == MetricUse::counter) {
      launch.counters[metric] = value->value;
      if (value->rounding > 0) launch.rounding[metric] = value->rounding;
    } else {
      take_fact(launch, fact->second, *value);
    }
  }

  void finish(bool unclosed) {
    if (unclosed) report(0, "", "ends inside a quoted cell; it is cut short");
    if (!findings_.empty()) throw InputError(std::move(findings_));
    if (file_->launches.empty())
      throw InputError(Diagnostic{.file = file_->path, .message = "has no launch; ncu profiled no kernel"});
    for (ToolLaunch& launch : file_->launches) {
      const auto cycles = launch.counters.find("sm__cycles_elapsed.max");
      if (launch.sm_hz == 0 && launch.seconds.value_or(0) > 0 && cycles != launch.counters.end())
        launch.sm_hz = cycles->second / *launch.seconds;
    }
  }

 private:
  MetricUse use_of(const std::string& name, int line) {
    const auto known = uses_.find(name);
    if (known != uses_.end()) return known->second;
    const MetricUse use = names_->use_of(name);
    if (use == MetricUse::unknown)
      report(line, shown_text(name),
             fmt::format("is no metric that is known{}; --ignore leaves it out", names_->hint(name)));
    return uses_[name] = use;
  }

  void take_fact(ToolLaunch& launch, MetricFact fact, const NcuValue& value) {
    // A fact that was rounded is not known: 65.54 Kbyte is not 65536 bytes.
    const bool whole = value.rounding == 0 && value.value == std::floor(value.value) && value.value < 9e15;
    const auto count = [&] { return whole ? std::optional(static_cast<std::int64_t>(value.value)) : std::nullopt; };
    ToolDevice& device = file_->devices[launch.device];
    switch (fact) {
      case MetricFact::seconds:
        launch.seconds = value.value;
        break;
      case MetricFact::sm_hz:
        launch.sm_hz = value.value;
        break;
      case MetricFact::registers:
        launch.registers = count();
        break;
      case MetricFact::static_smem:
        launch.static_smem = count();
        break;
      case MetricFact::dynamic_smem:
        launch.dynamic_smem = count();
        break;
      case MetricFact::passes:
        launch.passes = count().value_or(0);
        break;
      case MetricFact::gpu:
        break;
      case MetricFact::units:
        device.units = count().value_or(0);
        break;
      case MetricFact::memory_bytes:
        device.memory_bytes = count().value_or(0);
        break;
      case MetricFact::l2_bytes:
        device.l2_bytes = count().value_or(0);
        break;
      case MetricFact::sm_clock_max_khz:
        device.sm_clock_max_hz = value.value * 1000;
        break;
      case MetricFact::ecc:
        device.ecc = value.value != 0;
        break;
    }
  }

  ToolFile* file_;
  const MetricNames* names_;
  std::map<std::string, MetricUse> uses_;
  std::vector<Diagnostic> findings_;
};

// Where the table begins: a line that starts with its first heading.
std::size_t table_start(std::string_view text) {
  for (const std::string_view head : {"\"ID\",", "ID,"}) {
    if (text.starts_with(head)) return 0;
    const std::size_t found = text.find("\n" + std::string(head));
    if (found != std::string_view::npos) return found + 1;
  }
  return std::string_view::npos;
}

// Lines that ncu prints around the table.
bool is_message(const std::vector<std::string>& row) { return row.front().starts_with("=="); }

void read_long(CsvReader& csv, const std::vector<std::string>& head, const Columns& columns, NcuReader& reader) {
  const auto name = columns.find("Metric Name"), unit = columns.find("Metric Unit"),
             value = columns.find("Metric Value");
  // Rows of metrics end before the columns of rules.
  const std::size_t least = std::max({*name, *unit, *value}) + 1;
  while (auto row = csv.next()) {
    if (is_message(*row)) continue;
    if (row->size() < least || row->size() > head.size()) {
      reader.report(csv.line(), "", fmt::format("expected {} to {} cells, found {}", least, head.size(), row->size()));
      continue;
    }
    row->resize(head.size());
    ToolLaunch& launch = reader.launch_of(*row, columns);
    if (!(*row)[*name].empty()) reader.take(launch, {(*row)[*name], (*row)[*unit], (*row)[*value]}, csv.line());
  }
}

void read_wide(CsvReader& csv, const std::vector<std::string>& head, const Columns& columns, std::size_t first,
               NcuReader& reader) {
  const auto units = csv.next();
  if (!units || units->size() != head.size()) {
    reader.report(csv.line(), "", "expected a row of units below the names of the metrics");
    return;
  }
  while (const auto row = csv.next()) {
    if (is_message(*row)) continue;
    if (row->size() != head.size()) {
      reader.report(csv.line(), "", fmt::format("expected {} cells, found {}", head.size(), row->size()));
      continue;
    }
    ToolLaunch& launch = reader.launch_of(*row, columns);
    for (std::size_t i = first; i < head.size(); ++i)
      reader.take(launch, {head[i], (*units)[i], (*row)[i]}, csv.line());
  }
}

}  // namespace

ToolFile read_ncu_csv(const std::filesystem::path& path, const MetricNames& names) {
  ToolFile file;
  file.path = path.string(), file.form = ToolForm::ncu_csv;
  const std::string text = read_file(path, largest_csv);
  const std::size_t start = table_start(text);
  const auto fail = [&](const std::string& message) {
    throw InputError(Diagnostic{.file = file.path, .message = message});
  };
  if (start == std::string::npos)
    fail("has no table of ncu, which begins with \"ID\"; write it with ncu --csv, or ncu --import FILE --csv");
  NcuReader reader(file, names);
  CsvReader csv(
      std::string_view(text).substr(start),
      1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n')));
  const auto head = csv.next();
  const Columns columns(*head);
  if (!columns.find("Kernel Name")) fail("has no column 'Kernel Name'; write it with ncu --csv");
  const bool by_metric = columns.find("Metric Name") && columns.find("Metric Unit") && columns.find("Metric Value");
  // Metrics follow the columns that describe the launch, the last of which is the compute capability.
  const auto capability = columns.find("CC");
  if (by_metric) read_long(csv, *head, columns, reader);
  else if (capability) read_wide(csv, *head, columns, *capability + 1, reader);
  else fail("has neither the column 'Metric Name' nor 'CC'; write it with ncu --csv, or ncu --csv --page raw");
  reader.finish(csv.unclosed());
  return file;
}

}  // namespace tilescope::imported
